"""The customer's app: requests that wait for confirmation there, and what the customer does with it."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import (
    Row,
    own_card,
    own_request,
    require_status,
    signed_in,
    verified_card,
    waiting_request,
)
from gym_enterprise.domains.banking.tools.accounts import with_amount
from gym_enterprise.domains.banking.tools.cards import SET_LIMIT
from gym_enterprise.domains.banking.tools.transfers import check_transfer, move
from gym_enterprise.domains.banking.vocabulary import AccountId, CardId, CardLimit, Country, RequestId
from gym_enterprise.tools import Date, Money, ToolError, dollars, tool
from gym_enterprise.world import World

_LIST = (
    "SELECT request_id, kind, card_id, from_account_id, to_account_id, amount_cents, status, opened_on "
    "FROM app_requests WHERE customer_id = ? ORDER BY opened_on, request_id"
)
_WAITING_TWIN = (
    "SELECT request_id FROM app_requests WHERE status = 'waiting' AND kind = ? AND card_id IS ? "
    "AND from_account_id IS ? AND to_account_id IS ? AND amount_cents = ? LIMIT 1"
)
_CHANGED_ON = "SELECT 1 FROM customers WHERE customer_id = ? AND contact_changed_on = ?"
_LIMIT_KIND = {"purchases": "purchase_limit", "cash": "cash_limit"}
_KIND_LIMIT = {kind: limit for limit, kind in _LIMIT_KIND.items()}
_LARGEST_LIMIT = 2_500_000
_LONGEST_NOTICE = FACTS.days("travel.longest")


def limit_request(world: World, customer_id: str, card_id: str, limit: str, amount: int) -> Row:
    """Return the row of a request for a higher limit, without its id."""
    return {
        "customer_id": customer_id,
        "kind": _LIMIT_KIND[limit],
        "card_id": card_id,
        "from_account_id": None,
        "to_account_id": None,
        "amount_cents": amount,
        "status": "waiting",
        "opened_on": world.today,
    }


def transfer_request(world: World, customer_id: str, source: str, target: str, amount: int) -> Row:
    """Return the row of a request for a transfer, without its id."""
    return {
        "customer_id": customer_id,
        "kind": "transfer",
        "card_id": None,
        "from_account_id": source,
        "to_account_id": target,
        "amount_cents": amount,
        "status": "waiting",
        "opened_on": world.today,
    }


@tool(writes=True, discoverable=True)
def open_limit_request_3168(world: World, card_id: CardId, limit: CardLimit, amount: Money) -> dict[str, Any]:
    """Ask the customer, in the app, to confirm a higher daily limit of an active card.

    Args:
        card_id: The card, from list_cards.
        limit: Which of the two daily limits.
        amount: The new limit in dollars.
    """
    card = verified_card(world, card_id, "enhanced")
    require_status(card, "active")
    _contact_as_it_was(world, card["customer_id"])
    current = card["purchase_limit_cents"] if limit == "purchases" else card["cash_limit_cents"]
    if not current < amount <= _LARGEST_LIMIT:
        raise ToolError("limit", f"{dollars(amount)} is not a higher limit that can be asked for.")
    return _open(world, limit_request(world, card["customer_id"], card_id, limit, amount))


@tool(writes=True, discoverable=True)
def open_transfer_request_8846(
    world: World, from_account_id: AccountId, to_account_id: AccountId, amount: Money
) -> dict[str, Any]:
    """Ask the customer, in the app, to confirm a transfer between two accounts of theirs.

    Args:
        from_account_id: Where the money comes from.
        to_account_id: Where it goes.
        amount: Dollars.
    """
    account = check_transfer(world, from_account_id, to_account_id, amount, "enhanced")
    customer_id = account["customer_id"]
    return _open(world, transfer_request(world, customer_id, from_account_id, to_account_id, amount))


@tool(writes=True)
def cancel_app_request(world: World, request_id: RequestId) -> dict[str, Any]:
    """Take back a request that the customer has not confirmed; it leaves no trace.

    Args:
        request_id: The request, as it was opened.
    """
    waiting_request(world, request_id)
    world.execute("DELETE FROM app_requests WHERE request_id = ?", request_id)
    return {"request_id": request_id, "status": "cancelled"}


@tool(seat="user")
def app_list_requests(world: World) -> list[dict[str, Any]]:
    """Show the requests in my app. Ordered by opened_on, then request_id, ascending."""
    return [with_amount(row) for row in world.query(_LIST, signed_in(world))]


@tool(writes=True, seat="user")
def app_confirm_request(world: World, request_id: RequestId) -> dict[str, Any]:
    """Confirm a request of the bank in my app, which carries it out.

    Args:
        request_id: The request, as the bank or my app names it.
    """
    request = own_request(world, request_id)
    if request["kind"] == "transfer":
        move(world, request["from_account_id"], request["to_account_id"], request["amount_cents"])
    else:
        own_card(world, request["card_id"], "active", "frozen", "pending_activation")  # not a replaced one
        _contact_as_it_was(world, request["customer_id"])
        world.execute(SET_LIMIT[_KIND_LIMIT[request["kind"]]], request["amount_cents"], request["card_id"])
    world.execute("UPDATE app_requests SET status = 'confirmed' WHERE request_id = ?", request_id)
    return {"request_id": request_id, "status": "confirmed"}


@tool(writes=True, seat="user", discoverable=True)
def app_activate_card_5512(world: World, card_id: CardId) -> dict[str, Any]:
    """Activate a new card in my app.

    Args:
        card_id: The new card, as the bank names it.
    """
    own_card(world, card_id, "pending_activation")
    world.execute("UPDATE cards SET status = 'active' WHERE card_id = ?", card_id)
    return {"card_id": card_id, "status": "active"}


@tool(writes=True, seat="user", discoverable=True)
def app_travel_notice_2290(
    world: World, card_id: CardId, country: Country, starts_on: Date, ends_on: Date
) -> dict[str, Any]:
    """Tell the bank in my app that I will use a card abroad.

    Args:
        card_id: The card, as the bank names it.
        country: Two-letter code of the country.
        starts_on: First day abroad, YYYY-MM-DD.
        ends_on: Last day abroad, YYYY-MM-DD.
    """
    own_card(world, card_id, "active")
    if not world.today <= starts_on <= ends_on:
        raise ToolError("bad_period", "The period must not begin in the past, nor end before it begins.")
    if date.fromisoformat(ends_on) - date.fromisoformat(starts_on) > timedelta(days=_LONGEST_NOTICE):
        raise ToolError("bad_period", f"A notice covers at most {_LONGEST_NOTICE} days.")
    row = {"card_id": card_id, "country": country, "starts_on": starts_on, "ends_on": ends_on}
    if world.one(
        "SELECT 1 FROM travel_notices WHERE card_id = ? AND country = ? AND starts_on = ? AND ends_on = ?",
        *row.values(),
    ):
        raise ToolError("already_there", "The app already holds this notice.")
    return {"notice_id": world.insert("travel_notices", **row)} | row


def _contact_as_it_was(world: World, customer_id: str) -> None:
    """Raise if contact data were changed today, after which no limit is raised, asked for before or not."""
    if world.one(_CHANGED_ON, customer_id, world.today):
        raise ToolError("contact_changed", "Contact data were changed today; it is too late for a raise.")


def _open(world: World, row: Row) -> dict[str, Any]:
    """Insert a request, of which no twin may wait: cancelling either would leave one row under another id."""
    contents = (row[name] for name in ("kind", "card_id", "from_account_id", "to_account_id", "amount_cents"))
    if twin := world.one(_WAITING_TWIN, *contents):
        raise ToolError("already_waiting", f"The same request, {twin['request_id']}, is already waiting.")
    return {"request_id": world.insert("app_requests", **row), "status": "waiting"}
