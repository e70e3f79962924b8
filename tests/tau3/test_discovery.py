"""Unlocking, giving and calling discoverable tools: the order of checks, and what is recorded when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import Episode
from gym_enterprise.dispatch import Outcome
from gym_enterprise.domains.tau3_banking import canonical_hash, make_domain
from gym_enterprise.domains.tau3_banking.records import rows
from tests.tau3.small_bank import Desk, raw_task, small_bank, write_folder

FREEZE = "freeze_debit_card_3892"
READ = "get_user_dispute_history_7291"
"""A read that the small bank's task records as called."""


def _agent(desk: Desk, name: Any, arguments: Any = "{}") -> Outcome:
    call = {"agent_tool_name": name, "arguments": arguments}
    return desk.dispatcher.call("agent", "call_discoverable_agent_tool", call)


def _user(desk: Desk, name: Any, arguments: Any = "{}") -> Outcome:
    call = {"discoverable_tool_name": name, "arguments": arguments}
    return desk.dispatcher.call("user", "call_discoverable_user_tool", call)


def _code(outcome: Outcome) -> str:
    return str(outcome.to_dict()["error"]["code"])


@pytest.fixture
def locked() -> Desk:
    return Desk(opened=False)


def test_unlocking_is_free_and_shows_the_tool(locked: Desk) -> None:
    before = locked.hash()
    text = locked.do("unlock_discoverable_agent_tool", agent_tool_name="apply_statement_credit_8472")
    assert locked.hash() == before
    assert not len(locked.world.changes())
    assert "- amount (number, required): " in text
    assert "price_match" in text


def test_an_unknown_tool_comes_before_a_locked_one_and_that_before_its_arguments(locked: Desk) -> None:
    before = locked.hash()
    for name in ("nothing", "log_verification", "get_referral_link", 7, None):
        assert _code(_agent(locked, name, "{")) == "unknown_tool"
    assert _code(_agent(locked, FREEZE, "{")) == "locked"
    locked.do("unlock_discoverable_agent_tool", agent_tool_name=FREEZE)
    for text in ("{", "[]", "3", '{"card_id": NaN}', '{"card_id": 1e999}', '"' * 3, "[" * 100_000):
        assert _code(_agent(locked, FREEZE, text)) == "invalid_json"
    assert _code(_agent(locked, FREEZE, '{"card_id": "\\ud800"}')) == "invalid_json"
    assert _code(_agent(locked, FREEZE, "{}")) == "invalid_arguments"
    assert locked.hash() == before


def test_arguments_that_are_not_text_fail_and_count(desk: Desk) -> None:
    before = desk.hash()
    for arguments in ({"card_id": "active"}, None, 3):
        outcome = _agent(desk, FREEZE, arguments)
        assert (outcome.ok, outcome.counts) == (False, True)
    assert desk.hash() == before


def test_a_refused_call_is_recorded_and_does_not_count(desk: Desk) -> None:
    outcome = _agent(desk, FREEZE, '{"card_id": "closed"}')
    assert (outcome.ok, outcome.counts) == (False, False)
    assert rows(desk.world, "agent_discoverable_tools") == {
        "7d2d289458587c8d": {"tool_name": FREEZE, "status": "CALLED"}
    }


def test_calls_of_one_tool_are_one_record(desk: Desk) -> None:
    _agent(desk, FREEZE, '{"card_id": "closed"}')
    before = desk.hash()
    _agent(desk, FREEZE, '{"card_id": "closed"}')
    _agent(desk, FREEZE, '{"card_id": "icy"}')
    assert desk.hash() == before


def test_reads_are_recorded_only_where_the_reference_makes_them(desk: Desk) -> None:
    desk.do("get_debit_dispute_status_7483", user_id="u1")
    desk.do("initial_transfer_to_human_agent_0218")
    assert desk.called() == set()
    desk.do(READ, user_id="u1")
    assert desk.called() == {READ}
    assert READ in desk.do("list_discoverable_agent_tools")


def test_the_user_can_list_what_it_was_given_where_a_task_offers_that(tmp_path: Path) -> None:
    offered = ["call_discoverable_user_tool", "list_discoverable_user_tools"]
    bank = make_domain(write_folder(tmp_path / "bank", raw_task(user_tools=offered)))
    played = Episode(bank, bank.tasks["test"]["task_001"]).dispatcher
    listing = played.call("user", "list_discoverable_user_tools", {})
    assert "No records" in listing.text
    played.call("agent", "give_discoverable_user_tool", {"discoverable_tool_name": "get_referral_link"})
    assert "tool_name: get_referral_link" in played.call("user", "list_discoverable_user_tools", {}).text


