"""What tools write, field by field, as the benchmark's specification lists it.

Ids are taken from `test_ids`, which has the seeds; other expected values are the specification's formats.
"""

from __future__ import annotations

import pytest

from tests.tau3.good_calls import CARD_DISPUTE, GOOD
from tests.tau3.small_bank import Desk

TODAY = "11/14/2025"


def test_a_card_dispute_is_stored_with_what_follows_from_it(desk: Desk) -> None:
    added = desk.added("file_credit_card_transaction_dispute_4829", "transaction_disputes")
    assert added == CARD_DISPUTE | {
        "dispute_id": "dsp_77b024d66e22",
        "partial_refund_amount": None,
        "provisional_credit_given": False,
        "submitted_at": TODAY,
        "status": "SUBMITTED",
    }


def test_whole_numbers_in_a_discovered_call_are_stored_as_floats(desk: Desk) -> None:
    added = desk.added(
        "file_credit_card_transaction_dispute_4829",
        "transaction_disputes",
        resolution_requested="partial_refund",
        partial_refund_amount=50,
    )
    assert type(added["partial_refund_amount"]) is float


def test_a_statement_credit_is_a_transaction_of_the_card(desk: Desk) -> None:
    added = desk.added("apply_statement_credit_8472", "credit_card_transaction_history")
    assert added == {
        "transaction_id": "txn_35c6521f762d",
        "user_id": "u1",
        "credit_card_account_id": "cc1",
        "credit_card_type": "N/A",
        "merchant_name": "Rho-Bank Statement Credit",
        "transaction_amount": "-$5.00",
        "transaction_date": TODAY,
        "category": "Statement Credit",
        "status": "COMPLETED",
        "rewards_earned": "0 points",
        "credit_reason": "price_match",
    }
    assert desk.code("apply_statement_credit_8472", **GOOD["apply_statement_credit_8472"]) == "already_exists"
    other = GOOD["apply_statement_credit_8472"] | {"credit_card_account_id": "cc2"}
    assert desk.code("apply_statement_credit_8472", **other) == "already_exists"  # the id ignores the card


def test_rewards_are_set_as_they_are_given(desk: Desk) -> None:
    changed = desk.changed("update_transaction_rewards_3847", "credit_card_transaction_history", "t1")
    assert changed == {"rewards_earned": "7 points"}


def test_a_replacement_closes_the_old_card(desk: Desk) -> None:
    added = desk.added("order_replacement_credit_card_7291", "credit_card_orders", user_id="u1")
    assert added == {
        "order_id": "ccord_1adc17369fec",
        "credit_card_account_id": "cc1",
        "user_id": "u1",
        "shipping_address": "1 Lane",
        "reason": "lost",
        "expedited_shipping": False,
        "order_date": TODAY,
        "status": "ORDERED",
        "old_card_cancelled": True,
    }
    card = desk.record("credit_card_accounts", "cc1")
    assert (card["status"], card["closed_date"]) == ("CLOSED", TODAY)


def test_only_the_first_closure_reason_is_kept(desk: Desk) -> None:
    added = desk.added("log_credit_card_closure_reason_4521", "credit_card_closure_reasons")
    assert added == {
        "record_id": "clsr_b8bb7128d096",
        "credit_card_account_id": "cc1",
        "user_id": "u1",
        "closure_reason": "annual_fee",
        "logged_at": TODAY,
        "status": "LOGGED",
    }
    before = desk.hash()
    again = GOOD["log_credit_card_closure_reason_4521"] | {"closure_reason": "other"}
    desk.do("log_credit_card_closure_reason_4521", **again)
    assert desk.hash() == before


def test_a_flag_says_from_when_to_when(desk: Desk) -> None:
    added = desk.added("apply_credit_card_account_flag_6147", "credit_card_account_flags")
    assert added == GOOD["apply_credit_card_account_flag_6147"] | {
        "flag_id": "ccflag_78f6a05ae1b9",
        "effective_date": TODAY,
        "applied_at": TODAY,
        "status": "ACTIVE",
    }


def test_closing_a_credit_card_says_who_closed_it_and_asks_nothing(desk: Desk) -> None:
    name, table = "close_credit_card_account_7834", "credit_card_accounts"
    changed = desk.changed(name, table, "cc1", user_id="u2")
    assert changed == {"status": "CLOSED", "closed_date": TODAY, "closed_by": "u2"}
    desk.do(name, **GOOD[name])


