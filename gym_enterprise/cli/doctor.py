"""`gym-enterprise doctor`: check packages, the domain and the players before a long run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from gym_enterprise.harness.checkup import Finding

WORDS = {"ok": "ok", "warning": "warning", "failed": "FAILED"}
COLOURS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "failed": typer.colors.RED}


def doctor(
    players: list[str] = typer.Argument(
        None, metavar="[PLAYER]...", help='Players to check: "openai:MODEL@URL", "hf:PATH", "scripted", ...'
    ),
    domain: str = typer.Option("banking", help='A domain\'s name, or an entry point "module:function".'),
    template: str = typer.Option(
        None, help="Folder or name of the tokenizer of a served model, to compare with the server's."
    ),
    timeout: float = typer.Option(60.0, min=0.001, help="Seconds for one answer of a server or model."),
    as_json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Check what is installed, the domain, and each player; exit 1 when a check failed."""
    import logging

    from gym_enterprise.harness.checkup import checkup

    logging.getLogger("gym_enterprise").addHandler(logging.NullHandler())  # failures are told as findings
    findings = checkup(players or (), domain=domain, template=template, timeout=timeout)
    if as_json:
        listed = list(findings)
        typer.echo(json.dumps([one.to_dict() for one in listed], indent=2))
    else:
        listed = _told(findings)
    raise typer.Exit(1 if any(one.status == "failed" for one in listed) else 0)


def _told(findings: Iterable[Finding]) -> list[Finding]:
    """Print findings as they come, a line each, and how many there were of which kind."""
    listed = []
    for one in findings:
        listed.append(one)
        word = typer.style(f"{WORDS[one.status]:<7}", fg=COLOURS[one.status])
        typer.echo(f"{word}  {one.check}: {one.detail}" + (f" -> {one.cure}" if one.cure else ""))
    counts = [f"{sum(one.status == status for one in listed)} {word}" for status, word in WORDS.items()]
    typer.echo(", ".join(counts))
    return listed
