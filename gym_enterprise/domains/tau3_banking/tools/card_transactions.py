"""Discoverable tools of the agent: credit card transactions, their rewards, disputes and credits."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

CARD_ACTIONS = ("keep_active", "cancel_and_reissue")
DISPUTE_REASONS = (
    "unauthorized_fraudulent_charge",
    "duplicate_charge",
    "incorrect_amount",
    "goods_services_not_received",
    "goods_services_not_as_described",
    "canceled_subscription_still_charging",
    "refund_never_processed",
)
CREDIT_REASONS = (
    "goodwill_adjustment",
    "promotional_credit",
    "annual_fee_reversal",
    "late_fee_reversal",
    "interest_charge_reversal",
    "dispute_resolution",
    "price_match",
    "retention_offer",
    "error_correction",
    "other",
)
_DISPUTE_CODES = {
    "card_action": CARD_ACTIONS,
    "dispute_reason": DISPUTE_REASONS,
    "resolution_requested": ("full_refund", "partial_refund"),
}


@discoverable(writes=True)
def update_transaction_rewards_3847(world: World, transaction_id: str, new_rewards_earned: str) -> str:
    """Correct the rewards of a credit card transaction."""
    table = "credit_card_transaction_history"
    transaction = check.existing(world, table, transaction_id)
    records.change(world, table, transaction_id, transaction, rewards_earned=new_rewards_earned)
    return f"The rewards of {transaction_id} are now {new_rewards_earned}."


@discoverable(writes=True, blanks=True, codes=_DISPUTE_CODES)
def file_credit_card_transaction_dispute_4829(
    world: World,
    transaction_id: str,
    card_action: str,
    card_last_4_digits: str,
    full_name: str,
    user_id: str,
    phone: str,
    email: str,
    address: str,
    contacted_merchant: bool,
    purchase_date: str,
    issue_noticed_date: str,
    dispute_reason: str,
    resolution_requested: str,
    eligible_for_provisional_credit: bool,
    partial_refund_amount: float | None = None,
) -> str:
    """File a customer's dispute of a credit card transaction."""
    arguments = records.arguments_of(locals())
    check.present(transaction_id=transaction_id, user_id=user_id)
    if resolution_requested == "partial_refund":
        check.not_null(partial_refund_amount=partial_refund_amount)
    dispute = {
        "dispute_id": ids.dispute(user_id, transaction_id),
        **arguments,
        "provisional_credit_given": eligible_for_provisional_credit,
        "submitted_at": check.today(world),
        "status": "SUBMITTED",
    }
    check.add(world, "transaction_disputes", dispute)
    return (
        f"Filed the dispute {dispute['dispute_id']} of {transaction_id}: {dispute_reason}.\n"
        f"Resolution: {resolution_requested}. Card: {card_action}. "
        f"Provisional credit: {eligible_for_provisional_credit}."
    )


@discoverable()
def get_user_dispute_history_7291(world: World, user_id: str) -> str:
    """List a customer's disputes of credit card transactions."""
    found = records.matching(world, "transaction_disputes", "user_id", user_id)
    return f"Disputes of {user_id}:\n{records.dump(world, 'transaction_disputes', found)}"


@discoverable(writes=True, codes={"reason": CREDIT_REASONS})
def apply_statement_credit_8472(
    world: World, user_id: str, credit_card_account_id: str, amount: float, reason: str
) -> str:
    """Credit an amount to a credit card's statement."""
    check.not_null(amount=amount)
    check.positive("amount", check.number("amount", amount))
    check.existing(world, "credit_card_accounts", credit_card_account_id)
    credit = {
        "transaction_id": ids.statement_credit(user_id, reason, amount),
        "user_id": user_id,
        "credit_card_account_id": credit_card_account_id,
        "credit_card_type": "N/A",
        "merchant_name": "Rho-Bank Statement Credit",
        "transaction_amount": f"-{check.dollars(amount)}",
        "transaction_date": check.today(world),
        "category": "Statement Credit",
        "status": "COMPLETED",
        "rewards_earned": "0 points",
        "credit_reason": reason,
    }
    check.add(world, "credit_card_transaction_history", credit)
    return f"Credited {check.dollars(amount)} to {credit_card_account_id}: {credit['transaction_id']}."


TOOLS = (
    update_transaction_rewards_3847,
    file_credit_card_transaction_dispute_4829,
    get_user_dispute_history_7291,
    apply_statement_credit_8472,
)
