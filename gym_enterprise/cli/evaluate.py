"""`gym-enterprise eval`: play a split of a domain, save every episode, and say how it went."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.harness.metrics import Summary
    from gym_enterprise.tasks import Task

INCOMPLETE = 3
"""Exit code of a run in which episodes are missing or unscored."""


def evaluate(
    domain: str = typer.Argument(help='A domain\'s name, or an entry point "module:function".'),
    agent: str = typer.Option(
        ...,
        help='Who plays the agent: "oracle", "openai:MODEL@URL", "hf:PATH", "vllm:PATH", or "module:NAME".',
    ),
    user: str = typer.Option(
        "scripted",
        help='The customer: "scripted", "replay", or a model or player as for --agent.',
    ),
    split: str = typer.Option("test", help="Which tasks to play."),
    out: Path = typer.Option(..., help="Folder of the run; made if it is not there."),
    trials: int = typer.Option(1, min=1, help="How often each task is played."),
    concurrency: int = typer.Option(16, min=1, help="Most episodes at once."),
    limit: int = typer.Option(None, min=1, help="Only the first tasks of the split, so many."),
    seed: int = typer.Option(0, help="Seed of the run."),
    max_steps: int = typer.Option(None, min=1, help="Most messages and calls of an episode."),
    turn_deadline: float = typer.Option(None, min=0.001, help="Seconds for one turn; later, not scored."),
    episode_deadline: float = typer.Option(
        None, min=0.001, help="Seconds for one episode; later, not scored."
    ),
    finish_after: float = typer.Option(
        1.0, min=0.001, max=1.0, help="Share of the episodes after which the rest is cut, not scored."
    ),
    retrieval: str = typer.Option(
        None, help="How the agent's searches rank, such as bm25, dense or hybrid; default: the domain's."
    ),
    audit: bool = typer.Option(False, "--audit", help="Grade with both graders."),
    resume: bool = typer.Option(False, "--resume", help="Go on with the run in --out: play what is missing."),
    as_json: bool = typer.Option(False, "--json", help="Print the summary as JSON."),
) -> None:
    """Play a split, save every episode, print the pass rate; exit 3 when an episode is not scored."""
    from gym_enterprise.registry import load_domain

    chosen = {"retrieval": retrieval} if retrieval else {}
    loaded = load_domain(domain, **chosen)
    tasks = _tasks(loaded, split, limit)
    settings = {
        "trials": trials,
        "seed": seed,
        "resume": resume,
        "max_steps": max_steps,
        "audit": audit,
        "configuration": {"domain": domain, "split": split, "limit": limit, **chosen},
        "concurrency": concurrency,
        "turn_deadline": turn_deadline,
        "episode_deadline": episode_deadline,
        "finish_after": finish_after,
    }
    summary = _play(out, loaded, tasks, agent, user, settings)
    _tell(summary, out, as_json)
    raise typer.Exit(0 if summary.complete else INCOMPLETE)


def _tasks(domain: Domain, split: str, limit: int | None) -> list[Task]:
    from gym_enterprise.errors import UsageError

    if tasks := list(islice(domain.tasks[split].values(), limit)):
        return tasks
    raise UsageError(f"the split {split!r} of {domain.name!r} has no tasks: choose another --split")


def _play(
    out: Path, domain: Domain, tasks: list[Task], agent: str, user: str, settings: dict[str, Any]
) -> Summary:
    """Play until the end or Ctrl-C; what was saved by then is summarised."""
    import asyncio
    import logging

    from gym_enterprise.cli.progress import Progress
    from gym_enterprise.errors import RunExists
    from gym_enterprise.harness.evaluation import evaluate, summarise_run
    from gym_enterprise.harness.results import read_run

    logging.getLogger("gym_enterprise").addHandler(logging.NullHandler())  # failures are told by the progress

    async def watched(progress: Progress) -> Summary:
        async with progress:
            return await evaluate(out, domain, tasks, agent, user, watch=progress.update, **settings)

    try:
        return asyncio.run(watched(Progress()))
    except RunExists:
        raise RunExists(f"{out} holds a run: go on with it by --resume, or choose another --out") from None
    except KeyboardInterrupt:
        typer.echo("interrupted: finished episodes are saved", err=True)
        return summarise_run(read_run(out), domain)


def _tell(summary: Summary, out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(summary.to_dict(), indent=2))
        return
    from gym_enterprise.cli.summary import print_summary

    print_summary(summary)
    typer.echo(f"saved in {out}" + ("" if summary.complete else "; --resume plays what is not scored"))
