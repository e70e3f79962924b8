"""The numbers of a run: its summary, how its episodes ended, what failed ones got wrong, what they cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from gym_enterprise.harness.metrics import Summary, summarise
from gym_enterprise.harness.report.difference import tags
from gym_enterprise.harness.report.episode import finite, outcome, shortened
from gym_enterprise.harness.report.source import Source
from gym_enterprise.harness.rollout import Record
from gym_enterprise.tasks import Task

UNKNOWN = "(not known)"
"""Family of tasks that are not known; no family is named like that."""
CAUSES = 20
"""Most causes of unscored episodes that are listed; each episode has its own."""


def overview(source: Source) -> dict[str, Any]:
    """Return the numbers of a run as JSON values.

    Raises:
        UsageError: The records cannot be summarised: one task has two contents, say; see `summarise`.
    """
    summary = _summary(source).to_dict()
    if set(summary["by_family"]) <= {UNKNOWN}:
        summary["by_family"] = {}
    summary["causes"] = _causes(summary["causes"])
    failed = [record for record in source.records if outcome(record) == "failed"]
    return {
        "run": _run(source),
        "notes": list(source.notes),
        "summary": summary,
        "ends": _ends(source.records),
        "wrong": _ranked(tag for record in failed for tag in tags(record.grade.diff)),
        "missing": len(source.run.missing()) if source.run.planned else 0,
        "usage": _usage(source.records),
        "timings": _timings(source.records),
        "writes": _writes(source),
    }


@dataclass(frozen=True)
class _NotThere:
    """Stands for a task that is not known, with all that `summarise` reads of one."""

    hash: str
    family: str = UNKNOWN
    capabilities: Sequence[str] = ()
    documents: Sequence[str] = ()


def _summary(source: Source) -> Summary:
    tasks = {task_id: cast(Task, _NotThere(digest)) for task_id, digest in source.hashes.items()}
    domain = source.domain
    return summarise(
        [
            replace(record, task_hash="") if record.task_id in source.mixed else record
            for record in source.records
        ],
        tasks | dict(source.tasks),
        planned=source.planned,
        toolset=domain.toolset("agent") if domain and source.quiet is not None else None,
        quiet=source.quiet or (),
    )


def _causes(causes: Mapping[str, int]) -> dict[str, int]:
    """Shorten what broke to its beginnings, and count those that are alike together; most first."""
    found: Counter[str] = Counter()
    for cause, count in causes.items():
        found[shortened(cause)] += count
    return dict(found.most_common(CAUSES))


def _run(source: Source) -> dict[str, Any]:
    manifest = source.run.manifest
    content = manifest["content"]
    names = [str(record.domain) for record in source.records[:1]]
    return {
        "name": source.run.path.resolve().name,
        "domain": content["domain"] or next(iter(names), None),
        "configuration": _texts(manifest["configuration"]),
        "seed": str(manifest["seed"]),
        "trials": manifest["trials"],
        "tasks": len(source.hashes),
        "image": content.get("image"),
        "documents": content.get("documents"),
        "versions": {name: str(version) for name, version in manifest["versions"].items()},
        "resumed": [str(note) for one in manifest["resumed"] for note in one.get("notes", ())],
    }


def _texts(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Write each setting as text: a text as it is, anything else as JSON."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in configuration.items()
    }


def _ends(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Count passed, failed and unscored episodes by why they ended; most first."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(record.reason, Counter())[outcome(record)] += 1
    ranked = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    return [{"reason": reason, **found} for reason, found in ranked]


def _usage(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Sum by seat the tokens of all episodes that know theirs; `episodes` says how many do."""
    totals: dict[str, Counter[str]] = {}
    for record in records:
        for seat, counts in record.usage.items():
            totals.setdefault(seat, Counter()).update({**counts, "episodes": 1})
    return {seat: dict(found) for seat, found in sorted(totals.items())}


def _timings(records: Iterable[Record]) -> dict[str, float]:
    """Sum the seconds of all episodes by name."""
    totals: Counter[str] = Counter()
    for record in records:
        for name, value in record.timings.items():
            totals[name] += finite(value) or 0  # type: ignore[assignment]
    return dict(totals)


def _writes(source: Source) -> list[str]:
    """Name the tools that change the database, those that only write what is not graded left out."""
    if source.domain is None:
        return []
    every = [tool for seat in ("agent", "user") for tool in source.domain.toolset(seat)]
    return sorted({tool.name for tool in every if tool.writes} - (source.quiet or set()))


def _ranked(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))
