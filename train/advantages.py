"""Advantages of rollouts within their group: what one did better than the others of the same task.

A group is the rollouts that were made of one draw of a task. It is known by an id that the caller gives, such
as ``(iteration, draw, task id)``, never by its prompt: a sampled user opens each rollout in other words.

Whether rewards differ is decided by comparing them, ``max == min``, never by a computed deviation: the one of
twelve rewards of 0.05 is rounding noise, and dividing by it would blow an advantage up. Rewards that are to
be equal must be equal floats. Sums are exact (`math.fsum`) and run over sorted rewards, so nothing depends on
the order of the rollouts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from gym_enterprise.errors import UsageError

# From the sorted rewards of a group: the mean and the deviation that each of them is compared with.
Rule = Callable[[Sequence[float]], list[tuple[float, float]]]


@dataclass(frozen=True)
class Group:
    """What is known about one group."""

    size: int
    """All its rollouts."""
    valid: int
    """Those that were scored; the others failed for reasons that are not the agent's."""
    zero_variance: bool
    """At least two are valid and all their rewards are equal, so every advantage is exactly 0."""

    @property
    def inert(self) -> bool:
        """Fewer than two are valid: there is nothing to compare with, and every advantage is exactly 0."""
        return self.valid < 2


@dataclass(frozen=True)
class Advantages:
    """Advantages of N rollouts, and what is known about their groups."""

    values: Tensor
    """[N], float32 or wider; exactly 0 for invalid rollouts, and all of a group that is not informative."""
    informative: Tensor
    """[N] bool; True for every rollout of a group whose valid rewards differ: what dynamic sampling keeps."""
    groups: dict[Hashable, Group]
    """By group id, in the order of first appearance."""


def leave_one_out(
    rewards: Tensor,
    group_ids: Iterable[Hashable],
    valid: Tensor | None = None,
    scale: bool = True,
    ddof: int = 1,
) -> Advantages:
    """Compare each reward with the mean and the standard deviation of the *other* valid rewards of its group.

    ``A_i = (R_i - mean(R_j, j != i)) / std(R_j, j != i)``, not divided where the others are all equal: a lone
    success among failures has ``A = 1``. (The baseline is that of RLOO, Kool et al. 2019, Ahmadian et al.
    2024; leave-one-out GRPO leaves the rollout out of the deviation too.)

    Args:
        rewards: [N], any real dtype; invalid rollouts may hold anything, NaN included.
        group_ids: N hashable ids. Groups may have any size.
        valid: [N] bool; False where something around the rollout failed: it is in no baseline. None: all are.
        scale: Whether to divide by the deviation.
        ddof: What is subtracted from the number of the others in the variance: 1 (Bessel) or 0.

    Raises:
        UsageError: Shapes, ids or ddof do not fit, or a valid reward is not finite.

    Example:
        >>> leave_one_out(torch.tensor([1.0, 0.0, 0.0, 0.0]), ["t"] * 4, scale=False).values
        tensor([ 1.0000, -0.3333, -0.3333, -0.3333])
    """
    return _advantages(rewards, group_ids, valid, partial(_leave_one_out, ddof=_checked(ddof)), scale)


def grpo(
    rewards: Tensor, group_ids: Iterable[Hashable], valid: Tensor | None = None, ddof: int = 1
) -> Advantages:
    """Compare each reward with the mean and standard deviation of its whole group, itself included.

    Shao et al. 2024 (GRPO), without an epsilon in the divisor. Arguments as for `leave_one_out`.
    """
    return _advantages(rewards, group_ids, valid, partial(_whole_group, ddof=_checked(ddof)), scale=True)


def dr_grpo(rewards: Tensor, group_ids: Iterable[Hashable], valid: Tensor | None = None) -> Advantages:
    """Compare each reward with the mean of its whole group, itself included, and do not divide.

    Liu et al. 2025 (Dr. GRPO). Arguments as for `leave_one_out`.
    """
    return _advantages(rewards, group_ids, valid, partial(_whole_group, ddof=1), scale=False)


def shuffled(found: Advantages, rng: random.Random) -> Advantages:
    """Deal advantages out at random among the rollouts of all groups in which they differ.

    That is a control: the updates are as large as those that teach, and teach nothing.
    """
    places = (found.informative & (found.values != 0)).nonzero().flatten().tolist()
    values = found.values.clone()
    values[places] = found.values[rng.sample(places, len(places))]
    return replace(found, values=values)


