"""The customers that tasks are about: those of the bank's records, and newcomers whom a task brings along.

A newcomer is drawn for one task and inserted by its state, so that there can be thousands of customers with
values that no other task has. The full name decides the split, so no two splits share a customer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from random import Random
from typing import Any, Literal, get_args

from gym_enterprise.domains.banking.branches import CITIES, FIRST_NAMES, LAST_NAMES, STREETS
from gym_enterprise.domains.banking.data import ID_PREFIXES, Row, generate
from gym_enterprise.domains.banking.products import PRODUCTS

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
_TENTHS: dict[int, Split] = {7: "validation", 8: "test", 9: "test"}
KEYS = {
    "customers": "customer_id",
    "accounts": "account_id",
    "points": "account_id",
    "due_days": "account_id",
    "cards": "card_id",
    "transactions": "transaction_id",
    "fee_refunds": "refund_id",
    "disputes": "dispute_id",
}
"""The tables that hold what the bank knows of a customer, parents first, and their keys."""
_OF_ACCOUNT = ("points", "due_days", "cards", "transactions")
_CHECKING = ("everyday", "plus", "premier")
_CREDIT = ("harbor", "summit")


@dataclass(frozen=True)
class Customer:
    """A customer as a task finds it: rows by table, and how they differ from the bank's records."""

    rows: Mapping[str, tuple[Row, ...]]
    """One of `customers`, and all of the customer's rows in the other tables of `KEYS`."""
    newcomer: bool
    """Whether the rows are not in the bank's records."""
    today: date = date(2026, 3, 2)
    """Day of the conversation."""
    changes: tuple[tuple[str, str, Row], ...] = ()
    """Table, key and new values of what `with_values` changed."""
    added: tuple[tuple[str, Row], ...] = ()
    """Table and row of what `adding` put in, of the customer or of others."""

    @property
    def data(self) -> Row:
        """The customer's own row."""
        return self.rows["customers"][0]

    @property
    def id(self) -> str:
        """The customer's id."""
        return str(self.data["customer_id"])

    @property
    def level(self) -> str:
        """The customer's membership level."""
        return str(self.data["membership"])

    @property
    def accounts(self) -> tuple[Row, ...]:
        """The customer's accounts."""
        return self.rows["accounts"]

    @property
    def cards(self) -> tuple[Row, ...]:
        """The customer's cards, each with its `product`."""
        products = {row["account_id"]: row["product"] for row in self.rows["accounts"]}
        return tuple({**row, "product": products[row["account_id"]]} for row in self.rows["cards"])

    @property
    def namesakes(self) -> int:
        """How many other customers have the same name."""
        name = self.data["full_name"]
        known = [one.data for one in _everybody() if one.id != self.id]
        return len([row for row in (*known, *self.rows["customers"][1:]) if row["full_name"] == name])

    def of(self, table: str, account: Row) -> tuple[Row, ...]:
        """Return the rows of a table that belong to an account."""
        return tuple(row for row in self.rows.get(table, ()) if row["account_id"] == account["account_id"])

    def days_ago(self, days: int) -> str:
        """Return the date so many days before the conversation."""
        return (self.today - timedelta(days=days)).isoformat()

    def with_values(self, table: str, key: str, **values: Any) -> Customer:
        """Return the customer with other values in one row.

        Args:
            table: One of `KEYS`.
            key: The row's key.
            values: By column.
        """
        name = KEYS[table]
        rows = tuple(row | values if row[name] == key else row for row in self.rows[table])
        return replace(
            self, rows={**self.rows, table: rows}, changes=(*self.changes, (table, key, dict(values)))
        )

    def adding(self, table: str, *rows: Row) -> Customer:
        """Return the customer with further rows that the task inserts.

        Args:
            table: One of `KEYS`; another customer's row may go to `customers`.
            rows: Whole rows.
        """
        there = {**self.rows, table: (*self.rows.get(table, ()), *rows)}
        return replace(self, rows=there, added=(*self.added, *((table, row) for row in rows)))

    def state(self) -> dict[str, Any]:
        """Return the `state` of a task in which the bank knows this customer so."""
        own = {(table, row[KEYS[table]]) for table, row in self.added}
        inserts: dict[str, list[Row]] = {}
        for table in KEYS:
            for row in self.rows.get(table, ()):
                if self.newcomer or (table, row[KEYS[table]]) in own:
                    inserts.setdefault(table, []).append(row)
        updates: dict[str, dict[str, Row]] = {}
        for table, key, values in () if self.newcomer else self.changes:
            if (table, key) not in own:
                updates.setdefault(table, {}).setdefault(key, {}).update(values)
        changed = {
            table: [{"key": {KEYS[table]: key}, "set": values} for key, values in rows.items()]
            for table, rows in updates.items()
        }
        return {name: part for name, part in (("insert", inserts), ("update", changed)) if part}


def split_of(full_name: str) -> Split:
    """Return the split that a customer's tasks belong to, by a hash of the name.

    Example:
        >>> split_of("Vera Ibarra")
        'train'
    """
    return _TENTHS.get(int(hashlib.sha256(full_name.encode()).hexdigest()[:8], 16) % 10, "train")


