"""A fee that should not have been charged is given back in full; one that was right is not.

The customer wants it back in both cases. Which it is stands in the deposits of a month, in the number of fees
on a day, or on the product sheet.
"""

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
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import (
    charged,
    holding,
    posted,
    unrefunded,
)
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "courtesy refund of a fee": "courtesy-refunds",
    "refuse a request and record it": "recording-a-refusal",
    "verifying who is talking": "identity-verification",
}
MONTHLY = {"monthly account fee waived, deposits in the month": "monthly-fees"}
OVERDRAFT = {"overdraft fees on one day": "overdraft-fees"}
FOREIGN = {"foreign purchase fee": "foreign-purchase-fees"}
_WAIVED = tuple(key for key in ("plus", "workbench") if dict(PRODUCTS[key].fees).get("monthly"))
_OVERDRAWN = tuple(key for key, product in PRODUCTS.items() if "overdraft" in dict(product.fees))
_ABROAD = ("voyager", "summit", "meridian")
_PER_DAY = FACTS.count("fees.overdraft.per_day")
_MONTH, _FEE_DAY = "2026-02", "2026-02-27"
"""The last month that is over, and its last business day."""


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a mistake of the bank and, with the same words, a fee that was right; or one mistake alone.

    Args:
        customer: Whose fee it is.
        draw: Chooses which fee, amounts, words, and whether a late request follows.
    """
    drafts = draw.choice((_monthly, _monthly, _repeated, _repeated, _exempt))(customer, draw)
    return adding_a_limit(drafts, draw) if drafts and draw.random() < 0.5 else drafts


def _monthly(customer: Customer, draw: Random) -> list[Draft]:
    customer, account = holding(customer, _WAIVED, draw)
    needed = FACTS.money(f"products.{account['product']}.monthly_waiver")
    fee = charged(account, _FEE_DAY, "monthly", draw)
    rows = [row for row in customer.of("transactions", account) if row["posted_on"].startswith(_MONTH)]
    if any(row["fee"] == "monthly" for row in rows):
        return []
    deposits = [row for row in rows if row["kind"] == "deposit"]
    if not deposits:
        deposits = [posted(account, f"{_MONTH}-25", "deposit", "Salary", needed, draw)]
        customer = customer.adding("transactions", *deposits)
    first, gap = draw.randrange(needed // 3, needed // 2), draw.randrange(2_000, 9_000)
    second = posted(account, f"{_MONTH}-09", "deposit", "Salary advance", needed - first - gap, draw)
    gift = posted(account, f"{_MONTH}-17", "credit", "Goodwill of the merchant", gap + 1_500, draw)
    for number, row in enumerate(deposits):
        value = first if number == 0 else 1
        customer = customer.with_values("transactions", row["transaction_id"], amount_cents=value)
    customer = customer.adding("transactions", fee, second, gift)
    met = customer.with_values("transactions", second["transaction_id"], amount_cents=needed - first)
    name = PRODUCTS[account["product"]].name
    words = _Words(
        draw.choice(
            (
                f"You took a monthly fee for my {name} in February. I would like to have it back.",
                f"Why do I pay for my {name}? Please give me back the fee of February.",
            )
        ),
        "The monthly fee for February.",
        draw.choice(("Can you not waive it just this once?", "I hardly used the account that month.")),
    )
    return [
        words.refused(customer, account, fee, MONTHLY, "not_part_of_product", "missed"),
        words.granted(met, account, fee, MONTHLY, "met"),
    ]


def _repeated(customer: Customer, draw: Random) -> list[Draft]:
    customer, account = holding(customer, _OVERDRAWN, draw)
    day = customer.days_ago(draw.randrange(5, 40))
    if any(
        row["fee"] == "overdraft" and row["posted_on"] == day for row in customer.of("transactions", account)
    ):
        return []
    fees = sorted(
        (charged(account, day, "overdraft", draw) for _ in range(_PER_DAY + 1)),
        key=lambda row: str(row["transaction_id"]),
    )
    once, often = customer.adding("transactions", fees[0]), customer.adding("transactions", *fees)
    words = _Words(
        f"On {day} you charged me for overdraft more often than you may. I want back what was too much.",
        f"The overdraft fees of {day}.",
        draw.choice(("I know what I saw in the app.", "It was charged again and again, I am sure.")),
    )
    return [
        words.refused(once, account, fees[0], OVERDRAFT, "records_show_otherwise", "once"),
        words.granted(often, account, fees[-1], OVERDRAFT, "often", fees[0]),
    ]


def _exempt(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a fee that the product does not have."""
    premier = draw.random() < 0.5
    customer, account = holding(customer, ("premier",) if premier else _ABROAD, draw)
    day = customer.days_ago(draw.randrange(5, 150))
    kind, documents = ("overdraft", OVERDRAFT) if premier else ("foreign_purchase", FOREIGN)
    fee = charged(account, day, kind, draw, draw.randrange(300, 1_900))
    name = PRODUCTS[account["product"]].name
    words = _Words(
        f"There is a fee of {day} on my {name} that I do not understand. Can I have it back?",
        f"The fee of {day} on my {name}.",
        "Please look again.",
    )
    return [words.granted(customer.adding("transactions", fee), account, fee, documents, "exempt")]


