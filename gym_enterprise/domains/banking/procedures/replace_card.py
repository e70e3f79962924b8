"""A card is replaced: for the reason in the story, at a price from several documents, in a hidden order.

"I need a new card" does not say that the old one has to be frozen first, nor that the address is wrong.
"""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import PRICE, changing
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
CHANGES = {
    "express": "I have thought about it again: please send it by express, I need it soon.",
    "standard": "I have thought about it again: standard delivery will do.",
}
_EXPRESS = FACTS.money("fees.delivery.express")
_WINDOW = FACTS.days("fees.replacement.expiry_window")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft the replacement of one card; of one that expires, with a twin in which it expires too late.

    Args:
        customer: Who owns the card.
        draw: Chooses card, story, delivery, address, words, whether the customer agrees to no unknown price,
            and whether it changes the delivery.
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
    cost = price(customer, card["product"], reason, delivery)
    order = _order(card, reason, delivery, cost)
    at_first = "standard" if delivery == "express" else "express"
    cost_at_first = price(customer, card["product"], reason, at_first)
    if cost_at_first == 0 or draw.random() < 0.3:  # what is free need not be agreed to
        at_first, cost_at_first = delivery, cost
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
    knobs = _knobs(customer, card, order, {"freeze_card": freezes, "update_address": moved})
    if at_first != delivery:
        knobs["first_word"] = {order[0]: {"delivery": at_first, "fee": dollars(cost_at_first)}}
    documents = (WORN if reason == "damaged" else GONE) | DOCUMENTS | (MOVED if moved else {})
    return _draft(
        customer,
        card,
        draw.choice(STORIES[story]),
        draw.choice(OPENINGS).format(four=card["last_four"]),
        (at_first, delivery),
        facts,
        bool(cost) and draw.random() < 0.6,
        calls=(*calls, *hidden(*order)),
        documents=documents,
        knobs=knobs,
        capabilities=("verify_identity", "discover_tool", "hidden_order", "rule_across_documents"),
        notes=f"{story}; {delivery}; {cost} cents{'; moved' if moved else ''}.",
    )


def _knobs(customer: Customer, card: Row, order: Call, before: dict[str, bool]) -> dict[str, Any]:
    """Return the knobs of an order and of the steps that may come before it."""
    tool, told = order
    reason, delivery, cost = told["reason"], told["delivery"], round(told["fee"] * 100)
    general = FACTS.money(f"fees.replacement.{reason}") + FACTS.money(f"fees.delivery.{delivery}")
    others = other_cards(customer, card)
    knobs: dict[str, Any] = {
        "writes": 1 + sum(before.values()),
        "siblings": len(others) * (before["freeze_card"] or reason == "damaged"),
    }
    if general != cost:
        knobs["first_hit"] = {tool: {"fee": dollars(general)}}
    if delivery == "express" and not free_express(customer, card["product"]):
        old = cost - _EXPRESS + formerly("fees.delivery.express", date(2025, 6, 1))
        knobs["stale"] = {tool: {"fee": dollars(old)}}
    if dropped := [name for name, there in before.items() if there]:
        knobs["prerequisite"] = {"drop": dropped[0]}
    if cost:
        knobs["single_document"] = {tool: {"fee": 0}}
    return knobs | swap(card, others)


def _expiring(customer: Customer, card: Row, draw: Random) -> list[Draft]:
    delivery = draw.choice(("standard", "express"))
    soon = (customer.today + timedelta(days=_WINDOW - draw.randrange(0, 25))).isoformat()
    late = (customer.today + timedelta(days=_WINDOW + draw.randrange(5, 40))).isoformat()
    others = other_cards(customer, card)
    asks = draw.random() < 0.6
    story = "It works, but it will expire soon, and I do not want to wait for that."
    opening = f"My card ending in {card['last_four']} is about to expire. Please send me the next one."

    def drafted(expires_on: str, last: tuple[Call, ...], **parts: Any) -> Draft:
        return _draft(
            customer.with_values("cards", card["card_id"], expires_on=expires_on),
            card,
            story,
            opening,
            (delivery, delivery),
            {},
            bool(cost) and asks and last == order,
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
    deliveries: tuple[str, str],
    facts: dict[str, Fact],
    asks: bool,
    **parts: Any,
) -> Draft:
    """Draft the replacement of a card.

    Args:
        customer: Who owns it.
        card: The card.
        story: Why a new one is needed.
        opening: What the customer says first.
        deliveries: How the new card should travel, at first and in the end.
        facts: The new address, if there is one.
        asks: Whether the customer agrees to no unknown price.
        parts: Further parts of the draft.
    """
    at_first, delivery = deliveries
    wish = {
        "express": "By express, please. I need it within days.",
        "standard": "Standard delivery is fine.",
    }
    changes = {} if at_first == delivery else changing(CHANGES[delivery], {"delivery": wish[delivery]})
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
                consent=PRICE if asks else (),
                unsure="What will it cost me, all in all?" if asks else "",
            ),
        ),
        facts=known
        | {
            "what_happened": Fact(value=story, asked=("what happened", "why", "lost or stolen", "reason")),
            "delivery": Fact(
                value=wish[at_first], asked=("standard or express", "how fast", "which delivery")
            ),
            "moved": Fact(
                value=address, asked=("address correct", "same address", "still live", "have you moved")
            ),
        }
        | new,
        situation=f"{story} You want a new card. {wish[at_first]} {address}",
        script={"pushback": (Pushback(say="But I really need a new one."),)} | changes,
        product=card["product"],
        **parts,
    )
