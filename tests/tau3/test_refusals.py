"""What each discoverable tool refuses, branch by branch, from the benchmark's specification.

A refused call changes nothing but the record that it was made, and is not counted as an error.
"""

from __future__ import annotations

from typing import Any

import pytest

from gym_enterprise.domains.tau3_banking.records import rows
from gym_enterprise.domains.tau3_banking.tools.catalogue import AGENTS, USERS
from tests.tau3.good_calls import GOOD
from tests.tau3.small_bank import Desk

MISSING = "missing_argument"
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("update_transaction_rewards_3847", {"transaction_id": ""}, MISSING),
    ("update_transaction_rewards_3847", {"new_rewards_earned": None}, MISSING),
    ("update_transaction_rewards_3847", {"transaction_id": "t9"}, "not_found"),
    ("file_credit_card_transaction_dispute_4829", {"transaction_id": ""}, MISSING),
    ("file_credit_card_transaction_dispute_4829", {"user_id": None}, MISSING),
    ("file_credit_card_transaction_dispute_4829", {"card_action": "burn"}, "invalid_value"),
    ("file_credit_card_transaction_dispute_4829", {"dispute_reason": ""}, "invalid_value"),
    ("file_credit_card_transaction_dispute_4829", {"resolution_requested": "Full_Refund"}, "invalid_value"),
    ("file_credit_card_transaction_dispute_4829", {"resolution_requested": "partial_refund"}, MISSING),
    ("get_user_dispute_history_7291", {"user_id": ""}, MISSING),
    ("apply_statement_credit_8472", {"reason": ""}, MISSING),
    ("apply_statement_credit_8472", {"amount": None}, MISSING),
    ("apply_statement_credit_8472", {"amount": 0}, "invalid_amount"),
    ("apply_statement_credit_8472", {"amount": -1e300}, "invalid_amount"),
    ("apply_statement_credit_8472", {"reason": "kindness"}, "invalid_value"),
    ("apply_statement_credit_8472", {"credit_card_account_id": "chk1"}, "not_found"),
    ("order_replacement_credit_card_7291", {"shipping_address": ""}, MISSING),
    ("order_replacement_credit_card_7291", {"reason": "bored"}, "invalid_value"),
    ("order_replacement_credit_card_7291", {"credit_card_account_id": "cc9"}, "not_found"),
    ("log_credit_card_closure_reason_4521", {"user_id": ""}, MISSING),
    ("log_credit_card_closure_reason_4521", {"closure_reason": "bored"}, "invalid_value"),
    ("apply_credit_card_account_flag_6147", {"expiration_date": ""}, MISSING),
    ("apply_credit_card_account_flag_6147", {"flag_type": "red"}, "invalid_value"),
    ("apply_credit_card_account_flag_6147", {"reason": "lost"}, "invalid_value"),
    ("apply_credit_card_account_flag_6147", {"credit_card_account_id": "cc9"}, "not_found"),
    ("close_credit_card_account_7834", {"user_id": ""}, MISSING),
    ("close_credit_card_account_7834", {"credit_card_account_id": "cc9"}, "not_found"),
    ("pay_credit_card_from_checking_9182", {"user_id": ""}, MISSING),
    ("pay_credit_card_from_checking_9182", {"amount": "much"}, "invalid_number"),
    ("pay_credit_card_from_checking_9182", {"amount": -5}, "invalid_amount"),
    ("pay_credit_card_from_checking_9182", {"checking_account_id": "chk9"}, "not_found"),
    ("pay_credit_card_from_checking_9182", {"checking_account_id": "chk2"}, "not_the_owner"),
    ("pay_credit_card_from_checking_9182", {"checking_account_id": "sav1"}, "wrong_class"),
    ("pay_credit_card_from_checking_9182", {"amount": 500.01}, "insufficient_funds"),
    ("pay_credit_card_from_checking_9182", {"credit_card_account_id": "cc9"}, "not_found"),
    ("pay_credit_card_from_checking_9182", {"credit_card_account_id": "cc2"}, "not_the_owner"),
    ("pay_credit_card_from_checking_9182", {"amount": 100.01}, "too_much"),
    (
        "pay_credit_card_from_checking_9182",  # a balance that is no number counts as nothing owed
        {"user_id": "u2", "checking_account_id": "chk2", "credit_card_account_id": "cc2", "amount": 1},
        "too_much",
    ),
    ("submit_credit_limit_increase_request_7392", {"user_id": ""}, MISSING),
    ("submit_credit_limit_increase_request_7392", {"requested_increase_amount": 0.5}, "invalid_number"),
    ("submit_credit_limit_increase_request_7392", {"requested_increase_amount": 0}, "invalid_amount"),
    ("submit_credit_limit_increase_request_7392", {"credit_card_account_id": "cc9"}, "not_found"),
    ("submit_credit_limit_increase_request_7392", {"user_id": "u2"}, "not_the_owner"),
    ("get_payment_history_6183", {"months": 0}, "invalid_amount"),
    ("get_payment_history_6183", {"months": "few"}, "invalid_number"),
    ("approve_credit_limit_increase_5847", {"new_credit_limit": None}, MISSING),
    ("approve_credit_limit_increase_5847", {"credit_card_account_id": "cc9"}, "not_found"),
    ("approve_credit_limit_increase_5847", {"user_id": "u2"}, "not_the_owner"),
    (
        "approve_credit_limit_increase_5847",
        {"user_id": "u2", "credit_card_account_id": "cc2"},
        "not_eligible",
    ),
    (
        "approve_credit_limit_increase_5847",
        {"user_id": "u3", "credit_card_account_id": "cc3"},
        "not_eligible",
    ),
    (
        "approve_credit_limit_increase_5847",
        {"user_id": "u4", "credit_card_account_id": "cc4"},
        "not_eligible",
    ),
    ("deny_credit_limit_increase_5848", {"user_id": ""}, MISSING),
    ("deny_credit_limit_increase_5848", {"denial_reason": "mood"}, "invalid_value"),
    ("deny_credit_limit_increase_5848", {"credit_card_account_id": "cc9"}, "not_found"),
    ("open_bank_account_4821", {"account_class": ""}, MISSING),
    ("open_bank_account_4821", {"account_type": "saving"}, "invalid_value"),
    ("open_bank_account_4821", {"user_id": "u2"}, "not_eligible"),  # its checking is 4 days old
    ("open_bank_account_4821", {"user_id": "u9"}, "not_eligible"),
    ("open_bank_account_4821", {"account_type": "business_checking", "user_id": "u4"}, "not_eligible"),
    ("open_bank_account_4821", {"account_type": "business_checking", "user_id": "u9"}, "not_eligible"),
    ("open_bank_account_4821", {"account_type": "business_savings"}, "not_eligible"),
    ("close_bank_account_7392", {"account_id": ""}, MISSING),
    ("close_bank_account_7392", {"account_id": "chk9"}, "not_found"),
    ("close_bank_account_7392", {"account_id": "old4"}, "wrong_status"),
    ("close_bank_account_7392", {"account_id": "new5"}, "not_possible"),  # holds 10, the fee is 25
    ("close_bank_account_7392", {"account_id": "chk2"}, "not_empty"),  # holds 90, the fee is 15
    ("close_bank_account_7392", {"account_id": "chk4", "waive_early_closure_fee": True}, "not_empty"),
    ("transfer_funds_between_bank_accounts_7291", {"source_account_id": ""}, MISSING),
    ("transfer_funds_between_bank_accounts_7291", {"amount": "x"}, "invalid_number"),
    ("transfer_funds_between_bank_accounts_7291", {"amount": 0}, "invalid_amount"),
    ("transfer_funds_between_bank_accounts_7291", {"destination_account_id": "chk1"}, "same_account"),
    ("transfer_funds_between_bank_accounts_7291", {"source_account_id": "chk9"}, "not_found"),
    ("transfer_funds_between_bank_accounts_7291", {"destination_account_id": "old4"}, "wrong_status"),
    ("transfer_funds_between_bank_accounts_7291", {"amount": 500.01}, "insufficient_funds"),
    ("apply_checking_account_credit_5829", {"account_id": ""}, MISSING),
    ("apply_checking_account_credit_5829", {"amount": "x"}, "invalid_number"),
    ("apply_checking_account_credit_5829", {"amount": -14}, "invalid_amount"),
    ("apply_checking_account_credit_5829", {"credit_type": "goodwill_credit"}, "invalid_value"),
    ("apply_checking_account_credit_5829", {"account_id": "chk9"}, "not_found"),
    ("apply_checking_account_credit_5829", {"account_id": "sav1"}, "wrong_class"),
    ("apply_checking_account_credit_5829", {"account_id": "old4"}, "wrong_status"),
    ("apply_savings_account_credit_6831", {"credit_type": "rebate_credit"}, "invalid_value"),
    ("apply_savings_account_credit_6831", {"account_id": "chk1"}, "wrong_class"),
    ("submit_interest_discrepancy_report_7294", {"user_id": ""}, MISSING),
    ("submit_interest_discrepancy_report_7294", {"actual_apy": None}, "invalid_number"),
    ("submit_interest_discrepancy_report_7294", {"account_id": "sav9"}, "not_found"),
    ("submit_interest_discrepancy_report_7294", {"user_id": "u9"}, "not_found"),
    ("get_bank_account_transactions_9173", {"account_id": "chk9"}, "not_found"),
    ("get_debit_cards_by_account_id_7823", {"account_id": "chk9"}, "not_found"),
    ("get_debit_cards_by_account_id_7823", {"account_id": "sav1"}, "wrong_class"),
    ("order_debit_card_5739", {"delivery_fee": "free"}, "invalid_number"),
    ("order_debit_card_5739", {"design_fee": None}, "invalid_number"),
    ("order_debit_card_5739", {"shipping_address": ""}, MISSING),
    ("order_debit_card_5739", {"delivery_option": "DRONE"}, "invalid_value"),
    ("order_debit_card_5739", {"card_design": "PLAIN"}, "invalid_value"),
    ("order_debit_card_5739", {"account_id": "chk9"}, "not_found"),
    ("order_debit_card_5739", {"account_id": "biz3", "user_id": "u3"}, "wrong_class"),
    ("order_debit_card_5739", {"account_id": "old4", "user_id": "u4"}, "wrong_status"),
    ("order_debit_card_5739", {"user_id": "u1"}, "not_the_owner"),
    ("order_debit_card_5739", {"account_id": "low5"}, "insufficient_funds"),
    ("order_debit_card_5739", {"account_id": "chk2", "user_id": "u2"}, "insufficient_funds"),  # `$90.00`
    ("order_debit_card_5739", {"account_id": "chk1", "user_id": "u1"}, "already_exists"),
    ("order_debit_card_5739", {"delivery_fee": 1500}, "insufficient_funds"),
    *[
        (f"activate_debit_card_829{n}", change, code)
        for n in (1, 2, 3)
        for change, code in (
            ({"cvv": ""}, MISSING),
            ({"pin": "123"}, "invalid_format"),
            ({"pin": "2345"}, "weak_pin"),
            ({"pin": "8765"}, "weak_pin"),
            ({"pin": "7777"}, "weak_pin"),
            ({"cvv": "12"}, "invalid_format"),
            ({"last_4_digits": "12345"}, "invalid_format"),
            ({"card_id": "none"}, "not_found"),
            ({"last_4_digits": "9999"}, "mismatch"),
        )
    ],
    ("activate_debit_card_8291", {"card_id": "for_lost"}, "wrong_tool"),
    ("activate_debit_card_8292", {"card_id": "for_expired"}, "wrong_tool"),
    ("activate_debit_card_8293", {"card_id": "pending"}, "wrong_tool"),
    ("activate_debit_card_8291", {"card_id": "active"}, "wrong_status"),
    ("activate_debit_card_8291", {"card_id": "frozen"}, "wrong_status"),
    ("activate_debit_card_8291", {"card_id": "on_closed"}, "wrong_status"),
    ("close_debit_card_4721", {"reason": ""}, MISSING),
    ("close_debit_card_4721", {"reason": "bored"}, "invalid_value"),
    ("close_debit_card_4721", {"card_id": "none"}, "not_found"),
    ("close_debit_card_4721", {"card_id": "frozen"}, "wrong_status"),
    ("freeze_debit_card_3892", {"card_id": ""}, MISSING),
    ("freeze_debit_card_3892", {"card_id": "none"}, "not_found"),
    ("freeze_debit_card_3892", {"card_id": "pending"}, "wrong_status"),
    ("unfreeze_debit_card_3893", {"card_id": "active"}, "wrong_status"),
    ("unfreeze_debit_card_3893", {"card_id": "icy"}, "wrong_status"),
    ("clear_debit_card_fraud_alert_4892", {"reason": "sorry"}, "invalid_value"),
    ("clear_debit_card_fraud_alert_4892", {"card_id": "none"}, "not_found"),
    ("clear_debit_card_fraud_alert_4892", {"card_id": "active"}, "no_alert"),
    ("clear_debit_card_fraud_alert_4892", {"reason": "velocity_clear"}, "no_alert"),
    ("clear_debit_card_fraud_alert_4892", {"card_id": "by_bank"}, "bank_alert"),
    ("reset_debit_card_pin_6284", {"last_4_digits": "12x4"}, "invalid_format"),
    ("reset_debit_card_pin_6284", {"new_pin": "4321"}, "weak_pin"),
    ("reset_debit_card_pin_6284", {"card_id": "none"}, "not_found"),
    ("reset_debit_card_pin_6284", {"last_4_digits": "9999"}, "mismatch"),
    ("reset_debit_card_pin_6284", {"card_id": "frozen"}, "wrong_status"),
    ("change_debit_card_pin_6285", {"current_pin": "12"}, "invalid_format"),
    ("change_debit_card_pin_6285", {"new_pin": "0000"}, "weak_pin"),
    ("change_debit_card_pin_6285", {"current_pin": "7294"}, "same_pin"),
    ("change_debit_card_pin_6285", {"card_id": "none"}, "not_found"),
    ("change_debit_card_pin_6285", {"card_id": "closed"}, "wrong_status"),
    ("set_debit_card_recurring_block_7382", {"card_id": "none"}, "not_found"),
    ("set_debit_card_recurring_block_7382", {"card_id": "frozen"}, "wrong_status"),
    ("request_temporary_debit_card_limit_increase_8374", {"limit_type": "online"}, "invalid_value"),
    ("request_temporary_debit_card_limit_increase_8374", {"new_limit": 1100.5}, "invalid_number"),
    ("request_temporary_debit_card_limit_increase_8374", {"new_limit": -1}, "invalid_amount"),
    ("request_temporary_debit_card_limit_increase_8374", {"card_id": "none"}, "not_found"),
    ("request_temporary_debit_card_limit_increase_8374", {"card_id": "frozen"}, "wrong_status"),
    ("request_temporary_debit_card_limit_increase_8374", {"card_id": "stray"}, "not_found"),
    ("request_temporary_debit_card_limit_increase_8374", {"card_id": "fresh"}, "too_new"),
    ("request_temporary_debit_card_limit_increase_8374", {"card_id": "alarmed"}, "no_limit"),
    (
        "request_temporary_debit_card_limit_increase_8374",
        {"card_id": "alarmed", "limit_type": "atm"},
        "no_limit",
    ),
    ("request_temporary_debit_card_limit_increase_8374", {"new_limit": 1501}, "too_high"),
    ("request_temporary_debit_card_limit_increase_8374", {"new_limit": 1000}, "too_low"),
    ("file_debit_card_transaction_dispute_6281", {"transaction_id": ""}, MISSING),
    ("file_debit_card_transaction_dispute_6281", {"disputed_amount": 0}, MISSING),
    ("file_debit_card_transaction_dispute_6281", {"card_in_possession": None}, MISSING),
    ("file_debit_card_transaction_dispute_6281", {"customer_max_liability_amount": None}, MISSING),
    ("file_debit_card_transaction_dispute_6281", {"dispute_category": "mood"}, "invalid_value"),
    ("file_debit_card_transaction_dispute_6281", {"transaction_type": "cash"}, "invalid_value"),
    ("file_debit_card_transaction_dispute_6281", {"pin_compromised": "maybe"}, "invalid_value"),
    ("file_debit_card_transaction_dispute_6281", {"card_action": "cancel_and_reissue"}, "invalid_value"),
    ("file_debit_card_transaction_dispute_6281", {"disputed_amount": -3}, "invalid_amount"),
    ("get_atm_deposit_images_8473", {"transaction_id": "b9"}, "not_found"),
    ("get_atm_deposit_images_8473", {"transaction_id": "b1"}, "wrong_type"),
    ("get_atm_deposit_images_8473", {"transaction_id": "b2"}, "foreign_machine"),
    ("get_card_last_4_digits", {"credit_card_account_id": "cc9"}, "not_found"),
    ("deposit_check_3847", {"check_amount": "x"}, "invalid_number"),
    ("deposit_check_3847", {"check_amount": 0}, "invalid_amount"),
    ("deposit_check_3847", {"account_id": "chk9"}, "not_found"),
    ("deposit_check_3847", {"account_id": "old4"}, "wrong_status"),
]

