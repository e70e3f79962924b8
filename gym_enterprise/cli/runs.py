"""`gym-enterprise compare` and `gym-enterprise regrade`: what to do with runs on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from gym_enterprise.harness.comparison import Comparison

AS_JSON = typer.Option(False, "--json", help="Print JSON.")


def compare(
    run_a: Path = typer.Argument(help="Folder of a run."),
    run_b: Path = typer.Argument(help="Folder of the run to set against it."),
    as_json: bool = AS_JSON,
) -> None:
    """Compare two runs task by task, with a significance test."""
    from gym_enterprise.harness.metrics import compare
    from gym_enterprise.harness.results import read_run

    found = compare(read_run(run_a), read_run(run_b))
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else _described(found))


def regrade(
    run: Path = typer.Argument(help="Folder of the run."),
    domain: str = typer.Option(None, help="The domain; by default the one that the run names."),
    as_json: bool = AS_JSON,
) -> None:
    """Grade saved episodes again with both graders; exit 1 on any difference."""
    from gym_enterprise.harness.regrading import regrade_run
    from gym_enterprise.harness.results import read_run

    found = regrade_run(read_run(run), domain)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
    else:
        for one in found.differences:
            typer.echo(f"{one.task_id} trial {one.trial}: {one.what}")
        skipped = f"; {found.unscored} were not scored and are left out" if found.unscored else ""
        typer.echo(f"{found.graded} episodes graded again, {len(found.differences)} differ{skipped}")
    raise typer.Exit(1 if found.differences else 0)


def _described(found: Comparison) -> str:
    rate_a, rate_b = found.pass_at_1
    interval = found.interval
    lines = [
        f"tasks scored in both: {found.tasks}",
        f"pass@1 of A {rate_a:.1%}, of B {rate_b:.1%}",
        f"B minus A: {100 * found.difference:+.1f} points"
        + (
            f" ({interval.level:.0%} interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f})"
            if interval
            else ""
        ),
        f"B is better on {found.better} tasks, worse on {found.worse}, "
        f"alike on {found.tasks - found.better - found.worse}",
        f"p = {found.p_value:.4g} (two-sided sign-flip test, {found.method})",
    ]
    if any(found.unpaired) or any(found.unscored):
        lines.append(
            "left out: tasks scored only in A {}, only in B {}; episodes not scored in A {}, in B {}".format(
                *found.unpaired, *found.unscored
            )
        )
    return "\n".join(lines)
