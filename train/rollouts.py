"""Rounds of episodes by the policy: the next ones are played while it learns, where that is allowed.

Round k is played by the weights that there were before step k - max_staleness: the number of the step alone
decides that, never what is done first, so that a run is the same each time. Who plays:

=============================  =====================  ===================================================
rollout.mode                   processes, staleness   who samples
=============================  =====================  ===================================================
transformers                   one, 0                 the policy itself
transformers                   many, or 1 and more    a copy of it on the device of each process, which
                                                      plays its share of the episodes
vllm                           one, 0                 vLLM on the device of the policy
servers                        any                    the servers, which the first process asks alone: a
                                                      request costs it little
=============================  =====================  ===================================================

Seeds come from the run and from the number of the episode, so that who plays it does not matter. A checkpoint
waits for the rounds that are under way and holds their episodes: nothing is played again.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from gym_enterprise import Domain, Job, Record, derive_seed, rollout, summarise
from gym_enterprise.errors import UsageError
from simulators import LLMPlayer, Sampling
from train import ranks
from train.actors import Actor, open_actor
from train.batching import rows
from train.config import GrpoConfig
from train.difficulty import TaskSampler
from train.model import load_policy_state, policy_state
from train.run import load
from train.scoring import scores

Group = tuple[int, int, str]
"""Step, number of the draw, task."""
Weights = dict[str, Tensor]
Result = TypeVar("Result")


@dataclass
class Round:
    """The episodes of one step."""

    groups: list[Group]
    """Of each."""
    playing: Future[list[Record]] | None = None
    """The share of this process, while it is played."""
    weights: Weights | None = None
    """What plays, until it is compared with the engine; None where that is the policy as it is."""
    records: list[Record] = field(default_factory=list)
    """All, once they are played."""
    canary: float | None = None
    """Mean |log p, engine - trainer| of sampled tokens, both by the weights that played; None where the loss
    compares the same."""

    def rewards(self) -> dict[Group, list[float]]:
        """Return the rewards of the scored episodes of each group."""
        pairs = list(zip(self.groups, self.records, strict=True))
        return {
            group: [one.reward for its, one in pairs if its == group and one.reward is not None]
            for group in dict.fromkeys(self.groups)
        }


class Rollouts:
    """Plays the episodes that the policy learns from, and those that measure it; to be used by `with`.

    Args:
        config: The configuration.
        domain: The domain.
        model: The policy.
        tokenizer: Its tokenizer.
        sampler: Of tasks.

    Raises:
        UsageError: The mode does not fit the number of processes, or a file or a split is not there.
    """

    def __init__(
        self, config: GrpoConfig, domain: Domain, model: Any, tokenizer: Any, sampler: TaskSampler
    ) -> None:
        if config.rollout.mode == "vllm" and ranks.count() > 1:
            raise UsageError("rollout.mode 'vllm' is for one process: under torchrun use 'servers'")
        prompt = config.rollout.prompt
        if prompt is not None and not Path(prompt).is_file():
            raise UsageError(
                f"rollout.prompt is {prompt!r}, and there is no such file: each episode reads it"
            )
        if config.evaluate.every:
            domain.tasks[config.evaluate.split]  # says which there are
        self._config, self._model, self._tokenizer, self._sampler = config, model, tokenizer, sampler
        self._domain = domain
        self._rounds: deque[Round] = deque()  # begun, and not learned from
        self._players = 1 if config.rollout.mode == "servers" else ranks.count()
        self._itself = ranks.count() == 1 and not config.max_staleness
        self._newest: tuple[int, Weights | None] = -1, None
        self._copied: Weights | None = None  # what the copy holds
        self._copy: Any = None
        self._actor: Actor | None = None

    def __enter__(self) -> Rollouts:
        config = self._config
        if ranks.rank() < self._players:
            if not self._itself:
                served = config.rollout.mode == "servers"
                own = "cpu" if served else ranks.own_device(config.model.device)
                self._copy = load(config.model, config.seed, own)
            self._actor = open_actor(config, self._model if self._itself else self._copy, self._tokenizer)
        self._turn = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="rollouts", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        for one in self._rounds:
            if one.playing is not None:
                one.playing.cancel()
        self._do(self._hang_up()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        if self._actor is not None:
            self._actor.close()

    def take(self, step: int) -> Round:
        """Return the round of a step, and let later ones begin."""
        while len(self._rounds) <= self._config.max_staleness:
            self._begin(step, step + len(self._rounds))
        self._finish(self._rounds[0])
        return self._rounds.popleft()

    @contextmanager
    def learning(self) -> Iterator[None]:
        """Change the policy inside; an engine that samples with the policy itself then has what it became."""
        if self._itself and self._actor is not None:
            with self._actor.learning(self._model):
                yield
        else:
            yield  # the copy gets the weights of a round when that begins

    def evaluate(self, step: int) -> dict[str, float]:
        """Play the held-out tasks with the newest weights, at the same seeds each time."""
        settings = self._config.evaluate
        tasks = dict(islice(self._domain.tasks[settings.split].items(), settings.limit))
        jobs = [Job(task, trial) for task in tasks.values() for trial in range(settings.trials)]
        playing = self._play(jobs, "evaluate", 0, settings.temperature, self._weights(step))
        summary = summarise(self._collect(playing, len(jobs)), tasks)
        figures: dict[str, float | None] = {
            "pass@1": summary.overall.pass_at_1,
            "coverage": summary.coverage,
            "tokens_per_passed": summary.tokens_per_passed,
        }
        if (interval := summary.overall.interval) is not None:
            figures |= {"pass@1_low": interval.low, "pass@1_high": interval.high}
        figures |= {f"pass@1/{name}": group.pass_at_1 for name, group in summary.by_family.items()}
        return {name: math.nan if value is None else value for name, value in figures.items()}

    def state_dict(self) -> list[str]:
        """Return the rounds that were begun, once they are played, as JSON."""
        for one in self._rounds:
            self._finish(one)
        return [
            json.dumps([one.groups, [record.to_dict() for record in one.records], one.canary])
            for one in self._rounds
        ]

    def load_state_dict(self, state: Sequence[str]) -> None:
        """Go on from `state_dict`."""
        for groups, records, canary in map(json.loads, state):
            restored = [Record.from_dict(record) for record in records]
            self._rounds.append(Round([tuple(group) for group in groups], records=restored, canary=canary))

    def _begin(self, step: int, target: int) -> None:
        """Draw the tasks of a round, and let it be played by the weights before `step`."""
        size, drawn = self._config.rollout.group_size, self._sampler.draw(self._config.rollout.tasks_per_step)
        order = [(draw, task_id, member) for draw, task_id in enumerate(drawn) for member in range(size)]
        jobs = [Job(self._domain.task(task_id), draw * size + member) for draw, task_id, member in order]
        weights = self._weights(step)
        playing = self._play(jobs, "train", target, self._config.rollout.temperature, weights)
        groups = [(target, draw, task_id) for draw, task_id, _ in order]
        kept = weights if self._config.max_staleness else None
        self._rounds.append(Round(groups, playing, kept))

    def _play(
        self, jobs: list[Job], purpose: str, number: int, temperature: float, weights: Weights | None
    ) -> Future[list[Record]]:
        """Let this process play its share of episodes, after what it was told to play before."""
        settings, actor = self._config.rollout, self._actor

        async def played() -> list[Record]:
            if actor is None:
                return []
            async with self._turn:
                if weights is not self._copied:
                    with actor.learning(self._copy):
                        load_policy_state(self._copy, weights or {})
                    self._copied = weights
                agent = partial(
                    LLMPlayer,
                    engine=actor.engine,
                    template=actor.template,
                    format=settings.format,
                    prompt=Path(settings.prompt) if settings.prompt else None,
                    sampling=Sampling(temperature=temperature, max_tokens=settings.max_tokens),
                )
                return await rollout(
                    self._domain,
                    jobs[ranks.rank() :: self._players],
                    agent,
                    settings.user,
                    seed=derive_seed(self._config.seed, purpose, number, "agent"),
                    concurrency=settings.concurrency,
                    max_steps=settings.max_steps,
                    turn_deadline=settings.turn_deadline,
                    episode_deadline=settings.episode_deadline,
                    finish_after=settings.finish_after if purpose == "train" else 1.0,
                )

        return self._do(played())

    def _finish(self, one: Round) -> None:
        """Wait for a round, and compare the engine with the trainer."""
        if one.playing is not None:
            one.records, one.playing = self._collect(one.playing, len(one.groups)), None
        if one.weights is not None:
            one.canary, one.weights = self._compare(one, one.weights), None

    def _collect(self, playing: Future[list[Record]], count: int) -> list[Record]:
        """Return the episodes of all processes in their order."""
        try:
            own = playing.result()
        except BaseException:
            playing.cancel()
            raise
        records: list[Any] = [None] * count
        for place, part in enumerate(ranks.gathered(own)[: self._players]):
            records[place :: self._players] = part
        return records

    def _compare(self, one: Round, weights: Weights) -> float:
        """Return the canary of a round: of rows from all over it, as many as fit into a pass or so."""
        zeros = [0.0] * len(one.groups)
        vocabulary = self._model.config.get_text_config().vocab_size
        made = rows(one.records, one.groups, zeros, vocabulary=vocabulary)
        tokens = sum(len(row.ids) for row in made)
        some = made[:: max(1, tokens // self._config.optim.micro_batch_tokens)]
        now = policy_state(self._model)
        load_policy_state(self._model, weights)
        try:
            found = scores(self._config, self._model, some)
        finally:
            load_policy_state(self._model, now)
        gaps = [
            abs(trainer - engine)
            for row in some
            for seen, trainer, engine in zip(row.sampled, found[id(row)].tolist(), row.logprobs, strict=True)
            if seen and math.isfinite(engine)
        ]
        return math.fsum(gaps) / len(gaps) if gaps else math.nan

    def _weights(self, step: int) -> Weights | None:
        """Return the weights before a step, which are those of now, to be copied; None where none are."""
        if self._newest[0] != step and not self._itself:
            self._newest = step, policy_state(self._model)
        return self._newest[1]

    def _serve(self) -> None:
        if torch.cuda.is_available() and ranks.count() > 1:
            torch.cuda.set_device(ranks.own_device(self._config.model.device))  # each thread has its own
        self._loop.run_forever()

    def _do(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def _hang_up(self) -> None:
        """Close the connections to servers, which belong to the loop, when nothing is played any more."""
        async with self._turn:
            if self._config.rollout.mode == "servers" and self._actor is not None:
                await self._actor.engine.aclose()  # type: ignore[attr-defined]


def chosen(config: GrpoConfig, domain: Domain) -> dict[str, str]:
    """Return the tasks to train on, with their hashes: those of the split, or of them what `tasks` lists.

    Raises:
        UsageError: It lists another, or is no such list.
    """
    split = domain.tasks[config.split]
    if config.tasks is None:
        return {task_id: task.hash for task_id, task in split.items()}
    try:
        listed = list(json.loads(Path(config.tasks).read_bytes())["tasks"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{config.tasks} is no tasks.json of train.filter: {error!r}") from None
    if missing := [task_id for task_id in listed if task_id not in split]:
        raise UsageError(
            f"{config.tasks} lists {missing[0]!r}, which is not in the split {config.split!r} of "
            f"{config.domain!r}: filter runs of that split"
        )
    return {task_id: split[task_id].hash for task_id in listed}