TWICE = [
    "file_credit_card_transaction_dispute_4829",
    "apply_statement_credit_8472",
    "order_replacement_credit_card_7291",
    "apply_credit_card_account_flag_6147",
    "submit_credit_limit_increase_request_7392",
    "open_bank_account_4821",
    "order_debit_card_5739",
    "file_debit_card_transaction_dispute_6281",
]
"""Tools that refuse the same call a second time, because its record is there."""

RECORDED_READS = {"get_user_dispute_history_7291"}
"""The reads that the small bank's task records as calls."""


@pytest.mark.parametrize(("name", "change", "code"), REFUSED)
def test_a_refusal_leaves_only_the_record_of_the_call(
    desk: Desk, name: str, change: dict[str, Any], code: str
) -> None:
    before = desk.state()
    outcome = desk.call(name, **GOOD.get(name, {}) | change)
    assert outcome["error"]["code"] == code
    assert desk.state() == before
    recorded = name in RECORDED_READS or (name in AGENTS and AGENTS[name].writes)
    assert (name in desk.called()) == recorded
    logged = [row["tool_name"] for row in _calls(desk)]
    assert logged == ([name] if name in USERS else [])


@pytest.mark.parametrize("name", GOOD)
def test_a_good_call_works_and_is_recorded(desk: Desk, name: str) -> None:
    desk.do(name, **GOOD[name])
    if name in AGENTS:
        assert (name in desk.called()) == (AGENTS[name].writes or name in RECORDED_READS)
    else:
        assert [row["tool_name"] for row in _calls(desk)] == [name]


