"""`Source`: a run's records, the domain and tasks that were played, and a note on whatever is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from gym_enterprise.domain import Domain
from gym_enterprise.errors import UnknownTask, UsageError
from gym_enterprise.harness.evidence import quiet_tools
from gym_enterprise.harness.manifest import documents_hash
from gym_enterprise.harness.report.library import Library
from gym_enterprise.harness.results import Run
from gym_enterprise.harness.rollout import Record
from gym_enterprise.registry import load_domain
from gym_enterprise.tasks import Task

_MOST_NAMED = 5
"""Most tasks that one note names."""


@dataclass(frozen=True)
class Source:
    """What a report is made from."""

    run: Run
    records: tuple[Record, ...]
    """In order of their first attempt."""
    hashes: Mapping[str, str]
    """By task, of those planned and those with a record, the hash of its content; empty when unknown."""
    domain: Domain | None
    """The domain that was played; None when it could not be loaded."""
    tasks: Mapping[str, Task]
    """By id, the tasks whose content is known to be what was played."""
    mixed: frozenset[str]
    """Tasks of which a record has another hash than the manifest, or than another record."""
    notes: tuple[str, ...]
    """What is missing, and why."""
    quiet: frozenset[str] | None
    """Tools that write nothing graded; see `quiet_tools`. None when that cannot be found out."""

    @property
    def planned(self) -> int:
        """Episodes that the run is meant to have; those it has when the manifest does not say."""
        return max(self.run.planned or 0, len(self.records))

    @cached_property
    def library(self) -> Library | None:
        """The domain's documents; None without a domain."""
        return Library(self.domain.documents) if self.domain else None


def look_up(run: Run, domain: Domain | str | None = None) -> Source:
    """Read a run's records and find what was played.

    Args:
        run: From `read_run`.
        domain: The domain or its name; by default the one that the manifest names.

    Raises:
        UsageError: The domain that was given is unknown, or another one than was played.
    """
    records = tuple(run)
    hashes = dict(run.manifest["content"]["tasks"])
    mixed: set[str] = set()
    for record in records:
        known = hashes[record.task_id] = hashes.get(record.task_id) or record.task_hash
        if record.task_hash not in ("", known):
            mixed.add(record.task_id)
    played, notes = _domain(run, records, domain)
    tasks, lost = _tasks(played, hashes, mixed) if played else ({}, [])
    changed = _changed(played, run) if played else []
    quiet, unplayable = _quiet(played, tasks) if played else (None, [])
    found = (*_unfinished(run), *notes, *changed, *lost, *unplayable)
    return Source(run, records, hashes, played, tasks, frozenset(mixed), found, quiet)


def _domain(
    run: Run, records: tuple[Record, ...], given: Domain | str | None
) -> tuple[Domain | None, list[str]]:
    name = run.manifest["content"]["domain"] or next((record.domain for record in records), None)
    if given is not None:
        domain = given if isinstance(given, Domain) else load_domain(given)
        if name not in (None, domain.name):
            raise UsageError(f"{run.path} is a run of the domain {name!r}, not of {domain.name!r}")
        return domain, []
    named = run.domain or name
    without = "families, capabilities, system prompts, documents of the references and look-before-act"
    if not isinstance(named, str):
        return None, [f"The run does not name its domain (give it, with --domain): {without} are not shown."]
    try:
        return load_domain(named), []
    except Exception as error:  # somebody's module, which may raise anything
        why = f"{type(error).__name__}: {error}"
        return None, [f"The domain {named!r} could not be loaded ({why}): {without} are not shown."]


def _tasks(
    domain: Domain, hashes: Mapping[str, str], mixed: Collection[str]
) -> tuple[dict[str, Task], list[str]]:
    found: dict[str, Task] = {}
    lost: dict[str, list[str]] = {}
    for task_id, wanted in hashes.items():
        if task_id in mixed:
            what = "Tasks whose content has another hash in a record than in the manifest or another record"
            lost.setdefault(what, []).append(task_id)
            continue
        try:
            task = domain.task(task_id)
        except UnknownTask:
            lost.setdefault(f"Tasks that the domain {domain.name!r} does not have", []).append(task_id)
        except Exception as error:  # whatever it is, it must not cost the report of what was played
            why = f"{type(error).__name__}: {error}"
            lost.setdefault(f"Tasks that could not be read ({why})", []).append(task_id)
        else:
            if wanted in ("", task.hash):
                found[task_id] = task
            else:
                lost.setdefault("Tasks that have changed since they were played", []).append(task_id)
    without = "their families, capabilities, system prompts and documents are not shown"
    return found, [f"{what}: {_some(names)}; {without}." for what, names in lost.items()]


def _quiet(domain: Domain, tasks: Mapping[str, Task]) -> tuple[frozenset[str] | None, list[str]]:
    try:
        return quiet_tools(domain, tasks.values()), []
    except Exception as error:  # whatever it is, it must not cost the report of what was played
        why = f"{type(error).__name__}: {error}"
        return None, [f"The references of the tasks cannot be played ({why}): look-before-act is not shown."]


def _changed(domain: Domain, run: Run) -> list[str]:
    content = run.manifest["content"]
    notes = []
    if content.get("image") not in (None, domain.image.digest):
        notes.append("The domain's initial database is another one now than when the run was made.")
    if content.get("documents") not in (None, documents_hash(domain)):
        notes.append("The domain's documents are others now than when the run was made.")
    return notes


def _unfinished(run: Run) -> list[str]:
    notes = []
    if _torn(run):
        notes.append(
            f"The last line of {run.file.name} is not finished: it is being written, or was cut short. Its "
            "episode is left out."
        )
    if replaced := run.lines - len(run):
        notes.append(f"{replaced} earlier attempts that broke, and were played again, are left out.")
    return notes


def _torn(run: Run) -> bool:
    if not run.file.exists() or not run.file.stat().st_size:
        return False
    with run.file.open("rb") as file:
        file.seek(-1, 2)
        return file.read() != b"\n"


def _some(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
