"""`write_report`: a run as one HTML file that people read, offline, on any screen.

========================  ========================================================================
module                    what it makes
========================  ========================================================================
`source`                  the records, the tasks that were played, and what is missing of them
`overview`                the numbers of the run
`episode`                 what is shown of one record; `difference` and `documents` are parts of it
`texts`                   texts that many episodes share, kept once
`page`                    the file: data, style and program in one page, written as a whole
`*.html`, `*.css`, `*.js`  the page itself
========================  ========================================================================

The same run and domain make the same bytes. Everything of the run is data to the page: it is embedded as JSON
in which no tag can end, reaches the screen as text alone, and the page's own policy lets nothing be loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_enterprise.errors import UsageError
from gym_enterprise.harness.report.episode import details, row
from gym_enterprise.harness.report.overview import overview
from gym_enterprise.harness.report.page import write_page
from gym_enterprise.harness.report.source import Source, look_up
from gym_enterprise.harness.report.texts import Texts, long_texts
from gym_enterprise.harness.results import Run, read_run

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain

__all__ = ["Report", "write_report"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written."""

    path: Path
    """The file."""
    size: int
    """Of the file, in bytes."""
    notes: tuple[str, ...]
    """What the report lacks, and why; the page says so too."""


def write_report(run: Run | Path | str, path: Path | str, domain: Domain | str | None = None) -> Report:
    """Write a run as one self-contained HTML file.

    It is for the owner of the run: it shows what players may not see, such as how the final state differs
    from the target. Episodes that are still being written are left out.

    Args:
        run: From `read_run`, or the run's folder.
        path: The file to write; it is replaced as a whole, and its folder made if it is not there.
        domain: The domain that was played, or its name; by default the one that the manifest names. If that
            one cannot be loaded, the report is made from the records alone.

    Returns:
        The file, its size, and what the report lacks.

    Raises:
        UsageError: The folder holds no run, the path is a folder, or the domain that was given is unknown or
            another one than was played.
        RunDamaged: A whole line of the run is not a record.

    Example:
        >>> write_report("runs/a", "runs/a/report.html").notes  # doctest: +SKIP
        ()
    """
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{target} is a folder: name the file to write, such as {target / 'report.html'}")
    source = look_up(run if isinstance(run, Run) else read_run(run), domain)
    texts = Texts(text for record in source.records for text in long_texts(record))
    found = overview(source)
    found["tasks"] = _tasks(source, texts)
    episodes = (details(record, source, texts) for record in source.records)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_page(target, found, episodes, texts)
    return Report(target, target.stat().st_size, source.notes)


def _tasks(source: Source, texts: Texts) -> list[dict[str, Any]]:
    """Describe every task of the run, with a line for each of its episodes, in the order of the manifest."""
    rows: dict[str, list[dict[str, Any]]] = {task_id: [] for task_id in source.hashes}
    planned = source.run.manifest["content"]["tasks"]
    trials = int(source.run.manifest["trials"])
    for number, record in enumerate(source.records):
        rows[record.task_id].append({"number": number, **row(record)})
    return [
        {
            "id": task_id,
            "hash": source.hashes[task_id],
            "episodes": sorted(episodes, key=lambda one: int(one["trial"])),
            "unplayed": max(0, trials - len(episodes)) if task_id in planned else 0,
            **_known(source, task_id, texts),
        }
        for task_id, episodes in rows.items()
    ]


def _known(source: Source, task_id: str, texts: Texts) -> dict[str, Any]:
    """Return what only the domain knows of a task; nothing when it does not."""
    task = source.tasks.get(task_id)
    if task is None or source.domain is None:
        return {}
    prompts = {seat: texts.keep(source.domain.view(task, seat).prompt) for seat in ("agent", "user")}
    return {
        "family": task.family,
        "split": task.split,
        "capabilities": list(task.capabilities),
        "seed": str(task.seed),
        "now": task.now,
        "prompts": prompts,
    }
