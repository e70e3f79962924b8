"""Group-relative policy optimisation with leave-one-out advantages, on episodes of two players.

    python -m train.grpo CONFIG.toml [key=value ...]     e.g. optim.lr=1e-6 rollout.group_size=8
    python -m train.grpo --help                          all keys

One step of the run, for B tasks and G rollouts of each:

    1. play     B * G episodes by the policy; the exact reward of each                (gym_enterprise.harness)
    2. compare  each reward with the others of its group: A = (R - mean) / std        (train.advantages)
    3. learn    a clipped surrogate over the sampled tokens, in minibatches of groups (train.losses)
    4. sync     the engine that samples gets the new weights                          (train.actors)

Otherwise than in the papers: groups are known by the draw of their task, never by their prompts, as each
customer opens in other words; an episode that the infrastructure broke leaves the baseline, the loss and the
pass rate; the token mask comes from the engine that sampled, and nothing is encoded again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from gym_enterprise import Job, Record, load_domain, rollout, summarise
from gym_enterprise.domain import Domain
from gym_enterprise.errors import GymEnterpriseError, UsageError
from simulators import LLMPlayer, Sampling
from simulators.template import load_tokenizer
from train import advantages
from train.actors import Actor, open_actor
from train.batching import Batch, Row, micro_batches, minibatches, rows
from train.config import GrpoConfig
from train.difficulty import TaskSampler
from train.journal import Journal
from train.logprobs import token_logprobs
from train.losses import KL, Metric, loss_totals, merged, policy_loss
from train.optim import Optimiser
from train.run import Part, command, in_one_process, load, open_run, precision, resume, save, stop_on_sigterm

LOSS = (
    *("clip_low", "clip_high", "dual_clip", "importance", "importance_cap", "geometric_delta"),
    *("normaliser", "level"),
)
"""Keys that `policy_loss` takes as they are."""
SHOWN = ("reward", "pass@1", "loss", "logp_error", "entropy", "grad_norm", "invalid", "tokens", "seconds")


def train(config: GrpoConfig) -> None:
    """Train from the beginning, or from the latest checkpoint when the configuration says so.

    Raises:
        UsageError: The configuration does not fit the domain or the model, or the folder holds another run.
        Stale: The engine that samples does not have the weights of the policy.
    """
    check(config)
    domain = load_domain(config.domain)
    task_ids = chosen(config, domain)
    model = load(config.model, config.seed)
    reference = load(config.model, config.seed).requires_grad_(False) if config.loss.kl_weight else None
    tokenizer = load_tokenizer(config.model.path)
    rng = random.Random(config.seed)
    sampler = TaskSampler(task_ids, config.difficulty, rng)
    optimiser = Optimiser(model, config.optim, config.steps * config.epochs * config.minibatches)
    parts: dict[str, Part] = {"optimiser": optimiser, "sampler": sampler}
    out = open_run(config)
    start = resume(out, config.checkpoint, model, parts, rng)
    journal = Journal(out, config.steps, start=start, tensorboard=config.tensorboard)
    with closing(open_actor(config, model, tokenizer)) as actor, stop_on_sigterm() as stopping:
        for step in range(start, config.steps):
            began = time.monotonic()
            figures: dict[str, float] = {}
            if config.evaluate.every and step % config.evaluate.every == 0:
                figures |= evaluate(config, domain, actor)
            drawn = sampler.draw(config.rollout.tasks_per_step)
            records, groups = collect(config, domain, actor, step, drawn)
            learnable, facts = compare(config, model, records, groups)
            for group in dict.fromkeys(groups):
                members = [one for one, own in zip(records, groups, strict=True) if own == group]
                sampler.update(group[2], [one.reward for one in members if one.reward is not None])
            with actor.learning(model):
                figures |= facts | learn(config, model, reference, optimiser, learnable, rng)
            figures["seconds"] = time.monotonic() - began
            journal.write(step, figures, SHOWN)
            watch_canary(config, figures)
            last = step + 1 == config.steps
            if last or stopping or (step + 1) % config.checkpoint.every == 0:
                save(out, config.checkpoint, step + 1, model, tokenizer, parts, rng)
            if stopping and not last:
                print(f"stopped after step {step + 1}; checkpoint.resume=true goes on", flush=True)
                break
        else:
            if config.evaluate.every:
                journal.write(config.steps, evaluate(config, domain, actor), SHOWN)


def chosen(config: GrpoConfig, domain: Domain) -> list[str]:
    """Return the tasks to train on: those of the split, or those of them that `tasks` lists."""
    split = domain.tasks[config.split]
    if config.tasks is None:
        return list(split)
    listed = list(json.loads(Path(config.tasks).read_bytes())["tasks"])
    if missing := [task_id for task_id in listed if task_id not in split]:
        raise UsageError(
            f"{config.tasks} lists {missing[0]!r}, which is not in the split {config.split!r} of "
            f"{config.domain!r}: filter runs of that split"
        )
    return listed


def collect(
    config: GrpoConfig, domain: Domain, actor: Actor, step: int, drawn: Sequence[str]
) -> tuple[list[Record], list[tuple[int, int, str]]]:
    """Play G episodes of each drawn task.

    Returns:
        The records, and the group (step, draw, task) of each.
    """
    size = config.rollout.group_size
    order = [(draw, task_id, member) for draw, task_id in enumerate(drawn) for member in range(size)]
    jobs = [Job(domain.task(task_id), trial=draw * size + member) for draw, task_id, member in order]
    records = play(config, domain, actor, jobs, f"train/{step}", config.rollout.temperature)
    return records, [(step, draw, task_id) for draw, task_id, _ in order]


def play(
    config: GrpoConfig, domain: Domain, actor: Actor, jobs: list[Job], purpose: str, temperature: float
) -> list[Record]:
    """Play episodes of the policy with the configured user; seeds come from the run's and the purpose."""
    settings = config.rollout
    agent = partial(
        LLMPlayer,
        engine=actor.engine,
        template=actor.template,
        format=settings.format,
        prompt=Path(settings.prompt) if settings.prompt else None,
        sampling=Sampling(temperature=temperature, max_tokens=settings.max_tokens),
    )
    digest = hashlib.sha256(f"{config.seed}/{purpose}".encode()).digest()

    async def played() -> list[Record]:
        try:
            return await rollout(
                domain,
                jobs,
                agent,
                settings.user,
                seed=int.from_bytes(digest[:6]),
                concurrency=settings.concurrency,
                max_steps=settings.max_steps,
                turn_deadline=settings.turn_deadline,
                episode_deadline=settings.episode_deadline,
                finish_after=settings.finish_after if purpose.startswith("train") else 1.0,
            )
        finally:
            if settings.mode == "servers":  # whose connections belong to this event loop
                await actor.engine.aclose()  # type: ignore[attr-defined]

    return asyncio.run(played())


