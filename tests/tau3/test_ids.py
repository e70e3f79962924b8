"""Id formulas; each expected value is the output of `printf '%s' SEED | sha256sum` for its seed."""

from __future__ import annotations

import pytest

from gym_enterprise.domains.tau3_banking import ids

MADE = [
    (ids.verification("u1", "2025-11-14 03:40:00 EST"), "u1_20251114_034000_EST", "punctuation removed"),
    (
        ids.card_transaction("u1", "EcoCard", "Corner Shop", 12.5, "Green"),
        "txn_4865a0ffdf31",
        "transaction:u1:EcoCard:Corner Shop:12.50:Green",
    ),
    (
        ids.statement_credit("u1", "price_match", 5),
        "txn_35c6521f762d",
        "transaction:u1:STATEMENT_CREDIT:price_match:5.00:Statement Credit",
    ),
    (ids.referral("u1", "Blue Account"), "c337584b2bfb11dc", "referral:u1:Blue Account"),
    (ids.referral_link("u1", "EcoCard"), "39e6d67181bcea49", "referral_link:u1:EcoCard"),
    (
        ids.card_application("EcoCard", "Ada Quill", 85000.0, False),
        "d5870b59304b7c33",
        "credit_card:EcoCard:Ada Quill:85000.0:False",
    ),
    (ids.dispute("u1", "t1"), "dsp_77b024d66e22", "dispute:u1:t1"),
    (ids.given_tool("get_referral_link"), "fc21fceb1501a934", "user_discoverable_tool:get_referral_link"),
    (
        ids.user_call("get_referral_link", {"user_id": "u1", "card_name": "EcoCard"}),
        "04c13cfc01079884",
        'user_discoverable_tool_call:get_referral_link:{"card_name": "EcoCard", "user_id": "u1"}',
    ),
    (
        ids.agent_call("freeze_debit_card_3892"),
        "7d2d289458587c8d",
        "agent_discoverable_tool:freeze_debit_card_3892",
    ),
    (ids.credit_card_order("cc1", "u1", "lost"), "ccord_1adc17369fec", "credit_card_order:cc1:u1:lost"),
    (ids.closure_reason("cc1", "u1"), "clsr_b8bb7128d096", "closure_reason:cc1:u1"),
    (
        ids.account_flag("cc1", "other", "12/31/2026"),
        "ccflag_78f6a05ae1b9",
        "account_flag:cc1:other:12/31/2026",
    ),
    (ids.limit_request("cc1", "u1", 1000), "cli_50e5207c6b30", "cli_request:cc1:u1:1000.00"),
    (ids.limit_request("cc1", "u1", 0), "cli_f43a74d60c86", "cli_request:cc1:u1:0.00"),
    (
        ids.bank_account("u1", "checking", "Blue Account"),
        "8774688c6ef364e9",
        "account:u1:checking:Blue Account",
    ),
    (
        ids.account_credit("checking", "chk1", "fee_refund", 14.0, "11/14/2025"),
        "txn_af4ea3b0f4b619c3",
        "checking_credit:chk1:fee_refund:14.0:11/14/2025",
    ),
    (
        ids.account_credit("savings", "sav1", "fee_refund", 14.0, "11/14/2025"),
        "txn_2cb3b5ce84b2d74b",
        "savings_credit:sav1:fee_refund:14.0:11/14/2025",
    ),
    (ids.debit_card_order("chk5", "u5", "RUSH"), "dcord_3742064fd575", "debit_card_order:chk5:u5:RUSH"),
    (ids.debit_card("chk5", "u5", "11/14/2025"), "dbc_4b2bd1e2cf9b", "debit_card:chk5:u5:11/14/2025"),
    (ids.decimal_digits(4, "card_last4", "cc1"), "4965", "card_last4:cc1"),
]


@pytest.mark.parametrize(("made", "expected", "seed"), MADE, ids=[row[2] for row in MADE])
def test_an_id_is_the_hash_of_its_seed(made: str, expected: str, seed: str) -> None:
    assert made == expected
