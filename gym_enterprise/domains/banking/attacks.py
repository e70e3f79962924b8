"""Wrong ways to end a task, each of which must score 0. A task's knobs say which apply.

====================  ====================================  ==============================================
attack                applies when the knobs have           what it does
====================  ====================================  ==============================================
grant_claim           `claim`: list of actions              grants what the records forbid
skip_second_document  `single_document`: {tool: arguments}  applies the rule of one document only
wrong_sibling         `swap`: {id: id}                      does it to another card, account or customer
skip_verification     `verified`: true                      leaves out the verification
wrong_reason          `wrong_reason`: a refusal's reason    refuses for a reason that does not hold
skip_prerequisite     `prerequisite`: drop, then            leaves out a step that nobody asked for
ignore_later_wants    `later_from`: index of an action      stops when the first request is done
one_too_many          `extra`: list of actions              does all that is right, and something more
====================  ====================================  ==============================================
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


def _grant_claim(reference: Reference, claim: list[dict[str, Any]]) -> list[Action]:
    granted = [Action(**action) for action in claim]
    kept = [
        action.model_copy(update={"after": None}) for action in reference if action.name != "record_refusal"
    ]
    return kept + granted


def _single_document(reference: Reference, arguments: dict[str, dict[str, Any]]) -> list[Action]:
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
    return _single_document(_without(reference, step["drop"]), step.get("then", {}))


def _wrong_reason(reference: Reference, reason: str) -> list[Action]:
    return _single_document(reference, {"record_refusal": {"reason": reason}})


def _first_want_only(reference: Reference, later_from: int) -> list[Action]:
    return list(reference[:later_from])


def _with(reference: Reference, extra: list[dict[str, Any]]) -> list[Action]:
    return [*reference, *(Action(**action) for action in extra)]


_ATTACKS: Mapping[str, tuple[str, Callable[[Reference, Any], list[Action]]]] = {
    "grant_claim": ("claim", _grant_claim),
    "skip_second_document": ("single_document", _single_document),
    "wrong_sibling": ("swap", _swap),
    "skip_verification": ("verified", _without_verification),
    "wrong_reason": ("wrong_reason", _wrong_reason),
    "skip_prerequisite": ("prerequisite", _without_step),
    "ignore_later_wants": ("later_from", _first_want_only),
    "one_too_many": ("extra", _with),
}
