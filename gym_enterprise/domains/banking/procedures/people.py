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

from gym_enterprise.domains.banking.data import (
    CITIES,
    FIRST_NAMES,
    ID_PREFIXES,
    LAST_NAMES,
    STREETS,
    Row,
    generate,
)
from gym_enterprise.domains.banking.products import PRODUCTS

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
_TENTHS: dict[int, Split] = {7: "validation", 8: "test", 9: "test"}
_KEYS = {"customers": "customer_id", "accounts": "account_id", "cards": "card_id"}
_CHECKING = ("everyday", "plus", "premier")
_CREDIT = ("harbor", "summit")


@dataclass(frozen=True)
class Customer:
    """A customer as a task finds it: rows by table, and how they differ from the bank's records."""

    rows: Mapping[str, tuple[Row, ...]]
    """One of `customers`, and all of the customer's `accounts` and `cards`."""
    newcomer: bool
    """Whether the rows are not in the bank's records."""
    changes: tuple[tuple[str, str, Row], ...] = ()
    """Table, key and new values of what `with_values` changed."""

    @property
    def data(self) -> Row:
        """The customer's own row."""
        return self.rows["customers"][0]

    @property
    def id(self) -> str:
        """The customer's id."""
        return str(self.data["customer_id"])

    @property
    def cards(self) -> tuple[Row, ...]:
        """The customer's cards, each with its `product`."""
        products = {row["account_id"]: row["product"] for row in self.rows["accounts"]}
        return tuple({**row, "product": products[row["account_id"]]} for row in self.rows["cards"])

    def with_values(self, table: str, key: str, **values: Any) -> Customer:
        """Return the customer with other values in one row.

        Args:
            table: `customers`, `accounts` or `cards`.
            key: The row's key.
            values: By column.
        """
        name = _KEYS[table]
        rows = tuple(row | values if row[name] == key else row for row in self.rows[table])
        return replace(
            self, rows={**self.rows, table: rows}, changes=(*self.changes, (table, key, dict(values)))
        )

    def state(self) -> dict[str, Any]:
        """Return the `state` of a task in which the bank knows this customer so."""
        if self.newcomer:
            return {"insert": {table: list(rows) for table, rows in self.rows.items()}}
        updates: dict[str, list[Row]] = {}
        for table, key, values in self.changes:
            updates.setdefault(table, []).append({"key": {_KEYS[table]: key}, "set": values})
        return {"update": updates} if updates else {}


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
    records = generate()
    found = []
    for person in records["customers"]:
        accounts = tuple(r for r in records["accounts"] if r["customer_id"] == person["customer_id"])
        own = {row["account_id"] for row in accounts}
        cards = tuple(row for row in records["cards"] if row["account_id"] in own)
        if split_of(person["full_name"]) == split:
            found.append(Customer({"customers": (person,), "accounts": accounts, "cards": cards}, False))
    return tuple(found)


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
    accounts = [_account(person, product, draw) for product in products]
    cards: list[Row] = []
    for account in accounts:
        cards.append(_card(account, {card["last_four"] for card in cards}, draw))
    return Customer({"customers": (person,), "accounts": tuple(accounts), "cards": tuple(cards)}, True)


def _free_name(split: Split, draw: Random) -> str:
    while True:
        name = f"{draw.choice(FIRST_NAMES)} {draw.choice(LAST_NAMES)}"
        if split_of(name) == split and name not in _taken():
            return name


@cache
def _taken() -> frozenset[str]:
    return frozenset(person.data["full_name"] for split in SPLITS for person in residents(split))


def _id(table: str, draw: Random) -> str:
    return f"{ID_PREFIXES[table]}{draw.getrandbits(48):012x}"


def _day(draw: Random, earliest: date, latest: date) -> date:
    return earliest + timedelta(days=draw.randrange((latest - earliest).days + 1))


def _person(name: str, draw: Random) -> Row:
    first, last = name.lower().split()
    phone = f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}"
    city, postal_code = draw.choice(CITIES)
    return {
        "customer_id": _id("customers", draw),
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


def _account(person: Row, product: str, draw: Random) -> Row:
    credit, balance = PRODUCTS[product].credit, draw.randrange(20_000, 900_000)
    return {
        "account_id": _id("accounts", draw),
        "customer_id": person["customer_id"],
        "product": product,
        "status": "open",
        "balance_cents": -(balance // 4) if credit else balance,
        "credit_limit_cents": draw.randrange(20, 120) * 10_000 if credit else None,
        "opened_on": _day(draw, date.fromisoformat(person["joined_on"]), date(2022, 12, 31)).isoformat(),
        "closed_on": None,
    }


def _card(account: Row, taken: set[str], draw: Random) -> Row:
    issued, product = _day(draw, date(2023, 1, 1), date(2025, 6, 30)), PRODUCTS[account["product"]]
    last_four = f"{draw.randrange(10_000):04d}"
    while last_four in taken:
        last_four = f"{draw.randrange(10_000):04d}"
    return {
        "card_id": _id("cards", draw),
        "account_id": account["account_id"],
        "last_four": last_four,
        "status": "active",
        "frozen_for": None,
        "purchase_limit_cents": product.purchase_limit,
        "cash_limit_cents": product.cash_limit,
        "issued_on": issued.isoformat(),
        "expires_on": date(issued.year + 4, issued.month, 28).isoformat(),
    }
