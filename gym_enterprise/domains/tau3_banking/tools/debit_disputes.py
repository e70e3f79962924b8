"""Discoverable tools of the agent: disputes of debit card transactions, and images of cash deposits."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

FRAUD = ("unauthorized_transaction", "card_present_fraud", "card_not_present_fraud")
CODES = {
    "dispute_category": (
        "unauthorized_transaction",
        "atm_cash_discrepancy",
        "atm_deposit_not_credited",
        "duplicate_charge",
        "incorrect_amount",
        "goods_services_not_received",
        "recurring_charge_after_cancellation",
        "card_present_fraud",
        "card_not_present_fraud",
    ),
    "transaction_type": (
        "pin_purchase",
        "signature_purchase",
        "online_purchase",
        "atm_withdrawal",
        "atm_deposit",
        "recurring_payment",
        "person_to_person",
    ),
    "pin_compromised": ("yes_shared", "yes_observed", "no", "unknown"),
    "card_action": ("keep_active", "freeze_pending_investigation", "close_and_reissue"),
}


@discoverable(writes=True, codes=CODES)
def file_debit_card_transaction_dispute_6281(
    world: World,
    transaction_id: str,
    account_id: str,
    card_id: str,
    user_id: str,
    dispute_category: str,
    transaction_date: str,
    discovery_date: str,
    disputed_amount: float,
    transaction_type: str,
    card_in_possession: bool,
    pin_compromised: str,
    contacted_merchant: bool,
    police_report_filed: bool,
    written_statement_provided: bool,
    provisional_credit_eligible: bool,
    customer_max_liability_amount: float,
    card_action: str,
) -> str:
    """File a customer's dispute of a debit card transaction."""
    arguments = records.arguments_of(locals())
    return _file(world, arguments)


def _file(world: World, facts: records.Record) -> str:
    """Store a dispute: what was said about it, and what follows from that."""
    check.present(disputed_amount=facts["disputed_amount"])
    check.not_null(**{name: facts[name] for name in _NOT_NULL})
    amount = check.number("disputed_amount", facts["disputed_amount"])
    check.positive("disputed_amount", amount)
    eligible = facts["provisional_credit_eligible"]
    dispute = {
        "dispute_id": ids.dispute(facts["user_id"], facts["transaction_id"]),
        **facts,
        "provisional_credit_issued": eligible,
        "provisional_credit_amount": amount if eligible else None,
        "is_fraud_category": facts["dispute_category"] in FRAUD,
        "pin_shared_voluntarily": facts["pin_compromised"] == "yes_shared",
        "submitted_at": check.today(world),
        "status": "OPEN",
    }
    check.add(world, "debit_card_disputes", dispute)
    return (
        f"Filed the dispute {dispute['dispute_id']} of {facts['transaction_id']}: "
        f"{facts['dispute_category']}.\nAmount: {amount}. Card: {facts['card_action']}. "
        f"Provisional credit: {eligible}."
    )


_NOT_NULL = (
    "customer_max_liability_amount",
    "card_in_possession",
    "contacted_merchant",
    "police_report_filed",
    "written_statement_provided",
)


@discoverable()
def get_debit_dispute_status_7483(world: World, user_id: str) -> str:
    """List a customer's disputes of debit card transactions."""
    found = records.matching(world, "debit_card_disputes", "user_id", user_id)
    return f"Debit card disputes of {user_id}:\n{records.dump(world, 'debit_card_disputes', found)}"


@discoverable()
def get_atm_deposit_images_8473(world: World, transaction_id: str) -> str:
    """Look at the images of a cash deposit at one of the bank's own machines."""
    transaction = check.existing(world, "bank_account_transaction_history", transaction_id)
    check.require(transaction.get("type") == "atm_deposit", "wrong_type", "This is no deposit at a machine.")
    description = str(transaction.get("description"))
    own = "RHO-BANK" in description or "RHOBANK" in description
    check.require(own, "foreign_machine", "There are images only of the bank's own machines.")
    return f"There are no images of {transaction_id}."


TOOLS = (
    file_debit_card_transaction_dispute_6281,
    get_debit_dispute_status_7483,
    get_atm_deposit_images_8473,
)
