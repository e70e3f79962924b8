"""Discoverable tools of the agent: bank accounts, opened, listed and closed."""

from __future__ import annotations

from collections.abc import Collection

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

ACCOUNT_TYPES = ("checking", "savings", "business_checking", "business_savings")
PERSONAL_CHECKING = ("checking", "personal_checking")
EARLY_CLOSURE = {
    "checking": {
        (15, 30): ("Light Blue Account", "Light Green Account", "Green Fee-Free Account"),
        (25, 60): ("Blue Account", "Green Account"),
        (50, 90): ("Evergreen Account",),
        (100, 180): ("Bluest Account",),
    },
    "savings": {
        (20, 60): ("Bronze Account",),
        (35, 90): ("Silver Account", "Silver Plus Account"),
        (75, 180): ("Gold Account", "Gold Plus Account", "Gold Years Account"),
        (150, 270): ("Platinum Account", "Platinum Plus Account", "Diamond Elite Account"),
    },
}
"""Levels by (fee in dollars, window in days), by class."""


@discoverable()
def get_all_user_accounts_by_user_id_3847(world: World, user_id: str) -> str:
    """List all bank accounts and credit card accounts of a customer."""
    found = {
        table: records.matching(world, table, "user_id", user_id)
        for table in ("accounts", "credit_card_accounts")
    }
    return "\n\n".join(records.dump(world, table, rows) for table, rows in found.items())


@discoverable(writes=True, codes={"account_type": ACCOUNT_TYPES})
def open_bank_account_4821(world: World, user_id: str, account_type: str, account_class: str) -> str:
    """Open a bank account for a customer."""
    arguments = records.arguments_of(locals())
    held = records.matching(world, "accounts", "user_id", user_id).values()
    eligible = _eligible(world, account_type, held)
    check.require(eligible, "not_eligible", "The customer is not eligible for this account.")
    account = {
        "account_id": ids.bank_account(user_id, account_type, account_class),
        **arguments,
        "current_holdings": "0.00",
        "status": "OPEN",
        "date_opened": check.today(world),
    }
    check.add(world, "accounts", account)
    return f"Opened the {account_class} ({account_type}) of {user_id}: {account['account_id']}."


def _eligible(world: World, account_type: str, accounts: Collection[records.Record]) -> bool:
    def holds(kinds: tuple[str, ...], days: int = 0) -> bool:
        return any(
            row.get("account_type", row.get("class")) in kinds
            and row.get("status") in check.LIVE
            and (not days or (check.age_in_days(world, row.get("date_opened")) or 0) >= days)
            for row in accounts
        )

    if account_type == "savings":
        return holds(PERSONAL_CHECKING, 14)
    if account_type == "business_checking":
        return holds(PERSONAL_CHECKING) and all(row.get("status") != "CLOSED" for row in accounts)
    if account_type == "business_savings":
        return all(check.balance(row) >= 0 for row in accounts) and holds(("business_checking",), 30)
    return True


@discoverable(writes=True)
def close_bank_account_7392(
    world: World,
    account_id: str,
    reason: str = "Customer requested closure",
    waive_early_closure_fee: bool = False,
) -> str:
    """Close a bank account, which must hold exactly its early closure fee, or nothing if there is none."""
    account = check.existing(world, "accounts", account_id)
    check.require(account.get("status") != "CLOSED", "wrong_status", "The account is closed already.")
    fee = 0 if waive_early_closure_fee else _early_closure_fee(world, account)
    left = check.balance(account) - fee
    check.require(left >= 0 or not fee, "not_possible", "The account cannot be closed as it is.")
    check.require(left == 0, "not_empty", f"Beyond the fee, the account holds {check.dollars(left)}.")
    closure = {
        "status": "CLOSED",
        "date_closed": check.today(world),
        "closure_reason": reason,
        "early_closure_fee_waived": waive_early_closure_fee,
    }
    records.change(world, "accounts", account_id, account, **closure)
    return f"The account {account_id} is closed. Early closure fee: {check.dollars(fee)}."


def _early_closure_fee(world: World, account: records.Record) -> int:
    age = check.age_in_days(world, account.get("date_opened")) or 0
    for (fee, window), levels in EARLY_CLOSURE.get(str(account.get("class")), {}).items():
        if account.get("level") in levels and age < window:
            return fee
    return 0


@discoverable()
def get_bank_account_transactions_9173(world: World, account_id: str) -> str:
    """List the transactions of a bank account, the latest first; those of one day as they came in."""
    check.existing(world, "accounts", account_id)
    table = "bank_account_transaction_history"
    found = records.matching(world, table, "account_id", account_id)
    latest = dict(
        sorted(found.items(), key=lambda item: check.sortable_date(item[1].get("date")), reverse=True)
    )
    return f"Transactions of {account_id}:\n{records.dump(world, table, latest)}"


@discoverable(writes=True)
def submit_interest_discrepancy_report_7294(
    world: World,
    account_id: str,
    user_id: str,
    expected_apy: float,
    actual_apy: float,
    amount_difference: float,
) -> str:
    """Report that an account earned another rate of interest than it should have."""
    check.as_float("expected_apy", expected_apy)
    check.as_float("actual_apy", actual_apy)
    check.as_float("amount_difference", amount_difference)
    check.existing(world, "accounts", account_id)
    check.existing(world, "users", user_id)
    return f"The report on {account_id} was submitted."  # the benchmark stores no report


TOOLS = (
    get_all_user_accounts_by_user_id_3847,
    open_bank_account_4821,
    close_bank_account_7392,
    get_bank_account_transactions_9173,
    submit_interest_discrepancy_report_7294,
)
