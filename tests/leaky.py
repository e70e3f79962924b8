"""Shops with defects that admission must find: an attack that scores, and a reference that fails."""

from __future__ import annotations

from gym_enterprise import Domain
from tests import shop


def make_domain() -> Domain:
    """Build a shop whose domain attack is the right answer, so that it scores 1."""
    return shop.make_domain(attacks=lambda task: {"answer": task.reference}, tasks={"train": [shop.task()]})


def make_broken_domain() -> Domain:
    """Build a shop whose reference costs 21.10 with 17.00 on the account (B004)."""
    call = {"name": "exchange_item", "arguments": {"order_id": "O1", "item": "sofa", "difference": 21.10}}
    return shop.make_domain(tasks={"train": [shop.task(reference=[call])]})
