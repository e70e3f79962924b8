"""Discoverable tools of the agent: credit limits, asked for, looked into and decided on."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

DENIAL_REASONS = (
    "insufficient_account_age",
    "cooldown_period_active",
    "pending_disputes",
    "pending_replacement_card",
    "past_due_balance",
    "high_utilization",
    "insufficient_payment_history",
    "requested_amount_exceeds_limit",
    "other",
)
OPEN_DISPUTES = ("SUBMITTED", "UNDER_REVIEW", "PENDING")
OPEN_ORDERS = ("PENDING", "PROCESSING", "SHIPPED")
BAD_STANDING = ("PAST_DUE", "DELINQUENT", "COLLECTIONS", "CLOSED")
_REQUESTS = "credit_limit_increase_requests"


@discoverable(writes=True)
def submit_credit_limit_increase_request_7392(
    world: World, credit_card_account_id: str, user_id: str, requested_increase_amount: int
) -> str:
    """Submit a customer's request for a higher credit limit."""
    increase = check.as_whole("requested_increase_amount", requested_increase_amount)
    check.positive("requested_increase_amount", increase)
    check.owned(check.existing(world, "credit_card_accounts", credit_card_account_id), user_id)
    fields = {"requested_increase_amount": increase, "submitted_at": check.today(world)}
    check.add(world, _REQUESTS, _request(credit_card_account_id, user_id, increase, "PENDING", **fields))
    return f"The request for {check.dollars(increase)} more was submitted."


@discoverable()
def get_credit_limit_increase_history_4829(world: World, credit_card_account_id: str) -> str:
    """List the limit requests of a credit card account."""
    found = records.matching(world, _REQUESTS, "credit_card_account_id", credit_card_account_id)
    return f"Limit requests of {credit_card_account_id}:\n{records.dump(world, _REQUESTS, found)}"


@discoverable()
def get_payment_history_6183(world: World, credit_card_account_id: str, months: int) -> str:
    """List a credit card account's latest payments, and how many in a row were on time."""
    wanted = check.positive("months", int(check.as_float("months", months)))
    payments = records.matching(world, "payment_history", "credit_card_account_id", credit_card_account_id)
    newest = sorted(payments.values(), key=lambda row: str(row.get("payment_date", "")), reverse=True)
    latest = newest[: int(wanted)]
    if not latest:
        return f"There are no payments of {credit_card_account_id} on record."
    streak = len(list(takewhile(lambda row: row.get("status") == "ON_TIME", latest)))
    lines = [f"- {row.get('payment_date')}: {row.get('amount')}, {row.get('status')}" for row in latest]
    return "\n".join([f"Payments on time in a row: {streak}", *lines])


@discoverable(writes=True)
def approve_credit_limit_increase_5847(
    world: World, credit_card_account_id: str, user_id: str, new_credit_limit: float
) -> str:
    """Approve a higher credit limit and set it."""
    check.present(new_credit_limit=new_credit_limit)
    new = check.as_float("new_credit_limit", new_credit_limit)
    account = check.existing(world, "credit_card_accounts", credit_card_account_id)
    check.owned(account, user_id)
    _require_eligible(world, credit_card_account_id, account, user_id)
    old = check.parse_money(account.get("credit_limit"))
    limits = {"previous_limit": check.dollars(old), "new_limit": check.dollars(new)}
    records.change(
        world, "credit_card_accounts", credit_card_account_id, account, credit_limit=limits["new_limit"]
    )
    fields = {**limits, "increase_amount": check.dollars(new - old), "decision_date": check.today(world)}
    decision = _request(credit_card_account_id, user_id, new - old, "APPROVED", **fields)
    records.insert(world, _REQUESTS, decision)  # dropped where the request for as much more has the id
    return f"Approved: the limit of {credit_card_account_id} is now {limits['new_limit']}."


@discoverable(writes=True, codes={"denial_reason": DENIAL_REASONS})
def deny_credit_limit_increase_5848(
    world: World, credit_card_account_id: str, user_id: str, denial_reason: str
) -> str:
    """Deny a customer's request for a higher credit limit."""
    check.existing(world, "credit_card_accounts", credit_card_account_id)
    fields = {"denial_reason": denial_reason, "decision_date": check.today(world)}
    records.insert(world, _REQUESTS, _request(credit_card_account_id, user_id, 0, "DENIED", **fields))
    return f"Denied ({denial_reason}): the limit of {credit_card_account_id} stays."


def _request(account_id: str, user_id: str, amount: float, status: str, **fields: Any) -> records.Record:
    return {
        "request_id": ids.limit_request(account_id, user_id, amount),
        "credit_card_account_id": account_id,
        "user_id": user_id,
        **fields,
        "status": status,
    }


def _require_eligible(world: World, account_id: str, account: records.Record, user_id: str) -> None:
    disputes = records.matching(world, "transaction_disputes", "user_id", user_id).values()
    orders = records.matching(world, "credit_card_orders", "credit_card_account_id", account_id).values()
    hindered = (
        any(row.get("status") in OPEN_DISPUTES for row in disputes)
        or any(row.get("status") in OPEN_ORDERS for row in orders)
        or str(account.get("account_status", "")).upper() in BAD_STANDING
    )
    check.require(not hindered, "not_eligible", "The account is not eligible for a higher limit.")


TOOLS = (
    submit_credit_limit_increase_request_7392,
    get_credit_limit_increase_history_4829,
    get_payment_history_6183,
    approve_credit_limit_increase_5847,
    deny_credit_limit_increase_5848,
)
