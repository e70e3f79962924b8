"""Money leaves a Notice Saver by notice: with a tool whose name is near another's, on a day that depends.

How long the notice is follows from the day on which the account was opened, and 500 dollars stay.
"""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
    spoken,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import CHECKING, holding, opened
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "give notice on a Notice Saver": "giving-notice",
    "Notice Saver how long is the notice": "notice-saver",
    "enhanced verification": "identity-verification",
}
TWO = {"tell similar accounts apart": "telling-records-apart"}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
OPENINGS = (
    "I need money from my Notice Saver: {wish}.",
    "I want my Notice Saver to pay something out: {wish}.",
)
_NOTICE, _OLD_NOTICE = FACTS.days("products.notice.notice"), FACTS.days("products.notice.old_notice")
_OLD_BEFORE, _MINIMUM = FACTS.day("products.notice.old_before"), FACTS.money("products.notice.minimum")
_TOOL, _NEAR = "open_transfer_request_8864", "open_transfer_request_8846"


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft an amount that may leave and its forbidden twin, or all that may leave one of two accounts.

    Args:
        customer: Whose account it is.
        draw: Chooses account, day of opening, amount and words.
    """
    customer, target = holding(customer, CHECKING, draw)
    old = draw.random() < 0.5
    day = (_OLD_BEFORE + timedelta(days=draw.randrange(0, 100) * (-3 if old else 1) - old)).isoformat()
    there = [row for row in customer.accounts if row["product"] == "notice"]
    if there:
        account = there[0] | {"opened_on": day}
        customer = customer.with_values("accounts", account["account_id"], opened_on=day)
    else:
        customer, account = opened(customer, "notice", draw, opened_on=day)
    if draw.random() < 0.4:
        return [_everything(customer, account, target, draw)]
    amount = draw.randrange(12, 60) * 5_000
    case = _Case(customer, account, target, amount, f"{spoken(amount)}", draw)
    scarce = amount + _MINIMUM - draw.randrange(1, 40) * 1_000
    plenty = amount + _MINIMUM + draw.randrange(0, 60) * 1_000
    return [
        case.refused(customer.with_values("accounts", account["account_id"], balance_cents=scarce)),
        case.given(customer.with_values("accounts", account["account_id"], balance_cents=plenty), "allowed"),
    ]


def _everything(customer: Customer, account: Row, target: Row, draw: Random) -> Draft:
    """All that may leave one of two accounts, the older or the newer one."""
    balance = draw.randrange(150_000, 800_000)
    customer = customer.with_values("accounts", account["account_id"], balance_cents=balance)
    was_old = date.fromisoformat(account["opened_on"]) < _OLD_BEFORE
    day = _OLD_BEFORE + timedelta(days=40 if was_old else -400)
    customer, other = opened(
        customer, "notice", draw, opened_on=day.isoformat(), balance_cents=balance + draw.randrange(0, 99_999)
    )
    which = "older" if was_old else "newer"
    case = _Case(
        customer, account, target, balance - _MINIMUM, f"all that may leave the {which} one of my two", draw
    )
    return case.given(customer, "", other)


class _Case:
    """One amount from one account to another."""

    def __init__(
        self, customer: Customer, account: Row, target: Row, amount: int, wish: str, draw: Random
    ) -> None:
        self.account, self.target, self.amount, self.wish = account, target, amount, wish
        self.opening = draw.choice(OPENINGS).format(wish=wish)
        self.old = date.fromisoformat(account["opened_on"]) < _OLD_BEFORE
        self.today = customer.today

    def pays_on(self, days: int) -> str:
        return (self.today + timedelta(days=days)).isoformat()

    def notice(self, amount: int) -> Call:
        return _TOOL, {
            "from_account_id": self.account["account_id"],
            "to_account_id": self.target["account_id"],
            "amount": dollars(amount),
            "pays_on": self.pays_on(_OLD_NOTICE if self.old else _NOTICE),
        }

    def given(self, customer: Customer, variant: str, other: Row | None = None) -> Draft:
        call = self.notice(self.amount)
        plain = {name: value for name, value in call[1].items() if name != "pays_on"}
        wrong = {_TOOL: {"pays_on": self.pays_on(_NOTICE if self.old else _OLD_NOTICE)}}
        others = [row for row in customer.accounts if row["account_id"] != self.account["account_id"]]
        knobs: dict[str, Any] = {
            "siblings": self._siblings(customer, others),
            "contradicted": False,
            "first_hit": wrong if self.old else actions(*hidden(_NEAR, plain)),
        }
        if not self.old:
            knobs["stale"] = wrong
        if other is not None:
            knobs["swap"] = {self.account["account_id"]: other["account_id"]}
        return self._draft(
            customer,
            hidden(*call),
            documents=DOCUMENTS | (TWO if other else {}),
            knobs=knobs,
            variant=variant,
            capabilities=("verify_identity", "enhanced_verification", "discover_tool", "count_days"),
            notes=f"Opened {self.account['opened_on']}.",
        )

    def _siblings(self, customer: Customer, others: list[Row]) -> int:
        """Return how many accounts as much could go to besides, or come from."""
        balance = self._balance(customer)
        targets = len(others) - 1 if balance >= 2 * self.amount else 0
        sources = [
            row for row in others if row["product"] == "notice" and row["balance_cents"] >= self.amount
        ]
        return targets + len(sources)

    def _balance(self, customer: Customer) -> int:
        own = self.account["account_id"]
        return next(int(row["balance_cents"]) for row in customer.accounts if row["account_id"] == own)

    def refused(self, customer: Customer) -> Draft:
        balance = self._balance(customer)
        return self._draft(
            customer,
            (refusal(customer, "transfer", "not_part_of_product"),),
            documents=DOCUMENTS | REFUSED,
            knobs={
                "siblings": 0,
                "contradicted": False,
                "claim": actions(*hidden(*self.notice(min(self.amount, balance)))),
                "first_hit": actions(*hidden(*self.notice(balance - _MINIMUM))),
                "wrong_reason": "above_ceiling",
            },
            variant="too-much",
            capabilities=("verify_identity", "enhanced_verification", "exact_amount", "refuse"),
        )

    def _draft(self, customer: Customer, last: tuple[Call, ...], **parts: Any) -> Draft:
        card = customer.cards[0]
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(
                    say=f"I want {self.wish} from my Notice Saver.",
                    about=("notice", "pay out", "paid out", "transfer", spoken(self.amount)),
                ),
            ),
            facts=facts_of(
                customer,
                card,
                wished_amount=Fact(
                    value=f"I want {self.wish}.", asked=("how much", "which amount", "what amount")
                ),
                target_account=Fact(
                    value=f"To my {PRODUCTS[self.target['product']].name}.",
                    asked=("which account", "where should", "to which account"),
                ),
            ),
            calls=(
                *identified(customer, card=card),
                ("current_date", {}),
                ("list_accounts", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"You want {self.wish} from your Notice Saver. You know that it takes a while. If you "
            "are offered less than you asked for, you do not want it at all.",
            script={
                "pushback": (Pushback(say="It is my money, and I need all of that."),),
                "declines": (
                    Want(say="No, less does not help me.", about=("less", "instead", "at most", "maximum")),
                ),
            },
            product="notice",
            **parts,
        )
