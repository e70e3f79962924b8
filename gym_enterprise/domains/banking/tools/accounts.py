"""Accounts and what was posted to them."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import (
    Row,
    open_account,
    verified_account,
    verified_customer,
)
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.domains.banking.vocabulary import AccountId, CustomerId
from gym_enterprise.tools import Date, ToolError, dollars, tool
from gym_enterprise.world import World

_FIRST_DUE_DAY = FACTS.count("service.due_day.first")
_LIST = (
    "SELECT accounts.*, points, day, changed_on FROM accounts LEFT JOIN points USING (account_id) "
    "LEFT JOIN due_days USING (account_id) WHERE customer_id = ? ORDER BY opened_on, account_id"
)
_OPEN_DISPUTE = (
    "SELECT 1 FROM disputes JOIN transactions USING (transaction_id) "
    "WHERE disputes.customer_id = ? AND account_id = ? AND status = 'open' LIMIT 1"
)
_CANCEL_CARDS = "UPDATE cards SET status = 'cancelled', frozen_for = NULL WHERE account_id = ?"


@tool()
def list_accounts(world: World, customer_id: CustomerId) -> list[dict[str, Any]]:
    """List a verified customer's accounts, closed ones too. Ordered by opened_on, then account_id, ascending.

    A negative balance is money that the customer owes. Credit cards show the day of the month on which the
    bill is due, when that day was last changed, and the points collected.

    Args:
        customer_id: The customer.
    """
    verified_customer(world, customer_id)
    return [_shown(row) for row in world.query(_LIST, customer_id)]


@tool()
def list_transactions(
    world: World, account_id: AccountId, since: Date, until: Date | None = None
) -> list[dict[str, Any]]:
    """List what was posted to an account in a period. Ordered by posted_on, then transaction_id, ascending.

    A negative amount is money out.

    Args:
        account_id: The account, from list_accounts.
        since: First day, YYYY-MM-DD.
        until: Last day, YYYY-MM-DD; today when absent.
    """
    verified_account(world, account_id)
    last = until or world.today
    if since > last:
        raise ToolError("bad_period", f"The period ends on {last}, before it begins on {since}.")
    rows = world.query(
        "SELECT transaction_id, card_id, posted_on, kind, description, amount_cents FROM transactions "
        "WHERE account_id = ? AND posted_on BETWEEN ? AND ? ORDER BY posted_on, transaction_id",
        account_id,
        since,
        last,
    )
    return [with_amount(row) for row in rows]


@tool(writes=True, discoverable=True)
def close_account_5533(world: World, account_id: AccountId) -> dict[str, Any]:
    """Close an account for good and cancel its cards; the balance must be zero.

    Args:
        account_id: The account, from list_accounts.
    """
    account = open_account(world, account_id, "enhanced")
    if account["balance_cents"] != 0:
        raise ToolError("balance", f"The balance is {dollars(account['balance_cents'])}; it must be 0.00.")
    if world.one(_OPEN_DISPUTE, account["customer_id"], account_id):
        raise ToolError("open_dispute", "A dispute on this account is still open.")
    world.execute(_CANCEL_CARDS, account_id)
    world.execute(
        "UPDATE accounts SET status = 'closed', closed_on = ? WHERE account_id = ?", world.today, account_id
    )
    return {"account_id": account_id, "status": "closed", "closed_on": world.today}


def with_amount(row: Row) -> dict[str, Any]:
    """Return the row as players see it: `amount` in dollars in place of `amount_cents`."""
    shown = dict(row)
    shown["amount"] = dollars(shown.pop("amount_cents"))
    return shown


def _shown(row: Row) -> dict[str, Any]:
    limit = row["credit_limit_cents"]
    shown = {
        "account_id": row["account_id"],
        "product": PRODUCTS[row["product"]].name,
        "status": row["status"],
        "balance": dollars(row["balance_cents"]),
        "credit_limit": None if limit is None else dollars(limit),
        "opened_on": row["opened_on"],
        "closed_on": row["closed_on"],
    }
    if PRODUCTS[row["product"]].credit:
        shown["due_day"] = row["day"] or _FIRST_DUE_DAY
        shown["due_day_changed_on"] = row["changed_on"]
    if row["points"] is not None:
        shown["points"] = row["points"]
    return shown
