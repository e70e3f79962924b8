"""The reward's parts, the stop gate, the judge, and the stricter reading; on the small bank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import Domain, Episode, TaskError, load_domain, regrade, replay_reference, run_episode
from gym_enterprise.dispatch import MadeCall
from gym_enterprise.domains.tau3_banking import make_domain
from gym_enterprise.domains.tau3_banking.grading import matched, strictly_matched
from gym_enterprise.tasks import Action, Meta
from tests.tau3.small_bank import raw_task, small_bank, write_folder

REFER = {"user_id": "u1", "account_type": "X"}
TRANSFER = {"summary": "s", "reason": "other"}
STOP = {"type": "stop"}
TALK = {"type": "message", "content": "Well."}


def action(name: str, arguments: dict[str, Any], requestor: str = "assistant", **more: Any) -> dict[str, Any]:
    return {"requestor": requestor, "name": name, "arguments": arguments, **more}


def bank(tmp_path: Path, *actions: dict[str, Any], judge: Any = None, **criteria: Any) -> Domain:
    """Make the small bank with one task of these actions."""
    raw = raw_task(evaluation_criteria={"actions": list(actions), **criteria})
    return make_domain(write_folder(tmp_path / "bank", raw), judge=judge)


def episode(domain: Domain, **limits: Any) -> Episode:
    return Episode(domain, domain.tasks["test"]["task_001"], **limits)


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments}


# -- ACTION -----------------------------------------------------------------------------------------------

Calls = list[tuple[str, str, dict[str, Any], bool]]
TWICE = [Action(seat="user", name="ask"), Action(seat="user", name="ask")]
PAY = [Action(name="pay", arguments={"amount": 5, "to": "x"})]
NESTED = [Action(name="run", arguments={"arguments": '{"a": 1, "b": [true]}'})]


@pytest.mark.parametrize(
    ("reference", "keys", "calls", "loose", "strict"),
    [
        (PAY, None, [], False, False),
        (PAY, None, [("agent", "pay", {"amount": 5, "to": "x"}, True)], True, True),
        (PAY, None, [("agent", "pay", {"amount": 5.0, "to": "x"}, True)], True, True),
        (PAY, None, [("agent", "pay", {"amount": "5", "to": "x"}, True)], False, False),
        (PAY, None, [("agent", "give", {"amount": 5, "to": "x"}, True)], False, False),
        # Only the arguments that the call has are compared: none, or fewer than the reference has.
        (PAY, None, [("agent", "pay", {}, False)], True, False),
        (PAY, None, [("agent", "pay", {"to": "x"}, True)], True, False),
        (PAY, None, [("agent", "pay", {"amount": 5, "to": "x", "note": ""}, True)], False, True),
        # Who called, and whether it worked, does not matter there.
        (PAY, None, [("user", "pay", {"amount": 5, "to": "x"}, True)], True, False),
        (PAY, None, [("agent", "pay", {"amount": 5, "to": "x"}, False)], True, False),
        # Named arguments: all others are free; none named: all are.
        (PAY, [["to"]], [("agent", "pay", {"amount": 9, "to": "x"}, True)], True, True),
        (PAY, [["to"]], [("agent", "pay", {"amount": 5}, True)], False, False),
        (PAY, [[]], [("agent", "pay", {"amount": 9}, True)], True, True),
        # One call can stand for several actions there.
        (TWICE, None, [("user", "ask", {}, True)], True, False),
        (TWICE, None, [("user", "ask", {}, True)] * 2, True, True),
        (TWICE, [[], []], [("user", "ask", {"n": 1}, True), ("user", "ask", {"n": 2}, True)], True, True),
        # Text in text is compared as text there, as JSON here.
        (NESTED, None, [("agent", "run", {"arguments": '{"b":[true],"a":1.0}'}, True)], False, True),
        (NESTED, None, [("agent", "run", {"arguments": '{"a": 1, "b": [1]}'}, True)], False, False),
        (NESTED, None, [("agent", "run", {"arguments": '{"a": 1, "b": [true]'}, True)], False, False),
    ],
)
def test_an_action_is_matched_as_the_benchmark_does_and_strictly(
    reference: list[Action], keys: Sequence[Any] | None, calls: Calls, loose: bool, strict: bool
) -> None:
    knobs = {"compare_args": keys or [None] * len(reference)}
    task = small_bank().tasks["test"]["task_001"]
    task = task.model_copy(update={"reference": tuple(reference), "meta": Meta(knobs=knobs)})
    made = [MadeCall(seat, name, json.dumps(given), ok) for seat, name, given, ok in calls]  # type: ignore[arg-type]
    assert (matched(task, made), strictly_matched(task, made)) == (loose, strict)


def test_strict_matching_finds_a_way_when_the_first_choice_would_block_it() -> None:
    # The action that takes any call must leave the one that the other action needs.
    reference = (Action(name="pay"), Action(name="pay", arguments={"to": "x"}))
    task = small_bank().tasks["test"]["task_001"].model_copy(update={"reference": reference})
    task = task.model_copy(update={"meta": Meta(knobs={"compare_args": [[], ["to"]]})})
    calls = [MadeCall("agent", "pay", text, True) for text in ('{"to": "x"}', '{"to": "y"}')]
    assert strictly_matched(task, calls)
    assert not strictly_matched(task, calls[1:])


# -- the product ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("basis", "calls", "reward", "db", "acted"),
    [
        (["DB"], [("user", "submit_referral", REFER)], 1.0, True, False),
        (["ACTION"], [("agent", "submit_referral", {}), ("agent", "get_current_time", {})], 1.0, False, True),
        (["DB", "ACTION"], [("user", "submit_referral", REFER)], 0.0, True, False),
        (
            ["DB", "ACTION"],
            [("user", "submit_referral", REFER), ("agent", "get_current_time", {})],
            1.0,
            True,
            True,
        ),
        (None, [("user", "submit_referral", REFER)], 1.0, True, False),  # [DB, COMMUNICATE]
    ],
)
def test_the_reward_is_the_product_of_the_tasks_parts(
    tmp_path: Path, basis: list[str] | None, calls: list[Any], reward: float, db: bool, acted: bool
) -> None:
    actions = (action("submit_referral", REFER, "user"), action("get_current_time", {}))
    it = episode(bank(tmp_path, *actions, reward_basis=basis))
    assert it.grade().reward == 0.0
    for seat, name, arguments in calls:
        it.dispatcher.call(seat, name, arguments)
    grade = it.grade(audit=True)
    assert (grade.reward, grade.checks["db"], grade.checks["action"]) == (reward, db, acted)
    assert grade.checks["state"] == db


def test_doing_nothing_is_right_only_where_calls_are_rewarded(tmp_path: Path) -> None:
    hand_over = action("transfer_to_human_agents", TRANSFER, compare_args=["reason"])
    it = episode(bank(tmp_path / "a", hand_over, reward_basis=["ACTION"]))
    assert (it.grade().reward, it.grade().checks["db"]) == (0.0, True)
    it.dispatcher.call("agent", "transfer_to_human_agents", TRANSFER | {"summary": "other words"})
    assert (it.grade().reward, it.grade().checks["strict"]) == (1.0, True)
    with pytest.raises(TaskError, match="doing nothing would be right"):
        episode(bank(tmp_path / "b", hand_over, reward_basis=["DB"]))


@pytest.mark.parametrize(
    "criteria",
    [
        {"reward_basis": ["ENV_ASSERTION"]},
        {"reward_basis": ["DB", "COMMUNICATE"], "communicate_info": ["12"]},
        {"communicate_info": ["12"]},
    ],
)
def test_a_part_that_cannot_be_graded_here_is_refused(tmp_path: Path, criteria: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match=r"task_001\.json.*reward_basis.*not graded here"):
        bank(tmp_path, action("submit_referral", REFER, "user"), **criteria)


# -- how it ends ------------------------------------------------------------------------------------------


def referral(tmp_path: Path, **limits: Any) -> Episode:
    """An episode whose work is done by the user's first call."""
    domain = bank(tmp_path, action("submit_referral", REFER, "user"), reward_basis=["DB"])
    it = episode(domain, **limits)
    it.act("user", call("submit_referral", REFER))
    return it


