"""The due day of a card is moved: once in a year, and to no day after the 28th."""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import adding_a_limit
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import CREDIT, holding, months_before, with_row
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "change the due day of a card": "changing-the-due-day",
    "days and months, how to count": "business-days",
    "verifying who is talking": "identity-verification",
}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
OPENINGS = (
    "I would like the bill of my {product} to be due on day {day} of the month.",
    "My salary comes late in the month. Please move the due day of my {product} to {day}.",
    "Can the minimum payment of my {product} be due on day {day}?",
)
_FIRST, _LAST = FACTS.count("service.due_day.first"), FACTS.count("service.due_day.last")
_WAIT = FACTS.months("service.due_day.wait")
_TOOL = "set_due_day_3316"


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a change and, with the same words, one that comes too soon; or one offer, accepted and declined.

    Args:
        customer: Whose card it is.
        draw: Chooses account, days, words, and whether a late request follows.
    """
    drafts = _drafts(customer, draw)
    return adding_a_limit(drafts, draw) if drafts and draw.random() < 0.6 else drafts


def _drafts(customer: Customer, draw: Random) -> list[Draft]:
    customer, account = holding(customer, CREDIT, draw)
    now = draw.randrange(_FIRST + 1, 12)
    rivals = [row for row in customer.accounts if row["product"] == account["product"]]
    if len(rivals) > 1:
        return []
    if draw.random() < 0.35:
        customer = with_row(customer, "due_days", account, day=now, changed_on=None)
        words = _Words(account, draw.randrange(_LAST + 1, 32), draw)
        return [words.declined(customer), words.granted(customer, _LAST, "accepted")]
    words = _Words(account, draw.randrange(13, _LAST + 1), draw)
    lately, earlier = (
        with_row(
            customer,
            "due_days",
            account,
            day=now,
            changed_on=months_before(customer.today, months).isoformat(),
        )
        for months in (draw.randrange(2, _WAIT + 1), _WAIT + draw.randrange(1, 9))
    )
    return [words.too_soon(lately), words.granted(earlier, words.day, "allowed")]


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, account: Row, day: int, draw: Random) -> None:
        self.account, self.day = account, day
        self.product = PRODUCTS[account["product"]].name
        self.opening = draw.choice(OPENINGS).format(product=self.product, day=day)

    def set_to(self, day: int) -> Call:
        return _TOOL, {"account_id": self.account["account_id"], "day": day}

    def granted(self, customer: Customer, day: int, variant: str) -> Draft:
        own = self.account["account_id"]
        days = {row["account_id"]: row["day"] for row in customer.rows.get("due_days", ())}
        others = [
            row["account_id"]
            for row in customer.accounts
            if row["product"] in CREDIT
            and row["account_id"] != own
            and days.get(row["account_id"], _FIRST) != day
        ]
        knobs: dict[str, Any] = {"siblings": len(others), "contradicted": False}
        if others:
            knobs["swap"] = {own: others[0]}
        if day != self.day:
            why = refusal(customer, "due_date_change", "not_part_of_product")
            knobs["first_hit"] = actions(why)
        else:
            knobs["first_hit"] = actions(refusal(customer, "due_date_change", "waiting_period"))
        accepts = (
            {} if day == self.day else {"accepts": Fact(value=f"Day {day} will do.", asked=(f"day {day}",))}
        )
        return self._draft(
            customer,
            hidden(*self.set_to(day)),
            accepts,
            documents=DOCUMENTS,
            knobs=knobs,
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "count_months"),
        )

    def too_soon(self, customer: Customer) -> Draft:
        return self._refused(customer, "waiting_period", self.day, {}, "too-soon")

    def declined(self, customer: Customer) -> Draft:
        no = (Want(say="No, then rather not at all.", about=(f"{_LAST}", "28th", "last day")),)
        return self._refused(customer, "not_part_of_product", _LAST, {"declines": no}, "declined")

    def _refused(
        self, customer: Customer, reason: str, day: int, script: dict[str, Any], variant: str
    ) -> Draft:
        call = actions(*hidden(*self.set_to(day)))
        return self._draft(
            customer,
            (refusal(customer, "due_date_change", reason),),
            {},
            script,
            documents=DOCUMENTS | REFUSED,
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": call,
                "first_hit": call,
                "wrong_reason": "records_show_otherwise",
            },
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "count_months", "refuse"),
        )

    def _draft(
        self,
        customer: Customer,
        last: tuple[Call, ...],
        facts: dict[str, Fact],
        script: dict[str, Any] | None = None,
        **parts: Any,
    ) -> Draft:
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(
                    say=f"I want day {self.day} as the due day of my {self.product}.",
                    about=("due day", "due date", "minimum payment", "bill"),
                ),
            ),
            facts=facts_of(
                customer,
                customer.cards[0],
                wished_day=Fact(value=f"Day {self.day} of the month.", asked=("which day", "what day")),
                which_account=Fact(
                    value=f"My {self.product}.", asked=("which card", "what card", "account is it")
                ),
                **facts,
            ),
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("list_accounts", {"customer_id": customer.id}),
                *last,
            ),
            situation=f"You want the bill of your {self.product} to be due on day {self.day}. "
            + ("If you are offered another day, you decline. " if script else "")
            + " ".join(fact.value for fact in facts.values()),
            script={"pushback": (Pushback(say="I cannot see what should speak against it."),)}
            | (script or {}),
            product=self.account["product"],
            **parts,
        )
