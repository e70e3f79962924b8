"""Cards: what a customer has, freezing, limits, replacement."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from typing import Any

from gym_enterprise.domains.banking.preconditions import (
    Row,
    existing_customer,
    require_status,
    verified_card,
    verified_customer,
)
from gym_enterprise.domains.banking.products import FEE_TEXT, PRODUCTS
from gym_enterprise.domains.banking.vocabulary import (
    CardId,
    CardLimit,
    CustomerId,
    Delivery,
    FreezeReason,
    ReissueReason,
)
from gym_enterprise.tools import Money, ToolError, dollars, tool
from gym_enterprise.world import World

_LIST = (
    "SELECT cards.*, product FROM accounts JOIN cards USING (account_id) "
    "WHERE customer_id = ? AND last_four = coalesce(?, last_four) ORDER BY issued_on, card_id"
)
_FOUR_DIGITS = re.compile("[0-9]{4}")
_SET_STATUS = "UPDATE cards SET status = ?, frozen_for = ? WHERE card_id = ?"
SET_LIMIT = {
    "purchases": "UPDATE cards SET purchase_limit_cents = ? WHERE card_id = ?",
    "cash": "UPDATE cards SET cash_limit_cents = ? WHERE card_id = ?",
}


@tool()
def list_cards(world: World, customer_id: CustomerId, last_four: str | None = None) -> list[dict[str, Any]]:
    """List a verified customer's cards, cancelled ones too. Ordered by issued_on, then card_id, ascending.

    Args:
        customer_id: The customer.
        last_four: Only cards whose number ends in these four digits.
    """
    verified_customer(world, customer_id)
    if last_four is not None and not _FOUR_DIGITS.fullmatch(last_four):
        raise ToolError(
            "invalid_arguments", f"last_four must be four digits, such as '0417'; got {last_four!r}."
        )
    return [_shown(row) for row in world.query(_LIST, customer_id, last_four)]


@tool(writes=True)
def freeze_card(world: World, card_id: CardId, reason: FreezeReason) -> dict[str, Any]:
    """Freeze an active card so that nothing can be paid with it.

    Args:
        card_id: The card, from list_cards.
        reason: Why it is frozen.
    """
    require_status(verified_card(world, card_id), "active")
    world.execute(_SET_STATUS, "frozen", reason, card_id)
    return {"card_id": card_id, "status": "frozen", "frozen_for": reason}


@tool(writes=True)
def unfreeze_card(world: World, card_id: CardId) -> dict[str, Any]:
    """Make a frozen card usable again.

    Args:
        card_id: The card, from list_cards.
    """
    require_status(verified_card(world, card_id), "frozen")
    world.execute(_SET_STATUS, "active", None, card_id)
    return {"card_id": card_id, "status": "active"}


@tool(writes=True)
def set_card_limit(world: World, card_id: CardId, limit: CardLimit, amount: Money) -> dict[str, Any]:
    """Set a card's daily limit to any amount up to the standard limit of its product.

    Args:
        card_id: The card, from list_cards.
        limit: Which of the two daily limits.
        amount: The new limit in dollars, 0 or more.
    """
    card = verified_card(world, card_id)
    require_status(card, "active", "pending_activation")
    product = PRODUCTS[card["product"]]
    standard = product.purchase_limit if limit == "purchases" else product.cash_limit
    if not 0 <= amount <= standard:
        raise ToolError("limit", f"{dollars(amount)} is not between 0.00 and this product's standard limit.")
    world.execute(SET_LIMIT[limit], amount, card_id)
    return {"card_id": card_id, "limit": limit, "amount": dollars(amount)}


@tool(writes=True, discoverable=True)
def reissue_card_4417(
    world: World, card_id: CardId, reason: ReissueReason, delivery: Delivery, fee: Money
) -> dict[str, Any]:
    """Cancel a card and order its replacement, which arrives inactive; the fee is charged to the account.

    Args:
        card_id: The card to replace, from list_cards.
        reason: Why it is replaced.
        delivery: How the new card travels.
        fee: Everything the customer pays for replacement and delivery together, in dollars; 0 when free.
    """
    card = verified_card(world, card_id)
    require_status(card, *(("frozen",) if reason in ("lost", "stolen") else ("active", "frozen")))
    if not 0 <= fee <= 20_000:
        raise ToolError("fee", f"{dollars(fee)} is not a fee that can be charged for a card.")
    world.execute(_SET_STATUS, "cancelled", None, card_id)
    new_card = _issue_like(world, card)
    order = world.insert(
        "card_orders",
        card_id=card_id,
        new_card_id=new_card["card_id"],
        reason=reason,
        delivery=delivery,
        fee_cents=fee,
        frozen_for=card["frozen_for"],
        sent_to=_address(world, card["customer_id"]),
        ordered_on=world.today,
    )
    if fee:
        _charge(world, card, fee)
    return {"order_id": order, "new_card_id": new_card["card_id"], "new_last_four": new_card["last_four"]}


@tool(writes=True, discoverable=True)
def cancel_card_4471(world: World, card_id: CardId) -> dict[str, Any]:
    """Cancel a card for good, without a successor.

    Args:
        card_id: The card, from list_cards.
    """
    require_status(verified_card(world, card_id), "active", "frozen", "pending_activation")
    world.execute(_SET_STATUS, "cancelled", None, card_id)
    return {"card_id": card_id, "status": "cancelled"}


def _address(world: World, customer_id: str) -> str:
    """Return the address on record, to which a new card travels, whatever is changed afterwards."""
    row = existing_customer(world, customer_id)
    return f"{row['street']}, {row['city']} {row['postal_code']}"


def _issue_like(world: World, card: Row) -> Row:
    """Insert the successor of a card; its number follows from the old one, the same each time."""
    today = date.fromisoformat(world.today)
    number = int(hashlib.sha256(card["card_id"].encode()).hexdigest()[:8], 16) % 10_000
    row = {
        "account_id": card["account_id"],
        "last_four": f"{number:04d}",
        "status": "pending_activation",
        "frozen_for": None,
        "purchase_limit_cents": card["purchase_limit_cents"],
        "cash_limit_cents": card["cash_limit_cents"],
        "issued_on": world.today,
        "expires_on": date(today.year + 4, today.month, 28).isoformat(),
    }
    return {"card_id": world.insert("cards", **row)} | row


def _charge(world: World, card: Row, fee: int) -> None:
    world.insert(
        "transactions",
        account_id=card["account_id"],
        card_id=card["card_id"],
        posted_on=world.today,
        kind="fee",
        fee="card_replacement",
        description=FEE_TEXT["card_replacement"],
        amount_cents=-fee,
    )
    world.execute(
        "UPDATE accounts SET balance_cents = balance_cents - ? WHERE account_id = ?", fee, card["account_id"]
    )


def _shown(row: Row) -> dict[str, Any]:
    return {
        "card_id": row["card_id"],
        "account_id": row["account_id"],
        "product": PRODUCTS[row["product"]].name,
        "last_four": row["last_four"],
        "status": row["status"],
        "frozen_for": row["frozen_for"],
        "purchase_limit": dollars(row["purchase_limit_cents"]),
        "cash_limit": dollars(row["cash_limit_cents"]),
        "issued_on": row["issued_on"],
        "expires_on": row["expires_on"],
    }
