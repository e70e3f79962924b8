"""Whoever sits in a seat: the one protocol, and the shapes a player reads and returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Action = dict[str, Any]
"""A message, a tool call or a stop, as a plain dictionary."""


class CallRecord(Protocol):
    """A tool call as it stands in a history."""

    @property
    def name(self) -> str:
        """The tool."""
        ...

    @property
    def arguments(self) -> Any:
        """A fresh copy of the arguments."""
        ...


class MessageRecord(Protocol):
    """A message as it stands in a history."""

    @property
    def role(self) -> str:
        """One of "system", "agent", "user", "tool"."""
        ...

    @property
    def content(self) -> str:
        """The text."""
        ...

    @property
    def call(self) -> CallRecord | None:
        """The call that is made or answered."""
        ...

    @property
    def result(self) -> Any:
        """For role "tool" a fresh copy of the outcome."""
        ...


Observation = Mapping[str, Any]
"""What a seat sees: ``messages`` (its whole history), ``turn`` and ``your_turn``."""


class Player(Protocol):
    """Takes one seat's observation and returns that seat's next action.

    A player is a pure function of the view (or task) and seed that it was built from and of the observation:
    the same observation gives the same action, however often and in whatever order observations come. What it
    keeps between calls is a cache. So an episode can be forked, restored, retried or resumed without telling
    its players.

    A class is built as ``Class(view, seed)``, or ``Class(task, seed)`` if its ``sees_task`` is true.

    Example:
        >>> class Greeter(Synchronous):
        ...     def act(self, observation):
        ...         return {"type": "message", "content": "Hello!"}
        >>> Greeter().act({"messages": (), "turn": 0, "your_turn": 1})
        {'type': 'message', 'content': 'Hello!'}
    """

    def act(self, observation: Observation) -> Action:
        """Return the next action; a new dictionary each time."""
        ...

    async def aact(self, observation: Observation) -> Action:
        """Return what `act` returns, without blocking the event loop while waiting."""
        ...


class Synchronous:
    """Gives a player that never waits its `aact`."""

    def act(self, observation: Observation) -> Action:
        """Return the next action."""
        raise NotImplementedError(f"{type(self).__name__} must define act(observation).")

    async def aact(self, observation: Observation) -> Action:
        """Return `act(observation)`."""
        return self.act(observation)
