"""pass@k, pass^k and intervals: by hand, and against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gym_enterprise import UsageError
from gym_enterprise.harness.estimators import clustered_interval, over_tasks, pass_at_k, pass_hat_k


def test_b050_three_of_four_trials_passed() -> None:
    # The report's own numbers.
    assert [pass_hat_k(4, 3, k) for k in (1, 2, 4)] == [0.75, 0.5, 0.0]
    with pytest.raises(UsageError, match="k = 5 needs at least 5 scored trials of each task, and one has 4"):
        pass_hat_k(4, 3, 5)
    with pytest.raises(UsageError, match="k = 5 needs at least 5"):
        pass_at_k(4, 3, 5)


def test_pass_at_k_by_hand() -> None:
    # 5 trials, 2 passed: 3 of 10 pairs and 1 of 10 triples hold no pass; every four hold one.
    assert [pass_at_k(5, 2, k) for k in (1, 2, 3, 4, 5)] == pytest.approx([0.4, 0.7, 0.9, 1.0, 1.0])


@pytest.mark.parametrize("n", range(1, 7))
def test_both_are_shares_of_all_choices_of_k_trials(n: int) -> None:
    for c, k in itertools.product(range(n + 1), range(1, n + 1)):
        choices = list(itertools.combinations([i < c for i in range(n)], k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices), abs=1e-15)
        assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices), abs=1e-15)


def test_both_are_unbiased() -> None:
    # Averaged over binomial outcomes of 6 trials with chance p, the estimates are 1 - (1-p)^k and p^k.
    p, n, k = 0.3, 6, 3
    chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    average = sum(chance * pass_at_k(n, c, k) for c, chance in enumerate(chances))
    assert average == pytest.approx(1 - 0.7**3)
    average = sum(chance * pass_hat_k(n, c, k) for c, chance in enumerate(chances))
    assert average == pytest.approx(0.3**3)


def test_many_trials_do_not_overflow() -> None:
    assert 0.75 < pass_at_k(5000, 2500, 2) < 0.7502
    assert pass_hat_k(5000, 5000, 5000) == 1.0


def test_tasks_weigh_the_same_however_many_trials_they_have() -> None:
    # pass@2: 1 - C(3,2)/C(4,2) = 1/2, and 1 - C(1,2)/C(2,2) = 1.
    assert over_tasks(pass_at_k, [(4, 1), (2, 1)], 2) == 0.75
    assert over_tasks(pass_hat_k, [(4, 3), (2, 1)], 2) == 0.25


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="5 of 4 trials cannot have passed"):
        pass_at_k(4, 5, 1)
    with pytest.raises(UsageError, match="k should be at least 1, got 0"):
        pass_hat_k(4, 2, 0)
    with pytest.raises(UsageError, match="nothing to average"):
        over_tasks(pass_at_k, [], 1)
    with pytest.raises(UsageError, match=r"level should be between 0 and 1, got 95"):
        clustered_interval([0.0, 1.0], level=95)


@pytest.mark.parametrize("values", [[0.0, 0.5, 1.0, 1.0], [0.25, 0.25, 0.75, 0.0, 1.0], [0.0, 1.0, 0.5]])
def test_the_interval_is_the_one_that_all_resamples_give(values: list[float]) -> None:
    every = sorted(sum(draw) / len(values) for draw in itertools.product(values, repeat=len(values)))
    interval = clustered_interval(values, level=0.9, resamples=200_000)
    assert interval is not None
    # 0.05 and 0.95 fall inside a step of the enumerated distribution, so enough draws find the same step.
    low, high = np.quantile(every, [0.05, 0.95])
    assert interval.low == pytest.approx(low, abs=1e-12)
    assert interval.high == pytest.approx(high, abs=1e-12)
    assert (interval.level, interval.method) == (0.9, "bootstrap")


def test_the_interval_is_the_same_for_the_same_seed_and_in_any_order_of_tasks() -> None:
    values = [0.0, 0.25, 0.5, 1.0, 1.0, 0.75]
    assert clustered_interval(values, seed=3) == clustered_interval(values[::-1], seed=3)


def test_the_interval_of_many_tasks_is_near_the_normal_one() -> None:
    # 400 tasks, half pass: standard error 0.5 / 20 = 0.025, so 0.5 +- 1.96 * 0.025 = 0.451 to 0.549.
    interval = clustered_interval([0.0, 1.0] * 200)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.451, 0.549), abs=0.003)


def test_tasks_that_all_pass_do_not_make_certainty() -> None:
    # Clopper and Pearson for 10 of 10 at 95 %: 0.025 ** (1/10) = 0.6915; for 0 of 10 its mirror image.
    assert clustered_interval([1.0] * 10) is not None
    for values, expected in (([1.0] * 10, (0.69150, 1.0)), ([0.0] * 10, (0.0, 0.30850))):
        interval = clustered_interval(values)
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-5)
        assert interval.method == "exact"


def test_one_task_has_no_interval() -> None:
    assert clustered_interval([1.0]) is None
    assert clustered_interval([]) is None
