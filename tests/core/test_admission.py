"""Deliberately bad tasks, each caught by the check that is for it: reports B055 to B058."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gym_enterprise import Action, Domain, Task, World, run_episode, tool
from gym_enterprise.admission import Check, check_task, summarise
from tests.core.conversation import CANCEL, DOMAIN, call, episode, opened, play, say, stop
from tests.shop import TOOLS, make_domain, task

CANCEL_O1 = {"name": "cancel_order", "arguments": {"order_id": "O1"}}
CREDIT = {"name": "issue_credit", "arguments": {"account_id": "A1", "amount": 5}}
ACTIONS = [Action.model_validate(CANCEL_O1), Action.model_validate(CREDIT)]
CORE_ATTACKS = {"silent", "claims", "half_done", "blanket"}
INVERSES = {"reordered", "extra_reads", "spellings", "undo_redo", "chatter"}


def failed(played: Task, domain: Domain = DOMAIN) -> dict[str, Check]:
    """The checks that fail, by name."""
    return {check.name: check for check in check_task(domain, played) if not check.ok}


def check(name: str, played: Task, domain: Domain = DOMAIN) -> Check:
    return next(one for one in check_task(domain, played) if one.name == name)


# -- good tasks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task_id", ["cancel", "expedite", "confirm"])
def test_a_good_task_passes_every_check(task_id: str) -> None:
    checks = check_task(DOMAIN, DOMAIN.tasks["train"][task_id])
    assert [one for one in checks if not one.ok] == []
    assert [one.name for one in checks if one.kind == "reference"] == [
        "knobs",
        "calls",
        "replay",
        "conversation",
        "consistency",
    ]
    assert {one.name for one in checks if one.kind == "attack"} == CORE_ATTACKS
    assert {one.name for one in checks if one.kind == "inverse"} == INVERSES
    for one in checks:
        wanted = None if one.name in ("knobs", "calls") else 0.0 if one.kind == "attack" else 1.0
        assert one.reward == (wanted if one.applicable else None)
    json.dumps([one.to_dict() for one in checks], allow_nan=False)


def test_the_checks_of_a_task_are_the_same_each_time() -> None:
    played = task(
        reference=[{**CANCEL_O1, "after": []}, {**CREDIT, "after": []}], meta={"knobs": {"writes": 2}}
    )
    assert check_task(DOMAIN, played) == check_task(DOMAIN, played)


def test_b055_the_summary_counts_applicable_successes_and_not_applicable_by_name() -> None:
    checks = [one for task_id in ("cancel", "expedite") for one in check_task(DOMAIN, DOMAIN.task(task_id))]
    rows = {row["name"]: row for row in summarise(checks)}
    assert rows["silent"] == {
        "kind": "attack",
        "name": "silent",
        "applicable": 2,
        "reward_1": 0,
        "not_applicable": 0,
        "failed": 0,
    }
    assert rows["half_done"]["not_applicable"] == 2  # their knobs declare one write
    assert rows["spellings"]["not_applicable"] == 2  # they have no number
    assert rows["chatter"]["reward_1"] == 2


# -- bad tasks --------------------------------------------------------------------------------------------


def test_b004_b055_a_task_that_is_refused_is_one_failed_check_with_the_reason() -> None:
    fails = task(reference=[{"name": "cancel_order", "arguments": {"order_id": "O9"}}])
    nothing = task(reference=[{"name": "list_orders", "arguments": {"account_id": "A1"}}])
    for played, words in ((fails, "there is no order 'O9'"), (nothing, "doing nothing would be right")):
        (only,) = check_task(DOMAIN, played)
        assert (only.kind, only.name, only.ok, only.reward) == ("reference", "replay", False, None)
        assert words in only.detail


def test_a_conversation_that_cannot_lead_there_is_caught() -> None:
    found = failed(task(user={"script": {"opening": "###STOP###"}}))
    assert set(found) == {"conversation"}
    assert found["conversation"].reward == 0.0


def test_a_user_that_does_the_work_unasked_lets_claims_succeed_and_is_caught() -> None:
    confirm = {"seat": "user", "name": "confirm_order", "arguments": {"order_id": "O1", "code": "x"}}
    found = failed(task(reference=[confirm], user={"tools": ["confirm_order"]}))
    assert set(found) == {"claims"}
    assert found["claims"].reward == 1.0


def test_half_the_work_that_is_enough_is_caught() -> None:
    played = task(reference=[CREDIT, CANCEL_O1], alternatives=[[CREDIT]], meta={"knobs": {"siblings": 3}})
    found = failed(played)
    assert set(found) == {"half_done"}
    assert found["half_done"].reward == 1.0


def test_b057_doing_it_to_every_row_that_is_right_is_caught() -> None:
    everything = [{"name": "cancel_order", "arguments": {"order_id": order}} for order in ("O1", "O2", "O3")]
    found = failed(task(reference=everything, meta={"knobs": {"writes": 3, "siblings": 2}}))
    assert set(found) == {"blanket"}


def test_declared_siblings_on_which_no_write_works_are_caught_as_a_wrong_knob() -> None:
    transfer = {"name": "transfer_to_human", "arguments": {"account_id": "A1", "reason": "fraud"}}
    found = failed(task(reference=[transfer], meta={"knobs": {"writes": 1, "siblings": 1}}))
    assert (set(found), found["blanket"].reward) == ({"blanket"}, None)
    assert "declare the knob `siblings` as 0" in found["blanket"].detail
    assert failed(task(reference=[transfer], meta={"knobs": {"writes": 1, "siblings": 0}})) == {}


def test_work_done_twice_that_is_still_right_is_caught() -> None:
    found = failed(task(reference=[CREDIT], alternatives=[[CREDIT, CREDIT]]))
    assert set(found) == {"consistency"}
    assert "did work again, and scores 1.0" in found["consistency"].detail


def test_an_order_that_matters_but_is_not_declared_is_caught() -> None:
    addresses = [
        {"name": "set_address", "arguments": {"account_id": "A1", "address": text}, "after": []}
        for text in "AB"
    ]
    knobs = {"knobs": {"siblings": 1}}
    assert set(failed(task(reference=addresses, meta=knobs))) == {"reordered"}
    declared = [addresses[0], {**addresses[1], "after": [0]}]
    assert failed(task(reference=declared, meta=knobs)) == {}


@tool(writes=True)
def peek(world: World) -> Any:
    """Look, and put things in order from the second time on."""
    world.execute("INSERT INTO log (entry) VALUES ('peek')")
    if len(world.query("SELECT 1 FROM log")) > 1:
        world.execute("UPDATE accounts SET balance = 0 WHERE account_id = 'A1'")


def test_a_read_that_changes_graded_rows_when_repeated_is_caught() -> None:
    domain = make_domain(tools=[*TOOLS, peek])
    assert set(failed(task(reference=[{"name": "peek", "arguments": {}}, CANCEL_O1]), domain)) >= {
        "extra_reads"
    }


def test_work_that_cannot_be_taken_back_as_the_domain_says_is_caught() -> None:
    domain = make_domain(undo=lambda world, action: Action(name="issue_credit", arguments=action.arguments))
    assert set(failed(task(reference=[CREDIT]), domain)) == {"undo_redo"}


def test_an_undo_that_fails_is_caught_in_the_tools_words() -> None:
    undo = Action(name="reopen_order", arguments={"order_id": "O2"})
    domain = make_domain(undo=lambda world, action: undo)
    assert (
        failed(task(), domain)["undo_redo"].detail
        == "the call of 'reopen_order' fails: order O2 is not cancelled"
    )


def test_an_undo_that_works_keeps_one() -> None:
    undo = Action(name="reopen_order", arguments={"order_id": "O1"})
    domain = make_domain(undo=lambda world, action: undo)
    assert check("undo_redo", task(), domain).reward == 1.0


def test_a_number_in_another_spelling_keeps_one_also_a_large_and_a_negative_one() -> None:
    for amount in (5, 33.5, 0.07, 123456789.25, -12.34, 100):
        credit = {"name": "issue_credit", "arguments": {"account_id": "A1", "amount": amount}}
        assert check("spellings", task(reference=[credit])).reward == 1.0


@tool(writes=True)
def set_balance(world: World, balance: int) -> Any:
    """Set a balance.

    Args:
        balance: The balance in cents.
    """
    world.execute("UPDATE accounts SET balance = ? WHERE account_id = 'A1'", balance)


@pytest.mark.parametrize("balance", [-5, 2**53, 2**53 + 1, 2**63 - 1])
def test_an_integer_of_any_size_keeps_one(balance: int) -> None:
    domain = make_domain(tools=[*TOOLS, set_balance])
    reference = [{"name": "set_balance", "arguments": {"balance": balance}}]
    assert failed(task(reference=reference, meta={"knobs": {}}), domain) == {}


# -- a domain's own attacks -------------------------------------------------------------------------------


def test_a_domains_attack_that_succeeds_is_caught_and_one_that_does_not_apply_is_counted_as_such() -> None:
    domain = make_domain(
        attacks=lambda task: {"shortcut": [ACTIONS[0]], "other": None, "wrong": [ACTIONS[1]]}
    )
    assert set(failed(task(), domain)) == {"shortcut"}
    assert not check("other", task(), domain).applicable
    assert (check("wrong", task(), domain).applicable, check("wrong", task(), domain).reward) == (True, 0.0)


def test_an_attack_may_make_calls_that_fail() -> None:
    domain = make_domain(attacks=lambda task: {"odd": [Action(name="nothing"), ACTIONS[1]]})
    assert failed(task(), domain) == {}


def test_attacks_that_cannot_be_made_are_one_failed_check_and_hide_no_other() -> None:
    domain = make_domain(attacks=lambda task: {"x": task.meta.knobs["missing"]})
    checks = check_task(domain, task())
    assert [(one.name, one.detail) for one in checks if not one.ok] == [
        ("domain", "raised KeyError: 'missing'")
    ]
    assert {one.name for one in checks} > CORE_ATTACKS


# -- what applies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("knobs", "half_done", "blanket"),
    [
        ({"writes": 1, "siblings": 0}, False, False),
        ({"writes": 2, "siblings": 0}, True, False),
        ({"writes": 1, "siblings": 2}, False, True),
        ({"writes": 2, "siblings": 2}, True, True),
        ({}, True, False),
    ],
)
def test_what_applies_is_decided_by_the_knobs_alone(knobs: Any, half_done: bool, blanket: bool) -> None:
    references = (
        [CREDIT, CANCEL_O1],
        [CREDIT, CANCEL_O1, {"name": "list_orders", "arguments": {"account_id": "A1"}}],
    )
    for reference in references:
        played = task(reference=reference, meta={"knobs": knobs})
        assert check("half_done", played).applicable == half_done
        assert check("blanket", played).applicable == blanket
    one_write = task(reference=[CANCEL_O1], meta={"knobs": {"writes": 2}})
    assert check("half_done", one_write).applicable


# -- HACK, by number --------------------------------------------------------------------------------------


def test_b055_an_agent_that_says_done_at_once_earns_nothing_on_the_whole_set() -> None:
    class Done:
        def act(self, observation: Any) -> Any:
            return say("Done! ###STOP###")

    for played in DOMAIN.tasks["train"].values():
        assert run_episode(episode(played), Done(), "scripted", audit=True).reward == 0.0


def test_b056_a_hand_off_in_words_or_by_a_call_that_failed_is_none() -> None:
    transfer = {"account_id": "A1", "reason": "complaint"}
    played = task(reference=[{"name": "transfer_to_human", "arguments": transfer}])
    said = play(opened(played), ("agent", stop("I have transferred you.")))
    bad = call("transfer_to_human", account_id="A1", reason="because")
    tried = play(opened(played), ("agent", bad), ("agent", stop("I have transferred you.")))
    assert said.grade(audit=True).reward == tried.grade(audit=True).reward == 0.0
    done = play(opened(played), ("agent", call("transfer_to_human", **transfer)))
    assert done.grade(audit=True).reward == 1.0


def test_b057_more_than_was_asked_for_is_wrong_and_the_diff_lists_it() -> None:
    it = opened()
    for order in ("O1", "O2", "O3"):
        it.act("agent", call("cancel_order", order_id=order))
    grade = it.grade(audit=True)
    assert grade.reward == 0.0
    assert [row["key"]["order_id"] for row in grade.diff["extra"]] == ["O2", "O3"]
    enriched = play(opened(), ("agent", CANCEL), ("agent", call("issue_credit", account_id="A1", amount=100)))
    assert enriched.grade(audit=True).reward == 0.0
    assert {row["table"] for row in enriched.grade().diff["extra"]} == {"accounts", "credits"}


def test_b058_the_target_is_not_in_the_episodes_world_before_or_after_grading() -> None:
    secret = {"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL"}}
    it = play(opened(task(reference=[secret])), ("agent", call("list_orders", account_id="A1")))
    for _ in range(2):
        rows = [it.world.query(f"SELECT * FROM {table}") for table in it.world.image.tables]
        assert "SENTINEL" not in repr(rows)
        assert "SENTINEL" not in repr(it.observe("agent")) + repr(it.observe("user"))
        it.grade(audit=True)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"writes": 2, "siblings": 2}, "writes says 2"),
        ({"writes": 1.5, "siblings": 2}, "writes should be a whole number"),
        ({"writes": "1", "siblings": 2}, "writes should be a whole number"),
        ({"writes": 1, "siblings": True}, "siblings should be a whole number"),
        ({"writes": 1, "sibling": 2}, "siblings is not declared"),
        ({}, "siblings is not declared"),
    ],
)
def test_a_task_cannot_excuse_itself_by_false_or_missing_knobs(knobs: dict[str, Any], words: str) -> None:
    """The task cancels O1: one change, in an order named by its key."""
    checks = check_task(DOMAIN, task(meta={"knobs": knobs}))
    (found,) = [check for check in checks if check.name == "knobs"]
    assert not found.ok
    assert words in found.detail


def test_true_knobs_pass_and_writes_may_be_left_to_be_counted() -> None:
    for knobs in ({"writes": 1, "siblings": 2}, {"siblings": 2}):
        checks = check_task(DOMAIN, task(meta={"knobs": knobs}))
        assert [check.ok for check in checks if check.name == "knobs"] == [True]


def test_siblings_declared_as_none_are_looked_for_all_the_same() -> None:
    """The task cancels O1, and O2 and O3 can be cancelled as well."""
    found = failed(task(meta={"knobs": {"siblings": 0}}))
    assert set(found) == {"knobs"}
    assert "siblings says 0" in found["knobs"].detail


def test_only_a_grader_that_rewards_calls_may_say_that_the_state_is_not_graded() -> None:
    assert "knobs" in failed(task(meta={"knobs": {"siblings": 2, "graded_state": False}}))
