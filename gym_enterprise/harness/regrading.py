"""`regrade_run`: grade every scored episode of a run again, and say what differs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gym_enterprise.domain import Domain
from gym_enterprise.errors import GymEnterpriseError, UsageError
from gym_enterprise.harness.results import Run
from gym_enterprise.harness.rollout import Record, regrade
from gym_enterprise.registry import load_domain


@dataclass(frozen=True, slots=True)
class Difference:
    """An episode whose grade is another now."""

    task_id: str
    trial: int
    what: str
    """Saved and new grade, or why there is no new one."""


@dataclass(frozen=True, slots=True)
class Regrading:
    """What grading a run again came to."""

    graded: int
    """Episodes that were graded again."""
    unscored: int
    """Episodes without a saved reward, which were left out."""
    differences: tuple[Difference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self) | {"differences": [asdict(one) for one in self.differences]}


def regrade_run(run: Run, domain: Domain | str | None = None) -> Regrading:
    """Grade the scored episodes of a run again, with both graders.

    Args:
        run: From `read_run`.
        domain: The domain or its name; by default the one that the manifest names.

    Returns:
        How many were graded, and each whose reward, reason or diff differs; graders that disagree, and tasks
        that have changed since, are among the differences.

    Raises:
        UsageError: The run names no domain, and none is given.

    Example:
        >>> regrade_run(read_run("runs/a")).differences  # doctest: +SKIP
        ()
    """
    loaded = domain if isinstance(domain, Domain) else load_domain(domain or _domain_name(run))
    graded = unscored = 0
    differences = []
    for record in run:
        if record.reward is None:
            unscored += 1
            continue
        graded += 1
        if what := _difference(loaded, record):
            differences.append(Difference(record.task_id, record.trial, what))
    return Regrading(graded, unscored, tuple(differences))


def _difference(domain: Domain, record: Record) -> str | None:
    try:
        grade = regrade(domain, domain.task(record.task_id), record, audit=True)
    except GymEnterpriseError as error:
        return f"{type(error).__name__}: {error}"
    for name in ("reward", "reason", "diff"):
        saved, new = record.grade.to_dict()[name], grade.to_dict()[name]
        if saved != new:
            return f"{name} was {saved!r}, is {new!r}"
    return None


def _domain_name(run: Run) -> str:
    if not run.domain:
        raise UsageError(f"{run.path} does not say which domain was played: give it, with --domain")
    return run.domain
