"""Product constants that both the generator and the tools need; the documents state them for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """What one product means for the records."""

    name: str
    """Name that customers know it by."""
    purchase_limit: int
    """Standard daily purchase limit of its cards, in cents; 0 where it has no card."""
    cash_limit: int
    """Standard daily cash limit of its cards, in cents."""
    credit: bool = False
    """Whether it is a credit card, whose balance is what the customer owes."""
    fees: tuple[tuple[str, int], ...] = ()
    """Fees that the generator may charge: kind and cents."""

    @property
    def has_card(self) -> bool:
        """Whether cards are issued for it."""
        return self.purchase_limit > 0


PRODUCTS = {
    "everyday": Product("Everyday Checking", 150_000, 50_000, fees=(("overdraft", 1_800),)),
    "plus": Product("Plus Checking", 300_000, 80_000, fees=(("overdraft", 1_200), ("monthly", 700))),
    "premier": Product("Premier Checking", 600_000, 150_000, fees=(("monthly", 2_200),)),
    "reserve": Product("Reserve Savings", 0, 0),
    "goal": Product("Goal Saver", 0, 0),
    "harbor": Product("Harbor Card", 250_000, 30_000, credit=True, fees=(("late_payment", 2_900),)),
    "summit": Product("Summit Card", 500_000, 50_000, credit=True, fees=(("late_payment", 3_500),)),
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
