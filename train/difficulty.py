"""Which tasks to draw: those that always or never succeed teach nothing, and are drawn less."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from gym_enterprise.errors import UsageError
from train.config import Difficulty

LEAST = 2.0**-54
"""In place of the 0 that is drawn once in 2**53 times."""


class TaskSampler:
    """Draws tasks at random, by what is known of their pass rates.

    A task has s passes and n rollouts, in which older ones count less. Its pass rate is estimated as
    p = (s + 1/2) / (n + 1), and its weight is floor + (1 - floor) * 4 p (1 - p): 1 for a task that was never
    played or succeeds half of the time, and about `floor` for one that always or never does.

    Args:
        tasks: The content's hash of each task, by id.
        settings: Of the configuration.
        rng: Of the run.

    Raises:
        UsageError: There is no task.
    """

    def __init__(self, tasks: Mapping[str, str], settings: Difficulty, rng: random.Random) -> None:
        if not tasks:
            raise UsageError("there is no task to draw: choose another split")
        self._tasks, self._settings, self._rng = dict(tasks), settings, rng
        self._seen: dict[str, tuple[float, float]] = dict.fromkeys(tasks, (0.0, 0.0))

    def draw(self, count: int) -> list[str]:
        """Return so many tasks; none a second time before all were drawn once.

        The keys u ** (1 / weight) of Efraimidis and Spirakis (2006) draw without replacement by weight; these
        are their logarithms, as the powers themselves are all 0 where weights are small.
        """
        drawn: list[str] = []
        while len(drawn) < count:
            keys = {task: math.log(self._rng.random() or LEAST) / self.weight(task) for task in self._seen}
            drawn += sorted(keys, key=keys.__getitem__, reverse=True)[: count - len(drawn)]
        return drawn

    def weight(self, task_id: str) -> float:
        """Return the weight of a task, above 0 and at most 1."""
        passed, played = self._seen[task_id]
        rate = (passed + 0.5) / (played + 1)
        return self._settings.floor + (1 - self._settings.floor) * 4 * rate * (1 - rate)

    def update(self, task_id: str, rewards: Sequence[float]) -> None:
        """Count the rewards of one group; those of its earlier groups count less by `decay`."""
        if rewards:
            passed, played = (self._settings.decay * count for count in self._seen[task_id])
            self._seen[task_id] = passed + sum(reward == 1 for reward in rewards), played + len(rewards)

    def state_dict(self) -> dict[str, Any]:
        """Return the tasks, and the counts of each."""
        return {"tasks": self._tasks, "seen": {task: [*counts] for task, counts in self._seen.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`.

        Raises:
            UsageError: The tasks are others, or have another content.
        """
        before = state.get("tasks", self._tasks)  # earlier checkpoints have the counts alone
        if other := [task for task in {**before, **self._tasks} if before.get(task) != self._tasks.get(task)]:
            raise UsageError(
                f"{len(other)} tasks are new, gone or have another content since the checkpoint, such as "
                f"{other[0]!r}: give the same, or begin another run"
            )
        self._seen = {task: (passed, played) for task, (passed, played) in state.get("seen", state).items()}
