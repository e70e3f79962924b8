"""The customer's own data."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.preconditions import verified_customer
from gym_enterprise.domains.banking.vocabulary import ContactField, CustomerId
from gym_enterprise.tools import ToolError, tool
from gym_enterprise.world import World

_SHOWN = (
    "customer_id",
    "full_name",
    "date_of_birth",
    "phone",
    "email",
    "street",
    "city",
    "postal_code",
    "membership",
    "joined_on",
    "contact_changed_on",
)


@tool()
def get_customer(world: World, customer_id: CustomerId) -> dict[str, Any]:
    """Show a verified customer's data: contact details, membership, and when contact data last changed.

    Args:
        customer_id: The customer.
    """
    row = verified_customer(world, customer_id)
    return {name: row[name] for name in _SHOWN}


@tool(writes=True)
def update_contact(world: World, customer_id: CustomerId, field: ContactField, value: str) -> dict[str, Any]:
    """Change a customer's phone number or email address; needs the enhanced verification.

    Args:
        customer_id: The customer.
        field: Which of the two to change.
        value: The new value: ten digits for a phone number, in any punctuation; or an email address.
    """
    verified_customer(world, customer_id, "enhanced")
    if field == "phone":
        value = _phone(value)
        world.execute(
            "UPDATE customers SET phone = ?, phone_digits = ?, contact_changed_on = ? WHERE customer_id = ?",
            value,
            "".join(c for c in value if c.isdigit()),
            world.today,
            customer_id,
        )
    else:
        value = _email(value)
        world.execute(
            "UPDATE customers SET email = ?, contact_changed_on = ? WHERE customer_id = ?",
            value,
            world.today,
            customer_id,
        )
    return {"customer_id": customer_id, field: value, "contact_changed_on": world.today}


@tool(writes=True)
def update_address(
    world: World, customer_id: CustomerId, street: str, city: str, postal_code: str
) -> dict[str, Any]:
    """Change a customer's postal address; needs the enhanced verification.

    Args:
        customer_id: The customer.
        street: House number and street, as the customer spells them.
        city: Town or city.
        postal_code: Five digits.
    """
    verified_customer(world, customer_id, "enhanced")
    if not street or not city:
        raise ToolError("bad_address", "Street and city must not be empty.")
    if len(postal_code) != 5 or not all(c in "0123456789" for c in postal_code):
        raise ToolError("bad_address", f"A postal code has five digits; got {postal_code!r}.")
    world.execute(
        "UPDATE customers SET street = ?, city = ?, postal_code = ?, contact_changed_on = ? "
        "WHERE customer_id = ?",
        street,
        city,
        postal_code,
        world.today,
        customer_id,
    )
    return {"customer_id": customer_id, "street": street, "city": city, "postal_code": postal_code}


def _phone(value: str) -> str:
    digits = "".join(c for c in value if c in "0123456789")
    if len(digits) != 10 or any(c not in "0123456789()-+. " for c in value):
        raise ToolError("bad_phone", f"A phone number has ten digits; got {value!r}.")
    return f"({digits[:3]}) {digits[3:6]}-{digits[6:]}"


def _email(value: str) -> str:
    local, _, host = value.partition("@")
    if not local or "." not in host or " " in value or "@" in host:
        raise ToolError("bad_email", f"{value!r} is not an email address.")
    return value.lower()


@tool(writes=True)
def add_note(world: World, customer_id: CustomerId, note: str) -> dict[str, Any]:
    """Leave a note for colleagues in a verified customer's contact log.

    Args:
        customer_id: The customer.
        note: What a colleague should know, in your own words.
    """
    verified_customer(world, customer_id)
    entry = world.insert("contact_log", customer_id=customer_id, note=note, logged_at=world.now)
    return {"entry_id": entry}
