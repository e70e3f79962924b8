"""What the bank's products mean for its records, from the facts that the documents state for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from gym_enterprise.domains.banking.knowledge import FACTS

Sort = Literal["checking", "savings", "credit", "prepaid", "service"]


@dataclass(frozen=True)
class Product:
    """What one product means for the records."""

    name: str
    """Name that customers know it by."""
    sort: Sort
    """What sort of account it is."""
    purchase_limit: int
    """Standard daily purchase limit of its cards, in cents; 0 where it has no card."""
    cash_limit: int
    """Standard daily cash limit of its cards, in cents."""
    fees: tuple[tuple[str, int], ...] = ()
    """Fees that it may be charged: kind and cents."""

    @property
    def credit(self) -> bool:
        """Whether it is a credit card, whose balance is what the customer owes."""
        return self.sort == "credit"

    @property
    def has_card(self) -> bool:
        """Whether cards are issued for it."""
        return self.purchase_limit > 0


def _product(key: str) -> Product:
    group = f"products.{key}"
    return Product(
        FACTS.text(f"{group}.name"),
        cast(Sort, FACTS.text(f"{group}.kind")),
        _cents(f"{group}.purchase_limit"),
        _cents(f"{group}.cash_limit"),
        tuple(_fees(group)),
    )


def _cents(key: str) -> int:
    return FACTS.money(key) if key in FACTS else 0


def _fees(group: str) -> Iterator[tuple[str, int]]:
    for fee in ("overdraft", "monthly", "late_payment"):
        if cents := _cents(f"{group}.{fee}_fee"):
            yield fee, cents


PRODUCTS = {
    key: product
    for key in FACTS.names("products")
    if (product := _product(key)).sort != "service"  # services have no account
}

FEE_TEXT = {
    "overdraft": "Overdraft fee",
    "late_payment": "Late payment fee",
    "foreign_purchase": "Foreign purchase fee",
    "monthly": "Monthly account fee",
    "card_replacement": "Card replacement",
}


def refund_text(description: str) -> str:
    """Return how a refund of a charge is described on the account."""
    return f"Refund: {description}"
