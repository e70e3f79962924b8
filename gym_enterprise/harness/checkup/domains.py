"""The gym works here: a domain loads, one reference earns 1, silence earns 0, and how long that takes."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import TYPE_CHECKING, Any

from gym_enterprise.errors import DataNotFound, GymEnterpriseError
from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.harness.rollout import Record
    from gym_enterprise.tasks import Task

RESETS = 20
"""How often an episode is reset to see how long that takes."""


def domain_findings(name: str) -> Iterator[Finding]:
    """Check a domain: what is in it, and that a task of it is rewarded as it should be.

    Args:
        name: As for `load_domain`.
    """
    from gym_enterprise.impostors import Silent
    from gym_enterprise.registry import load_domain

    check = f"domain {name}"
    began = perf_counter()
    try:
        domain = load_domain(name)
        content = _content(domain)
        task = first_task(domain)
    except (GymEnterpriseError, ImportError) as error:
        yield failure(check, error, "give --domain a name or an entry point module:function that works")
        return
    yield ok(check, f"{content}; loaded in {perf_counter() - began:.2f} s")
    yield _rewarded(f"{check}: reference", domain, task, "oracle", 1.0)
    yield _rewarded(f"{check}: silence", domain, task, Silent, 0.0)
    yield ok(f"{check}: time", _times(domain, task))


def first_task(domain: Domain) -> Task:
    """Return the first task of a domain whose reward takes no judge.

    Raises:
        TaskError: There is none, or the tasks cannot be read.
    """
    from gym_enterprise.errors import TaskError

    for tasks in domain.tasks.values():
        for task in tasks.values():
            if not task.meta.knobs.get("needs_judge"):
                return task
    raise TaskError(f"the domain {domain.name!r} has no task that can be rewarded: write one")


def play(domain: Domain, task: Task, agent: Any, user: Any = None, *, audit: bool = True) -> Record:
    """Play a task once, by default graded by both graders; the user is by default the task's own."""
    from gym_enterprise.episode import Episode
    from gym_enterprise.harness.rollout import run_episode

    user = user or ("scripted" if task.user.script else "replay")
    return run_episode(Episode(domain, task), agent, user, audit=audit)


def tau3_finding() -> Iterator[Finding]:
    """Say where the data of the public benchmark is, which does not come with this package."""
    from gym_enterprise.domains.tau3_banking.data import VARIABLE, find_folder

    cure = f"set {VARIABLE} to a clone of https://github.com/sierra-research/tau2-bench"
    if not os.environ.get(VARIABLE):
        yield ok("tau3 data", f"{VARIABLE} names none, so there is no Tau3Banking-v0", cure)
        return
    try:
        folder = find_folder()
    except DataNotFound as error:
        yield failed("tau3 data", f"{VARIABLE}: {str(error).partition(';')[0]}", cure)
        return
    yield ok("tau3 data", f"{folder}, named by {VARIABLE}")


def _content(domain: Domain) -> str:
    counts = {split: len(tasks) for split, tasks in domain.tasks.items()}
    splits = ", ".join(f"{split} {count}" for split, count in counts.items())
    return (
        f"{sum(counts.values())} tasks ({splits}), {len(domain.documents)} documents, "
        f"{len(domain.image.tables)} tables in image {domain.image.digest[:12]}"
    )


def _rewarded(check: str, domain: Domain, task: Task, agent: Any, wanted: float) -> Finding:
    record = play(domain, task, agent)
    if record.reward == wanted:
        return ok(check, f"reward {record.reward} in task {task.id}, by both graders")
    return failed(
        check,
        f"reward {record.reward} in task {task.id}, not {wanted}: {record.error or record.grade.reason}",
        f"gym-enterprise tasks check {domain.name} --task {task.id}",
    )


def _times(domain: Domain, task: Task) -> str:
    from gym_enterprise.episode import Episode

    episode = Episode(domain, task)
    reset = statistics.median(_milliseconds(episode.reset) for _ in range(RESETS))
    episode.close()
    whole = _milliseconds(lambda: play(domain, task, "oracle", audit=False))
    return f"a reset {reset:.2f} ms, an episode of the oracle {whole:.1f} ms"


def _milliseconds(action: Callable[[], object]) -> float:
    began = perf_counter()
    action()
    return 1000 * (perf_counter() - began)
