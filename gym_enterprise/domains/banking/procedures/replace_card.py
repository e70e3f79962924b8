"""A card is replaced: for the reason in the story, at a price from several documents, in a hidden order.

"I need a new card" does not say that the old one has to be frozen first, nor that the address is wrong.
"""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    other_cards,
    refusal,
    swap,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import formerly
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "price list for the replacement of a card": "card-replacement-fees",
    "express delivery of a card": "delivery-of-cards",
    "membership levels privileges": "membership-levels",
    "verifying who is talking": "identity-verification",
}
GONE = {"customer lost a card": "lost-and-stolen-cards"}
WORN = {"damaged card does not work": "worn-and-damaged-cards"}
MOVED = {"moved house, new address": "contact-data-changes"}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
STORIES = {
    "lost": ("It fell into the harbour and is gone for good.", "I burnt it together with old letters."),
    "stolen": ("My bag was snatched on the tram, with the card in it.", "It was taken in a burglary."),
    "damaged": ("The dog has bitten through it; it is in two pieces.", "It broke in half in my pocket."),
    "suspicious": ("You froze it because of strange purchases, and I still have no card.",),
    "misplaced": ("You froze it for me. By now I am sure that it will never turn up; nobody took it.",),
}
REASONS = {"suspicious": "stolen", "misplaced": "lost"}
"""Reason of the replacement where it is not the story's own."""
OPENINGS = (
    "I need a new card in place of the one ending in {four}.",
    "Please send me a new card for {four}.",
)
_EXPRESS = FACTS.money("fees.delivery.express")
_WINDOW = FACTS.days("fees.replacement.expiry_window")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft the replacement of one card; of one that expires, with a twin in which it expires too late.

    Args:
        customer: Who owns the card.
        draw: Chooses card, story, delivery, address and words.
    """
    card = draw.choice([card for card in customer.cards if PRODUCTS[card["product"]].sort != "prepaid"])
    if draw.random() < 0.3:
        return _expiring(customer, card, draw)
    story = draw.choice(list(STORIES))
    if story in ("suspicious", "misplaced"):
        customer = customer.with_values("cards", card["card_id"], status="frozen", frozen_for=story)
    return [_replaced(customer, card, story, draw)]


def price(customer: Customer, product: str, reason: str, delivery: str) -> int:
    """Return what a replacement costs the customer altogether, in cents."""
    key = f"products.{product}.replacement_fee"
    fee = FACTS.money(f"fees.replacement.{reason}")
    if key in FACTS and (product != "summit" or reason in ("lost", "damaged")):
        fee = FACTS.money(key)
    if product == "plus" and reason == "lost":  # none of its cards was replaced before
        fee = 0
    return fee + (0 if free_express(customer, product) else FACTS.money(f"fees.delivery.{delivery}"))


def free_express(customer: Customer, product: str) -> bool:
    """Return whether express delivery costs the customer nothing."""
    return customer.level == "keystone" or f"products.{product}.express_fee" in FACTS


def _replaced(customer: Customer, card: Row, story: str, draw: Random) -> Draft:
    reason, delivery = REASONS.get(story, story), draw.choice(("standard", "express", "express"))
    moved = draw.random() < 0.35
    freezes = story in ("lost", "stolen")
    others = other_cards(customer, card)
    cost = price(customer, card["product"], reason, delivery)
    order = _order(card, reason, delivery, cost)
    calls: tuple[Call, ...] = (
        *identified(customer, card=card if moved else None),
        ("get_customer", {"customer_id": customer.id}),
        ("list_cards", {"customer_id": customer.id}),
    )
    facts = {}
    if moved:
        address = _address(draw)
        calls = (*calls, ("update_address", {"customer_id": customer.id} | address))
        facts = {key: Fact(value=value, asked=(key, f"new {key}")) for key, value in address.items()}
    if freezes:
        calls = (*calls, ("freeze_card", {"card_id": card["card_id"], "reason": story}))
    general = FACTS.money(f"fees.replacement.{reason}") + FACTS.money(f"fees.delivery.{delivery}")
    knobs: dict[str, Any] = {
        "writes": 1 + moved + freezes,
        "siblings": len(others) * (freezes or reason == "damaged"),
    }
    if general != cost:
        knobs["first_hit"] = {order[0]: {"fee": dollars(general)}}
    if delivery == "express" and not free_express(customer, card["product"]):
        before = cost - _EXPRESS + formerly("fees.delivery.express", date(2025, 6, 1))
        knobs["stale"] = {order[0]: {"fee": dollars(before)}}
    if freezes:
        knobs["prerequisite"] = {"drop": "freeze_card"}
    elif moved:
        knobs["prerequisite"] = {"drop": "update_address"}
    if cost:
        knobs["single_document"] = {order[0]: {"fee": 0}}
    documents = (WORN if reason == "damaged" else GONE) | DOCUMENTS | (MOVED if moved else {})
    return _draft(
        customer,
        card,
        draw.choice(STORIES[story]),
        draw.choice(OPENINGS).format(four=card["last_four"]),
        delivery,
        facts,
        calls=(*calls, *hidden(*order)),
        documents=documents,
        knobs=knobs | swap(card, others),
        capabilities=("verify_identity", "discover_tool", "hidden_order", "rule_across_documents"),
        notes=f"{story}; {delivery}; {cost} cents{'; moved' if moved else ''}.",
    )


def _expiring(customer: Customer, card: Row, draw: Random) -> list[Draft]:
    delivery = draw.choice(("standard", "express"))
    soon = (customer.today + timedelta(days=_WINDOW - draw.randrange(0, 25))).isoformat()
    late = (customer.today + timedelta(days=_WINDOW + draw.randrange(5, 40))).isoformat()
    others = other_cards(customer, card)
    story = "It works, but it will expire soon, and I do not want to wait for that."
    opening = f"My card ending in {card['last_four']} is about to expire. Please send me the next one."

    def drafted(expires_on: str, last: tuple[Call, ...], **parts: Any) -> Draft:
        return _draft(
            customer.with_values("cards", card["card_id"], expires_on=expires_on),
            card,
            story,
            opening,
            delivery,
            {},
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("get_customer", {"customer_id": customer.id}),
                ("list_cards", {"customer_id": customer.id}),
                *last,
            ),
            documents=WORN | DOCUMENTS | REFUSED,
            **parts,
        )

    cost = price(customer, card["product"], "expiring", delivery)
    order = hidden(*_order(card, "expiring", delivery, cost))
    knobs: dict[str, Any] = {"siblings": len(others), "contradicted": False} | swap(card, others)
    if cost:
        knobs["single_document"] = {"reissue_card_4417": {"fee": 0}}
    return [
        drafted(
            late,
            (refusal(customer, "card_replacement", "not_part_of_product"),),
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*order),
                "first_hit": actions(*hidden(*_order(card, "damaged", delivery, cost))),
                "wrong_reason": "waiting_period",
            },
            capabilities=("verify_identity", "count_days", "refuse"),
            variant="late",
        ),
        drafted(
            soon,
            order,
            knobs=knobs | {"first_hit": {"reissue_card_4417": {"reason": "damaged"}}},
            capabilities=("verify_identity", "discover_tool", "count_days"),
            variant="soon",
        ),
    ]


def _order(card: Row, reason: str, delivery: str, fee: int) -> Call:
    return "reissue_card_4417", {
        "card_id": card["card_id"],
        "reason": reason,
        "delivery": delivery,
        "fee": dollars(fee),
    }


def _address(draw: Random) -> dict[str, str]:
    street = f"{draw.randrange(1, 190)} {draw.choice(('Harbour Walk', 'Lantern Yard', 'Mill Bridge'))}"
    city, code = draw.choice((("Saltmarsh", "32075"), ("Ashgrove", "31208"), ("Cape Ember", "32340")))
    return {"street": street, "city": city, "postal_code": code}


def _draft(
    customer: Customer,
    card: Row,
    story: str,
    opening: str,
    delivery: str,
    facts: dict[str, Fact],
    **parts: Any,
) -> Draft:
    wish = {
        "express": "By express, please. I need it within days, and I agree to the price.",
        "standard": "Standard delivery is fine.",
    }
    address = (
        "I have moved, so the address on record is out of date." if facts else "My address has not changed."
    )
    known = facts_of(customer, card)
    new = {f"new_{key}": fact for key, fact in facts.items()}
    return Draft(
        customer=customer,
        opening=opening,
        wants=(
            Want(
                say=f"I want a new card in place of {card['last_four']}.",
                about=("new card", "replace", "replacement", "order", "freeze", "express", "fee"),
            ),
        ),
        facts=known
        | {
            "what_happened": Fact(value=story, asked=("what happened", "why", "lost or stolen", "reason")),
            "delivery": Fact(
                value=wish[delivery], asked=("standard or express", "how fast", "which delivery")
            ),
            "moved": Fact(
                value=address, asked=("address correct", "same address", "still live", "have you moved")
            ),
        }
        | new,
        situation=f"{story} You want a new card. {wish[delivery]} {address}",
        script={"pushback": (Pushback(say="But I really need a new one."),)},
        product=card["product"],
        **parts,
    )
