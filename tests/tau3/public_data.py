"""The benchmark with its own data, for the tests that need it; they are skipped where it is not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from gym_enterprise import Domain, Episode, Grade, Task, load_domain

DATA = Path(os.environ.get("TAU3_BANKING_DATA", "nowhere"))  # set by tests/conftest.py where it can be

needs_data = pytest.mark.skipif(
    not (DATA / "db.json").is_file(),
    reason="the benchmark's data is not here: set TAU3_BANKING_DATA to a folder with db.json and tasks/",
)


def benchmark(retrieval: str = "bm25_grep") -> Domain:
    """Load the benchmark once."""
    return load_domain("tau3_banking", data_dir=DATA, retrieval=retrieval)


def tasks() -> Mapping[str, Task]:
    """Return all its tasks."""
    return benchmark().tasks["test"]


@cache
def _episode() -> Episode:
    return Episode(benchmark(), next(iter(tasks().values())))


def fresh(task: Task) -> Episode:
    """Return an episode of a task, at its start; the next call ends it."""
    _episode().reset(task)
    return _episode()


def played(task: Task, *calls: tuple[str, str, dict[str, object]]) -> Grade:
    """Make calls (seat, tool, arguments) in a fresh episode and grade it, with both graders."""
    episode = fresh(task)
    for seat, name, arguments in calls:
        episode.dispatcher.call(seat, name, arguments)  # type: ignore[arg-type]
    return episode.grade(audit=True)
