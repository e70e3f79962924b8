"""What a player may do: read an action, or say exactly why the object is not one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gym_enterprise import strict_json
from gym_enterprise.errors import InvalidAction
from simulators.parsing import is_text

MAX_TEXT = 100_000
"""Longest message in characters; a longer one is cut there and says so."""

_KEYS = {
    "message": {"type", "content"},
    "stop": {"type", "content"},
    "tool_call": {"type", "name", "arguments", "id", "content", "cut"},
}
_SHAPES = (
    '{"type": "message", "content": text}, {"type": "tool_call", "name": text, "arguments": {...}} '
    'or {"type": "stop"}'
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """An action whose shape has been checked."""

    type: Literal["message", "tool_call", "stop"]
    content: str = ""
    """What is said; beside a call: held until this seat's next message."""
    name: Any = None
    """The tool; not text when the call is malformed."""
    arguments: Any = None
    id: str | None = None
    cut: bool = False
    """Whether the token limit cut the turn of this call, which is then answered and never run."""


def read_action(action: Any) -> Parsed:
    """Check the shape of an action.

    A tool call whose name or arguments are wrong is still an action: its caller gets an error to read.

    Args:
        action: Anything.

    Returns:
        The parsed action; text longer than `MAX_TEXT` is cut and marked.

    Raises:
        InvalidAction: It is not an action; the message says why and what would be one.
    """
    kind = action.get("type") if isinstance(action, dict) else None
    if not isinstance(kind, str) or kind not in _KEYS:
        raise InvalidAction(f"not an action: {_short(action)}; an action is {_SHAPES}")
    if reason := strict_json.why_not_json(action):
        raise InvalidAction(f"the action is not JSON: {reason}")
    unknown = [key for key in action if key not in _KEYS[kind]]
    content = action.get("content", "" if kind != "message" else None)
    if kind != "tool_call":
        if unknown:
            raise InvalidAction(f"a {kind} has no field {_short(unknown[0])}; its fields: type, content")
        if content is None and kind == "stop":
            content = ""
    elif content is None:
        content = ""
    if not isinstance(content, str):
        raise InvalidAction(f"the content of a {kind} should be text, got {_short(content)}")
    if not is_text(content):
        raise InvalidAction("the content holds a lone surrogate, which is not text; leave it out")
    content = cut(content)
    if kind != "tool_call":
        return Parsed(kind, content)  # type: ignore[arg-type]
    call_id = action.get("id")
    if call_id is not None and not _is_id(call_id):
        raise InvalidAction(
            f"the id of a call should be a text of 1 to 128 characters, got {_short(call_id)}"
        )
    cut_short = action.get("cut", False)
    if not isinstance(cut_short, bool):
        raise InvalidAction(
            f"`cut` says of a call whether it was cut: true or false, got {_short(cut_short)}"
        )
    name = action.get("name")
    if cut_short or (isinstance(name, str) and not is_text(name)):
        name = None  # unreadable: no history may hold what cannot be encoded, nor a name that was cut
    if unknown:
        # An unreadable call, so that a call with, say, a forged requestor is answered and never runs.
        return Parsed("tool_call", content, None, f"a call has no field {_short(unknown[0])}", call_id)
    return Parsed("tool_call", content, name, action.get("arguments"), call_id, cut_short)


def id_of(action: Any) -> str | None:
    """Return the id of a call that may be no proper action otherwise; None when there is none to keep."""
    call_id = action.get("id") if isinstance(action, dict) and action.get("type") == "tool_call" else None
    return call_id if _is_id(call_id) else None


def read_turn(actions: Sequence[Any]) -> list[Parsed]:
    """Check the shape of the actions of one turn: tool calls and at most one message or stop.

    Raises:
        InvalidAction: One of them is not an action, there are two that are no calls, or there is none at all.
    """
    parsed = [read_action(action) for action in actions]
    if not parsed:
        raise InvalidAction("the turn is empty: say something, call a tool, or stop")
    if sum(one.type != "tool_call" for one in parsed) > 1:
        raise InvalidAction("a turn is tool calls and at most one message or stop; this one has more")
    return parsed


def cut(text: str) -> str:
    """Return text of at most `MAX_TEXT` characters; a longer one is cut there and says so."""
    if len(text) > MAX_TEXT:
        return f"{text[:MAX_TEXT]} … [cut at {MAX_TEXT} of {len(text)} characters]"
    return text


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 128 and is_text(value)


def _short(value: Any) -> str:
    text = json.dumps(value) if strict_json.why_not_json(value) is None else repr(type(value).__name__)
    return text if len(text) <= 80 else text[:77] + "..."
