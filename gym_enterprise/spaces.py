"""Gymnasium spaces for text, tool calls and transcripts.

All of them answer `contains` in constant time or nearly so, sample from their own seeded generator, compare
by value, and pickle with plain `pickle`. None can be flattened into numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Dict, Discrete, Space

from gym_enterprise.actions import MAX_TEXT, read_action
from gym_enterprise.errors import InvalidAction
from gym_enterprise.messages import Call, Message, Role
from gym_enterprise.sampling import check_schema, sample_text, sample_value
from gym_enterprise.tools import ToolSpec

MANY = 2**31
"""Bound of counts that budgets keep far smaller."""

Mask = npt.NDArray[np.int8]
"""One entry a kind of action; 1 where it is open."""

T = TypeVar("T")


class NonNumericSpace(Space[T]):
    """A space whose elements have no shape, no dtype and no flat form.

    Args:
        seed: Seed of `sample`.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed number of entries."""
        return False

    def _whole(self, mask: Any, probability: Any) -> None:
        if mask is not None or probability is not None:
            raise ValueError(f"{type(self).__name__}.sample has no parts to choose from: leave out the mask")


class MessageSpace(NonNumericSpace[str]):
    """Any text up to a length.

    Args:
        max_chars: Longest text in characters. The default is where an episode cuts a message.
        seed: Seed of `sample`, which gives short phrases.

    Example:
        >>> "Good morning, 世界!" in MessageSpace()
        True
    """

    def __init__(self, max_chars: int = MAX_TEXT, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(seed)
        self.max_chars = max_chars

    def contains(self, x: Any) -> bool:
        """Return whether it is a text of at most `max_chars` characters."""
        return isinstance(x, str) and len(x) <= self.max_chars

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return one or two phrases; there is nothing to mask."""
        self._whole(mask, probability)
        return sample_text(self.np_random)[: self.max_chars]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageSpace) and self.max_chars == other.max_chars

    def __repr__(self) -> str:
        return f"MessageSpace({self.max_chars})"


class _CallSampler(NonNumericSpace[dict[str, Any]]):
    """What the two spaces with tools share."""

    _first: tuple[str, ...] = ()
    """Kinds of action before the tools."""

    def __init__(self, tools: Iterable[ToolSpec], *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(seed)
        self.tools = tuple(tools)
        for tool in self.tools:
            check_schema(tool.parameters, f"tool {tool.name!r}")

    @property
    def kinds(self) -> tuple[str, ...]:
        """What the entries of a mask stand for, in order."""
        return (*self._first, *(tool.name for tool in self.tools))

    def mask(self, kinds: Iterable[str]) -> Mask:
        """Return a mask that is open for some kinds of action.

        Args:
            kinds: Names out of `kinds`.

        Returns:
            An int8 array with one entry a kind.
        """
        wanted = frozenset(kinds)
        return np.array([kind in wanted for kind in self.kinds], dtype=np.int8)

    def _choose(self, mask: Any, probability: Any) -> int:
        """Draw an index of `kinds`, uniformly by default; 0 when a mask is closed everywhere."""
        if mask is not None and probability is not None:
            raise ValueError("sample takes a mask or a probability, not both")
        count = len(self.kinds)
        given = mask if mask is not None else probability
        if given is None:
            return int(self.np_random.integers(count))
        weights = np.asarray(given, dtype=np.float64)
        if weights.shape != (count,) or not np.all(weights >= 0):
            kinds = ", ".join(self.kinds)
            raise ValueError(f"a mask or probability has {count} entries of at least 0, for: {kinds}")
        if mask is not None:
            if not np.all((weights == 0) | (weights == 1)):
                raise ValueError("a mask has entries 0 and 1")
            if not weights.any():
                return 0
            weights = weights / weights.sum()
        return int(self.np_random.choice(count, p=weights))

    def _call(self, tool: ToolSpec) -> dict[str, Any]:
        arguments = sample_value(self.np_random, tool.parameters)
        return {"type": "tool_call", "name": tool.name, "arguments": arguments}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.tools == other.tools

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(tool.name for tool in self.tools)})"


