"""Money between a customer's own accounts."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import Level, Row, open_account, verified_account
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.domains.banking.tools.accounts import with_amount
from gym_enterprise.domains.banking.vocabulary import AccountId
from gym_enterprise.tools import Money, ToolError, dollars, tool
from gym_enterprise.world import World

DIRECT_LIMIT = FACTS.money("limits.direct_transfer")
"""Largest transfer, in cents, that needs no confirmation in the app."""

_LIST = (
    "SELECT * FROM (SELECT * FROM transfers WHERE from_account_id = ? "
    "UNION ALL SELECT * FROM transfers WHERE to_account_id = ?) ORDER BY made_on, transfer_id"
)
_MOVE = "UPDATE accounts SET balance_cents = balance_cents + ? WHERE account_id = ?"


@tool()
def list_transfers(world: World, account_id: AccountId) -> list[dict[str, Any]]:
    """List transfers from and to an account. Ordered by made_on, then transfer_id, ascending.

    Args:
        account_id: The account, from list_accounts.
    """
    verified_account(world, account_id)
    return [with_amount(row) for row in world.query(_LIST, account_id, account_id)]


@tool(writes=True)
def transfer_between_accounts(
    world: World, from_account_id: AccountId, to_account_id: AccountId, amount: Money
) -> dict[str, Any]:
    """Move up to 1,000.00 dollars at once between two accounts of the same customer.

    Args:
        from_account_id: Where the money comes from.
        to_account_id: Where it goes.
        amount: Dollars.
    """
    if amount > DIRECT_LIMIT:
        raise ToolError("amount", f"{dollars(amount)} is more than this tool moves.")
    check_transfer(world, from_account_id, to_account_id, amount)
    return {"transfer_id": move(world, from_account_id, to_account_id, amount), "amount": dollars(amount)}


def check_transfer(world: World, source: str, target: str, amount: int, level: Level = "standard") -> Row:
    """Raise unless the transfer can be made now; return the source account."""
    if source == target:
        raise ToolError("same_account", "The two accounts are the same.")
    from_account, to_account = open_account(world, source, level), open_account(world, target, level)
    if from_account["customer_id"] != to_account["customer_id"]:
        raise ToolError("other_owner", "The two accounts do not belong to the same customer.")
    if PRODUCTS[from_account["product"]].credit:
        raise ToolError("credit_card", "Money cannot be transferred from a credit card.")
    if amount <= 0:
        raise ToolError("amount", f"{dollars(amount)} is not an amount that can be moved.")
    if amount > from_account["balance_cents"]:
        raise ToolError("funds", f"{dollars(amount)} is more than the balance of {source}.")
    return from_account


def move(world: World, source: str, target: str, amount: int) -> str:
    """Record a transfer and change both balances."""
    world.execute(_MOVE, -amount, source)
    world.execute(_MOVE, amount, target)
    made = world.insert(
        "transfers", from_account_id=source, to_account_id=target, amount_cents=amount, made_on=world.today
    )
    return str(made)
