"""Rewards of whole episodes: reports B001 to B010 (docs/reports.md), each input as the report has it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import (
    Domain,
    Episode,
    Grade,
    GraderDisagreement,
    Money,
    OraclePlayer,
    Record,
    Task,
    TaskError,
    UsageError,
    World,
    grading,
    regrade,
    replay_reference,
    run_episode,
    tool,
)
from gym_enterprise.domain import TruncationReward
from tests.core.conversation import DOMAIN, call, episode, opened, play, say, stop
from tests.shop import TOOLS, make_domain, task

GRADE = DOMAIN.grader.grade


def reference(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": arguments} for name, arguments in calls]


def reward(played: Task, *calls: tuple[str, dict[str, Any]], domain: Domain = DOMAIN) -> float | None:
    """The reward of an agent that makes these calls and stops; both graders agree on it."""
    it = play(episode(played, domain), ("user", say("hi")))
    for name, arguments in calls:
        it.act("agent", call(name, **arguments))
    return play(it, ("agent", stop())).grade(audit=True).reward


def credit(amount: Any, account: str = "A1") -> tuple[str, dict[str, Any]]:
    return "issue_credit", {"account_id": account, "amount": amount}


# -- what is right ----------------------------------------------------------------------------------------


def test_the_reference_earns_one_and_nothing_earns_zero_with_what_is_missing() -> None:
    it = episode()
    grade = it.grade(audit=True)
    assert grade.reward == 0.0
    assert grade.reason == "the final state differs from the target: rows 1 missing"
    assert grade.diff == {
        "missing": [
            {
                "table": "orders",
                "key": {"order_id": "O1"},
                "op": "update",
                "values": {"status": "cancelled"},
                "before": {"status": "open"},
            }
        ],
        "extra": [],
        "changed": [],
    }
    replay_reference(it)
    done = it.grade(audit=True)
    assert (done.reward, done.reason) == (1.0, "the final state equals the target")
    assert done.diff == {"missing": [], "extra": [], "changed": []}


def test_a_grade_says_what_was_looked_at() -> None:
    it = play(opened(), ("agent", call("nothing")), ("agent", stop()))
    assert it.grade().checks == {"ended": True, "failed_calls": 1, "user_faults": {}, "state": False}


def test_b001_a_whole_number_and_a_decimal_make_the_same_row() -> None:
    played = task(reference=reference(credit(33.00)))
    for amount in (33, 33.0, 3.3e1):
        assert reward(played, credit(amount)) == 1.0
    assert reward(played, credit(33.01)) == 0.0
    it = play(
        opened(played),
        (
            "agent",
            {
                "type": "tool_call",
                "name": "issue_credit",
                "arguments": '{"account_id": "A1", "amount": 3.3e1}',
            },
        ),
    )
    assert it.grade(audit=True).reward == 1.0


def test_b002_extra_reads_are_harmless_though_each_is_logged() -> None:
    look = [("get_order", {"order_id": order}) for order in ("O1", "O2", "O1")]
    cancel = ("cancel_order", {"order_id": "O1"})
    it = opened()
    for name, arguments in (look[0], look[1], ("kb_search", {"query": "refund"}), cancel, look[2]):
        it.act("agent", call(name, **arguments))
    assert it.grade(audit=True).reward == 1.0
    assert len(it.world.query("SELECT * FROM log")) == 3
    assert it.world.one("SELECT last_viewed FROM accounts WHERE account_id = 'A1'") == {"last_viewed": 3}


def test_b003_the_order_of_inserts_does_not_count() -> None:
    first, second = credit(5), credit(7, "A2")
    played = task(reference=reference(first, second))
    assert reward(played, first, second) == 1.0
    assert reward(played, second, first) == 1.0
    twins = task(reference=reference(credit(5), credit(5), credit(7)))
    assert reward(twins, credit(7), credit(5), credit(5)) == 1.0
    assert reward(twins, credit(7), credit(5)) == 0.0


def test_b003_reward_is_one_exactly_when_the_diff_is_empty() -> None:
    played = task(reference=reference(credit(5), credit(7, "A2")))
    for calls in ([], [credit(5)], [credit(7, "A2"), credit(5)], [credit(5), credit(7, "A2"), credit(1)]):
        it = opened(played)
        for name, arguments in calls:
            it.act("agent", call(name, **arguments))
        grade = it.grade(audit=True)
        assert (grade.reward == 1.0) == (not any(grade.diff.values()))


def test_b004_a_task_whose_reference_fails_earns_nobody_anything() -> None:
    exchange = ("exchange_item", {"order_id": "O1", "item": "sofa", "difference": 21.10})
    with pytest.raises(TaskError, match=r"task 't': field 'reference.0': .*does not cover the difference"):
        reward(task(reference=reference(exchange)))
    assert (
        reward(task(reference=reference(("exchange_item", {**exchange[1], "difference": 17.00}))), exchange)
        == 0.0
    )


def test_b005_an_invented_tool_is_an_error_live_and_in_regrading() -> None:
    class Inventor:
        def __init__(self, names: list[str]) -> None:
            self._names = iter(names)

        def act(self, observation: Any) -> Any:
            name = next(self._names, None)
            return stop() if name is None else call(name, order_id="O1")

    for names, wanted in ((["refund_order_v2", "cancel_order"], 1.0), (["refund_order_v2"], 0.0)):
        record = run_episode(episode(), Inventor(names), "scripted")
        assert (record.reward, record.error, record.truncated) == (wanted, None, False)
        saved = json.loads(json.dumps(record.to_dict()))
        assert saved["grade"]["reward"] == wanted
        assert regrade(DOMAIN, task(), Record.from_dict(saved)).reward == wanted


def test_b005_regrading_makes_no_call_that_was_not_executed() -> None:
    it = opened()
    it.act_all("agent", [stop(), call("cancel_order", order_id="O1")])
    grade = it.grade()
    record = Record("shop", "t", 0, 0, grade, it.transcript, it.step, it.reason, it.terminated, it.truncated)
    assert record.calls == []
    assert regrade(DOMAIN, task(), record).reward == grade.reward == 0.0


def test_b005_regrading_survives_every_kind_of_call_that_was_answered_with_an_error() -> None:
    it = opened()
    odd: list[dict[str, Any]] = [
        {"type": "tool_call"},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": float("nan")}},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "\ud800"}},
        {"type": "tool_call", "name": "cancel_order", "arguments": '{"order_id": "O1"'},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "O1"}, "requestor": "user"},
        {"type": "tool_call", "name": "cancel_order", "arguments": '{"order_id": "O1"}'},
    ]
    it.act_all("agent", odd)
    calls = [
        (seat, m.call.name, m.call.arguments) for seat, m in it.transcript if m.call and m.role == "tool"
    ]
    again = episode()
    again.retrace(json.loads(json.dumps(calls)))
    assert it.grade().reward == again.grade(audit=True).reward == 1.0


@pytest.mark.parametrize(("rule", "wanted"), [("state", 1.0), ("zero", 0.0)])
def test_regrading_keeps_what_a_spent_budget_earned(rule: TruncationReward, wanted: float) -> None:
    it = episode(max_steps=3, truncation_reward=rule)
    record = run_episode(it, Caller(), "scripted")
    assert (record.reason, record.reward) == ("max_steps", wanted)
    assert regrade(DOMAIN, task(), record).reward == wanted


def test_regrading_leaves_an_unscored_episode_unscored() -> None:
    record = run_episode(episode(), Broken(), "scripted")
    assert record.reward is None
    assert regrade(DOMAIN, task(), Record.from_dict(json.loads(json.dumps(record.to_dict())))).reward is None


class Caller:
    """Cancels O1 again and again."""

    def act(self, observation: Any) -> dict[str, Any]:
        return call("cancel_order", order_id="O1")


class Broken:
    """Raises."""

    def act(self, observation: Any) -> dict[str, Any]:
        raise RuntimeError("no engine")


SCRIPT = """
import sys
from gym_enterprise.domain import TruncationReward
from tests.core.conversation import call, opened, play
from tests.shop import task
it = play(opened(), ("agent", call("issue_credit", account_id="A1", amount=5)))
sys.stdout.write(repr((it.world.changes().to_list(), it.grade(audit=True).diff)))
"""


def test_b006_two_processes_make_the_same_rows_whatever_the_hash_seed() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            timeout=60,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_b006_a_failed_create_before_the_right_one_changes_no_id() -> None:
    played = task(reference=reference(credit(5)))
    assert reward(played, credit(5, "nobody"), credit(5.001), credit(5)) == 1.0


def test_b007_money_adds_up_exactly_in_any_order() -> None:
    amounts = [0.10, 0.20, 0.30]
    played = task(reference=reference(*map(credit, amounts)))
    assert reward(played, *map(credit, reversed(amounts))) == 1.0
    it = opened(played)
    for amount in (324.71, 181.51):
        it.act("agent", call("issue_credit", account_id="A1", amount=amount))
    balance = it.world.one("SELECT balance FROM accounts WHERE account_id = 'A1'")
    assert balance == {"balance": 1700 + 50622}


def test_b007_a_remainder_of_the_same_amount_is_accepted() -> None:
    @tool(writes=True)
    def refund(world: World, account_id: str, amount: Money) -> Any:
        """Refund at most what is left.

        Args:
            account_id: The account.
            amount: Dollars.
        """
        left = 40000 - 5052
        if amount > left:
            raise AssertionError("349.48 is 349.48")
        world.insert("credits", account_id=account_id, amount=amount)

    domain = make_domain(tools=[*TOOLS, refund])
    played = task(reference=reference(("refund", {"account_id": "A1", "amount": 349.48})))
    assert reward(played, ("refund", {"account_id": "A1", "amount": 349.48}), domain=domain) == 1.0


def test_b008_words_never_satisfy_a_state() -> None:
    it = play(opened(), ("agent", say("Order O1 is cancelled. status: cancelled, 1,010 of 10.")))
    assert play(it, ("user", stop())).grade(audit=True).reward == 0.0


def test_b009_a_tool_that_fails_half_way_leaves_nothing_for_the_retry_to_meet() -> None:
    move = {"source": "A1", "target": "A2", "amount": 5}
    played = task(reference=reference(("move_money", move)))
    assert reward(played, ("move_money", {**move, "target": "closed"})) == 0.0
    assert reward(played, ("move_money", {**move, "target": "closed"}), ("move_money", move)) == 1.0


def test_b010_another_path_to_the_same_state_is_right() -> None:
    address, cancel = "set_address", ("cancel_order", {"order_id": "O1"})
    played = task(reference=reference((address, {"account_id": "A1", "address": "A"}), cancel))
    path = [(address, {"account_id": "A1", "address": text}) for text in ("B", "A")]
    assert reward(played, cancel, *path, cancel) == 1.0
    assert reward(played, *path, cancel, ("reopen_order", {"order_id": "O1"}), cancel) == 1.0


def test_b010_work_done_twice_is_wrong_with_the_second_row_in_the_diff() -> None:
    it = opened(task(reference=reference(credit(5))))
    for _ in range(2):
        it.act("agent", call("issue_credit", account_id="A1", amount=5))
    grade = it.grade(audit=True)
    assert grade.reward == 0.0
    (extra,) = grade.diff["extra"]
    assert (extra["table"], extra["values"]["amount"]) == ("credits", 500)
    (changed,) = grade.diff["changed"]
    assert (changed["values"], changed["wanted"]["values"]) == ({"balance": 2700}, {"balance": 2200})
    assert grade.reason == "the final state differs from the target: rows 1 extra, 1 changed otherwise"


# -- alternatives, truncation, infrastructure -------------------------------------------------------------


def test_any_alternative_is_right_and_the_diff_is_against_the_nearest() -> None:
    cancel = [("cancel_order", {"order_id": order}) for order in ("O1", "O2", "O3")]
    played = task(reference=reference(*cancel), alternatives=[reference(credit(5)), reference(cancel[1])])
    assert reward(played, *cancel) == reward(played, credit(5)) == reward(played, cancel[1]) == 1.0
    assert reward(played, credit(5), cancel[1]) == reward(played, cancel[0]) == 0.0
    it = play(opened(played), ("agent", call("issue_credit", account_id="A1", amount=6)))
    # From credit(5): one row missing, one extra, the balance otherwise. No other target is nearer.
    assert [len(rows) for rows in it.grade().diff.values()] == [1, 1, 1]
    assert it.grade().diff["changed"][0]["wanted"]["values"] == {"balance": 2200}


def test_truncated_work_is_graded_by_its_state_or_earns_zero_and_the_audit_runs_either_way() -> None:
    for rule, wanted in (("state", 1.0), ("zero", 0.0)):
        it = play(opened(max_steps=2, truncation_reward=rule), ("agent", call("cancel_order", order_id="O1")))
        grade = it.grade(audit=True)
        assert (grade.reward, grade.checks["state"]) == (wanted, True)
    assert grade.reason == "truncated by max_steps, which earns 0 here"


def test_an_infrastructure_failure_has_no_reward_and_is_never_zero_or_one() -> None:
    it = play(opened(), ("agent", call("cancel_order", order_id="O1")))
    it.fail("engine_error")
    grade = it.grade(audit=True)
    assert (grade.reward, grade.scored, grade.reason) == (None, False, "not scored: engine_error")


def test_the_users_writes_count_as_the_agents_do() -> None:
    played = DOMAIN.tasks["train"]["confirm"]
    record = run_episode(Episode(DOMAIN, played), OraclePlayer, "scripted", audit=True)
    assert record.reward == 1.0
    assert run_episode(Episode(DOMAIN, played), OraclePlayer, "replay", audit=True).reward == 1.0


def test_a_grade_is_json() -> None:
    for it in (episode(), opened()):
        value = it.grade(audit=True).to_dict()
        assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert list(Grade(None, "x").to_dict()) == ["reward", "reason", "diff", "checks"]


def test_grading_changes_neither_the_episode_nor_its_world() -> None:
    it = play(opened(), ("agent", call("get_order", order_id="O1")))
    before = it.snapshot()
    assert it.grade(audit=True) == it.grade(audit=True)
    assert it.snapshot() == before


# -- two graders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [True, False])
def test_a_broken_second_grader_is_found(answer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "same_state", lambda a, b: answer)
    it = episode()
    if not answer:
        replay_reference(it)
    with pytest.raises(GraderDisagreement, match="task 't': change sets say"):
        it.grade(audit=True)
    assert it.grade().reward == float(not answer)


def test_a_broken_first_grader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from gym_enterprise import ChangeSet
    from gym_enterprise.changes import Diff

    monkeypatch.setattr(ChangeSet, "diff", lambda self, target: Diff())
    with pytest.raises(GraderDisagreement, match="change sets say equal, whole databases say different"):
        episode().grade(audit=True)


# -- the grader's cache -----------------------------------------------------------------------------------


def test_targets_are_built_once_and_by_content() -> None:
    domain = make_domain()
    domain.grader.targets(task("a"))
    before = domain.grader.targets(task("a"))
    assert domain.grader.targets(task("a")) is before
    other = task("a", reference=reference(("cancel_order", {"order_id": "O2"})))
    assert domain.grader.targets(other) != before


def test_targets_of_more_tasks_than_are_kept_are_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "MAX_TARGETS", 5)
    domain = make_domain()
    for number in range(12):
        domain.grader.targets(task(f"t{number}"))
    assert len(domain.grader._targets) == 5
    it = episode(task("t0"), domain)
    replay_reference(it)
    assert it.grade(audit=True).reward == 1.0


def test_a_task_changed_after_it_was_graded_is_graded_as_it_is_now() -> None:
    first = DOMAIN.tasks["train"]["cancel"]
    assert first.hash
    action = first.reference[1].model_copy(update={"arguments": {"order_id": "O2"}})
    changed = first.model_copy(update={"reference": (action,)})
    assert reward(changed, ("cancel_order", {"order_id": "O1"})) == 0.0
    assert reward(changed, ("cancel_order", {"order_id": "O2"})) == 1.0


def test_a_record_of_another_task_or_of_another_version_is_not_regraded() -> None:
    record = run_episode(episode(), OraclePlayer, "scripted")
    with pytest.raises(UsageError, match="'other'"):
        regrade(DOMAIN, task("other"), record)
    with pytest.raises(UsageError, match="changed"):
        regrade(DOMAIN, task(seed=8), record)
