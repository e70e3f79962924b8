"""The call that takes a write back, where there is one: for the inverses of admission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.domains.banking.tools.app import limit_request, transfer_request
from gym_enterprise.tasks import Action
from gym_enterprise.world import World

Arguments = Mapping[str, Any]
Made = tuple[str, dict[str, Any]] | None

_CARD = "SELECT cards.*, customer_id, product FROM cards JOIN accounts USING (account_id) WHERE card_id = ?"
_CUSTOMER = "SELECT * FROM customers WHERE customer_id = ?"
_ACCOUNT = "SELECT * FROM accounts WHERE account_id = ?"


def undo(world: World, action: Action) -> Action | None:
    """Return the call that would take back a write, or None where nothing does.

    Args:
        world: The state before the write.
        action: A reference call that is about to run and will succeed, so that the rows it names exist.

    Returns:
        An action of the same seat.
    """
    find = _INVERSES.get(action.name)
    made = find(world, action.arguments) if find else None
    return None if made is None else Action(seat=action.seat, name=made[0], arguments=made[1])


def _freeze(world: World, arguments: Arguments) -> Made:
    return "unfreeze_card", {"card_id": arguments["card_id"]}


def _unfreeze(world: World, arguments: Arguments) -> Made:
    (card,) = world.query(_CARD, arguments["card_id"])
    return "freeze_card", {"card_id": card["card_id"], "reason": card["frozen_for"]}


def _set_limit(world: World, arguments: Arguments) -> Made:
    (card,) = world.query(_CARD, arguments["card_id"])
    product, purchases = PRODUCTS[card["product"]], arguments["limit"] == "purchases"
    old = card["purchase_limit_cents" if purchases else "cash_limit_cents"]
    if old > (product.purchase_limit if purchases else product.cash_limit):
        return None  # only the customer can bring a raised limit back
    return "set_card_limit", {**arguments, "amount": old / 100}


def _contact(world: World, arguments: Arguments) -> Made:
    (old,) = world.query(_CUSTOMER, arguments["customer_id"])
    return "update_contact", {**arguments, "value": old[arguments["field"]]}


def _address(world: World, arguments: Arguments) -> Made:
    (old,) = world.query(_CUSTOMER, arguments["customer_id"])
    return "update_address", {name: old[name] for name in ("customer_id", "street", "city", "postal_code")}


def _limit_request(world: World, arguments: Arguments) -> Made:
    (card,) = world.query(_CARD, arguments["card_id"])
    cents = round(arguments["amount"] * 100)
    row = limit_request(world, card["customer_id"], card["card_id"], arguments["limit"], cents)
    return "cancel_app_request", {"request_id": world.new_id("app_requests", **row)}


def _transfer_request(world: World, arguments: Arguments) -> Made:
    source, target = arguments["from_account_id"], arguments["to_account_id"]
    (account,) = world.query(_ACCOUNT, source)
    cents = round(arguments["amount"] * 100)
    row = transfer_request(world, account["customer_id"], source, target, cents)
    return "cancel_app_request", {"request_id": world.new_id("app_requests", **row)}


_INVERSES: Mapping[str, Callable[[World, Arguments], Made]] = {
    "freeze_card": _freeze,
    "unfreeze_card": _unfreeze,
    "set_card_limit": _set_limit,
    "update_contact": _contact,
    "update_address": _address,
    "open_limit_request_3168": _limit_request,
    "open_transfer_request_8846": _transfer_request,
}
