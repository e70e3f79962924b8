"""`Batch`: rows that are decoded together, a token each at every step; rows come and go between steps."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch

from simulators.engines.errors import EngineError, FatalError
from simulators.engines.local.causal_lm import CausalLM
from simulators.engines.local.kv import KV, KVCache
from simulators.engines.local.prefix_cache import PrefixCache, Prefixes, key
from simulators.engines.local.sampler import sample

READ_AT_ONCE = 8192
"""Most tokens of prompts in one pass, padding included, unless one prompt alone has more."""
WORTH_WAITING = 32
"""A row waits for another one's prompt to be read when so many tokens of it are its own too."""


@dataclass(eq=False, slots=True)
class Row:
    """One request on its way."""

    tokens: list[int]
    """The prompt, and what was sampled so far."""
    prompt_length: int
    """How many of the tokens are the prompt."""
    end: int
    """How many tokens there may be."""
    temperature: float
    top_p: float
    random: random.Random
    """Gives one number a token."""
    stop_tokens: frozenset[int]
    """Tokens that end it."""
    stopped: Callable[[Sequence[int]], bool] | None = None
    """Whether sampled tokens contain a text that ends it; None when there is no such text."""
    future: Future[Row] = field(default_factory=Future)
    """Is given the row when it is done."""
    logprobs: list[float] = field(default_factory=list)
    """Of what was sampled."""
    reason: str | None = None
    """Why it ended; None while it has not."""
    error: EngineError | None = None
    """What it failed with."""
    key: bytes = field(init=False)
    """The tokens that it had when it was put into the queue."""
    known_length: int = 0
    """How many tokens of it the prefix cache has."""
    followed: bool = False
    """Whether other rows wait for its prompt to be read."""

    def __post_init__(self) -> None:
        self.key = key(self.tokens)

    @property
    def sampled(self) -> list[int]:
        """What was sampled so far."""
        return self.tokens[self.prompt_length :]

    @property
    def unread(self) -> int:
        """How many tokens are still to be read."""
        return len(self.tokens) - self.known_length

    def take(self, token: int, logprob: float) -> None:
        """Add a token that was sampled, and see whether it is the last one."""
        if not math.isfinite(logprob):
            self.error = FatalError(
                f"The model's logits are not finite after {len(self.tokens)} tokens: its weights have "
                "diverged, or its numbers overflow. Load an earlier checkpoint, or compute in float32."
            )
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if token in self.stop_tokens or (self.stopped is not None and self.stopped(self.sampled)):
            self.reason = "stop"
        elif len(self.tokens) == self.end:
            self.reason = "length"


