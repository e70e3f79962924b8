"""Rows of rollouts, and the batches that are made of them."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from gym_enterprise import Record
from gym_enterprise.errors import UsageError
from tests.harness.records import record

torch = pytest.importorskip("torch")
from train.advantages import leave_one_out  # noqa: E402
from train.batching import Batch, Row, fitting, micro_batches, minibatches, rows  # noqa: E402


def segment(ids: list[int], sampled: list[int]) -> dict[str, Any]:
    logprobs = [-token / 8 if made else 0.0 for token, made in zip(ids, sampled, strict=True)]
    return {"ids": ids, "sampled": sampled, "logprobs": logprobs}


def rollout(trial: int, reward: float | None, *segments: Any) -> Record:
    return record("t", trial, reward, segments=segments)


def row(length: int, group: Any = "g", name: Any = 0) -> Row:
    return Row((1,) * length, (0,) + (1,) * (length - 1), (0.0,) + (-1.0,) * (length - 1), group, name)


def made_up(seed: int, count: int = 40) -> list[Row]:
    rng = random.Random(seed)
    return [
        row(rng.randint(1, 30), group=("draw", number % 5), name=(number % 5, number // 10))
        for number in range(count)
    ]


# -- rows -------------------------------------------------------------------------------------------------


def test_b039_what_counts_is_what_was_sampled_and_nothing_else() -> None:
    # A prompt with an example of a turn, 1 to 4; a turn, which 9 ends; a tool's result and a user, 5 and 6.
    one = segment([1, 2, 3, 4, 7, 8, 9, 5, 6, 8, 9], [0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1])
    [made] = rows([rollout(0, 1.0, one)], ["g"], [0.5], vocabulary=10)
    batch = Batch.of([made])
    assert batch.ids[batch.mask].tolist() == [7, 8, 9, 8, 9]
    assert batch.rollout_logp[batch.mask].tolist() == [-7 / 8, -1.0, -9 / 8, -1.0, -9 / 8]
    assert not batch.rollout_logp[~batch.mask].any()
    assert int(batch.mask.sum()) == sum(one["sampled"])


def test_b039_padding_is_not_found_out_from_ids() -> None:
    # The token 0 pads, ends turns, and stands in a prompt.
    long, short = segment([0, 5, 0, 5, 6, 0], [0, 0, 0, 1, 1, 1]), segment([0, 3, 0], [0, 1, 1])
    batch = Batch.of(rows([rollout(0, 1.0, long), rollout(1, 0.0, short)], "gg", [1, -1], vocabulary=7))
    assert batch.ids.tolist() == [[0, 5, 0, 5, 6, 0], [0, 3, 0, 0, 0, 0]]
    assert batch.attention.int().tolist() == [[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0]]
    assert batch.mask.int().tolist() == [[0, 0, 0, 1, 1, 1], [0, 1, 1, 0, 0, 0]]


def test_a_batch_has_every_row_in_its_place() -> None:
    first, second = segment([1, 2, 3], [0, 1, 0]), segment([4, 5], [0, 1])
    made = rows([rollout(3, 0.0, first, second)], [("it", 2, "t")], [-0.5], vocabulary=10)
    batch = Batch.of(made)
    assert batch.rows == made
    assert (batch.ids.dtype, batch.attention.dtype, batch.mask.dtype) == (torch.int64, torch.bool, torch.bool)
    assert (batch.rollout_logp.dtype, batch.advantages.dtype) == (torch.float32, torch.float32)
    assert batch.rollout_logp.tolist() == [[0.0, -0.25, 0.0], [0.0, -0.625, 0.0]]
    assert batch.advantages.tolist() == [-0.5, -0.5]
    assert batch.group_ids == [("it", 2, "t")] * 2
    assert batch.rollout_ids == [(("it", 2, "t"), 3)] * 2
    moved = batch.to("cpu")
    assert all(getattr(moved, name) is getattr(batch, name) for name in vars(batch))
    assert batch.to("meta").mask.device.type == batch.to("meta").ids.device.type == "meta"


def test_b037_a_rollout_without_a_reward_has_no_rows() -> None:
    one = segment([1, 2], [0, 1])
    records = [rollout(0, 1.0, one), rollout(1, None, one), rollout(2, 0.0, one)]
    valid = torch.tensor([each.reward is not None for each in records])
    rewards = torch.tensor([each.reward or 0.0 for each in records])
    advantages = leave_one_out(rewards, "ggg", valid).values
    made = rows(records, "ggg", advantages, vocabulary=10)
    assert [(one.rollout, one.advantage) for one in made] == [(("g", 0), 1.0), (("g", 2), -1.0)]


def test_b043_a_rollout_that_is_not_kept_has_no_rows_and_stays_in_the_baseline() -> None:
    one = segment([1, 2], [0, 1])
    records = [rollout(trial, reward, one) for trial, reward in enumerate([1.0, 0.0, 0.0, 0.0])]
    advantages = leave_one_out(torch.tensor([1.0, 0.0, 0.0, 0.0]), "gggg").values
    made = rows(records, "gggg", advantages, vocabulary=10, kept=[True, False, True, True])
    # As for the four of [1, 0, 0, 0]; for the three of [1, 0, 0] it would be -0.7071.
    assert [one.advantage for one in made] == pytest.approx([1.0, -0.577350, -0.577350], abs=1e-6)


def test_segments_in_which_nothing_was_sampled_and_rollouts_without_any_give_no_rows() -> None:
    records = [rollout(0, 1.0, segment([1, 2], [0, 0]), segment([1, 3], [0, 1])), rollout(1, 1.0)]
    assert [one.ids for one in rows(records, "gg", [1, 1], vocabulary=10)] == [(1, 3)]
    assert rows([], [], [], vocabulary=10) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ids": [1, 2]}, "has 2, 3 and 3 ids, sampled and logprobs"),
        ({"logprobs": [0.0, -1.0]}, "has 3, 3 and 2 ids, sampled and logprobs"),
        ({"ids": [], "sampled": [], "logprobs": []}, "has 0, 0 and 0 ids, .* one at least"),
        ({"sampled": [0, 2, 1]}, r"has \[0, 1, 2\] in sampled"),
        ({"sampled": [1, 1, 1]}, "begins with a token that counts, but nothing is before it"),
        ({"ids": [1, -1, 2]}, "has the token -1"),
        ({"ids": [1, 10, 2]}, "has the token 10, the model only those below 10"),
        ({"sampled": [0, 1, 0]}, "has a log-probability at a token that was not sampled: keep the lists in"),
    ],
)
def test_a_segment_that_is_not_sound_is_refused_and_its_rollout_named(
    changes: dict[str, Any], message: str
) -> None:
    good = {"ids": [1, 2, 3], "sampled": [0, 1, 1], "logprobs": [0.0, -1.0, -1.0]}
    with pytest.raises(UsageError, match=rf"a segment of rollout \('g', 4\) {message}"):
        rows([rollout(4, 1.0, good | changes)], ["g"], [1.0], vocabulary=10)


def test_lists_that_do_not_fit_and_trials_that_are_there_twice_are_refused() -> None:
    one = segment([1, 2], [0, 1])
    records = [rollout(0, 1.0, one), rollout(1, 0.0, one)]
    with pytest.raises(UsageError, match="group_ids has 1 entries for 2 rows"):
        rows(records, ["g"], [1, 1], vocabulary=10)
    with pytest.raises(UsageError, match="2 records, 1 advantages, 2 of kept: give as many of each"):
        rows(records, "gg", [1], vocabulary=10)
    with pytest.raises(UsageError, match="2 records, 2 advantages, 1 of kept"):
        rows(records, "gg", [1, 1], vocabulary=10, kept=[True])
    with pytest.raises(UsageError, match="group 'g' has trial 0 twice: give each rollout its own"):
        rows([records[0], records[0]], "gg", [1, 1], vocabulary=10)
    assert len(rows([records[0], records[0]], "gh", [1, 1], vocabulary=10)) == 2


# -- what does not fit ------------------------------------------------------------------------------------


def test_b046_rollouts_with_a_row_that_is_too_long_are_left_out_and_named() -> None:
    short = [row(6, name=name) for name in "abcd"]
    long = [row(70, name=name) for name in "efgh"]
    kept, dropped = fitting([*long, *short], 64)
    assert (kept, dropped) == (short, ["e", "f", "g", "h"])
    assert fitting([row(3, name="a"), row(65, name="a"), row(64, name="b")], 64) == (
        [row(64, name="b")],
        ["a"],
    )
    assert fitting([], 64) == ([], [])


def test_b046_when_all_are_too_long_nothing_begins() -> None:
    with pytest.raises(UsageError, match=r"all 2 rollouts have a row of more than 64 tokens.* has 70: allow"):
        fitting([row(70, name="a"), row(90, name="b")], 64)


# -- micro-batches ----------------------------------------------------------------------------------------


def held(batches: list[Batch]) -> Counter[Any]:
    return Counter(
        (int(real.sum()), group, name)
        for batch in batches
        for real, group, name in zip(batch.attention, batch.group_ids, batch.rollout_ids, strict=True)
    )


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("budget", [30, 64, 200, 10**6])
@pytest.mark.parametrize("seed", range(3))
def test_every_row_is_in_one_batch_and_batches_keep_to_their_budget(
    seed: int, budget: int, whole: bool
) -> None:
    given = made_up(seed)
    batches = micro_batches(given, budget, whole_rollouts=whole)
    assert held(batches) == Counter((len(one.ids), one.group, one.rollout) for one in given)
    for batch in batches:
        assert batch.ids.numel() <= budget or len(set(batch.rollout_ids)) == 1
        assert batch.ids.shape == batch.attention.shape == batch.mask.shape == batch.rollout_logp.shape
        assert batch.attention.any(0).all()
    if whole:
        names = Counter(name for batch in batches for name in set(batch.rollout_ids))
        assert set(names.values()) == {1}
    assert sorted(id(one) for batch in batches for one in batch.rows) == sorted(map(id, given))
    if budget == 10**6:
        assert len(batches) == 1


def test_rows_of_like_length_are_together_so_that_little_is_padding() -> None:
    given = [row(length) for length in (3, 50, 4, 48, 2, 49, 5, 50)]
    batches = micro_batches(given, 200)
    assert [batch.ids.shape for batch in batches] == [(4, 50), (4, 5)]
    assert sum(batch.ids.numel() for batch in batches) == 220
    assert sum(int(batch.attention.sum()) for batch in batches) == 211


def test_batches_are_the_same_each_time_and_in_any_order_of_rows() -> None:
    given = [row(length, name=length) for length in random.Random(0).sample(range(1, 99), 30)]
    other = random.Random(1).sample(given, 30)
    for first, second in zip(micro_batches(given, 300), micro_batches(other, 300), strict=True):
        assert first.ids.equal(second.ids)
        assert first.rollout_ids == second.rollout_ids


def test_a_row_above_the_budget_stands_alone() -> None:
    given = [row(9, name="a"), row(30, name="b"), row(8, name="c")]
    assert [batch.rollout_ids for batch in micro_batches(given, 20)] == [["b"], ["a", "c"]]
    assert micro_batches([], 20) == []


# -- minibatches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_minibatches_share_out_whole_groups_evenly(count: int) -> None:
    given = made_up(0)
    parts = minibatches(given, count, random.Random(0))
    assert Counter(one for part in parts for one in part) == Counter(given)
    owners = [{one.group for one in part} for part in parts]
    assert sum(map(len, owners)) == len(set().union(*owners)) == 5
    assert max(map(len, owners)) - min(map(len, owners)) <= 1
    assert len(parts) == count


def test_minibatches_come_from_the_generator_and_from_nothing_else() -> None:
    given = made_up(0)
    random.seed(1)
    first = minibatches(given, 3, random.Random(5))
    random.seed(2)
    assert minibatches(given, 3, random.Random(5)) == first
    assert minibatches(given, 3, random.Random(6)) != first


def test_there_are_no_empty_minibatches() -> None:
    assert len(minibatches(made_up(0), 9, random.Random(0))) == 5
    assert minibatches([], 3, random.Random(0)) == []
