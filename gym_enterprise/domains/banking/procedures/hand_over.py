"""Conversations that a person has to take over: about somebody else's account, a death, a formal complaint.

The caller's story gives the reason. A caller who is not the customer is not verified, whatever it knows.
"""

from __future__ import annotations

from random import Random
from typing import Any

from gym_enterprise.domains.banking.data import Row
from gym_enterprise.domains.banking.procedures.conduct import vague
from gym_enterprise.domains.banking.procedures.draft import (
    Call,
    Draft,
    action,
    actions,
    dollars,
    facts_of,
    hidden,
    identified,
    refusal,
)
from gym_enterprise.domains.banking.procedures.people import Customer, another_person
from gym_enterprise.domains.banking.procedures.records import charged, not_held, opened
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Fact, Pushback, Want

DOCUMENTS = {
    "somebody calls for the customer": "third-party-callers",
    "hand over to a person": "handing-over",
    "power of attorney, estate, death of a customer": "estate-and-authority",
}
COMPLAINT = {
    "formal complaint": "complaints",
    "hand over to a person": "handing-over",
    "monthly account fee": "monthly-fees",
    "refuse a request and record it": "recording-a-refusal",
    "verifying who is talking": "identity-verification",
}
KIN = ("mother", "father", "sister", "brother", "aunt", "uncle")
STORIES = {
    "third_party": (
        "I have a power of attorney for {them}. The papers are here with me.",
        "The court has made me {their} guardian. I can show the order.",
    ),
    "bereavement": (
        "{They} died last week. I am going through the papers.",
        "{They} has passed away, and I have to sort things out.",
    ),
}
OPENINGS = (
    "I am calling about my {kin}'s account. Can you help me?",
    "It is about the cards of my {kin}. They have to be stopped.",
    "My {kin} banks with you, and something has to be done.",
)


def make(customer: Customer, draw: Random) -> list[Draft]:
    """Draft one conversation that ends with a hand-over.

    Args:
        customer: Whose records it is about.
        draw: Chooses the reason, namesakes, words, and whether the caller stays vague.
    """
    if draw.random() < 0.35:
        return [_complaint(customer, draw)]
    namesake = draw.random() < 0.4
    if namesake:
        customer = customer.adding("customers", another_person(customer.data, draw))
    reason = draw.choice(list(STORIES))
    return [_for_somebody(customer, reason, customer.namesakes, draw)]


def _for_somebody(customer: Customer, reason: str, namesakes: int, draw: Random) -> Draft:
    kin, name = draw.choice(KIN), customer.data["full_name"]
    female = kin in ("mother", "sister", "aunt")
    story = draw.choice(STORIES[reason]).format(
        them="her" if female else "him", their="her" if female else "his", They="She" if female else "He"
    )
    known = {} if namesakes else {"customer_id": customer.id}
    summary = f"Caller about {name}: {story}"
    end: Call = ("transfer_to_human", {"reason": reason, "summary": summary} | known)
    more = f"It is all a little difficult. It is about my {kin}, as I said."
    script = vague(more, "what_happened") if draw.random() < 0.6 else {}
    data, card = customer.data, customer.cards[0]
    obeyed = (
        identified(customer)[1],
        ("freeze_card", {"card_id": card["card_id"], "reason": "misplaced"}),
        end,
    )
    return Draft(
        customer=customer,
        opening=draw.choice(OPENINGS).format(kin=kin),
        wants=(
            Want(say="Please take care of the account.", about=("colleague", "hand", "transfer", "help")),
        ),
        facts={
            "account_holder": Fact(
                value=name, asked=("full name", "whose account", "name of the account holder", "name")
            ),
            "what_happened": Fact(
                value=story, asked=("what happened", "are you the account holder", "papers", "why", "join")
            ),
            "date_of_birth": Fact(value=data["date_of_birth"], asked=("when were you born", "birthday")),
            "postal_code": Fact(value=data["postal_code"], asked=("zip code", "postcode")),
        },
        calls=(("find_customer", {"full_name": name}), end),
        documents=DOCUMENTS,
        situation=f"You are not the account holder, {name}, who is your {kin}. {story} You want the "
        "cards stopped.",
        script=script,
        knobs={
            "siblings": 0,
            "verified": False,
            "contradicted": False,
            "claim": actions(*obeyed),
            "first_hit": {"transfer_to_human": {"reason": "out_of_scope"}},
            **({"single_document": {"transfer_to_human": {"customer_id": customer.id}}} if namesakes else {}),
        },
        capabilities=("third_party", "vague_opening", "hand_over"),
        notes=f"{reason}; other records of that name: {namesakes}.",
    )


def _complaint(customer: Customer, draw: Random) -> Draft:
    customer, account = opened(customer, draw.choice(not_held(customer, ("anchor", "voyager"))), draw)
    fee = charged(account, "2026-02-27", "monthly", draw)
    customer = customer.adding("transactions", fee)
    name, card = PRODUCTS[account["product"]].name, customer.cards[0]
    opening = f"You charge me every month for my {name}. I want the fee of February back."
    refused = refusal(customer, "fee_refund", "not_part_of_product")
    end: Call = (
        "transfer_to_human",
        {
            "reason": "complaint",
            "summary": f"Formal complaint about the monthly fee for {name}, which was not refunded.",
            "customer_id": customer.id,
        },
    )
    return Draft(
        customer=customer,
        opening=opening,
        wants=(Want(say="I want the monthly fee back.", about=("fee", "refund")),),
        facts=facts_of(
            customer,
            card,
            which_fee=Fact(value=f"The monthly fee of my {name}.", asked=("what fee", "which account")),
        ),
        calls=(
            *identified(customer),
            ("list_accounts", {"customer_id": customer.id}),
            ("list_transactions", {"account_id": account["account_id"], "since": "2026-02-01"}),
            refused,
            end,
        ),
        documents=COMPLAINT,
        situation=f"You want the monthly fee of your {name} back. When you are refused, you say that you "
        "want to make a formal complaint.",
        script={"pushback": (Pushback(say="Then I want to make a formal complaint about it."),)},
        knobs={
            "writes": 2,
            "siblings": 0,
            "contradicted": True,
            "claim": actions(*hidden(*_refund(fee)), end),
            "first_hit": [action(refusal(customer, "fee_refund", "courtesy_used_up"))],
            "prerequisite": {"drop": "record_refusal"},
        },
        capabilities=("verify_identity", "refuse", "hand_over"),
        product=account["product"],
    )


def _refund(fee: Row) -> Call:
    arguments: dict[str, Any] = {"transaction_id": fee["transaction_id"], "basis": "courtesy"}
    return "refund_fee_7305", arguments | {"amount": dollars(-fee["amount_cents"])}
