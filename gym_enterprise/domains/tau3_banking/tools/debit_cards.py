"""Discoverable tools of the agent: debit cards in use, from the list to limits and PINs."""

from __future__ import annotations

import json

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

CLOSURE_REASONS = ("lost", "stolen", "fraud_suspected", "damaged", "no_longer_needed", "account_closing")
ATM_LIMITS = {
    "blue account": 500,
    "green account": 600,
    "light blue account": 400,
    "green fee-free account": 500,
    "evergreen account": 750,
    "bluest account": 1500,
    "dark green account": 300,
    "gold years account": 600,
    "purple account": 1000,
}
"""Daily cash limit in dollars by level, where a card has none of its own."""
_CARDS = "debit_cards"
_SHOWN_AS = {"last_4_digits": "card_number_last_4", "issue_date": "date_issued"}


def card_in(world: World, card_id: str, *statuses: str) -> records.Record:
    """Return a debit card that exists and is in one of these states."""
    card = check.existing(world, _CARDS, card_id)
    check.in_status(card, *statuses)
    return card


@discoverable()
def get_debit_cards_by_account_id_7823(world: World, account_id: str) -> str:
    """List the debit cards of a checking account as JSON, the latest first."""
    check.class_is(check.existing(world, "accounts", account_id), "checking", "business_checking")
    cards = []
    for card in records.matching(world, _CARDS, "account_id", account_id).values():
        card.setdefault("issue_date", card.get("created_date"))
        cards.append({_SHOWN_AS.get(field, field): value for field, value in card.items()})
    cards.sort(key=lambda card: str(card["date_issued"]), reverse=True)
    return json.dumps(cards, indent=2) if cards else f"The account {account_id} has no debit cards."


@discoverable(writes=True, codes={"reason": CLOSURE_REASONS}, fold=str.lower)
def close_debit_card_4721(world: World, card_id: str, reason: str) -> str:
    """Close a debit card for good."""
    card = card_in(world, card_id, "ACTIVE", "PENDING")
    closure = {"status": "CLOSED", "closed_date": check.today(world), "closure_reason": reason}
    records.change(world, _CARDS, card_id, card, **closure)
    return f"The debit card {card_id} is closed ({reason})."


@discoverable(writes=True)
def freeze_debit_card_3892(world: World, card_id: str) -> str:
    """Freeze an active debit card; it can be unfrozen."""
    card = card_in(world, card_id, "ACTIVE")
    records.change(world, _CARDS, card_id, card, status="FROZEN", frozen_date=check.today(world))
    return f"The debit card {card_id} is frozen."


@discoverable(writes=True)
def unfreeze_debit_card_3893(world: World, card_id: str) -> str:
    """Make a frozen debit card work again."""
    card = card_in(world, card_id, "FROZEN")
    check.linked_account_open(world, card)
    records.change(world, _CARDS, card_id, card, status="ACTIVE", unfrozen_date=check.today(world))
    return f"The debit card {card_id} is active again."


@discoverable(writes=True, codes={"reason": ("velocity_clear", "customer_verified")})
def clear_debit_card_fraud_alert_4892(world: World, card_id: str, reason: str) -> str:
    """Clear what blocks a debit card after a fraud alert."""
    card = check.existing(world, _CARDS, card_id)
    if reason == "velocity_clear":
        check.require(card.get("velocity_blocked"), "no_alert", "The card is not blocked for velocity.")
        cleared = {"velocity_blocked": False, "velocity_cleared_date": check.today(world)}
    else:
        check.require(card.get("fraud_alert_active"), "no_alert", "The card has no fraud alert.")
        own = card.get("alert_source") != "bank_initiated"
        check.require(own, "bank_alert", "The bank raised this alert: transfer the customer instead.")
        cleared = {"fraud_alert_active": False, "alert_source": None}
        cleared["fraud_alert_cleared_date"] = check.today(world)
    records.change(world, _CARDS, card_id, card, **cleared)
    return f"Cleared {reason} on the debit card {card_id}."


@discoverable(writes=True)
def reset_debit_card_pin_6284(world: World, card_id: str, last_4_digits: str, new_pin: str) -> str:
    """Set a new PIN for a customer who has forgotten the old one."""
    check.digits(4, last_4_digits=last_4_digits)
    check.good_pin("new_pin", new_pin)
    card = check.existing(world, _CARDS, card_id)
    check.require(card.get("last_4_digits") == last_4_digits, "mismatch", "The last digits do not match.")
    check.in_status(card, "ACTIVE")
    reset = {"pin_last_changed": check.today(world), "pin_locked": False, "pin_attempts_remaining": 3}
    records.change(world, _CARDS, card_id, card, **reset)
    return f"The PIN of {card_id} was reset."


@discoverable(writes=True)
def change_debit_card_pin_6285(world: World, card_id: str, current_pin: str, new_pin: str) -> str:
    """Change the PIN for a customer who knows the old one."""
    check.digits(4, current_pin=current_pin)
    check.good_pin("new_pin", new_pin)
    check.require(new_pin != current_pin, "same_pin", "The new PIN must differ from the current one.")
    card = card_in(world, card_id, "ACTIVE")
    records.change(world, _CARDS, card_id, card, pin_last_changed=check.today(world))
    return f"The PIN of {card_id} was changed."


@discoverable(writes=True)
def set_debit_card_recurring_block_7382(world: World, card_id: str, block_recurring: bool) -> str:
    """Block recurring payments on a debit card, or allow them again."""
    card = card_in(world, card_id, "ACTIVE")
    records.change(world, _CARDS, card_id, card, recurring_blocked=block_recurring)
    return f"Recurring payments on {card_id} are {'blocked' if block_recurring else 'allowed'}."


@discoverable(writes=True, codes={"limit_type": ("atm", "purchase")})
def request_temporary_debit_card_limit_increase_8374(
    world: World, card_id: str, limit_type: str, new_limit: int
) -> str:
    """Raise a daily limit of a debit card for today, by half at most."""
    limit = check.as_whole("new_limit", new_limit)
    check.positive("new_limit", limit)
    card = card_in(world, card_id, "ACTIVE")
    account = check.linked_account_open(world, card)
    age = check.age_in_days(world, account.get("date_opened"))
    check.require(age is None or age >= 60, "too_new", "The account must be 60 days old.")
    current = card.get(f"daily_{limit_type}_limit")
    if current is None and limit_type == "atm":
        current = ATM_LIMITS.get(str(account.get("level")).lower())
    check.require(current is not None, "no_limit", f"There is no {limit_type} limit that could be raised.")
    standard = check.parse_money(current)
    check.require(limit <= int(1.5 * standard), "too_high", "A limit can be raised by half at most.")
    check.require(limit > standard, "too_low", "The new limit must be above the current one.")
    raised = {
        f"daily_{limit_type}_limit": limit,
        f"temporary_{limit_type}_limit_increase": True,
        f"original_{limit_type}_limit": current,
        f"temporary_{limit_type}_limit_expires": check.today(world),
    }
    records.change(world, _CARDS, card_id, card, **raised)
    return f"The {limit_type} limit of {card_id} is {limit} today, in place of {current}."


TOOLS = (
    get_debit_cards_by_account_id_7823,
    close_debit_card_4721,
    freeze_debit_card_3892,
    unfreeze_debit_card_3893,
    clear_debit_card_fraud_alert_4892,
    reset_debit_card_pin_6284,
    change_debit_card_pin_6285,
    set_debit_card_recurring_block_7382,
    request_temporary_debit_card_limit_increase_8374,
)
