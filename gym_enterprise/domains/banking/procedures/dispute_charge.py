"""A charge is disputed: the right one of several, in time, in the right order, with the right credit.

Three stories: a purchase charged twice, one that the customer does not know, and goods that did not come. The
records decide whether the story holds; the customer is certain in any case.
"""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    facts_of,
    hidden,
    identified,
    refusal,
    spoken,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import disputed, formerly, posted
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "dispute a purchase": "disputing-a-transaction",
    "time limits for disputes": "dispute-time-limits",
    "provisional credit": "provisional-credit",
    "membership levels privileges": "membership-levels",
    "verifying who is talking": "identity-verification",
}
CREDIT_CARD = {"credit card purchase longer time limit": "credit-card-protection"}
UNKNOWN = {"purchase that the customer does not recognise": "unrecognised-purchases"}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
MERCHANTS = ("Saltbox Gifts", "Nightjar Games", "Copperkettle Kitchens", "Larkspur Optics", "Quill and Ink")
_GAP = FACTS.days("disputes.duplicate_gap")
_COUNT = FACTS.count("disputes.subscription_count")
_CAP = FACTS.money("disputes.credit_cap")
_OLD_CAP = formerly("disputes.credit_cap", date(2025, 6, 1))


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words: the records bear the story out, or they do not.

    Args:
        customer: Who was charged.
        draw: Chooses story, card, merchant, days, amounts and words.
    """
    card = draw.choice(customer.cards)
    case = _Case(customer, card, draw)
    return draw.choice((case.twice, case.unknown, case.missing))()


class _Case:
    """One card, merchant and amount; a story of them is a pair of drafts."""

    def __init__(self, customer: Customer, card: Row, draw: Random) -> None:
        self.customer, self.card, self.draw = customer, card, draw
        self.account = next(row for row in customer.accounts if row["account_id"] == card["account_id"])
        self.merchant = draw.choice(MERCHANTS)
        self.credit = PRODUCTS[card["product"]].credit
        self.cap = (
            _CAP if customer.level == "member" else FACTS.money(f"membership.{customer.level}.credit_cap")
        )
        low, high = draw.choice(
            ((2_000, 14_000), (15_100, 19_900), (_CAP + 100, max(self.cap, _CAP + 9_000)))
        )
        self.cents = draw.randrange(low, high)
        self.busy = draw.random() < 0.25
        if self.busy:  # another dispute is open, so that there is no credit
            other = self.bought(40, cents=draw.randrange(3_000, 9_000), merchant="Tidewater Diner")
            self.customer = disputed(
                customer.adding("transactions", other), other, customer.days_ago(20), "open", draw
            )

    def bought(self, days: int, *, cents: int | None = None, merchant: str | None = None) -> Row:
        text, amount = merchant or self.merchant, cents or self.cents
        day = self.customer.days_ago(days)
        return posted(self.account, day, "purchase", text, -amount, self.draw, card=self.card)

    def twice(self) -> list[Draft]:
        """The same purchase again, within the gap or just outside."""
        days = self.draw.randrange(8, 30)
        near, far = self.draw.randrange(1, _GAP + 1), _GAP + self.draw.randrange(1, 4)
        later, first, earlier = self.bought(days), self.bought(days + near), self.bought(days + far)
        opening = f"{self.merchant} charged me twice. I want one of the two back."
        story = "I bought there once only."
        parts = {"opening": opening, "story": story, "documents": DOCUMENTS}
        apart = self.customer.adding("transactions", later, earlier)
        together = self.customer.adding("transactions", later, first)
        return [
            self.refused(apart, later, "duplicate", "records_show_otherwise", variant="apart", **parts),
            self.opened(together, later, "duplicate", variant="twice", other=first, **parts),
        ]

    def unknown(self) -> list[Draft]:
        """A merchant whom the customer does not know, with a history that makes a subscription or not."""
        days = self.draw.randrange(3, 20)
        latest = self.bought(days)
        history = [self.bought(days + 30 * number) for number in range(1, _COUNT + 1)]
        few, many = (self.customer.adding("transactions", latest, *rows) for rows in (history[:-1], history))
        opening = f"There is a charge of {self.merchant} on my account that I never made."
        story = "I have never heard of that shop, and nobody else uses my card."
        parts = {"opening": opening, "story": story, "documents": DOCUMENTS | UNKNOWN}
        reason = "records_show_otherwise"
        return [
            self.refused(many, latest, "unauthorised", reason, variant="subscription", **parts),
            self.opened(few, latest, "unauthorised", variant="unknown", other=None, **parts),
        ]

    def missing(self) -> list[Draft]:
        """Goods that did not come, still in time or not any more."""
        limit = FACTS.days("disputes.credit_window" if self.credit else "disputes.debit_window")
        in_time, late = limit - self.draw.randrange(0, 6), limit + self.draw.randrange(1, 9)
        soon, old = self.bought(in_time), self.bought(late)
        opening = f"I ordered something at {self.merchant} and paid with my card. It never came."
        story = "Nothing has arrived, and the shop does not answer."
        documents = DOCUMENTS | (CREDIT_CARD if self.credit else {})
        parts = {"opening": opening, "story": story, "documents": documents}
        return [
            self.refused(
                self.customer.adding("transactions", old),
                old,
                "not_received",
                "outside_time_limit",
                variant="late",
                **parts,
            ),
            self.opened(
                self.customer.adding("transactions", soon),
                soon,
                "not_received",
                variant="in-time",
                other=None,
                **parts,
            ),
        ]

    def opened(
        self, customer: Customer, charge: Row, reason: str, *, variant: str, other: Row | None, **parts: Any
    ) -> Draft:
        credited = reason in ("unauthorised", "duplicate") and self.cents <= self.cap and not self.busy
        dispute = _dispute(charge, reason, credited)
        freezes = reason == "unauthorised"
        done = {row["transaction_id"] for row in customer.rows.get("disputes", ())}
        knobs: dict[str, Any] = {
            "writes": 1 + freezes,
            "contradicted": False,
            "siblings": sum(
                row["kind"] in ("purchase", "cash") and row["transaction_id"] not in done
                for row in customer.rows["transactions"]
            )
            - 1,
        }
        if (self.cents <= _CAP) != credited:
            knobs["first_hit"] = {dispute[0]: {"provisional_credit": self.cents <= _CAP}}
        elif self.credit and reason == "not_received":
            knobs["first_hit"] = actions(refusal(customer, "dispute", "outside_time_limit"))
        if credited and self.cents > _OLD_CAP:
            knobs["stale"] = {dispute[0]: {"provisional_credit": False}}
        if freezes:
            knobs["prerequisite"] = {"drop": "freeze_card"}
        if other is not None:
            knobs["swap"] = {charge["transaction_id"]: other["transaction_id"]}
        last = (*hidden(*dispute),) if not freezes else (self._freeze(), *hidden(*dispute))
        names = ("verify_identity", "discover_tool", "count_days", "look_alike", "rule_across_documents")
        return self._draft(customer, charge, last, knobs=knobs, variant=variant, capabilities=names, **parts)

    def _freeze(self) -> Call:
        return "freeze_card", {"card_id": self.card["card_id"], "reason": "suspicious"}

    def refused(
        self, customer: Customer, charge: Row, reason: str, why: str, *, variant: str, **parts: Any
    ) -> Draft:
        freezes = (self._freeze(),) if reason == "unauthorised" else ()
        knobs = {
            "siblings": 0,
            "contradicted": True,
            "claim": actions(*freezes, *hidden(*_dispute(charge, reason, self.cents <= self.cap))),
            "first_hit": actions(*freezes, *hidden(*_dispute(charge, reason, False))),
            "wrong_reason": "not_part_of_product",
        }
        last = (refusal(customer, "dispute", why),)
        parts["documents"] = parts["documents"] | REFUSED
        names = ("verify_identity", "discover_tool", "count_days", "contradicted_claim")
        return self._draft(customer, charge, last, knobs=knobs, variant=variant, capabilities=names, **parts)

    def _draft(
        self,
        customer: Customer,
        charge: Row,
        last: tuple[Call, ...],
        *,
        opening: str,
        story: str,
        **parts: Any,
    ) -> Draft:
        return Draft(
            customer=customer,
            opening=opening,
            wants=(
                Want(
                    say=f"I want to dispute the charge of {self.merchant}.",
                    about=("dispute", "charge", "money back", "freeze", "credit"),
                ),
            ),
            facts=facts_of(
                customer,
                self.card,
                shop=Fact(value=f"It was {self.merchant}.", asked=("merchant", "which shop", "which store")),
                amount=Fact(value=f"It was {spoken(self.cents)}.", asked=("how much", "amount", "price")),
                card_used=Fact(
                    value=f"The card of my {PRODUCTS[self.card['product']].name}.",
                    asked=(
                        "card you used",
                        "paid with",
                        "how did you pay",
                        "debit or credit",
                        "which account",
                    ),
                ),
                what_happened=Fact(value=story, asked=("what happened", "what is wrong", "did you make")),
                which_charge=Fact(
                    value="The latest one.",
                    asked=("which charge", "which of the charges", "when", "what day"),
                ),
            ),
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("get_customer", {"customer_id": customer.id}),
                ("list_cards", {"customer_id": customer.id}),
                (
                    "list_transactions",
                    {"account_id": self.account["account_id"], "since": customer.days_ago(135)},
                ),
                *hidden("list_disputes_1194", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"{opening} {story} You want your money back, and insist once if you are refused.",
            script={"pushback": (Pushback(say="I am certain of what I say."),)},
            product=self.card["product"],
            **parts,
        )


def _dispute(charge: Row, reason: str, credit: bool) -> Call:
    return "open_dispute_2846", {
        "transaction_id": charge["transaction_id"],
        "reason": reason,
        "provisional_credit": credit,
    }
