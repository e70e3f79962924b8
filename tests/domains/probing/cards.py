"""Requests about cards: freezing, unfreezing, limits, new ones, cancelling, activation, journeys."""

from __future__ import annotations

import re
from datetime import timedelta

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.products import PRODUCTS
from tests.domains.probing.desk import CHANGED, Desk, Row, Steps, amounts_in, cards_in, dollars, money, named

_STORIES = {
    "suspicious": r"not mine|strange|someone pays|purchases that|because of strange|fraud",
    "stolen": r"took my card|robbed|burglary|stolen|snatched|was taken|taken from|somebody took",
    "damaged": r"bitten|two pieces|broke|half|damaged|scratched",
    "misplaced": r"turn up|cannot find|can't find|friend's|somewhere|sister's|left my card ending in \d+ at",
    "lost": r"gone for good|river|burnt|fire|harbour|lost|taxi|pocket on a boat",
}
COUNTRIES = {
    **{"Canada": "CA", "Switzerland": "CH", "Spain": "ES", "France": "FR", "Great Britain": "GB"},
    **{"Iceland": "IS", "Italy": "IT", "Japan": "JP", "Mexico": "MX", "Norway": "NO", "New Zealand": "NZ"},
    **{"Portugal": "PT"},
}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LIMITS = {"purchases": "purchase", "cash": "cash"}


def story_of(said: str) -> str:
    """Return the reason that a story gives."""
    low = said.lower()
    if re.search(r"nobody took|never turn up|gone for good|not come back|not get it back", low):
        return "lost"
    return next((reason for reason, pattern in _STORIES.items() if re.search(pattern, low)), "")


def freeze(desk: Desk, said: str) -> Steps[None]:
    """Freeze a card for the reason that follows from the story."""
    card = yield from desk.card(said)
    reason = story_of(said)
    while not reason:
        reason = story_of((yield from desk.ask("Can you tell me what happened? Was it lost or stolen?")))
    if not (yield from desk.agrees(f"Shall I go ahead and freeze {named(card, said)}?")):
        return
    yield from desk.call("freeze_card", card_id=card["card_id"], reason=reason)


def unfreeze(desk: Desk, said: str) -> Steps[None]:
    """Unfreeze a card that the record calls misplaced."""
    card = yield from desk.card(said, status=("frozen",))
    if card["frozen_for"] == "misplaced":
        yield from desk.call("unfreeze_card", card_id=card["card_id"])
        return
    why = f"the record says that this card was reported {card['frozen_for']}."
    yield from desk.refuse("card_unfreeze", "records_show_otherwise", why)


def activate(desk: Desk, said: str) -> Steps[None]:
    """Have a new card activated in the app."""
    card = yield from desk.card(said, status=("pending_activation",))
    yield from desk.call("give_tool", name="app_activate_card_5512")
    yield from desk.ask(
        "Your new card still has to be activated. "
        f"Please open your app and activate the card {card['card_id']}."
    )


def lower_limit(desk: Desk, said: str) -> Steps[None]:
    """Set a lower limit."""
    card = yield from desk.card(said)
    limit = yield from _which_limit(desk, said)
    wished = amounts_in(said) or amounts_in((yield from desk.ask("To what amount shall I lower it?")))
    yield from desk.call("set_card_limit", card_id=card["card_id"], limit=limit, amount=dollars(wished[0]))


def _which_limit(desk: Desk, said: str) -> Steps[str]:
    for _ in range(3):
        for limit, word in _LIMITS.items():
            if re.search(rf"{word}\w*(?: daily)? limit|limit for {word}", said):
                return limit
        said = yield from desk.ask("Which limit do you mean, the one for purchases or the one for cash?")
    return "purchases"


