"""Runs as one picture: what a policy earns, what that costs, and whether the run is sound.

    python -m train.plot RUN [RUN ...] [--out FILE.png]      several runs are drawn over one another

Without --out the picture is plot.png in the folder of the first run. What no run has measured is left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gym_enterprise.errors import GymEnterpriseError, UsageError
from train.journal import NAME, read

Lines = Sequence[Mapping[str, Any]]


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    names: Mapping[str, str]
    """Figures of the journal, each with what it is called here."""
    scale: str = "linear"
    rate: bool = False
    """Whether the axis goes to 1."""


PANELS = (
    Panel("Reward in training", {"reward": "reward"}, rate=True),
    Panel("Held-out pass@1", {"pass@1": "pass@1"}, rate=True),
    Panel("Tokens for each pass, held out", {"tokens_per_passed": "tokens"}),
    Panel("Entropy of a token", {"entropy": "entropy"}),
    Panel(
        "Canary: |log p, engine − trainer|",
        {"logp_error": "weights that learn", "canary": "weights that sampled"},
        scale="log",
    ),
    Panel("Rollouts left out", {"dropped": "dropped, m = 0", "invalid": "invalid: broken"}),
    Panel("−log p of a token of the agent", {"nll": "learned from", "holdout_nll": "held out"}),
)
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # Okabe and Ito (2008)
STYLES = ("-", "--")
MANY = 40
"""From so many points on a line is faint, and the mean of each with those around it stands over it."""


def figure(runs: Mapping[str, Lines]) -> Figure:
    """Return the picture of runs, by name.

    Raises:
        UsageError: They have nothing to draw.
    """
    known = {name for lines in runs.values() for name in set().union(*lines) if points(lines, name)}
    panels = [panel for panel in PANELS if known.intersection(panel.names)]
    if not panels:
        raise UsageError(f"nothing was measured in {', '.join(runs)} that could be drawn")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    made = Figure(figsize=(5 * columns, 3.3 * rows + 0.4), layout="constrained")
    for place, panel in enumerate(panels, start=1):
        draw(made.add_subplot(rows, columns, place), panel, runs)
    lines = [made.axes[0].plot([], [], color=colour(place))[0] for place in range(len(runs))]
    made.legend(lines, list(runs), loc="outside upper center", ncols=min(4, len(runs)), frameon=False)
    return made


def draw(axes: Axes, panel: Panel, runs: Mapping[str, Lines]) -> None:
    """Draw the figures of a panel, of all runs."""
    for place, lines in enumerate(runs.values()):
        for name, style in zip(panel.names, STYLES, strict=False):
            found = points(lines, name)
            if panel.scale == "log":
                found = {step: value for step, value in found.items() if value > 0}
            look: dict[str, Any] = {"color": colour(place), "linestyle": style}
            if len(found) < MANY:
                axes.plot(list(found), list(found.values()), **look, marker=".")
            else:
                axes.plot(list(found), list(found.values()), **look, alpha=0.25)
                axes.plot(list(found), smooth(list(found.values())), **look)
            low, high = (points(lines, f"{name}_{end}") for end in ("low", "high"))
            if steps := sorted(low.keys() & high.keys()):
                bounds = [low[step] for step in steps], [high[step] for step in steps]
                axes.fill_between(steps, *bounds, color=colour(place), alpha=0.15, linewidth=0)
    axes.set_title(panel.title, fontsize=11)
    axes.set_xlabel("step")
    axes.set_yscale(panel.scale)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if panel.scale == "linear":
        top = 1.03 if panel.rate else axes.get_ylim()[1]
        axes.set_ylim(-0.03 * top, top)
    if len(panel.names) > 1:
        keys = [axes.plot([], [], color="grey", linestyle=style)[0] for style in STYLES]
        axes.legend(keys, list(panel.names.values()), fontsize=9, frameon=False)


def points(lines: Lines, name: str) -> dict[int, float]:
    """Return the values of a figure by step, where it was measured."""
    return {line["step"]: line[name] for line in lines if line.get(name) is not None}


def smooth(values: Sequence[float]) -> list[float]:
    """Return the means of values with those around them: a tenth of all, fewer at the ends."""
    reach = len(values) // 20
    around = [values[max(0, place - reach) : place + reach + 1] for place in range(len(values))]
    return [sum(each) / len(each) for each in around]


def colour(place: int) -> str:
    """Return the colour of a run."""
    return COLOURS[place % len(COLOURS)]


def main(arguments: Sequence[str]) -> None:
    """Draw runs into a file."""
    parser = argparse.ArgumentParser("train.plot", description="Draw runs over one another.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a run")
    parser.add_argument("--out", type=Path, help="the picture; default: plot.png in the first RUN")
    options = parser.parse_args(arguments)
    names = [run.resolve().name for run in options.runs]
    alike = len(set(names)) < len(names)
    runs = {str(run) if alike else name: read(run) for run, name in zip(options.runs, names, strict=True)}
    for name, lines in runs.items():
        if not lines:
            raise UsageError(f"the run {name} has no line in its {NAME}: give the folder that `out` named")
    out = options.out or options.runs[0] / "plot.png"
    out.parent.mkdir(parents=True, exist_ok=True)
    figure(runs).savefig(out, dpi=120)
    print(out)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except GymEnterpriseError as error:
        raise SystemExit(f"error: {error}") from None
