"""What a person types in a seat: messages, calls of tools and questions to the program; completion."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_enterprise import strict_json
from gym_enterprise.errors import UsageError
from gym_enterprise.tools import ToolSpec

COMMANDS = {
    "help": ("", "what can be typed"),
    "tools": (" [NAME]", "the tools, or one tool's arguments"),
    "task": ("", "what your seat was told at the start"),
    "history": ("", "the conversation so far, with your own calls"),
    "search": (" WORDS", "search the documents (the tool kb_search)"),
    "read": (" ID", "read a document (the tool kb_read)"),
    "stop": (" [TEXT]", "end the conversation, with or without last words"),
    "quit": ("", "leave without an end; nothing is graded"),
}
"""What begins with a slash and is not a tool: what follows it, and what it does."""

_SHORT = {"search": ("kb_search", "query"), "read": ("kb_read", "document_id")}


@dataclass(frozen=True)
class Typed:
    """A line, understood."""

    action: dict[str, Any] | None = None
    """What the seat does; None for a question to the program."""
    command: str = ""
    """The question."""
    about: str = ""
    """What else stood in it."""


def read_line(line: str, tools: Mapping[str, ToolSpec]) -> Typed:
    """Understand a line.

    Args:
        line: Not blank. A message; or, after a slash, a command or a tool's name with arguments: `name=value`
            each, in quotes where there are blanks, or one JSON object. Two slashes begin a message with one.
        tools: The tools that can be called now.

    Returns:
        The action or question.

    Raises:
        UsageError: There is no such command or tool, or the arguments are not what it takes.
    """
    text = line.strip()
    if text.startswith("//") and len(text) > 2:
        return Typed({"type": "message", "content": text[1:]})
    if not text.startswith("/"):
        if text == "q":
            raise UsageError("q ends a long text; here /quit leaves, and //q says it")
        first = text.split()[0]
        if first in tools and "_" in first:
            raise UsageError(f"{first} is a tool: /{first} calls it; // begins a message all the same")
        return Typed({"type": "message", "content": text})
    name, _, rest = text[1:].partition(" ")
    rest = rest.strip()
    if name == "stop":
        return Typed({"type": "stop", **({"content": rest} if rest else {})})
    if name in _SHORT and _SHORT[name][0] in tools:
        tool, argument = _SHORT[name]
        if not rest:
            raise UsageError(f"/{name} takes what to {name}: /{name}{COMMANDS[name][0]}")
        return Typed(_call(tool, {argument: rest}))
    if name in tools:
        return Typed(_call(name, read_arguments(rest, tools[name])))
    known = _commands(tools)
    if name in known:
        return Typed(None, name, rest)
    near = difflib.get_close_matches(name, [*known, *tools], n=1, cutoff=0.75)
    guess = f"did you mean /{near[0]}? " if near else ""
    raise UsageError(
        f"there is no /{name}: {guess}/tools lists the tools, /help the rest; // begins a message"
    )


def help_text(tools: Mapping[str, ToolSpec]) -> str:
    """Tell what can be typed, a line each.

    Args:
        tools: The tools that can be called now.
    """
    lines = ["TEXT: say it"]
    if tools:
        lines.append("/TOOL name=value ...: call a tool; values with blanks in quotes, or JSON")
    return "\n".join(
        [*lines, *(f"/{name}{COMMANDS[name][0]}: {COMMANDS[name][1]}" for name in _commands(tools))]
    )


def read_arguments(text: str, tool: ToolSpec) -> dict[str, Any]:
    """Read a tool's arguments and check their names; values are the dispatcher's to check.

    Args:
        text: `name=value ...`, or a JSON object.
        tool: The tool.

    Returns:
        The arguments.

    Raises:
        UsageError: One is missing, unknown, given twice, or no value of its kind.
    """
    if text.startswith("{"):
        try:
            given: dict[str, Any] = strict_json.parse(text)
        except ValueError as error:
            raise UsageError(f"the arguments of {tool.name} are no JSON object: {error}") from None
    else:
        given = dict(_pairs(text, tool))
    properties = tool.parameters.get("properties", {})
    for name in given:
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise UsageError(f"{tool.name} has no argument {name!r}; it takes {known}")
    for name in tool.parameters.get("required", ()):
        if name not in given:
            raise UsageError(f"{tool.name} needs {argument_text(name, tool)}")
    return given


def argument_text(name: str, tool: ToolSpec) -> str:
    """Tell an argument: its name, kind, whether it can be left out, and what it is."""
    schema = tool.parameters["properties"][name]
    optional = "" if name in tool.parameters.get("required", ()) else ", optional"
    told = schema.get("description", "")
    return f"{name} ({_kind(schema)}{optional}){': ' + told if told else ''}"


def tool_text(tool: ToolSpec) -> str:
    """Tell a tool: how it is typed, what it does, and its arguments, a line each."""
    names = list(tool.parameters.get("properties", {}))
    needed = [name for name in names if name in tool.parameters.get("required", ())]
    usage = " ".join([f"/{tool.name}", *(f"{name}=..." for name in needed)])
    return "\n".join(
        [usage, f"  {tool.description}", *(f"  - {argument_text(name, tool)}" for name in names)]
    )


def completions(
    before: str, word: str, tools: Mapping[str, ToolSpec], seen: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return what a word can become.

    Args:
        before: The line up to the word.
        word: What is typed of the word so far.
        tools: The tools that can be called now.
        seen: By name, the words that results have given to the seat; an argument takes those of its name, and
            of a name that its own ends with (`from_account_id`: those of `account_id`).
    """
    if not before.strip():
        names = [*_commands(tools), *tools]
        return sorted(f"/{name} " for name in names if f"/{name}".startswith(word)) if word[:1] == "/" else []
    command = before.split()[0].removeprefix("/")
    if command == "tools":
        return sorted(name for name in tools if name.startswith(word))
    if not before.startswith("/"):
        return []
    if command in _SHORT:
        return [one for one in seen.get(_SHORT[command][1], ()) if one.startswith(word)]
    if command not in tools:
        return []
    properties = tools[command].parameters.get("properties", {})
    name, equals, _ = word.partition("=")
    if equals:
        values = _choices(properties.get(name, {})) or _of_name(name, seen)
        return [pair for value in values if (pair := f"{name}={value}").startswith(word)]
    given = {pair.partition("=")[0] for pair in before.split()[1:]}
    return [f"{name}=" for name in properties if name.startswith(word) and name not in given]


