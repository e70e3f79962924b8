"""`PrefixCache`: keys and values of token sequences, found by the longest common beginning.

Sequences are kept in lexicographic order, as bytes. The one that shares most with another sequence is then a
neighbour of the place where that one would stand, so that a look-up compares with two of them, not with all.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

Value = TypeVar("Value")

_WIDTH = 4
"""Bytes of a token in a key."""


def key(tokens: Sequence[int]) -> bytes:
    r"""Return tokens as bytes that sort and compare as the tokens do.

    Example:
        >>> key([1, 258])
        b'\x00\x00\x00\x01\x00\x00\x01\x02'
    """
    return np.array(tokens, dtype=">u4").tobytes()


def shared(one: bytes, other: bytes) -> int:
    """Return with how many equal tokens two keys begin.

    Example:
        >>> shared(key([7, 8, 9]), key([7, 8, 1, 2]))
        2
    """
    length = min(len(one), len(other)) // _WIDTH
    differs = np.frombuffer(one, np.uint32, length) != np.frombuffer(other, np.uint32, length)
    return int(differs.argmax()) if differs.any() else length


class Prefixes:
    """Keys in order."""

    def __init__(self) -> None:
        self._keys: list[bytes] = []

    def insert(self, new: bytes) -> None:
        """Add a key."""
        insort(self._keys, new)

    def remove(self, old: bytes) -> None:
        """Take a key out that is there."""
        del self._keys[bisect_left(self._keys, old)]

    def around(self, wanted: bytes) -> tuple[bytes | None, bytes | None]:
        """Return the last key before `wanted`, and the first one that is equal or after it."""
        at = bisect_left(self._keys, wanted)
        return (self._keys[at - 1] if at else None), (self._keys[at] if at < len(self._keys) else None)

    def longest(self, wanted: bytes) -> tuple[bytes | None, int]:
        """Return a key that shares the longest beginning with another, and its length; None when it is 0."""
        found, most = None, 0
        for neighbour in self.around(wanted):
            length = shared(wanted, neighbour) if neighbour is not None else 0
            if length > most:
                found, most = neighbour, length
        return found, most


class PrefixCache(Generic[Value]):
    """What was computed for sequences of tokens; the least recently used goes first.

    No sequence in it is the beginning of another one: the longer one holds all that the shorter one would.

    Args:
        capacity: Most tokens of all sequences together; 0 keeps nothing.

    Example:
        >>> cache = PrefixCache[str](capacity=10)
        >>> cache.add(key([1, 2, 3]), lambda: "three tokens")
        >>> cache.longest(key([1, 2, 9]))
        ('three tokens', 2)
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        """Most tokens of all sequences together."""
        self.tokens = 0
        """Tokens of all sequences together."""
        self._order = Prefixes()
        self._values: OrderedDict[bytes, Value] = OrderedDict()

    def longest(self, wanted: bytes) -> tuple[Value | None, int]:
        """Return the value of the sequence that shares the longest beginning, and its length in tokens."""
        found, length = self._order.longest(wanted)
        if found is None:
            return None, 0
        self._values.move_to_end(found)
        return self._values[found], length

    def add(self, new: bytes, value: Callable[[], Value]) -> None:
        """Keep a sequence.

        Args:
            new: Its key.
            value: Gives its value; called only when no sequence begins with it already.
        """
        before, after = self._order.around(new)
        if after is not None and after.startswith(new):
            self._values.move_to_end(after)
            return
        if len(new) // _WIDTH > self.capacity:
            return
        if before is not None and new.startswith(before):
            self._remove(before)
        self._values[new] = value()
        self._order.insert(new)
        self.tokens += len(new) // _WIDTH
        while self.tokens > self.capacity:
            self._remove(next(iter(self._values)))

    def clear(self) -> None:
        """Forget everything."""
        self._order, self.tokens = Prefixes(), 0
        self._values.clear()

    def _remove(self, old: bytes) -> None:
        del self._values[old]
        self._order.remove(old)
        self.tokens -= len(old) // _WIDTH
