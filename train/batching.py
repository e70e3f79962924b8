"""From rollouts to padded batches: a row for each segment, with the mask of what counts.

The mask comes with the tokens from where they were sampled. It is never found out from ids: the token that
pads may be the one that ends a turn. Nor are rows ever cut, as nothing to learn might be left of them.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor

from gym_enterprise import Record
from gym_enterprise.errors import UsageError
from train.advantages import as_ids


@dataclass(frozen=True)
class Row:
    """A segment: tokens in one piece, as the model read and sampled them. Its three lists have one length."""

    ids: tuple[int, ...]
    sampled: tuple[int, ...]
    """1 where the token counts, and 0 where the model only read it, as the first."""
    logprobs: tuple[float, ...]
    """Of the tokens when they were sampled; 0.0 where the model only read."""
    group: Hashable
    rollout: Hashable
    """The same for all segments of a rollout, and another for each rollout of the whole batch."""
    advantage: float = 1.0

    def __post_init__(self) -> None:
        if fault := self._fault():
            raise UsageError(f"a segment of rollout {self.rollout!r} {fault}")

    def _fault(self) -> str | None:
        if not len(self.ids) == len(self.sampled) == len(self.logprobs) > 0:
            lengths = f"{len(self.ids)}, {len(self.sampled)} and {len(self.logprobs)}"
            return f"has {lengths} ids, sampled and logprobs: give as many of each, and one at least"
        if not {0, 1}.issuperset(self.sampled):
            return f"has {sorted({*self.sampled})} in sampled: give 1 for a sampled token, 0 for others"
        if self.sampled[0]:
            return "begins with a token that counts, but nothing is before it: put the prompt there"
        if min(self.ids) < 0:
            return f"has the token {min(self.ids)}: a token is 0 or more"
        if any(logprob and not made for made, logprob in zip(self.sampled, self.logprobs, strict=True)):
            return "has a log-probability at a token that was not sampled: keep the lists in step"
        return None


@dataclass(frozen=True)
class Batch:
    """N rows, padded on the right to T tokens. Everything stands at the token that it is about."""

    ids: Tensor
    """[N, T] int64; 0 in the padding."""
    attention: Tensor
    """[N, T] bool; True at a token."""
    mask: Tensor
    """[N, T] bool; True at a token that counts."""
    rollout_logp: Tensor
    """[N, T] float32."""
    advantages: Tensor
    """[N] float32."""
    group_ids: list[Hashable]
    rollout_ids: list[Hashable]
    rows: list[Row]
    """What it was made of: the very objects, in order."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Batch:
        """Pad rows to the longest of them."""
        length = max(len(row.ids) for row in rows)

        def padded(lists: Iterable[Sequence[float]], dtype: torch.dtype) -> Tensor:
            return torch.tensor([[*values, *[0] * (length - len(values))] for values in lists], dtype=dtype)

        return cls(
            padded((row.ids for row in rows), torch.int64),
            padded(((1,) * len(row.ids) for row in rows), torch.bool),
            padded((row.sampled for row in rows), torch.bool),
            padded((row.logprobs for row in rows), torch.float32),
            torch.tensor([row.advantage for row in rows], dtype=torch.float32),
            [row.group for row in rows],
            [row.rollout for row in rows],
            list(rows),
        )

    def to(self, device: str | torch.device) -> Batch:
        """Return it on a device."""
        moved: dict[str, Any] = {
            name: one.to(device) for name, one in vars(self).items() if isinstance(one, Tensor)
        }
        return replace(self, **moved)


