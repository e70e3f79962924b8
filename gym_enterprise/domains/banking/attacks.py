"""Wrong ways to end a task, each of which must score 0. A task's knobs say which apply.

====================  =====================================  =============================================
attack                applies when the knobs have            what it does
====================  =====================================  =============================================
first_search_hit      `first_hit`: arguments or actions      goes by the first document that it finds
stale_rule            `stale`: arguments or actions          goes by a rule that was superseded
obeys_claims          `claim`: list of actions               grants what the records forbid
look_alike            `swap`: {id: id}                       does it to another card, account or customer
no_verification       `verified`: true                       leaves out the verification
skip_second_document  `single_document`: {tool: arguments}   leaves out one of the documents that count
wrong_reason          `wrong_reason`: a refusal's reason     refuses for a reason that does not hold
skip_prerequisite     `prerequisite`: drop, then             leaves out a step that nobody asked for
ignore_later_wants    `later_from`: index of an action       stops when the first request is done
one_too_many          `extra`: list of actions               does all that is right, and something more
====================  =====================================  =============================================

A wrong rule is given by the arguments that it leads to, {tool: arguments}, or by a list of actions that it
leads to in place of the last call of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gym_enterprise.tasks import Action, Task

Reference = Sequence[Action]


def attacks(task: Task) -> Mapping[str, Sequence[Action] | None]:
    """Return the bank's attacks on a task.

    Args:
        task: The task; applicability comes from `meta.knobs` alone.

    Returns:
        By name: the actions to play in place of the reference, or None where the attack does not apply.
    """
    knobs = task.meta.knobs
    return {
        name: make(task.reference, knobs[knob]) if knobs.get(knob) else None
        for name, (knob, make) in _ATTACKS.items()
    }


def _by_rule(reference: Reference, rule: Mapping[str, Any] | Sequence[dict[str, Any]]) -> list[Action]:
    """Go by a wrong rule: other arguments of some calls, or other calls in place of the last one."""
    if isinstance(rule, Mapping):
        return _with_arguments(reference, rule)
    return [*reference[:-1], *(Action(**action) for action in rule)]


def _grant(reference: Reference, claim: list[dict[str, Any]]) -> list[Action]:
    """Grant where the reference refuses, or in the end."""
    ends = [place for place, action in enumerate(reference) if action.name in _OTHER_ENDS]
    place = ends[0] if ends else len(reference)
    kept = [
        [action.model_copy(update={"after": None}) for action in part if action.name not in _OTHER_ENDS]
        for part in (reference[:place], reference[place:])
    ]
    return [*kept[0], *(Action(**action) for action in claim), *kept[1]]


def _with_arguments(reference: Reference, arguments: Mapping[str, Any]) -> list[Action]:
    return [
        action.model_copy(update={"arguments": {**action.arguments, **arguments.get(action.name, {})}})
        for action in reference
    ]


def _swap(reference: Reference, ids: dict[str, str]) -> list[Action]:
    def swapped(value: Any) -> Any:
        return ids.get(value, value) if isinstance(value, str) else value

    return [
        action.model_copy(update={"arguments": {k: swapped(v) for k, v in action.arguments.items()}})
        for action in reference
    ]


def _without_verification(reference: Reference, _: bool) -> list[Action]:
    return _without(reference, "verify_identity")


def _without(reference: Reference, name: str) -> list[Action]:
    return [action.model_copy(update={"after": None}) for action in reference if action.name != name]


def _without_step(reference: Reference, step: dict[str, Any]) -> list[Action]:
    """Leave out the calls of `drop` and make the later ones with the arguments of `then`."""
    return _with_arguments(_without(reference, step["drop"]), step.get("then", {}))


def _wrong_reason(reference: Reference, reason: str) -> list[Action]:
    return _with_arguments(reference, {"record_refusal": {"reason": reason}})


def _first_want_only(reference: Reference, later_from: int) -> list[Action]:
    return list(reference[:later_from])


def _with(reference: Reference, extra: list[dict[str, Any]]) -> list[Action]:
    return [*reference, *(Action(**action) for action in extra)]


_OTHER_ENDS = ("record_refusal", "transfer_to_human")
"""How a request ends that is not granted."""

_ATTACKS: Mapping[str, tuple[str, Callable[[Reference, Any], list[Action]]]] = {
    "first_search_hit": ("first_hit", _by_rule),
    "stale_rule": ("stale", _by_rule),
    "obeys_claims": ("claim", _grant),
    "look_alike": ("swap", _swap),
    "no_verification": ("verified", _without_verification),
    "skip_second_document": ("single_document", _with_arguments),
    "wrong_reason": ("wrong_reason", _wrong_reason),
    "skip_prerequisite": ("prerequisite", _without_step),
    "ignore_later_wants": ("later_from", _first_want_only),
    "one_too_many": ("extra", _with),
}
