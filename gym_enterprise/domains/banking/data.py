"""The bank's records before any task: generated, and the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.branches import BRANCHES, STREETS, Branch
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.products import FEE_TEXT, PRODUCTS, refund_text

Row = dict[str, Any]

LAST_DAY = date(2026, 2, 27)
"""No record is younger: the earliest task begins on 2026-03-02."""

ID_PREFIXES = {
    "customers": "cus_",
    "accounts": "acc_",
    "cards": "crd_",
    "transactions": "txn_",
    "fee_refunds": "rfd_",
    "transfers": "trf_",
    "withdrawal_notices": "wdn_",
    "disputes": "dsp_",
    "card_orders": "ord_",
    "app_requests": "req_",
    "travel_notices": "ntc_",
    "refusals": "rfs_",
    "handoffs": "hnd_",
    "verifications": "ver_",
    "contact_log": "log_",
}

_KEYS = {
    "customers": "customer_id",
    "accounts": "account_id",
    "points": "account_id",
    "due_days": "account_id",
    "cards": "card_id",
    "transactions": "transaction_id",
    "fee_refunds": "refund_id",
    "disputes": "dispute_id",
    "transfers": "transfer_id",
    "withdrawal_notices": "notice_id",
}
"""The tables that are generated, and their keys."""

_MERCHANTS = (
    ("Greenleaf Grocers", 1_200, 14_000),
    ("Corner Loaf Bakery", 350, 2_400),
    ("Bluebird Fuel", 2_000, 7_500),
    ("Lantern Books", 900, 6_000),
    ("Orchard Pharmacy", 500, 8_000),
    ("Tidewater Diner", 1_100, 9_500),
    ("Ironwood Hardware", 700, 25_000),
    ("Pinecone Outfitters", 2_500, 32_000),
    ("Metro Line Transit", 275, 275),
    ("Starling Cinemas", 1_450, 1_450),
)
_SUBSCRIPTIONS = (("Cloudberry Music", 1_199), ("Fitwell Gym", 3_900), ("Reelhouse Streaming", 1_499))
_MONTHS = ((2025, 10), (2025, 11), (2025, 12), (2026, 1), (2026, 2))


_LARGEST_BALANCES = {key: FACTS.money(f"products.{key}.largest_balance") for key in ("rainy", "pebble")}
"""Of the accounts that must not hold as much as others, in cents."""


def make_id(table: str, number: int) -> str:
    """Return the id of the `number`-th generated row of a table."""
    return ID_PREFIXES[table] + hashlib.sha256(f"fernwick/{table}/{number}".encode()).hexdigest()[:12]


def generate() -> Mapping[str, list[Row]]:
    """Generate all rows, by table, parents first.

    Returns:
        Rows by table, the same on every call and in every process.
    """
    made: dict[str, list[Row]] = {name: [] for name in _KEYS}
    for branch in BRANCHES:
        for table, rows in _Generator(branch, {name: len(rows) for name, rows in made.items()}).run().items():
            made[table] += rows
    return made


def swapped_digits(digits: str) -> str:
    """Return the digits with two of them swapped, so that they are easily mistaken; never the same digits.

    Example:
        >>> swapped_digits("4417")
        '4471'
    """
    for place in range(len(digits) - 1, 0, -1):
        if digits[place] != digits[place - 1]:
            return digits[: place - 1] + digits[place] + digits[place - 1] + digits[place + 1 :]
    return f"{(int(digits) + 1) % 10_000:04d}"


def _of_age(born: date) -> date:
    """Return the day on which somebody may join: the first of the month after coming of age."""
    year = born.year + FACTS.period("identity.full_age", "years")
    return date(year, born.month + 1, 1) if born.month < 12 else date(year + 1, 1, 1)


class _Generator:
    """Draws one branch from one private random source, in one fixed order; ids count on from `before`."""

    def __init__(self, branch: Branch, before: Mapping[str, int]) -> None:
        self.branch, self.before = branch, before
        self.random = Random(branch.seed)
        self.rows: dict[str, list[Row]] = {name: [] for name in _KEYS}
        self.cards: dict[str, list[Row]] = {}

    def run(self) -> Mapping[str, list[Row]]:
        first = self.before["customers"]
        for number in range(first, first + self.branch.customers):
            customer = self._customer(number)
            born = date.fromisoformat(customer["date_of_birth"])
            for product in self.branch.products(number, born, self.random):
                self._account(customer, product)
        for account in self.rows["accounts"]:
            self._activity(account)
        self._refunds()
        self._disputes()
        self._transfers()
        self._notices()
        return self.rows

    def _add(self, table: str, row: Row) -> Row:
        made = {_KEYS[table]: make_id(table, self.before[table] + len(self.rows[table]))} | row
        self.rows[table].append(made)
        return made

    def _day(self, earliest: date, latest: date = LAST_DAY) -> date:
        return earliest + timedelta(days=self.random.randrange((latest - earliest).days + 1))

    def _customer(self, number: int) -> Row:
        draw, branch, known = self.random, self.branch, self.rows["customers"]
        first, last = draw.choice(branch.first_names), draw.choice(branch.last_names)
        taken = {row["full_name"] for row in known}
        while f"{first} {last}" in taken:
            first, last = draw.choice(branch.first_names), draw.choice(branch.last_names)
        city, postal = draw.choice(branch.cities)
        phone = f"{branch.phone_area} {100 + number}-{draw.randrange(1000, 10_000)}"
        street = draw.choice(STREETS)
        street = f"{draw.randrange(1, 190)} {street}"
        if number in branch.namesakes:
            first, last = known[branch.namesakes[number] - self.before["customers"]]["full_name"].split()
        elif number in branch.households:
            home = known[branch.households[number] - self.before["customers"]]
            phone, street, city, postal = (home[k] for k in ("phone", "street", "city", "postal_code"))
        name = f"{first} {last}"
        born = self._day(date(1944, 1, 1), date(2004, 12, 31))
        membership = draw.choices(("member", "steady", "keystone"), (6, 3, 2))[0]
        joined = self._day(date(2009, 1, 1), date(2024, 6, 30))
        row = {
            "full_name": name,
            "search_name": name.casefold(),
            "date_of_birth": born.isoformat(),
            "phone": phone,
            "phone_digits": "".join(c for c in phone if c.isdigit()),
            "email": f"{first.lower()}.{last.lower()}{number}@mailbox.example",
            "street": street,
            "city": city,
            "postal_code": postal,
            "membership": membership,
            "joined_on": (max(joined, _of_age(born)) if branch.grown else joined).isoformat(),
            "contact_changed_on": None,
        }
        return self._add("customers", row)

    def _account(self, customer: Row, product: str) -> None:
        draw, facts, joined = self.random, PRODUCTS[product], date.fromisoformat(customer["joined_on"])
        opened = self._day(joined, date(2026, 1, 15) if product == "notice" else date(2025, 2, 28))
        balance = draw.randrange(20_000, _LARGEST_BALANCES.get(product, 900_000))
        account = self._add(
            "accounts",
            {
                "customer_id": customer["customer_id"],
                "product": product,
                "status": "open",
                "balance_cents": -(balance // 4) if facts.credit else balance,
                "credit_limit_cents": draw.randrange(20, 120) * 10_000 if facts.credit else None,
                "opened_on": opened.isoformat(),
                "closed_on": None,
            },
        )
        self._extras(account, opened)
        for _ in range(2 if facts.has_card and draw.random() < 0.25 else facts.has_card):
            self._card(account, opened)

    def _card(self, account: Row, opened: date) -> None:
        draw, facts = self.random, PRODUCTS[account["product"]]
        issued = self._day(max(opened, date(2023, 1, 1)), date(2025, 6, 30))
        card = self._add(
            "cards",
            {
                "account_id": account["account_id"],
                "last_four": f"{draw.randrange(10_000):04d}",
                "status": "active",
                "frozen_for": None,
                "purchase_limit_cents": facts.purchase_limit,
                "cash_limit_cents": facts.cash_limit,
                "issued_on": issued.isoformat(),
                "expires_on": date(issued.year + 4, issued.month, 28).isoformat(),
            },
        )
        siblings = self.cards.setdefault(account["account_id"], [])
        if siblings and self.branch.grown:
            card["last_four"] = swapped_digits(siblings[0]["last_four"])
        siblings.append(card)

    def _extras(self, account: Row, opened: date) -> None:
        """Add what only accounts of some products have."""
        draw, product = self.random, account["product"]
        if product in ("quay", "meridian"):
            self.rows["points"].append(
                {"account_id": account["account_id"], "points": draw.randrange(300, 9_000)}
            )
        if self.branch.grown and PRODUCTS[product].credit and draw.random() < 0.6:
            changed = self._day(opened) if draw.random() < 0.5 else None
            row = {"day": draw.randrange(2, 28), "changed_on": changed and changed.isoformat()}
            self.rows["due_days"].append({"account_id": account["account_id"]} | row)

    def _activity(self, account: Row) -> None:
        cards = self.cards.get(account["account_id"], [])
        if cards:
            self._purchases(account, cards)
        if not PRODUCTS[account["product"]].credit:
            self._income(account, bool(cards))
        for fee, amount in PRODUCTS[account["product"]].fees:
            if self.random.random() < 0.5:
                day = self._day(date(2025, 9, 1))
                self._transaction(account, day, "fee", FEE_TEXT[fee], -amount, fee=fee)

    def _purchases(self, account: Row, cards: list[Row]) -> None:
        draw = self.random
        for _ in range(draw.randrange(*self.branch.purchases)):
            merchant, low, high = draw.choice(_MERCHANTS)
            card, amount = draw.choice(cards), draw.randrange(low, high + 1)
            day = self._day(date(2025, 9, 1))
            self._transaction(account, day, "purchase", merchant, -amount, card=card)
            if draw.random() < 0.06:  # the same purchase on a nearby day: a look-alike, not a mistake
                later = min(day + timedelta(days=draw.randrange(4, 12)), LAST_DAY)
                self._transaction(account, later, "purchase", merchant, -amount, card=card)
        if draw.random() < 0.4:
            merchant, amount = draw.choice(_SUBSCRIPTIONS)
            for year, month in _MONTHS:
                day = date(year, month, 5)
                self._transaction(account, day, "purchase", merchant, -amount, card=cards[0])

    def _income(self, account: Row, checking: bool) -> None:
        for year, month in _MONTHS:
            day = date(year, month, 25)
            if checking:
                salary = self.random.randrange(150_000, 420_000)
                self._transaction(account, day, "deposit", "Salary", salary)
            else:
                self._transaction(account, day, "interest", "Interest", account["balance_cents"] // 400)

    def _transaction(
        self,
        account: Row,
        day: date,
        kind: str,
        text: str,
        amount: int,
        *,
        fee: str | None = None,
        card: Row | None = None,
    ) -> None:
        self._add(
            "transactions",
            {
                "account_id": account["account_id"],
                "card_id": card["card_id"] if card else None,
                "posted_on": day.isoformat(),
                "kind": kind,
                "fee": fee,
                "description": text,
                "amount_cents": amount,
            },
        )

    def _refunds(self) -> None:
        owners = {row["account_id"]: row["customer_id"] for row in self.rows["accounts"]}
        fees = [row for row in self.rows["transactions"] if row["fee"] in ("overdraft", "late_payment")]
        for row in fees[::5]:
            account = next(a for a in self.rows["accounts"] if a["account_id"] == row["account_id"])
            day = date.fromisoformat(row["posted_on"])
            self._transaction(account, day, "credit", refund_text(row["description"]), -row["amount_cents"])
            self._add(
                "fee_refunds",
                {
                    "transaction_id": row["transaction_id"],
                    "customer_id": owners[row["account_id"]],
                    "amount_cents": -row["amount_cents"],
                    "basis": "courtesy",
                    "refunded_on": row["posted_on"],
                },
            )

    def _disputes(self) -> None:
        owners = {row["account_id"]: row["customer_id"] for row in self.rows["accounts"]}
        purchases = [row for row in self.rows["transactions"] if row["kind"] == "purchase"]
        for row in purchases[::150]:
            self._add(
                "disputes",
                {
                    "transaction_id": row["transaction_id"],
                    "customer_id": owners[row["account_id"]],
                    "reason": "not_received",
                    "provisional_credit": 0,
                    "status": self.random.choice(("upheld", "rejected")),
                    "opened_on": row["posted_on"],
                },
            )

    def _notices(self) -> None:
        """Add notices that have ended, of accounts that were old enough."""
        targets: dict[str, str] = {}
        for account in self.rows["accounts"]:
            if PRODUCTS[account["product"]].sort == "checking":
                targets.setdefault(account["customer_id"], account["account_id"])
        notice = timedelta(days=FACTS.days("products.notice.old_notice"))
        for account in self.rows["accounts"]:
            if account["product"] != "notice" or account["opened_on"] >= "2025-06-01":
                continue
            given = self._day(date(2025, 6, 1), date(2025, 11, 20))
            self._add(
                "withdrawal_notices",
                {
                    "from_account_id": account["account_id"],
                    "to_account_id": targets[account["customer_id"]],
                    "amount_cents": self.random.randrange(1, 20) * 5_000,
                    "given_on": given.isoformat(),
                    "pays_on": (given + notice).isoformat(),
                },
            )

    def _transfers(self) -> None:
        own: dict[str, list[Row]] = {}
        for account in self.rows["accounts"]:
            if not PRODUCTS[account["product"]].credit:
                own.setdefault(account["customer_id"], []).append(account)
        for accounts in own.values():
            if len(accounts) > 1:
                self._add(
                    "transfers",
                    {
                        "from_account_id": accounts[0]["account_id"],
                        "to_account_id": accounts[1]["account_id"],
                        "amount_cents": self.random.randrange(1, 20) * 5_000,
                        "made_on": self._day(date(2025, 9, 1)).isoformat(),
                    },
                )
