"""What the demonstration measured: a table and a picture, from the runs that it saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.train_demo import bank
from examples.train_demo.stages import MEASURED, TEMPERATURES, seconds
from gym_enterprise import Summary, read_run, summarise_run
from gym_enterprise.harness.disk import replacing
from train.journal import read
from train.plot import COLOURS, points, smooth

NAMES = {
    "imitating": "SFT",
    "practising": "SFT, then GRPO",
    "further": "control: SFT, then more SFT",
    "shuffled": "control: SFT, then shuffled GRPO",
}
Found = Mapping[tuple[int, str, str], Summary]
"""By seed, stage, and how was sampled."""


def write(out: Path, folders: Mapping[int, Path]) -> None:
    """Write `results.md` and `results.png` of what there is.

    Args:
        out: Where to.
        folders: Of the seeds.
    """
    found = {
        (seed, stage, name): summarise_run(read_run(played), bank.make())
        for seed, folder in folders.items()
        for stage in MEASURED
        for name in TEMPERATURES
        if (played := folder / "measured" / f"{stage}-{name}").exists()
    }
    with replacing(out / "results.md") as part:
        part.write_text(table(found, folders), encoding="utf-8")
    with replacing(out / "results.png") as part:
        picture(found, folders).savefig(part, dpi=120, format="png")
    print((out / "results.md").read_text(encoding="utf-8"))


def table(found: Found, folders: Mapping[int, Path]) -> str:
    """Return the results as a table in Markdown: a line a seed and stage."""
    families = sorted({family for summary in found.values() for family in summary.by_family})
    head = ["seed", "after", "sampled", "95 %", "greedy", *(f"{family}" for family in families), "minutes"]
    rows = [head, ["---"] * len(head)]
    for seed, folder in folders.items():
        for stage in MEASURED:
            if (summary := found.get((seed, stage, "sampled"))) is None:
                continue
            greedy = found.get((seed, stage, "greedy"))
            interval = summary.overall.interval
            rows.append(
                [
                    str(seed),
                    NAMES[stage],
                    rate(summary.overall.pass_at_1),
                    f"{rate(interval.low)} to {rate(interval.high)}" if interval else "",
                    rate(greedy.overall.pass_at_1) if greedy else "",
                    *(rate(summary.by_family[family].pass_at_1) for family in families),
                    f"{minutes(folder, stage):.0f}",
                ]
            )
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def rate(value: float | None) -> str:
    """Return a rate with three digits."""
    return "" if value is None else f"{value:.3f}"


def minutes(folder: Path, stage: str) -> float:
    """Return how long the steps of a stage took, those that imitating began with included."""
    runs = ("copying", "imitating") if stage == "imitating" else (stage,)
    return sum(seconds(folder / run) for run in runs) / 60


def picture(found: Found, folders: Mapping[int, Path]) -> Figure:
    """Return the picture: rewards of GRPO in training, and what is held out after each stage."""
    made = Figure(figsize=(12, 4.4), layout="constrained")
    rewards, held_out = made.subplots(1, 2)
    for place, (seed, folder) in enumerate(folders.items()):
        for run, style in (("practising", "-"), ("shuffled", ":")):
            curve = points(read(folder / run), "reward")
            rewards.plot(list(curve), list(curve.values()), style, color=COLOURS[place], alpha=0.2)
            rewards.plot(list(curve), smooth(list(curve.values())), style, color=COLOURS[place])
        stages = {stage: found.get((seed, stage, "sampled")) for stage in MEASURED}
        bars(held_out, stages, place, f"seed {seed}")
    for style, name in (("-", "GRPO"), (":", "control: shuffled advantages")):
        rewards.plot([], [], style, color="grey", label=name)
    rewards.set(title="Reward in training", xlabel="step of GRPO", ylim=(0, 1))
    held_out.set(title="Held-out pass@1, sampled, with 95 % intervals", xlim=(-0.5, 3.5), ylim=(0, 1))
    held_out.set_xticks(
        range(len(MEASURED)), [NAMES[stage].replace(", then", ",\nthen") for stage in MEASURED]
    )
    for axes in (rewards, held_out):
        axes.tick_params(labelsize=8)
        axes.legend(frameon=False, fontsize=9)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return made


def bars(axes: Axes, stages: Mapping[str, Summary | None], place: int, name: str) -> None:
    """Draw the pass rates of a seed after its stages, each with its interval."""
    drawn = [
        (position + 0.2 * (place - 1), one.overall.pass_at_1, one.overall.interval)
        for position, one in enumerate(stages.values())
        if one is not None and one.overall.pass_at_1 is not None and one.overall.interval is not None
    ]
    across, heights = [where for where, _, _ in drawn], [rate for _, rate, _ in drawn]
    below = [rate - interval.low for _, rate, interval in drawn]
    above = [interval.high - rate for _, rate, interval in drawn]
    axes.errorbar(across, heights, (below, above), fmt="o", color=COLOURS[place], capsize=3, label=name)
