"""Estimates from repeated trials: pass@k, pass^k, and an interval that respects trials of one task."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gym_enterprise.errors import UsageError


def pass_at_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that at least one of k trials passes, without bias: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021 (arXiv 2107.03374), equation 1.

    Args:
        n: Trials that were scored.
        c: Those that passed.
        k: Trials that are drawn.

    Returns:
        The share of all choices of k of the n trials that hold a pass.

    Raises:
        UsageError: k is above n, so nothing can be said, or the numbers are impossible.

    Example:
        >>> pass_at_k(4, 1, 2)
        0.5
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Estimate the chance that all of k trials pass (pass^k), without bias: C(c, k) / C(n, k).

    Yao et al. 2024 (arXiv 2406.12045), section 3.

    Args:
        n: Trials that were scored.
        c: Those that passed.
        k: Trials that are drawn.

    Returns:
        The share of all choices of k of the n trials that hold passes only.

    Raises:
        UsageError: k is above n, so nothing can be said, or the numbers are impossible.

    Example:
        >>> pass_hat_k(4, 3, 2)
        0.5
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def over_tasks(
    estimate: Callable[[int, int, int], float], counts: Sequence[tuple[int, int]], k: int
) -> float:
    """Average `pass_at_k` or `pass_hat_k` over tasks, each with the same weight.

    Args:
        estimate: One of the two.
        counts: Trials scored and passed, (n, c), of each task.
        k: Trials that are drawn of each task.

    Raises:
        UsageError: There is no task, or k is above the n of one.
    """
    if not counts:
        raise UsageError("no task has a scored trial: there is nothing to average")
    return math.fsum(estimate(n, c, k) for n, c in counts) / len(counts)


@dataclass(frozen=True)
class Interval:
    """A range of plausible values around an average over tasks."""

    low: float
    high: float
    level: float
    """How often such ranges hold the true value, such as 0.95."""
    method: Literal["bootstrap", "exact"]
    """How it was made; see `clustered_interval`."""


FEW_TASKS = 20
"""Fewer tasks than this are too few for the bootstrap, whose intervals would then miss too often."""


def clustered_interval(
    values: Sequence[float],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Interval | None:
    """Return a confidence interval of an average over tasks, which are the clusters.

    Trials of one task resemble each other, so more of them do not make the interval narrower than the tasks
    allow (Miller 2024, arXiv 2411.00640). It never claims certainty:

    - All tasks equal: with the given confidence at most a share 1 - tail ** (1 / tasks) of all tasks is
      different, and these may lie anywhere within the limits.
    - Fewer than `FEW_TASKS` tasks, or every task at a limit: the interval of Clopper and Pearson 1934 for
      that many tasks, and for their sum, rounded outwards, as the number that lie at the upper limit. It is
      exact when every task lies at a limit, and too wide rather than too narrow otherwise.
    - Otherwise: percentile bootstrap that draws whole tasks (Efron and Tibshirani 1993, chapter 13).

    Args:
        values: One value a task, such as its pass rate.
        level: Between 0 and 1.
        resamples: How many to draw.
        seed: Of the generator that draws.
        limits: Lowest and highest value that a task can have.

    Returns:
        The interval; None for fewer than two tasks, which show no variation.

    Raises:
        UsageError: The level is not between 0 and 1.

    Example:
        >>> interval = clustered_interval([0.0, 0.5, 1.0, 1.0])
        >>> interval.low < 0.625 < interval.high
        True
    """
    if not 0 < level < 1:
        raise UsageError(f"level should be between 0 and 1, got {level!r}")
    count = len(values)
    if count < 2:
        return None
    tail = (1 - level) / 2
    lowest, highest = limits
    distinct = set(values)
    if len(distinct) == 1:
        (value,) = distinct
        others = 1 - tail ** (1 / count)
        low, high = value - others * (value - lowest), value + others * (highest - value)
    elif count < FEW_TASKS or distinct <= set(limits):
        passed = math.fsum((value - lowest) / (highest - lowest) for value in values)
        low, high = _clopper_pearson(math.floor(passed + 1e-9), math.ceil(passed - 1e-9), count, tail)
        low, high = (lowest + share * (highest - lowest) for share in (low, high))
    else:
        low, high = bootstrap(values, tail, resamples=resamples, seed=seed)
        return Interval(low, high, level, "bootstrap")
    return Interval(low, high, level, "exact")


def bootstrap(values: Sequence[float], tail: float, *, resamples: int, seed: int) -> tuple[float, float]:
    """Return the quantiles `tail` and 1 - `tail` of averages of values that are drawn with replacement."""
    # Drawing tasks with replacement draws multinomial numbers of each distinct value.
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(values), counts / len(values), size=resamples)
    low, high = np.quantile(draws @ distinct / len(values), [tail, 1 - tail])
    return float(low), float(high)


def _clopper_pearson(least: int, most: int, count: int, tail: float) -> tuple[float, float]:
    """Return bounds of a share of which at least `least` and at most `most` of `count` were seen."""
    return _lower(least, count, tail), 1 - _lower(count - most, count, tail)


def _lower(seen: int, count: int, tail: float) -> float:
    """Return the share with which `seen` or more of `count` have the chance `tail`, by bisection."""
    more = np.arange(seen, count + 1)
    ways = np.array([math.lgamma(count + 1) - math.lgamma(n + 1) - math.lgamma(count - n + 1) for n in more])
    low, high = 0.0, 1.0 if seen else 0.0
    for _ in range(60):
        share = (low + high) / 2
        if share in (low, high):
            break
        chance = np.exp(ways + more * math.log(share) + (count - more) * math.log1p(-share)).sum()
        low, high = (share, high) if chance < tail else (low, share)
    return high


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise UsageError(f"{c} of {n} trials cannot have passed")
    if k < 1:
        raise UsageError(f"k should be at least 1, got {k}")
    if k > n:
        raise UsageError(f"k = {k} needs at least {k} scored trials of each task, and one has {n}: run more")
