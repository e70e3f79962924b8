"""Supervised fine-tuning: a model learns to write what the agent wrote in dialogues that went well.

    python -m train.sft CONFIG.toml [key=value ...]      e.g. optim.lr=1e-5 epochs=2
    python -m train.sft --help                           all keys
    torchrun --nproc-per-node 4 -m train.sft CONFIG.toml     on several devices

The loss is -log p, averaged over the agent's tokens of a step's conversations, each turn with the token that
ends it; what others wrote is read, and teaches nothing, unless `context_weight` is above 0. Data is

    FOLDER of train.filter, or its sft.jsonl       dialogues that passed; any JSON lines with a "chat" will do
    FOLDER of a run                                filtered here, by the rules of train.filter

Where a dialogue comes with tokens that this very model would have read, those are learned, and never encoded
again. Otherwise the model's template writes it, as it will when the model is asked.
"""

from __future__ import annotations

import hashlib
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gym_enterprise import read_run
from gym_enterprise.errors import UsageError
from simulators.renderer import template_for
from simulators.template import load_tokenizer
from train import ranks
from train.batching import Batch, Row, fitting
from train.config import SftConfig
from train.dialogues import read_dialogues, recorded_rows, sft_rows
from train.filter import Wanted, dialogues, played_domain
from train.logprobs import token_logprobs
from train.losses import Metric, merged, sft_loss
from train.optim import Optimiser
from train.run import Part, Run, command, load, precision, stop_on_sigterm

SHOWN = ("nll", "holdout_nll", "epoch", "lr", "grad_norm", "tokens", "seconds")


@dataclass(frozen=True)
class Conversation:
    """What one dialogue teaches."""

    source: int
    """Which entry of `data` it is from."""
    task: str
    rows: tuple[Row, ...]


def train(config: SftConfig) -> None:
    """Train from the beginning, or from the latest checkpoint when the configuration says so.

    Raises:
        UsageError: There is nothing to learn from, it does not fit the model, or `out` holds another run.
    """
    model = load(config.model, config.seed)
    tokenizer = load_tokenizer(config.model.path)
    learned, held_out = split(config, gather(config, tokenizer, model.config.get_text_config()))
    steps = config.steps or math.ceil(config.epochs * len(learned) / config.batch_size)
    rng = random.Random(config.seed)
    decks = Decks(learned, config.weights, rng)
    optimiser = Optimiser(model, config.optim, steps)
    parts: dict[str, Part] = {"optimiser": optimiser, "decks": decks}
    with Run(config, steps, model, tokenizer, rng, **parts) as run, stop_on_sigterm() as asked:
        for step in run.steps(asked):
            drawn = [row for _ in range(config.batch_size) for row in decks.draw().rows]
            figures = go_through(config, model, drawn, learn=True)
            update = optimiser.step()
            optimiser.zero_grad()
            figures |= {"lr": update.lr, "grad_norm": update.norm, "skipped": float(update.skipped)}
            figures["epoch"] = (step + 1) * config.batch_size / len(learned)
            if held_out and (step + 1 == steps or (step + 1) % config.holdout_every == 0):
                figures["holdout_nll"] = go_through(config, model, held_out, learn=False)["nll"]
            run.note(step, figures, SHOWN)


def go_through(config: SftConfig, model: Any, rows: Sequence[Row], *, learn: bool) -> dict[str, float]:
    """Return what the model thinks of rows, and leave the gradients of their loss if it is to learn."""
    weight = config.context_weight
    own = sum(sum(row.sampled) for row in rows)
    whole = own + weight * (sum(len(row.ids) - 1 for row in rows) - own)
    found: list[Mapping[str, Metric]] = []
    with torch.set_grad_enabled(learn):
        for batch in ranks.share(rows, config.optim.micro_batch_tokens):
            here = batch.to(model.device)
            context = others(here) if weight else None
            with precision(config.model, model):
                counted = here.mask if context is None else here.mask | context
                logp = token_logprobs(model, here.ids, here.attention, counted)
            result = sft_loss(logp, here.mask, context=context, context_weight=weight, tokens=whole)
            if learn:
                ranks.backward(result.loss)
            found.append({**result.metrics, "loss": Metric(result.loss.item(), 1, "sum")})
    return {name: metric.value for name, metric in merged(ranks.gathered(merged(found))).items()}


def others(batch: Batch) -> torch.Tensor:
    """Return where the tokens are that others wrote, [N, T], but for the first, which follows nothing."""
    context = batch.attention & ~batch.mask
    context[:, 0] = False
    return context


