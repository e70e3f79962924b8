"""A journey: the customer makes a notice in the app, for each card that travels and needs one, and no other.

The opening does not say which cards, where and when; one of the cards may still be frozen.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import changing, vague
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
_TELLING = ("country", "travel_days", "travelling_cards")
"""Facts of which one has to be asked for."""
_LONGEST = FACTS.days("travel.longest")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a journey with one or two cards, of which at least one needs a notice.

    Args:
        customer: Who travels.
        draw: Chooses cards, country, days, words, whether the customer stays vague and whether it changes
            the last day.
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
    opening = draw.choice(OPENINGS)
    script = vague("I just want to be able to pay while I am away.", *_TELLING) if draw.random() < 0.5 else {}
    at_first = last
    if draw.random() < 0.5:
        at_first = first + timedelta(days=draw.randrange(1, (last - first).days))
    return [_draft(customer, taken, rest, journey, at_first.isoformat(), frozen, opening, script)]


def _needs_notice(card: Row) -> bool:
    return FACTS.flag(f"products.{card['product']}.travel_notice")


def _draft(
    customer: Customer,
    taken: list[Row],
    rest: list[Row],
    journey: dict[str, str],
    at_first: str,
    frozen: bool,
    opening: str,
    script: dict[str, Any],
) -> Draft:
    """Draft one journey.

    Args:
        customer: Who travels.
        taken: The cards that travel.
        rest: The customer's other cards.
        journey: Arguments of a notice, besides the card.
        at_first: The last day as the customer tells it before it changes its mind, if it does.
        frozen: Whether the first card that travels is still frozen.
        opening: What the customer says first.
        script: Further parts of the script.
    """
    notices = [_notice(card, journey) for card in taken if _needs_notice(card)]
    knobs = _knobs(notices, taken, rest, journey, frozen)
    facts = _facts(taken, journey | {"ends_on": at_first}, frozen)
    if at_first != journey["ends_on"]:
        days = _facts(taken, journey, frozen)["travel_days"].value
        say = f"I have thought about it again: I stay longer abroad. {days}"
        script = script | changing(say, {"travel_days": days})
        knobs["first_word"] = {_TOOL: {"ends_on": at_first}}
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
        script=script,
        knobs=knobs,
        capabilities=("verify_identity", "vague_opening", "user_tool", "choose_card"),
        tools=("app_list_requests", "app_confirm_request", _TOOL),
        product=taken[0]["product"],
        notes=f"{len(notices)} notices; cards without one: {knobs['siblings']}.",
    )


def _knobs(
    notices: list[Call], taken: list[Row], rest: list[Row], journey: dict[str, str], frozen: bool
) -> dict[str, Any]:
    needless = [card for card in (*taken, *rest) if _notice(card, journey) not in notices]
    more = _notice(needless[0], journey)
    knobs: dict[str, Any] = {
        "writes": len(notices) + frozen,
        "verified": frozen,  # only the customer acts otherwise, and the state cannot tell who was asked
        "siblings": len(needless),
        "contradicted": False,
        "first_hit": [action(one, seat="user") for one in (notices[-1], more)],
        "extra": [action(more, seat="user")],
    }
    if rest:
        knobs["swap"] = {taken[0]["card_id"]: rest[0]["card_id"]}
    if frozen:
        knobs["prerequisite"] = {"drop": "unfreeze_card"}
    return knobs


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