def rows(
    records: Sequence[Record],
    group_ids: Iterable[Hashable],
    advantages: Iterable[float],
    *,
    vocabulary: int,
    kept: Sequence[bool] | None = None,
) -> list[Row]:
    """Return the segments of rollouts in which something was sampled.

    A record without a reward has none, nor has one that is not kept; but the reward of the latter is in the
    baseline of its group all the same, as the advantages were computed with it.

    Args:
        records: N rollouts. Those of one group have different trials, as (group, trial) is a rollout's id.
        group_ids: N ids, see `train.advantages`; for supervised fine-tuning, any.
        advantages: [N]; for supervised fine-tuning, any.
        vocabulary: How many tokens the model has.
        kept: N; False for a rollout whose tokens are not to count, such as an overlong one. None keeps all.

    Raises:
        UsageError: Lengths differ, a trial is there twice, or a segment is not sound.
    """
    groups = as_ids(group_ids, len(records), "group_ids")
    earned = [float(each) for each in advantages]
    wanted = [True] * len(records) if kept is None else list(kept)
    if not len(records) == len(earned) == len(wanted):
        lengths = f"{len(records)} records, {len(earned)} advantages, {len(wanted)} of kept"
        raise UsageError(f"{lengths}: give as many of each")
    rollouts = [(group, record.trial) for group, record in zip(groups, records, strict=True)]
    if len(set(rollouts)) < len(rollouts):
        twice = next(each for each in rollouts if rollouts.count(each) > 1)
        raise UsageError(f"group {twice[0]!r} has trial {twice[1]} twice: give each rollout its own")
    found = []
    for record, rollout, advantage, keep in zip(records, rollouts, earned, wanted, strict=True):
        for one in record.segments if keep and record.reward is not None else ():
            ids, sampled, logprobs = (tuple(one[name]) for name in ("ids", "sampled", "logprobs"))
            row = Row(ids, sampled, logprobs, rollout[0], rollout, advantage)
            found += [known(row, vocabulary)] if any(sampled) else []
    return found


def known(row: Row, vocabulary: int) -> Row:
    """Return a row whose tokens the model has.

    Raises:
        UsageError: It has another.
    """
    if max(row.ids) >= vocabulary:
        raise UsageError(
            f"a segment of rollout {row.rollout!r} has the token {max(row.ids)}, the model only those below "
            f"{vocabulary}: use the tokenizer that belongs to it"
        )
    return row


def fitting(rows: Sequence[Row], max_tokens: int) -> tuple[list[Row], list[Hashable]]:
    """Leave out the rollouts that have a row longer than so many tokens.

    Returns:
        The rows of the others, and the ids of those left out.

    Raises:
        UsageError: There would be none.
    """
    long = {row.rollout: None for row in rows if len(row.ids) > max_tokens}
    kept = [row for row in rows if row.rollout not in long]
    if rows and not kept:
        shortest = min(len(row.ids) for row in rows)
        raise UsageError(
            f"all {len(long)} rollouts have a row of more than {max_tokens} tokens, and the shortest row has "
            f"{shortest}: allow more"
        )
    return kept, list(long)


def micro_batches(rows: Sequence[Row], max_tokens: int, *, whole_rollouts: bool = False) -> list[Batch]:
    """Pack rows into batches of at most so many tokens, padding included; see `packs`."""
    return [Batch.of(pack) for pack in packs(rows, max_tokens, whole_rollouts=whole_rollouts)]


def packs(rows: Sequence[Row], max_tokens: int, *, whole_rollouts: bool = False) -> list[list[Row]]:
    """Return rows by batches of at most so many tokens, the longest first.

    Args:
        rows: In any order; the result depends on it only where rows have one length.
        max_tokens: Most tokens N * T; a row, or rollout, that is above it by itself stands alone.
        whole_rollouts: Keep all segments of a rollout in one batch, as level "sequence" of the loss needs.
    """
    made: list[list[Row]] = []
    length = 0
    for unit in longest_first(rows, whole_rollouts):
        if made and length * (len(made[-1]) + len(unit)) <= max_tokens:
            made[-1].extend(unit)
        else:
            made.append(list(unit))
            length = max(len(row.ids) for row in unit)
    return made


def longest_first(rows: Sequence[Row], whole_rollouts: bool) -> list[list[Row]]:
    """Return rows one by one, or by rollout, those with the most tokens in a row first."""
    units = _units(rows, "rollout") if whole_rollouts else [[row] for row in rows]
    return sorted(units, key=lambda unit: -max(len(row.ids) for row in unit))


def minibatches(rows: Sequence[Row], count: int, rng: random.Random) -> list[list[Row]]:
    """Deal rows to so many optimisation steps, whole groups at random.

    Returns:
        Lists whose numbers of groups differ by one at most; fewer than `count` where there are not as many.
    """
    units = _units(rows, "group")
    rng.shuffle(units)
    parts = min(count, len(units))
    cuts = [len(units) * part // parts for part in range(parts + 1)] if parts else []
    return [[row for unit in units[start:stop] for row in unit] for start, stop in pairwise(cuts)]


def _units(rows: Iterable[Row], by: Literal["group", "rollout"]) -> list[list[Row]]:
    units: dict[Hashable, list[Row]] = {}
    for row in rows:
        units.setdefault(getattr(row, by), []).append(row)
    return list(units.values())
