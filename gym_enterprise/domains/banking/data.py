"""The bank's records before any task: generated, and the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.products import FEE_TEXT, PRODUCTS, refund_text

Row = dict[str, Any]

SEED = 20_260_228
CUSTOMERS = 72
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
    "cards": "card_id",
    "transactions": "transaction_id",
    "fee_refunds": "refund_id",
    "disputes": "dispute_id",
    "transfers": "transfer_id",
}
"""The tables that are generated, and their keys."""

# fmt: off
FIRST_NAMES = (
    "Adela", "Bruno", "Carmen", "Dario", "Edith", "Farid", "Greta", "Hugo", "Imani", "Jonas", "Katya",
    "Leon", "Mabel", "Nadir", "Oona", "Pavel", "Quentin", "Rosa", "Silas", "Tamsin", "Ulrich", "Vera",
    "Wanda", "Xavier", "Yusuf", "Zelda",
)
LAST_NAMES = (
    "Abernethy", "Bellweather", "Castellano", "Dunmore", "Eastlake", "Farrow", "Gallimore", "Hargreave",
    "Ibarra", "Jernigan", "Kestrel", "Lindqvist", "Marchetti", "Northcott", "Okonjo", "Pemberton",
    "Quiroga", "Rasmussen", "Stavros", "Thackeray", "Underhill", "Valdivia", "Westerby", "Yarrow",
    "Zielinski",
)
# fmt: on
STREETS = ("Alder Row", "Bakehouse Lane", "Cooper Street", "Dovecote Hill", "Elm Terrace", "Ferry Road")
CITIES = (
    ("Port Selby", "30417"),
    ("Marlow Falls", "30552"),
    ("Ashgrove", "31208"),
    ("Tannery Bridge", "31990"),
)
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
_NAMESAKES = {23: 4, 41: 12, 58: 30}
"""Customers (by number) that share the full name of an earlier one."""
_HOUSEHOLDS = {17: 3, 44: 19}
"""Customers (by number) that share the phone and street of an earlier one."""


def make_id(table: str, number: int) -> str:
    """Return the id of the `number`-th generated row of a table."""
    return ID_PREFIXES[table] + hashlib.sha256(f"fernwick/{table}/{number}".encode()).hexdigest()[:12]


def generate() -> Mapping[str, list[Row]]:
    """Generate all rows, by table, parents first.

    Returns:
        Rows by table, the same on every call and in every process.
    """
    return _Generator().run()


class _Generator:
    """Draws from one private random source, in one fixed order."""

    def __init__(self) -> None:
        self.random = Random(SEED)
        self.rows: dict[str, list[Row]] = {name: [] for name in _KEYS}

    def run(self) -> Mapping[str, list[Row]]:
        for number in range(CUSTOMERS):
            customer = self._customer(number)
            for product in self._products(number):
                self._account(customer, product)
        for account in self.rows["accounts"]:
            self._activity(account)
        self._refunds()
        self._disputes()
        self._transfers()
        return self.rows

    def _add(self, table: str, row: Row) -> Row:
        made = {_KEYS[table]: make_id(table, len(self.rows[table]))} | row
        self.rows[table].append(made)
        return made

    def _day(self, earliest: date, latest: date = LAST_DAY) -> date:
        return earliest + timedelta(days=self.random.randrange((latest - earliest).days + 1))

    def _customer(self, number: int) -> Row:
        draw = self.random
        first, last = draw.choice(FIRST_NAMES), draw.choice(LAST_NAMES)
        name = f"{first} {last}"
        taken = {row["full_name"] for row in self.rows["customers"]}
        while name in taken:
            first, last = draw.choice(FIRST_NAMES), draw.choice(LAST_NAMES)
            name = f"{first} {last}"
        city, postal = draw.choice(CITIES)
        phone, street = f"(555) {100 + number}-{draw.randrange(1000, 10_000)}", draw.choice(STREETS)
        street = f"{draw.randrange(1, 190)} {street}"
        if number in _NAMESAKES:
            name = self.rows["customers"][_NAMESAKES[number]]["full_name"]
            first, last = name.split()
        elif number in _HOUSEHOLDS:
            home = self.rows["customers"][_HOUSEHOLDS[number]]
            phone, street, city, postal = (home[k] for k in ("phone", "street", "city", "postal_code"))
        row = {
            "full_name": name,
            "search_name": name.casefold(),
            "date_of_birth": self._day(date(1944, 1, 1), date(2004, 12, 31)).isoformat(),
            "phone": phone,
            "phone_digits": "".join(c for c in phone if c.isdigit()),
            "email": f"{first.lower()}.{last.lower()}{number}@mailbox.example",
            "street": street,
            "city": city,
            "postal_code": postal,
            "membership": draw.choices(("member", "steady", "keystone"), (6, 3, 2))[0],
            "joined_on": self._day(date(2009, 1, 1), date(2024, 6, 30)).isoformat(),
            "contact_changed_on": None,
        }
        return self._add("customers", row)

    def _products(self, number: int) -> list[str]:
        draw = self.random
        products = [draw.choices(("everyday", "plus", "premier"), (5, 4, 3))[0]]
        if number % 3 != 2:
            products.append(draw.choice(("harbor", "summit")))
        if number % 2 == 0:
            products.append(draw.choice(("reserve", "goal")))
        if number % 7 == 0:
            products.append("harbor" if "harbor" not in products else "summit")
        if number % 5 == 0:
            products.append(draw.choice(("everyday", "plus")))
        return products

    def _account(self, customer: Row, product: str) -> None:
        draw, facts = self.random, PRODUCTS[product]
        opened = self._day(date.fromisoformat(customer["joined_on"]), date(2025, 2, 28))
        balance = draw.randrange(20_000, 900_000)
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
        if not facts.has_card:
            return
        for _ in range(2 if draw.random() < 0.25 else 1):
            issued = self._day(max(opened, date(2023, 1, 1)), date(2025, 6, 30))
            self._add(
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

    def _activity(self, account: Row) -> None:
        cards = [card for card in self.rows["cards"] if card["account_id"] == account["account_id"]]
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
        for _ in range(draw.randrange(7, 17)):
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
