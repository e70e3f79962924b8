"""`gym-enterprise demo`: one episode by the oracle and one by an agent that only talks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from gym_enterprise.domain import Domain
    from gym_enterprise.harness.rollout import Record
    from gym_enterprise.tasks import Task


def demo(
    domain: str = typer.Option("banking", help='A domain\'s name, or an entry point "module:function".'),
    task_id: str = typer.Option(None, "--task", help="The task; by default the first of the training split."),
) -> None:
    """Play one task twice: the oracle earns 1.0, an agent that only talks earns 0.0."""
    from rich.console import Console
    from rich.text import Text

    from gym_enterprise.registry import load_domain

    loaded = load_domain(domain)
    task = loaded.task(task_id) if task_id else next(iter(next(iter(loaded.tasks.values())).values()))
    console = Console(highlight=False)
    console.rule(f"{domain}: task {task.id} (family {task.family})")
    for title, player in (("the oracle, who knows the reference", "oracle"), ("only talks", _OnlyTalks)):
        _episode(console, loaded, task, title, player)
    here = sys.executable.startswith(os.path.join(os.getcwd(), ""))
    python = os.path.relpath(sys.executable) if here else sys.executable
    line = Text.assemble(
        "Next: ", (f"{python} examples/first_episode.py", "bold"), ", and put your own policy in its place."
    )
    console.print(line, soft_wrap=True)


class _OnlyTalks:
    """An agent that is friendly, claims success, and never calls a tool."""

    LINES = (
        "Hello! I understand, and I will take care of it right away.",
        "It has been done; everything is in order now. Is there anything else?",
    )

    def __init__(self, view: Any, seed: int) -> None: ...

    def act(self, observation: Any) -> dict[str, Any]:
        said = sum(message.role == "agent" for message in observation["messages"])
        return {"type": "message", "content": self.LINES[min(said, len(self.LINES) - 1)]}


def _episode(console: Console, domain: Domain, task: Task, title: str, player: Any) -> None:
    from rich.table import Table
    from rich.text import Text

    from gym_enterprise.envs.rendering import SPEAKER_WIDTH, new_lines
    from gym_enterprise.episode import Episode
    from gym_enterprise.harness.rollout import run_episode

    console.print(f"\n[bold]Agent: {title}[/bold]")
    episode = Episode(domain, task)
    record = run_episode(episode, player, "scripted" if task.user.script else "replay")
    *entries, verdict = new_lines(episode, 0, max_shown=160)
    table = Table.grid()
    table.add_column(width=SPEAKER_WIDTH, style="dim")
    table.add_column()
    for entry in entries:
        table.add_row(Text(entry[:SPEAKER_WIDTH]), Text(entry[SPEAKER_WIDTH:]))
    console.print(table)
    console.print(f"\nDocuments found: {', '.join(documents_found(record)) or 'none'}", markup=False)
    changes = episode.world.changes().to_list()
    console.print("Database:", "" if changes else "no change")
    for row in changes:
        console.print(f"  {describe_row(row)}", markup=False)
    console.print(verdict, style="bold green" if record.reward == 1.0 else "bold red", markup=False)
    for kind in ("missing", "extra", "changed"):
        for row in record.grade.diff.get(kind, ()):
            console.print(f"  {kind}: {describe_row(row)}", markup=False)


def documents_found(record: Record) -> list[str]:
    """Return the documents that the agent read, or that a search showed it, in order."""
    found: dict[str, None] = {}
    for seat, message in record.transcript:
        if seat != "agent" or message.role != "tool" or not message.call or not message.result["ok"]:
            continue
        result = message.result["result"]
        if message.call.name == "kb_search":
            found |= dict.fromkeys(hit["document_id"] for hit in result)
        elif message.call.name == "kb_read":
            found |= {result["document_id"]: None}
    return list(found)


def describe_row(row: dict[str, Any]) -> str:
    """Write one row of a change set or diff on one line."""
    key = ", ".join(f"{name}={value}" for name, value in row["key"].items())
    before = row.get("before", {})
    values = ", ".join(
        f"{name}: {before[name]!r} -> {value!r}" if name in before else f"{name}: {value!r}"
        for name, value in row.get("values", {}).items()
        if name not in row["key"]
    )
    wanted = f"; wanted {describe_row(row['wanted'])}" if "wanted" in row else ""
    return f"{row['op']} {row['table']} [{key}] {values}{wanted}".rstrip()
