"""Somebody is done with an account: the money is moved, and only perhaps is the account closed.

The opening does not tell; the order (empty, then close) and the minimum that must stay are in the documents.
An open dispute, or a product with a term, forbids the closing.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.conduct import vague
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    Made,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.domains.banking.procedures.records import disputed, holding, not_held, opened, posted
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "how an account is closed": "closing-an-account",
    "move money between own accounts": "own-account-transfers",
    "what does the customer want, unclear request": "unclear-requests",
    "enhanced verification": "identity-verification",
}
SHEETS = {
    "reserve": {"Reserve Savings money out minimum": "reserve-savings"},
    "rainy": {"Rainy Day Pot": "rainy-day-pot"},
    "bonus": {"Bonus Saver withdrawal": "bonus-saver"},
    "goal": {"Goal Saver before its date": "goal-saver"},
    "term": {"Term Deposit before the end of its term": "term-deposit"},
}
DISPUTES = {"dispute a purchase": "disputing-a-transaction"}
APP = {"confirm a request in the app": "confirming-in-the-app"}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
TOOLS = ("app_list_requests", "app_confirm_request")
OPENINGS = (
    "I am done with my {product}.",
    "I do not want my {product} any more. Can you take care of it?",
    "It is time to say goodbye to my {product}.",
)
_DIRECT = FACTS.money("limits.direct_transfer")
_SAVINGS, _LOCKED, _PLAIN = ("reserve", "rainy", "bonus"), ("goal", "term"), ("everyday", "plus", "anchor")


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words that end differently, or one that the product forbids.

    Args:
        customer: Whose account it is.
        draw: Chooses account, balance, wish, the obstacle, words, and whether the customer stays vague.
    """
    return draw.choice((_savings, _savings, _checking, _locked))(customer, draw)


def _savings(customer: Customer, draw: Random) -> list[Draft]:
    """The same opening; one customer wants the money moved, the other one the account closed as well."""
    customer, account = holding(customer, _SAVINGS, draw)
    customer, target = holding(customer, _PLAIN, draw)
    high = 480_000 if account["product"] == "rainy" else 700_000
    balance = draw.randrange(*draw.choice(((20_000, _DIRECT), (_DIRECT + 20_000, high))))
    case = _Case(
        customer.with_values("accounts", account["account_id"], balance_cents=balance), account, target, draw
    )
    minimum = f"products.{account['product']}.minimum"
    keep = FACTS.money(minimum) if minimum in FACTS else 0
    documents = DOCUMENTS | SHEETS[account["product"]] | (APP if balance - keep > _DIRECT else {})
    return [
        case.done(balance, keep, True, documents, "close"),
        case.done(balance, keep, False, documents, "move"),
    ]


def _checking(customer: Customer, draw: Random) -> list[Draft]:
    """A second checking account, about which a dispute is open or was rejected."""
    customer, target = holding(customer, _PLAIN, draw)
    customer, account = opened(customer, draw.choice(not_held(customer, ("voyager", "workbench"))), draw)
    balance = draw.randrange(20_000, 300_000)
    customer = customer.with_values("accounts", account["account_id"], balance_cents=balance)
    card = next(card for card in customer.cards if card["account_id"] == account["account_id"])
    charge = posted(
        account,
        customer.days_ago(35),
        "purchase",
        "Lantern Books",
        -draw.randrange(2_000, 9_000),
        draw,
        card=card,
    )
    customer = disputed(customer.adding("transactions", charge), charge, customer.days_ago(25), "open", draw)
    settled = customer.with_values("disputes", customer.rows["disputes"][-1]["dispute_id"], status="rejected")
    documents = DOCUMENTS | DISPUTES | (APP if balance > _DIRECT else {})
    pending, over = (_Case(one, account, target, Random(balance)) for one in (customer, settled))
    return [
        pending.refused(balance, documents, "open-dispute"),
        over.done(balance, 0, True, documents, "settled"),
    ]


def _locked(customer: Customer, draw: Random) -> list[Draft]:
    customer, account = holding(customer, _LOCKED, draw)
    customer, target = holding(customer, _PLAIN, draw)
    case = _Case(customer, account, target, draw)
    return [case.refused(account["balance_cents"], DOCUMENTS | SHEETS[account["product"]], "")]


