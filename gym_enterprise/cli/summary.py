"""A run's summary as text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from rich.console import Console
from rich.table import Table

from gym_enterprise.harness.metrics import Group, LookBeforeAct, Summary

MOST_SHOWN = 3
"""Causes, and documents, that are named."""


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
    for line in _causes(summary.causes):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    for seat, codes in summary.tool_errors.items():
        if codes:
            console.print(f"failed calls of the {seat}: {_listed(codes)}", markup=False)
    if len(summary.pass_hat_k) > 1:
        shown = {k: rate for k, rate in summary.pass_hat_k.items() if k & (k - 1) == 0}  # 1, 2, 4, 8, ...
        rates = ", ".join(f"pass^{k} {rate:.1%}" for k, rate in shown.items())
        console.print(rates, markup=False)
    for line in _looks(summary.look_before_act):
        console.print(line, markup=False)
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


def _causes(causes: Mapping[str, int]) -> list[str]:
    lines = [
        f"{count} episode{'s' if count > 1 else ''}: {cause}"
        for cause, count in islice(causes.items(), MOST_SHOWN)
    ]
    return lines + ([f"and {len(causes) - MOST_SHOWN} other causes"] if len(causes) > MOST_SHOWN else [])


def _looks(found: LookBeforeAct | None) -> list[str]:
    """Say what the agent had read before it first changed something."""
    if found is None or not found.episodes:
        return []
    if found.reads_before is None:
        return ["look before act: the agent changed nothing"]
    lines = [
        f"look before act: {found.acted} of {found.episodes} scored episodes changed something, after "
        f"{found.reads_before:.1f} reads on average, {found.blind} without any"
    ]
    if found.documents_before is not None and found.documents_opened is not None:
        lines.append(
            f"documents of the reference: {found.documents_before:.1%} opened before the first change, "
            f"{found.documents_opened:.1%} at any time"
        )
    if found.never_opened:
        first = dict(islice(found.never_opened.items(), MOST_SHOWN))
        rest = len(found.never_opened) - len(first)
        lines.append(f"never opened: {_listed(first)}" + (f", and {rest} others" if rest else ""))
    return lines


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
