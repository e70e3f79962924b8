"""A fold over an observation's messages that remembers how far it came: a cache, never a state of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from simulators.player import MessageRecord

State = TypeVar("State")


class Memory(Generic[State]):
    """Folds `step` over a history, and only over what is new if the history continues the last one seen.

    Args:
        start: Makes the state of an empty history.
        step: Takes a state and the next message, returns the state after it; it may change what it gets.
    """

    __slots__ = ("_seen", "_start", "_state", "_step")

    def __init__(self, start: Callable[[], State], step: Callable[[State, MessageRecord], State]) -> None:
        self._start = start
        self._step = step
        self._seen: tuple[MessageRecord, ...] = ()
        self._state = start()

    def of(self, messages: Iterable[MessageRecord]) -> State:
        """Return the state after `messages`; the caller must not change it."""
        history = tuple(messages)
        known = len(self._seen)
        if not known or history[:known] != self._seen:
            known, self._state = 0, self._start()
        self._seen = ()  # until all is folded: a step that raises leaves nothing half-remembered
        for message in history[known:]:
            self._state = self._step(self._state, message)
        self._seen = history
        return self._state