def test_paying_a_card_writes_both_balances_in_their_own_formats(desk: Desk) -> None:
    name = "pay_credit_card_from_checking_9182"
    changed = desk.changed(name, "accounts", "chk1", amount=99.5)
    assert changed == {"current_holdings": "400.50"}
    assert desk.record("credit_card_accounts", "cc1")["current_balance"] == "$0.50"


def test_a_card_is_paid_from_the_class_checking_as_it_is_written(desk: Desk) -> None:
    desk.set("accounts", "chk1", **{"class": "Checking"})
    name = "pay_credit_card_from_checking_9182"
    assert desk.code(name, **GOOD[name]) == "wrong_class"
    credit = "apply_checking_account_credit_5829"  # which goes by the class in lower case
    assert desk.changed(credit, "accounts", "chk1") == {"current_holdings": "$514.00"}


def test_a_limit_request_stores_whole_dollars(desk: Desk) -> None:
    added = desk.added("submit_credit_limit_increase_request_7392", "credit_limit_increase_requests")
    assert added == {
        "request_id": "cli_50e5207c6b30",
        "credit_card_account_id": "cc1",
        "user_id": "u1",
        "requested_increase_amount": 1000,
        "submitted_at": TODAY,
        "status": "PENDING",
    }
    assert type(added["requested_increase_amount"]) is int


def test_an_approval_sets_the_limit_and_is_lost_after_a_request_of_the_same_amount(desk: Desk) -> None:
    name, table = "approve_credit_limit_increase_5847", "credit_limit_increase_requests"
    desk.do("submit_credit_limit_increase_request_7392", **GOOD["submit_credit_limit_increase_request_7392"])
    assert desk.changed(name, "credit_card_accounts", "cc1") == {"credit_limit": "$1000.00"}
    assert [row["status"] for row in desk.state()[table].values()] == ["PENDING"]


def test_an_approval_alone_is_stored(desk: Desk) -> None:
    desk.set("credit_card_accounts", "cc3", credit_limit="$15,000.00")
    desk.set("credit_card_orders", "o3", status="ORDERED")  # ordered does not hinder, shipped does
    added = desk.added(
        "approve_credit_limit_increase_5847",
        "credit_limit_increase_requests",
        credit_card_account_id="cc3",
        user_id="u3",
        new_credit_limit=16000,
    )
    assert added["request_id"].startswith("cli_")
    assert added | {"request_id": ""} == {
        "request_id": "",
        "credit_card_account_id": "cc3",
        "user_id": "u3",
        "previous_limit": "$15000.00",
        "new_limit": "$16000.00",
        "increase_amount": "$1000.00",
        "decision_date": TODAY,
        "status": "APPROVED",
    }


def test_a_second_denial_is_dropped(desk: Desk) -> None:
    name, table = "deny_credit_limit_increase_5848", "credit_limit_increase_requests"
    assert desk.added(name, table) == {
        "request_id": "cli_f43a74d60c86",
        "credit_card_account_id": "cc1",
        "user_id": "u1",
        "denial_reason": "high_utilization",
        "decision_date": TODAY,
        "status": "DENIED",
    }
    before = desk.hash()
    desk.do(name, **GOOD[name] | {"denial_reason": "other"})
    assert desk.hash() == before


def test_an_account_opened_by_the_tool_has_fields_of_its_own(desk: Desk) -> None:
    added = desk.added(
        "open_bank_account_4821",
        "accounts",
        user_id="u1",
        account_type="checking",
        account_class="Blue Account",
    )
    assert added == {
        "account_id": "8774688c6ef364e9",
        "user_id": "u1",
        "account_type": "checking",
        "account_class": "Blue Account",
        "current_holdings": "0.00",
        "status": "OPEN",
        "date_opened": TODAY,
    }
    order = GOOD["order_debit_card_5739"] | {"account_id": "8774688c6ef364e9", "user_id": "u1"}
    assert desk.code("order_debit_card_5739", **order) == "wrong_class"


