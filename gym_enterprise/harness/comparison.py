"""`compare`: two runs, task by task, with a significance test that assumes nothing about distributions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from gym_enterprise.errors import UsageError
from gym_enterprise.harness.estimators import Interval, clustered_interval
from gym_enterprise.harness.outcomes import Outcomes, ScoredEpisode, outcomes

MAX_CELLS = 100_000_000
"""Most cells that the exact test fills (about a second); a larger test is sampled."""
SAMPLES = 100_000
"""Assignments of signs that the sampled test draws."""


@dataclass(frozen=True)
class Comparison:
    """How run B differs from run A on the tasks that both have scored."""

    tasks: int
    """Tasks with a scored trial in both runs."""
    pass_at_1: tuple[float, float]
    """Of A and of B, on these tasks."""
    difference: float
    """B minus A."""
    interval: Interval | None
    """Of the difference, over tasks (see `clustered_interval`); None for fewer than two."""
    p_value: float
    """Two-sided; see `compare`."""
    method: Literal["exact", "sampled"]
    """Whether all assignments of signs were counted, or `SAMPLES` drawn."""
    better: int
    """Tasks that B passes more often."""
    worse: int
    """Tasks that B passes less often."""
    unpaired: tuple[int, int]
    """Tasks scored only in A, and only in B: left out."""
    unscored: tuple[int, int]
    """Episodes of A and of B that have no reward: left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self) | {
            name: list(getattr(self, name)) for name in ("pass_at_1", "unpaired", "unscored")
        }


def compare(
    first: Iterable[ScoredEpisode],
    second: Iterable[ScoredEpisode],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two runs of the same tasks.

    Each task gives one difference of pass rates, so that trials of one task count as one cluster. The test
    is the paired randomisation test (Fisher 1935; Efron and Tibshirani 1993, chapter 15): if the runs were
    alike, each task's difference would be as likely with the other sign, and the p-value is the share of all
    assignments of signs whose sum is at least as far from 0 as the one that was seen. With one trial a task
    it is the sign test, which is McNemar's exact test. It is exact; when the sums are too many to count,
    signs are drawn, and p = (hits + 1) / (draws + 1) (Phipson and Smyth 2010), which is never 0.

    Args:
        first: Records of run A, each (task, trial) once.
        second: Records of run B.
        level: Of the interval.
        seed: Of the generator for the interval and the sampled test.

    Returns:
        The comparison.

    Raises:
        UsageError: No task was scored in both, one (task, trial) stands twice, or a task of the same id has
            another content in the other run.

    Example:
        >>> compare(read_run("a").records(), read_run("b").records()).p_value  # doctest: +SKIP
        0.03
    """
    a, b = outcomes(first), outcomes(second)
    _check_content(a, b)
    shared = [task_id for task_id in a.scored if task_id in b.scored]
    if not shared:
        raise UsageError("no task was scored in both runs: there is nothing to compare")
    rates = [(_rate(a, task_id), _rate(b, task_id)) for task_id in shared]
    differences = [rate_b - rate_a for rate_a, rate_b in rates]
    p_value, method = sign_flip_test(differences, seed=seed)
    count = len(shared)
    return Comparison(
        tasks=count,
        pass_at_1=(float(sum(x for x, _ in rates) / count), float(sum(y for _, y in rates) / count)),
        difference=float(sum(differences) / count),
        interval=clustered_interval(
            [float(d) for d in differences], level=level, seed=seed, limits=(-1.0, 1.0)
        ),
        p_value=p_value,
        method=method,
        better=sum(difference > 0 for difference in differences),
        worse=sum(difference < 0 for difference in differences),
        unpaired=(len(a.scored) - count, len(b.scored) - count),
        unscored=(a.attempted - a.episodes, b.attempted - b.episodes),
    )


def sign_flip_test(
    differences: Sequence[Fraction], *, seed: int = 0, max_cells: int = MAX_CELLS
) -> tuple[float, Literal["exact", "sampled"]]:
    """Return the two-sided p-value of paired differences under exchange of each pair.

    Args:
        differences: One a pair, as exact fractions, so that equal sums are recognised as equal.
        seed: Of the generator that draws signs when there are too many to count.
        max_cells: Beyond how many cells, pairs times distinct sums, signs are drawn.

    Returns:
        The p-value and how it was found.

    Example:
        >>> sign_flip_test([Fraction(1)] * 5)
        (0.0625, 'exact')
    """
    moved = [difference for difference in differences if difference]
    if not moved:
        return 1.0, "exact"
    scale = math.lcm(*(difference.denominator for difference in moved))
    whole = [int(difference * scale) for difference in moved]
    unit = math.gcd(*whole)
    steps = [abs(value) // unit for value in whole]
    seen = abs(sum(whole)) // unit
    reach = sum(steps)
    if len(steps) * (2 * reach + 1) > max_cells:
        return _sampled(steps, seen, seed), "sampled"
    # chances[i] is the chance that the sum of the signed steps is i - reach.
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in steps:
        chances = (np.roll(chances, step) + np.roll(chances, -step)) / 2
    far = np.abs(np.arange(-reach, reach + 1)) >= seen
    return min(1.0, float(chances[far].sum())), "exact"


def _sampled(steps: Sequence[int], seen: int, seed: int) -> float:
    generator = np.random.default_rng(seed)
    sizes = np.array(steps, dtype=np.float64)
    hits = 0
    for start in range(0, SAMPLES, 1000):
        count = min(1000, SAMPLES - start)
        signs = generator.integers(0, 2, size=(count, len(steps))) * 2.0 - 1.0
        hits += int((np.abs(signs @ sizes) >= seen - 0.5).sum())
    return (hits + 1) / (SAMPLES + 1)


def _rate(run: Outcomes, task_id: str) -> Fraction:
    n, c = run.scored[task_id]
    return Fraction(c, n)


def _check_content(a: Outcomes, b: Outcomes) -> None:
    for task_id, content in a.hashes.items():
        if b.hashes.get(task_id, content) != content:
            raise UsageError(
                f"task {task_id!r} has another content in the second run (hash {content[:12]} and "
                f"{b.hashes[task_id][:12]}): run both on the same tasks"
            )
