"""`evaluate`: play what a run is missing, and summarise it; what `gym-enterprise eval` does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from gym_enterprise.domain import Domain
from gym_enterprise.harness.batch import Batch, Job
from gym_enterprise.harness.evidence import quiet_tools
from gym_enterprise.harness.fingerprints import fingerprint
from gym_enterprise.harness.metrics import Summary, summarise
from gym_enterprise.harness.results import Run, RunWriter, open_run
from gym_enterprise.harness.rollout import Record
from gym_enterprise.seating import check_player
from gym_enterprise.tasks import Task

_log = logging.getLogger("gym_enterprise")


async def evaluate(
    out: Path | str,
    domain: Domain,
    tasks: Iterable[Task],
    agent: Any,
    user: Any = "scripted",
    *,
    trials: int = 1,
    seed: int = 0,
    resume: bool = False,
    max_steps: int | None = None,
    audit: bool = False,
    configuration: dict[str, Any] | None = None,
    watch: Callable[[RunWriter, Batch, Record | None], object] = lambda run, batch, record: None,
    **settings: Any,
) -> Summary:
    """Play each task a number of times into a run on disk, and summarise it.

    Args:
        out: The run's folder. With `resume`, what it holds already is not played again.
        domain: The domain.
        tasks: The tasks.
        agent: Player of the agent's seat. One that is not a name should be described in `configuration`.
        user: Player of the user's seat.
        trials: How often each task is played.
        seed: Of the run.
        resume: Go on with the run in `out`, with the same settings and players: see `fingerprint`.
        max_steps: Budget of an episode; by default the task's, then the domain's.
        audit: Grade with both graders.
        configuration: What else shapes the run, as JSON values, for the manifest.
        watch: Called before the first episode, with None, and then with each record that was saved.
        settings: Further arguments of `Batch` that change no scored episode, such as `concurrency` and
            deadlines; a resumed run may have others.

    Returns:
        The summary of all records, also those of earlier runs.

    Raises:
        UsageError: An argument is not one, or the folder cannot be used: see `open_run`.

    Example:
        >>> asyncio.run(evaluate("runs/a", domain, tasks, "oracle")).headline  # doctest: +SKIP
        'pass@1 100.0% (95% interval 63.1% to 100.0%); 8 of 8 scored episodes passed'
    """
    check_player(agent, "agent")
    check_player(user, "user")
    by_id = {task.id: task for task in tasks}
    shape = {"agent": _name(agent), "user": _name(user), "max_steps": max_steps, "audit": audit}
    shape |= configuration or {}
    opened = open_run(
        out,
        shape,
        resume,
        seed=seed,
        trials=trials,
        domain=domain,
        tasks=list(by_id.values()),
        players={"agent": fingerprint(agent), "user": fingerprint(user)},
    )
    with opened as run:
        jobs = [Job(by_id[task_id], trial) for task_id, trial in run.missing()]
        batch = Batch(domain, jobs, agent, user, seed=seed, max_steps=max_steps, audit=audit, **settings)
        watch(run, batch, None)

        def save(_: int, record: Record) -> None:
            run.append(record)
            watch(run, batch, record)

        await batch.run(save)
        return _summary(run, domain, by_id, run.planned)


def summarise_run(run: Run, domain: Domain) -> Summary:
    """Summarise a run that is on disk, finished or not.

    Args:
        run: From `read_run`.
        domain: The domain that was played.

    Raises:
        UsageError: A task is not there any more, or has another content now.
    """
    records = run.records()
    names = dict.fromkeys([*run.manifest["content"]["tasks"], *(record.task_id for record in records)])
    return _summary(records, domain, {name: domain.task(name) for name in names}, run.planned)


def _summary(
    records: Iterable[Record], domain: Domain, tasks: Mapping[str, Task], planned: int | None
) -> Summary:
    """Summarise records, with look-before-act where the references of the tasks can be played."""
    evidence: dict[str, Any] = {}
    try:
        evidence = {"quiet": quiet_tools(domain, tasks.values()), "toolset": domain.toolset("agent")}
    except Exception as error:  # whatever it is, it must not cost the summary of what was played
        _log.info("look before act is left out, as the references cannot be played: %s", error)
    return summarise(records, tasks, planned=planned, **evidence)


def _name(player: Any) -> str:
    if isinstance(player, str):
        return player
    return f"{getattr(player, '__module__', '')}.{getattr(player, '__qualname__', type(player).__qualname__)}"
