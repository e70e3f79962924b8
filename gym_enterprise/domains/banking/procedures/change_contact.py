"""A phone number or an email address is changed, which needs the enhanced verification."""

from __future__ import annotations

from random import Random

from gym_enterprise.domains.banking.procedures.draft import Draft, facts_of, identified
from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.tasks import Fact, Want

DOCUMENTS = {
    "change phone number or email": "contact-data-changes",
    "enhanced verification": "identity-verification",
}
OPENINGS = {
    "phone": (
        "I have a new phone number. Please change it.",
        "My phone number has changed. Can you update it?",
        "Please put my new phone number on record.",
    ),
    "email": (
        "I have a new email address. Please change it.",
        "My email address has changed. Can you update it?",
        "Please put my new email address on record.",
    ),
}
_NAMES = {"phone": "phone number", "email": "email address"}


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft a task in which one of the two is changed.

    Args:
        customer: Who wants it changed.
        draw: Chooses which, the new value and words.
    """
    field = draw.choice(("phone", "email"))
    first, last = customer.data["full_name"].lower().split()
    values = {
        "phone": f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}",
        "email": f"{first}.{last}{draw.randrange(10, 100)}@newpost.example",
    }
    other = "email" if field == "phone" else "phone"
    card, name = draw.choice(customer.cards), _NAMES[field]
    new = Fact(value=values[field], asked=(f"new {name}", f"new {field}", "new number", "new address"))
    return [
        Draft(
            customer=customer,
            opening=draw.choice(OPENINGS[field]),
            wants=(Want(say=f"Please change my {name} to the new one.", about=(field, name)),),
            facts=facts_of(customer, card, **{f"new_{field}": new}),
            calls=(
                *identified(customer, card=card),
                ("update_contact", {"customer_id": customer.id, "field": field, "value": values[field]}),
            ),
            documents=DOCUMENTS,
            situation=f"Your {name} has changed and you want the bank to have the new one.",
            knobs={
                "siblings": 0,
                "extra": [
                    {
                        "name": "update_contact",
                        "arguments": {"customer_id": customer.id, "field": other, "value": values[other]},
                    }
                ],
            },
            capabilities=("verify_identity", "enhanced_verification"),
        )
    ]
