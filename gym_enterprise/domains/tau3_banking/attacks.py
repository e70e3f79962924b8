"""Attacks on the benchmark's tasks: what its own grading lets through, tried on every task."""

from __future__ import annotations

from gym_enterprise.domain import Attacks
from gym_enterprise.domains.tau3_banking.grading import parts
from gym_enterprise.tasks import Action, Task


def attacks(task: Task) -> Attacks:
    """Return sequences of calls that should not be rewarded; None where one does not apply.

    ==============  ===================================================================================
    attack          calls
    ==============  ===================================================================================
    empty_calls     the agent calls each tool that the reference names once, without arguments
    wrong_party     the reference, with the user's calls made by the agent
    half_acted      all but the last call of the reference, where calls are rewarded and not the state
    ==============  ===================================================================================

    Args:
        task: A task of the benchmark; its parts and its reference decide what applies.
    """
    reference, rewarded = task.reference, parts(task)
    names = dict.fromkeys(action.name for action in reference)
    by_calls = "ACTION" in rewarded
    by_calls_alone = by_calls and "DB" not in rewarded
    has_user_calls = any(action.seat == "user" for action in reference)
    return {
        "empty_calls": [Action(name=name) for name in names] if by_calls else None,
        "wrong_party": [Action(name=a.name, arguments=a.arguments) for a in reference]
        if has_user_calls
        else None,
        "half_acted": reference[:-1] if by_calls_alone and len(reference) > 1 else None,
    }
