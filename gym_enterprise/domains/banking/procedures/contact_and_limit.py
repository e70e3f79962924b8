"""New contact data and a higher limit in one conversation: the one that is named first comes second.

A change of contact data bars higher limits for days. When it was made lately, the raise is refused and the
contact data are changed all the same.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
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
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.raise_limit import WORDS, ceiling, higher, standard
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "several requests in one conversation, contact data and a higher limit": "order-of-requests",
    "raising a card limit, conditions": "raising-a-limit",
    "daily limits of cards, standard and ceiling": "daily-limits",
    "membership levels privileges": "membership-levels",
    "change phone number or email": "contact-data-changes",
    "enhanced verification": "identity-verification",
}
ALLOWED = {"confirm a request in the app": "confirming-in-the-app"}
FORBIDDEN = {"refuse a request and record it": "recording-a-refusal"}
NAMES = {"phone": "phone number", "email": "email address"}
_WAIT = FACTS.days("limits.contact_wait")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words: nothing was changed lately, or something was.

    Args:
        customer: Who wants both.
        draw: Chooses card, limit, amount, contact data and words.
    """
    limit = draw.choice(list(WORDS))
    cards = [
        card
        for card in customer.cards
        if ceiling(customer, card["product"], limit) > standard(card["product"], limit)
    ]
    if not cards:
        return []
    card = draw.choice(cards)
    lowest, most = standard(card["product"], limit), ceiling(customer, card["product"], limit)
    amount = draw.randrange(lowest // 5_000 + 1, most // 5_000 + 1) * 5_000
    words = _Words(customer, card, limit, amount, draw)
    lately, earlier = (
        customer.with_values("customers", customer.id, contact_changed_on=customer.days_ago(days))
        for days in (draw.randrange(1, _WAIT + 1), _WAIT + draw.randrange(1, 30))
    )
    return [words.refused(lately), words.granted(earlier)]


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, customer: Customer, card: Row, limit: str, amount: int, draw: Random) -> None:
        self.card, self.limit, self.amount = card, limit, amount
        self.field = draw.choice(list(NAMES))
        first, last = customer.data["full_name"].lower().split()
        self.value = {
            "phone": f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}",
            "email": f"{first}.{last}{draw.randrange(10, 100)}@newpost.example",
        }[self.field]
        self.opening = draw.choice(
            (
                "I have a new {name}. And I need a higher {limit} limit on my card ending in {four}.",
                "Please change my {name}, and raise the {limit} limit of my card ending in {four}.",
            )
        ).format(name=NAMES[self.field], limit=WORDS[limit], four=card["last_four"])
        contact = {"customer_id": customer.id, "field": self.field, "value": self.value}
        self.contact: Call = ("update_contact", contact)
        self.request: Call = (
            "open_limit_request_3168",
            {"card_id": card["card_id"], "limit": limit, "amount": dollars(amount)},
        )

    def granted(self, customer: Customer) -> Draft:
        confirm = ("app_confirm_request", {"request_id": Made(self.request[0], "request_id")})
        return self._draft(
            customer,
            (*hidden(*self.request), confirm, self.contact),
            documents=DOCUMENTS | ALLOWED,
            knobs={
                "writes": 3,
                "siblings": higher(customer, self.card, self.limit, self.amount),
                "contradicted": False,
                "single_document": {
                    self.request[0]: {"limit": "cash" if self.limit == "purchases" else "purchases"}
                },
                "prerequisite": {"drop": self.request[0]},
            },
            variant="allowed",
            capabilities=("enhanced_verification", "hidden_order", "interacting_requests", "user_tool"),
        )

    def refused(self, customer: Customer) -> Draft:
        return self._draft(
            customer,
            (refusal(customer, "limit_increase", "waiting_period"), self.contact),
            documents=DOCUMENTS | FORBIDDEN,
            knobs={
                "writes": 2,
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*hidden(*self.request)),
                "first_hit": actions(*hidden(*self.request), self.contact),
                "wrong_reason": "not_part_of_product",
            },
            variant="changed-lately",
            capabilities=("enhanced_verification", "interacting_requests", "count_days", "refuse"),
        )

    def _draft(self, customer: Customer, last: tuple[Call, ...], **parts: Any) -> Draft:
        name, wish = NAMES[self.field], f"{spoken(self.amount)} a day"
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(say=f"Please change my {name} to the new one.", about=("contact", name, self.field)),
                Want(
                    say=f"I want the {WORDS[self.limit]} limit of my card raised to {wish}.",
                    about=("limit", "raise", "request", "confirm"),
                ),
            ),
            facts=facts_of(
                customer,
                self.card,
                **{
                    f"new_{self.field}": Fact(
                        value=self.value,
                        asked=(f"new {name}", f"new {self.field}", "new number", "new address"),
                    ),
                    "wished_limit": Fact(
                        value=f"I would like {wish}.",
                        asked=("which amount", "how much", "what limit", "how high", "new limit"),
                    ),
                },
            ),
            calls=(
                *identified(customer, card=self.card),
                ("current_date", {}),
                ("get_customer", {"customer_id": customer.id}),
                ("list_cards", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"Your {name} has changed, and you also want the daily {WORDS[self.limit]} limit of "
            f"one card raised to {wish}. You confirm in the app when you are told to.",
            script={"pushback": (Pushback(say="But I need both, and today."),)},
            tools=("app_list_requests", "app_confirm_request"),
            product=self.card["product"],
            **parts,
        )