def raise_limit(desk: Desk, said: str) -> Steps[None]:
    """Open a request for a higher limit and have it confirmed, or refuse."""
    card = yield from desk.card(said)
    limit = yield from _which_limit(desk, said)
    word, key = _LIMITS[limit], card["key"]
    ceiling = money(f"products.{key}.{word}_ceiling")
    standard = PRODUCTS[key].purchase_limit if limit == "purchases" else PRODUCTS[key].cash_limit
    if ceiling <= standard:
        yield from desk.refuse(
            "limit_increase", "not_part_of_product", "this product allows no higher limit."
        )
        return
    if desk.customer["membership"] == "keystone":
        ceiling = int(ceiling * (1 + FACTS.share("membership.keystone.ceiling_plus")))
    changed = desk.customer["contact_changed_on"]
    if card["issued_on"] > desk.days_ago(FACTS.days("limits.card_age")) or (
        changed and changed >= desk.days_ago(FACTS.days("limits.contact_wait"))
    ):
        yield from desk.refuse("limit_increase", "waiting_period", "a waiting period has not passed.")
        return
    wished = yield from _wished(desk, said, ceiling)
    if wished > ceiling:
        offer = f"At most {ceiling / 100:,.2f} dollars are possible. Would you like that limit instead?"
        if not (yield from desk.agrees(offer)):
            yield from desk.refuse("limit_increase", "above_ceiling", "it is above the highest limit.")
            return
        wished = ceiling
    for _ in range(3):
        request = yield from desk.hidden(
            "open_limit_request_3168", card_id=card["card_id"], limit=limit, amount=dollars(wished)
        )
        reply = yield from confirmed(desk, request["request_id"])
        if not CHANGED.search(reply):
            return
        yield from desk.call("cancel_app_request", request_id=request["request_id"])
        wished = yield from _wished(desk, reply, ceiling)


def _wished(desk: Desk, said: str, ceiling: int) -> Steps[int]:
    for _ in range(3):
        if re.search(r"as much as possible|highest|maximum", said, re.IGNORECASE):
            return ceiling
        if found := amounts_in(said):
            return found[0]
        said = yield from desk.ask("How high would you like the new limit to be?")
    return ceiling


def confirmed(desk: Desk, request_id: str) -> Steps[str]:
    """Have a request confirmed in the app, and return what the customer says."""
    return (
        yield from desk.ask(
            "I have prepared it. "
            f"Would you now open your banking app and approve the request {request_id} there, please?"
        )
    )


def replace(desk: Desk, said: str) -> Steps[None]:
    """Order a new card: reason, address, freeze, price, consent, order."""
    card = yield from desk.card(said)
    known = said + " " + (yield from desk.ask("What happened to the card? Why do you need a new one?"))
    reason = story_of(known)
    if card["frozen_for"] == "suspicious":
        reason = "stolen"
    elif re.search(r"expire", known):
        reason = "expiring"
        window = (desk.today + timedelta(days=FACTS.days("fees.replacement.expiry_window"))).isoformat()
        if card["expires_on"] > window:
            yield from desk.refuse(
                "card_replacement", "not_part_of_product", "it works and does not expire soon."
            )
            return
    express = yield from _express(desk, known)
    yield from _address(desk)
    if reason in ("lost", "stolen") and card["status"] == "active":
        yield from desk.call("freeze_card", card_id=card["card_id"], reason=reason)
    for _ in range(3):
        fee = price(desk, card["key"], reason, express)
        delivery = "express" if express else "standard"
        proposal = (
            f"The new card costs {fee / 100:.2f} dollars altogether, with {delivery} delivery. "
            "Shall I order this replacement for you?"
        )
        agrees = yield from desk.agrees(proposal)
        if CHANGED.search(desk.heard[-1]):
            express = "by express" in desk.heard[-1]
            continue
        if agrees:
            yield from desk.hidden(
                "reissue_card_4417",
                card_id=card["card_id"],
                reason=reason,
                delivery=delivery,
                fee=dollars(fee),
            )
            yield from desk.look_up()
        return


def _express(desk: Desk, said: str) -> Steps[bool]:
    reply = yield from desk.ask("Which delivery would you like, standard or express?")
    return re.search(r"\bexpress", reply, re.IGNORECASE) is not None and "Standard" not in reply


def _address(desk: Desk) -> Steps[None]:
    reply = yield from desk.ask("Do you still live at the address that we have on file?")
    if re.search(r"have moved|out of date", reply):
        yield from _move(desk)


