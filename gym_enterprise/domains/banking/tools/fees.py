"""Fees that were charged, and giving them back."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.preconditions import verified_customer, verified_transaction
from gym_enterprise.domains.banking.products import refund_text
from gym_enterprise.domains.banking.vocabulary import CustomerId, RefundBasis, TransactionId
from gym_enterprise.tools import Date, Money, ToolError, dollars, tool
from gym_enterprise.world import World

_HISTORY = (
    "SELECT transactions.transaction_id, transactions.account_id, posted_on, fee, transactions.amount_cents, "
    "fee_refunds.amount_cents AS refunded_cents, basis, refunded_on "
    "FROM accounts JOIN transactions USING (account_id) LEFT JOIN fee_refunds USING (transaction_id) "
    "WHERE accounts.customer_id = ? AND fee IS NOT NULL AND posted_on >= ? "
    "ORDER BY posted_on, transactions.transaction_id"
)


@tool(discoverable=True)
def list_fee_history_6150(world: World, customer_id: CustomerId, since: Date) -> list[dict[str, Any]]:
    """List fees on all of a verified customer's accounts with what was refunded.

    Ordered by posted_on, then transaction_id, ascending.

    Args:
        customer_id: The customer.
        since: First day on which a fee was posted, YYYY-MM-DD; its refund may be later.
    """
    verified_customer(world, customer_id)
    rows = world.query(_HISTORY, customer_id, since)
    for row in rows:
        row["amount"] = dollars(row.pop("amount_cents"))
        refunded = row.pop("refunded_cents")
        row["refunded"] = None if refunded is None else dollars(refunded)
    return rows


@tool(writes=True, discoverable=True)
def refund_fee_7305(
    world: World, transaction_id: TransactionId, amount: Money, basis: RefundBasis
) -> dict[str, Any]:
    """Give a fee back to the account that it was charged to, whole or in part, once.

    Args:
        transaction_id: The fee, from list_transactions.
        amount: What is given back, in dollars.
        basis: Whether the bank erred, or gives it back as a courtesy.
    """
    fee = verified_transaction(world, transaction_id)
    if fee["kind"] != "fee":
        raise ToolError("not_a_fee", f"Transaction {transaction_id} is not a fee.")
    if world.one("SELECT 1 FROM fee_refunds WHERE transaction_id = ?", transaction_id):
        raise ToolError("already_refunded", f"Something was already refunded for {transaction_id}.")
    if not 0 < amount <= -fee["amount_cents"]:
        raise ToolError("amount", f"{dollars(amount)} is not between 0.01 and the fee.")
    refund = world.insert(
        "fee_refunds",
        transaction_id=transaction_id,
        customer_id=fee["customer_id"],
        amount_cents=amount,
        basis=basis,
        refunded_on=world.today,
    )
    credit(world, fee["account_id"], refund_text(fee["description"]), amount)
    return {"refund_id": refund, "amount": dollars(amount), "basis": basis}


def credit(world: World, account_id: str, text: str, amount: int) -> None:
    """Post money to an account."""
    world.insert(
        "transactions",
        account_id=account_id,
        card_id=None,
        posted_on=world.today,
        kind="credit",
        fee=None,
        description=text,
        amount_cents=amount,
    )
    world.execute(
        "UPDATE accounts SET balance_cents = balance_cents + ? WHERE account_id = ?", amount, account_id
    )
