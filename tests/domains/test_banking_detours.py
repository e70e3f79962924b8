"""Doing a write twice and taking one back costs nothing: no made id tells of the detour."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gym_enterprise import Action, Episode, Task, load_domain
from gym_enterprise.messages import SEATS
from gym_enterprise.world import ChangeSet
from tests.domains.bank_desk import DATES, NEEDS_VERIFICATION, Arguments, Desk

BANK = load_domain("banking")
TASKS = [task for split in BANK.tasks.values() for task in split.values()]

Variant = Callable[[Action | None, Action | None], Action | None]
VARIANTS: dict[str, Variant] = {
    "the first is taken back": lambda first, second: first,
    "the second is taken back": lambda first, second: second or first,
    "none is taken back": lambda first, second: None,
}


def business_state(changes: ChangeSet) -> str:
    """Return the changes without the ids that were made: what a person would say that was done."""
    rows = changes.to_list()
    made = {value: row["table"] for row in rows if row["op"] == "insert" for value in row["key"].values()}

    def masked(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: masked(part) for name, part in value.items()}
        return f"a row of {made[value]}" if value in made else value

    return json.dumps(sorted(json.dumps(masked(row), sort_keys=True) for row in rows))


def play(task: Task, detour_at: int | None, variant: Variant) -> tuple[str, float | None]:
    """Play a reference with a detour at one call; return the business state and the reward.

    A later call that names what the detour replaced names what is there now, as a customer would.
    """
    episode = Episode(BANK, task)
    call, world = episode.dispatcher.call, episode.world
    now_named: dict[str, str] = {}
    for index, action in enumerate(task.reference):
        named = {name: now_named.get(str(value), value) for name, value in action.arguments.items()}
        action = action.model_copy(update={"arguments": named})
        undo_first = BANK.undo(world, action) if index == detour_at else None
        outcome = call(action.seat, action.name, action.arguments)
        assert outcome.ok, outcome.to_dict()
        if index != detour_at:
            continue
        done = business_state(world.changes())
        undo_second = BANK.undo(world, action) if undo_first else None
        again = call(action.seat, action.name, action.arguments)
        undo = variant(undo_first, undo_second if again.ok else None)
        if undo is not None:
            assert call(undo.seat, undo.name, undo.arguments).ok
        left = again if again.ok and undo == undo_first else outcome
        if undo is not None and business_state(world.changes()) != done:
            left = call(action.seat, action.name, action.arguments)
            assert left.ok
        for old, new in zip(_texts(outcome.to_dict()), _texts(left.to_dict()), strict=True):
            now_named[old] = new
    return business_state(world.changes()), episode.grade().reward


def _texts(outcome: dict[str, Any]) -> list[str]:
    result = outcome["result"]
    return [str(value) for value in result.values()] if isinstance(result, dict) else []


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_write_done_twice_and_taken_back_once_scores_whenever_the_business_state_is_right(
    task: Task, variant: Variant
) -> None:
    target, reward = play(task, None, variant)
    assert reward == 1.0
    writes = []
    for index, action in enumerate(task.reference):
        tool = BANK.toolset(action.seat).get(action.name)
        if tool is not None and tool.writes and not tool.terminal:
            writes.append(index)
    ends = {index: play(task, index, variant) for index in writes}
    # No tool of these references does equal work twice, so every detour ends in the right state.
    assert [index for index, (state, _) in ends.items() if state != target] == []
    assert [index for index, (_, reward) in ends.items() if reward != 1.0] == []
    # The verification and the work; a caller who cannot be verified may need one call, or only the last one.
    assert len(ends) >= (2 if task.meta.knobs["verified"] else 0)


NOT_TRIED_TWICE = {
    "unfreeze_card": "the card is active then",
    "close_account_5533": "the account is closed then",
    "app_activate_card_5512": "the card is active then",
    "app_confirm_request": "the request is confirmed then",
    "cancel_app_request": "the request is gone then",
    "transfer_to_human": "the conversation has ended then",
}
"""Tools that need a state which they themselves end."""

WRITING = {tool.name for seat in SEATS for tool in BANK.toolset(seat) if tool.writes}

TWICE: list[tuple[str, Arguments]] = [
    *(case for case in NEEDS_VERIFICATION if case[0] in WRITING - NOT_TRIED_TWICE.keys()),
    ("verify_identity", lambda d: {"customer_id": d.customer_id, "date_of_birth": d.customer["date_of_birth"],
                                   "phone": d.customer["phone"], "card_last_four": d.card()["last_four"]}),
    ("app_travel_notice_2290", lambda d: {"card_id": d.card()["card_id"], "country": "IS", **DATES}),
]  # fmt: skip


def test_every_tool_that_writes_is_tried_twice() -> None:
    assert {name for name, _ in TWICE} | NOT_TRIED_TWICE.keys() == WRITING


@pytest.mark.parametrize(("name", "arguments"), TWICE, ids=[name for name, _ in TWICE])
def test_rows_of_equal_contents_are_never_deleted_so_their_ids_tell_nothing(
    desk: Desk, name: str, arguments: Arguments
) -> None:
    """The only rows that a tool deletes are waiting requests; so those must not have a twin."""
    desk.verify()
    given = arguments(desk)
    desk.do(name, **given)
    before = desk.world.changes()
    again = desk.call(name, **given)
    made = [row for row in before.diff(desk.world.changes()).missing if row["op"] == "insert"]
    if made:
        # A transfer done twice is work done twice: both rows stay, and nothing takes one away.
        assert (name, {row["table"] for row in made}) == ("transfer_between_accounts", {"transfers"})
    elif name.startswith("open_"):
        assert again["error"]["code"] in ("already_waiting", "already_disputed")


def test_an_identical_request_that_waits_is_not_opened_again_and_another_one_is(desk: Desk) -> None:
    desk.verify()
    card = desk.card()["card_id"]
    first = {"card_id": card, "limit": "cash", "amount": 900}
    opened = desk.do("open_limit_request_3168", **first)
    assert desk.refused("open_limit_request_3168", **first) == "already_waiting"
    desk.do("open_limit_request_3168", **{**first, "amount": 950})
    desk.do("open_limit_request_3168", **{**first, "limit": "purchases", "amount": 4000})
    desk.do("cancel_app_request", **{"request_id": opened["request_id"]})
    assert desk.do("open_limit_request_3168", **first) == opened
    accounts = [desk.account(product)["account_id"] for product in ("plus", "reserve")]
    there = {"from_account_id": accounts[0], "to_account_id": accounts[1], "amount": 1}
    desk.world.execute("UPDATE accounts SET balance_cents = 100000 WHERE account_id = ?", accounts[0])
    made = desk.do("open_transfer_request_8846", **there)
    assert desk.refused("open_transfer_request_8846", **there) == "already_waiting"
    desk.do("app_confirm_request", request_id=made["request_id"])
    assert desk.do("open_transfer_request_8846", **there) != made  # a second transfer is another one


def test_the_limit_of_a_replaced_card_is_not_raised_any_more(desk: Desk) -> None:
    """The new card's id is made from the limits that the old one had: these stay, or the id would lie."""
    desk.verify()
    card = desk.card()["card_id"]
    opened = desk.do("open_limit_request_3168", card_id=card, limit="cash", amount=900)
    desk.do("reissue_card_4417", card_id=card, reason="damaged", delivery="standard", fee=0)
    assert desk.refused("app_confirm_request", request_id=opened["request_id"]) == "wrong_status"
    desk.do("cancel_app_request", request_id=opened["request_id"])
