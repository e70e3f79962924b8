"""What normalises the loss of a whole batch, known before its micro-batches are gone through.

A loss that each micro-batch divides by its own tokens depends on the split. Here the divisors come from the
whole batch, so that the losses of its micro-batches, or ranks, *sum* to its loss.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from gym_enterprise.errors import UsageError
from train.advantages import as_ids
from train.padded import as_mask, filled, row_sums

Level = Literal["token", "sequence"]


@dataclass(frozen=True)
class RolloutTotals:
    """What the loss needs to know about one rollout, over all its segments."""

    group: Hashable
    tokens: int
    log_weight: float | None
    """Sum of old_logp - rollout_logp over its tokens; None where `loss_totals` was not given the two."""

    def __add__(self, other: RolloutTotals) -> RolloutTotals:
        if self.group != other.group:
            raise UsageError(f"segments of one rollout are in two groups, {self.group!r} and {other.group!r}")
        log_weight = None
        if self.log_weight is not None and other.log_weight is not None:
            log_weight = self.log_weight + other.log_weight
        return RolloutTotals(self.group, self.tokens + other.tokens, log_weight)


@dataclass(frozen=True)
class Totals:
    """The facts about all rollouts of a batch; those of its parts, such as ranks, join by ``+``."""

    rollouts: dict[Hashable, RolloutTotals]
    named: bool
    """Whether the keys are rollout ids; otherwise they are row numbers, and each row is a rollout."""

    def counts(self, level: Level = "token") -> Counter[Hashable]:
        """N of each group: its counted tokens, or, at level "sequence", its rollouts that have any."""
        counts: Counter[Hashable] = Counter()
        for each in self.rollouts.values():
            counts[each.group] += each.tokens if level == "token" else each.tokens > 0
        return counts

    def __add__(self, other: Totals) -> Totals:
        if not (self.named and other.named):
            raise UsageError("totals without rollout_ids cannot be added: give loss_totals the ids")
        return Totals(_joined([*self.rollouts.items(), *other.rollouts.items()]), named=True)


def loss_totals(
    mask: Tensor,
    group_ids: Iterable[Hashable],
    *,
    rollout_ids: Iterable[Hashable] | None = None,
    old_logp: Tensor | None = None,
    rollout_logp: Tensor | None = None,
) -> Totals:
    """Count the tokens of a whole batch.

    Args:
        mask: [N, T], bool or 0 and 1: the tokens that count.
        group_ids: N ids, see `train.advantages`.
        rollout_ids: N ids, unique in the whole batch; rows of the same id are segments of one rollout. None:
            each row is a rollout.
        old_logp: [N, T]. Needed, with `rollout_logp`, only for a `geometric_delta` where the segments of a
            rollout lie in different micro-batches: m is a matter of all of them.
        rollout_logp: [N, T].

    Raises:
        UsageError: Shapes do not match, an id cannot be hashed, or a rollout is in two groups.
    """
    seen = as_mask(mask)
    keys = range(len(seen)) if rollout_ids is None else as_ids(rollout_ids, len(seen), "rollout_ids")
    groups = as_ids(group_ids, len(seen), "group_ids")
    log_weights: list[float] | list[None] = [None] * len(seen)
    if old_logp is not None and rollout_logp is not None:
        log_weight = filled(old_logp, seen, "old_logp") - filled(rollout_logp, seen, "rollout_logp")
        log_weights = row_sums(log_weight).tolist()
    facts = map(RolloutTotals, groups, seen.sum(1).tolist(), log_weights)
    return Totals(_joined(zip(keys, facts, strict=True)), named=rollout_ids is not None)


def whole_rollouts(
    here: Totals, totals: Totals, *, level: Level, weighed: bool
) -> dict[Hashable, RolloutTotals]:
    """Return the rollouts of one micro-batch, `here`, over all their segments, wherever these are.

    At level "sequence" none may have segments elsewhere; where they are `weighed`, `log_weight` is needed.

    Raises:
        UsageError: The two totals do not fit each other, or a rollout lacks what is needed.
    """
    if here.named != totals.named:
        raise UsageError(
            "rollout_ids went to one of loss_totals and policy_loss: give them to both, or neither"
        )
    counts = totals.counts()
    for group, tokens in here.counts().items():
        if tokens > counts[group]:
            raise UsageError(
                f"group {group!r} has {tokens} counted tokens here and {counts[group]} in totals: make the "
                "totals of the whole batch, with the masks that the loss gets"
            )
    if not totals.named:  # each row is a whole rollout, and its number means nothing elsewhere
        return here.rollouts
    return {key: _whole(key, part, totals, level, weighed) for key, part in here.rollouts.items()}


def _whole(key: Hashable, part: RolloutTotals, totals: Totals, level: Level, weighed: bool) -> RolloutTotals:
    whole = totals.rollouts.get(key)
    if whole is None or whole.group != part.group or part.tokens > whole.tokens:
        raise UsageError(f"rollout {key!r} is {part} here and {whole} in totals: make them of the same batch")
    if part.tokens == whole.tokens:
        return part
    if level == "sequence":
        raise UsageError(
            f"rollout {key!r} has {part.tokens} of its {whole.tokens} tokens here: level 'sequence' needs "
            "all segments of a rollout in the same micro-batch"
        )
    if weighed and whole.log_weight is None:
        raise UsageError(
            f"rollout {key!r} has segments elsewhere, and geometric_delta looks at all of them: give "
            "loss_totals old_logp and rollout_logp"
        )
    return whole


def _joined(parts: Iterable[tuple[Hashable, RolloutTotals]]) -> dict[Hashable, RolloutTotals]:
    whole: dict[Hashable, RolloutTotals] = {}
    for key, part in parts:
        whole[key] = whole[key] + part if key in whole else part
    return whole
