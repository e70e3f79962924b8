"""How a customer makes it harder than an opening and a few answers: it withholds, changes, stays vague, adds.

Which drafts have which of these is declared by the knob `conduct`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.procedures.draft import Draft, other_cards
from gym_enterprise.domains.banking.procedures.lower_limit import DOCUMENTS as LIMITS
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Change, Vague, Want

PRICE = (
    "$",
    "free",
    "no charge",
    "no fee",
    "no cost",
    "not cost",
    "nothing",
    "no additional",
    "no extra",
    "waived",
)
"""What names a price: any amount, or that there is none."""
AMOUNT = ("$",)
_LEAST = 50
"""The lowest limit that a late request asks for, in dollars."""


def conduct_of(draft: Draft) -> list[str]:
    """Return which of these ways the customer of a draft has."""
    script = draft.script
    found = {
        "consent": any(want.consent for want in draft.wants),
        "changes": bool(script.get("changes")),
        "vague": bool(script.get("vague")),
        "later": bool(script.get("later")),
    }
    return [name for name, there in found.items() if there]


def changing(say: str, facts: Mapping[str, str]) -> dict[str, Any]:
    """Return the part of a script by which a customer changes its mind before anything is done."""
    return {"changes": (Change(say=say, facts=dict(facts), early=True),)}


def vague(say: str, *until: str) -> dict[str, Any]:
    """Return the part of a script by which a customer stays vague until it is asked for one of some facts."""
    return {"vague": Vague(say=say, until=until)}


def adding_a_limit(drafts: list[Draft], draw: Random) -> list[Draft]:
    """Let the customer ask late for a lower limit of one of its cards; as they are where no card is active.

    Args:
        drafts: One, or one and its twins: they get the same late request.
        draw: Chooses the card and the amount.
    """
    cards = [card for card in drafts[0].customer.cards if card["status"] == "active"]
    cards = [card for card in cards if PRODUCTS[card["product"]].purchase_limit >= 2 * _LEAST * 100]
    if not cards:
        return drafts
    card = draw.choice(cards)
    most = PRODUCTS[card["product"]].purchase_limit // 100
    amount = draw.randrange(_LEAST // 10, most // 10) * 10
    if amount * 100 == card["purchase_limit_cents"]:
        amount -= 10
    return [_with_a_limit(draft, card, amount) for draft in drafts]


def _with_a_limit(draft: Draft, card: Row, amount: int) -> Draft:
    customer, four = draft.customer, card["last_four"]
    others = [one for one in customer.cards if one["card_id"] in other_cards(customer, card)]
    usable = [one for one in others if one["status"] in ("active", "pending_activation")]
    say = f"And please set the daily purchase limit of my card ending in {four} to {amount} dollars."
    calls = (
        ("list_cards", {"customer_id": customer.id, "last_four": four}),
        ("set_card_limit", {"card_id": card["card_id"], "limit": "purchases", "amount": amount}),
    )
    knobs = {
        "writes": draft.knobs.get("writes", 1) + 1,
        "siblings": draft.knobs["siblings"]
        + sum(PRODUCTS[one["product"]].purchase_limit >= amount * 100 for one in usable),
        "later_from": -len(calls),
    }
    return replace(
        draft,
        calls=(*draft.calls, *calls),
        documents=dict(draft.documents) | LIMITS,
        situation=f"{draft.situation} When that is settled, granted or not, you say: {say}",
        script=dict(draft.script) | {"later": (Want(say=say, about=("limit", "lower")),)},
        knobs=dict(draft.knobs) | knobs,
        capabilities=(*draft.capabilities, "second_request"),
    )
