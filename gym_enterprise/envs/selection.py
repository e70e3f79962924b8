"""Which tasks an environment plays: a split, ids, or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gym_enterprise.domain import Domain
from gym_enterprise.errors import UsageError
from gym_enterprise.tasks import Task, TaskSet, load_tasks

Selection = str | Path | Sequence[str]
"""A split's name, a task's id, a list of ids, or the path of a JSONL file."""


def select_tasks(domain: Domain, tasks: Selection) -> tuple[Task, ...]:
    """Return the tasks that an environment draws from.

    Args:
        domain: The domain.
        tasks: A split's name, one id, a list of ids (from any split), or the path of a JSONL file: a `Path`,
            or text that ends in ".jsonl" or has a slash.

    Returns:
        At least one task, admitted to the domain.

    Raises:
        UnknownTask: No task of the domain has such an id.
        UsageError: It is none of these, or names no task at all.
        TaskError: The file has a task that does not fit the domain.
    """
    chosen: list[Task]
    if isinstance(tasks, str) and tasks in domain.tasks:
        chosen = list(domain.tasks[tasks].values())
    elif isinstance(tasks, Path) or (isinstance(tasks, str) and _is_path(tasks)):
        read = load_tasks(tasks, domain=domain.name)
        chosen = list(TaskSet([domain.admit(task) for task in read], str(tasks)).values())
    elif isinstance(tasks, str):
        chosen = [domain.task(tasks)]
    elif isinstance(tasks, list | tuple):
        chosen = [domain.task(task_id) for task_id in tasks]
    else:
        raise UsageError(
            f"tasks should be a split, an id, a list of ids or the path of a JSONL file, got {tasks!r}"
        )
    if not chosen:
        raise UsageError(f"tasks={tasks!r} selects no task; splits of {domain.name!r}: {_splits(domain)}")
    return tuple(chosen)


def _is_path(text: str) -> bool:
    return text.endswith(".jsonl") or "/" in text or os.sep in text


def _splits(domain: Domain) -> str:
    return ", ".join(f"{split} ({len(tasks)} tasks)" for split, tasks in domain.tasks.items())
