"""Disputes about purchases and cash withdrawals."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.preconditions import (
    require_status,
    verified_card,
    verified_customer,
    verified_transaction,
)
from gym_enterprise.domains.banking.tools.fees import credit
from gym_enterprise.domains.banking.vocabulary import CustomerId, DisputeReason, TransactionId
from gym_enterprise.tools import ToolError, dollars, tool
from gym_enterprise.world import World

_LIST = (
    "SELECT dispute_id, transaction_id, reason, provisional_credit, status, opened_on FROM disputes "
    "WHERE customer_id = ? ORDER BY opened_on, dispute_id"
)


@tool(discoverable=True)
def list_disputes_1194(world: World, customer_id: CustomerId) -> list[dict[str, Any]]:
    """List all disputes of a verified customer. Ordered by opened_on, then dispute_id, ascending.

    Args:
        customer_id: The customer.
    """
    verified_customer(world, customer_id)
    rows = world.query(_LIST, customer_id)
    for row in rows:
        row["provisional_credit"] = bool(row["provisional_credit"])
    return rows


@tool(writes=True, discoverable=True)
def open_dispute_2846(
    world: World, transaction_id: TransactionId, reason: DisputeReason, provisional_credit: bool
) -> dict[str, Any]:
    """Open a dispute about a purchase or a cash withdrawal.

    Args:
        transaction_id: The disputed transaction, from list_transactions.
        reason: What is wrong with it.
        provisional_credit: Whether the amount is credited at once, until the dispute is decided.
    """
    row = verified_transaction(world, transaction_id)
    if row["kind"] not in ("purchase", "cash"):
        raise ToolError("not_disputable", f"A {row['kind']} like {transaction_id} is not disputed.")
    if world.one("SELECT 1 FROM disputes WHERE transaction_id = ?", transaction_id):
        raise ToolError("already_disputed", f"Transaction {transaction_id} was disputed before.")
    if reason == "unauthorised" and row["card_id"]:  # whoever made it must not go on
        require_status(verified_card(world, row["card_id"]), "frozen", "cancelled")
    dispute = world.insert(
        "disputes",
        transaction_id=transaction_id,
        customer_id=row["customer_id"],
        reason=reason,
        provisional_credit=int(provisional_credit),
        status="open",
        opened_on=world.today,
    )
    amount = -row["amount_cents"]
    if provisional_credit:
        credit(world, row["account_id"], f"Provisional credit: {row['description']}", amount)
    return {"dispute_id": dispute, "amount": dollars(amount), "provisional_credit": provisional_credit}