class Batch:
    """Rows of one model.

    A pass gives each row the numbers that it would get alone, up to rounding: positions count from its own
    first token, and it attends to its own tokens only. All methods are called under `torch.inference_mode`.

    Args:
        model: The model.
        max_rows: Most rows.
        prefixes: What was computed before.
    """

    def __init__(self, model: CausalLM, max_rows: int, prefixes: PrefixCache[KV]) -> None:
        self.rows: list[Row] = []
        """In the order of their places in the buffers."""
        self.prefixes = prefixes
        self._model, self._max_rows = model, max_rows
        self._kv = KVCache(model.layers, max_rows)

    def next_group(self, waiting: list[Row]) -> list[Row]:
        """Take rows out of a queue that are best read in one pass; none when the batch is full.

        Of rows whose prompts begin alike, one goes first, and the others then find what they share.
        """
        picked: list[Row] = []
        leaders = Prefixes()
        by_key: dict[bytes, Row] = {}
        for row in islice(waiting, self._max_rows - len(self.rows)):
            row.known_length = min(self.prefixes.longest(row.key)[1], len(row.tokens) - 1)
            leader, length = leaders.longest(row.key)
            if leader and length >= row.known_length + WORTH_WAITING and length <= self.prefixes.capacity:
                by_key[leader].followed = True
                continue
            leaders.insert(row.key)
            by_key[row.key] = row
            picked.append(row)
        group = _alike(picked)
        taken = set(map(id, group))
        waiting[:] = [row for row in waiting if id(row) not in taken]
        return group

    def read(self, group: Sequence[Row]) -> list[Row]:
        """Let rows join: read what is new of their prompts, and sample a token each; see `step`."""
        first, width = len(self.rows), max(row.unread for row in group)
        self._kv.reserve(first + len(group), max(len(row.tokens) for row in group))
        ids, positions = np.zeros((len(group), width), np.int64), np.full((len(group), width), -1)
        for place, row in enumerate(group):
            known, _ = self.prefixes.longest(row.key)
            if known is not None:
                self._kv.load(first + place, known, row.known_length)
            ids[place, width - row.unread :] = row.tokens[row.known_length :]
            positions[place, width - row.unread :] = np.arange(row.known_length, len(row.tokens))
        self.rows += group
        self._pass(first, ids, positions)
        for place, row in enumerate(group):
            if row.error is None and (row.followed or row.known_length < row.prompt_length // 2):
                self._keep(first + place, row)
        return self._sweep()

    def step(self) -> list[Row]:
        """Sample a token for each row.

        Returns:
            The rows that are done, and no longer in the batch.
        """
        lengths = [len(row.tokens) for row in self.rows]
        self._kv.reserve(len(self.rows), max(lengths))
        ids = np.array([row.tokens[-1] for row in self.rows])[:, None]
        self._pass(0, ids, np.array(lengths)[:, None] - 1)
        return self._sweep()

    def drop(self, gone: Callable[[Row], bool]) -> list[Row]:
        """Take rows out; the last ones move into their places.

        Returns:
            The rows.
        """
        dropped = []
        for place in reversed(range(len(self.rows))):
            row = self.rows[place]
            if gone(row):
                last = self.rows.pop()
                if last is not row:
                    self.rows[place] = last
                    self._kv.move(len(self.rows), place, len(last.tokens))
                dropped.append(row)
        return dropped

    def clear(self) -> list[Row]:
        """Take all rows out, and give the memory back, that of the prefixes too.

        Returns:
            The rows.
        """
        rows, self.rows = self.rows, []
        for row in rows:
            row.key = key(row.tokens)
        self._kv = KVCache(self._model.layers, self._max_rows)
        self.prefixes.clear()
        return rows

    def _pass(self, first: int, ids: np.ndarray, positions: np.ndarray) -> None:
        rows = self.rows[first:]
        tokens, logprobs = sample(
            self._model.logits(self._kv, first, ids, positions),
            np.array([row.temperature for row in rows]),
            np.array([row.top_p for row in rows]),
            np.array([row.random.random() for row in rows]),
        )
        both = torch.stack((tokens.double(), logprobs.double())).cpu().numpy()  # one wait for the device
        for row, token, logprob in zip(rows, *both.tolist(), strict=True):
            row.take(int(token), logprob)

    def _sweep(self) -> list[Row]:
        done = False
        for place, row in enumerate(self.rows):
            if row.error is not None:
                done = True
                self._kv.wipe(place)
            elif row.reason is not None:
                done = True
                self._keep(place, row)
        return self.drop(lambda row: bool(row.reason or row.error)) if done else []

    def _keep(self, place: int, row: Row) -> None:
        read = len(row.tokens) - 1  # the last one was only sampled
        self.prefixes.add(key(row.tokens[:read]), lambda: self._kv.save(place, read))


def _alike(rows: Sequence[Row]) -> list[Row]:
    """Return rows with about as many tokens to read, so that little of one pass is padding."""
    ordered = sorted(rows, key=lambda row: row.unread)
    group: list[Row] = []
    for row in ordered:
        if group and (row.unread * (len(group) + 1) > READ_AT_ONCE or row.unread > 2 * group[0].unread + 16):
            break
        group.append(row)
    return group
