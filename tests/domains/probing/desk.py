"""What the probing agent works with: a conversation as steps, the customer's records, reading of replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from datetime import date, timedelta
from typing import Any, TypeVar

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.products import PRODUCTS
from simulators.player import Action

T = TypeVar("T")
Steps = Generator[Action, Any, T]
"""Yields actions; is sent the customer's reply to a message, and the outcome of a call."""
Row = dict[str, Any]

KEYS = {product.name: key for key, product in PRODUCTS.items()}
_AMOUNT = re.compile(r"\$\s?([\d,]+(?:\.\d\d)?)|\b([\d,]+(?:\.\d\d)?) dollars")
_PARTING = re.compile(r"goodbye|that is all", re.IGNORECASE)
ACCEPTS = re.compile(r"I understand|have to accept|I see\b", re.IGNORECASE)
CHANGED = re.compile(r"thought about it again|second thoughts", re.IGNORECASE)
ADDS = re.compile(r"^(?:and|also|besides)\b", re.IGNORECASE)
_YES = re.compile(r"\b(?:yes|sure|please do|go ahead|will do)\b", re.IGNORECASE)
_NO = re.compile(r"^(?:no\b|.*\b(?:did not ask|do not want|not at all|does not help))", re.IGNORECASE)


class Desk:
    """One conversation: what was said, and what the bank's records show of the customer."""

    def __init__(self, opening: str) -> None:
        self.heard = [opening]
        self.customer: Row = {}
        self.accounts: list[Row] = []
        self.cards: list[Row] = []
        self.today = date.min
        self.verified = False

    @property
    def said(self) -> str:
        """All that the customer said."""
        return " ".join(self.heard)

    @property
    def id(self) -> str:
        """The customer's id."""
        return str(self.customer["customer_id"])

    def ask(self, text: str) -> Steps[str]:
        """Say something and return the reply."""
        reply: str = yield {"type": "message", "content": text}
        self.heard.append(reply)
        return reply

    def call(self, name: str, /, **arguments: Any) -> Steps[Any]:
        """Call a tool and return its result; None if it failed."""
        outcome = yield {"type": "tool_call", "name": name, "arguments": arguments}
        return outcome["result"] if outcome["ok"] else None

    def hidden(self, name: str, /, **arguments: Any) -> Steps[Any]:
        """Unlock a tool and call it."""
        yield from self.call("unlock_tool", name=name)
        return (yield from self.call(name, **arguments))

    def agrees(self, proposal: str) -> Steps[bool]:
        """Propose something and return whether the customer wants it."""
        reply = yield from self.ask(proposal)
        return not _NO.search(reply) and _YES.search(reply) is not None

    def refuse(self, request: str, reason: str, why: str) -> Steps[None]:
        """Record a refusal and say so; the decision stands, as often as the customer insists."""
        yield from self.call("record_refusal", customer_id=self.id, request=request, reason=reason)
        yield from self.ask(f"I am sorry, I cannot do that: {why} I have recorded the refusal.")
        for _ in range(3):
            reply = self.heard[-1]
            if ACCEPTS.search(reply) or ADDS.search(reply) or "complaint" in reply or parts(reply):
                return
            yield from self.ask("I understand, but the decision stands.")

    def look_up(self) -> Steps[None]:
        """Read the records of the verified customer."""
        self.customer = yield from self.call("get_customer", customer_id=self.id)
        self.accounts = yield from self.call("list_accounts", customer_id=self.id)
        self.cards = yield from self.call("list_cards", customer_id=self.id)
        for row in (*self.accounts, *self.cards):
            row["key"] = KEYS[row["product"]]

    def days_ago(self, days: int) -> str:
        """Return the date so many days ago."""
        return (self.today - timedelta(days=days)).isoformat()

    def months_ago(self, months: int) -> str:
        """Return the same day so many months ago, or the last one of a shorter month."""
        year, month = divmod(self.today.year * 12 + self.today.month - 1 - months, 12)
        first_of_next = date(year + (month == 11), (month + 1) % 12 + 1, 1)
        last = (first_of_next - timedelta(days=1)).day
        return date(year, month + 1, min(self.today.day, last)).isoformat()

    def account_of(self, card: Row) -> Row:
        """Return the account of a card."""
        return next(row for row in self.accounts if row["account_id"] == card["account_id"])

    def card(
        self, said: str, *, status: tuple[str, ...] = ("active", "frozen", "pending_activation")
    ) -> Steps[Row]:
        """Return the card that is meant: by its digits, its product, or by asking."""
        usable = [row for row in self.cards if row["status"] in status]
        if found := cards_in(said, usable):
            return found[0]
        reply = yield from self.ask("Which card is it about, and what are its last four digits?")
        return (cards_in(reply, usable) or usable)[0]

    def account(self, said: str, *, keys: tuple[str, ...] = (), question: str = "") -> Steps[Row]:
        """Return the open account that is meant, among those of some products: by its name or by asking."""
        open_ones = [
            row for row in self.accounts if row["status"] == "open" and row["key"] in (keys or PRODUCTS)
        ]
        if found := accounts_in(said, open_ones):
            return found[0]
        if len(open_ones) == 1 and not question:
            return open_ones[0]
        reply = yield from self.ask(question or "Which account is it about?")
        return (accounts_in(reply, open_ones) or open_ones)[0]


def named(card: Row, said: str) -> str:
    """Return how the agent calls a card: by the digits if the customer does, else by the product."""
    known = card["last_four"] in said
    return f"the card ending in {card['last_four']}" if known else f"the {card['product']}"


def cards_in(said: str, cards: list[Row]) -> list[Row]:
    """Return the cards that a text names, by digits or else by product, in the order named."""
    by_digits = [row for row in cards if re.search(rf"\b{row['last_four']}\b", said)]
    return by_digits or _named(said, cards)


def accounts_in(said: str, accounts: list[Row]) -> list[Row]:
    """Return the accounts whose product a text names."""
    return _named(said, accounts)


def _named(said: str, rows: list[Row]) -> list[Row]:
    places = {row["product"]: said.find(row["product"]) for row in rows}
    found = sorted(
        (row for row in rows if places[row["product"]] >= 0), key=lambda row: places[row["product"]]
    )
    if found:
        return found
    low = said.lower()
    sorts = {"debit": "checking", "checking": "checking", "savings": "savings"}
    for word, sort in sorted(sorts.items(), key=lambda item: low.find(item[0])):
        if word in low and (of_sort := [row for row in rows if PRODUCTS[row["key"]].sort == sort]):
            return of_sort
    return []


def cents(shown: str | None) -> int:
    """Return an amount that a tool shows, in cents.

    Example:
        >>> cents("-12.30")
        -1230
    """
    return round(float(shown or 0) * 100)


def amounts_in(said: str) -> list[int]:
    """Return the amounts of money in a text, in cents."""
    return [round(float((a or b).replace(",", "")) * 100) for a, b in _AMOUNT.findall(said)]


def dollars(amount: int) -> int | float:
    """Return cents as a tool takes them."""
    return amount // 100 if amount % 100 == 0 else amount / 100


def parts(said: str) -> bool:
    """Return whether the customer says goodbye."""
    return _PARTING.search(said) is not None


def money(key: str) -> int:
    """Return an amount among the bank's facts in cents, 0 where there is none."""
    return FACTS.money(key) if key in FACTS else 0


Family = Callable[[Desk, str], Steps[None]]
"""Serves one request, told in the given words."""
