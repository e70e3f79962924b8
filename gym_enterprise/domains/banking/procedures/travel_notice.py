"""A journey: the customer makes a notice in the app, for each card that travels and needs one, and no other.

The opening does not say which cards, where and when; one of the cards may still be frozen.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.draft import Call, Draft, action, facts_of, identified
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import opened
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Want

DOCUMENTS = {
    "travel notice for a card abroad": "travel-notices",
    "what does the customer want, unclear request": "unclear-requests",
    "verifying who is talking": "identity-verification",
}
FROZEN = {"unfreeze a card that was found": "freezing-a-card"}
COUNTRIES = {
    "CA": "Canada",
    "ES": "Spain",
    "FR": "France",
    "GB": "Great Britain",
    "IS": "Iceland",
    "IT": "Italy",
    "JP": "Japan",
    "MX": "Mexico",
    "NO": "Norway",
    "NZ": "New Zealand",
    "PT": "Portugal",
}
OPENINGS = (
    "I am going away next month. Is there anything to do?",
    "I have a journey before me and do not want to stand there without money.",
    "I will be abroad for a while. Please get my cards ready.",
)
_TOOL = "app_travel_notice_2290"
_LONGEST = FACTS.days("travel.longest")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a journey with one or two cards, of which at least one needs a notice.

    Args:
        customer: Who travels.
        draw: Chooses cards, country, days and words.
    """
    if not any(_needs_notice(card) for card in customer.cards) or len(customer.cards) < 2:
        customer, _ = opened(customer, draw.choice(("everyday", "quay", "harbor", "plus")), draw)
    needing = [card for card in customer.cards if _needs_notice(card)]
    taken = [draw.choice(needing)]
    rest = [card for card in customer.cards if card != taken[0]]
    others = [card for card in rest if len(rest) > 1 or not _needs_notice(card)]
    if others and draw.random() < 0.5:  # one card at least has no notice
        taken.append(draw.choice(others))
        rest.remove(taken[1])
    frozen = draw.random() < 0.4
    if frozen:
        customer = customer.with_values("cards", taken[0]["card_id"], status="frozen", frozen_for="misplaced")
    first = customer.today + timedelta(days=draw.randrange(12, 45))
    last = first + timedelta(days=draw.randrange(5, _LONGEST - 20))
    journey = {
        "country": draw.choice(list(COUNTRIES)),
        "starts_on": first.isoformat(),
        "ends_on": last.isoformat(),
    }
    return [_draft(customer, taken, rest, journey, frozen, draw.choice(OPENINGS))]


def _needs_notice(card: Row) -> bool:
    return FACTS.flag(f"products.{card['product']}.travel_notice")


def _draft(
    customer: Customer, taken: list[Row], rest: list[Row], journey: dict[str, str], frozen: bool, opening: str
) -> Draft:
    notices = [_notice(card, journey) for card in taken if _needs_notice(card)]
    needless = [card for card in (*taken, *rest) if _notice(card, journey) not in notices]
    knobs: dict[str, Any] = {
        "writes": len(notices) + frozen,
        "verified": frozen,  # only the customer acts otherwise, and the state cannot tell who was asked
        "siblings": len(needless),
        "contradicted": False,
    }
    more = _notice(needless[0], journey)
    knobs["first_hit"] = [action(one, seat="user") for one in (notices[-1], more)]
    knobs["extra"] = [action(more, seat="user")]
    if rest:
        knobs["swap"] = {taken[0]["card_id"]: rest[0]["card_id"]}
    if frozen:
        knobs["prerequisite"] = {"drop": "unfreeze_card"}
    facts = _facts(taken, journey, frozen)
    return Draft(
        customer=customer,
        opening=opening,
        wants=(
            Want(
                say="I am going abroad and want my cards to work there.",
                about=("travel", "notice", "abroad", "unfreeze"),
            ),
        ),
        facts=facts_of(customer, taken[0], **facts),
        calls=(
            *identified(customer),
            ("list_cards", {"customer_id": customer.id}),
            *((("unfreeze_card", {"card_id": taken[0]["card_id"]}),) if frozen else ()),
            ("give_tool", {"name": _TOOL}),
            *notices,
        ),
        documents=DOCUMENTS | (FROZEN if frozen else {}),
        situation=f"You travel abroad. {' '.join(fact.value for fact in facts.values())} You use the app as "
        "you are told.",
        knobs=knobs,
        capabilities=("verify_identity", "vague_opening", "user_tool", "choose_card"),
        tools=("app_list_requests", "app_confirm_request", _TOOL),
        product=taken[0]["product"],
        notes=f"{len(notices)} notices; cards without one: {len(needless)}.",
    )


def _notice(card: Row, journey: dict[str, str]) -> Call:
    return _TOOL, {"card_id": card["card_id"]} | journey


def _facts(taken: list[Row], journey: dict[str, str], frozen: bool) -> dict[str, Fact]:
    """Return what the customer tells about the journey when asked."""
    cards = " and ".join(
        f"the one of my {PRODUCTS[card['product']].name} ending in {card['last_four']}" for card in taken
    )
    found = "I had misplaced the first of them and you froze it; I have found it again."
    when = ("from when", "which days", "when do you", "when are you", "how long", "dates", "first day")
    return {
        "country": Fact(
            value=f"To {COUNTRIES[journey['country']]}.",
            asked=("where are you going", "which country", "destination", "where to"),
        ),
        "travel_days": Fact(value=f"From {journey['starts_on']} to {journey['ends_on']}.", asked=when),
        "travelling_cards": Fact(
            value=f"I take {cards}.",
            asked=("which cards", "cards will you", "take with you", "cards are you taking"),
        ),
        "state_of_cards": Fact(
            value=found if frozen else "They all work.",
            asked=("do they work", "is the card frozen", "did you find"),
        ),
    }
