"""Discoverable tools of the agent: credit card accounts, from replacement to closure."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.tools import ToolError
from gym_enterprise.world import World

ORDER_REASONS = ("fraud_suspected", "lost", "stolen", "damaged", "expired", "other")
CLOSURE_REASONS = (
    "annual_fee",
    "not_using_card",
    "found_better_card",
    "unhappy_with_rewards",
    "simplifying_finances",
    "negative_experience",
    "other",
)
FLAG_TYPES = ("annual_fee_waived", "promotional_apr", "rewards_bonus", "other")
FLAG_REASONS = ("retention_offer", "loyalty_benefit", "promotional", "error_correction", "other")


@discoverable(writes=True, codes={"reason": ORDER_REASONS})
def order_replacement_credit_card_7291(
    world: World,
    credit_card_account_id: str,
    user_id: str,
    shipping_address: str,
    reason: str,
    expedited_shipping: bool = False,
) -> str:
    """Order a replacement for a credit card; the old card is cancelled."""
    arguments = records.arguments_of(locals())
    account = check.existing(world, "credit_card_accounts", credit_card_account_id)
    order = {
        "order_id": ids.credit_card_order(credit_card_account_id, user_id, reason),
        **arguments,
        "order_date": check.today(world),
        "status": "ORDERED",
        "old_card_cancelled": True,
    }
    check.add(world, "credit_card_orders", order)
    _close(world, credit_card_account_id, account)
    return f"Ordered a replacement of {credit_card_account_id} ({order['order_id']}); the card is cancelled."


@discoverable()
def get_pending_replacement_orders_5765(world: World, credit_card_account_id: str) -> str:
    """List the replacement orders of a credit card account."""
    return _history(world, "credit_card_orders", credit_card_account_id)


@discoverable(writes=True, codes={"closure_reason": CLOSURE_REASONS})
def log_credit_card_closure_reason_4521(
    world: World, credit_card_account_id: str, user_id: str, closure_reason: str
) -> str:
    """Record why a customer wants to close a credit card; only the first reason is kept."""
    arguments = records.arguments_of(locals())
    record_id = ids.closure_reason(credit_card_account_id, user_id)
    reason = {"record_id": record_id, **arguments, "logged_at": check.today(world), "status": "LOGGED"}
    records.insert(world, "credit_card_closure_reasons", reason)
    return f"Logged {closure_reason} as the reason to close {credit_card_account_id}."


@discoverable()
def get_closure_reason_history_8293(world: World, credit_card_account_id: str) -> str:
    """List the logged closure reasons of a credit card account."""
    return _history(world, "credit_card_closure_reasons", credit_card_account_id)


@discoverable(writes=True, codes={"flag_type": FLAG_TYPES, "reason": FLAG_REASONS})
def apply_credit_card_account_flag_6147(
    world: World,
    credit_card_account_id: str,
    user_id: str,
    flag_type: str,
    expiration_date: str,
    reason: str,
) -> str:
    """Put a flag, such as a waived fee, on a credit card account until a date."""
    arguments = records.arguments_of(locals())
    check.existing(world, "credit_card_accounts", credit_card_account_id)
    flag = {
        "flag_id": ids.account_flag(credit_card_account_id, flag_type, expiration_date),
        **arguments,
        "effective_date": check.today(world),
        "applied_at": check.today(world),
        "status": "ACTIVE",
    }
    check.add(world, "credit_card_account_flags", flag)
    return f"Flagged {credit_card_account_id} with {flag_type} until {expiration_date}: {flag['flag_id']}."


@discoverable(writes=True)
def close_credit_card_account_7834(world: World, credit_card_account_id: str, user_id: str) -> str:
    """Close a credit card account."""
    account = check.existing(world, "credit_card_accounts", credit_card_account_id)
    _close(world, credit_card_account_id, account, closed_by=user_id)
    return f"The credit card account {credit_card_account_id} of {user_id} is closed."


@discoverable(writes=True)
def pay_credit_card_from_checking_9182(
    world: World, user_id: str, checking_account_id: str, credit_card_account_id: str, amount: float
) -> str:
    """Pay off a credit card's balance, or part of it, from the customer's checking account."""
    paid = check.positive("amount", check.as_float("amount", amount))
    checking = check.existing(world, "accounts", checking_account_id)
    check.owned(checking, user_id)
    check.require(checking.get("class") == "checking", "wrong_class", "This is no checking account.")
    held = check.balance(checking) - paid
    check.require(held >= 0, "insufficient_funds", "The checking account holds less than that.")
    card = check.existing(world, "credit_card_accounts", credit_card_account_id)
    check.owned(card, user_id)
    owed = _owed(card) - paid
    check.require(owed >= 0, "too_much", "The credit card's balance is less than that.")
    records.change(world, "accounts", checking_account_id, checking, current_holdings=check.plain(held))
    due = check.dollars(owed)
    records.change(world, "credit_card_accounts", credit_card_account_id, card, current_balance=due)
    return f"Paid {check.dollars(paid)}. Checking: {check.dollars(held)}; credit card: {due}."


def _close(world: World, account_id: str, account: records.Record, **fields: str) -> None:
    fields = {"status": "CLOSED", "closed_date": check.today(world), **fields}
    records.change(world, "credit_card_accounts", account_id, account, **fields)


def _owed(card: records.Record) -> float:
    try:
        return check.parse_money(card.get("current_balance"))
    except ToolError:
        return 0.0


def _history(world: World, table: str, account_id: str) -> str:
    found = records.matching(world, table, "credit_card_account_id", account_id)
    return f"Records of {account_id}:\n{records.dump(world, table, found)}"


TOOLS = (
    order_replacement_credit_card_7291,
    get_pending_replacement_orders_5765,
    log_credit_card_closure_reason_4521,
    get_closure_reason_history_8293,
    apply_credit_card_account_flag_6147,
    close_credit_card_account_7834,
    pay_credit_card_from_checking_9182,
)
