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


def clustered_interval(
    values: Sequence[float],
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    limits: tuple[float, float] = (0.0, 1.0),
) -> Interval | None:
    """Return a confidence interval of an average over tasks, which are the clusters.

    Percentile bootstrap (Efron and Tibshirani 1993, chapter 13) that draws whole tasks with replacement:
    trials of one task resemble each other, so more of them do not make the interval narrower than the tasks
    allow (Miller 2024, arXiv 2411.00640). When every task lies at the same limit all resamples are equal, and
    the bootstrap would claim certainty; then the interval of Clopper and Pearson 1934 for that many tasks is
    given. Tasks that are all equal elsewhere give an interval without width.

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
    if len(values) < 2:
        return None
    tail = (1 - level) / 2
    lowest, highest = limits
    if len(set(values)) == 1 and values[0] in limits:
        reach = (1 - tail ** (1 / len(values))) * (highest - lowest)
        low, high = (lowest, lowest + reach) if values[0] == lowest else (highest - reach, highest)
        return Interval(low, high, level, "exact")
    # Drawing tasks with replacement draws multinomial numbers of each distinct value.
    distinct, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(values), counts / len(values), size=resamples)
    low, high = np.quantile(draws @ distinct / len(values), [tail, 1 - tail])
    return Interval(float(low), float(high), level, "bootstrap")


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise UsageError(f"{c} of {n} trials cannot have passed")
    if k < 1:
        raise UsageError(f"k should be at least 1, got {k}")
    if k > n:
        raise UsageError(f"k = {k} needs at least {k} scored trials of each task, and one has {n}: run more")
