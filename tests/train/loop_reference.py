"""The policy loss once more, over lists and one rollout at a time, with its gradient written out by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ANYTHING = [math.nan, math.inf, -math.inf, 1e30, -700.0, 0.0]


@dataclass
class Token:
    """Log-probabilities of one token, by everybody."""

    new: float
    old: float
    engine: float
    reference: float
    counts: bool = True


@dataclass
class Rollout:
    """A rollout of one task, in segments."""

    name: str
    group: Any
    advantage: float
    segments: list[list[Token]]

    @property
    def counted(self) -> list[Token]:
        return [token for segment in self.segments for token in segment if token.counts]


def made_up(rng: random.Random, segments: int = 3) -> list[Rollout]:
    """Groups and rollouts of every size, some without a token, some with all advantages 0."""
    rollouts = []
    for group in range(rng.randrange(1, 5)):
        silent = rng.random() < 0.2
        for number in range(rng.randrange(1, 5)):
            parts = [segment(rng) for _ in range(rng.randrange(1, segments + 1))]
            advantage = 0.0 if silent else rng.gauss(0, 1)
            rollouts.append(Rollout(f"{group}/{number}", ("draw", group), advantage, parts))
    rng.shuffle(rollouts)
    return rollouts


def segment(rng: random.Random) -> list[Token]:
    tokens = []
    for _ in range(rng.choice([0, 1, 3, 6])):
        new = -rng.expovariate(1)
        old = new + rng.gauss(0, 0.3)
        engine = old + rng.gauss(0, 0.2) if rng.random() < 0.98 else rng.choice(ANYTHING[:3])
        tokens.append(Token(new, old, engine, new + rng.gauss(0, 0.5), rng.random() < 0.8))
    return tokens


def surrogate(
    ratio: float, advantage: float, low: float, high: float, dual: float | None
) -> tuple[float, float]:
    """The clipped term and its derivative by the ratio, by cases."""
    if advantage >= 0:
        return (advantage * ratio, advantage) if ratio <= 1 + high else (advantage * (1 + high), 0.0)
    if ratio < 1 - low:
        return advantage * (1 - low), 0.0
    if dual is not None and ratio > dual:
        return advantage * dual, 0.0
    return advantage * ratio, advantage


def importance(log_weight: float, kind: str, cap: Any) -> float:
    if kind == "off":
        return 1.0
    if not math.isfinite(log_weight):
        return 0.0
    weight = math.exp(log_weight)
    if kind == "raw":
        return weight
    least, most = (0.0, cap) if isinstance(cap, float) else cap
    if least <= weight <= most:
        return weight
    return {"truncated": least if weight < least else most, "icepop": 0.0}[kind]


def penalty(token: Token, kind: str) -> tuple[float, float]:
    """An estimate of the divergence and the gradient of its expectation: its own, plus it times the score."""
    away = token.new - token.reference
    if kind == "k1":
        return away, 1 + away
    if kind == "k2":
        return away**2 / 2, away + away**2 / 2
    estimate = math.exp(-away) - 1 + away
    return estimate, 1 - math.exp(-away) + estimate  # which is `away`


def kept(tokens: list[Token], delta: Any) -> bool:
    if delta is None:
        return True
    total = sum(token.old - token.engine for token in tokens)
    if not math.isfinite(total):
        return False
    below, above = (delta, delta) if isinstance(delta, float) else delta
    return 1 - below <= math.exp(total / len(tokens)) <= 1 + above


def reference_loss(rollouts: Iterable[Rollout], **options: Any) -> tuple[float, dict[int, float]]:
    """Return the loss, and its derivative by the new log-probability of each token, by the token's `id`."""
    level, normaliser = options.get("level", "token"), options.get("normaliser", "group")
    present = [rollout for rollout in rollouts if rollout.counted]
    size = {rollout.name: len(rollout.counted) if level == "token" else 1 for rollout in present}
    groups = {rollout.group for rollout in present}
    loss, gradient = 0.0, {}
    for rollout in present:
        mates = [other for other in present if normaliser == "batch" or other.group == rollout.group]
        share = 1 / sum(size[mate.name] for mate in mates) / (1 if normaliser == "batch" else len(groups))
        tokens = rollout.counted
        n = len(tokens)
        m = kept(tokens, options.get("geometric_delta"))
        ratios = [token.new - token.old for token in tokens]
        weights = [token.old - token.engine for token in tokens]
        if level == "sequence":
            ratios, weights, share = [sum(ratios) / n] * n, [sum(weights) / n] * n, share / n
        for token, log_ratio, log_weight in zip(tokens, ratios, weights, strict=True):
            ratio = math.exp(log_ratio)
            value, slope = surrogate(
                ratio,
                rollout.advantage,
                options.get("clip_low", 0.2),
                options.get("clip_high", 0.2),
                options.get("dual_clip"),
            )
            w = importance(log_weight, options.get("importance", "raw"), options.get("importance_cap"))
            # At level "sequence" n equal terms of which each depends on each token by a part of 1 / n.
            loss -= share * m * w * value
            gradient[id(token)] = -share * m * w * slope * ratio
            if "kl" in options:
                kind, weight = options["kl"]
                value, slope = penalty(token, kind)
                loss += share * weight * value
                gradient[id(token)] += share * weight * slope
    return loss, gradient
