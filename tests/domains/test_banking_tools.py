"""The bank's tools: what they need, what they change, and that failing leaves no trace."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gym_enterprise.tools import Key
from tests.domains.bank_desk import BANK, DATES, NEEDS_VERIFICATION, Desk, fee

UNKNOWN = "xxx_000000000000"


def someone_else(desk: Any) -> dict[str, Any]:
    row = desk.world.one("SELECT * FROM customers WHERE customer_id > ? ORDER BY 1 LIMIT 1", desk.customer_id)
    return dict(row or desk.world.one("SELECT * FROM customers ORDER BY 1 LIMIT 1"))


# -- verification -----------------------------------------------------------------------------------------


def test_two_facts_that_match_verify_at_the_standard_level(desk):
    result = desk.do(
        "verify_identity",
        customer_id=desk.customer_id,
        date_of_birth=desk.customer["date_of_birth"],
        postal_code=desk.customer["postal_code"],
    )
    assert result == {"customer_id": desk.customer_id, "verified": "standard"}


def test_three_facts_with_a_card_verify_at_the_enhanced_level(desk):
    result = desk.do(
        "verify_identity",
        customer_id=desk.customer_id,
        email=desk.customer["email"].upper(),
        phone=re.sub(r"\D", "", desk.customer["phone"]),
        card_last_four=desk.card("harbor")["last_four"],
    )
    assert result["verified"] == "enhanced"


def test_one_fact_is_too_few(desk):
    code = desk.refused(
        "verify_identity", customer_id=desk.customer_id, date_of_birth=desk.customer["date_of_birth"]
    )
    assert code == "too_few_facts"


@pytest.mark.parametrize(
    "wrong",
    [
        {"date_of_birth": "1900-01-01"},
        {"phone": "(555) 000-0000"},
        {"email": "nobody@mailbox.example"},
        {"postal_code": "99999"},
        {"card_last_four": "none"},
    ],
)
def test_one_wrong_fact_among_right_ones_verifies_nobody(desk, wrong):
    right = {name: desk.customer[name] for name in ("date_of_birth", "phone", "email", "postal_code")}
    code = desk.refused("verify_identity", customer_id=desk.customer_id, **{**right, **wrong})
    assert code == "no_match"
    assert desk.refused("list_cards", customer_id=desk.customer_id) == "not_verified"


def test_verifying_one_customer_does_not_open_another(desk):
    desk.verify()
    assert desk.refused("get_customer", customer_id=someone_else(desk)["customer_id"]) == "not_verified"


def test_which_facts_were_used_is_not_graded(desk):
    desk.verify()
    assert len(desk.world.changes()) == 0


# -- what must not work ------------------------------------------------------------------------------------

NEEDS_ENHANCED = {
    "update_contact",
    "update_address",
    "open_limit_request_3168",
    "open_transfer_request_8846",
    "open_transfer_request_8864",
    "close_account_5533",
}


@pytest.mark.parametrize(("name", "arguments"), NEEDS_VERIFICATION, ids=lambda value: str(value)[:30])
def test_nothing_is_shown_or_changed_without_verification(desk, name, arguments):
    assert desk.refused(name, **arguments(desk)) == "not_verified"


@pytest.mark.parametrize(("name", "arguments"), NEEDS_VERIFICATION, ids=lambda value: str(value)[:30])
def test_some_changes_need_the_enhanced_verification(desk, name, arguments):
    desk.verify(enhanced=False)
    outcome = desk.call(name, **arguments(desk))
    code = outcome.get("error", {}).get("code")
    assert (code == "verification_level") == (name in NEEDS_ENHANCED)


@pytest.mark.parametrize(("name", "arguments"), NEEDS_VERIFICATION, ids=lambda value: str(value)[:30])
def test_an_unknown_id_is_an_error(desk, name, arguments):
    desk.verify()
    keys = BANK.toolset("agent").get(name).keys
    assert keys, f"{name} marks no argument with {Key.__name__}"
    for argument in keys:
        assert desk.refused(name, **{**arguments(desk), argument: UNKNOWN}) == "not_found"


def test_every_tool_that_concerns_a_customer_is_among_those_tried_unverified():
    open_to_all = {
        "current_date",
        "find_customer",
        "find_customer_by_phone",
        "verify_identity",
        "transfer_to_human",
        "cancel_app_request",  # tried on its own below
        "kb_search",
        "kb_read",
    }
    assert {tool.name for tool in BANK.toolset("agent")} - open_to_all == {
        name for name, _ in NEEDS_VERIFICATION
    }


def test_states_and_amounts_that_do_not_fit_are_errors(desk):
    desk.verify()
    card, plus = desk.card()["card_id"], desk.account("plus")["account_id"]
    reserve, harbor = desk.account("reserve")["account_id"], desk.account("harbor")["account_id"]
    balance = desk.account("reserve")["balance_cents"]
    reissue = {"card_id": card, "delivery": "standard", "fee": 0}
    history = {"customer_id": desk.customer_id, "since": "2026-01-01"}
    assert desk.refused("unfreeze_card", card_id=card) == "wrong_status"
    assert desk.refused("reissue_card_4417", reason="lost", **reissue) == "wrong_status"
    assert desk.refused("reissue_card_4417", reason="damaged", **{**reissue, "fee": -1}) == "fee"
    assert desk.refused("set_card_limit", card_id=card, limit="cash", amount=800.01) == "limit"
    assert desk.refused("set_card_limit", card_id=card, limit="cash", amount=-1) == "limit"
    assert desk.refused("open_limit_request_3168", card_id=card, limit="cash", amount=800) == "limit"
    assert (
        desk.refused("refund_fee_7305", transaction_id=fee(desk), amount=12.01, basis="courtesy") == "amount"
    )
    assert desk.refused("refund_fee_7305", transaction_id=fee(desk), amount=0, basis="courtesy") == "amount"
    assert desk.refused("close_account_5533", account_id=plus) == "balance"
    assert desk.refused("list_fee_history_6150", **{**history, "since": "2026-02-30"}) == "invalid_arguments"
    transfer = "transfer_between_accounts"
    assert desk.refused(transfer, from_account_id=plus, to_account_id=plus, amount=1) == "same_account"
    assert desk.refused(transfer, from_account_id=harbor, to_account_id=plus, amount=1) == "credit_card"
    assert desk.refused(transfer, from_account_id=reserve, to_account_id=plus, amount=1000.01) == "amount"
    assert desk.refused(transfer, from_account_id=reserve, to_account_id=plus, amount=0) == "amount"
    more = {"from_account_id": reserve, "to_account_id": plus, "amount": (balance + 1) / 100}
    assert desk.refused("open_transfer_request_8846", **more) == "funds"


def test_nothing_is_posted_to_an_account_that_is_closed(desk):
    desk.verify()
    fees, purchase = fee(desk), desk.transaction("purchase")["transaction_id"]
    desk.world.execute(
        "UPDATE accounts SET status = 'closed', closed_on = '2026-03-01' WHERE account_id = ?",
        desk.account("plus")["account_id"],
    )
    dispute = {"reason": "duplicate", "provisional_credit": True}
    assert desk.refused("refund_fee_7305", transaction_id=fees, amount=1, basis="courtesy") == "wrong_status"
    assert desk.refused("open_dispute_2846", transaction_id=purchase, **dispute) == "wrong_status"


def test_purchases_are_not_refunded_and_fees_are_not_disputed(desk):
    desk.verify()
    purchase = desk.transaction("purchase")["transaction_id"]
    dispute = {"reason": "duplicate", "provisional_credit": True}
    assert desk.refused("refund_fee_7305", transaction_id=purchase, amount=1, basis="courtesy") == "not_a_fee"
    assert desk.refused("open_dispute_2846", transaction_id=fee(desk), **dispute) == "not_disputable"


def test_contact_data_must_look_like_what_they_are(desk):
    desk.verify()
    contact = {"customer_id": desk.customer_id}
    assert desk.refused("update_contact", field="phone", value="555 12", **contact) == "bad_phone"
    assert desk.refused("update_contact", field="email", value="nobody", **contact) == "bad_email"
    address = {"street": "1 A", "city": "B", "postal_code": "3041"}
    assert desk.refused("update_address", **contact, **address) == "bad_address"


def test_doing_it_a_second_time_is_an_error(desk):
    desk.verify()
    card, purchase = desk.card()["card_id"], desk.transaction("purchase")["transaction_id"]
    once = [
        ("freeze_card", {"card_id": card, "reason": "lost"}),
        ("reissue_card_4417", {"card_id": card, "reason": "lost", "delivery": "express", "fee": 18}),
        ("refund_fee_7305", {"transaction_id": fee(desk), "amount": 12, "basis": "courtesy"}),
        (
            "open_dispute_2846",
            {"transaction_id": purchase, "reason": "duplicate", "provisional_credit": True},
        ),
        (
            "record_refusal",
            {"customer_id": desk.customer_id, "request": "dispute", "reason": "waiting_period"},
        ),
        ("app_travel_notice_2290", {"card_id": desk.card("harbor")["card_id"], "country": "IS", **DATES}),
    ]
    for name, arguments in once:
        desk.do(name, **arguments)
        desk.refused(name, **arguments)


def test_a_refusal_for_lack_of_identity_needs_a_customer_who_is_not_verified(desk):
    refusal = {"customer_id": desk.customer_id, "request": "transfer", "reason": "identity_not_verified"}
    desk.do("record_refusal", **refusal)
    desk.verify()
    assert desk.refused("record_refusal", **{**refusal, "request": "dispute"}) == "verified"


# -- what they change -------------------------------------------------------------------------------------


def test_a_replacement_cancels_the_old_card_and_charges_the_fee_to_its_account(desk):
    desk.verify()
    card, before = desk.card()["card_id"], desk.account("plus")["balance_cents"]
    desk.do("freeze_card", card_id=card, reason="lost")
    made = desk.do("reissue_card_4417", card_id=card, reason="lost", delivery="express", fee=28)
    cards = {row["card_id"]: row for row in desk.do("list_cards", customer_id=desk.customer_id)}
    assert cards[card]["status"] == "cancelled"
    assert cards[made["new_card_id"]]["status"] == "pending_activation"
    assert desk.account("plus")["balance_cents"] == before - 2800


def test_cards_are_listed_by_their_last_four_digits(desk):
    desk.verify()
    every = desk.do("list_cards", customer_id=desk.customer_id)
    one = every[-1]
    assert desk.do("list_cards", customer_id=desk.customer_id, last_four=one["last_four"]) == [one]
    free = next(f"{n:04d}" for n in range(10_000) if f"{n:04d}" not in {card["last_four"] for card in every})
    assert desk.do("list_cards", customer_id=desk.customer_id, last_four=free) == []
    for wrong in ("", "417", "04178", "x417", "٠٤١٧"):
        asked = desk.refused("list_cards", customer_id=desk.customer_id, last_four=wrong)
        assert asked == "invalid_arguments"


def test_a_refund_and_a_provisional_credit_reach_the_account(desk):
    desk.verify()
    purchase, before = desk.transaction("purchase"), desk.account("plus")["balance_cents"]
    desk.do("refund_fee_7305", transaction_id=fee(desk), amount=6, basis="courtesy")
    dispute = {"reason": "duplicate", "provisional_credit": True}
    desk.do("open_dispute_2846", transaction_id=purchase["transaction_id"], **dispute)
    assert desk.account("plus")["balance_cents"] == before + 600 - purchase["amount_cents"]


def test_a_request_takes_effect_when_the_customer_confirms_it(desk):
    desk.verify()
    card = desk.card()["card_id"]
    opened = desk.do("open_limit_request_3168", card_id=card, limit="purchases", amount=4000)
    assert desk.card()["purchase_limit_cents"] == 300_000
    assert [row["request_id"] for row in desk.do("app_list_requests")] == [opened["request_id"]]
    desk.do("app_confirm_request", request_id=opened["request_id"])
    assert desk.card()["purchase_limit_cents"] == 400_000
    assert desk.refused("app_confirm_request", request_id=opened["request_id"]) == "wrong_status"
    assert desk.refused("cancel_app_request", request_id=opened["request_id"]) == "wrong_status"


def test_a_raise_that_waits_is_not_confirmed_after_the_contact_data_changed(desk):
    desk.verify()
    opened = desk.do("open_limit_request_3168", card_id=desk.card()["card_id"], limit="cash", amount=900)
    desk.do("update_contact", customer_id=desk.customer_id, field="phone", value="5551234567")
    assert desk.refused("app_confirm_request", request_id=opened["request_id"]) == "contact_changed"
    money = {
        "from_account_id": desk.account("reserve")["account_id"],
        "to_account_id": desk.account("plus")["account_id"],
    }
    moving = desk.do("open_transfer_request_8846", amount=5, **money)
    desk.do("app_confirm_request", request_id=moving["request_id"])  # of no concern to transfers


def test_a_purchase_of_somebody_else_is_disputed_once_its_card_is_no_longer_in_use(desk):
    desk.verify()
    purchase = desk.transaction("purchase")
    dispute = {"transaction_id": purchase["transaction_id"], "provisional_credit": True}
    assert desk.refused("open_dispute_2846", reason="unauthorised", **dispute) == "wrong_status"
    desk.do("freeze_card", card_id=purchase["card_id"], reason="suspicious")
    desk.do("open_dispute_2846", reason="unauthorised", **dispute)


def test_an_order_keeps_where_the_card_was_sent_and_why_the_old_one_was_frozen(desk):
    desk.verify()
    address = {"street": "3 Mill Bridge", "city": "Saltmarsh", "postal_code": "32075"}
    order = {"card_id": desk.card()["card_id"], "reason": "lost", "delivery": "standard", "fee": 10}
    ends = []
    for steps in (
        [("freeze_card", "lost"), ("update_address", None), ("reissue_card_4417", None)],
        [("freeze_card", "lost"), ("reissue_card_4417", None), ("update_address", None)],
        [("freeze_card", "misplaced"), ("update_address", None), ("reissue_card_4417", None)],
    ):
        other = Desk(desk.customer).verify()
        for name, reason in steps:
            arguments = {
                "freeze_card": {"card_id": order["card_id"], "reason": reason},
                "update_address": {"customer_id": desk.customer_id, **address},
                "reissue_card_4417": order,
            }[name]
            other.do(name, **arguments)
        row = other.world.one("SELECT sent_to, frozen_for FROM card_orders ORDER BY rowid DESC LIMIT 1")
        ends.append((row["sent_to"], row["frozen_for"]))
    old = f"{desk.customer['street']}, {desk.customer['city']} {desk.customer['postal_code']}"
    new = "3 Mill Bridge, Saltmarsh 32075"
    assert ends == [(new, "lost"), (old, "lost"), (new, "misplaced")]


def test_a_cancelled_request_leaves_no_trace(desk):
    assert desk.refused("cancel_app_request", request_id=UNKNOWN) == "not_found"
    desk.verify()
    opened = desk.do("open_limit_request_3168", card_id=desk.card()["card_id"], limit="cash", amount=900)
    desk.world.execute("DELETE FROM verifications")
    assert desk.refused("cancel_app_request", request_id=opened["request_id"]) == "not_verified"
    desk.verify()
    desk.do("cancel_app_request", request_id=opened["request_id"])
    assert len(desk.world.changes()) == 0


def test_the_app_knows_only_the_customer_who_is_signed_in(desk):
    other = desk.world.one(
        "SELECT card_id FROM cards JOIN accounts USING (account_id) WHERE customer_id <> ? ORDER BY card_id",
        desk.customer_id,
    )["card_id"]
    assert desk.refused("app_confirm_request", request_id=UNKNOWN) == "not_found"
    assert desk.refused("app_activate_card_5512", card_id=other) == "not_found"
    assert desk.refused("app_travel_notice_2290", card_id=other, country="IS", **DATES) == "not_found"
    assert desk.refused("app_activate_card_5512", card_id=desk.card()["card_id"]) == "wrong_status"
    notice = {"card_id": desk.card()["card_id"], "country": "IS"}
    for start, end in (
        ("2026-03-01", "2026-03-05"),
        ("2026-04-05", "2026-04-01"),
        ("2026-04-01", "2026-08-01"),
    ):
        assert desk.refused("app_travel_notice_2290", starts_on=start, ends_on=end, **notice) == "bad_period"


def test_a_hand_over_ends_the_conversation_and_its_summary_is_not_graded(desk):
    call = {"reason": "bereavement", "customer_id": desk.customer_id}
    outcome = desk.dispatcher.call("agent", "transfer_to_human", {**call, "summary": "The customer died."})
    assert outcome.ok
    assert outcome.ends
    (row,) = desk.world.changes().to_list()
    assert set(row["values"]) == {"handoff_id", "customer_id", "reason", "verified", "created_on"}


def test_a_hand_over_keeps_whether_the_caller_was_verified_before(desk):
    end = {"reason": "third_party", "summary": "A guardian called."}
    kept = []
    for verified, known in ((False, {}), (True, {}), (True, {"customer_id": desk.customer_id})):
        other = Desk(desk.customer)
        if verified:
            other.verify(enhanced=False)
        other.do("transfer_to_human", **end, **known)
        kept.append(other.world.one("SELECT verified FROM handoffs ORDER BY rowid DESC LIMIT 1")["verified"])
    assert kept == [0, 1, 1]


# -- credit cards, notices ----------------------------------------------------------------------------------


def test_points_become_money_on_the_card_account(desk):
    desk.verify()
    quay = desk.extra("quay")  # owes 50.00 and has 3,000 points
    assert desk.refused("redeem_points_5824", account_id=quay, points=3001, amount=24) == "points"
    assert desk.refused("redeem_points_5824", account_id=quay, points=500, amount=5.01) == "amount"
    harbor = desk.account("harbor")["account_id"]
    assert desk.refused("redeem_points_5824", account_id=harbor, points=500, amount=4) == "no_points"
    result = desk.do("redeem_points_5824", account_id=quay, points=2500, amount=20)
    assert result == {"account_id": quay, "points_left": 500, "amount": "20.00"}
    assert desk.account("quay")["balance_cents"] == -3_000
    (shown,) = [row for row in desk.do("list_accounts", customer_id=desk.customer_id) if "points" in row]
    assert shown["points"] == 500


def test_a_due_day_is_set_and_the_day_of_the_change_is_kept(desk):
    desk.verify()
    harbor = desk.account("harbor")["account_id"]
    plus = desk.account("plus")["account_id"]
    assert desk.refused("set_due_day_3316", account_id=plus, day=12) == "wrong_product"
    assert desk.refused("set_due_day_3316", account_id=harbor, day=29) == "invalid_arguments"
    assert desk.refused("set_due_day_3316", account_id=harbor, day=1) == "same_day"  # where all begin
    for day in (12, 28):
        desk.do("set_due_day_3316", account_id=harbor, day=day)
    (shown,) = [
        row for row in desk.do("list_accounts", customer_id=desk.customer_id) if row["account_id"] == harbor
    ]
    assert (shown["due_day"], shown["due_day_changed_on"]) == (28, "2026-03-02")


def test_a_notice_moves_nothing_today(desk):
    desk.verify()
    notice, plus = desk.extra("notice"), desk.account("plus")["account_id"]
    given = {"from_account_id": notice, "to_account_id": plus, "amount": 1500, "pays_on": "2026-05-01"}
    desk.do("open_transfer_request_8864", **given)
    assert desk.account("notice")["balance_cents"] == 200_000
    assert desk.refused("open_transfer_request_8864", **given) == "already_waiting"
    assert desk.refused("open_transfer_request_8864", **{**given, "amount": 500.01}) == "funds"
    for pays_on in ("2026-03-02", "2026-03-01"):
        assert desk.refused("open_transfer_request_8864", **{**given, "pays_on": pays_on}) == "bad_day"
    reserve = desk.account("reserve")["account_id"]
    wrong = {**given, "from_account_id": reserve, "amount": 1}
    assert desk.refused("open_transfer_request_8864", **wrong) == "wrong_product"
    for amount in (1, 2):
        desk.do("open_transfer_request_8864", **{**given, "amount": amount})
    assert desk.refused("open_transfer_request_8864", **{**given, "amount": 3}) == "too_many"


def test_a_cancelled_card_has_no_successor(desk):
    desk.verify()
    card = desk.card()["card_id"]
    cards = len(desk.do("list_cards", customer_id=desk.customer_id))
    desk.do("cancel_card_4471", card_id=card)
    rows = desk.do("list_cards", customer_id=desk.customer_id)
    assert len(rows) == cards
    assert [row["status"] for row in rows if row["card_id"] == card] == ["cancelled"]
    assert desk.refused("cancel_card_4471", card_id=card) == "wrong_status"
