"""pass@k, pass^k and intervals: by hand, and against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from gym_enterprise import UsageError
from gym_enterprise.harness.estimators import bootstrap, clustered_interval, over_tasks, pass_at_k, pass_hat_k


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
def test_the_bootstrap_is_the_one_that_all_resamples_give(values: list[float]) -> None:
    every = sorted(sum(draw) / len(values) for draw in itertools.product(values, repeat=len(values)))
    # 0.05 and 0.95 fall inside a step of the enumerated distribution, so enough draws find the same step.
    found = bootstrap(values, 0.05, resamples=200_000, seed=0)
    assert found == pytest.approx(np.quantile(every, [0.05, 0.95]), abs=1e-12)


def test_the_interval_is_the_same_for_the_same_seed_and_in_any_order_of_tasks() -> None:
    values = [0.0, 0.25, 0.5, 1.0, 1.0, 0.75] * 4
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


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        # Two of four trials in each of 4 tasks. If less than 0.025 ** (1/4) = 0.39763 of all tasks were like
        # that, 4 of 4 would be rarer than 0.025; the others may have any rate: 0.5 -+ 0.60237 / 2.
        ([0.5] * 4, 0.19882, 0.80118),
        # 0.025 ** (1/8) = 0.63058: 0.75 - 0.36942 * 0.75, and 0.75 + 0.36942 * 0.25.
        ([0.75] * 8, 0.47294, 0.84235),
        # Tables of Clopper and Pearson's limits: 3 of 10, and 8 of 20.
        ([1.0] * 3 + [0.0] * 7, 0.06674, 0.65245),
        ([1.0] * 8 + [0.0] * 12, 0.19119, 0.63946),
        # A sum of 2.5 of 4 lies between 2 of 4, from 0.06759, and 3 of 4, to 0.99369.
        ([0.0, 0.5, 1.0, 1.0], 0.06759, 0.99369),
        # 1/3 + 2/3 + 1 is 2 of 3, whatever binary fractions make of it: 0.09430 to 0.99160.
        ([1 / 3, 2 / 3, 1.0], 0.09430, 0.99160),
    ],
)
def test_few_tasks_and_equal_ones_have_an_exact_interval(
    values: list[float], low: float, high: float
) -> None:
    interval = clustered_interval(values)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-5)
    assert interval.method == "exact"


def test_equal_differences_do_not_make_certainty_either() -> None:
    # 8 pairs that are alike: 0 -+ 0.36942 of the way to each limit.
    interval = clustered_interval([0.0] * 8, limits=(-1.0, 1.0))
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((-0.36942, 0.36942), abs=1e-5)


def test_many_unequal_tasks_have_a_bootstrap_interval() -> None:
    values = [0.25, 0.5, 0.75, 1.0] * 5
    interval = clustered_interval(values)
    assert interval is not None
    assert interval.method == "bootstrap"
    assert (interval.low, interval.high) == bootstrap(values, 0.025, resamples=10_000, seed=0)


@pytest.mark.parametrize(("count", "trials"), [(2, 4), (4, 4), (8, 4), (8, 1)])
@pytest.mark.parametrize("chance", [0.5, 0.9])
def test_intervals_of_few_tasks_hold_the_truth_as_often_as_they_say(
    count: int, trials: int, chance: float
) -> None:
    # Every outcome of tasks with the same chance, weighed by how likely it is: coverage without sampling.
    shares = [math.comb(trials, c) * chance**c * (1 - chance) ** (trials - c) for c in range(trials + 1)]
    held = 0.0
    for outcome in itertools.combinations_with_replacement(range(trials + 1), count):
        interval = clustered_interval([c / trials for c in outcome])
        assert interval is not None
        if interval.low <= chance <= interval.high:
            repeats = math.prod(math.factorial(outcome.count(c)) for c in range(trials + 1))
            held += math.factorial(count) / repeats * math.prod(shares[c] for c in outcome)
    assert held >= 0.95


def test_one_task_has_no_interval() -> None:
    assert clustered_interval([1.0]) is None
    assert clustered_interval([]) is None
