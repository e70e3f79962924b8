"""A daily limit of a card is lowered, which has no conditions."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from gym_enterprise.domains.banking.procedures.draft import Draft, facts_of, identified, other_cards, swap
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Want

DOCUMENTS = {"lower a daily limit": "daily-limits", "verifying who is talking": "identity-verification"}
OPENINGS = (
    "Please lower the daily {limit} limit of my card ending in {four} to {amount} dollars.",
    "I want a daily {limit} limit of only {amount} dollars on my card ending in {four}.",
    "Can you set the daily {limit} limit of my card ending in {four} to {amount} dollars?",
)
_WORDS = {"purchases": "purchase", "cash": "cash"}


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a task in which one of the two limits of a card is lowered.

    Args:
        customer: Who owns the card.
        draw: Chooses card, limit, amount and words.
    """
    card = draw.choice(customer.cards)
    limit = draw.choice(list(_WORDS))
    amount = draw.randrange(5, _standard(card, limit) // 1_000) * 10  # dollars, in tens, below the standard
    said = {"limit": _WORDS[limit], "four": card["last_four"], "amount": amount}
    others = other_cards(customer, card)
    siblings = [one for one in customer.cards if one != card and _standard(one, limit) >= amount * 100]
    other = {"card_id": card["card_id"], "limit": "cash" if limit == "purchases" else "purchases"}
    return [
        Draft(
            customer=customer,
            opening=draw.choice(OPENINGS).format(**said),
            wants=(
                Want(
                    say=f"Please set the {said['limit']} limit to {amount} dollars.", about=("limit", "lower")
                ),
            ),
            facts=facts_of(
                customer,
                card,
                new_limit=Fact(value=f"{amount} dollars", asked=("what limit", "which amount", "how much")),
            ),
            calls=(
                *identified(customer),
                ("list_cards", {"customer_id": customer.id, "last_four": card["last_four"]}),
                ("set_card_limit", {"card_id": card["card_id"], "limit": limit, "amount": amount}),
            ),
            documents=DOCUMENTS,
            situation=f"You want the daily {said['limit']} limit of one card lowered to {amount} dollars.",
            knobs={
                "siblings": len(siblings),
                "extra": [{"name": "set_card_limit", "arguments": {**other, "amount": 10}}],
                **swap(card, others),
            },
            capabilities=("verify_identity", "exact_amount", *(["choose_card"] if others else [])),
        )
    ]


def _standard(card: Mapping[str, Any], limit: str) -> int:
    """Return the standard limit of a card's product, in cents."""
    product = PRODUCTS[card["product"]]
    return product.purchase_limit if limit == "purchases" else product.cash_limit