@pytest.mark.parametrize("name", TWICE)
def test_the_same_call_a_second_time_is_refused(desk: Desk, name: str) -> None:
    desk.do(name, **GOOD[name])
    before = desk.hash()
    assert desk.code(name, **GOOD[name]) == "already_exists"
    assert desk.hash() == before


def test_every_discoverable_tool_is_tried() -> None:
    assert {*GOOD, "get_atm_deposit_images_8473"} == {*AGENTS, *USERS}
    assert len(AGENTS) == 44
    assert len(USERS) == 4
    assert sum(item.writes for item in AGENTS.values()) == 31


@pytest.mark.parametrize("name", sorted({*AGENTS, *USERS} - {"get_atm_deposit_images_8473"}))
def test_a_missing_or_unknown_argument_is_refused_without_a_record(desk: Desk, name: str) -> None:
    before = desk.hash()
    assert desk.code(name, **GOOD[name], surprise=1) == "invalid_arguments"
    for argument in GOOD[name]:
        rest = {key: value for key, value in GOOD[name].items() if key != argument}
        item = AGENTS.get(name) or USERS[name]
        if argument in item.required:
            assert desk.code(name, **rest) == "invalid_arguments"
    assert desk.hash() == before


def test_an_amount_of_the_wrong_type_is_refused_without_a_record(desk: Desk) -> None:
    before = desk.hash()
    for name, argument in (
        ("apply_statement_credit_8472", "amount"),
        ("file_debit_card_transaction_dispute_6281", "disputed_amount"),
    ):
        assert desk.code(name, **GOOD[name] | {argument: "12"}) == "invalid_arguments"
    assert desk.hash() == before


def _calls(desk: Desk) -> list[dict[str, Any]]:
    return list(rows(desk.world, "user_discoverable_tool_calls").values())