def compare(
    config: GrpoConfig, model: Any, records: Sequence[Record], groups: Sequence[tuple[int, int, str]]
) -> tuple[list[Row], dict[str, float]]:
    """Return the rows to learn from, each with its advantage, and what happened."""
    settings = config.loss
    valid = torch.tensor([record.reward is not None for record in records])
    rewards = torch.tensor([record.reward or 0.0 for record in records], dtype=torch.float64)
    if settings.advantage == "leave_one_out":
        found = advantages.leave_one_out(rewards, groups, valid, scale=settings.scale)
    else:
        found = getattr(advantages, settings.advantage)(rewards, groups, valid)
    overlong = [record.reason == "context_length" for record in records]
    kept = [
        bool(informative or not settings.filter_zero_variance) and not (long and settings.overlong == "mask")
        for informative, long in zip(found.informative, overlong, strict=True)
    ]
    learnable = rows(records, groups, found.values.tolist(), vocabulary=model.config.vocab_size, kept=kept)
    scored = int(valid.sum())
    facts = {
        "reward": float(rewards[valid].mean()) if scored else math.nan,
        "invalid": 1 - scored / len(records),
        "zero_variance": sum(one.zero_variance for one in found.groups.values()) / len(found.groups),
        "overlong": sum(overlong) / len(records),
        "segments": sum(len(record.segments) for record in records) / len(records),
        "steps": sum(record.steps for record in records) / len(records),
    }
    return learnable, facts


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
    found: list[Mapping[str, Metric]] = []
    losses, updates = [], []
    old = scores(config, model, learnable)
    for part in [
        part for _ in range(config.epochs) for part in minibatches(learnable, config.minibatches, rng)
    ]:
        every = Batch.of(part)
        totals = loss_totals(
            every.mask,
            every.group_ids,
            rollout_ids=every.rollout_ids,
            old_logp=padded(old, every),
            rollout_logp=every.rollout_logp,
        )
        loss = 0.0
        for batch in micro_batches(part, config.optim.micro_batch_tokens, whole_rollouts=whole):
            here = batch.to(model.device)
            with precision(config.model, model):
                logp = token_logprobs(model, here.ids, here.attention, here.mask, config.rollout.temperature)
            result = policy_loss(
                logp,
                padded(old, here),
                here.rollout_logp,
                here.advantages,
                here.mask,
                here.group_ids,
                rollout_ids=here.rollout_ids,
                totals=totals,
                kl=penalty(config, reference, here),
                **{name: getattr(settings, name) for name in LOSS},
            )
            result.loss.backward()  # type: ignore[no-untyped-call]
            loss += result.loss.item()
            found.append(result.metrics)
        losses.append(loss)
        updates.append(optimiser.step())
        optimiser.zero_grad()
    figures = {name: metric.value for name, metric in merged(found).items()}
    if updates:
        figures |= {"loss": sum(losses) / len(losses), "lr": updates[-1].lr}
        figures |= {"grad_norm": max(one.norm for one in updates)}
    return figures | {"skipped": sum(one.skipped for one in updates), "updates": len(updates)}


