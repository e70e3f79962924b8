"""`Grade` and the grader: reward 1 exactly when the final state equals the state the reference produces."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gym_enterprise.changes import ChangeSet, Diff
from gym_enterprise.dispatch import Dispatcher
from gym_enterprise.errors import GraderDisagreement, TaskError
from gym_enterprise.naive import same_state
from gym_enterprise.tasks import Action, Task
from gym_enterprise.world import World

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.episode import Episode


MAX_TARGETS = 20_000
"""Most tasks whose targets one grader keeps; a target that was dropped is built again when asked for."""


@dataclass(frozen=True)
class Grade:
    """What an episode is worth, and why."""

    reward: float | None
    """1.0 or 0.0; None when it is not scored: the infrastructure failed, or a judge is needed and missing."""
    reason: str
    """One sentence."""
    diff: Mapping[str, Any] = field(default_factory=dict)
    """What the state lacks and has too much, against the nearest target: missing, extra, changed rows."""
    checks: Mapping[str, Any] = field(default_factory=dict)
    """What was looked at: `state` (equal or not), `ended`, `failed_calls`, `user_faults`."""

    @property
    def scored(self) -> bool:
        """Whether there is a reward."""
        return self.reward is not None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {
            "reward": self.reward,
            "reason": self.reason,
            "diff": dict(self.diff),
            "checks": dict(self.checks),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Grade:
        """Rebuild a grade from `to_dict`."""
        return cls(data["reward"], data["reason"], data["diff"], data["checks"])


class Grader:
    """Grades the episodes of one domain: exact state.

    Targets are built here only, on a world of the grader's own, and cached by the task's content: the last
    `MAX_TARGETS`.

    Args:
        domain: The domain.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._targets: dict[str, tuple[ChangeSet, ...]] = {}
        self._world: World | None = None
        self._lock = threading.RLock()

    def targets(self, task: Task) -> tuple[ChangeSet, ...]:
        """Return the change sets that are right for a task: the reference's and the alternatives'.

        Args:
            task: The task.

        Returns:
            The reference's changes first.

        Raises:
            TaskError: A reference action fails, or a target equals the initial state.
        """
        with self._lock:
            found = self._targets.get(task.hash)
            if found is None:
                found = tuple(self._target(task, name, actions) for name, actions in _sequences(task))
                if len(self._targets) >= MAX_TARGETS:
                    del self._targets[next(iter(self._targets))]
                self._targets[task.hash] = found
            return found

    def grade(self, episode: Episode, *, audit: bool = False) -> Grade:
        """Grade an episode as it stands.

        Args:
            episode: An episode of this domain, ended or not.
            audit: Also compare whole databases row by row, and insist that both graders agree.

        Returns:
            The grade.

        Raises:
            GraderDisagreement: The two graders differ.
        """
        checks: dict[str, Any] = {
            "ended": episode.done,
            "failed_calls": episode.errors,
            "user_faults": episode.faults,
        }
        if episode.unscored:
            return Grade(None, f"not scored: {episode.reason}", checks=checks)
        actual = episode.world.changes()
        targets = self.targets(episode.task)
        diff = min((actual.diff(target) for target in targets), key=len)
        equal = not diff
        checks["state"] = equal
        if audit:
            self._audit(episode, equal)
        if equal and episode.truncated and episode.truncation_reward == "zero":
            return Grade(0.0, f"truncated by {episode.reason}, which earns 0 here", diff.to_dict(), checks)
        reason = "the final state equals the target" if equal else _describe(diff)
        return Grade(float(equal), reason, diff.to_dict(), checks)

    def _target(self, task: Task, name: str, actions: Sequence[Action]) -> ChangeSet:
        world = self._replayed(task, name, actions)
        changes = world.changes()
        if not len(changes):
            raise TaskError(
                "the target equals the initial state, so doing nothing would be right: let the reference "
                "change graded rows (a refusal is a recorded refusal)",
                task_id=task.id,
                field=name,
            )
        return changes

    def _replayed(self, task: Task, name: str, actions: Sequence[Action]) -> World:
        if self._world is None:
            self._world = World(self._domain.image)
        begin(self._world, task)
        replay(Dispatcher(self._domain.toolsets, task, self._world), actions, task_id=task.id, field=name)
        return self._world

    def _audit(self, episode: Episode, equal: bool) -> None:
        with self._lock:
            naive = any(
                same_state(episode.world, self._replayed(episode.task, name, actions))
                for name, actions in _sequences(episode.task)
            )
        if naive != equal:
            raise GraderDisagreement(
                f"task {episode.task.id!r}: change sets say {'equal' if equal else 'different'}, "
                f"whole databases say {'equal' if naive else 'different'}"
            )


def begin(world: World, task: Task) -> None:
    """Start a task's episode in a world; raises `TaskError` naming the task when its state does not fit."""
    try:
        world.begin(task.state, now=task.now, seed=task.seed)
    except TaskError as error:
        raise TaskError(error.rule, task_id=task.id, field=error.field) from error


def replay(
    dispatcher: Dispatcher, actions: Iterable[Action], *, task_id: str, field: str = "reference"
) -> None:
    """Run reference actions in order through the dispatcher, without turns (`Exec` of the definition).

    Args:
        dispatcher: Of an episode that has begun.
        actions: The actions.
        task_id: For the error message.
        field: Where the actions stand in the task, for the error message.

    Raises:
        TaskError: An action fails, or one follows a terminal tool; the message has the tool's own words. A
            `Declined` call has not failed.
    """
    ended = False
    for index, action in enumerate(actions):
        where = f"{field}.{index}"
        if ended:
            raise TaskError("follows a call that ends the episode", task_id=task_id, field=where)
        outcome = dispatcher.call(action.seat, action.name, action.arguments)
        if outcome.counts:
            error = outcome.to_dict()["error"]
            raise TaskError(
                f"the {action.seat}'s call of {action.name!r} fails ({error['code']}): {error['message']}",
                task_id=task_id,
                field=where,
            )
        ended = outcome.ends


def replay_reference(episode: Episode) -> None:
    """Play a task's reference into an episode, without turns or messages.

    Args:
        episode: A fresh episode; its world is at the target afterwards.

    Raises:
        TaskError: A reference action fails.

    Example:
        >>> replay_reference(episode)  # doctest: +SKIP
        >>> episode.grade().reward  # doctest: +SKIP
        1.0
    """
    replay(episode.dispatcher, episode.task.reference, task_id=episode.task.id)


def _sequences(task: Task) -> list[tuple[str, Sequence[Action]]]:
    others = [(f"alternatives.{number}", actions) for number, actions in enumerate(task.alternatives)]
    return [("reference", task.reference), *others]


def _describe(diff: Diff) -> str:
    parts = [
        f"{len(rows)} {what}"
        for what, rows in (
            ("missing", diff.missing),
            ("extra", diff.extra),
            ("changed otherwise", diff.changed),
        )
        if rows
    ]
    return f"the final state differs from the target: rows {', '.join(parts)}"
