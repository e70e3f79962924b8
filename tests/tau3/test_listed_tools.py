"""The tools that both seats are told of, from the benchmark's specification."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tau3.small_bank import Desk, small_bank

VERIFICATION = {
    "name": "Ada Quill",
    "user_id": "u1",
    "address": "1 Lane",
    "email": "u1@x",
    "phone_number": "1",
    "date_of_birth": "01/02/1990",
    "time_verified": "2025-11-14 03:40:00 EST",
}
APPLICATION = {"card_type": "EcoCard", "customer_name": "Ada Quill", "annual_income": 85000}
PURCHASE = {
    "user_id": "u1",
    "credit_card_type": "EcoCard",
    "merchant_name": "Corner Shop",
    "amount": 12.5,
    "category": "Green",
}


def test_the_agent_is_told_of_fourteen_tools_and_two_searches_and_the_user_of_those_the_task_offers() -> None:
    bank = small_bank()
    task = bank.tasks["test"]["task_001"]
    agent = [spec.name for spec in bank.view(task, "agent").tools]
    assert len(agent) == 16
    assert agent[14:] == ["KB_search", "grep"]
    assert [spec.name for spec in bank.toolset("agent").listed] == agent
    assert [spec.name for spec in bank.view(task, "user").tools] == [
        "apply_for_credit_card",
        "submit_referral",
        "submit_transaction",
        "request_human_agent_transfer",
        "call_discoverable_user_tool",
    ]
    assert len(bank.toolset("user").listed) == 6
    assert not {"unlock_tool", "use_tool", "give_tool", "kb_search", "kb_read"} & {*agent}


def test_schemas_say_what_each_argument_is_and_which_codes_it_takes() -> None:
    for seat in ("agent", "user"):
        for tool in small_bank().toolset(seat):
            for name, field in tool.parameters["properties"].items():
                assert field["description"], (tool.name, name)
    (transfer,) = (t for t in small_bank().toolset("agent") if t.name == "transfer_to_human_agents")
    assert "deceased_account_holder" in transfer.parameters["properties"]["reason"]["description"]
    assert transfer.parameters["required"] == ["summary"]


def test_a_transfer_takes_nineteen_reasons_and_ends_nothing(desk: Desk) -> None:
    before = desk.hash()
    assert "other" in desk.do("transfer_to_human_agents", summary="A card.")
    outcome = desk.call("transfer_to_human_agents", summary="", reason="bored")
    assert outcome["error"]["code"] == "invalid_value"
    assert outcome["error"]["message"].count(",") == 18
    assert desk.hash() == before


def test_the_clock_stands_still(desk: Desk) -> None:
    assert "2025-11-14 03:40:00 EST" in desk.do("get_current_time")


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("get_user_information_by_id", {"user_id": "u1"}, True),
        ("get_user_information_by_id", {"user_id": "U1"}, False),
        ("get_user_information_by_id", {"user_id": 1}, False),
        ("get_user_information_by_name", {"customer_name": "Ada Quill"}, True),
        ("get_user_information_by_name", {"customer_name": "ada quill"}, False),
        ("get_user_information_by_email", {"email": "u1@x"}, True),
        ("get_user_information_by_email", {"email": 'u1@x", "name": "Ada Quill'}, False),
        ("get_referrals_by_user", {"user_id": "u1"}, False),
        ("get_credit_card_transactions_by_user", {"user_id": "u1"}, True),
        ("get_credit_card_accounts_by_user", {"user_id": "u1"}, True),
        ("get_credit_card_accounts_by_user", {"user_id": "%"}, False),
    ],
)
def test_lookups_are_exact(desk: Desk, name: str, arguments: dict[str, Any], found: bool) -> None:
    before = desk.hash()
    assert desk.do(name, **arguments).startswith("Found 1 record(s)" if found else "No records")
    assert desk.hash() == before


def test_a_dump_has_a_heading_and_one_numbered_block_a_record(desk: Desk) -> None:
    text = desk.do("get_credit_card_accounts_by_user", user_id="u1")
    assert text == (
        "Found 1 record(s) in 'credit_card_accounts':\n\n1. Record ID: cc1\n"
        "   account_id: cc1\n   user_id: u1\n   current_balance: $100.00"
    )


def test_an_email_is_changed_without_a_look_at_its_form(desk: Desk) -> None:
    desk.do("change_user_email", user_id="u1", new_email="not an address")
    assert desk.record("users", "u1")["email"] == "not an address"
    assert desk.code("change_user_email", user_id="u9", new_email="x") == "not_found"


def test_a_verification_is_logged_as_it_is_told_and_once(desk: Desk) -> None:
    desk.do("log_verification", **VERIFICATION)
    assert desk.record("verification_history", "u1_20251114_034000_EST") == VERIFICATION
    before = desk.hash()
    assert desk.code("log_verification", **VERIFICATION | {"name": "Bo"}) == "already_exists"
    assert desk.hash() == before


def test_an_income_becomes_a_float_and_a_subscription_stays_what_it_is(desk: Desk) -> None:
    desk.do("apply_for_credit_card", **APPLICATION)
    stored = desk.record("credit_card_applications", "d5870b59304b7c33")
    assert stored == APPLICATION | {
        "application_id": "d5870b59304b7c33",
        "rho_bank_subscription": False,
        "status": "PENDING",
        "date": "11/14/2025",
    }
    assert type(stored["annual_income"]) is float
    assert desk.code("apply_for_credit_card", **APPLICATION | {"annual_income": "85000"}) == "already_exists"
    desk.do("apply_for_credit_card", **APPLICATION, rho_bank_subscription="true")
    subscriptions = [
        row["rho_bank_subscription"] for row in desk.state()["credit_card_applications"].values()
    ]
    assert subscriptions == [False, "true"]


@pytest.mark.parametrize(
    ("change", "code"),
    [({"card_type": "Ecocard"}, "invalid_value"), ({"annual_income": "a lot"}, "invalid_number")],
)
def test_an_application_is_refused(desk: Desk, change: dict[str, Any], code: str) -> None:
    assert desk.code("apply_for_credit_card", **APPLICATION | change) == code


def test_a_referral_is_stored_once(desk: Desk) -> None:
    assert "c337584b2bfb11dc" in desk.do("submit_referral", user_id="u1", account_type="Blue Account")
    assert desk.record("referrals", "c337584b2bfb11dc") == {
        "referral_id": "c337584b2bfb11dc",
        "referrer_id": "u1",
        "referred_account_type": "Blue Account",
        "referral_status": "NO_PROGRESS",
        "date": "11/14/2025",
    }
    assert desk.code("submit_referral", user_id="u1", account_type="Blue Account") == "already_exists"


def test_a_purchase_earns_points_and_leaves_the_balance(desk: Desk) -> None:
    accounts = desk.state()["credit_card_accounts"]
    desk.do("submit_transaction", **PURCHASE)
    assert desk.record("credit_card_transaction_history", "txn_4865a0ffdf31") == {
        "transaction_id": "txn_4865a0ffdf31",
        "user_id": "u1",
        "credit_card_type": "EcoCard",
        "merchant_name": "Corner Shop",
        "transaction_amount": "$12.50",
        "transaction_date": "11/14/2025",
        "category": "Green",
        "status": "COMPLETED",
        "rewards_earned": "62 points",  # 12.50 x 5
    }
    assert desk.state()["credit_card_accounts"] == accounts
    assert desk.code("submit_transaction", **PURCHASE) == "already_exists"


@pytest.mark.parametrize(
    ("card", "category", "points"),
    [  # of 100 dollars
        ("Bronze Rewards Card", "Travel", 100),
        ("Silver Rewards Card", "Travel", 400),
        ("Silver Rewards Card", "travel", 100),
        ("Gold Rewards Card", "", 250),
        ("Platinum Rewards Card", "", 1000),
        ("Business Bronze Rewards Card", "", 100),
        ("Business Silver Rewards Card", "Software", 1000),
        ("Green Rewards Card", "Sustainable", 300),
        ("Business Gold Rewards Card", "Operations", 250),
        ("Business Platinum Rewards Card", "Media", 400),
        ("Business Platinum Rewards Card", "Other", 150),
        ("Silver Zoom Card", "Transportation", 300),
        ("Diamond Elite Card", "", 500),
        ("EcoCard", "Other", 100),
        ("Crypto-Cash Back", "", 200),
    ],
)
def test_the_rate_depends_on_card_and_category(desk: Desk, card: str, category: str, points: int) -> None:
    text = desk.do(
        "submit_transaction", **PURCHASE | {"credit_card_type": card, "category": category, "amount": 100}
    )
    assert f" {points} points" in text


def test_a_purchase_with_an_amount_in_words_fails_and_counts(desk: Desk) -> None:
    before = desk.hash()
    outcome = desk.dispatcher.call("user", "submit_transaction", PURCHASE | {"amount": "12.50"})
    assert (outcome.ok, outcome.counts) == (False, True)
    assert desk.code("submit_transaction", **PURCHASE | {"credit_card_type": "Eco"}) == "invalid_value"
    assert desk.hash() == before


def test_requests_for_a_human_are_numbered(desk: Desk) -> None:
    for number in (1, 2):
        desk.do("request_human_agent_transfer")
        assert desk.record("human_transfer_requests", f"transfer_request_{number}") == {
            "request_id": f"transfer_request_{number}",
            "request_number": number,
            "requested_at": "11/14/2025",
            "status": "PENDING",
        }