def gather(config: SftConfig, tokenizer: Any, model: Any) -> list[Conversation]:
    """Read the data, leave out what is too long, and say how much there is.

    Args:
        config: The configuration.
        tokenizer: Of the model.
        model: The configuration of its text model, which says how many tokens it has, and was made for.

    Raises:
        UsageError: A file is no data, a dialogue does not fit the model, or all are too long.
    """
    vocabulary, window = model.vocab_size, getattr(model, "max_position_embeddings", None)
    most = min(config.max_tokens, window or config.max_tokens)
    template: Any = template_for(tokenizer, keep_history=config.keep_history)
    found: list[Conversation] = []
    recorded = silent = 0
    for source, path in enumerate(config.data):
        for name, line in lines(config, Path(path)):
            chat, tokens = line["chat"], line.get("segments", ())
            rows = recorded_rows(template, chat, tokens, name, vocabulary=vocabulary)
            recorded += bool(rows)
            rows = rows or sft_rows(template, chat, name, vocabulary=vocabulary)
            silent += not rows
            found += [Conversation(source, line.get("task_id", name), tuple(rows))] if rows else []
    long = set(fitting([row for one in found for row in one.rows], most)[1])
    ranks.say(
        f"{len(found) - len(long)} conversations, {recorded} with the tokens as recorded; dropped: "
        f"{len(long)} of more than {most} tokens, {silent} without a word of the agent"
    )
    return [one for one in found if one.rows[0].rollout not in long]


def lines(config: SftConfig, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the dialogues of an entry of `data`, each with the name of where it stands."""
    if (path / "manifest.json").exists():
        run = read_run(path)
        wanted = Wanted(format=config.format, prompt=Path(config.prompt) if config.prompt else None)
        kept, dropped = dialogues([run], played_domain([run]), wanted)
        ranks.say(
            f"{path}: dropped " + (", ".join(f"{why} {n}" for why, n in dropped.most_common()) or "none")
        )
        yield from ((f"{path}, {one['task_id']} trial {one['trial']}", one) for one in kept)
        return
    yield from read_dialogues(path / "sft.jsonl" if path.is_dir() else path)


def split(config: SftConfig, found: Sequence[Conversation]) -> tuple[list[Conversation], list[Row]]:
    """Return the conversations to learn from, and the rows of those that are held out.

    Which tasks these are depends on the seed and the tasks' ids alone.

    Raises:
        UsageError: There is nothing to learn from, in one of `data` if they have weights, or to hold out.
    """
    tasks = sorted({one.task for one in found})
    count = round(config.holdout * len(tasks))
    if tasks and config.holdout and not 0 < count < len(tasks):
        raise UsageError(
            f"holdout is {config.holdout}, {count} of {len(tasks)} tasks: leave some on both sides"
        )
    held_out = set(random.Random(config.seed).sample(tasks, count))
    learned = [one for one in found if one.task not in held_out]
    sources = {one.source for one in learned}
    for source, path in enumerate(config.data):
        if not learned or (config.weights and source not in sources):
            raise UsageError(
                f"{path} has no dialogue to learn from: see what was dropped, and give other data"
            )
    return learned, [row for one in found if one.task in held_out for row in one.rows]


class Decks:
    """Draws conversations at random, none a second time before all of its deck were drawn.

    Without weights all are one deck; with them each entry of `data` is one, and which of them is drawn from
    is drawn too.

    Args:
        conversations: All.
        weights: Of the entries.
        rng: Of the run.
    """

    def __init__(
        self, conversations: Sequence[Conversation], weights: Sequence[float], rng: random.Random
    ) -> None:
        self._all, self._weights, self._rng = conversations, weights or (1.0,), rng
        self._decks: list[list[int]] = [[] for _ in self._weights]
        for place, one in enumerate(conversations):
            self._decks[one.source if weights else 0].append(place)
        self._left: list[list[int]] = [[] for _ in self._weights]
        digest = hashlib.sha256()
        for one in conversations:
            digest.update(repr([(row.ids, row.sampled) for row in one.rows]).encode())
        self._digest = digest.hexdigest()

    def draw(self) -> Conversation:
        """Return the next one."""
        deck = self._rng.choices(range(len(self._decks)), self._weights)[0]
        if not self._left[deck]:
            self._left[deck] = self._rng.sample(self._decks[deck], len(self._decks[deck]))
        return self._all[self._left[deck].pop()]

    def state_dict(self) -> dict[str, Any]:
        """Return what is left of each deck."""
        return {"data": self._digest, "left": [list(left) for left in self._left]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`.

        Raises:
            UsageError: The conversations are others.
        """
        if state["data"] != self._digest:
            raise UsageError(
                "the data has changed since the checkpoint: give the same files, or begin another run"
            )
        self._left = [list(left) for left in state["left"]]


if __name__ == "__main__":
    command(sys.argv[1:], SftConfig, __doc__ or "", train)