class ToolCallSpace(_CallSampler):
    """Calls of some tools: `{"type": "tool_call", "name": ..., "arguments": {...}}`.

    A call of a tool that does not exist, or with arguments that do not fit, is in the space: its caller gets
    an error to read. `sample` gives calls that fit.

    Args:
        tools: The tools.
        seed: Seed of `sample`.

    Raises:
        ToolDefinitionError: A schema cannot be sampled.
    """

    def contains(self, x: Any) -> bool:
        """Return whether an episode takes it as a tool call."""
        return _kind(x) == "tool_call"

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """Return a call that fits its tool's schema.

        Args:
            mask: Which tools are open, int8 in the order of `kinds`.
            probability: Or how likely each is.
        """
        if not self.tools:
            raise ValueError("there are no tools to sample a call of")
        return self._call(self.tools[self._choose(mask, probability)])


class ActionSpace(_CallSampler):
    """What a seat may do: speak, stop, or call a tool.

    `{"type": "message", "content": text}` · `{"type": "tool_call", "name": text, "arguments": {...}}` ·
    `{"type": "stop"}`. It contains whatever an episode takes as an action; `sample` draws a kind uniformly
    from `kinds` (message, stop, then each tool) and gives a call that fits its tool's schema.

    Args:
        tools: The tools.
        seed: Seed of `sample`.

    Raises:
        ToolDefinitionError: A schema cannot be sampled.

    Example:
        >>> space = ActionSpace([], seed=3)
        >>> {"type": "message", "content": "Hello"} in space
        True
        >>> space.sample(mask=space.mask(["stop"]))
        {'type': 'stop'}
    """

    _first = ("message", "stop")

    def contains(self, x: Any) -> bool:
        """Return whether an episode takes it as an action."""
        return _kind(x) is not None

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """Return an action.

        Args:
            mask: Which kinds are open, int8 in the order of `kinds`; when none is, the action is a message.
            probability: Or how likely each is.
        """
        index = self._choose(mask, probability)
        if index == 0:
            return {"type": "message", "content": sample_text(self.np_random)}
        return {"type": "stop"} if index == 1 else self._call(self.tools[index - 2])


class TranscriptSpace(NonNumericSpace[tuple[Message, ...]]):
    """Histories of a seat: tuples of `Message`.

    Args:
        seed: Seed of `sample`, which gives short conversations.
    """

    def contains(self, x: Any) -> bool:
        """Return whether it is a tuple of messages; their text is not looked at."""
        return isinstance(x, tuple) and set(map(type, x)) <= {Message}

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Message, ...]:
        """Return a short conversation; there is nothing to mask."""
        self._whole(mask, probability)
        rng = self.np_random
        said: list[tuple[Role, str, Call | None]] = [("system", sample_text(rng), None)]
        for number in range(int(rng.integers(4))):
            said.append(("agent" if number % 2 else "user", sample_text(rng), None))
        if rng.integers(2):
            call = Call("call_1", "a_tool", "{}")
            said += [("agent", "", call), ("tool", '{"ok": true, "result": null}', call)]
        return tuple(Message(seq, *entry) for seq, entry in enumerate(said))

    def to_jsonable(self, sample_n: Iterable[tuple[Message, ...]]) -> list[Any]:
        """Write histories as JSON values."""
        return [[message.to_dict() for message in history] for history in sample_n]

    def from_jsonable(self, sample_n: list[Any]) -> list[tuple[Message, ...]]:
        """Read histories from JSON values."""
        return [tuple(Message.from_dict(message) for message in history) for history in sample_n]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TranscriptSpace)

    def __repr__(self) -> str:
        return "TranscriptSpace()"


def observation_space() -> Dict:
    """Return the space of observations of either seat, for every task.

    Returns:
        `messages` (`TranscriptSpace`), `turn` (steps so far) and `your_turn` (0 or 1).
    """
    return Dict({"messages": TranscriptSpace(), "turn": Discrete(MANY), "your_turn": Discrete(2)})


def _kind(action: Any) -> str | None:
    try:
        return read_action(action).type
    except InvalidAction:
        return None
