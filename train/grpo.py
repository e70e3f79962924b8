"""Group-relative policy optimisation with leave-one-out advantages, on episodes of two players.

    python -m train.grpo CONFIG.toml [key=value ...]     e.g. optim.lr=1e-6 rollout.group_size=8
    python -m train.grpo --help                          all keys
    torchrun --nproc-per-node 4 -m train.grpo CONFIG.toml    on several devices

One step of the run, for B tasks and G rollouts of each:

    1. play     B * G episodes by the policy; the exact reward of each                (train.rollouts)
    2. compare  each reward with the others of its group: A = (R - mean) / std        (train.advantages)
    3. learn    a clipped surrogate over the sampled tokens, in minibatches of groups (train.losses)
    4. sync     the engine that samples gets the new weights                          (train.actors)

Otherwise than in the papers: groups are known by the draw of their task, never by their prompts, as each
customer opens in other words; an episode that the infrastructure broke leaves the baseline, the loss and the
pass rate; the token mask comes from the engine that sampled, and nothing is encoded again.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from gym_enterprise import load_domain
from gym_enterprise.errors import GymEnterpriseError
from simulators.template import load_tokenizer
from train import advantages, ranks
from train.batching import Batch, Row, minibatches, rows
from train.config import GrpoConfig
from train.difficulty import TaskSampler
from train.logprobs import token_logprobs
from train.losses import KL, Metric, merged, policy_loss
from train.optim import Optimiser
from train.rollouts import Rollouts, Round, chosen
from train.run import Part, Run, command, load, precision, stop_on_sigterm
from train.scoring import padded, scores
from train.totals import loss_totals

LOSS = (
    *("clip_low", "clip_high", "dual_clip", "importance", "importance_cap", "geometric_delta"),
    *("normaliser", "level"),
)
"""Keys that `policy_loss` takes as they are."""
BROKEN = 2
"""Rounds in which every episode broke, one after the other, that end a run."""
SHOWN = (
    *("reward", "pass@1", "loss", "logp_error", "canary", "entropy", "grad_norm", "invalid", "tokens"),
    "seconds",
)


def train(config: GrpoConfig) -> None:
    """Train from the beginning, or from the latest checkpoint when the configuration says so.

    Raises:
        UsageError: The configuration does not fit the domain or the model, or the folder holds another run.
        Stale: The engine that samples does not have the weights of the policy.
        Unplayed: Nothing that is played gets a reward.
    """
    rng = random.Random(config.seed)
    domain = load_domain(config.domain)
    sampler = TaskSampler(chosen(config, domain), config.difficulty, rng)
    model = load(config.model, config.seed)
    reference = load(config.model, config.seed).requires_grad_(False) if config.loss.kl_weight else None
    tokenizer = load_tokenizer(config.model.path)
    optimiser = Optimiser(model, config.optim, config.steps * config.epochs * config.minibatches)
    rollouts = Rollouts(config, domain, model, tokenizer, sampler)
    parts: dict[str, Part] = {"optimiser": optimiser, "sampler": sampler}
    parts |= {"rollouts": rollouts} if config.max_staleness else {}
    run = Run(config, config.steps, model, tokenizer, rng, **parts)
    broken = 0
    with run, rollouts, stop_on_sigterm() as asked:
        for step in run.steps(asked):
            due = config.evaluate.every and step % config.evaluate.every == 0
            figures = rollouts.evaluate(step) if due else {}
            played = rollouts.take(step)
            learnable, facts = compare(config, model, played, rng)
            for group, rewards in played.rewards().items():
                sampler.update(group[2], rewards)
            with rollouts.learning():
                figures |= facts | learn(config, model, reference, optimiser, learnable, rng)
            run.note(step, figures, SHOWN)
            watch_canary(config, figures)
            broken = broken + 1 if figures["invalid"] == 1 else 0
            if broken == BROKEN:
                raise Unplayed(
                    f"every episode of the last {BROKEN} rounds broke, and none has a reward: the "
                    "log says why. Nothing was learned since; the checkpoint before is sound"
                )
        if config.evaluate.every and not run.stopped:
            run.note(config.steps, rollouts.evaluate(config.steps), SHOWN)


def compare(
    config: GrpoConfig, model: Any, played: Round, rng: random.Random
) -> tuple[list[Row], dict[str, float]]:
    """Return the rows to learn from, each with its advantage, and what happened."""
    settings, records = config.loss, played.records
    valid = torch.tensor([record.reward is not None for record in records])
    rewards = torch.tensor([record.reward or 0.0 for record in records], dtype=torch.float64)
    if settings.advantage in ("leave_one_out", "shuffled"):
        found = advantages.leave_one_out(rewards, played.groups, valid, scale=settings.scale)
    else:
        found = getattr(advantages, settings.advantage)(rewards, played.groups, valid)
    if settings.advantage == "shuffled":
        found = advantages.shuffled(found, rng)
    overlong = [record.reason == "context_length" for record in records]
    kept = [
        bool(informative or not settings.filter_zero_variance) and not (long and settings.overlong == "mask")
        for informative, long in zip(found.informative, overlong, strict=True)
    ]
    vocabulary = model.config.get_text_config().vocab_size
    learnable = rows(records, played.groups, found.values.tolist(), vocabulary=vocabulary, kept=kept)
    scored = int(valid.sum())
    facts = {
        "reward": float(rewards[valid].mean()) if scored else math.nan,
        "invalid": 1 - scored / len(records),
        "zero_variance": sum(one.zero_variance for one in found.groups.values()) / len(found.groups),
        "overlong": sum(overlong) / len(records),
        "segments": sum(len(record.segments) for record in records) / len(records),
        "steps": sum(record.steps for record in records) / len(records),
    }
    return learnable, facts | ({} if played.canary is None else {"canary": played.canary})


def learn(
    config: GrpoConfig,
    model: Any,
    reference: Any,
    optimiser: Optimiser,
    learnable: Sequence[Row],
    rng: random.Random,
) -> dict[str, float]:
    """Update the policy on the rows of one round, and return what is known about it."""
    settings, whole = config.loss, config.loss.level == "sequence"
    parts = [part for _ in range(config.epochs) for part in minibatches(learnable, config.minibatches, rng)]
    # The first update scores what it sees by itself, unless m asks for that before, or it is seen again.
    first = config.epochs == 1 and settings.geometric_delta is None
    old = scores(config, model, [row for part in parts[first:] for row in part] if first else learnable)
    found: list[Mapping[str, Metric]] = []
    updates = []
    for part in parts:
        fresh = first and part is parts[0]
        every = Batch.of([*part, ranks.NOTHING])
        totals = loss_totals(
            every.mask,
            every.group_ids,
            rollout_ids=every.rollout_ids,
            old_logp=None if fresh else padded(old, every),
            rollout_logp=every.rollout_logp,
        )
        for batch in ranks.share(part, config.optim.micro_batch_tokens, whole_rollouts=whole):
            here = batch.to(model.device)
            with precision(config.model, model):
                logp = token_logprobs(model, here.ids, here.attention, here.mask, config.rollout.temperature)
            result = policy_loss(
                logp,
                logp.detach() if fresh else padded(old, here),
                here.rollout_logp,
                here.advantages,
                here.mask,
                here.group_ids,
                rollout_ids=here.rollout_ids,
                totals=totals,
                kl=penalty(config, reference, here),
                **{name: getattr(settings, name) for name in LOSS},
            )
            ranks.backward(result.loss)
            found.append({**result.metrics, "loss": Metric(result.loss.item() / len(parts), 1, "sum")})
        updates.append(optimiser.step())
        optimiser.zero_grad()
    figures = {name: metric.value for name, metric in merged(ranks.gathered(merged(found))).items()}
    if updates:
        figures |= {"lr": updates[-1].lr, "grad_norm": max(one.norm for one in updates)}
    return figures | {"skipped": sum(one.skipped for one in updates), "updates": len(updates)}


def penalty(config: GrpoConfig, reference: Any, batch: Batch) -> KL | None:
    """Return the penalty for moving away from the initial model, if there is one."""
    if reference is None:
        return None
    with torch.no_grad(), precision(config.model, reference):
        logp = token_logprobs(reference, batch.ids, batch.attention, batch.mask, config.rollout.temperature)
    return KL(logp, config.loss.kl_weight, config.loss.kl_kind)


def watch_canary(config: GrpoConfig, figures: Mapping[str, float]) -> None:
    """Stop a run whose engine samples with other weights than it should have.

    Raises:
        Stale: The log-probabilities of the two are further apart than `canary`.
    """
    missing, tokens = figures.get("not_finite", 0.0), figures.get("tokens", 0.0)
    if 2 * missing > tokens:
        raise Stale(
            f"of {tokens:.0f} tokens {missing:.0f} have no finite log-probability by the engine, so there is "
            "nothing to compare its weights by: see that it returns those of the sampled tokens"
        )
    apart = figures.get("canary", figures.get("logp_error", 0.0))
    if apart > config.canary:
        raise Stale(
            f"the engine's and the trainer's log-probabilities differ by {apart:.3g} a token, and canary is "
            f"{config.canary}: the weights did not reach the engine, or it computes otherwise (precision, "
            "temperature, template). The checkpoint before this step is sound"
        )


class Stale(GymEnterpriseError, RuntimeError):
    """Infrastructure: the engine that samples does not have the weights of the policy."""


class Unplayed(GymEnterpriseError, RuntimeError):
    """Infrastructure: all episodes break, again and again."""


if __name__ == "__main__":
    command(sys.argv[1:], GrpoConfig, __doc__ or "", train)
