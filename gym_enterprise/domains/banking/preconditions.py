"""What must hold before a tool acts, declared once, and always checked in this order.

===========  ==================================================================  ====================
rule         holds when                                                          error
===========  ==================================================================  ====================
existence    the record that is named exists                                     `not_found`
owner        agent: its owner was verified in this conversation; user: its       `not_verified`,
             owner is signed in, and no other records exist for the user         `not_found`
level        the verification was at the level that the tool needs               `verification_level`
status       the record is in a state in which the tool works on it              `wrong_status`
===========  ==================================================================  ====================

What a tool checks besides, such as amounts, comes after these.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Literal

from gym_enterprise.tools import ToolError
from gym_enterprise.world import World

Row = dict[str, Any]
Level = Literal["standard", "enhanced"]
"""Two facts matched, or at least three with the card number among them."""

_CUSTOMER = "SELECT * FROM customers WHERE customer_id = ?"
_ACCOUNT = "SELECT * FROM accounts WHERE account_id = ?"
_CARD = (
    "SELECT cards.*, accounts.customer_id, accounts.product "
    "FROM cards JOIN accounts USING (account_id) WHERE card_id = ?"
)
_TRANSACTION = (
    "SELECT transactions.*, accounts.customer_id, accounts.product "
    "FROM transactions JOIN accounts USING (account_id) WHERE transaction_id = ?"
)
_REQUEST = "SELECT * FROM app_requests WHERE request_id = ?"
_VERIFIED = (
    "SELECT 1 FROM verifications "
    "WHERE customer_id = ? AND verified_at = ? AND level IN ('enhanced', ?) LIMIT 1"
)
_SIGNED_IN = "SELECT customer_id FROM app_sessions WHERE device = 'phone'"


def _found(row: Row | None, kind: str, identifier: str) -> Row:
    if row is None:
        raise ToolError("not_found", f"There is no {kind} with the id {identifier!r}.")
    return row


def existing_customer(world: World, customer_id: str) -> Row:
    """Return the customer's row, verified or not."""
    return _found(world.one(_CUSTOMER, customer_id), "customer", customer_id)


def is_verified(world: World, customer_id: str, level: Level = "standard") -> bool:
    """Return whether the customer was verified in this conversation at this level or a higher one."""
    return world.one(_VERIFIED, customer_id, world.now, level) is not None


def require_verified(world: World, customer_id: str, level: Level = "standard") -> None:
    """Raise unless the customer was verified in this conversation."""
    if not is_verified(world, customer_id):
        raise ToolError("not_verified", "The customer has not been verified in this conversation.")
    if not is_verified(world, customer_id, level):
        raise ToolError("verification_level", "This needs the enhanced verification of the customer.")


def verified_customer(world: World, customer_id: str, level: Level = "standard") -> Row:
    """Return the row of a customer who was verified in this conversation."""
    row = existing_customer(world, customer_id)
    require_verified(world, customer_id, level)
    return row


def verified_account(world: World, account_id: str, level: Level = "standard") -> Row:
    """Return the row of an open account whose owner was verified in this conversation."""
    row = _found(world.one(_ACCOUNT, account_id), "account", account_id)
    require_verified(world, row["customer_id"], level)
    return row


def open_account(world: World, account_id: str, level: Level = "standard") -> Row:
    """Return the row of a verified customer's account, which must be open."""
    row = verified_account(world, account_id, level)
    if row["status"] != "open":
        raise ToolError("wrong_status", f"Account {account_id} is {row['status']}.")
    return row


def verified_card(world: World, card_id: str, level: Level = "standard") -> Row:
    """Return the row of a verified customer's card, with its `customer_id` and `product`."""
    row = _found(world.one(_CARD, card_id), "card", card_id)
    require_verified(world, row["customer_id"], level)
    return row


def require_status(card: Row, *allowed: str) -> None:
    """Raise unless the card is in one of these states."""
    if card["status"] not in allowed:
        wanted = " or ".join(allowed)
        raise ToolError("wrong_status", f"Card {card['card_id']} is {card['status']}, not {wanted}.")


def verified_transaction(world: World, transaction_id: str) -> Row:
    """Return the row of a verified customer's transaction, with its `customer_id`, on an open account."""
    row = _found(world.one(_TRANSACTION, transaction_id), "transaction", transaction_id)
    open_account(world, row["account_id"])
    return row


def waiting_request(world: World, request_id: str) -> Row:
    """Return the row of a verified customer's request, which must still wait for the customer in the app."""
    row = _found(world.one(_REQUEST, request_id), "app request", request_id)
    require_verified(world, row["customer_id"])
    return _still_waiting(row)


def own_request(world: World, request_id: str) -> Row:
    """Return the row of a request in the app of whoever is signed in, which must still wait."""
    holder, row = signed_in(world), world.one(_REQUEST, request_id)
    own = row if row is not None and row["customer_id"] == holder else None
    return _still_waiting(_found(own, "app request", request_id))


def own_card(world: World, card_id: str, *allowed: str) -> Row:
    """Return the row of a card of whoever is signed in to the app, in one of these states."""
    holder, row = signed_in(world), world.one(_CARD, card_id)
    own = row if row is not None and row["customer_id"] == holder else None
    card = _found(own, "card", card_id)
    require_status(card, *allowed)
    return card


def _still_waiting(request: Row) -> Row:
    if request["status"] != "waiting":
        raise ToolError("wrong_status", f"Request {request['request_id']} is {request['status']}.")
    return request


def signed_in(world: World) -> str:
    """Return who is signed in to the app on the user's phone."""
    row = world.one(_SIGNED_IN)
    if row is None:
        raise ToolError("not_signed_in", "Nobody is signed in to the app on this phone.")
    return str(row["customer_id"])


def days_ago(world: World, days: int) -> str:
    """Return the date so many days before today."""
    return (date.fromisoformat(world.today) - timedelta(days=days)).isoformat()
