"""Which actions of a history belong to one model turn: the ids of their calls say so.

A model may call several tools at once. They are played one action at a time, and the history has a call and
its answer for each. So that a history alone tells how it came about, each call of such a turn has `#i/n` at
the end of its id: it is action i of n. A turn of one action has no mark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from simulators.parsing import is_text
from simulators.player import Action, MessageRecord

_MARK = re.compile(r"#(\d+)/(\d+)\Z")
_LONGEST_ID = 100
"""Longest id of a server that is kept, in characters."""


class Place(NamedTuple):
    """Where a history stands in a model turn."""

    start: int
    """How long the history was when the model was asked."""
    done: int
    """How many actions of its turn are played."""
    total: int
    """How many it has."""


def marked(actions: Sequence[Action], position: int) -> tuple[Action, ...]:
    """Give the calls of one model turn their ids.

    Args:
        actions: What the model wants to do.
        position: How long the history was when it was asked.

    Returns:
        The same actions. A turn of one keeps the id that it has, if any.
    """
    total = len(actions)
    return tuple(
        _with_id(action, position, number, total) if action["type"] == "tool_call" else action
        for number, action in enumerate(actions, start=1)
    )


def plain_id(call: Any) -> str:
    """Return a call's id as the model's server knows it, without the mark."""
    return _MARK.sub("", call.id)


def place(history: Sequence[MessageRecord]) -> Place | None:
    """Return the model turn that a history ends in the middle of, or None when a new one begins."""
    last = history[-1] if history else None
    number, total = mark(last.call) if last is not None and last.role == "tool" else (1, 1)
    start = len(history) - 2 * number
    if number == total or start < 1 or mark(history[start].call) != (1, total):
        return None
    return Place(start, number, total)


def spoken(history: Sequence[MessageRecord], seat: str) -> bool:
    """Return whether there is text beside the calls of this turn, which waits to be the message."""
    for message in reversed(history):
        if message.role == seat and message.call is not None:
            if message.content.strip():
                return True
        elif message.role != "tool":
            break
    return False


def mark(call: Any) -> tuple[int, int]:
    """Return which action of how many a call is; (1, 1) without a mark."""
    found = _MARK.search(getattr(call, "id", None) or "")
    return (int(found.group(1)), int(found.group(2))) if found else (1, 1)


def _with_id(action: Action, position: int, number: int, total: int) -> Action:
    own = action.get("id", "")
    if _MARK.search(own) or not 0 < len(own) <= _LONGEST_ID or not is_text(own):
        own = ""
    if total > 1:
        return {**action, "id": f"{own or f'call_{position}_{number}'}#{number}/{total}"}
    rest = {key: value for key, value in action.items() if key != "id"}
    return {**rest, "id": own} if own else rest
