"""A card that may be in wrong hands is frozen, for the reason that follows from the customer's story."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from gym_enterprise.domains.banking.procedures.draft import Draft, facts_of, identified, other_cards, swap
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.tasks import Fact, Want

DOCUMENTS = {"freeze a card": "freezing-a-card", "verifying who is talking": "identity-verification"}
STORIES: Mapping[str, Sequence[str]] = {
    "misplaced": (
        "I cannot find my card ending in {four}, but it will turn up.",
        "I left my card ending in {four} at a friend's place.",
        "My card ending in {four} is somewhere in the house, I just do not see it.",
    ),
    "lost": (
        "My card ending in {four} is gone for good; it fell into the river.",
        "I lost my card ending in {four} and will not get it back; nobody took it.",
        "My card ending in {four} went into the fire by mistake.",
    ),
    "stolen": (
        "Somebody took my card ending in {four} out of my bag.",
        "I was robbed and my card ending in {four} is gone.",
        "There was a burglary and my card ending in {four} was taken.",
    ),
    "suspicious": (
        "I still have my card ending in {four}, but I see purchases that are not mine.",
        "Someone pays with my card ending in {four}, which is right here.",
        "My card ending in {four} is in my hand, yet there are strange charges on it.",
    ),
}
"""Openings by reason. The digits tell the cards of a customer apart."""
ENDINGS = ("Please freeze it.", "Please block it now.", "Can you freeze it?")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a task in which one card is frozen.

    Args:
        customer: Who owns the card.
        draw: Chooses card, reason and words.
    """
    card = draw.choice(customer.cards)
    reason = draw.choice(list(STORIES))
    story = draw.choice(STORIES[reason]).format(four=card["last_four"])
    others = other_cards(customer, card)
    wrong = draw.choice([other for other in STORIES if other != reason])
    return [
        Draft(
            customer=customer,
            opening=f"{story} {draw.choice(ENDINGS)}",
            wants=(
                Want(
                    say=f"Please freeze the card ending in {card['last_four']}.",
                    about=("freeze", "block", "frozen"),
                ),
            ),
            facts=facts_of(customer, card, what_happened=Fact(value=story, asked=("lost or stolen", "why"))),
            calls=(
                *identified(customer),
                ("list_cards", {"customer_id": customer.id, "last_four": card["last_four"]}),
                ("freeze_card", {"card_id": card["card_id"], "reason": reason}),
            ),
            documents=DOCUMENTS,
            situation=f"{story} You want this card frozen, and nothing else.",
            knobs={
                "siblings": len(others),
                "single_document": {"freeze_card": {"reason": wrong}},
                **swap(card, others),
            },
            capabilities=("verify_identity", "choose_reason", *(["choose_card"] if others else [])),
        )
    ]
