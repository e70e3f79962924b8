"""Points of a card become money: in full blocks, at the value of today, unless a late fee makes them wait."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import AMOUNT
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import (
    charged,
    formerly,
    holding,
    refunded,
    with_row,
)
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "redeem points of a credit card": "redeeming-points",
    "late payment fee, points have to wait": "late-payers",
    "fee history, what was given back": "courtesy-refunds",
    "verifying who is talking": "identity-verification",
}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
OPENINGS = (
    "I would like to turn {wish} of my {product} into money.",
    "Please redeem {wish} of my {product}.",
    "Can you pay out {wish} that I have collected with my {product}?",
)
_BLOCK, _LEAST = FACTS.count("points.block"), FACTS.count("points.least")
_VALUE, _OLD_VALUE = FACTS.money("points.block_value"), formerly("points.block_value", date(2024, 6, 1))
_WAIT = FACTS.days("points.late_wait")
_TOOL = "redeem_points_5824"


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a redemption and, with the same words, one that has to wait.

    Args:
        customer: Whose points they are.
        draw: Chooses the account, how many points, the late fee, words, and whether the customer agrees to no
            unknown amount.
    """
    customer, account = holding(customer, ("quay", "meridian"), draw)
    if any(row["fee"] == "late_payment" for row in customer.of("transactions", account)):
        return []
    blocks = draw.randrange(_LEAST // _BLOCK, 15)
    there = blocks * _BLOCK + draw.randrange(20, _BLOCK)
    customer = with_row(customer, "points", account, points=there)
    every = draw.random() < 0.6
    asked = blocks if every else draw.randrange(_LEAST // _BLOCK, blocks + 1)
    wish = "all the points" if every else f"{asked * _BLOCK} points"
    words = _Words(account, asked, there if every else asked * _BLOCK, wish, draw)
    fee = charged(account, customer.days_ago(draw.randrange(9, _WAIT - 5)), "late_payment", draw)
    late = customer.adding("transactions", fee)
    if draw.random() < 0.5:
        back = customer.days_ago(4)
        waits, free = (
            refunded(late, fee, back, Random(there), basis) for basis in ("courtesy", "bank_error")
        )
    else:
        old = fee | {"posted_on": customer.days_ago(_WAIT + draw.randrange(1, 12))}
        waits, free = late, customer.adding("transactions", old)
    return [words.refused(waits), words.granted(free)]


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, account: Row, blocks: int, named: int, wish: str, draw: Random) -> None:
        self.account, self.blocks, self.named, self.wish = account, blocks, named, wish
        self.product = PRODUCTS[account["product"]].name
        self.opening = draw.choice(OPENINGS).format(wish=wish, product=self.product)
        self.consent = AMOUNT if draw.random() < 0.6 else ()

    def redeemed(self, points: int, cents: int) -> Call:
        arguments = {"account_id": self.account["account_id"], "points": points, "amount": dollars(cents)}
        return _TOOL, arguments

    def granted(self, customer: Customer) -> Draft:
        call = self.redeemed(self.blocks * _BLOCK, self.blocks * _VALUE)
        own = self.account["account_id"]
        knobs: dict[str, Any] = {
            "siblings": sum(
                row["account_id"] != own and row["points"] >= self.blocks * _BLOCK
                for row in customer.rows.get("points", ())
            ),
            "contradicted": False,
            "stale": {_TOOL: {"amount": dollars(self.blocks * _OLD_VALUE)}},
        }
        if self.named % _BLOCK:  # every single point, in place of full blocks
            knobs["first_hit"] = {
                _TOOL: {"points": self.named, "amount": dollars(self.named * _VALUE // _BLOCK)}
            }
        return self._draft(
            customer,
            hidden(*call),
            documents=DOCUMENTS,
            knobs=knobs,
            variant="allowed",
            consent=self.consent,
            capabilities=("verify_identity", "discover_tool", "exact_amount", "rule_across_documents"),
        )

    def refused(self, customer: Customer) -> Draft:
        call = self.redeemed(self.blocks * _BLOCK, self.blocks * _VALUE)
        old = self.redeemed(self.blocks * _BLOCK, self.blocks * _OLD_VALUE)
        return self._draft(
            customer,
            (refusal(customer, "points_redemption", "waiting_period"),),
            documents=DOCUMENTS | REFUSED,
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*hidden(*call)),
                "first_hit": actions(*hidden(*call)),
                "stale": actions(*hidden(*old)),
                "wrong_reason": "not_part_of_product",
            },
            variant="late-fee",
            capabilities=("verify_identity", "discover_tool", "count_days", "refuse"),
        )

    def _draft(
        self, customer: Customer, last: tuple[Call, ...], consent: tuple[str, ...] = (), **parts: Any
    ) -> Draft:
        since = customer.days_ago(_WAIT + 90)
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(
                    say=f"I want to redeem {self.wish}.",
                    about=("redeem", "points", "credited"),
                    consent=consent,
                    unsure="How much money is that?" if consent else "",
                ),
            ),
            facts=facts_of(
                customer,
                customer.cards[0],
                which_points=Fact(
                    value=f"I mean {self.wish}.", asked=("how many", "all of them", "how many points")
                ),
                which_card=Fact(value=f"My {self.product}.", asked=("which account", "card is it")),
            ),
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("list_accounts", {"customer_id": customer.id}),
                *hidden("list_fee_history_6150", {"customer_id": customer.id, "since": since}),
                *last,
            ),
            situation=f"You want to turn {self.wish} of your {self.product} into money. If you are refused, "
            "you insist once.",
            script={"pushback": (Pushback(say="I was never told that points can wait."),)},
            product=self.account["product"],
            **parts,
        )
