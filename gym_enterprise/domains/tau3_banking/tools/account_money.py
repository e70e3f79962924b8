"""Discoverable tools of the agent: money moved between bank accounts, and credits to them."""

from __future__ import annotations

from collections.abc import Callable

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

CHECKING_CREDITS = {"rebate_credit": "REBATE CREDIT", "fee_refund": "FEE REFUND"}
SAVINGS_CREDITS = {
    "interest_correction": "INTEREST CORRECTION",
    "fee_refund": "FEE REFUND",
    "goodwill_credit": "GOODWILL CREDIT",
}


@discoverable(writes=True)
def transfer_funds_between_bank_accounts_7291(
    world: World, source_account_id: str, destination_account_id: str, amount: float
) -> str:
    """Move money from one bank account to another."""
    moved = check.positive("amount", check.as_float("amount", amount))
    check.require(source_account_id != destination_account_id, "same_account", "The accounts must differ.")
    source = check.existing(world, "accounts", source_account_id)
    destination = check.existing(world, "accounts", destination_account_id)
    check.in_status(source, *check.LIVE)
    check.in_status(destination, *check.LIVE)
    left = check.balance(source) - moved
    check.require(left >= 0, "insufficient_funds", "The source account holds less than that.")
    paid, received = check.dollars(left), check.dollars(check.balance(destination) + moved)
    records.change(world, "accounts", source_account_id, source, current_holdings=paid)
    records.change(world, "accounts", destination_account_id, destination, current_holdings=received)
    return f"Moved {check.dollars(moved)}. {source_account_id}: {paid}; {destination_account_id}: {received}."


@discoverable(writes=True, codes={"credit_type": CHECKING_CREDITS})
def apply_checking_account_credit_5829(world: World, account_id: str, amount: float, credit_type: str) -> str:
    """Credit an amount to a checking account."""
    credited = _raise_balance(world, account_id, amount, ("checking",), check.dollars)
    record_id = ids.account_credit("checking", account_id, credit_type, credited, check.today(world))
    return _record_credit(world, record_id, account_id, credited, credit_type, CHECKING_CREDITS[credit_type])


@discoverable(writes=True, codes={"credit_type": SAVINGS_CREDITS})
def apply_savings_account_credit_6831(world: World, account_id: str, amount: float, credit_type: str) -> str:
    """Credit an amount to a savings account."""
    credited = _raise_balance(world, account_id, amount, ("saving", "savings"), check.plain)
    record_id = ids.account_credit("savings", account_id, credit_type, credited, check.today(world))
    return _record_credit(world, record_id, account_id, credited, credit_type, SAVINGS_CREDITS[credit_type])


def _raise_balance(
    world: World, account_id: str, amount: float, classes: tuple[str, ...], written: Callable[[float], str]
) -> float:
    credited = check.positive("amount", check.as_float("amount", amount))
    account = check.existing(world, "accounts", account_id)
    check.class_is(account, *classes)
    check.in_status(account, *check.LIVE)
    now = written(check.balance(account) + credited)
    records.change(world, "accounts", account_id, account, current_holdings=now)
    return credited


def _record_credit(
    world: World, record_id: str, account_id: str, credited: float, credit_type: str, what: str
) -> str:
    """Record a credit; a second one of the same id overwrites the first, though the balance rose twice."""
    table = "bank_account_transaction_history"
    credit = {
        "transaction_id": record_id,
        "account_id": account_id,
        "date": check.today(world),
        "description": f"{what} - CUSTOMER SERVICE",
        "amount": credited,
        "type": credit_type,
        "status": "posted",
    }
    if not records.insert(world, table, credit):
        records.change(world, table, record_id, credit)
    now = check.existing(world, "accounts", account_id)["current_holdings"]
    return f"Credited {check.dollars(credited)} to {account_id}, which holds {now} now."


TOOLS = (
    transfer_funds_between_bank_accounts_7291,
    apply_checking_account_credit_5829,
    apply_savings_account_credit_6831,
)
