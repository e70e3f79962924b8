"""Losses of policy optimisation and of supervised fine-tuning, over padded [N, T] log-probabilities.

A row is a segment of a rollout. The objective is Eq. (4) of leave-one-out GRPO, over groups (tasks) q, their
rollouts i and the sampled tokens t:

    J = mean_q 1/N_q sum_{i in q} m_i sum_t w_it min(r_it A_i, clip(r_it, 1 - clip_low, 1 + clip_high) A_i)

    r    exp(logp - old_logp): the policy against itself before the updates of this step
    w    exp(old_logp - rollout_logp): that policy against the engine that sampled; no gradient
    m_i  1 where the geometric mean of w over all tokens of the rollout is in 1 ± geometric_delta, else 0
    N_q  the tokens of the group that the mask counts

| left out               | how                                      | numerator | N      | others' baseline |
|------------------------|------------------------------------------|-----------|--------|------------------|
| m = 0                  | here                                     | leaves    | stays  | stays            |
| overlong filtering     | the rollout's mask is 0                  | leaves    | leaves | stays            |
| infrastructure failure | mask 0, and `valid` False for advantages | leaves    | leaves | leaves           |
| group without variance | nothing to do: A is 0                    | adds 0    | stays  |                  |

A group without variance counts in the mean over groups, and a KL penalty acts on it; to leave it out, drop
its rows (`Advantages.informative`). A group without a counted token is not in the mean.

Losses of micro-batches, and of ranks, *sum* to that of the whole batch, given its `loss_totals`. Neither the
split nor the order of rows nor the side of the padding matters. What the mask leaves out may hold anything.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from gym_enterprise.errors import UsageError
from train.advantages import as_ids
from train.padded import as_mask, filled, finite, row_sums
from train.totals import Level, RolloutTotals, Totals, loss_totals, whole_rollouts

Bounds = float | tuple[float, float]
Importance = Literal["off", "raw", "truncated", "icepop"]
Normaliser = Literal["group", "batch"]
KLKind = Literal["k1", "k2", "k3"]

# Log-ratios are clamped to ± LOG_LIMIT before exp (e^20 is 5e8), KL estimates to ± KL_LIMIT.
LOG_LIMIT = 20.0
KL_LIMIT = 10.0


@dataclass(frozen=True)
class Metric:
    """A figure of one micro-batch, with what it takes to join it with those of others by ``+``."""

    numerator: float
    denominator: float
    how: Literal["mean", "sum", "min", "max"] = "mean"

    @property
    def value(self) -> float:
        """The figure; NaN where nothing was counted, unless it is a sum."""
        if self.how == "mean":
            return self.numerator / self.denominator if self.denominator else math.nan
        return self.numerator if self.denominator or self.how == "sum" else math.nan

    def __add__(self, other: Metric) -> Metric:
        pair = (self.numerator, other.numerator)
        joined = min(pair) if self.how == "min" else max(pair) if self.how == "max" else sum(pair)
        return Metric(joined, self.denominator + other.denominator, self.how)


def merged(parts: Iterable[Mapping[str, Metric]]) -> dict[str, Metric]:
    """Return the metrics of all micro-batches together."""
    whole: dict[str, Metric] = {}
    for part in parts:
        whole |= {name: whole[name] + metric if name in whole else metric for name, metric in part.items()}
    return whole


@dataclass(frozen=True)
class Loss:
    """What to minimise, and what to log."""

    loss: Tensor
    """Scalar with a graph: what this micro-batch adds to the loss of the whole batch."""
    metrics: dict[str, Metric]


@dataclass(frozen=True)
class KL:
    """A penalty: ``weight`` times an estimate of KL(policy || reference), on the tokens that count.

    With ``d = reference_logp - logp``, k1 = -d, k2 = d²/2 and k3 = e^d - 1 - d (Schulman 2020). Neither w nor
    m apply. The gradient is that of the *expectation* of the estimate under the policy: it has the term of
    the score function, without which k1 would teach nothing and k3 another divergence.
    """

    reference_logp: Tensor
    """[N, T]."""
    weight: float
    kind: KLKind = "k3"


def policy_loss(
    logp: Tensor,
    old_logp: Tensor,
    rollout_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    group_ids: Iterable[Hashable],
    *,
    rollout_ids: Iterable[Hashable] | None = None,
    totals: Totals | None = None,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
    importance: Importance = "raw",
    importance_cap: Bounds | None = None,
    geometric_delta: Bounds | None = None,
    normaliser: Normaliser = "group",
    level: Level = "token",
    kl: KL | None = None,
) -> Loss:
    """Return the negative objective of one micro-batch; the formula is at the top of this module.

    Args:
        logp: [N, T], any float dtype: log-probabilities of the sampled tokens by the policy in training, at
            the temperature they were sampled at. All is computed in float32, or wider where this is wider.
        old_logp: [N, T]: by the same policy before the updates of this step. No gradient, as for all below.
        rollout_logp: [N, T]: by the engine. Where it is not finite, w is 0 and counted.
        advantages: [N].
        mask: [N, T], bool or 0 and 1: the tokens that count; the policy sampled each of them.
        group_ids: N ids, see `train.advantages`.
        rollout_ids: N ids; rows of the same id are segments of one rollout. None: each row is a rollout.
        totals: `loss_totals` of the whole batch. None: this is the whole batch.
        clip_low: How far below 1 a ratio still earns.
        clip_high: How far above 1 (DAPO, Yu et al. 2025, sets it higher).
        dual_clip: Where A < 0, the multiple of A that a term does not fall below; above 1 (Ye et al. 2020).
        importance: What is made of w, see `importance_weights`.
        importance_cap: Likewise.
        geometric_delta: The bounds of m, inclusive: d for 1 ± d, or (a, b) for 1 - a to 1 + b. None: no m.
        normaliser: "group" is Eq. (4). "batch" divides by N of the whole batch, whatever the group.
        level: "token" is Eq. (4). "sequence" is GSPO (Zheng et al. 2025): r and w are geometric means over
            the rollout, and N counts rollouts instead of tokens. All segments of a rollout must then be here.
        kl: A penalty to add.

    Returns:
        The loss, and metrics that can be `merged`; docs/training.md says what each of them is.

    Raises:
        UsageError: Shapes, ids, totals or options do not fit; or logp, old_logp, advantages or the reference
            is not finite at a token that counts, which no loss could keep from the parameters.
    """
    _check_options(clip_low, clip_high, dual_clip, normaliser, level)
    seen = as_mask(mask)
    new, old = finite(logp, seen, "logp"), finite(old_logp.detach(), seen, "old_logp")
    engine = filled(rollout_logp, seen, "rollout_logp")
    advantage = finite(advantages.detach(), seen.any(1), "advantages").unsqueeze(1)
    ids = None if rollout_ids is None else as_ids(rollout_ids, len(seen), "rollout_ids")
    here = loss_totals(seen, group_ids, rollout_ids=ids, old_logp=old, rollout_logp=engine)
    totals = here if totals is None else totals
    whole = whole_rollouts(here, totals, level=level, weighed=geometric_delta is not None)
    keys = range(len(seen)) if ids is None else ids
    rollouts = [whole[key] for key in keys]
    kept = [_is_kept(each, geometric_delta) for each in rollouts]

    def column(numbers: Iterable[float]) -> Tensor:
        return torch.tensor(list(numbers), dtype=new.dtype, device=new.device).unsqueeze(1)

    log_ratio, log_weight = new - old, old - engine
    if level == "sequence":
        log_ratio = _sums_by(keys, log_ratio) / column(max(each.tokens, 1) for each in rollouts)
        log_weight = column(map(_mean_log_weight, rollouts))
    ratio = log_ratio.clamp(-LOG_LIMIT, LOG_LIMIT).exp()
    weight, capped = importance_weights(log_weight, importance, importance_cap)
    surrogate = clipped_surrogate(ratio, advantage, clip_low, clip_high, dual_clip)
    terms = -column(kept) * weight * surrogate
    means = {"ratio": ratio, "clipped": surrogate != ratio * advantage, "weight": weight, "capped": capped}
    means |= {"entropy": -new, "zero_advantage": advantage == 0}
    if kl is not None:
        reference = finite(kl.reference_logp.detach(), seen, "reference_logp")
        means["kl"] = kl_estimate(new, reference, kl.kind)
        terms = terms + kl.weight * means["kl"]
    scale = column(_scales(rollouts, totals, normaliser, level))
    loss = row_sums((scale * terms).where(seen, 0.0)).sum().to(new.dtype)
    metrics = _token_metrics(seen, old - engine, means) | _rollout_metrics(seen, rollouts, kept, totals)
    return Loss(loss, metrics)


def sft_loss(
    logp: Tensor,
    mask: Tensor,
    *,
    context: Tensor | None = None,
    context_weight: float = 0.0,
    tokens: float | None = None,
) -> Loss:
    """Return the mean negative log-probability of the tokens that count: the assistant's, others by a weight.

    Args:
        logp: [N, T], any float dtype: log-probabilities of the tokens of a conversation.
        mask: [N, T], bool or 0 and 1: the assistant's tokens, each of which counts as 1.
        context: [N, T], likewise: tokens that others wrote, each of which counts as `context_weight`.
        context_weight: From 0 to 1.
        tokens: What the whole batch counts, by these weights, so that losses of micro-batches sum to its
            loss. None: this is the whole one.

    Returns:
        The loss, and the metrics "nll" (of the mask alone), "tokens", and of a context "context_nll".

    Raises:
        UsageError: Shapes do not fit, logp is not finite at a token that counts, more count than `tokens`, or
            a token is in mask and context.
    """
    seen = as_mask(mask)
    beside = torch.zeros_like(seen) if context is None else as_mask(context)
    kept, others = finite(logp, seen, "logp"), finite(logp, beside, "logp")
    if (seen & beside).any():
        raise UsageError(
            f"{int((seen & beside).sum())} tokens are in mask and context: each is in one of them"
        )
    counts = int(seen.sum()), int(beside.sum())
    here = counts[0] + context_weight * counts[1]
    whole = here if tokens is None else tokens
    if here > whole:
        raise UsageError(
            f"{here:g} tokens count here but tokens is {whole:g}: count those of the whole batch"
        )
    nll, context_nll = -row_sums(kept).sum(), -row_sums(others).sum()
    metrics = {"nll": Metric(nll.item(), counts[0]), "tokens": Metric(counts[0], counts[0], "sum")}
    if context is not None:
        metrics["context_nll"] = Metric(context_nll.item(), counts[1])
    return Loss(((nll + context_weight * context_nll) / (whole or 1)).to(kept.dtype), metrics)


def clipped_surrogate(
    ratio: Tensor, advantage: Tensor, low: float = 0.2, high: float = 0.2, dual: float | None = None
) -> Tensor:
    """Return ``min(r A, clip(r, 1 - low, 1 + high) A)`` (Schulman et al. 2017), at least dual A if A < 0."""
    surrogate = torch.minimum(ratio * advantage, ratio.clamp(1 - low, 1 + high) * advantage)
    if dual is None:
        return surrogate
    return torch.where(advantage < 0, torch.maximum(surrogate, dual * advantage), surrogate)


def importance_weights(
    log_weight: Tensor, importance: Importance, cap: Bounds | None = None
) -> tuple[Tensor, Tensor]:
    """Return w, without gradient, and where the cap changed it.

    Args:
        log_weight: log w, any shape. Where it is not finite, w is 0.
        importance: "raw": exp. "truncated": then clamped to the cap (TIS, Yao et al. 2025). "icepop": then 0
            outside the cap (Ling Team 2025). "off": 1 everywhere.
        cap: The most that w may be, or (least, most), inclusive; for "truncated" and "icepop".

    Raises:
        UsageError: The cap is missing, of no use or no interval, or `importance` is none of the four.
    """
    _one_of("importance", importance, get_args(Importance))
    if (cap is None) == (importance in ("truncated", "icepop")):
        raise UsageError(
            f"importance {importance!r}, importance_cap {cap!r}: 'truncated' and 'icepop' need a cap, "
            "the others take none"
        )
    usable = log_weight.isfinite()
    weight = log_weight.detach().clamp(-LOG_LIMIT, LOG_LIMIT).exp().where(usable, 0.0)
    if importance == "off":
        weight = torch.ones_like(weight)
    if cap is None:
        return weight, torch.zeros_like(usable)
    least, most = (0.0, cap) if isinstance(cap, int | float) else cap
    if not 0 <= least <= most:
        raise UsageError(
            f"importance_cap is {cap!r}: give the most, or (least, most) with 0 <= least <= most"
        )
    capped = usable & ((weight < least) | (weight > most))
    changed = weight.clamp(least, most) if importance == "truncated" else torch.zeros_like(weight)
    return torch.where(capped, changed, weight), capped


def kl_estimate(logp: Tensor, reference_logp: Tensor, kind: KLKind) -> Tensor:
    """Return the estimate at each token that `KL` describes, with its gradient."""
    _one_of("kind of KL", kind, get_args(KLKind))
    d = (reference_logp - logp).clamp(-LOG_LIMIT, LOG_LIMIT)
    estimate = -d if kind == "k1" else d.square() / 2 if kind == "k2" else d.expm1() - d
    return estimate.clamp(-KL_LIMIT, KL_LIMIT) * (logp - logp.detach()).exp()


def _scales(
    rollouts: Iterable[RolloutTotals], totals: Totals, normaliser: Normaliser, level: Level
) -> Iterator[float]:
    """What one token of each rollout weighs in the loss."""
    counts = totals.counts(level)
    groups, total = sum(count > 0 for count in counts.values()), counts.total()
    for each in rollouts:
        parts = 1 if level == "token" else each.tokens
        whole = groups * counts[each.group] if normaliser == "group" else total
        yield 1 / (whole * parts) if each.tokens else 0.0


def _mean_log_weight(rollout: RolloutTotals) -> float:
    if rollout.log_weight is None or not rollout.tokens:
        return math.nan
    return rollout.log_weight / rollout.tokens


def _is_kept(rollout: RolloutTotals, delta: Bounds | None) -> bool:
    """m: 0 too where the mean is not finite, because a weight is not or there are no tokens."""
    if delta is None:
        return True
    below, above = (delta, delta) if isinstance(delta, int | float) else delta
    return 1 - below <= math.exp(min(_mean_log_weight(rollout), LOG_LIMIT)) <= 1 + above


def _token_metrics(seen: Tensor, log_weight: Tensor, means: Mapping[str, Tensor]) -> dict[str, Metric]:
    compared = seen & log_weight.isfinite()
    gap = log_weight.where(compared, 0.0)
    bounded = gap.clamp(-LOG_LIMIT, LOG_LIMIT)
    over = {name: (values, seen) for name, values in means.items()} | {
        "logp_error": (gap.abs(), compared),
        "token_mult_prob_error": (bounded.abs().exp(), compared),
        "k3_rollout_old": (bounded.expm1() - bounded, compared),
        "k3_old_rollout": ((-bounded).expm1() + bounded, compared),
    }
    numbers = [values.detach().to(gap.dtype).where(on, 0.0) for values, on in over.values()]
    sums = torch.stack([row_sums(values).sum() for values in numbers])
    counts = torch.stack([on.sum() for _, on in over.values()])
    metrics = dict(zip(over, map(Metric, sums.tolist(), counts.tolist()), strict=True))
    tokens, ratios = int(seen.sum()), means["ratio"].expand_as(seen)[seen].tolist()
    return metrics | {
        "ratio_min": Metric(min(ratios, default=math.inf), tokens, "min"),
        "ratio_max": Metric(max(ratios, default=-math.inf), tokens, "max"),
        "not_finite": Metric(tokens - int(compared.sum()), tokens, "sum"),
        "tokens": Metric(tokens, tokens, "sum"),
    }


def _rollout_metrics(
    seen: Tensor, rollouts: list[RolloutTotals], kept: list[bool], totals: Totals
) -> dict[str, Metric]:
    """Count rollouts and groups; what lies in several micro-batches counts in each by its share of tokens."""
    counts = totals.counts()
    rows = [row for row in zip(seen.sum(1).tolist(), rollouts, kept, strict=True) if row[0]]
    number = math.fsum(here / each.tokens for here, each, _ in rows)
    groups = math.fsum(here / counts[each.group] for here, each, _ in rows)
    dropped = math.fsum(here / each.tokens for here, each, keep in rows if not keep)
    return {
        "dropped": Metric(dropped, number),
        "rollouts": Metric(number, number, "sum"),
        "groups": Metric(groups, groups, "sum"),
    }


def _sums_by(keys: Iterable[Hashable], values: Tensor) -> Tensor:
    """Return for each row of [N, T] the sum over all rows of its key: [N, 1]."""
    numbers: dict[Hashable, int] = {}
    rows = torch.tensor(
        [numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.long, device=values.device
    )
    sums = values.sum(1)
    return torch.zeros_like(sums).index_add(0, rows, sums)[rows].unsqueeze(1)


def _check_options(low: float, high: float, dual: float | None, normaliser: str, level: str) -> None:
    _one_of("normaliser", normaliser, get_args(Normaliser))
    _one_of("level", level, get_args(Level))
    if not (0 <= low <= 1 and high >= 0 and (dual is None or dual > 1)):
        raise UsageError(
            f"clip_low {low}, clip_high {high}, dual_clip {dual}: give the first in [0, 1], the second not "
            "below 0, the third above 1 or None"
        )


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise UsageError(f"{name} is {value!r}: give one of {', '.join(map(repr, choices))}")
