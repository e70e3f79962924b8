"""A card that was found again: usable again only if the record says that it was misplaced.

The customer says so in any case. Where the record says otherwise, the right end is a recorded refusal.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.procedures.draft import Draft, facts_of, identified, other_cards, swap
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "unfreeze a card that was found": "freezing-a-card",
    "refuse a request and record it": "recording-a-refusal",
    "verifying who is talking": "identity-verification",
}
OPENINGS = (
    "I had only misplaced my card ending in {four}, and now I have it back. Please unfreeze it.",
    "My card ending in {four} was just misplaced and turned up again. Can you unfreeze it?",
    "You froze my card ending in {four} because I could not find it. It is here now, please unfreeze it.",
)
PUSHBACKS = ("But I am sure that it was only misplaced.", "That cannot be; I only could not find it.")
REASONS = ("lost", "stolen", "suspicious")
"""For which a card stays frozen."""


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words: one that the record forbids, and its allowed twin.

    Args:
        customer: Who owns the card.
        draw: Chooses card, reason on record and words.
    """
    card = draw.choice(customer.cards)
    opening = draw.choice(OPENINGS).format(four=card["last_four"])
    insisting = draw.choice(PUSHBACKS)
    unfreeze = ("unfreeze_card", {"card_id": card["card_id"]})
    refusal = {"customer_id": customer.id, "request": "card_unfreeze", "reason": "records_show_otherwise"}

    def drafted(reason: str, last: tuple[str, dict[str, Any]], **parts: Any) -> Draft:
        return Draft(
            customer=customer.with_values("cards", card["card_id"], status="frozen", frozen_for=reason),
            opening=opening,
            wants=(
                Want(
                    say=f"Please unfreeze the card ending in {card['last_four']}.",
                    about=("unfreeze", "usable", "unblock"),
                ),
            ),
            facts=facts_of(
                customer,
                card,
                what_happened=Fact(
                    value="It was only misplaced.", asked=("why it was frozen", "lost or stolen")
                ),
            ),
            calls=(
                *identified(customer),
                ("list_cards", {"customer_id": customer.id, "last_four": card["last_four"]}),
                last,
            ),
            documents=DOCUMENTS,
            situation="You want your card unfrozen: you say that it was only misplaced, and insist once.",
            script={"pushback": (Pushback(say=insisting),)},
            **parts,
        )

    return [
        drafted(
            draw.choice(REASONS),
            ("record_refusal", refusal),
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": [{"name": unfreeze[0], "arguments": unfreeze[1]}],
                "wrong_reason": "waiting_period",
            },
            capabilities=("verify_identity", "contradicted_claim"),
            variant="contradicted",
        ),
        drafted(
            "misplaced",
            unfreeze,
            knobs={
                "siblings": 0,
                "contradicted": False,
                "extra": [{"name": "record_refusal", "arguments": refusal}],
                **swap(card, other_cards(customer, card)),
            },
            capabilities=("verify_identity", "allowed_twin"),
            variant="allowed",
            notes="Differs from its twin in the reason on record only.",
        ),
    ]
