"""Whole evaluations: reports B050 and B051, and a server that fails often."""

from __future__ import annotations

import asyncio
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import OraclePlayer, RunChanged, summarise_run
from gym_enterprise.harness.evaluation import evaluate
from gym_enterprise.harness.regrading import regrade_run
from gym_enterprise.harness.results import read_run
from simulators import LLMPlayer, OpenAIEngine, Synchronous, TransientError
from tests.engines.server import Asked, Reply, called, chat, choice, serving
from tests.shop import make_domain, task

CREDIT = {"name": "issue_credit", "arguments": {"account_id": "A1", "amount": 10}}
TASKS = [task(f"t{n}") for n in range(10)]
SHOP = make_domain(tasks={"train": TASKS, "validation": [], "test": []})


def run(out: Path, agent: Any, tasks: list[Any] = TASKS, **settings: Any) -> Any:
    return asyncio.run(evaluate(out, SHOP, tasks, agent, **settings))


def agent_of(task: Any, seed: int) -> Any:
    """Play the oracle in the first task; in the others the model's server refuses for good."""
    return OraclePlayer(task, seed) if task.id == "t0" else Refused()


agent_of.sees_task = True  # type: ignore[attr-defined]


class Refused(Synchronous):
    def act(self, observation: Any) -> Any:
        raise TransientError("429, given up after 6 attempts", status=429)


def test_b050_one_success_and_nine_dead_runs_are_neither_100_nor_10_percent(tmp_path: Path) -> None:
    summary = run(tmp_path / "run", agent_of)
    assert (summary.overall.scored, summary.overall.attempted, summary.coverage) == (1, 10, 0.1)
    assert summary.unscored == {"agent_error": 9}
    assert summary.headline.startswith("INCOMPLETE: only 1 of 10 episodes scored; of these pass@1 100.0%")
    again = run(tmp_path / "run", agent_of, resume=True, concurrency=1)
    assert again == summary
    assert read_run(tmp_path / "run").lines == 1 + 9 + 9


def test_b051_an_episode_that_died_after_a_write_is_played_again_from_the_start(tmp_path: Path) -> None:
    tasks = [task("t0", reference=[CREDIT])]
    shop = make_domain(tasks={"train": tasks, "validation": [], "test": []})
    alive = False

    class Dies(OraclePlayer):
        def act(self, observation: Any) -> Any:
            if not alive and any(message.role == "tool" for message in observation["messages"]):
                raise ConnectionError("the answer was lost")
            return super().act(observation)

    def play() -> Any:
        return asyncio.run(evaluate(tmp_path / "run", shop, tasks, Dies, resume=True))

    assert play().unscored == {"agent_error": 1}
    (dead,) = read_run(tmp_path / "run")
    assert [name for _, name, _ in dead.calls] == ["issue_credit"]
    alive = True
    assert play().headline.startswith("pass@1 100.0%")
    (record,) = read_run(tmp_path / "run")
    assert [name for _, name, _ in record.calls] == ["issue_credit"]
    assert regrade_run(read_run(tmp_path / "run"), shop).differences == ()


def test_other_players_or_budgets_are_another_run_and_other_deadlines_are_not(tmp_path: Path) -> None:
    run(tmp_path / "run", "oracle", TASKS[:1])
    run(tmp_path / "run", "oracle", TASKS[:1], resume=True, concurrency=3, turn_deadline=9)
    with pytest.raises(RunChanged, match=r"configuration.max_steps: null -> 5"):
        run(tmp_path / "run", "oracle", TASKS[:1], resume=True, max_steps=5)
    with pytest.raises(RunChanged, match=r'configuration.agent: "oracle" -> "tests.*agent_of"'):
        run(tmp_path / "run", agent_of, TASKS[:1], resume=True)


def test_the_summary_says_what_was_read_before_acting_and_is_the_same_from_disk(tmp_path: Path) -> None:
    summary = run(tmp_path / "run", "oracle")
    # Each reference looks at the order, a write that is not graded, and then cancels it.
    assert summary.look_before_act is not None
    assert (summary.look_before_act.acted, summary.look_before_act.reads_before) == (10, 1.0)
    assert summarise_run(read_run(tmp_path / "run"), SHOP) == summary


def test_references_that_cannot_be_played_cost_no_summary(tmp_path: Path) -> None:
    broken = task("t0", reference=[{"name": "no_such_tool", "arguments": {}}])
    summary = run(tmp_path / "run", "oracle", [broken, *TASKS[1:]])
    assert (summary.overall.passed, summary.unscored) == (9, {"harness_error": 1})
    assert summary.look_before_act is None


# -- a server that fails ----------------------------------------------------------------------------------


def clerk(asked: Asked) -> Reply:
    """Cancel the order at once, then say so."""
    messages = asked.body["messages"]
    if any(message["role"] == "tool" for message in messages):
        return Reply(chat(choice("It is cancelled.")))
    call = called("cancel_order", {"order_id": "O1"})
    return Reply(chat(choice("", tool_calls=[call])))


def served(out: Path, faults: list[Reply]) -> tuple[Any, list[dict[str, Any]], int]:
    """Play every task four times against a server that answers one call in five with a fault."""
    dice = random.Random(3)

    async def at_once(seconds: float) -> None:
        pass

    def reply(number: int, asked: Asked) -> Reply:
        return dice.choice(faults) if faults and dice.random() < 0.2 else clerk(asked)

    with serving(reply) as server:
        engine = OpenAIEngine("m", server.url, sleep=at_once, attempts=30)

        async def play() -> Any:
            async with engine:
                agent = partial(LLMPlayer, engine=engine)
                return await evaluate(out, SHOP, TASKS, agent, trials=4, concurrency=8)

        summary = asyncio.run(play())
        asked = len(server.asked)
    records = [record.to_dict() | {"timings": None} for record in read_run(out)]
    return summary, sorted(records, key=lambda one: (one["task_id"], one["trial"])), asked


def test_a_server_that_fails_at_a_fifth_of_its_calls_changes_no_record(tmp_path: Path) -> None:
    faults = [
        Reply(drop=True),
        Reply(status=429),
        Reply(status=500),
        Reply(b"garbage"),
        Reply(chat(), short=9),
        Reply(json.dumps(chat()).encode()[:-30]),
        Reply(chat(choice("x", index=1), choice("y", index=1))),
    ]
    good, expected, calls = served(tmp_path / "good", [])
    summary, records, with_faults = served(tmp_path / "faulty", faults)
    assert len(records) == 40
    assert records == expected
    assert (summary.headline, summary.complete) == (good.headline, True)
    assert with_faults > calls * 1.1
    # The server counts 10 tokens in and 3 out for each completion.
    assert {record["usage"]["agent"]["tokens_in"] for record in records} == {10 * calls // 40}
    assert summary.tokens_out == 3 * calls
    assert {record["grade"]["reward"] for record in records} == {1.0}


def test_a_server_that_is_gone_scores_nothing_and_the_summary_says_so(tmp_path: Path) -> None:
    async def at_once(seconds: float) -> None:
        pass

    with serving([Reply(status=503)]) as server:
        engine = OpenAIEngine("m", server.url, sleep=at_once)

        async def play() -> Any:
            async with engine:
                return await evaluate(tmp_path / "run", SHOP, TASKS, partial(LLMPlayer, engine=engine))

        summary = asyncio.run(play())
    assert summary.headline == "INCOMPLETE: 0 of 10 episodes scored, so there is no pass rate"
    assert summary.unscored == {"agent_error": 10}
    assert all("503" in str(record.error) for record in read_run(tmp_path / "run"))
