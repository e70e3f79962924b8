"""A fee that was right is given back as a courtesy, if the customer has one left and the fee is young enough.

The rule is spread over the general text, the membership levels and the text on the fee; it was another one
until January. The customer remembers no earlier refund, and the history decides.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
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
    courtesies,
    formerly,
    holding,
    months_before,
    refunded,
    unrefunded,
)
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

OF_FEE = {
    "overdraft": {"overdraft fee charged, customer wants it back": "overdraft-fees"},
    "late_payment": {"late payment fee of a credit card": "late-payment-fees"},
}
DOCUMENTS = {
    "courtesy refund of a fee": "courtesy-refunds",
    "privileges of membership levels Steady and Keystone": "membership-levels",
    "refuse a request and record it": "recording-a-refusal",
    "verifying who is talking": "identity-verification",
}
NAMES = {"overdraft": "overdraft fee", "late_payment": "late payment fee"}
OPENINGS = (
    "You charged me a fee on my {product}. I would like it back.",
    "There is an {name} on my {product}, and I want the money back.",
    "I was charged on my {product} though I am a good customer. Please refund the {name}.",
)
PUSHBACKS = (
    "But I cannot remember a single refund. Surely you can do it this once.",
    "A friend at your bank gets such fees back every time. Why not me?",
)
_AGE = FACTS.days("courtesy.fee_age")
_CAP = FACTS.money("courtesy.late_cap")
_OLD = date(2025, 7, 1)
"""A day on which the superseded rule was in force."""


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words: one courtesy is left, or none is or the fee is too old.

    Args:
        customer: Whose fee it is.
        draw: Chooses fee, days, the obstacle, words, and whether the customer agrees to no unknown amount.
    """
    kind = draw.choice(("overdraft", "late_payment"))
    products = [key for key, product in PRODUCTS.items() if kind in dict(product.fees)]
    customer, account = holding(customer, products, draw)
    allowed = limit(customer) - 1
    missing = allowed - courtesies(customer)
    rivals = [row["fee"] for row in customer.of("transactions", account)]
    if missing < 0 or kind in rivals:
        return []
    for number in range(missing):
        customer = _earlier(customer, account, kind, 200 + 60 * number, draw)
    day = draw.randrange(12, 60)
    fee = charged(account, customer.days_ago(day), kind, draw)
    other = charged(account, customer.days_ago(day + draw.randrange(25, 30)), kind, draw)
    words = _Words(kind, account, fee, draw)
    if draw.random() < 0.5:
        used_up = _earlier(customer.adding("transactions", fee, other), account, kind, 320, draw)
        forbidden = words.refused(used_up, fee, "courtesy_used_up", "used-up")
    else:
        old = fee | {"posted_on": customer.days_ago(_AGE + draw.randrange(2, 20))}
        words = _Words(kind, account, old, draw)
        forbidden = words.refused(customer.adding("transactions", old), old, "outside_time_limit", "too-old")
        fee = old | {"posted_on": customer.days_ago(_AGE - draw.randrange(0, 20))}
        return [forbidden, words.granted(customer.adding("transactions", fee), fee, None, allowed)]
    return [forbidden, words.granted(customer.adding("transactions", fee, other), fee, other, allowed)]


def limit(customer: Customer) -> int:
    """Return how many courtesies the customer can have within the window."""
    if customer.level == "member":
        return FACTS.count("courtesy.member_limit")
    return FACTS.count(f"membership.{customer.level}.courtesies")


def amount(customer: Customer, kind: str, fee: int, so_far: int) -> int:
    """Return what is given back, in cents, to a customer who had so many courtesies before."""
    whole = so_far == 0 or customer.level != "member"
    share = Fraction(1) if whole else FACTS.share("courtesy.second_share")
    return capped(customer, kind, int(fee * share))


def capped(customer: Customer, kind: str, cents: int) -> int:
    """Return an amount under the cap of late payment fees, which Keystone is free of."""
    return min(cents, _CAP) if kind == "late_payment" and customer.level != "keystone" else cents


def superseded(customer: Customer, account: Row, kind: str, fee: int) -> int:
    """Return what the rule of last year would give back: fewer months, each account by itself."""
    since = months_before(customer.today, formerly("courtesy.window", _OLD)).isoformat()
    own = {row["transaction_id"] for row in customer.of("transactions", account)}
    count = sum(
        row["basis"] == "courtesy" and row["refunded_on"] >= since and row["transaction_id"] in own
        for row in customer.rows.get("fee_refunds", ())
    )
    if customer.level != "member":
        return capped(customer, kind, fee) if count < limit(customer) else 0
    further = FACTS["courtesy.further_share"].at(_OLD).value
    shares = (Fraction(1), FACTS.share("courtesy.second_share"), Fraction(str(further)))
    return capped(customer, kind, int(fee * shares[min(count, 2)]))


