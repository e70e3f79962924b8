"""What the bank's policy demands, one module a family of tasks.

A procedure is a function `make(customer, draw) -> list[Draft]`: it begins with the calls that are right for
this customer, and writes the conversation, the records and the declared knobs around them. To add a family,
write such a module and name it in `FAMILIES`. A procedure that the customer does not suit returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from random import Random
from typing import Literal

from gym_enterprise.domains.banking.procedures import (
    bank_error_refund,
    cancel_card,
    change_contact,
    contact_and_limit,
    courtesy_refund,
    dispute_charge,
    due_day,
    empty_and_close,
    freeze_card,
    give_notice,
    hand_over,
    lower_limit,
    raise_limit,
    redeem_points,
    replace_card,
    travel_notice,
    unfreeze_card,
    unverified_caller,
)
from gym_enterprise.domains.banking.procedures.conduct import conduct_of
from gym_enterprise.domains.banking.procedures.draft import Draft
from gym_enterprise.domains.banking.procedures.made import solved
from gym_enterprise.domains.banking.procedures.people import SPLITS, Customer, Split, newcomer, residents
from gym_enterprise.errors import UsageError
from gym_enterprise.tasks import Task

__all__ = ["FAMILIES", "Draft", "Make", "split_named", "tasks"]

Make = Callable[[Customer, Random], list[Draft]]
FAMILIES: Mapping[str, Make] = {
    "freeze_card": freeze_card.make,
    "change_contact": change_contact.make,
    "lower_limit": lower_limit.make,
    "unfreeze_card": unfreeze_card.make,
    "courtesy_refund": courtesy_refund.make,
    "bank_error_refund": bank_error_refund.make,
    "replace_card": replace_card.make,
    "raise_limit": raise_limit.make,
    "dispute_charge": dispute_charge.make,
    "empty_and_close": empty_and_close.make,
    "give_notice": give_notice.make,
    "redeem_points": redeem_points.make,
    "travel_notice": travel_notice.make,
    "contact_and_limit": contact_and_limit.make,
    "cancel_card": cancel_card.make,
    "due_day": due_day.make,
    "hand_over": hand_over.make,
    "unverified_caller": unverified_caller.make,
}
"""By name of the family."""


def tasks(
    seed: int,
    n: int,
    families: Sequence[str] = (),
    *,
    split: Split = "train",
    customers: Literal["newcomers", "residents", "everybody"] = "newcomers",
    research: bool = True,
) -> list[Task]:
    """Make tasks of some families, as many of each.

    No two splits share a customer, and in a family each customer has one task, or one and its twins. A task
    does not change when more are made.

    Args:
        seed: Of all that is drawn at random.
        n: How many tasks.
        families: Names in `FAMILIES`; empty stands for all.
        split: Which split the tasks belong to.
        customers: Those of the bank's records, newcomers whom each task inserts, or the former and then
            the latter.
        research: Whether the reference searches and reads the documents before it acts.

    Returns:
        Tasks of the domain `banking`, the families in turn.

    Raises:
        UsageError: A family is unknown, or there are not enough residents.

    Example:
        >>> [task.id for task in tasks(1, 2, ["freeze_card", "lower_limit"])]
        ['freeze_card-train-newcomers-1-0', 'lower_limit-train-newcomers-1-0']
    """
    names = list(families) or list(FAMILIES)
    for name in names:
        if name not in FAMILIES:
            raise UsageError(f"there is no family {name!r}: use some of {', '.join(FAMILIES)}")
    streams = [_family(name, seed, split, customers, research) for name in names]
    made = []
    for number in range(n):
        task = next(streams[number % len(streams)], None)
        if task is None:
            raise UsageError(
                f"the bank's records have no more customers for {names[number % len(names)]} in {split!r} "
                f"after {number} tasks: make fewer, or use newcomers"
            )
        made.append(task)
    return made


def split_named(name: str) -> Split:
    """Return the split of that name, or raise `UsageError`."""
    for split in SPLITS:
        if split == name:
            return split
    raise UsageError(f"there is no split {name!r}: use one of {', '.join(SPLITS)}")


def _family(name: str, seed: int, split: Split, customers: str, research: bool) -> Iterator[Task]:
    """Yield the tasks of one family; newcomers never end."""
    for number, customer in enumerate(_customers(name, seed, split, customers)):
        draw = Random(f"{name}/{seed}/{split}/{number}")
        now = f"2026-03-{draw.randrange(2, 29):02d}T{draw.randrange(9, 18):02d}:{draw.randrange(60):02d}:00"
        customer = replace(customer, today=date.fromisoformat(now[:10]))
        who = "" if customers == "everybody" else f"{customers}-"
        root = f"{name}-{split}-{who}{seed}-{number}"
        drafts = FAMILIES[name](customer, draw)
        for place, draft in enumerate(drafts):
            twin = f"{root}-{drafts[0].variant}" if place else None
            identifier = f"{root}-{draft.variant}" if draft.variant else root
            yield _task(draft, name, split, identifier, twin, now, draw, research)


def _customers(name: str, seed: int, split: Split, customers: str) -> Iterator[Customer]:
    draw = Random(f"{name}/{seed}/{split}/{customers}")
    if customers != "newcomers":
        known = residents(split)
        yield from draw.sample(known, len(known))
    if customers == "residents":
        return
    met: set[str] = set()
    while True:
        customer = newcomer(split, draw)
        if customer.id not in met:
            met.add(customer.id)
            yield customer


def _task(
    draft: Draft,
    family: str,
    split: Split,
    identifier: str,
    twin: str | None,
    now: str,
    draw: Random,
    research: bool,
) -> Task:
    knobs = {"writes": 1, "verified": True, "customer": draft.customer.id, **draft.knobs}
    if draft.product:
        knobs["product"] = draft.product
    if conduct := conduct_of(draft):
        knobs["conduct"] = conduct
    return solved(
        {
            "id": identifier,
            "domain": "banking",
            "split": split,
            "family": family,
            "capabilities": draft.capabilities,
            "seed": draw.getrandbits(31),
            "now": now,
            "user": draft.user(draw),
            "state": draft.state(),
            "reference": list(draft.reference(research)),
            "documents": list(draft.documents.values()),
            "meta": {"knobs": knobs, "twin_of": twin},
            "notes": draft.notes,
        }
    )
