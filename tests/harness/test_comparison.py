"""Two runs compared: by hand, and against enumeration of all assignments of signs."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pytest

from gym_enterprise import Record, UsageError
from gym_enterprise.harness.comparison import compare, sign_flip_test
from tests.harness.records import record, trials


def run(**rewards: str) -> list[Record]:
    return [item for task_id, letters in rewards.items() for item in trials(task_id, letters)]


def test_differences_are_of_tasks_and_paired() -> None:
    # Pass rates 1/2, 0, 1 against 1, 1/2, 1: differences 1/2, 1/2, 0. The sums of +-1/2 +-1/2 are 1, 0, 0
    # and -1: half of them are as far from 0 as 1.
    result = compare(run(a="10", b="00", c="11"), run(a="11", b="10", c="11"))
    assert (result.tasks, result.better, result.worse) == (3, 2, 0)
    assert result.pass_at_1 == (0.5, pytest.approx(2.5 / 3))
    assert result.difference == pytest.approx(1 / 3)
    assert (result.p_value, result.method) == (0.5, "exact")
    assert result.interval is not None
    assert result.interval.low <= 1 / 3 <= result.interval.high


def test_with_one_trial_a_task_it_is_the_sign_test() -> None:
    # 5 of 5 changed tasks got better: two-sided 2 / 2**5. 6 of 7: (1 + 7) * 2 / 2**7. Unchanged ones do not
    # count.
    assert sign_flip_test([Fraction(1)] * 5 + [Fraction(0)] * 90) == (0.0625, "exact")
    assert sign_flip_test([Fraction(1)] * 6 + [Fraction(-1)]) == (0.125, "exact")


@pytest.mark.parametrize("seed", range(12))
def test_the_p_value_is_the_share_of_all_assignments_of_signs(seed: int) -> None:
    random_ = random.Random(seed)
    differences = [
        Fraction(random_.randint(0, 4), 4) - Fraction(random_.randint(0, 3), 3)
        for _ in range(random_.randint(1, 9))
    ]
    seen = abs(sum(differences))
    signs = list(itertools.product((1, -1), repeat=len(differences)))
    far = sum(abs(sum(s * d for s, d in zip(row, differences, strict=True))) >= seen for row in signs)
    p_value, method = sign_flip_test(differences)
    assert (p_value, method) == (pytest.approx(far / len(signs), abs=1e-12), "exact")


def test_the_sampled_test_is_near_the_exact_one_and_never_zero() -> None:
    differences = [Fraction(n, 12) for n in (5, -3, 8, 1, 7, -2, 4, 4, 9, -1, 6, 3)]
    exact, _ = sign_flip_test(differences)
    sampled, method = sign_flip_test(differences, max_cells=0)
    assert method == "sampled"
    # Standard error of 100,000 draws at p = 0.01 is 0.0003.
    assert sampled == pytest.approx(exact, abs=0.002)
    assert sign_flip_test([Fraction(1)] * 60, max_cells=0)[0] == pytest.approx(1 / 100_001)


def test_equal_runs_have_p_one_and_a_thousand_tasks_are_exact_still() -> None:
    assert compare(run(a="10", b="0"), run(a="01", b="0")).p_value == 1.0
    half = [Fraction(1, 4)] * 500 + [Fraction(-1, 4)] * 500
    assert sign_flip_test(half) == (pytest.approx(1.0), "exact")


def test_tasks_that_all_got_better_do_not_make_certainty() -> None:
    # Of 3 tasks a share of at least 0.025 ** (1/3) = 0.2924 gets better, at 95 %; were the others worse, the
    # difference would be 2 * 0.2924 - 1.
    interval = compare(run(a="0", b="0", c="0"), run(a="1", b="1", c="1")).interval
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(-0.4152, abs=1e-4), 1.0)


def test_it_is_exactly_symmetric() -> None:
    a, b = run(a="1100", b="1000", c="11"), run(a="1111", b="000", c="10")
    forth, back = compare(a, b), compare(b, a)
    assert (forth.p_value, forth.difference) == (back.p_value, -back.difference)
    assert (forth.better, forth.worse) == (back.worse, back.better)


def test_what_only_one_run_scored_is_left_out_and_counted() -> None:
    result = compare(run(a="1", b="-", c="0-"), run(a="0", b="1", d="1"))
    assert (result.tasks, result.unpaired, result.unscored) == (1, (1, 2), (2, 0))
    assert result.interval is None
    assert json.loads(json.dumps(result.to_dict()))["unpaired"] == [1, 2]


def test_runs_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(UsageError, match="no task was scored in both runs"):
        compare(run(a="1"), run(b="1"))
    with pytest.raises(UsageError, match="task 'a' trial 0 stands twice"):
        compare(run(a="1") * 2, run(a="1"))
    with pytest.raises(
        UsageError, match=r"task 'a' has another content in the second run \(hash old and new\)"
    ):
        compare([record("a", task_hash="old")], [record("a", task_hash="new")])
    with pytest.raises(UsageError, match="task 'a' has two contents in one run"):
        compare([record("a", task_hash="x"), record("a", 1, task_hash="y")], run(a="1"))
