"""A daily limit is raised above the standard one: the bank asks for it, the customer confirms it in the app.

The ceiling takes the product and the membership level together; a card that is too new, or contact data that
changed lately, forbid it for now.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import changing
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    Made,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
    spoken,
    swap,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "raising a card limit, conditions": "raising-a-limit",
    "daily limits of cards, standard and ceiling": "daily-limits",
    "membership levels privileges": "membership-levels",
    "enhanced verification": "identity-verification",
}
ALLOWED = {"confirm a request in the app": "confirming-in-the-app"}
FORBIDDEN = {"refuse a request and record it": "recording-a-refusal"}
TOOLS = ("app_list_requests", "app_confirm_request")
OPENINGS = (
    "I need a higher {limit} limit on my card ending in {four}: {wish}.",
    "Please raise the daily {limit} limit of my card ending in {four}. I would like {wish}.",
)
WORDS = {"purchases": "purchase", "cash": "cash"}
_CARD_AGE, _CONTACT_WAIT = FACTS.days("limits.card_age"), FACTS.days("limits.contact_wait")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a raise that the records forbid, and its allowed twin; or one that the product forbids.

    Args:
        customer: Who owns the card.
        draw: Chooses card, limit, amount, the obstacle, words, and whether the customer changes the amount.
    """
    card, limit = draw.choice(customer.cards), draw.choice(list(WORDS))
    most = ceiling(customer, card["product"], limit)
    plain = ceiling(customer, card["product"], limit, level=False)
    if plain == standard(card["product"], limit):
        wanted = plain + draw.randrange(2, 9) * 5_000
        words = _Words(card, limit, wanted, f"{spoken(wanted)} a day", draw)
        return [words.refused(customer, "not_part_of_product", "")]
    if draw.random() < 0.4:
        amount, at_first, wish = most, most, "as much as possible"
    else:
        lowest = plain if customer.level == "keystone" else standard(card["product"], limit)
        amount = draw.randrange(lowest // 5_000 + 1, most // 5_000 + 1) * 5_000
        at_first = wished_at_first(amount, lowest, most, draw)
        wish = f"{spoken(at_first)} a day"
    words = _Words(card, limit, at_first, wish, draw)
    if draw.random() < 0.5:
        forbidden = customer.with_values(
            "customers",
            customer.id,
            contact_changed_on=customer.days_ago(draw.randrange(1, _CONTACT_WAIT + 1)),
        )
        allowed = customer.with_values(
            "customers",
            customer.id,
            contact_changed_on=customer.days_ago(_CONTACT_WAIT + draw.randrange(1, 5)),
        )
    else:
        forbidden = customer.with_values(
            "cards", card["card_id"], issued_on=customer.days_ago(draw.randrange(9, _CARD_AGE))
        )
        allowed = customer.with_values(
            "cards", card["card_id"], issued_on=customer.days_ago(_CARD_AGE + draw.randrange(0, 6))
        )
    return [
        words.refused(forbidden, "waiting_period", "too-soon"),
        words.granted(allowed, plain, amount),
    ]


def wished_at_first(amount: int, above: int, most: int, draw: Random) -> int:
    """Return what a customer wishes before it changes its mind, in cents: often another amount near by.

    Args:
        amount: What it wants in the end.
        above: What the wish has to exceed.
        most: What it must not exceed.
        draw: Chooses.
    """
    near = [cents for cents in (amount - 10_000, amount - 5_000, amount + 5_000) if above < cents <= most]
    return draw.choice(near) if near and draw.random() < 0.7 else amount


def changed_limit(amount: int) -> dict[str, Any]:
    """Return the part of a script by which a customer changes the limit that it wishes, in cents."""
    wish = f"I would like {spoken(amount)} a day"
    return changing(f"I have thought about it again: {wish} instead.", {"wished_limit": f"{wish}."})


def standard(product: str, limit: str) -> int:
    """Return the standard limit of a product, in cents."""
    return PRODUCTS[product].purchase_limit if limit == "purchases" else PRODUCTS[product].cash_limit


def ceiling(customer: Customer, product: str, limit: str, *, level: bool = True) -> int:
    """Return up to what a limit can be raised, in cents, with what the membership level adds or without."""
    plain = FACTS.money(f"products.{product}.{WORDS[limit]}_ceiling")
    if not level or customer.level != "keystone" or plain == standard(product, limit):
        return plain
    return int(plain * (1 + FACTS.share("membership.keystone.ceiling_plus")))


def higher(customer: Customer, card: Row, limit: str, cents: int) -> int:
    """Return of how many other active cards the limit would be raised by as much."""
    column = f"{WORDS[limit]}_limit_cents"
    others = [row for row in customer.cards if row["card_id"] != card["card_id"]]
    return sum(row["status"] == "active" and row[column] < cents for row in others)


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, card: Row, limit: str, amount: int, wish: str, draw: Random) -> None:
        self.card, self.limit, self.amount, self.wish = card, limit, amount, wish
        said = {"limit": WORDS[limit], "four": card["last_four"], "wish": wish}
        self.opening = draw.choice(OPENINGS).format(**said)
        self.insisting = draw.choice(
            ("Nobody told me of such a rule. I need it today.", "I have been with you for years!")
        )
        self.request = self._requested(amount)

    def _requested(self, amount: int) -> Call:
        arguments = {"card_id": self.card["card_id"], "limit": self.limit, "amount": dollars(amount)}
        return "open_limit_request_3168", arguments

    def granted(self, customer: Customer, plain: int, amount: int) -> Draft:
        request = self._requested(amount)
        siblings = higher(customer, self.card, self.limit, amount)
        others = [
            row["card_id"]
            for row in customer.cards
            if row["card_id"] != self.card["card_id"] and row["status"] == "active"
        ]
        knobs: dict[str, Any] = {"writes": 2, "siblings": siblings, "contradicted": False}
        if amount > plain:
            knobs["first_hit"] = {request[0]: {"amount": dollars(plain)}}
        else:
            knobs["first_hit"] = {request[0]: {"limit": "cash" if self.limit == "purchases" else "purchases"}}
        script = {}
        if amount != self.amount:
            knobs["first_word"] = {request[0]: {"amount": dollars(self.amount)}}
            script = changed_limit(amount)
        confirm = ("app_confirm_request", {"request_id": Made(request[0], "request_id")})
        return self._draft(
            customer,
            (("current_date", {}), *hidden(*request), confirm),
            script,
            documents=DOCUMENTS | ALLOWED,
            knobs=knobs | swap(self.card, others),
            variant="allowed",
            capabilities=("verify_identity", "enhanced_verification", "rule_across_documents", "user_tool"),
        )

    def refused(self, customer: Customer, reason: str, variant: str) -> Draft:
        return self._draft(
            customer,
            (("current_date", {}), refusal(customer, "limit_increase", reason)),
            {},
            documents=DOCUMENTS | FORBIDDEN,
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*hidden(*self.request)),
                "first_hit": actions(refusal(customer, "limit_increase", "above_ceiling")),
                "wrong_reason": "records_show_otherwise",
            },
            variant=variant,
            capabilities=("verify_identity", "enhanced_verification", "rule_across_documents", "refuse"),
        )

    def _draft(
        self, customer: Customer, last: tuple[Call, ...], script: dict[str, Any], **parts: Any
    ) -> Draft:
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(
                    say=f"I want the {WORDS[self.limit]} limit of my card raised.",
                    about=("limit", "raise", "request", "confirm", "higher"),
                ),
            ),
            facts=facts_of(
                customer,
                self.card,
                wished_limit=Fact(
                    value=f"I would like {self.wish}.",
                    asked=("which amount", "how much", "what limit", "how high", "new limit"),
                ),
                which_limit=Fact(
                    value=f"The {WORDS[self.limit]} limit.",
                    asked=("purchases or cash", "cash or purchases", "which limit"),
                ),
            ),
            calls=(
                *identified(customer, card=self.card),
                ("get_customer", {"customer_id": customer.id}),
                ("list_cards", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"You want the daily {WORDS[self.limit]} limit of one card raised: {self.wish}. You "
            "confirm it in the app when you are told to; if you are refused, you insist once.",
            script={"pushback": (Pushback(say=self.insisting),)} | script,
            tools=TOOLS,
            product=self.card["product"],
            **parts,
        )
