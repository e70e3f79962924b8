"""What the tools for debit cards write, field by field, as the benchmark's specification lists it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tau3.good_calls import DEBIT_DISPUTE, GOOD
from tests.tau3.small_bank import Desk

TODAY = "11/14/2025"


def test_a_debit_card_order_charges_its_fees_and_issues_a_pending_card(desk: Desk) -> None:
    order = desk.added("order_debit_card_5739", "debit_card_orders")
    assert order == {
        "order_id": "dcord_3742064fd575",
        "account_id": "chk5",
        "user_id": "u5",
        "delivery_option": "RUSH",
        "card_design": "PREMIUM",
        "shipping_address": "1 Lane",
        "delivery_fee": 35.0,
        "design_fee": 5.0,
        "excess_replacement_fee": 10.0,
        "total_fee": 50.0,
        "order_date": TODAY,
        "expected_delivery": "1-2 business days",
        "status": "PENDING",
    }
    assert desk.record("accounts", "chk5")["current_holdings"] == "1450.00"
    assert desk.record("bank_account_transaction_history", "btxn_dcfee_064fd575") == {
        "transaction_id": "btxn_dcfee_064fd575",
        "account_id": "chk5",
        "date": TODAY,
        "description": "DEBIT CARD ORDER FEE - Delivery $35.0, Design $5.0, Excess Replacement $10",
        "amount": -50.0,
        "type": "debit_card_fee",
        "status": "posted",
    }
    assert desk.record("debit_cards", "dbc_4b2bd1e2cf9b") == {
        "card_id": "dbc_4b2bd1e2cf9b",
        "account_id": "chk5",
        "user_id": "u5",
        "cardholder_name": "ED UMBER",
        "last_4_digits": "8431",  # of 84314876
        "cvv": "000",  # of babdbb
        "status": "PENDING",
        "issue_date": TODAY,
        "expiration_date": "11/30/2029",
        "card_design": "PREMIUM",
        "issue_reason": "new_account",
    }


def test_fees_are_added_one_by_one(desk: Desk) -> None:
    fees = {"delivery_fee": 0.1, "design_fee": 0.2, "excess_replacement_fee": 0.3}
    order = desk.added("order_debit_card_5739", "debit_card_orders", **fees)
    assert order["total_fee"] == 0.6000000000000001
    fee = desk.record("bank_account_transaction_history", "btxn_dcfee_064fd575")
    assert fee["amount"] == -0.6000000000000001
    assert fee["description"].endswith(" - Delivery $0.1, Design $0.2, Excess Replacement $0")


def test_a_free_order_leaves_account_and_transactions_alone(desk: Desk) -> None:
    before = desk.state()
    free = {"delivery_fee": 0, "design_fee": 0, "excess_replacement_fee": "none"}
    assert desk.added("order_debit_card_5739", "debit_card_orders", **free)["total_fee"] == 0.0
    for table in ("accounts", "bank_account_transaction_history"):
        assert desk.state()[table] == before[table]


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("CLOSED", "stolen", "stolen"),
        ("CLOSED", "fraud_suspected", "fraud"),
        ("CLOSED", "damaged", "first_card"),
        ("FROZEN", "stolen", "first_card"),
    ],
)
def test_the_first_closed_card_of_the_account_gives_the_reason(
    desk: Desk, status: str, reason: str, expected: str
) -> None:
    desk.set("debit_cards", "icy", account_id="chk5", status=status, closure_reason=reason)
    desk.set("debit_cards", "on_closed", account_id="chk5", status="FROZEN")
    desk.do("order_debit_card_5739", **GOOD["order_debit_card_5739"])
    assert desk.record("debit_cards", "dbc_4b2bd1e2cf9b")["issue_reason"] == expected


@pytest.mark.parametrize(
    ("name", "card", "others"),
    [
        (
            "activate_debit_card_8291",
            "pending",
            ("DEACTIVATED", "deactivated_date", "New card activated"),
        ),
        (
            "activate_debit_card_8292",
            "for_lost",
            ("DEACTIVATED", "deactivated_date", "Replacement card activated (lost)"),
        ),
        (
            "activate_debit_card_8293",
            "for_expired",
            ("GRACE_PERIOD", "grace_period_ends", "Reissued card activated (expired)"),
        ),
    ],
)
def test_an_activation_retires_the_other_active_cards(
    desk: Desk, name: str, card: str, others: tuple[str, str, str]
) -> None:
    frozen = desk.record("debit_cards", "frozen")
    changed = desk.changed(name, "debit_cards", "active")
    status, dated, why = others
    assert changed == {"status": status, dated: TODAY, "deactivation_reason": why}
    activated = desk.record("debit_cards", card)
    assert (activated["status"], activated["activated_date"]) == ("ACTIVE", TODAY)
    assert desk.record("debit_cards", "frozen") == frozen


@pytest.mark.parametrize(
    ("name", "card", "arguments", "expected"),
    [
        (
            "close_debit_card_4721",
            "active",
            {},
            {"status": "CLOSED", "closed_date": TODAY, "closure_reason": "lost"},
        ),
        ("freeze_debit_card_3892", "active", {}, {"status": "FROZEN", "frozen_date": TODAY}),
        ("unfreeze_debit_card_3893", "frozen", {}, {"status": "ACTIVE", "unfrozen_date": TODAY}),
        (
            "clear_debit_card_fraud_alert_4892",
            "alarmed",
            {},
            {"fraud_alert_active": False, "alert_source": None, "fraud_alert_cleared_date": TODAY},
        ),
        (
            "clear_debit_card_fraud_alert_4892",
            "fast",
            {"reason": "velocity_clear"},
            {"velocity_blocked": False, "velocity_cleared_date": TODAY},
        ),
        (
            "reset_debit_card_pin_6284",
            "active",
            {},
            {"pin_last_changed": TODAY, "pin_locked": False, "pin_attempts_remaining": 3},
        ),
        ("change_debit_card_pin_6285", "active", {}, {"pin_last_changed": TODAY}),
        ("set_debit_card_recurring_block_7382", "active", {}, {"recurring_blocked": True}),
        (
            "request_temporary_debit_card_limit_increase_8374",
            "active",
            {},
            {
                "daily_purchase_limit": 1500,
                "temporary_purchase_limit_increase": True,
                "original_purchase_limit": 1000,
                "temporary_purchase_limit_expires": TODAY,
            },
        ),
        (
            "request_temporary_debit_card_limit_increase_8374",
            "active",
            {"limit_type": "atm", "new_limit": 750},  # half more than the 500 of a Blue Account
            {
                "daily_atm_limit": 750,
                "temporary_atm_limit_increase": True,
                "original_atm_limit": 500,
                "temporary_atm_limit_expires": TODAY,
            },
        ),
    ],
)
def test_what_changes_on_a_debit_card(
    desk: Desk, name: str, card: str, arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert desk.changed(name, "debit_cards", card, card_id=card, **arguments) == expected


def test_a_debit_dispute_is_stored_with_what_follows_from_it(desk: Desk) -> None:
    added = desk.added("file_debit_card_transaction_dispute_6281", "debit_card_disputes")
    assert added == DEBIT_DISPUTE | {
        "dispute_id": added["dispute_id"],
        "customer_max_liability_amount": -1.0,
        "provisional_credit_issued": True,
        "provisional_credit_amount": 12.5,
        "is_fraud_category": True,
        "pin_shared_voluntarily": True,
        "submitted_at": TODAY,
        "status": "OPEN",
    }
    card = desk.record("debit_cards", "active")
    assert card["status"] == "ACTIVE"
