"""Advantages by hand, against plain loops, and in the cases that break other trainers."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
from train.advantages import dr_grpo, grpo, leave_one_out, shuffled  # noqa: E402

S3, S12 = 1 / math.sqrt(3), 1 / math.sqrt(2)


def of(rewards: list[float], compute: Any = leave_one_out, **options: Any) -> list[float]:
    """The advantages of one group, as numbers."""
    return compute(
        torch.tensor(rewards, dtype=torch.float64), ["g"] * len(rewards), **options
    ).values.tolist()


# By hand, from the mean and the standard deviation of the others: rewards, baselines, ddof 1, ddof 0. In the
# first row the others of a 1 are [0, 0, 1]: mean 1/3, variance (2/3) / 2, so (2/3) * sqrt(3) = 1.154701.
TABLE = [
    (
        [1, 0, 0, 1],
        [1 / 3, 2 / 3, 2 / 3, 1 / 3],
        [2 * S3, -2 * S3, -2 * S3, 2 * S3],
        [2 * S12, -2 * S12, -2 * S12, 2 * S12],
    ),
    ([1, 0, 0, 0], [0, 1 / 3, 1 / 3, 1 / 3], [1] + [-S3] * 3, [1] + [-S12] * 3),
    ([0, 1, 1, 1], [1, 2 / 3, 2 / 3, 2 / 3], [-1] + [S3] * 3, [-1] + [S12] * 3),
    ([1] + [0] * 7, [0] + [1 / 7] * 7, [1] + [-0.377964] * 7, [1] + [-0.408248] * 7),
    (
        [1] * 3 + [0] * 5,
        [0.285714] * 3 + [0.428571] * 5,
        [1.463850] * 3 + [-0.801784] * 5,
        [1.581139] * 3 + [-0.866025] * 5,
    ),
    ([0, 0.5, 1], [0.75, 0.5, 0.25], [-2.121320, 0, 2.121320], [-3, 0, 3]),
    ([0.25, 0.75, 1], [0.875, 0.625, 0.5], [-3.535534, 0.235702, 1.414214], [-5, 1 / 3, 2]),
    ([1, 0], [0, 1], [1, -1], [1, -1]),
]


@pytest.mark.parametrize(("rewards", "baselines", "bessel", "population"), TABLE)
def test_leave_one_out_by_hand(
    rewards: list[float], baselines: list[float], bessel: list[float], population: list[float]
) -> None:
    assert of(rewards) == pytest.approx(bessel, abs=1e-6)
    assert of(rewards, ddof=0) == pytest.approx(population, abs=1e-6)
    assert of(rewards, scale=False) == pytest.approx(
        [reward - baseline for reward, baseline in zip(rewards, baselines, strict=True)], abs=1e-6
    )


def test_three_right_of_eight_without_the_deviation() -> None:
    # 1 - 2/7 and 0 - 3/7.
    assert of([1] * 3 + [0] * 5, scale=False) == pytest.approx([0.714286] * 3 + [-0.428571] * 5, abs=1e-6)


def test_b036_groups_without_variance_or_with_one_member_give_exactly_zero() -> None:
    assert of([0.7]) == [0.0]
    assert of([1, 1, 1, 1]) == [0.0] * 4
    assert of([1, 0, 0, 0], scale=False) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    for compute in (leave_one_out, grpo, dr_grpo):
        rewards = torch.tensor([0.7, 1, 1, 1, 1, 1, 0, 0, 0])
        computed = compute(rewards, ["one", *"aaaa", *"bbbb"])
        assert computed.values.isfinite().all()
        assert computed.values[:5].tolist() == [0.0] * 5
        facts = [
            (group.size, group.valid, group.inert, group.zero_variance) for group in computed.groups.values()
        ]
        assert list(computed.groups) == ["one", "a", "b"]
        assert facts == [(1, 1, True, False), (4, 4, False, True), (4, 4, False, False)]


def test_b037_unscored_rollouts_leave_the_baseline_and_get_no_advantage() -> None:
    nan, valid = math.nan, [True, False, True]
    assert of([1, nan, 0], valid=torch.tensor(valid)) == [1.0, 0.0, -1.0]
    assert of([1, nan, nan], valid=torch.tensor([True, False, False])) == [0.0] * 3
    # Over [1, 0, 1]: baselines .5, 1, .5, deviation of [0, 1] = .707107; the zero's others are equal.
    four = leave_one_out(torch.tensor([1, 0, nan, 1]), ["t"] * 4, torch.tensor([True, True, False, True]))
    assert four.values.tolist() == pytest.approx([0.707107, -1, 0, 0.707107], abs=1e-6)
    assert four.groups["t"].size == 4
    assert four.groups["t"].valid == 3


@pytest.mark.parametrize("anything", [math.nan, math.inf, -math.inf, 0.0, 1e300])
def test_b037_what_an_invalid_rollout_holds_has_no_effect(anything: float) -> None:
    valid = torch.tensor([True, True, False, True])
    assert of([1, 0, anything, 1], valid=valid) == of([1, 0, 7.0, 1], valid=valid)


def test_b037_a_group_without_any_scored_rollout_is_inert() -> None:
    lost = leave_one_out(torch.tensor([math.nan, math.nan]), ["t", "t"], torch.tensor([False, False]))
    assert lost.values.tolist() == [0.0, 0.0]
    assert lost.groups["t"].inert
    assert lost.informative.tolist() == [False, False]


def test_lone_dissenters_never_blow_up_whatever_binary_floats_do_to_the_sum() -> None:
    # A common fault: the deviation of eleven times 0.05 is computed as 1e-9 instead of 0, and divides. The
    # others of a lone dissenter are equal, so its advantage is the difference of two rewards, at most 1.
    levels = [round(0.05 * step, 2) for step in range(21)]
    for size, common, lone in itertools.product(range(4, 17), levels, (0.0, 0.35, 1.0)):
        if common != lone:
            for dtype in (torch.float32, torch.float64):
                rewards = torch.tensor([lone] + [common] * (size - 1), dtype=dtype)
                values = leave_one_out(rewards, [0] * size).values
                assert values[0].item() == pytest.approx(lone - common, abs=1e-6)
                # The others of the rest are k = size - 1 with one dissenter: (d / k) / (d / sqrt(k)).
                rest = math.copysign(1 / math.sqrt(size - 1), common - lone)
                assert values[1:].tolist() == pytest.approx([rest] * (size - 1), abs=1e-5)


@pytest.mark.parametrize("compute", [leave_one_out, grpo, dr_grpo])
def test_equal_rewards_that_are_not_whole_numbers_give_exactly_zero(compute: Callable[..., Any]) -> None:
    for reward, size in itertools.product((0.1, 0.05, 1 / 3, 1e-30, -7.7), (2, 3, 12, 16)):
        assert of([reward] * size, compute) == [0.0] * size


def test_tiny_differences_are_scaled_like_any_other() -> None:
    # A deviation computed from squares would be 0 here.
    assert of([0, 0.5e-200, 1e-200]) == pytest.approx(of([0, 0.5, 1]))


def test_the_same_openings_do_not_merge_tasks_and_other_openings_do_not_split_one() -> None:
    # The group is what the caller says: two tasks that look the same, and one that looks different each time.
    assert leave_one_out(torch.tensor([0.0, 0, 1, 1]), ["x", "x", "y", "y"]).values.tolist() == [0.0] * 4
    merged = [-2 * S3, -2 * S3, 2 * S3, 2 * S3]
    assert of([0, 0, 1, 1]) == pytest.approx(merged)
    assert of([0] * 16 + [1] * 16, scale=False) == pytest.approx([-0.516129] * 16 + [0.516129] * 16, abs=1e-6)


def test_dynamic_sampling_keeps_whole_groups_whose_rewards_differ() -> None:
    # Not single rollouts: the lone success of the first group, whose others are equal, stays.
    rewards = torch.tensor([1.0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0])
    kept = leave_one_out(rewards, [*"aaaa", *"bbbb", *"cc", *"dd"]).informative
    assert kept.tolist() == [True] * 4 + [False] * 6 + [True] * 2


def test_grpo_and_dr_grpo_by_hand() -> None:
    # [1, 0, 0, 1]: mean 1/2; variance 1 / 3 with Bessel, 1/4 without.
    assert of([1, 0, 0, 1], grpo) == pytest.approx([0.866025, -0.866025, -0.866025, 0.866025], abs=1e-6)
    assert of([1, 0, 0, 1], grpo, ddof=0) == pytest.approx([1, -1, -1, 1])
    assert of([1, 0, 0, 1], dr_grpo) == [0.5, -0.5, -0.5, 0.5]
    assert of([1, 0], grpo) == pytest.approx([S12, -S12])
    assert of([1, math.nan, 0], dr_grpo, valid=torch.tensor([True, False, True])) == [0.5, 0.0, -0.5]


def test_baselines_that_other_libraries_publish() -> None:
    # NeMo RL's own test: [1, 2, 3] has the baselines 2.5, 2, 1.5 and the deviations .7071, 1.4142, .7071.
    assert of([1, 2, 3], scale=False) == pytest.approx([-1.5, 0, 1.5])
    assert of([1, 2, 3]) == pytest.approx([-1.5 / 0.70710678, 0, 1.5 / 0.70710678])
    assert of([1, 2]) == [-1.0, 1.0]  # a pair is not divided
    # With its 1e-6 in the divisor the first row of the table is 1.154698.
    assert of([1, 0, 0, 1])[0] == pytest.approx(1.154698, abs=1e-5)


def loops(rewards: list[float], ids: list[Any], valid: list[bool], scale: bool, ddof: int) -> list[float]:
    """Leave-one-out with the library of statistics, one rollout at a time."""
    out = []
    for i, reward in enumerate(rewards):
        others = [
            rewards[j] for j in range(len(rewards)) if j != i and ids[j] == ids[i] and valid[j] and valid[i]
        ]
        if not others:
            out.append(0.0)
            continue
        advantage = reward - statistics.fmean(others)
        if scale and len(set(others)) > 1:
            advantage /= (statistics.stdev if ddof else statistics.pstdev)(others)
        out.append(advantage)
    return out


@pytest.mark.parametrize("seed", range(40))
def test_leave_one_out_is_the_plain_loop_for_groups_of_any_size(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 40)
    rewards = [rng.choice([0.0, 1.0, 0.3, rng.uniform(-2, 2)]) for _ in range(count)]
    ids = [("iteration", 1, rng.choice("abcde")) for _ in range(count)]
    valid = [rng.random() < 0.8 for _ in range(count)]
    scale, ddof = rng.random() < 0.7, rng.randrange(2)
    computed = leave_one_out(
        torch.tensor(rewards, dtype=torch.float64), ids, torch.tensor(valid), scale=scale, ddof=ddof
    )
    assert computed.values.tolist() == pytest.approx(loops(rewards, ids, valid, scale, ddof), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, 0.1, 0.35, 1.0]), st.booleans()), max_size=14
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_rollouts_changes_nothing_at_all(
    rollouts: list[tuple[str, float, bool]], rng: random.Random
) -> None:
    shuffled = rng.sample(range(len(rollouts)), len(rollouts))
    for compute in (leave_one_out, grpo, dr_grpo):
        straight, mixed = (
            compute(
                torch.tensor([rollouts[i][1] for i in order], dtype=torch.float64),
                [rollouts[i][0] for i in order],
                torch.tensor([rollouts[i][2] for i in order], dtype=torch.bool),
            ).values.tolist()
            for order in (range(len(rollouts)), shuffled)
        )
        assert [straight[i] for i in shuffled] == mixed


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=3, max_size=9), st.floats(-5, 5), st.floats(0.1, 10))
def test_scaled_advantages_do_not_depend_on_the_unit_and_origin_of_rewards(
    rewards: list[float], origin: float, unit: float
) -> None:
    if min(b - a for a, b in itertools.pairwise(sorted(rewards))) > 1e-3:
        moved = [origin + unit * reward for reward in rewards]
        assert of(moved) == pytest.approx(of(rewards), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int64, torch.bool])
def test_advantages_are_float32_at_least(dtype: torch.dtype) -> None:
    computed = leave_one_out(torch.tensor([1, 0, 0, 1], dtype=dtype), torch.tensor([5, 5, 5, 5]))
    assert computed.values.dtype == torch.float32
    assert computed.values.tolist() == pytest.approx([2 * S3, -2 * S3, -2 * S3, 2 * S3])
    assert list(computed.groups) == [5]  # tensors as ids go by their numbers, not their identity


def test_no_rollouts_have_no_advantages() -> None:
    empty = leave_one_out(torch.tensor([]), [])
    assert (empty.values.shape, empty.informative.shape, empty.groups) == ((0,), (0,), {})


def test_what_cannot_be_is_refused() -> None:
    two = torch.tensor([1.0, 0.0])
    for reward in (math.nan, math.inf):
        with pytest.raises(UsageError, match=r"row 1 is (nan|inf), not finite: set valid to False"):
            leave_one_out(torch.tensor([1.0, reward]), "aa")
    with pytest.raises(UsageError, match="group_ids has 1 entries for 2 rows"):
        leave_one_out(two, ["a"])
    with pytest.raises(UsageError, match=r"holds \['a'\], which cannot be hashed"):
        leave_one_out(two, [["a"], ["a"]])
    with pytest.raises(UsageError, match="ddof is 2"):
        leave_one_out(two, "aa", ddof=2)
    with pytest.raises(UsageError, match="ddof is 2"):
        grpo(two, "aa", ddof=2)
    with pytest.raises(UsageError, match=r"rewards \[1, 2\]: both must have the shape \[N\]"):
        leave_one_out(two.unsqueeze(0), "aa")
    with pytest.raises(UsageError, match=r"rewards \[2\], valid \[1\]"):
        leave_one_out(two, "aa", torch.tensor([True]))
    with pytest.raises(UsageError, match=r"valid has the dtype torch\.float32"):
        leave_one_out(two, "aa", two)


def test_shuffled_advantages_are_the_same_numbers_dealt_out_among_what_can_be_learned_from() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0])
    groups, valid = "aaaabbbccc", torch.tensor([True] * 9 + [False])
    found = leave_one_out(rewards, groups, valid)
    seen = set()
    for seed in range(20):
        other = shuffled(found, random.Random(seed)).values
        assert sorted(other.tolist()) == sorted(found.values.tolist())
        assert not other[4:].any()  # equal rewards, and a group of two failures with what broke
        seen.add(int(other.argmax()))
    assert seen == {0, 1, 2, 3}
    assert shuffled(found, random.Random(7)).values.equal(shuffled(found, random.Random(7)).values)
    assert found.values[0] == 1.0
