"""Ends other than doing what was asked: a recorded refusal, and a hand-over to a person."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.preconditions import existing_customer, is_verified, require_verified
from gym_enterprise.domains.banking.vocabulary import CustomerId, HandoffReason, RefusalReason, RefusedRequest
from gym_enterprise.tools import ToolError, tool
from gym_enterprise.world import World

_SAME = (
    "SELECT 1 FROM refusals WHERE customer_id = ? AND request = ? AND reason = ? AND recorded_on = ? LIMIT 1"
)
_ANYBODY_VERIFIED = "SELECT 1 FROM verifications WHERE verified_at = ? LIMIT 1"


@tool(writes=True)
def record_refusal(
    world: World, customer_id: CustomerId, request: RefusedRequest, reason: RefusalReason
) -> dict[str, Any]:
    """Record that a request was refused, and why; every refusal is recorded.

    Args:
        customer_id: The customer.
        request: What was asked for.
        reason: The rule that forbids it.
    """
    existing_customer(world, customer_id)
    if reason != "identity_not_verified":
        require_verified(world, customer_id)
    elif is_verified(world, customer_id):
        raise ToolError("verified", "The customer was verified in this conversation.")
    if world.one(_SAME, customer_id, request, reason, world.today):
        raise ToolError("already_recorded", "This refusal is already recorded.")
    refusal = world.insert(
        "refusals", customer_id=customer_id, request=request, reason=reason, recorded_on=world.today
    )
    return {"refusal_id": refusal}


@tool(writes=True, terminal=True)
def transfer_to_human(
    world: World, reason: HandoffReason, summary: str, customer_id: CustomerId | None = None
) -> dict[str, Any]:
    """Hand the conversation over to a person, which ends it.

    Args:
        reason: Why a person has to take over.
        summary: What the colleague should know, in your own words.
        customer_id: The customer, when it is known who it is.
    """
    if customer_id is not None:
        existing_customer(world, customer_id)
    handoff = world.insert(
        "handoffs",
        customer_id=customer_id,
        reason=reason,
        verified=int(world.one(_ANYBODY_VERIFIED, world.now) is not None),
        created_on=world.today,
        summary=summary,
    )
    return {"handoff_id": handoff}
