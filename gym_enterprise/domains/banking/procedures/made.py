"""Ids that a solution makes on its way: found by playing it, since they follow from the task's seed."""

from __future__ import annotations

from functools import cache
from typing import Any

from gym_enterprise.dispatch import Dispatcher
from gym_enterprise.domain import Domain
from gym_enterprise.domains.banking.procedures.draft import Made
from gym_enterprise.errors import UsageError
from gym_enterprise.registry import load_domain
from gym_enterprise.tasks import Task
from gym_enterprise.world import World


def solved(fields: dict[str, Any]) -> Task:
    """Return the task of these fields, with literal ids in place of every `Made` in its reference.

    Args:
        fields: Those of a task, whose reference and knobs may hold a `Made` among the arguments of a call.

    Raises:
        UsageError: A call before a `Made` does not work, so that the procedure is wrong.
    """
    reference: list[dict[str, Any]] = fields["reference"]
    if not any(isinstance(value, Made) for call in reference for value in call["arguments"].values()):
        return Task.model_validate(fields)
    without = [call | {"arguments": {}} for call in reference]
    task = Task.model_validate(fields | {"reference": without})
    return Task.model_validate(fields | {"reference": _played(task, reference)})


def _played(task: Task, reference: list[dict[str, Any]]) -> list[dict[str, Any]]:
    domain, world = _bench()
    world.begin(task.state, now=task.now, seed=task.seed)
    dispatcher = Dispatcher(domain.toolsets, task, world)
    answers: dict[str, Any] = {}
    played = []
    for call in reference:
        arguments = {
            name: answers[value.tool][value.field] if isinstance(value, Made) else value
            for name, value in call["arguments"].items()
        }
        outcome = dispatcher.call(call.get("seat", "agent"), call["name"], arguments).to_dict()
        if not outcome["ok"]:
            raise UsageError(
                f"the procedure of {task.id} is wrong: {call['name']!r} fails: {outcome['error']['message']}"
            )
        answers[call["name"]] = outcome["result"]
        played.append(call | {"arguments": arguments})
    return played


@cache
def _bench() -> tuple[Domain, World]:
    domain = load_domain("banking")
    return domain, World(domain.image)