def test_an_episode_under_way_is_graded_as_if_a_player_stopped(tmp_path: Path) -> None:
    assert referral(tmp_path).grade().reward == 1.0


@pytest.mark.parametrize("seat", ["user", "agent"])
def test_a_stop_of_either_player_earns_what_was_done(tmp_path: Path, seat: Any) -> None:
    it = referral(tmp_path)
    if seat == "agent":
        it.act("user", dict(TALK))
    it.act(seat, dict(STOP))
    assert (it.reason, it.grade().reward) == (f"{seat}_stop", 1.0)


@pytest.mark.parametrize("token", ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_each_stop_token_of_the_benchmark_stops(tmp_path: Path, token: str) -> None:
    it = referral(tmp_path)
    it.act("user", {"type": "message", "content": token})
    assert (it.reason, it.grade().reward) == ("user_stop", 1.0)


@pytest.mark.parametrize(
    ("limit", "reason"), [({"max_steps": 2}, "max_steps"), ({"max_errors": 1}, "max_errors")]
)
def test_a_spent_budget_earns_nothing(tmp_path: Path, limit: dict[str, Any], reason: str) -> None:
    it = referral(tmp_path, **limit)
    it.act("user", call("no_such_tool", {}))
    grade = it.grade()
    assert (it.reason, grade.reward, grade.checks["db"], grade.checks["strict"]) == (reason, 0.0, True, False)


def test_an_infrastructure_failure_is_not_scored(tmp_path: Path) -> None:
    it = referral(tmp_path)
    it.fail("simulator_error")
    assert it.grade().reward is None


def test_a_budget_can_be_made_to_earn_the_state(tmp_path: Path) -> None:
    it = referral(tmp_path, max_steps=1, truncation_reward="state")
    assert (it.reason, it.grade().reward) == ("max_steps", 1.0)


# -- calls that were made belong to the episode -----------------------------------------------------------


def test_calls_are_kept_by_forks_and_snapshots_and_made_again_by_regrade(tmp_path: Path) -> None:
    domain = bank(
        tmp_path,
        action("get_current_time", {}),
        action("submit_referral", REFER, "user"),
        reward_basis=["ACTION"],
    )
    it = episode(domain)
    before = it.snapshot()
    replay_reference(it)
    assert it.grade().reward == it.fork().grade().reward == 1.0
    it.restore(before)
    assert it.grade().reward == 0.0
    record = run_episode(episode(domain), "oracle", "replay")
    assert (record.reward, record.reason) == (1.0, "user_stop")
    assert regrade(domain, domain.tasks["test"]["task_001"], record) == record.grade


# -- the judge --------------------------------------------------------------------------------------------


class Judge:
    """Notes what it is asked, and says the same each time."""

    def __init__(self, verdict: bool) -> None:
        self.verdict = verdict
        self.asked: list[tuple[list[str], list[str]]] = []

    def __call__(self, transcript: Any, assertions: Any) -> bool:
        self.asked.append(([message.content for _, message in transcript], list(assertions)))
        return self.verdict


def judged(tmp_path: Path, judge: Judge | None) -> Domain:
    return bank(
        tmp_path,
        action("submit_referral", REFER, "user"),
        reward_basis=["DB", "NL_ASSERTION"],
        nl_assertions=["The agent was kind."],
        judge=judge,
    )


def test_a_judged_task_is_not_scored_without_a_judge_and_its_state_is_known(tmp_path: Path) -> None:
    domain = judged(tmp_path, None)
    record = run_episode(episode(domain), "oracle", "replay")
    assert (record.reward, record.error, record.grade.checks["db"]) == (None, None, True)
    assert "judge" in record.grade.reason
    assert record.grade.checks["strict"] is None


@pytest.mark.parametrize("verdict", [True, False])
def test_a_judge_decides_at_the_end_when_all_else_is_right(tmp_path: Path, verdict: bool) -> None:
    judge = Judge(verdict)
    domain = judged(tmp_path, judge)
    record = run_episode(episode(domain), "oracle", "replay")
    assert (record.reward, record.grade.checks["judged"]) == (float(verdict), verdict)
    assert record.grade.checks["strict"] == verdict
    ((said, assertions),) = judge.asked
    assert assertions == ["The agent was kind."]
    assert "You want a card." not in said
    assert said[0].startswith("Hello")
    assert regrade(domain, domain.tasks["test"]["task_001"], record).reward == float(verdict)
    assert judge.asked[0] == judge.asked[1]


def test_a_judge_is_not_asked_in_vain(tmp_path: Path) -> None:
    judge = Judge(True)
    it = episode(judged(tmp_path, judge))
    replay_reference(it)
    assert it.grade().reward is None  # not over
    it.reset()
    it.act("user", dict(STOP))
    assert it.grade().reward == 0.0  # the state is wrong
    assert judge.asked == []


def test_an_unscored_judged_task_is_scored_later_by_a_domain_with_a_judge(tmp_path: Path) -> None:
    record = run_episode(episode(judged(tmp_path / "a", None)), "oracle", "replay")
    domain = judged(tmp_path / "b", Judge(True))
    assert regrade(domain, domain.tasks["test"]["task_001"], record).reward == 1.0


def test_the_judge_can_be_given_by_name(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "bank")
    assert load_domain("tau3_banking", data_dir=folder, judge=Judge(True)).name == "tau3_banking"
