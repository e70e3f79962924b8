"""Discoverable tools of the user: the agent gives them, and each call is recorded before it is checked."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.domains.tau3_banking.tools.applications import new_referral
from gym_enterprise.world import World


def _record_call(world: World, tool_name: str, arguments: dict[str, Any]) -> None:
    """Refuse a tool that was not given; record the call of one that was."""
    given = records.find(world, "user_discoverable_tools", ids.given_tool(tool_name))
    check.require(given, "locked", f"You have not been given {tool_name}.")
    call = {
        "tool_name": tool_name,
        "arguments": arguments,
        "called_at": check.today(world),
        "status": "CALLED",
    }
    records.insert(world, "user_discoverable_tool_calls", call, ids.user_call(tool_name, arguments))


@discoverable(writes=True, seat="user", blanks=True)
def submit_cash_back_dispute_0589(world: World, user_id: str, transaction_id: str) -> str:
    """Dispute the rewards of a credit card transaction."""
    arguments = records.arguments_of(locals())
    _record_call(world, "submit_cash_back_dispute_0589", arguments)
    settings = records.find(world, "task_config", "dispute_settings") or {}
    resolved = settings.get("auto_resolve_disputes") is True
    dispute = {
        "dispute_id": ids.dispute(user_id, transaction_id),
        **arguments,
        "submitted_at": check.today(world),
        "status": "RESOLVED" if resolved else "SUBMITTED",
        **({"resolution": "APPROVED"} if resolved else {}),
    }
    new = records.insert(world, "cash_back_disputes", dispute)
    opening = "Your dispute was sent" if new else "You had sent this dispute already"
    return f"{opening}. Dispute id: {dispute['dispute_id']}. Status: {dispute['status']}"


@discoverable(writes=True, seat="user", blanks=True)
def get_referral_link(world: World, user_id: str, card_name: str) -> str:
    """Make a link by which somebody you refer can apply for a card."""
    _record_call(world, "get_referral_link", records.arguments_of(locals()))
    referral_id = ids.referral_link(user_id, card_name)
    new = records.insert(world, "referrals", new_referral(world, referral_id, user_id, card_name))
    opening = "Your referral link" if new else "The referral link that you had already"
    return f"{opening} for the {card_name}: https://rhobank.example/refer/{referral_id}"


@discoverable(writes=True, seat="user", blanks=True)
def get_card_last_4_digits(world: World, credit_card_account_id: str) -> str:
    """Show the last four digits of a credit card."""
    _record_call(world, "get_card_last_4_digits", records.arguments_of(locals()))
    check.existing(world, "credit_card_accounts", credit_card_account_id)
    digits = ids.decimal_digits(4, "card_last4", credit_card_account_id).ljust(4, "0")
    return f"The last four digits of {credit_card_account_id} are {digits}."


@discoverable(writes=True, seat="user", blanks=True)
def deposit_check_3847(world: World, account_id: str, check_amount: float) -> str:
    """Deposit a check by photo into a bank account."""
    _record_call(world, "deposit_check_3847", records.arguments_of(locals()))
    amount = check.positive("check_amount", check.as_float("check_amount", check_amount))
    account = check.existing(world, "accounts", account_id)
    check.in_status(account, *check.LIVE)
    before = check.balance(account)
    now = check.dollars(before + amount)
    records.change(world, "accounts", account_id, account, current_holdings=now)
    return f"Deposited {check.dollars(amount)}. Balance before: {check.dollars(before)}; now: {now}."


TOOLS = (
    submit_cash_back_dispute_0589,
    get_referral_link,
    get_card_last_4_digits,
    deposit_check_3847,
)
