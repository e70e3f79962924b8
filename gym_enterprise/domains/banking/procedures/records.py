"""Records that a procedure puts in for its customer: accounts, cards, fees, refunds, purchases, disputes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import date, timedelta
from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures.people import KEYS, Customer, new_account, new_card, new_id
from gym_enterprise.domains.banking.products import FEE_TEXT, PRODUCTS, refund_text

CHECKING = tuple(key for key, product in PRODUCTS.items() if product.sort == "checking")
CREDIT = tuple(key for key, product in PRODUCTS.items() if product.credit)


def holding(customer: Customer, products: Collection[str], draw: Random) -> tuple[Customer, Row]:
    """Return the customer with an open account of one of the products, opened if there is none, and it.

    It is the only one of its product, so that "my Harbor Card" says which is meant.

    Args:
        customer: The customer.
        products: Which products will do.
        draw: Chooses among them.
    """
    held = Counter(row["product"] for row in customer.accounts)
    there = [row for row in customer.accounts if row["product"] in products and held[row["product"]] == 1]
    if there:
        return customer, draw.choice(there)
    return opened(customer, draw.choice(not_held(customer, products)), draw)


def not_held(customer: Customer, products: Collection[str]) -> list[str]:
    """Return those of the products that the customer has no account of, or all if there is none."""
    held = {row["product"] for row in customer.accounts}
    return sorted(set(products) - held) or sorted(products)


def opened(customer: Customer, product: str, draw: Random, **values: Any) -> tuple[Customer, Row]:
    """Return the customer with one more account, with a card if the product has one, and the account.

    Args:
        customer: The customer.
        product: Its product.
        draw: What the rows are drawn from.
        values: Columns of the account that are not drawn.
    """
    account = new_account(customer.data, product, draw) | values
    customer = customer.adding("accounts", account)
    if PRODUCTS[product].has_card:
        customer = customer.adding("cards", new_card(account, digits(customer), draw))
    return customer, account


def digits(customer: Customer) -> set[str]:
    """Return the last digits of the customer's cards, which a further card must not have."""
    return {card["last_four"] for card in customer.cards}


def with_row(customer: Customer, table: str, account: Row, **values: Any) -> Customer:
    """Return the customer with these values in the row that a table has for an account, or may have."""
    if customer.of(table, account):
        return customer.with_values(table, account["account_id"], **values)
    return customer.adding(table, {KEYS[table]: account["account_id"]} | values)


def posted(
    account: Row, day: str, kind: str, text: str, cents: int, draw: Random, *, card: Row | None = None
) -> Row:
    """Return a transaction of an account that is no fee."""
    return {
        "transaction_id": new_id("transactions", draw),
        "account_id": account["account_id"],
        "card_id": card["card_id"] if card else None,
        "posted_on": day,
        "kind": kind,
        "fee": None,
        "description": text,
        "amount_cents": cents,
    }


def charged(account: Row, day: str, fee: str, draw: Random, cents: int | None = None) -> Row:
    """Return a fee of an account, at the price of its product unless the cents are given."""
    price = dict(PRODUCTS[account["product"]].fees).get(fee, 0) if cents is None else cents
    return posted(account, day, "fee", FEE_TEXT[fee], -price, draw) | {"fee": fee}


def refunded(customer: Customer, fee: Row, day: str, draw: Random, basis: str = "courtesy") -> Customer:
    """Return the customer after a fee was given back in full."""
    row = {
        "refund_id": new_id("fee_refunds", draw),
        "transaction_id": fee["transaction_id"],
        "customer_id": customer.id,
        "amount_cents": -fee["amount_cents"],
        "basis": basis,
        "refunded_on": day,
    }
    back = posted(fee, day, "credit", refund_text(fee["description"]), -fee["amount_cents"], draw)
    return customer.adding("transactions", back).adding("fee_refunds", row)


def disputed(customer: Customer, purchase: Row, day: str, status: str, draw: Random) -> Customer:
    """Return the customer after a purchase was disputed."""
    row = {
        "dispute_id": new_id("disputes", draw),
        "transaction_id": purchase["transaction_id"],
        "customer_id": customer.id,
        "reason": "not_received",
        "provisional_credit": 0,
        "status": status,
        "opened_on": day,
    }
    return customer.adding("disputes", row)


def months_before(day: date, months: int) -> date:
    """Return the same day so many months earlier, or the last day of a shorter month.

    Example:
        >>> months_before(date(2026, 3, 31), 1)
        datetime.date(2026, 2, 28)
    """
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(day.day, last))


def courtesies(customer: Customer) -> int:
    """Return how many fees were given back as a courtesy within the window that ends today."""
    since = months_before(customer.today, FACTS.months("courtesy.window")).isoformat()
    return sum(
        row["basis"] == "courtesy" and row["refunded_on"] >= since
        for row in customer.rows.get("fee_refunds", ())
    )


def unrefunded(customer: Customer, *but: Row) -> list[Row]:
    """Return the fees of the customer, but those named, of which nothing was given back."""
    done = {row["transaction_id"] for row in (*customer.rows.get("fee_refunds", ()), *but)}
    fees = customer.rows.get("transactions", ())
    return [row for row in fees if row["kind"] == "fee" and row["transaction_id"] not in done]


def formerly(key: str, day: date) -> int:
    """Return the value that a fact had on a day: a whole number, or cents."""
    return int(str(FACTS[key].at(day).value))