@cache
def residents(split: Split) -> tuple[Customer, ...]:
    """Return the customers of the bank's records whose tasks belong to a split, in their order there."""
    return tuple(one for one in _everybody() if split_of(one.data["full_name"]) == split)


@cache
def _everybody() -> tuple[Customer, ...]:
    records = generate()
    owners = {row["account_id"]: row["customer_id"] for row in records["accounts"]}
    found: dict[str, dict[str, list[Row]]] = {
        row["customer_id"]: {"customers": [row]} for row in records["customers"]
    }
    for table in KEYS:
        for row in records[table] if table != "customers" else ():
            owner = owners[row["account_id"]] if table in _OF_ACCOUNT else row["customer_id"]
            found[owner].setdefault(table, []).append(row)
    return tuple(
        Customer({table: tuple(rows.get(table, ())) for table in KEYS}, False) for rows in found.values()
    )


def newcomer(split: Split, draw: Random) -> Customer:
    """Draw a customer who is not in the bank's records and shares no name with those who are.

    Args:
        split: Which split the customer's tasks belong to.
        draw: What is drawn from.

    Returns:
        One to two accounts with a card each.
    """
    name = _free_name(split, draw)
    person = _person(name, draw)
    products = [draw.choice(_CHECKING)]
    if draw.random() < 0.5:
        products.append(draw.choice(_CREDIT))
    accounts = [new_account(person, product, draw) for product in products]
    cards: list[Row] = []
    for account in accounts:
        cards.append(new_card(account, {card["last_four"] for card in cards}, draw))
    return Customer({"customers": (person,), "accounts": tuple(accounts), "cards": tuple(cards)}, True)


def another_person(person: Row, draw: Random) -> Row:
    """Draw somebody else of the same name, in another town."""
    other = _person(person["full_name"], draw)
    towns = [town for town in CITIES if town[0] != person["city"]]
    city, postal_code = draw.choice(towns)
    return other | {"city": city, "postal_code": postal_code}


def count_of_customers() -> int:
    """Return how many customers the bank's records have."""
    return len(_everybody())


def _free_name(split: Split, draw: Random) -> str:
    while True:
        name = f"{draw.choice(FIRST_NAMES)} {draw.choice(LAST_NAMES)}"
        if split_of(name) == split and name not in _taken():
            return name


@cache
def _taken() -> frozenset[str]:
    return frozenset(person.data["full_name"] for person in _everybody())


def new_id(table: str, draw: Random) -> str:
    """Draw the id of a row that a task inserts."""
    return f"{ID_PREFIXES[table]}{draw.getrandbits(48):012x}"


def _day(draw: Random, earliest: date, latest: date) -> date:
    return earliest + timedelta(days=draw.randrange((latest - earliest).days + 1))


def _person(name: str, draw: Random) -> Row:
    first, last = name.lower().split()
    phone = f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}"
    city, postal_code = draw.choice(CITIES)
    return {
        "customer_id": new_id("customers", draw),
        "full_name": name,
        "search_name": name.casefold(),
        "date_of_birth": _day(draw, date(1944, 1, 1), date(2004, 12, 31)).isoformat(),
        "phone": phone,
        "phone_digits": "".join(c for c in phone if c.isdigit()),
        "email": f"{first}.{last}{draw.randrange(100, 1000)}@mailbox.example",
        "street": f"{draw.randrange(1, 190)} {draw.choice(STREETS)}",
        "city": city,
        "postal_code": postal_code,
        "membership": draw.choices(("member", "steady", "keystone"), (6, 3, 2))[0],
        "joined_on": _day(draw, date(2009, 1, 1), date(2022, 12, 31)).isoformat(),
        "contact_changed_on": None,
    }


def new_account(person: Row, product: str, draw: Random) -> Row:
    """Draw an open account of a person."""
    joined = date.fromisoformat(person["joined_on"])
    credit, balance = PRODUCTS[product].credit, draw.randrange(20_000, 900_000)
    return {
        "account_id": new_id("accounts", draw),
        "customer_id": person["customer_id"],
        "product": product,
        "status": "open",
        "balance_cents": -(balance // 4) if credit else balance,
        "credit_limit_cents": draw.randrange(20, 120) * 10_000 if credit else None,
        "opened_on": _day(draw, joined, max(joined, date(2022, 12, 31))).isoformat(),
        "closed_on": None,
    }


def new_card(account: Row, taken: set[str], draw: Random) -> Row:
    """Draw an active card of an account, with digits that are not taken."""
    issued, product = _day(draw, date(2023, 1, 1), date(2025, 6, 30)), PRODUCTS[account["product"]]
    last_four = f"{draw.randrange(10_000):04d}"
    while last_four in taken:
        last_four = f"{draw.randrange(10_000):04d}"
    return {
        "card_id": new_id("cards", draw),
        "account_id": account["account_id"],
        "last_four": last_four,
        "status": "active",
        "frozen_for": None,
        "purchase_limit_cents": product.purchase_limit,
        "cash_limit_cents": product.cash_limit,
        "issued_on": issued.isoformat(),
        "expires_on": date(issued.year + 4, issued.month, 28).isoformat(),
    }
