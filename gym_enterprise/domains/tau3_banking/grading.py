"""Grading of the benchmark: its references may hold calls that are refused, and may change nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gym_enterprise.changes import ChangeSet
from gym_enterprise.dispatch import Dispatcher
from gym_enterprise.grading import Grader, begin
from gym_enterprise.tasks import Action, Task
from gym_enterprise.world import World


@dataclass(frozen=True)
class Fault:
    """A call of a reference that does not work."""

    index: int
    """Its place in the reference."""
    code: str
    """The error's code."""
    message: str
    """What the caller was told."""


def replay(dispatcher: Dispatcher, actions: Iterable[Action]) -> list[Fault]:
    """Run reference actions in order, without turns, and go on after those that fail.

    Args:
        dispatcher: Of an episode that has begun.
        actions: The actions.

    Returns:
        The calls that were refused or failed; empty for a sound reference.
    """
    faults = []
    for index, action in enumerate(actions):
        outcome = dispatcher.call(action.seat, action.name, action.arguments)
        if not outcome.ok:
            error = outcome.to_dict()["error"]
            faults.append(Fault(index, error["code"], error["message"]))
    return faults


class ReferenceGrader(Grader):
    """Exact state against the benchmark's references, faulty ones included."""

    def _target(self, task: Task, name: str, actions: Sequence[Action]) -> ChangeSet:
        return self._replayed(task, name, actions).changes()

    def _replayed(self, task: Task, name: str, actions: Sequence[Action]) -> World:
        if self._world is None:
            self._world = World(self._domain.image)
        begin(self._world, task)
        replay(Dispatcher(self._domain.toolsets, task, self._world), actions)
        return self._world
