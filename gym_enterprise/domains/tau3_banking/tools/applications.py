"""The user's listed tools: what a customer does in the bank's app without being given anything."""

from __future__ import annotations

import math
from typing import Any

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import listed
from gym_enterprise.domains.tau3_banking.vocabulary import REWARD_RATES
from gym_enterprise.world import World


@listed(writes=True, seat="user", codes={"card_type": REWARD_RATES})
def apply_for_credit_card(
    world: World,
    card_type: str,
    customer_name: str,
    annual_income: float,
    rho_bank_subscription: bool = False,
) -> str:
    """Apply for a credit card."""
    arguments = records.arguments_of(locals())
    income = check.as_float("annual_income", annual_income)
    application = {
        "application_id": ids.card_application(card_type, customer_name, income, rho_bank_subscription),
        **arguments,
        "annual_income": income,
        "status": "PENDING",
        "date": check.today(world),
    }
    check.add(world, "credit_card_applications", application)
    return f"Your application for the {card_type} was sent.\nIt is pending."


def new_referral(world: World, referral_id: str, user_id: Any, account_type: Any) -> records.Record:
    """Return the record of a referral that nobody has followed yet."""
    return {
        "referral_id": referral_id,
        "referrer_id": user_id,
        "referred_account_type": account_type,
        "referral_status": "NO_PROGRESS",
        "date": check.today(world),
    }


@listed(writes=True, seat="user")
def submit_referral(world: World, user_id: str, account_type: str) -> str:
    """Refer somebody to the bank.

    Args:
        account_type: The account or card that you refer them to.
    """
    referral_id = ids.referral(user_id, account_type)
    check.add(world, "referrals", new_referral(world, referral_id, user_id, account_type))
    return f"Your referral was sent. Referral id: {referral_id}"


@listed(writes=True, seat="user", codes={"credit_card_type": REWARD_RATES})
def submit_transaction(
    world: World, user_id: str, credit_card_type: str, merchant_name: str, amount: float, category: str
) -> str:
    """Pay with your credit card."""
    points = check.number("amount", amount) * _rate(credit_card_type, category)
    if not math.isfinite(points):
        raise check.WrongType("amount", "an amount of usual size")
    purchase = {
        "transaction_id": ids.card_transaction(user_id, credit_card_type, merchant_name, amount, category),
        "user_id": user_id,
        "credit_card_type": credit_card_type,
        "merchant_name": merchant_name,
        "transaction_amount": check.dollars(amount),
        "transaction_date": check.today(world),
        "category": category,
        "status": "COMPLETED",
        "rewards_earned": f"{int(points)} points",
    }
    check.add(world, "credit_card_transaction_history", purchase)
    return f"You paid {check.dollars(amount)} at {merchant_name} and earned {int(points)} points."


def _rate(card_type: str, category: Any) -> float:
    general, by_category = REWARD_RATES[card_type]
    return by_category.get(category, general) if isinstance(category, str) else general


@listed(writes=True, seat="user")
def request_human_agent_transfer(world: World) -> str:
    """Ask to be handed over to a human agent."""
    number = records.count(world, "human_transfer_requests") + 1
    request = {
        "request_id": f"transfer_request_{number}",
        "request_number": number,
        "requested_at": check.today(world),
        "status": "PENDING",
    }
    records.insert(world, "human_transfer_requests", request)
    return f"Your request number {number} for a human agent was noted."


TOOLS = (apply_for_credit_card, submit_referral, submit_transaction, request_human_agent_transfer)
