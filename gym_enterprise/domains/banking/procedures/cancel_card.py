"""One card of an account is cancelled for good, if another one is active and no dispute about it is open."""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row, swapped_digits
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer, new_card
from gym_enterprise.domains.banking.procedures.records import digits, disputed, posted
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "cancel a card for good": "cancelling-a-card",
    "disputes of a customer": "disputing-a-transaction",
    "tell similar cards apart, last four digits": "telling-records-apart",
    "verifying who is talking": "identity-verification",
}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
OPENINGS = (
    "I do not need my card ending in {four} any more. Please cancel it for good.",
    "I want to get rid of my card ending in {four} for ever, and no new one.",
)
_TOOL, _NEAR = "cancel_card_4471", "reissue_card_4417"


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft the end of one of two cards and, with the same words, a card that must stay.

    Args:
        customer: Whose card it is.
        draw: Chooses the card, the obstacle and words.
    """
    card = draw.choice(customer.cards)
    account = next(row for row in customer.accounts if row["account_id"] == card["account_id"])
    others = [row for row in customer.of("cards", account) if row["card_id"] != card["card_id"]]
    if len(others) > 1:
        return []
    if not others:
        twin = new_card(account, digits(customer), draw)
        alike = swapped_digits(card["last_four"])
        others = [twin | ({} if alike in digits(customer) else {"last_four": alike})]
        customer = customer.adding("cards", *others)
    (other,) = others
    words = _Words(card, other, draw)
    if draw.random() < 0.5:
        barred = customer.with_values("cards", other["card_id"], status="frozen", frozen_for="misplaced")
        return [words.refused(barred, "not_part_of_product", "only-one"), words.granted(customer)]
    day = draw.randrange(30, 50)
    charge = posted(
        account,
        customer.days_ago(day),
        "purchase",
        "Ironwood Hardware",
        -draw.randrange(2_000, 20_000),
        draw,
        card=card,
    )
    pending = disputed(
        customer.adding("transactions", charge), charge, customer.days_ago(day - 8), "open", draw
    )
    settled = pending.with_values("disputes", pending.rows["disputes"][-1]["dispute_id"], status="upheld")
    return [words.refused(pending, "waiting_period", "open-dispute"), words.granted(settled)]


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, card: Row, other: Row, draw: Random) -> None:
        self.card, self.other = card, other
        self.opening = draw.choice(OPENINGS).format(four=card["last_four"])
        self.cancel: Call = (_TOOL, {"card_id": card["card_id"]})
        renewed = {"card_id": card["card_id"], "reason": "damaged", "delivery": "standard", "fee": 0}
        self.near: Call = (_NEAR, renewed)

    def granted(self, customer: Customer) -> Draft:
        return self._draft(
            customer,
            hidden(*self.cancel),
            documents=DOCUMENTS,
            knobs={
                "siblings": len(customer.cards) - 1,
                "contradicted": False,
                "first_hit": actions(*hidden(*self.near)),
                "swap": {self.card["card_id"]: self.other["card_id"]},
            },
            variant="allowed",
            capabilities=("verify_identity", "discover_tool", "choose_card"),
        )

    def refused(self, customer: Customer, reason: str, variant: str) -> Draft:
        wrong = "not_part_of_product" if reason == "waiting_period" else "waiting_period"
        return self._draft(
            customer,
            (refusal(customer, "card_cancellation", reason),),
            documents=DOCUMENTS | REFUSED,
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*hidden(*self.cancel)),
                "first_hit": actions(*hidden(*self.near)),
                "wrong_reason": wrong,
            },
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "choose_card", "refuse"),
        )

    def _draft(self, customer: Customer, last: tuple[Call, ...], **parts: Any) -> Draft:
        four = self.card["last_four"]
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(say=f"Please cancel the card ending in {four}.", about=("cancel", "for good", "end")),
            ),
            facts=facts_of(
                customer,
                self.card,
                what_happened=Fact(
                    value="Nothing happened to it; I have it here and just do not use it.",
                    asked=("what happened", "why", "lost or stolen", "reason"),
                ),
                other_card=Fact(
                    value="I pay with my other card.", asked=("another card", "other card", "remaining card")
                ),
            ),
            calls=(
                *identified(customer),
                ("list_cards", {"customer_id": customer.id}),
                *hidden("list_disputes_1194", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"You want the card ending in {four} cancelled for good and no other in its place. If "
            "you are refused, you insist once.",
            script={
                "pushback": (Pushback(say="It is my card, and I do not want it."),),
                "declines": (
                    Want(say="No, I do not want a new one.", about=("new card", "replace", "replacement")),
                ),
            },
            product=self.card["product"],
            **parts,
        )
