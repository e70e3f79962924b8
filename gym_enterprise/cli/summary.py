"""A run's summary as text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from gym_enterprise.harness.metrics import Group, Summary


def print_summary(summary: Summary) -> None:
    """Print a summary on standard output."""
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(width=200, highlight=False)
    table = Table(title="pass@1 by family")
    for name in ("family", "tasks", "scored", "passed", "pass@1", "interval"):
        table.add_column(name, justify="left" if name == "family" else "right")
    for family, group in summary.by_family.items():
        table.add_row(family, *_cells(group))
    console.print(table)
    for title, counts in (("ended", summary.terminations), ("not scored", summary.unscored)):
        if counts:
            console.print(f"{title}: {_listed(counts)}", markup=False)
    for seat, codes in summary.tool_errors.items():
        if codes:
            console.print(f"failed calls of the {seat}: {_listed(codes)}", markup=False)
    if len(summary.pass_hat_k) > 1:
        shown = {k: rate for k, rate in summary.pass_hat_k.items() if k & (k - 1) == 0}  # 1, 2, 4, 8, ...
        rates = ", ".join(f"pass^{k} {rate:.1%}" for k, rate in shown.items())
        console.print(rates, markup=False)
    if summary.tokens_in is not None and summary.tokens_out is not None:
        console.print(f"agent's tokens: {summary.tokens_in:,} in, {summary.tokens_out:,} out", markup=False)
    console.print(
        f"coverage {summary.overall.scored}/{summary.planned} ({summary.coverage:.1%})", markup=False
    )
    console.print(summary.headline, markup=False, style="bold")


def _cells(group: Group) -> list[str]:
    interval = group.interval
    return [
        str(group.tasks),
        str(group.scored),
        str(group.passed),
        "-" if group.pass_at_1 is None else f"{group.pass_at_1:.1%}",
        "-" if interval is None else f"{interval.low:.1%} to {interval.high:.1%}",
    ]


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