def as_ids(ids: Iterable[Hashable], count: int, name: str) -> list[Hashable]:
    """Return ids as a list, with the numbers of a tensor as numbers: tensors would compare by identity.

    Raises:
        UsageError: There are not `count` of them, or one is not hashable.
    """
    listed = [each.item() if isinstance(each, Tensor) else each for each in ids]
    if len(listed) != count:
        raise UsageError(f"{name} has {len(listed)} entries for {count} rows: give one for each row")
    for each in listed:
        try:
            hash(each)
        except TypeError:
            raise UsageError(
                f"{name} holds {each!r}, which cannot be hashed: use a text, int or tuple"
            ) from None
    return listed


def _checked(ddof: int) -> int:
    if ddof not in (0, 1):
        raise UsageError(f"ddof is {ddof!r}: give 1 (divide by the number of rewards less one) or 0")
    return ddof


def _advantages(
    rewards: Tensor, group_ids: Iterable[Hashable], valid: Tensor | None, rule: Rule, scale: bool
) -> Advantages:
    numbers, scored = _numbers(rewards, valid)
    ids = as_ids(group_ids, len(numbers), "group_ids")
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(ids):
        members.setdefault(group, []).append(row)
    groups, values = {}, [0.0] * len(numbers)
    for group, rows in members.items():
        ranked = sorted((row for row in rows if scored[row]), key=numbers.__getitem__)
        equal = len(ranked) > 1 and numbers[ranked[0]] == numbers[ranked[-1]]
        groups[group] = Group(size=len(rows), valid=len(ranked), zero_variance=equal)
        for row, (mean, deviation) in zip(ranked, rule([numbers[row] for row in ranked]), strict=True):
            values[row] = (numbers[row] - mean) / (deviation if scale and deviation else 1.0)
    informative = [not (groups[group].inert or groups[group].zero_variance) for group in ids]
    return Advantages(
        torch.tensor(values, dtype=torch.promote_types(rewards.dtype, torch.float32), device=rewards.device),
        torch.tensor(informative, dtype=torch.bool, device=rewards.device),
        groups,
    )


def _numbers(rewards: Tensor, valid: Tensor | None) -> tuple[list[float], list[bool]]:
    """Return the rewards, and which of them count, as lists of Python numbers."""
    if rewards.ndim != 1 or (valid is not None and valid.shape != rewards.shape):
        shapes = f"rewards {list(rewards.shape)}" + ("" if valid is None else f", valid {list(valid.shape)}")
        raise UsageError(f"{shapes}: both must have the shape [N]")
    if valid is not None and valid.dtype != torch.bool:
        raise UsageError(
            f"valid has the dtype {valid.dtype}: give bool, True for a rollout that has a reward"
        )
    numbers = [float(number) for number in rewards.tolist()]
    scored: list[bool] = [True] * len(numbers) if valid is None else valid.tolist()
    for row, number in enumerate(numbers):
        if scored[row] and not math.isfinite(number):
            raise UsageError(
                f"the reward of row {row} is {number}, not finite: set valid to False where none exists"
            )
    return numbers, scored


def _leave_one_out(ranked: Sequence[float], ddof: int) -> list[tuple[float, float]]:
    others = ([*ranked[:i], *ranked[i + 1 :]] for i in range(len(ranked)))
    return [_mean_and_deviation(rest or ranked, ddof) for rest in others]  # alone, it is its own baseline


def _whole_group(ranked: Sequence[float], ddof: int) -> list[tuple[float, float]]:
    return [_mean_and_deviation(ranked, ddof)] * len(ranked) if ranked else []


def _mean_and_deviation(rewards: Sequence[float], ddof: int) -> tuple[float, float]:
    """Return the mean, and the standard deviation, which is 0 where all are equal and only there."""
    if min(rewards) == max(rewards):
        return rewards[0], 0.0
    mean = math.fsum(rewards) / len(rewards)
    # hypot scales, so squares of tiny differences do not vanish.
    return mean, math.hypot(*(reward - mean for reward in rewards)) / math.sqrt(len(rewards) - ddof)