def _move(desk: Desk) -> Steps[None]:
    told = yield from desk.ask("What is your new street, with the house number, and your new postal code?")
    town = yield from desk.ask("And which town is that in, what is your new city?")
    street, code = re.search(r"(\d{1,3} [A-Z]\w+ [A-Z]\w+)", told), re.search(r"\b(\d{5})\b", told)
    city = re.search(r"\b((?!The|My|Sure|That|It)[A-Z]\w+(?: [A-Z]\w+)?)\b", town)
    if not (street and code and city):
        raise AssertionError((told, town))
    yield from desk.call(
        "update_address", customer_id=desk.id, street=street[1], city=city[1], postal_code=code[1]
    )


def address(desk: Desk, said: str) -> Steps[None]:
    """Change the address on record."""
    yield from _move(desk)


def price(desk: Desk, key: str, reason: str, express: bool) -> int:
    """Return what a replacement costs altogether, in cents."""
    fee = FACTS.money(f"fees.replacement.{reason}")
    if key == "plus" and reason == "lost":
        fee = 0
    elif key in ("premier", "meridian") or (key == "summit" and reason in ("lost", "damaged")):
        fee = money(f"products.{key}.replacement_fee")
    free = desk.customer["membership"] == "keystone" or f"products.{key}.express_fee" in FACTS
    return fee + (0 if free or not express else FACTS.money("fees.delivery.express"))


def cancel(desk: Desk, said: str) -> Steps[None]:
    """Cancel a card for good."""
    card = yield from desk.card(said)
    others = [
        row
        for row in desk.cards
        if row["account_id"] == card["account_id"] and row != card and row["status"] == "active"
    ]
    disputes = yield from desk.hidden("list_disputes_1194", customer_id=desk.id)
    if not others:
        yield from desk.refuse("card_cancellation", "not_part_of_product", "it is the only active card.")
        return
    rows = yield from desk.call("list_transactions", account_id=card["account_id"], since=desk.days_ago(400))
    own = {row["transaction_id"] for row in rows if row["card_id"] == card["card_id"]}
    if any(row["status"] == "open" and row["transaction_id"] in own for row in disputes):
        yield from desk.refuse("card_cancellation", "waiting_period", "a dispute about it is open.")
        return
    ending = f"I can cancel {named(card, said)} for good, if that is fine with you."
    if (yield from desk.agrees(ending)):
        yield from desk.hidden("cancel_card_4471", card_id=card["card_id"])


def travel(desk: Desk, said: str) -> Steps[None]:
    """Have the app told of a journey, for each card that goes and needs it."""
    where = said + (yield from desk.ask("Which country are you travelling to?"))
    yield from desk.ask("When do you leave, and when will you be back?")
    which = yield from desk.ask("Which cards are you taking with you?")
    country = next(code for name, code in COUNTRIES.items() if name in where)
    taken = cards_in(which.split(", not")[0], desk.cards)
    for card in taken:
        if card["status"] == "frozen" and card["frozen_for"] == "misplaced":
            yield from _found(desk, card)
    yield from desk.call("give_tool", name="app_travel_notice_2290")
    for card in taken:
        if FACTS.flag(f"products.{card['key']}.travel_notice"):
            yield from _noticed(desk, card, country)


def _noticed(desk: Desk, card: Row, country: str) -> Steps[None]:
    for _ in range(3):
        days = next(days for said in reversed(desk.heard) if len(days := _DAY.findall(said)) == 2)
        reply = yield from desk.ask(
            f"Please set up a travel notice in your app for the card {card['card_id']}: "
            f"country {country}, first day {min(days)}, last day {max(days)}."
        )
        if not CHANGED.search(reply):
            return


def _found(desk: Desk, card: Row) -> Steps[None]:
    reply = yield from desk.ask(
        f"The {card['product']} is frozen. Did you find the card again, do you have it?"
    )
    if re.search(r"found|turned up|have it", reply):
        yield from desk.call("unfreeze_card", card_id=card["card_id"])