class _Words:
    """What the drafts of one customer share."""

    def __init__(self, opening: str, which: str, insisting: str) -> None:
        self.opening, self.which, self.insisting = opening, which, insisting

    def granted(
        self,
        customer: Customer,
        account: Row,
        fee: Row,
        documents: dict[str, str],
        variant: str,
        other: Row | None = None,
    ) -> Draft:
        refund = _refund(fee, "bank_error")
        knobs: dict[str, Any] = {
            "siblings": sum(row["amount_cents"] <= fee["amount_cents"] for row in unrefunded(customer, fee)),
            "contradicted": False,
            "first_hit": {refund[0]: {"basis": "courtesy"}},
        }
        if other is not None:
            knobs["swap"] = {fee["transaction_id"]: other["transaction_id"]}
        return self._draft(
            customer, account, hidden(*refund), documents, knobs=knobs, variant=variant, notes="A bank error."
        )

    def refused(
        self,
        customer: Customer,
        account: Row,
        fee: Row,
        documents: dict[str, str],
        reason: str,
        variant: str,
    ) -> Draft:
        knobs = {
            "siblings": 0,
            "contradicted": True,
            "claim": actions(*hidden(*_refund(fee, "bank_error"))),
            "first_hit": actions(*hidden(*_refund(fee, "courtesy"))),
            "wrong_reason": "courtesy_used_up",
        }
        last = (refusal(customer, "fee_refund", reason),)
        return self._draft(customer, account, last, documents, knobs=knobs, variant=variant)

    def _draft(
        self,
        customer: Customer,
        account: Row,
        last: tuple[Call, ...],
        documents: dict[str, str],
        **parts: Any,
    ) -> Draft:
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(Want(say="I want that fee back.", about=("fee", "refund", "give back", "credit")),),
            facts=facts_of(
                customer,
                customer.cards[0],
                which_fee=Fact(value=self.which, asked=("what fee", "kind of fee", "fee is it", "which day")),
                account_meant=Fact(
                    value=f"My {PRODUCTS[account['product']].name}.", asked=("which account", "what account")
                ),
            ),
            calls=(
                *identified(customer),
                ("current_date", {}),
                ("list_accounts", {"customer_id": customer.id}),
                (
                    "list_transactions",
                    {"account_id": account["account_id"], "since": customer.days_ago(160)},
                ),
                *last,
            ),
            documents=documents | DOCUMENTS,
            situation=f"{self.opening} If you are refused, you insist once.",
            script={"pushback": (Pushback(say=self.insisting),)},
            capabilities=("verify_identity", "discover_tool", "check_a_claim"),
            product=account["product"],
            **parts,
        )


def _refund(fee: Row, basis: str) -> Call:
    return "refund_fee_7305", {
        "transaction_id": fee["transaction_id"],
        "amount": dollars(-fee["amount_cents"]),
        "basis": basis,
    }