def test_no_calls_are_no_records(desk: Desk) -> None:
    assert desk.do("list_discoverable_agent_tools").startswith("No records")


def test_a_direct_call_needs_no_unlocking_keeps_integers_and_leaves_no_record(locked: Desk) -> None:
    name = "apply_statement_credit_8472"
    credit = {"user_id": "u1", "credit_card_account_id": "cc1", "amount": 5, "reason": "other"}
    assert locked.listed(name, **credit)["ok"]
    assert locked.called() == set()
    assert locked.listed(FREEZE, "user", card_id="active")["error"]["code"] == "unknown_tool"


def test_giving_is_recorded_once_whatever_the_arguments(locked: Desk) -> None:
    name = "get_referral_link"
    locked.do("give_discoverable_user_tool", discoverable_tool_name=name)
    assert rows(locked.world, "user_discoverable_tools") == {
        "fc21fceb1501a934": {"tool_name": name, "status": "GIVEN"}
    }
    before = locked.hash()
    locked.do("give_discoverable_user_tool", discoverable_tool_name=name, arguments='{"user_id": "u1"}')
    assert locked.hash() == before


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("nothing", "{}", "unknown_tool"),
        ("submit_referral", "{}", "unknown_tool"),
        (FREEZE, "{}", "unknown_tool"),
        ("get_referral_link", "{", "invalid_json"),
        ("get_referral_link", '{"colour": 1}', "unknown_argument"),
    ],
)
def test_what_cannot_be_given(locked: Desk, name: str, arguments: str, code: str) -> None:
    before = locked.hash()
    give = {"discoverable_tool_name": name, "arguments": arguments}
    assert locked.code("give_discoverable_user_tool", **give) == code
    assert locked.hash() == before


def test_a_user_tool_that_was_not_given_is_locked_and_not_recorded(locked: Desk) -> None:
    before = locked.hash()
    arguments = {"user_id": "u1", "card_name": "EcoCard"}
    assert _code(_user(locked, "nothing")) == "unknown_tool"
    assert _code(_user(locked, "get_referral_link", "{")) == "invalid_json"
    assert _code(_user(locked, "get_referral_link", '{"user_id": "u1"}')) == "invalid_arguments"
    assert _code(_user(locked, "get_referral_link", json.dumps(arguments))) == "locked"
    assert locked.listed("get_referral_link", **arguments)["error"]["code"] == "locked"
    assert locked.hash() == before


def test_a_users_call_is_recorded_with_its_arguments_as_floats(desk: Desk) -> None:
    _user(desk, "deposit_check_3847", '{"account_id": "chk9", "check_amount": 25}')
    (call,) = rows(desk.world, "user_discoverable_tool_calls").values()
    assert call == {
        "tool_name": "deposit_check_3847",
        "arguments": {"account_id": "chk9", "check_amount": 25.0},
        "called_at": "11/14/2025",
        "status": "CALLED",
    }
    assert type(call["arguments"]["check_amount"]) is float
    desk.listed("deposit_check_3847", account_id="chk9", check_amount=25)
    assert len(rows(desk.world, "user_discoverable_tool_calls")) == 2  # a direct call keeps 25


def test_a_users_record_has_the_published_id(desk: Desk) -> None:
    desk.do("get_referral_link", user_id="u1", card_name="EcoCard")
    assert list(rows(desk.world, "user_discoverable_tool_calls")) == ["04c13cfc01079884"]


def test_a_snapshot_carries_what_was_unlocked_and_the_order_of_records() -> None:
    bank = small_bank()
    played = Episode(bank, bank.tasks["test"]["task_001"])
    call = {"agent_tool_name": FREEZE, "arguments": '{"card_id": "active"}'}
    played.dispatcher.call("agent", "unlock_discoverable_agent_tool", {"agent_tool_name": FREEZE})
    for account_type in ("Blue Account", "Gold Account", "Green Account"):
        played.dispatcher.call("user", "submit_referral", {"user_id": "u1", "account_type": account_type})
    copy = played.fork()
    assert canonical_hash(copy.world) == canonical_hash(played.world)
    assert rows(copy.world, "referrals") == rows(played.world, "referrals")
    assert list(rows(copy.world, "referrals")) == list(rows(played.world, "referrals"))
    assert copy.dispatcher.call("agent", "call_discoverable_agent_tool", call).ok
