"""A customer's own tools: which of them an agent's message asks it to use, and with what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.vocabulary import plain_words

_GIVEN = re.compile(r"You were given the tool `([^`]+)`")
_RELAY = "use_tool"
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n")
_INSTRUCTS = re.compile(
    r" (?:please|use|using|run|call|open|try|start|tap|press|now|need you|want you|can you|could you"
    r"|would you|should|must|have to|go ahead|once you|next step) "
)
_NO_INSTRUCTION = re.compile(
    r" (?:do not|dont|never|not need|neednt|no need|without|cannot|cant|used|ran|called|worked"
    r"|succeeded|failed"
    r"|thank|thanks|completed|have confirmed|did you|i see) "
)
_ASSIGNED = re.compile(
    r"[`\"'*]*\s*(?:[:=]|\bis\b|\bas\b|\bto\b|\bset to\b)\s*"
    r"(?:`([^`\n]+)`|\"([^\"\n]+)\"|'([^'\n]+)'|([^\s,;]+))"
)
_MARKED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class UserTool:
    """A tool that the customer may call."""

    name: str
    parameters: Mapping[str, Mapping[str, Any]]
    """The schema of each parameter."""
    required: tuple[str, ...]

    @classmethod
    def from_schema(cls, name: str, schema: Mapping[str, Any]) -> UserTool:
        """Build from the JSON schema of the arguments, or from a function description that contains it."""
        schema = schema.get("function", schema)
        schema = schema.get("parameters", schema)
        return cls(name, schema.get("properties", {}), tuple(schema.get("required", ())))


@dataclass(frozen=True, slots=True)
class Use:
    """A call that the customer was asked to make, as far as it was told how."""

    tool: UserTool
    arguments: dict[str, Any]

    @property
    def missing(self) -> tuple[str, ...]:
        """The required parameters that are still open."""
        return tuple(name for name in self.tool.required if name not in self.arguments)


def listed_tools(specs: Iterable[Any]) -> dict[str, UserTool]:
    """Return the tools of a view by name; the relay for given tools is no tool of its own."""
    return {
        spec.name: UserTool.from_schema(spec.name, spec.parameters) for spec in specs if spec.name != _RELAY
    }


def given_tool(note: str) -> UserTool | None:
    """Return the tool that a system message hands over ("You were given the tool `NAME`." and its schema)."""
    found = _GIVEN.search(note)
    if found is None:
        return None
    schema, _ = _json_object(note, found.end())
    return UserTool.from_schema(found.group(1), schema or {})


def read_uses(message: str, tools: Mapping[str, UserTool], facts: Mapping[str, str]) -> tuple[list[Use], str]:
    """Return the uses that a message instructs, in order, and the message without the instructions."""
    mentions = _mentions(message, tools)
    uses: list[Use] = []
    rest, copied = "", 0
    for number, (start, name) in enumerate(mentions):
        limit = mentions[number + 1][0] if number + 1 < len(mentions) else len(message)
        begin, end = _sentence(message, start)
        given, json_end = _json_object(message[:limit], start)
        end = max(end, json_end)
        rest, copied = rest + message[copied : max(begin, copied)], max(end, copied)
        words = plain_words(message[begin:end])
        if _NO_INSTRUCTION.search(words) and given is None:
            continue
        named = f"`{name}`" in message or ("_" in name and name in message)
        if given is None and not named and not _INSTRUCTS.search(words):
            continue
        uses.append(Use(tools[name], _arguments(tools[name], given, message[start:limit], facts)))
    return uses, rest + message[copied:]


def complete(use: Use, message: str) -> Use:
    """Return a use with the arguments that a later message supplies."""
    given, _ = _json_object(message, 0)
    arguments = {**use.arguments, **_arguments(use.tool, given, message, {})}
    still = [name for name in use.missing if name not in arguments]
    if len(still) == 1 and (marked := _MARKED.search(message)):
        arguments |= _typed(use.tool, still[0], marked.group(1) or marked.group(2))
    return Use(use.tool, arguments)


def _mentions(message: str, tools: Mapping[str, UserTool]) -> list[tuple[int, str]]:
    """Return where tools are named (underscores or blanks), each tool once, in the order of the message."""
    low = message.lower()
    found: list[tuple[int, str]] = []
    for name in tools:
        start = low.find(name.lower())
        if start < 0 and "_" in name:
            start = low.find(name.lower().replace("_", " "))
        if start >= 0 and not _inside_word(low, start, len(name)):
            found.append((start, name))
    return sorted(found)


def _inside_word(text: str, start: int, length: int) -> bool:
    around = text[start - 1 : start] + text[start + length : start + length + 1]
    return any(mark.isalnum() or mark == "_" for mark in around)


def _sentence(message: str, inside: int) -> tuple[int, int]:
    """Return where the sentence around a place begins and ends."""
    begin = 0
    for end in _SENTENCE_END.finditer(message):
        if end.end() > inside:
            return begin, end.end()
        begin = end.end()
    return begin, len(message)


def _json_object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """Return the first JSON object at or after `start` with its end, or None and `start`."""
    begin = text.find("{", start)
    while begin >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, begin)
        except (ValueError, RecursionError):
            begin = text.find("{", begin + 1)
        else:
            return value, end
    return None, start


def _arguments(
    tool: UserTool, given: dict[str, Any] | None, text: str, facts: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments that JSON, else `parameter: value`, else facts of the same name supply."""
    if given is not None and isinstance(given.get("arguments"), dict) and "arguments" not in tool.parameters:
        given = given["arguments"]
    arguments: dict[str, Any] = {}
    for name in tool.parameters:
        if given is not None and name in given:
            arguments[name] = given[name]
            continue
        told = _assigned(text, name)
        if told is None and name in tool.required:
            told = facts.get(name)
        if told is not None:
            arguments |= _typed(tool, name, told)
    return arguments


def _assigned(text: str, name: str) -> str | None:
    low = text.lower()
    for form in dict.fromkeys((name.lower(), name.lower().replace("_", " "))):
        start = low.find(form)
        while start >= 0:
            if not _inside_word(low, start, len(form)) and (
                found := _ASSIGNED.match(text, start + len(form))
            ):
                marked = found.group(1) or found.group(2) or found.group(3)
                return marked or _bare(found.group(4)) or None
            start = low.find(form, start + 1)
    return None


def _bare(text: str) -> str:
    text = text.strip("*`\"'").rstrip(".,;:!?")
    return text if "(" in text else text.rstrip(")")


def _typed(tool: UserTool, name: str, text: str) -> dict[str, Any]:
    """Return {name: value} with the text as the type the schema wants, or {} when it is no such value."""
    schema = tool.parameters[name]
    kinds = [schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))]
    kind = next((kind for kind in kinds if kind not in (None, "null")), "string")
    if kind == "string":
        options = schema.get("enum")
        if options is not None and text not in options:
            text = next((option for option in options if plain_words(option) == plain_words(text)), text)
        return {name: text}
    if kind in ("integer", "number"):
        bare = text.strip().removeprefix("$").replace(",", "")
        if not _NUMBER.fullmatch(bare) or (kind == "integer" and "." in bare):
            return {}
        return {name: json.loads(bare)}
    if kind == "boolean":
        return (
            {name: text.lower() in ("true", "yes")} if text.lower() in ("true", "yes", "false", "no") else {}
        )
    return {}
