"""`summarise`: golden values by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from gym_enterprise import Episode, Record, UsageError, run_episode
from gym_enterprise.harness.metrics import Group, quiet_tools, summarise
from tests.harness.records import did, record, said, trials
from tests.shop import make_domain, task

TASKS = {
    "a": task("a", family="orders", capabilities=["cancel", "look", "look"]),
    "b": task("b", family="orders", capabilities=["look"]),
    "c": task("c", family="parcels"),
}


def run(**rewards: str) -> list[Record]:
    return [item for task_id, letters in rewards.items() for item in trials(task_id, letters)]


def test_b050_nine_dead_runs_and_one_success_are_neither_all_nor_a_tenth() -> None:
    summary = summarise(run(a="1---------"), TASKS)
    assert (summary.overall.scored, summary.overall.passed, summary.planned) == (1, 1, 10)
    assert (summary.coverage, summary.complete) == (0.1, False)
    assert summary.unscored == {"engine_error": 9}
    assert summary.headline == (
        "INCOMPLETE: only 1 of 10 episodes scored; of these pass@1 100.0%; 1 of 1 scored episodes passed"
    )
    assert summary.to_dict()["complete"] is False


def test_b050_episodes_that_were_never_begun_make_a_run_incomplete_too() -> None:
    summary = summarise(run(a="1", b="1"), TASKS, planned=12)
    assert (summary.coverage, summary.complete) == (pytest.approx(1 / 6), False)
    assert summary.headline.startswith("INCOMPLETE: only 2 of 12 episodes scored")


def test_b050_without_any_score_there_is_no_rate() -> None:
    for records, planned in ((run(a="--"), 2), ([], 5), ([], 0)):
        summary = summarise(records, TASKS, planned=planned)
        assert (summary.overall.pass_at_1, summary.overall.interval) == (None, None)
        assert summary.headline == f"INCOMPLETE: 0 of {planned} episodes scored, so there is no pass rate"
        assert (summary.pass_at_k, summary.averages) == ({}, {})
        assert (summary.coverage, summary.complete) == (0.0, False)


def test_rates_are_averages_over_tasks() -> None:
    summary = summarise(run(a="1110", b="0100", c="1111"), TASKS)
    assert summary.overall.pass_at_1 == pytest.approx((3 / 4 + 1 / 4 + 1) / 3)
    # pass@2: 1, 1/2, 1; pass^2: C(3,2)/6 = 1/2, 0, 1. pass@3: 1, 3/4, 1; pass^3: 1/4, 0, 1.
    assert [summary.pass_at_k[k] for k in (1, 2, 3, 4)] == pytest.approx([2 / 3, 2.5 / 3, 2.75 / 3, 1.0])
    assert [summary.pass_hat_k[k] for k in (1, 2, 3, 4)] == pytest.approx([2 / 3, 0.5, 1.25 / 3, 1 / 3])
    assert summary.complete
    assert summary.headline.startswith("pass@1 66.7% (95% interval ")
    assert summary.headline.endswith("; 8 of 12 scored episodes passed")


def test_k_goes_as_far_as_every_task_does() -> None:
    summary = summarise(run(a="111", b="1-0", c="---"), TASKS)
    assert list(summary.pass_at_k) == list(summary.pass_hat_k) == [1, 2]
    assert summary.pass_hat_k[2] == 0.5
    assert summary.overall.pass_at_1 == 0.75
    assert summary.overall.tasks == 3


def test_more_trials_of_the_same_do_not_narrow_the_interval() -> None:
    once = summarise(run(a="1", b="0", c="1"), TASKS)
    often = summarise(run(a="1" * 9, b="0" * 9, c="1" * 9), TASKS)
    assert once.overall.interval == often.overall.interval


def rows(groups: Mapping[str, Group]) -> dict[str, Any]:
    return {
        name: (group.tasks, group.attempted, group.scored, group.passed, group.pass_at_1)
        for name, group in groups.items()
    }


def test_groups_are_by_family_and_by_each_capability() -> None:
    summary = summarise(run(a="11", b="0-", c="-"), TASKS)
    assert rows(summary.by_family) == {"orders": (2, 4, 3, 2, 0.5), "parcels": (1, 1, 0, 0, None)}
    assert rows(summary.by_capability) == {"cancel": (1, 2, 2, 2, 1.0), "look": (2, 4, 3, 2, 0.5)}


def test_ends_errors_and_averages() -> None:
    transcript = (
        *said("user", "Hi"),
        *did("cancel_order", error="invalid_arguments"),
        *did("cancel_order", order_id="O1"),
        *did("cancel_order", order_id="O2", error="not_executed"),
        *said("agent", "Done."),
        *did("confirm_order", seat="user", error="locked"),
    )
    records = [
        record("a", 0, 1.0, transcript=transcript, steps=5),
        record("a", 1, 0.0, transcript=tuple(said("user", "Hi")), steps=1, reason="max_steps"),
        record("b", 0, None, transcript=tuple(did("x", error="unknown_tool")), steps=9),
        record("b", 1, 0.0, reason="max_steps", steps=0),
    ]
    summary = summarise(records, TASKS)
    assert list(summary.terminations.items()) == [("max_steps", 2), ("user_stop", 1)]
    assert summary.unscored == {"engine_error": 1}
    assert summary.tool_errors == {
        "agent": {"invalid_arguments": 1, "unknown_tool": 1},
        "user": {"locked": 1},
    }
    assert summary.averages == pytest.approx(
        {"steps": 2.0, "agent_turns": 1 / 3, "agent_calls": 2 / 3, "user_turns": 2 / 3, "user_calls": 1 / 3}
    )


def usage(tokens_in: int, tokens_out: int) -> dict[str, Any]:
    return {"agent": {"tokens_in": tokens_in, "tokens_out": tokens_out}, "user": {"tokens_in": 10**6}}


def test_tokens_for_a_passed_task_include_those_of_failures() -> None:
    records = [
        record("a", 0, 1.0, usage=usage(1000, 100)),
        record("a", 1, 0.0, usage=usage(3000, 300)),
        record("b", 0, 1.0, usage=usage(500, 100)),
        record("b", 1, None),
    ]
    summary = summarise(records, TASKS)
    assert (summary.tokens_in, summary.tokens_out, summary.tokens_per_passed) == (4500, 500, 2500.0)


def test_tokens_that_one_scored_episode_does_not_know_are_unknown() -> None:
    summary = summarise([record("a", 0, usage=usage(5, 5)), record("a", 1)], TASKS)
    assert (summary.tokens_in, summary.tokens_out, summary.tokens_per_passed) == (None, None, None)
    nothing_passed = summarise([record("a", 0, 0.0, usage=usage(5, 5))], TASKS)
    assert (nothing_passed.tokens_in, nothing_passed.tokens_per_passed) == (5, None)


def test_a_played_run_is_summarised_whole_and_is_json() -> None:
    domain = make_domain()
    tasks = domain.tasks["train"]
    records = [run_episode(Episode(domain, item), "oracle") for item in tasks.values()]
    quiet = quiet_tools(domain, tasks.values())
    summary = summarise(records, tasks, toolset=domain.toolset("agent"), quiet=quiet)
    value = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert (value["complete"], value["coverage"], value["pass_at_k"]) == (True, 1.0, {"1": 1.0})
    # Of the references, expedite and cancel change something as agent, and confirm lets the user do it; two
    # read first (get_order, kb_read); kb_read opens expediting, which no task names as its source.
    assert value["look_before_act"] == {
        "episodes": 3,
        "acted": 2,
        "blind": 0,
        "reads_before": 1.0,
        "documents_before": 0.0,
        "documents_opened": 0.0,
        "never_opened": {"refunds": 3},
    }
    assert summary == summarise(records, tasks.values(), toolset=domain.toolset("agent"), quiet=quiet)
    assert summarise(records, tasks).look_before_act is None


@dataclass
class Duck:
    """Not a record, but alike where it matters."""

    task_id: str
    reward: float | None
    trial: int = 0
    task_hash: str = ""
    reason: str = "x"
    steps: int = 1
    transcript: Any = ()
    usage: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    segments: Any = ()
    faults: dict[str, Any] = field(default_factory=dict)


def test_anything_shaped_like_a_record_will_do_and_a_partial_reward_is_no_pass() -> None:
    assert summarise([Duck("a", 0.99), Duck("b", 1.0)], TASKS).overall.pass_at_1 == 0.5


@pytest.mark.parametrize("reward", [2.0, 0.999, -1.0])
def test_only_a_reward_of_1_is_a_pass(reward: float) -> None:
    assert summarise([record("t", 0, reward)], {"t": task("t")}).overall.passed == 0


def test_records_that_would_mislead_are_refused() -> None:
    with pytest.raises(UsageError, match="there is a record of task 'z', but no such task is given"):
        summarise([record("z")], TASKS)
    with pytest.raises(UsageError, match="task 'a' trial 0 stands twice"):
        summarise([record("a"), record("a")], TASKS)
    with pytest.raises(UsageError, match="task 'a' is not the one that was played"):
        summarise([record("a", task_hash="0" * 64)], TASKS)
    with pytest.raises(UsageError, match="has the reward nan: it should be a number, or None"):
        summarise([Duck("a", math.nan)], TASKS)
    with pytest.raises(UsageError, match="planned should be at least the number of records, 2, got 1"):
        summarise(run(a="11"), TASKS, planned=1)
