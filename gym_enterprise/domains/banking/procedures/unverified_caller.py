"""A caller whose facts fit the record of one of two namesakes, or of neither: then nothing is changed.

The caller names the town. With facts that fit nobody, the refusal is recorded for the customer claimed.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.procedures.draft import Call, Draft, action, facts_of, refusal
from gym_enterprise.domains.banking.procedures.people import Customer, another_person, count_of_customers
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "the facts do not match, verifying who is talking": "identity-verification",
    "change phone number or email": "contact-data-changes",
    "tell similar records apart, people with the same name": "telling-records-apart",
}
REFUSED = {"refuse a request and record it": "recording-a-refusal"}
NAMES = {"phone": "phone number", "email": "email address"}
OPENINGS = (
    "Please put my new {name} on record.",
    "My {name} has changed; I would like to give you the new one.",
)


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft two tasks with the same words: the facts fit the record, or one of them does not.

    Args:
        customer: Who the caller claims to be.
        draw: Chooses the fact, the namesake, the new value and words.
    """
    if customer.namesakes:
        return []
    namesake = another_person(customer.data, draw)
    customer = customer.adding("customers", namesake)
    field, card = draw.choice(list(NAMES)), draw.choice(customer.cards)
    first, last = customer.data["full_name"].lower().split()
    value = {
        "phone": f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}",
        "email": f"{first}.{last}{draw.randrange(10, 100)}@newpost.example",
    }[field]
    year = int(customer.data["date_of_birth"][:4]) + draw.choice((-3, -2, -1, 1, 2))
    other_birth = f"{year}{customer.data['date_of_birth'][4:8]}{draw.randrange(10, 28)}"
    stranger = customer.with_values("customers", customer.id, date_of_birth=other_birth)
    refused = refusal(customer, "contact_change", "records_show_otherwise")
    found: Call = ("find_customer", {"full_name": customer.data["full_name"]})
    change: Call = ("update_contact", {"customer_id": customer.id, "field": field, "value": value})
    proof = {"customer_id": customer.id, "card_last_four": card["last_four"]}
    proof |= {name: customer.data[name] for name in ("date_of_birth", "postal_code")}

    def drafted(known: Customer, calls: tuple[Call, ...], documents: dict[str, str], **parts: Any) -> Draft:
        told = facts_of(customer, card)
        told |= {
            f"new_{field}": Fact(value=value, asked=(f"new {NAMES[field]}", "new number", "new address"))
        }
        told |= {
            "town": Fact(value=f"I live in {customer.data['city']}.", asked=("which town", "city", "live"))
        }
        name = NAMES[field]
        return Draft(
            customer=known,
            opening=opening,
            wants=(Want(say=f"Please change my {name} to the new one.", about=(field, name)),),
            facts=told,
            calls=calls,
            documents=documents,
            situation=f"Your {name} has changed and you want the bank to have the new one. You have nothing "
            "to correct in what you tell about yourself.",
            script={"pushback": (Pushback(say="All that I told you is right."),)},
            **parts,
        )

    opening = draw.choice(OPENINGS).format(name=NAMES[field])
    swap = {"swap": {customer.id: namesake["customer_id"]}}
    return [
        drafted(
            stranger,
            (found, refusal(customer, "contact_change", "identity_not_verified")),
            DOCUMENTS | REFUSED,
            knobs={"siblings": count_of_customers(), "verified": False, "contradicted": True} | swap,
            capabilities=("identity", "namesakes", "refuse"),
            variant="unverified",
        ),
        drafted(
            customer,
            (found, ("verify_identity", proof), change),
            DOCUMENTS,
            knobs={"siblings": 0, "contradicted": False, "first_hit": [action(refused)]},
            capabilities=("identity", "namesakes", "enhanced_verification"),
            variant="allowed",
        ),
    ]