class _Case:
    """One account to be left, and the one that the money goes to."""

    def __init__(self, customer: Customer, account: Row, target: Row, draw: Random) -> None:
        self.customer, self.account, self.target = customer, account, target
        self.product = PRODUCTS[account["product"]]
        self.opening = draw.choice(OPENINGS).format(product=self.product.name)
        more = draw.choice(("I have no use for it any more.", "I simply do not need it these days."))
        self.vague = vague(more, "wish") if draw.random() < 0.6 else {}
        self.ids = {"from_account_id": account["account_id"], "to_account_id": target["account_id"]}

    def done(self, balance: int, keep: int, closing: bool, documents: dict[str, str], variant: str) -> Draft:
        cents = balance if closing else balance - keep
        move, calls = self._move(cents)
        closed = hidden("close_account_5533", {"account_id": self.account["account_id"]})
        if closing:
            calls = (*calls, *closed)
        knobs: dict[str, Any] = {"writes": (2 if cents > _DIRECT else 1) + closing, "contradicted": False}
        knobs["siblings"] = self._siblings(cents, balance)
        if keep:
            knobs["first_hit"] = {move: {"amount": dollars(balance - keep if closing else balance)}}
        elif not closing and cents <= _DIRECT:
            knobs["first_hit"] = actions(*calls, *closed)
        if closing:
            knobs["prerequisite"] = {"drop": move}
        if others := self._other_targets():
            knobs["swap"] = {self.target["account_id"]: others[0]}
        return self._draft(
            self.customer,
            calls,
            closing,
            documents=documents,
            knobs=knobs,
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "vague_opening", "hidden_order"),
        )

    def refused(self, balance: int, documents: dict[str, str], variant: str) -> Draft:
        _, moving = self._move(balance)
        return self._draft(
            self.customer,
            (refusal(self.customer, "account_closure", "not_part_of_product"),),
            True,
            documents=documents | REFUSED,
            knobs={
                "siblings": 0,
                "contradicted": True,
                "claim": actions(*moving[:2]),
                "first_hit": actions(*moving[:2]),
                "wrong_reason": "waiting_period",
            },
            variant=variant,
            capabilities=("verify_identity", "discover_tool", "vague_opening", "refuse"),
        )

    def _move(self, cents: int) -> tuple[str, tuple[Call, ...]]:
        """Return the tool that moves an amount, and the calls."""
        arguments = self.ids | {"amount": dollars(cents)}
        if cents <= _DIRECT:
            return "transfer_between_accounts", (("transfer_between_accounts", arguments),)
        name = "open_transfer_request_8846"
        return name, (
            *hidden(name, arguments),
            ("app_confirm_request", {"request_id": Made(name, "request_id")}),
        )

    def _other_targets(self) -> list[str]:
        return [
            row["account_id"]
            for row in self.customer.accounts
            if row["account_id"] not in self.ids.values() and not PRODUCTS[row["product"]].credit
        ]

    def _siblings(self, cents: int, balance: int) -> int:
        """Return how many other accounts the money could come from, or go to as well."""
        rest = [row for row in self.customer.accounts if row["account_id"] not in self.ids.values()]
        again = cents > _DIRECT or balance >= 2 * cents  # a request leaves the money where it is
        sources = [row for row in rest if row["balance_cents"] >= cents]  # a credit card owes
        return len(rest) * again + len(sources)

    def _draft(self, customer: Customer, last: tuple[Call, ...], closing: bool, **parts: Any) -> Draft:
        name = self.product.name
        wish = (
            "I want it closed for good."
            if closing
            else "I only want to take out as much as I can. The account itself may stay."
        )
        card = next(row for row in customer.cards if row["account_id"] != self.account["account_id"])
        return Draft(
            customer=customer,
            opening=self.opening,
            wants=(
                Want(
                    say=wish,
                    about=("close", "transfer", "move", "confirm", name, "money")
                    if closing
                    else ("transfer", "move", "money", "confirm"),
                ),
            ),
            facts=facts_of(
                customer,
                card,
                wish=Fact(
                    value=wish,
                    asked=(
                        "what would you like",
                        "closed or",
                        "close the account",
                        "what exactly",
                        "move the money",
                    ),
                ),
                target_account=Fact(
                    value=f"To my {PRODUCTS[self.target['product']].name}.",
                    asked=("where should the money go", "to which account", "which account should"),
                ),
            ),
            calls=(
                *identified(customer, card=card),
                ("list_accounts", {"customer_id": customer.id}),
                *(
                    hidden("list_disputes_1194", {"customer_id": customer.id})
                    if "disputing-a-transaction" in parts["documents"].values()
                    else ()
                ),
                *last,
            ),
            situation=f"You are done with your {name}. {wish} The money goes to your "
            f"{PRODUCTS[self.target['product']].name}. You confirm in the app when you are told to.",
            script={"pushback": (Pushback(say="It is my account, and I want it gone."),)}
            | self.vague
            | ({} if closing else {"declines": (Want(say="No, do not close it.", about=("close",)),)}),
            tools=TOOLS,
            product=self.account["product"],
            **parts,
        )
