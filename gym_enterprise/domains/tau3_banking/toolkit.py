"""How this domain's tools are made: `@listed` and `@discoverable`, and who is told of them.

Discoverable tools are not those of the core (`unlock_tool` and its kin do not appear here): the benchmark
has tools of its own for unlocking, giving and calling, which write graded records. So a discoverable tool is
an ordinary tool that is *hidden*: nobody is told of it, and whoever has it may also call it by name.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from gym_enterprise import strict_json
from gym_enterprise.docstring import read_docstring
from gym_enterprise.domains.tau3_banking.checks import Refused, one_of, present
from gym_enterprise.domains.tau3_banking.vocabulary import ARGUMENTS
from gym_enterprise.lossless import ArgumentError
from gym_enterprise.messages import Seat
from gym_enterprise.tasks import Task
from gym_enterprise.tools import Declined, Tool, ToolSpec, tool
from gym_enterprise.toolset import Toolset
from gym_enterprise.world import World


@dataclass(frozen=True)
class BankTool(Tool):
    """A tool whose arguments are checked by name only: types pass as they are, as in the benchmark."""

    hidden: bool = False
    """Whether nobody is told of it; see the module's text."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check that the arguments can be recorded and have the right names.

        Args:
            arguments: A JSON object.

        Returns:
            Keyword arguments for the function, with defaults filled in.

        Raises:
            ArgumentError: A name is unknown or missing, or a value cannot be kept exactly as JSON.
        """
        if reason := why_not_recordable(arguments):
            raise ArgumentError(f"the arguments cannot be recorded: {reason}")
        fields = self.model.model_fields
        faults = [f"`{name}` is not an argument of {self.name}" for name in arguments if name not in fields]
        faults += [f"`{name}` is required" for name in self.required if name not in arguments]
        if faults:
            raise ArgumentError("; ".join(faults[:10]))
        return {name: arguments.get(name, field.default) for name, field in fields.items()}

    @property
    def required(self) -> list[str]:
        """The arguments without a default."""
        return [name for name, field in self.model.model_fields.items() if field.is_required()]


def why_not_recordable(value: Any) -> str | None:
    """Say why a value cannot stand in a record, or None when it can: records are strict JSON in UTF-8."""
    if reason := strict_json.why_not_json(value):
        return reason
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "a text holds a lone surrogate"
    except ValueError:
        return "a number is not finite"
    return None


Body = Callable[..., str | Declined]
Codes = Mapping[str, Collection[str]]
Decorator = Callable[[Body], BankTool]


def listed(*, writes: bool = False, seat: Seat = "agent", codes: Codes | None = None) -> Decorator:
    """Make a tool that its seat is told of.

    Args:
        writes: Whether it may change the database.
        seat: Who may call it.
        codes: Arguments that must have one of a few values; their description names them.
    """
    return lambda function: _make(function, writes, seat, _Rules(codes or {}), hidden=False)


def discoverable(
    *,
    writes: bool = False,
    seat: Seat = "agent",
    codes: Codes | None = None,
    fold: Callable[[str], str] | None = None,
    blanks: bool = False,
) -> Decorator:
    """Make a tool whose name stands in the knowledge base only.

    Args:
        writes: Whether it may change the database; then each call through `call_discoverable_agent_tool`
            is recorded, even one that it refuses.
        seat: Who may call it.
        codes: Arguments that must have one of a few values; their description names them.
        fold: What the codes are passed through first, such as `str.lower`.
        blanks: Whether text without a default may be empty; otherwise an empty one is refused.
    """
    rules = _Rules(codes or {}, fold, refuse_blanks=not blanks)
    return lambda function: _make(function, writes, seat, rules, hidden=True)


@dataclass(frozen=True)
class _Rules:
    """What holds for a tool's arguments before its body runs."""

    codes: Codes
    fold: Callable[[str], str] | None = None
    refuse_blanks: bool = False

    def check(self, texts: list[str], arguments: dict[str, Any]) -> dict[str, Any]:
        if self.refuse_blanks:
            present(**{name: arguments[name] for name in texts})
        if self.fold:
            folded = {name: arguments[name] for name in self.codes if isinstance(arguments[name], str)}
            arguments |= {name: self.fold(value) for name, value in folded.items()}
        for name, allowed in self.codes.items():
            one_of(name, arguments[name], allowed)
        return arguments


def _make(function: Body, writes: bool, seat: Seat, rules: _Rules, *, hidden: bool) -> BankTool:
    _describe_arguments(function, rules.codes)
    made = tool(writes=writes, seat=seat)(function)
    fields = made.model.model_fields.items()
    texts = [name for name, field in fields if field.is_required() and field.annotation is str]

    @wraps(function)
    def run(world: World, **arguments: Any) -> str | Declined:
        try:
            return function(world, **rules.check(texts, arguments))
        except Refused as refusal:
            return Declined(refusal.code, refusal.message)

    return BankTool(made.spec, run, made.model, writes=writes, seat=seat, hidden=hidden)


def _describe_arguments(function: Body, codes: Codes) -> None:
    """Complete the docstring: what the vocabulary says of an argument, and the codes that it takes."""
    text = inspect.cleandoc(function.__doc__ or "")
    _, described = read_docstring(text)
    names = list(inspect.signature(function).parameters)[1:]
    lines = [text.partition("\n\nArgs:")[0], "", "Args:"]
    for name in names:
        allowed = f" One of: {', '.join(codes[name])}." if name in codes else ""
        lines.append(f"    {name}: {described.get(name) or ARGUMENTS[name]}{allowed}")
    function.__doc__ = "\n".join(lines if names else lines[:1])


class DeskToolset(Toolset):
    """The tools of one seat; hidden ones can be called, and nobody is told of them."""

    def advertised(self, task: Task) -> tuple[ToolSpec, ...]:
        """Return what the seat is told of in a task, in declared order."""
        return self._shown(super().advertised(task))

    @property
    def listed(self) -> tuple[ToolSpec, ...]:
        """All tools that any task advertises to this seat."""
        return self._shown(super().listed)

    def _shown(self, specs: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        hidden = {item.name for item in self if isinstance(item, BankTool) and item.hidden}
        return tuple(spec for spec in specs if spec.name not in hidden)