def _commands(tools: Mapping[str, ToolSpec]) -> list[str]:
    """Return the commands of a seat: those that stand for a tool where it has the tool."""
    return [name for name in COMMANDS if name not in _SHORT or _SHORT[name][0] in tools]


def _of_name(argument: str, seen: Mapping[str, Sequence[str]]) -> list[str]:
    names = [name for name in seen if argument == name or argument.endswith(f"_{name}")]
    return list(dict.fromkeys(word for name in names for word in seen[name]))


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments}


def _pairs(text: str, tool: ToolSpec) -> Iterator[tuple[str, Any]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the arguments of {tool.name}: {str(error).lower()}; close the quotation") from None
    seen: set[str] = set()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(
                f"{tool.name}: {word!r} should be name=value, with quotes around it where there are blanks"
            )
        if name in seen:
            raise UsageError(f"{tool.name}: {name} is given twice")
        seen.add(name)
        yield name, _value(name, value, tool)


def _value(name: str, text: str, tool: ToolSpec) -> Any:
    schema = tool.parameters.get("properties", {}).get(name, {})
    if "string" in _types(schema) or not schema:
        return text
    try:
        return strict_json.parse(text)
    except ValueError:
        raise UsageError(f"{tool.name}: {name} should be a {_kind(schema)}, got {text!r}") from None


def _types(schema: Mapping[str, Any]) -> set[str]:
    parts = schema.get("anyOf", [schema])
    return {part.get("type", "string" if {"enum", "const"} & part.keys() else "object") for part in parts}


def _choices(schema: Mapping[str, Any]) -> list[str]:
    parts = schema.get("anyOf", [schema])
    values = [
        value for part in parts for value in part.get("enum", [part["const"]] if "const" in part else ())
    ]
    if "boolean" in _types(schema):
        values += ["true", "false"]
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def _kind(schema: Mapping[str, Any]) -> str:
    if choices := _choices(schema):
        return " | ".join(choices)
    names = {"string": "text", "integer": "whole number", "object": "JSON object", "array": "JSON list"}
    kinds = sorted(_types(schema) - {"null"})
    return " or ".join(names.get(kind, kind) for kind in kinds)
