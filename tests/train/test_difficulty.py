"""Which tasks are drawn: by their weights, whatever these are, and only those that a run began with."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")

from gym_enterprise.errors import UsageError
from train.config import Difficulty
from train.difficulty import TaskSampler


def sampler(tasks: str, floor: float = 0.1) -> TaskSampler:
    return TaskSampler({task: f"hash of {task}" for task in tasks}, Difficulty(floor=floor), random.Random(0))


def test_tasks_are_drawn_in_proportion_to_their_weights() -> None:
    """Never passed in 3: p = 0.5 / 4, so 0.1 + 0.9 * 4 * 0.125 * 0.875 = 0.49375; against 1, 0.33054."""
    drawn = sampler("ab")
    drawn.update("a", [0.0, 0.0, 0.0])
    assert drawn.weight("a") == pytest.approx(0.49375)
    share = sum(drawn.draw(1) == ["a"] for _ in range(4000)) / 4000
    assert share == pytest.approx(0.33054, abs=0.03)  # four standard deviations


def test_weights_near_0_still_draw_at_random() -> None:
    """u ** (1 / weight) is 0 in floating point for most u, and what is equal would come as it stands."""
    hopeless = sampler("abcdefghijklmnopqrst", floor=1e-9)
    for task in "abcdefghijklmnopqrst":
        hopeless.update(task, [0.0] * 100_000)
    drawn = "".join(task for _ in range(400) for task in hopeless.draw(10))
    assert sum(drawn.count(task) for task in "abcdefghij") / 4000 == pytest.approx(0.5, abs=0.03)


def test_counts_go_on_with_the_same_tasks_only() -> None:
    before, after = sampler("ab"), sampler("ab")
    before.update("a", [1.0, 0.0])
    after.load_state_dict(before.state_dict())
    assert after.state_dict() == before.state_dict()
    after.load_state_dict({"a": [2.0, 3.0], "b": [0.0, 0.0]})  # of a checkpoint from before
    assert after.weight("a") == pytest.approx(0.1 + 0.9 * 4 * 0.625 * 0.375)
    for others in ("a", "abc", "ac"):
        with pytest.raises(UsageError, match="new, gone or have another content since the checkpoint"):
            sampler(others).load_state_dict(before.state_dict())
    changed = TaskSampler({"a": "another hash", "b": "hash of b"}, Difficulty(), random.Random(0))
    with pytest.raises(UsageError, match=r"1 tasks are new, gone or have another content .* such as 'a'"):
        changed.load_state_dict(before.state_dict())