def _earlier(customer: Customer, account: Row, kind: str, days: int, draw: Random) -> Customer:
    """Return the customer with a fee that was given back as a courtesy about so many days ago."""
    fee = charged(account, customer.days_ago(days + draw.randrange(3, 9)), kind, draw)
    return refunded(customer.adding("transactions", fee), fee, customer.days_ago(days), draw)


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, kind: str, account: Row, fee: Row, draw: Random) -> None:
        self.kind, self.account, self.cents = kind, account, -fee["amount_cents"]
        self.product = PRODUCTS[account["product"]].name
        said = {"name": NAMES[kind], "product": self.product}
        opening = draw.choice(OPENINGS).format(**said)
        self.opening = opening.replace("an late", "a late")
        self.insisting = draw.choice(PUSHBACKS)
        self.consent = AMOUNT if draw.random() < 0.6 else ()

    def granted(self, customer: Customer, fee: Row, other: Row | None, so_far: int) -> Draft:
        right = amount(customer, self.kind, self.cents, so_far)
        refund = _refund(fee, right)
        stale = superseded(customer, self.account, self.kind, self.cents)
        knobs: dict[str, Any] = {"siblings": _others(customer, fee, right)}
        if right != self.cents:
            knobs["first_hit"] = {refund[0]: {"amount": dollars(self.cents)}}
        if stale not in (right, 0):
            knobs["stale"] = {refund[0]: {"amount": dollars(stale)}}
        if other is not None:
            knobs["swap"] = {fee["transaction_id"]: other["transaction_id"]}
        return self._draft(
            customer,
            fee,
            hidden(*refund),
            knobs=knobs,
            variant="allowed",
            consent=self.consent,
            capabilities=("verify_identity", "discover_tool", "count_months", "rule_across_documents"),
            notes=f"Courtesies so far: {so_far}, {customer.level}.",
        )

    def refused(self, customer: Customer, fee: Row, reason: str, variant: str) -> Draft:
        whole, stale = _refund(fee, self.cents), superseded(customer, self.account, self.kind, self.cents)
        knobs: dict[str, Any] = {
            "siblings": 0,
            "contradicted": True,
            "claim": actions(*hidden(*whole)),
            "first_hit": actions(*hidden(*whole)),
            "wrong_reason": "not_part_of_product",
        }
        if stale:
            knobs["stale"] = actions(*hidden(*_refund(fee, stale)))
        return self._draft(
            customer,
            fee,
            (refusal(customer, "fee_refund", reason),),
            knobs=knobs,
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "count_months", "contradicted_claim"),
        )

    def _draft(
        self,
        customer: Customer,
        fee: Row,
        last: tuple[Call, ...],
        consent: tuple[str, ...] = (),
        **parts: Any,
    ) -> Draft:
        window = months_before(customer.today, FACTS.months("courtesy.window") + 3).isoformat()
        account = self.account["account_id"]
        want = Want(
            say=f"I want the {NAMES[self.kind]} back.",
            about=("fee", "refund", "give back", "courtesy"),
            consent=consent,
            unsure="How much of it would I get back?" if consent else "",
        )
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(want,),
            facts=facts_of(
                customer,
                customer.cards[0],
                which_fee=Fact(
                    value=f"The {NAMES[self.kind]} on my {self.product}.",
                    asked=("what fee", "which account", "kind of fee", "fee is it"),
                ),
                fee_day=Fact(
                    value="It was the latest one.",
                    asked=("when was it", "which day", "date of the fee", "when were you charged"),
                ),
                earlier_refunds=Fact(
                    value="I do not remember any.",
                    asked=("earlier refunds", "refund before", "refunds before", "had a refund"),
                ),
            ),
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("get_customer", {"customer_id": customer.id}),
                ("list_accounts", {"customer_id": customer.id}),
                ("list_transactions", {"account_id": account, "since": customer.days_ago(_AGE + 30)}),
                *hidden("list_fee_history_6150", {"customer_id": customer.id, "since": window}),
                *last,
            ),
            documents=OF_FEE[self.kind] | DOCUMENTS,
            situation=f"You want the latest {NAMES[self.kind]} on your {self.product} back. You do not "
            "remember any earlier refund, and if you are refused you insist once.",
            script={"pushback": (Pushback(say=self.insisting),)},
            product=self.account["product"],
            **parts,
        )


def _refund(fee: Row, cents: int) -> Call:
    return "refund_fee_7305", {
        "transaction_id": fee["transaction_id"],
        "amount": dollars(cents),
        "basis": "courtesy",
    }


def _others(customer: Customer, fee: Row, cents: int) -> int:
    """Return of how many other fees as much could be given back."""
    return sum(-row["amount_cents"] >= cents for row in unrefunded(customer, fee))
