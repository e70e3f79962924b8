"""`gym-enterprise tasks`: list, show, check and make a domain's tasks; print the schema of task files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from gym_enterprise.admission import Check
    from gym_enterprise.domain import Domain
    from gym_enterprise.tasks import Task

app = typer.Typer(no_args_is_help=True, help="List, show, check and make tasks.")

DOMAIN = typer.Argument(help='A domain\'s name, or an entry point "module:function".')
SPLIT = typer.Option(None, "--split", help="Only this split.")
FAULTS = {
    "reference": "Faults of references",
    "attack": "Attacks that score",
    "inverse": "Right ways that do not score",
}
"""What a failed check of each kind means."""
AS_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command(name="list")
def list_tasks(domain: str = DOMAIN, split: str = SPLIT, as_json: bool = AS_JSON) -> None:
    """List tasks by split."""
    rows = [
        {
            "id": task.id,
            "split": task.split,
            "family": task.family,
            "capabilities": list(task.capabilities),
            "actions": len(task.reference),
        }
        for task in _tasks(_load(domain), split)
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    from rich.table import Table

    table = Table(title=f"{len(rows)} task{'s' * (len(rows) != 1)} of {domain}")
    for name in ("id", "split", "family", "capabilities", "actions"):
        table.add_column(name, no_wrap=name == "id", overflow="fold")
    for row in rows:
        table.add_row(*(", ".join(v) if isinstance(v, list) else str(v) for v in row.values()))
    _console().print(table)


@app.command()
def show(domain: str = DOMAIN, task_id: str = typer.Argument(help="The task's id.")) -> None:
    """Print one task as JSON: for authors and reviewers, it holds the reference."""
    typer.echo(_load(domain).task(task_id).model_dump_json(indent=2, exclude_defaults=True))


@app.command()
def schema() -> None:
    """Print the JSON schema of a task: one such object a line makes a split."""
    from gym_enterprise.tasks import Task

    typer.echo(json.dumps(Task.model_json_schema(), indent=2))


@app.command()
def check(
    domain: str = DOMAIN,
    split: str = SPLIT,
    task_id: str = typer.Option(None, "--task", help="Only this task."),
    as_json: bool = AS_JSON,
) -> None:
    """Check that every reference scores 1, every attack 0, and every inverse 1; exit 1 on any failure."""
    from gym_enterprise.admission import summarise
    from gym_enterprise.errors import TaskError

    loaded = _load(domain)
    try:
        chosen = [loaded.task(task_id)] if task_id else _tasks(loaded, split)
    except TaskError as error:
        typer.echo(
            json.dumps({"failures": [str(error)]}) if as_json else f"refused: {error}", err=not as_json
        )
        raise typer.Exit(1) from None
    if not chosen:
        typer.echo(f"there are no tasks to check in {split or domain}", err=True)
        raise typer.Exit(1)
    checks = _run(loaded, chosen)
    summary = summarise(checks)
    failures = [one for one in checks if not one.ok]
    if as_json:
        typer.echo(
            json.dumps(
                {"tasks": len(chosen), "summary": summary, "failures": [one.to_dict() for one in failures]},
                indent=2,
            )
        )
    else:
        _print(domain, len(chosen), summary, failures)
    raise typer.Exit(1 if failures else 0)


@app.command()
def make(
    domain: str = DOMAIN,
    seed: int = typer.Option(..., "--seed", help="Of all that is drawn at random."),
    n: int = typer.Option(..., "--n", min=1, help="How many tasks each split gets; families take turns."),
    families: str = typer.Option("", "--families", help="Only these families, with commas between."),
    split: str = SPLIT,
    out: Path = typer.Option(..., "--out", help="Folder for SPLIT.jsonl; files of that name are replaced."),
) -> None:
    """Make tasks by a domain's procedures: the same seed gives the same files, byte for byte.

    More tasks begin with the same ones. Run `check` with the files named in the domain before you use them.
    """
    loaded = _load(domain)
    names = [name.strip() for name in families.split(",") if name.strip()]
    splits = [split] if split else list(loaded.tasks)
    made = {name: loaded.make_tasks(seed, n, names, name) for name in splits}
    out.mkdir(parents=True, exist_ok=True)
    for name, tasks in made.items():
        path = out / f"{name}.jsonl"
        _write(path, tasks)
        typer.echo(f"{path}: {len(tasks)} tasks in {len({task.family for task in tasks})} families")


def _write(path: Path, tasks: list[Task]) -> None:
    """Write tasks, one a line, so that the file is the old one or the new one at any time."""
    from gym_enterprise.harness.disk import replacing

    lines = [
        json.dumps(task.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) for task in tasks
    ]
    with replacing(path) as part:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def _run(domain: Domain, tasks: list[Task]) -> list[Check]:
    from rich.console import Console
    from rich.progress import track

    from gym_enterprise.admission import check_task

    console = Console(stderr=True)
    shown = track(tasks, "checking", console=console, disable=not console.is_terminal, transient=True)
    return [one for task in shown for one in check_task(domain, task)]


def _print(domain: str, count: int, summary: list[dict[str, Any]], failures: list[Check]) -> None:
    from rich.table import Table

    table = Table(title=f"{count} task{'s' * (count != 1)} of {domain}")
    for name in ("kind", "name", "applicable", "reward 1", "n/a", "failed"):
        table.add_column(name, justify="left" if name in ("kind", "name") else "right")
    for row in summary:
        cells = ["-" if value is None else str(value) for value in row.values()]
        table.add_row(*cells, style="bold red" if row["failed"] else None)
    console = _console()
    console.print(table)
    for kind, title in FAULTS.items():
        found = [one for one in failures if one.kind == kind]
        console.print(f"\n{title}:" if found else "", end="\n" if found else "", style="bold")
        for one in found:
            console.print(f"{one.task_id}: {one.name}: {one.detail}", markup=False, style="red")
    console.print("all checks passed" if not failures else f"{len(failures)} checks failed", markup=False)


def _console() -> Console:
    """Return a console; a pipe is as wide as the longest line, so that no id is cut."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=200)


def _load(name: str) -> Domain:
    from gym_enterprise.registry import load_domain

    return load_domain(name)


def _tasks(domain: Domain, split: str | None) -> list[Task]:
    splits = [split] if split else list(domain.tasks)
    return [task for name in splits for task in domain.tasks[name].values()]
