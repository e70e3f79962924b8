"""`Outcomes`: trials scored and passed, task by task; what every metric begins with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from gym_enterprise.errors import UsageError


class ScoredEpisode(Protocol):
    """What counting passes reads of a record, such as `Record`."""

    @property
    def task_id(self) -> str:
        """The task."""
        ...

    @property
    def task_hash(self) -> str:
        """Hash of the task's content; empty when unknown."""
        ...

    @property
    def trial(self) -> int:
        """Number of the trial."""
        ...

    @property
    def reward(self) -> float | None:
        """The reward; None when the episode is not scored."""
        ...


@dataclass(frozen=True)
class Outcomes:
    """Trials of each task."""

    attempted: int
    """All records."""
    scored: dict[str, tuple[int, int]]
    """By task, trials scored and passed; a task without a scored trial is not among them."""
    hashes: dict[str, str]
    """By task, the hash of its content, where it is known."""

    @property
    def episodes(self) -> int:
        """Scored episodes of all tasks."""
        return sum(n for n, _ in self.scored.values())

    @property
    def passed(self) -> int:
        """Passed episodes of all tasks."""
        return sum(c for _, c in self.scored.values())

    @property
    def rates(self) -> list[float]:
        """Pass rate of each task with a scored trial."""
        return [c / n for n, c in self.scored.values()]


def passed(record: ScoredEpisode) -> bool:
    """Say whether an episode passed: its reward is 1."""
    return record.reward == 1.0


def outcomes(records: Iterable[ScoredEpisode]) -> Outcomes:
    """Count trials by task.

    Args:
        records: Each (task, trial) once, as `Run.records` gives them.

    Returns:
        The counts; tasks in the order in which they first appear.

    Raises:
        UsageError: A (task, trial) stands twice, one task has two contents, or a reward is not a number.
    """
    seen: set[tuple[str, int]] = set()
    scored: dict[str, tuple[int, int]] = {}
    hashes: dict[str, str] = {}
    for record in records:
        key = (record.task_id, record.trial)
        if key in seen:
            raise UsageError(
                f"task {key[0]!r} trial {key[1]} stands twice: give each once, as read_run().records() does"
            )
        seen.add(key)
        if record.task_hash and hashes.setdefault(key[0], record.task_hash) != record.task_hash:
            raise UsageError(f"task {key[0]!r} has two contents in one run: its trials cannot be averaged")
        if record.reward is None:
            continue
        if not math.isfinite(record.reward):
            raise UsageError(
                f"task {key[0]!r} trial {key[1]} has the reward {record.reward}: it should be a number, or "
                "None when the episode is not scored"
            )
        n, c = scored.get(key[0], (0, 0))
        scored[key[0]] = (n + 1, c + passed(record))
    return Outcomes(len(seen), scored, hashes)
