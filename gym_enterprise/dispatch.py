"""`Dispatcher`: the one path by which any tool call of any seat reaches the world.

Whatever is wrong with a call is an *outcome* that its caller reads, never an exception: the error model is

==================  ======================================================================
code                what happened (the world is as before the call)
==================  ======================================================================
malformed_call      no tool name, arguments that are not a JSON object, or a turn that was cut
unknown_tool        no such tool for this seat in this task
locked              the tool exists, but was not unlocked (agent) or given (user)
invalid_arguments   the arguments do not fit the tool's schema
tool_failure        the tool has a bug; the traceback goes to the log, not to the player
(others)            a `ToolError`: the tool's own precondition does not hold
==================  ======================================================================
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic

from gym_enterprise import strict_json
from gym_enterprise.errors import WorldError
from gym_enterprise.lossless import ArgumentError
from gym_enterprise.messages import Seat
from gym_enterprise.tools import Declined, Tool, ToolError
from gym_enterprise.toolset import GIVE, UNLOCK, USE, Toolset

if TYPE_CHECKING:
    from gym_enterprise.tasks import Task
    from gym_enterprise.world import World

MAX_RESULT = 200_000
"""Longest result in characters of JSON; a longer one is shown as text cut there."""
MAX_ERROR = 4_000
"""Longest error message in characters; a longer one, which repeats what it was given, is cut there."""

_log = logging.getLogger("gym_enterprise")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to."""

    ok: bool
    text: str
    """The outcome as JSON: `{"ok": true, "result": ...}` or `{"ok": false, "error": {...}}`."""
    counts: bool = False
    """Whether it counts as a failed call."""
    ends: bool = False
    """Whether a terminal tool succeeded."""
    given: Tool | None = None
    """The user tool that this call gave away, if it did."""

    @classmethod
    def success(cls, result: Any, *, ends: bool = False, given: Tool | None = None) -> Outcome:
        """Make the outcome of a call that worked; raises `ValueError` or `TypeError` for what is not JSON."""
        text = _encode(result)
        text.encode()  # a lone surrogate is no text
        if len(text) > MAX_RESULT:
            text = _encode(f"{text[:MAX_RESULT]} … [cut at {MAX_RESULT} of {len(text)} characters]")
        return cls(True, f'{{"ok": true, "result": {text}}}', ends=ends, given=given)

    @classmethod
    def error(cls, code: str, message: str, *, counts: bool = True) -> Outcome:
        """Make the outcome of a call that did not work."""
        plain = str(message).encode("utf-8", "backslashreplace").decode()
        if len(plain) > MAX_ERROR:
            plain = f"{plain[:MAX_ERROR]} … [cut at {MAX_ERROR} of {len(plain)} characters]"
        return cls(
            False, _encode({"ok": False, "error": {"code": str(code), "message": plain}}), counts=counts
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as a fresh JSON value."""
        return json.loads(self.text)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that was run, whatever came of it."""

    seat: Seat
    """Who made it."""
    name: str
    """The tool that it named, which need not exist."""
    arguments_json: str
    """The arguments, a JSON object, as text."""
    ok: bool
    """Whether it worked."""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, as a fresh value."""
        return json.loads(self.arguments_json)  # type: ignore[no-any-return]


Past = tuple[tuple[str, ...], tuple[str, ...], tuple[MadeCall, ...]]
"""What a dispatcher remembers: tools unlocked, tools given, calls made."""


class Dispatcher:
    """Runs calls for both seats of one task on one world.

    Args:
        toolsets: The tools of each seat.
        task: The task, for the tools that its user has.
        world: The database; its episode has begun.
    """

    def __init__(self, toolsets: Mapping[Seat, Toolset], task: Task, world: World) -> None:
        self._toolsets, self._task, self._world = toolsets, task, world
        self.unlocked: tuple[str, ...] = ()
        """Discoverable tools that the agent unlocked, in order; not graded."""
        self.given: tuple[str, ...] = ()
        """Discoverable tools that the agent gave to the user, in order; not graded."""
        self.made: tuple[MadeCall, ...] = ()
        """All calls so far, failed ones included; one that could not be read is none."""

    @property
    def past(self) -> Past:
        """All that it remembers, for a snapshot."""
        return self.unlocked, self.given, self.made

    @past.setter
    def past(self, past: Past) -> None:
        self.unlocked, self.given, self.made = past

    def call(self, seat: Seat, name: Any, arguments: Any) -> Outcome:
        """Run one call: it works, or it changes nothing and says why.

        Args:
            seat: Who calls.
            name: The tool's name.
            arguments: A JSON object, or the text of one.

        Returns:
            The outcome.
        """
        try:
            if not isinstance(name, str) or not name:
                raise ToolError("malformed_call", _unreadable(arguments))
            given = _object(arguments)
        except ToolError as error:
            return Outcome.error(error.code, error.message)
        outcome = self._outcome(seat, name, given)
        if (text := _text(given)) is not None:
            self.made += (MadeCall(seat, name, text, outcome.ok),)
        return outcome

    def _outcome(self, seat: Seat, name: str, arguments: dict[str, Any]) -> Outcome:
        try:
            return self._builtin(seat, name, arguments)
        except ToolError as error:
            return Outcome.error(error.code, error.message)
        except ArgumentError as error:
            return Outcome.error("invalid_arguments", str(error))

    def tools(self, seat: Seat) -> tuple[str, ...]:
        """Name all tools that this seat can call now."""
        toolset = self._toolsets[seat]
        return tuple(spec.name for spec in toolset.advertised(self._task)) + self._opened(seat)

    def _opened(self, seat: Seat) -> tuple[str, ...]:
        return self.unlocked if seat == "agent" else self.given

    def _builtin(self, seat: Seat, name: str, arguments: dict[str, Any]) -> Outcome:
        builtin = self._toolsets[seat].builtin(name, self._task)
        if builtin is None:
            return self._run(self._find(seat, name), arguments)
        checked = builtin.validate(arguments)
        target: str = checked["name"]
        if name == USE:
            if self._toolsets[seat].builtin(target, self._task):
                raise ToolError("invalid_arguments", f"`name` should be a tool other than {target}")
            return self._run(self._find(seat, target), _object(checked["arguments"]))
        if name == UNLOCK:
            return self._unlock(target)
        assert name == GIVE
        return self._give(target)

    def _find(self, seat: Seat, name: str) -> Tool:
        tool = self._toolsets[seat].get(name)
        offered = tool is not None and (seat == "agent" or name in self._task.user.tools)
        if tool is None or not offered:
            known = ", ".join(self.tools(seat)) or "none"
            raise ToolError("unknown_tool", f"there is no tool {_short(name)}; tools: {known}")
        if tool.discoverable and name not in self._opened(seat):
            how = "unlock it first with unlock_tool" if seat == "agent" else "you have not been given it"
            raise ToolError("locked", f"the tool {name!r} cannot be used yet: {how}")
        return tool

    def _unlock(self, name: str) -> Outcome:
        tool = self._toolsets["agent"].get(name)
        if tool is None or not tool.discoverable:
            raise ToolError(
                "unknown_tool",
                f"there is no tool {_short(name)} to unlock; names stand in the knowledge base",
            )
        if name not in self.unlocked:
            self.unlocked += (name,)
        return Outcome.success(f"Unlocked. Call it with use_tool. {schema_text(tool)}")

    def _give(self, name: str) -> Outcome:
        tool = self._toolsets["user"].get(name)
        if tool is None or name not in self._task.user.tools:
            raise ToolError("unknown_tool", f"there is no tool {_short(name)} that this user can be given")
        new = tool.discoverable and name not in self.given
        if new:
            self.given += (name,)
        text = "The user has the tool now." if new else "The user had the tool already."
        return Outcome.success(f"{text} {schema_text(tool)}", given=tool if new else None)

    def _run(self, tool: Tool, arguments: dict[str, Any]) -> Outcome:
        values = tool.validate(arguments)
        world = self._world
        before = world.writes
        try:
            with world.call():
                result = tool.function(world, **values)
                if not tool.writes and world.writes != before:
                    raise WorldError(f"tool {tool.name!r} wrote to the database: declare it with writes=True")
                if isinstance(result, Declined):
                    return Outcome.error(result.code, result.message, counts=False)
                if isinstance(result, pydantic.BaseModel):
                    result = result.model_dump(mode="json")
                return Outcome.success(result, ends=tool.terminal)
        except ToolError:
            raise
        except Exception:
            _log.exception("tool %r failed on %s", tool.name, strict_json.canonical(arguments))
            return Outcome.error(
                "tool_failure", f"the tool {tool.name!r} is out of order; nothing was changed"
            )


def cut_short(arguments: Any) -> Outcome:
    """Make the outcome of a call in a turn that the token limit cut: nothing of it was run.

    Args:
        arguments: What the model wrote.
    """
    return Outcome.error(
        "malformed_call",
        "your turn was cut at the token limit, so that no call in it was run; write less before a call, or "
        f"make one call at a time{_shown(arguments)}",
    )


def schema_text(tool: Tool) -> str:
    """Describe a tool as text, for the seat that has just come to it."""
    return _encode(tool.spec.to_dict()["function"])


def _text(arguments: dict[str, Any]) -> str | None:
    """Return arguments as JSON text, or None for what is not JSON and was refused for that."""
    try:
        text = _encode(arguments)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = strict_json.parse(arguments)
        except ValueError as error:
            raise ToolError("malformed_call", f"the arguments are not a JSON object: {error}") from None
    if not isinstance(arguments, dict):
        raise ToolError("malformed_call", "the arguments should be a JSON object")
    return arguments


def _unreadable(arguments: Any) -> str:
    return f'the call could not be read; a call is {{"name": ..., "arguments": {{...}}}}{_shown(arguments)}'


def _shown(arguments: Any) -> str:
    return f": {arguments[:200]}" if isinstance(arguments, str) else ""


def _short(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:77] + "...")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
