"""Finding the customer and verifying who is talking."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import Row, existing_customer
from gym_enterprise.domains.banking.vocabulary import CustomerId
from gym_enterprise.tools import Date, ToolError, tool
from gym_enterprise.world import World

_STANDARD, _ENHANCED = FACTS.count("identity.standard_facts"), FACTS.count("identity.enhanced_facts")
_FACTS = ("date_of_birth", "phone", "email", "postal_code", "card_last_four")
_CARD_DIGITS = (
    "SELECT 1 FROM accounts JOIN cards USING (account_id) "
    "WHERE customer_id = ? AND last_four = ? AND cards.status <> 'cancelled' LIMIT 1"
)


@tool()
def find_customer(world: World, full_name: str) -> list[dict[str, Any]]:
    """Find customers by their full name; several people can share one.

    Gives ids and towns only; verify the customer before anything else. Ordered by customer_id, ascending.

    Args:
        full_name: First and last name, in any case.
    """
    rows = world.query(
        "SELECT customer_id, full_name, city FROM customers WHERE search_name = ? ORDER BY customer_id",
        " ".join(full_name.split()).casefold(),
    )
    if not rows:
        raise ToolError("not_found", f"No customer has the name {full_name!r}; check the spelling.")
    return rows


@tool()
def find_customer_by_phone(world: World, phone: str) -> list[dict[str, Any]]:
    """Find customers by the phone number on record; a household can share one.

    Gives ids and towns only; verify the customer before anything else. Ordered by customer_id, ascending.

    Args:
        phone: Phone number, with or without punctuation.
    """
    rows = world.query(
        "SELECT customer_id, full_name, city FROM customers WHERE phone_digits = ? ORDER BY customer_id",
        _digits(phone),
    )
    if not rows:
        raise ToolError("not_found", f"No customer has the phone number {phone!r} on record.")
    return rows


@tool(writes=True)
def verify_identity(
    world: World,
    customer_id: CustomerId,
    date_of_birth: Date | None = None,
    phone: str | None = None,
    email: str | None = None,
    postal_code: str | None = None,
    card_last_four: str | None = None,
) -> dict[str, Any]:
    """Check facts that the customer gave against the record and note the customer as verified.

    Needs at least two facts, and every fact given must match. Which facts do not match is not disclosed.

    Args:
        customer_id: The customer, from find_customer or find_customer_by_phone.
        date_of_birth: Date of birth, YYYY-MM-DD.
        phone: Phone number on record.
        email: Email address on record.
        postal_code: Postal code of the address on record.
        card_last_four: Last four digits of any of the customer's cards that is not cancelled.
    """
    customer = existing_customer(world, customer_id)
    given = zip(_FACTS, (date_of_birth, phone, email, postal_code, card_last_four), strict=True)
    facts = {name: value for name, value in given if value is not None}
    if len(facts) < _STANDARD:
        raise ToolError(
            "too_few_facts", f"Verification needs at least {_STANDARD} facts; {len(facts)} given."
        )
    if not all(_matches(world, customer, name, value) for name, value in facts.items()):
        raise ToolError("no_match", "The facts do not all match the record: not verified.")
    level = "enhanced" if len(facts) >= _ENHANCED and "card_last_four" in facts else "standard"
    world.insert(
        "verifications",
        customer_id=customer_id,
        level=level,
        facts=",".join(sorted(facts)),
        verified_at=world.now,
    )
    return {"customer_id": customer_id, "verified": level}


def _matches(world: World, customer: Row, name: str, value: str) -> bool:
    if name == "phone":
        return _digits(value) == str(customer["phone_digits"])
    if name == "email":
        return value.casefold() == str(customer["email"]).casefold()
    if name == "card_last_four":
        return world.one(_CARD_DIGITS, customer["customer_id"], value) is not None
    return value == str(customer[name])


def _digits(text: str) -> str:
    return "".join(character for character in text if character in "0123456789")