@pytest.mark.parametrize(
    ("user", "kind", "opens"),
    [
        ("u9", "checking", True),  # nobody is checked
        ("u3", "business_checking", True),
        ("u3", "business_savings", True),
        ("u1", "business_savings", False),
        ("u5", "savings", True),
    ],
)
def test_who_can_open_what(desk: Desk, user: str, kind: str, opens: bool) -> None:
    outcome = desk.call("open_bank_account_4821", user_id=user, account_type=kind, account_class="X")
    assert outcome["ok"] == opens


def test_business_checking_asks_for_a_live_checking_account_of_any_age(desk: Desk) -> None:
    desk.set("accounts", "chk3", date_opened="12/01/2025")  # after the clock
    new = {"user_id": "u3", "account_class": "X"}
    desk.do("open_bank_account_4821", account_type="business_checking", **new)
    assert desk.code("open_bank_account_4821", account_type="savings", **new) == "not_eligible"


def test_an_account_closes_at_exactly_its_early_closure_fee(desk: Desk) -> None:
    changed = desk.changed("close_bank_account_7392", "accounts", "chk4", account_id="chk4")
    assert changed == {  # holds 50.00, the fee of an Evergreen Account younger than 90 days
        "status": "CLOSED",
        "date_closed": TODAY,
        "closure_reason": "Customer requested closure",
        "early_closure_fee_waived": False,
    }


def test_a_transfer_writes_dollar_signs_into_both_accounts(desk: Desk) -> None:
    name = "transfer_funds_between_bank_accounts_7291"
    assert desk.changed(name, "accounts", "chk1", amount=100.25) == {"current_holdings": "$399.75"}
    assert desk.record("accounts", "chk2")["current_holdings"] == "$190.25"


def test_the_same_checking_credit_twice_moves_the_balance_twice_and_has_one_row(desk: Desk) -> None:
    name, table = "apply_checking_account_credit_5829", "bank_account_transaction_history"
    assert desk.added(name, table) == {
        "transaction_id": "txn_af4ea3b0f4b619c3",
        "account_id": "chk1",
        "date": TODAY,
        "description": "FEE REFUND - CUSTOMER SERVICE",
        "amount": 14.0,
        "type": "fee_refund",
        "status": "posted",
    }
    rows = desk.state()[table]
    assert desk.changed(name, "accounts", "chk1") == {"current_holdings": "$528.00"}
    assert desk.state()[table] == rows


def test_a_savings_credit_writes_no_dollar_sign(desk: Desk) -> None:
    name = "apply_savings_account_credit_6831"
    assert desk.changed(name, "accounts", "sav1") == {"current_holdings": "94.00"}
    assert "txn_2cb3b5ce84b2d74b" in desk.state()["bank_account_transaction_history"]


def test_an_interest_report_stores_nothing(desk: Desk) -> None:
    before = desk.state()
    desk.do("submit_interest_discrepancy_report_7294", **GOOD["submit_interest_discrepancy_report_7294"])
    assert desk.state() == before


def test_a_cash_back_dispute_is_resolved_at_once_where_the_task_says_so(desk: Desk) -> None:
    name, table = "submit_cash_back_dispute_0589", "cash_back_disputes"
    added = desk.added(name, table)
    assert added == {
        "dispute_id": "dsp_77b024d66e22",
        "user_id": "u1",
        "transaction_id": "t1",
        "submitted_at": TODAY,
        "status": "SUBMITTED",
    }
    assert "already" in desk.do(name, **GOOD[name])


def test_a_referral_link_names_the_referral(desk: Desk) -> None:
    text = desk.do("get_referral_link", **GOOD["get_referral_link"])
    assert "39e6d67181bcea49" in text
    assert desk.record("referrals", "39e6d67181bcea49") == {
        "referral_id": "39e6d67181bcea49",
        "referrer_id": "u1",
        "referred_account_type": "EcoCard",
        "referral_status": "NO_PROGRESS",
        "date": TODAY,
    }


def test_the_last_digits_of_a_card_follow_from_its_id(desk: Desk) -> None:
    assert "4965" in desk.do("get_card_last_4_digits", **GOOD["get_card_last_4_digits"])


def test_a_deposited_check_raises_the_balance_with_a_dollar_sign(desk: Desk) -> None:
    assert desk.changed("deposit_check_3847", "accounts", "chk1") == {"current_holdings": "$525.00"}
