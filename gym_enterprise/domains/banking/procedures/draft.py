"""`Draft`: what a procedure makes for one customer, before it has an id, a split and a clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from gym_enterprise.domains.banking.procedures.people import Customer
from gym_enterprise.tasks import Fact, Script, Want

Call = tuple[str, dict[str, Any]]
"""A tool and its arguments, among which a `Made` stands for an id that is not known yet."""


@dataclass(frozen=True)
class Made:
    """What an earlier call of a solution answers, such as the id of a request that it opened."""

    tool: str
    """The tool, of whose latest call it is."""
    field: str
    """Which part of the answer."""


PERSONAS = (
    "Busy and brief; answers what is asked and nothing more.",
    "Friendly and patient.",
    "A little worried, and glad of every answer.",
)
_ASKED = {
    "full_name": ("your name", "name", "who am I talking to"),
    "date_of_birth": ("when you were born", "birthday"),
    "postal_code": ("zip code", "postcode"),
    "card_last_four": ("last four digits of your card", "last four digits of the card", "which card"),
    "phone": ("phone number on record", "current phone number", "old phone"),
    "email": ("email on record", "current email", "old email"),
}
"""Phrases that ask for what every customer knows."""


@dataclass(frozen=True)
class Draft:
    """One task of a family, solution first: the calls that solve it, and a customer who needs them."""

    customer: Customer
    """As the bank knows it when the conversation begins."""
    opening: str
    """What the customer says first."""
    wants: tuple[Want, ...]
    """See `Script`."""
    facts: Mapping[str, Fact]
    """What the customer knows."""
    calls: tuple[Call, ...]
    """The solution, each call after the one before, without the search of documents."""
    documents: Mapping[str, str]
    """What justifies it: document by the query that finds it."""
    situation: str
    """What a language model in the customer's place is told, besides the facts."""
    knobs: Mapping[str, Any]
    """Declared properties; `writes` and `verified` are added."""
    capabilities: tuple[str, ...] = ()
    variant: str = ""
    """Tells the drafts of one customer apart, such as "allowed"; part of the task's id."""
    script: Mapping[str, Any] = field(default_factory=dict)
    """Further parts of the script, such as `pushback`."""
    tools: tuple[str, ...] = ()
    """The customer's tools; whoever has some is signed in to the app."""
    product: str = ""
    """Product that it is about, where it is about one."""
    notes: str = ""

    def state(self) -> dict[str, Any]:
        """Return the state of the task."""
        state = self.customer.state()
        if self.tools:
            session = {"device": "phone", "customer_id": self.customer.id}
            state["insert"] = {**state.get("insert", {}), "app_sessions": [session]}
        return state

    def reference(self, research: bool) -> Iterator[dict[str, Any]]:
        """Yield the reference: the search of the documents if it is wanted, and the calls."""
        index = 0
        for query, document in self.documents.items() if research else ():
            yield {"name": "kb_search", "arguments": {"query": query, "k": 5}, "after": []}
            yield {"name": "kb_read", "arguments": {"document_id": document}, "after": [index]}
            index += 2
        for number, (name, arguments) in enumerate(self.calls):
            after: dict[str, Any] = {} if number else {"after": []}
            seat = {"seat": "user"} if name in self.tools else {}
            yield {**seat, "name": name, "arguments": arguments} | after

    def user(self, draw: Random) -> dict[str, Any]:
        """Return the user's scenario."""
        script = Script(opening=self.opening, facts=dict(self.facts), wants=self.wants, **self.script)
        told = "; ".join(f"{key.replace('_', ' ')}: {fact.value}" for key, fact in self.facts.items())
        tools = {"tools": self.tools} if self.tools else {}
        return tools | {
            "persona": draw.choice(PERSONAS),
            "instructions": f"You are {self.customer.data['full_name']}. {self.situation} Give these facts "
            f"when asked: {told}.",
            "script": script.model_dump(mode="json", exclude_defaults=True),
        }


def facts_of(customer: Customer, card: Mapping[str, Any], **more: Fact) -> dict[str, Fact]:
    """Return what a customer can tell about itself and one of its cards, and more.

    Args:
        customer: The customer.
        card: The card whose last four digits the customer tells.
        more: Further facts, which come last.
    """
    data = customer.data
    values = {
        "full_name": data["full_name"],
        "date_of_birth": data["date_of_birth"],
        "postal_code": data["postal_code"],
        "card_last_four": card["last_four"],
        "phone": data["phone"],
        "email": data["email"],
    }
    return {key: Fact(value=value, asked=_ASKED[key]) for key, value in values.items()} | more


def identified(customer: Customer, *, card: Mapping[str, Any] | None = None) -> tuple[Call, Call]:
    """Return the calls that find a customer by phone and verify it: with a card, at the enhanced level."""
    data = customer.data
    proof = {"customer_id": customer.id}
    proof |= {name: data[name] for name in ("date_of_birth", "postal_code")}
    if card is not None:
        proof["card_last_four"] = card["last_four"]
    return ("find_customer_by_phone", {"phone": data["phone"]}), ("verify_identity", proof)


def hidden(name: str, arguments: dict[str, Any]) -> tuple[Call, Call]:
    """Return the calls that unlock a tool and use it."""
    return ("unlock_tool", {"name": name}), (name, arguments)


def action(call: Call, **parts: Any) -> dict[str, Any]:
    """Return a call as a knob holds it."""
    return {"name": call[0], "arguments": call[1]} | parts


def actions(*calls: Call) -> list[dict[str, Any]]:
    """Return calls as a knob holds them."""
    return [action(call) for call in calls]


def refusal(customer: Customer, request: str, reason: str) -> Call:
    """Return the call that records a refusal."""
    return "record_refusal", {"customer_id": customer.id, "request": request, "reason": reason}


def dollars(cents: int) -> int | float:
    """Return an amount as tools take it: dollars, whole ones as an integer."""
    return cents // 100 if cents % 100 == 0 else cents / 100


def spoken(cents: int) -> str:
    """Return an amount as a customer says it."""
    return f"${cents / 100:,.0f}" if cents % 100 == 0 else f"${cents / 100:,.2f}"


def other_cards(customer: Customer, card: Mapping[str, Any]) -> list[str]:
    """Return the ids of the customer's other cards."""
    return [other["card_id"] for other in customer.cards if other["card_id"] != card["card_id"]]


def swap(card: Mapping[str, Any], others: list[str]) -> dict[str, Any]:
    """Return the knob that declares the first of the other cards to be taken for the right one, if any."""
    return {"swap": {card["card_id"]: others[0]}} if others else {}