def scores(config: GrpoConfig, model: Any, learnable: Sequence[Row]) -> dict[int, torch.Tensor]:
    """Return the log-probabilities of all rows, by `id`, before anything is updated."""
    found: dict[int, torch.Tensor] = {}
    with torch.no_grad(), precision(config.model, model):
        for batch in micro_batches(learnable, config.optim.micro_batch_tokens):
            here = batch.to(model.device)
            logp = token_logprobs(model, here.ids, here.attention, here.mask, config.rollout.temperature)
            found |= {id(row): one[: len(row.ids)] for row, one in zip(batch.rows, logp, strict=True)}
    return found


def padded(old: Mapping[int, torch.Tensor], batch: Batch) -> torch.Tensor:
    """Return log-probabilities of rows as [N, T], on the device of the batch."""
    whole = torch.zeros_like(batch.rollout_logp)
    for place, row in enumerate(batch.rows):
        whole[place, : len(row.ids)] = old[id(row)]
    return whole


def penalty(config: GrpoConfig, reference: Any, batch: Batch) -> KL | None:
    """Return the penalty for moving away from the initial model, if there is one."""
    if reference is None:
        return None
    with torch.no_grad(), precision(config.model, reference):
        logp = token_logprobs(reference, batch.ids, batch.attention, batch.mask, config.rollout.temperature)
    return KL(logp, config.loss.kl_weight, config.loss.kl_kind)


def evaluate(config: GrpoConfig, domain: Domain, actor: Actor) -> dict[str, float]:
    """Play the held-out tasks, at the same seeds each time."""
    settings = config.evaluate
    tasks = dict(islice(domain.tasks[settings.split].items(), settings.limit))
    jobs = [Job(task, trial) for task in tasks.values() for trial in range(settings.trials)]
    summary = summarise(play(config, domain, actor, jobs, "evaluate", settings.temperature), tasks)
    figures: dict[str, float | None] = {
        "pass@1": summary.overall.pass_at_1,
        "coverage": summary.coverage,
        "tokens_per_passed": summary.tokens_per_passed,
    }
    if (interval := summary.overall.interval) is not None:
        figures |= {"pass@1_low": interval.low, "pass@1_high": interval.high}
    figures |= {f"pass@1/{name}": group.pass_at_1 for name, group in summary.by_family.items()}
    return {name: math.nan if value is None else value for name, value in figures.items()}


def watch_canary(config: GrpoConfig, figures: Mapping[str, float]) -> None:
    """Stop a run whose engine samples with other weights than the policy has.

    Raises:
        Stale: The log-probabilities of the two are further apart than `canary`.
    """
    apart = figures.get("logp_error", 0.0)
    if apart > config.canary:
        raise Stale(
            f"the engine's and the trainer's log-probabilities differ by {apart:.3g} a token, and canary is "
            f"{config.canary}: the weights did not reach the engine, or it computes otherwise (precision, "
            "temperature, template). The checkpoint before this step is sound"
        )


class Stale(GymEnterpriseError, RuntimeError):
    """Infrastructure: the engine that samples does not have the weights of the policy."""


def check(config: GrpoConfig) -> None:
    """Refuse what this version does not do."""
    if config.max_staleness:
        raise UsageError(
            "max_staleness above 0 is not part of this version: rollouts are of the newest weights"
        )
    in_one_process("train.grpo")


if __name__ == "__main__":
    command(sys.argv[1:], GrpoConfig, __doc__ or "", train)
