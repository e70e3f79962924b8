"""A customer's own tools: which of them an agent's message asks it to use, and with what."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simulators.values import options_in, values_in
from simulators.vocabulary import plain_words

_GIVEN = re.compile(r"You were given the tool `([^`]+)`")
_RELAY = "use_tool"
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n")
_INSTRUCTS = re.compile(
    r" (?:please|use|using|run|call|open|try|start|tap|press|now|need you|want you|can you|could you"
    r"|would you|should|must|have to|go ahead|once you|next step|then|kindly|ask you|simply|just) "
)
_NO_INSTRUCTION = re.compile(
    r" (?:do not|dont|never|not need|neednt|no need|without|cannot|cant|used|ran|called|worked"
    r"|succeeded|failed"
    r"|thank|thanks|completed|have confirmed|did you|i see|confirmed|approved|you made|have made"
    r"|confirm (?:that|whether|if)|have you|has been|later) "
)
_MEANS = {
    "confirm": ("confirm", "approve", "accept", "authorise", "authorize", "acknowledge"),
    "request": ("request",),
    "requests": ("requests",),
    "list": ("list", "show", "look at", "look through", "view", "check", "see"),
    "activate": ("activate", "switch on", "turn on", "enable"),
    "travel": ("travel", "trip", "journey", "travelling", "traveling"),
    "notice": ("notice", "notification", "announcement"),
}
"""What the words in the names of tools are called."""
_IN_APP = re.compile(r"\bapp\b", re.IGNORECASE)
_REPORT_WANTED = re.compile(r" (?:tell me|let me know) (?:once|when|if|whether|how) .*")
_ASSIGNED = re.compile(
    r"[`\"'*]*\s*([:=]|\b(?:is|as|to|set to)\b)?[\s(]*"
    r"(?:`([^`\n]+)`|\"([^\"\n]+)\"|'([^'\n]+)'|([^\s,;]+))"
)
_ID = re.compile(r"\b[a-z]{1,6}_[a-z0-9]*\d[a-z0-9]*\b")
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
    told: list[str] = []
    rest, copied = "", 0
    for number, (start, name) in enumerate(mentions):
        limit = mentions[number + 1][0] if number + 1 < len(mentions) else len(message)
        begin, end = _sentence(message, start)
        given, json_end = _json_object(message[:limit], start)
        end = max(end, json_end)
        named = message.lower().startswith(name.lower(), start)
        instructs = given is not None or _instructs(message[begin:end], name, named)
        if instructs:
            use = _told(Use(tools[name], {}), message[start:limit], given)
            if len(mentions) == 1:  # "The id is req_1. Please use ..."
                use = _told(use, message)
            told += [value for value in use.arguments.values() if isinstance(value, str) and len(value) > 3]
            for key in use.missing:
                use.arguments.update(_typed(use.tool, key, facts[key]) if key in facts else {})
            uses.append(use)
        if named or instructs:
            rest, copied = rest + message[copied : max(begin, copied)], max(end, copied)
    rest += message[copied:]
    for value in told:  # what to enter may stand in a sentence of its own
        if (place := rest.find(value)) >= 0:
            begin, end = _sentence(rest, place)
            rest = rest[:begin] + rest[end:]
    return uses, rest


def _instructs(sentence: str, name: str, named: bool) -> bool:
    """Return whether a sentence that speaks of a tool, by its name or by what it does, says to use it."""
    words = _REPORT_WANTED.sub(" ", plain_words(sentence))
    if _NO_INSTRUCTION.search(words) or (named and plain_words(name) not in words):
        return False
    return (named and "_" in name) or f"`{name}`" in sentence or _INSTRUCTS.search(words) is not None


def complete(use: Use, message: str) -> Use:
    """Return a use with the arguments that a later message supplies."""
    use = _told(use, message, _json_object(message, 0)[0])
    if len(use.missing) == 1 and (marked := _MARKED.search(message)):
        told = _typed(use.tool, use.missing[0], marked.group(1) or marked.group(2))
        return Use(use.tool, use.arguments | told)
    return use


def _told(use: Use, text: str, given: dict[str, Any] | None = None) -> Use:
    """Return a use with what a text or JSON gives for it: by name, else by its look alone."""
    if given is not None and isinstance(given.get("arguments"), dict):
        given = given if "arguments" in use.tool.parameters else given["arguments"]
    arguments: dict[str, Any] = {}
    for name in use.tool.parameters:
        if given is not None and name in given:
            arguments[name] = given[name]
        elif (told := _assigned(text, name)) is not None:
            arguments |= _typed(use.tool, name, told)
    use = Use(use.tool, arguments | use.arguments)
    return Use(use.tool, use.arguments | _unnamed(use, text))


def _unnamed(use: Use, text: str) -> dict[str, Any]:
    """Return the dates, ids and options in a text, where there are as many as open arguments of that kind."""
    dates: list[str] = []
    ids: list[str] = []
    groups = [(dates, [value for kind, value in values_in(text) if kind == "date"]), (ids, _ID.findall(text))]
    for name in use.missing:
        schema = use.tool.parameters[name]
        if "enum" in schema:
            groups.append(([name], options_in(text, schema["enum"])))
        elif schema.get("type", "string") == "string":
            (dates if schema.get("format") == "date" else ids).append(name)
    found: dict[str, Any] = {}
    for names, values in groups:
        new = [value for value in dict.fromkeys(values) if value not in use.arguments.values()]
        if len(new) == len(names):
            found |= dict(zip(names, new, strict=True))
    return found


def _mentions(message: str, tools: Mapping[str, UserTool]) -> list[tuple[int, str]]:
    """Return where tools are named, each tool once, in the order of the message.

    A tool whose name stands nowhere is spoken of in the first sentence that has all words of its name.
    """
    low = message.lower()
    found: list[tuple[int, str]] = []
    for name in tools:
        start = low.find(name.lower())
        if start >= 0 and not _inside_word(low, start, len(name)):
            found.append((start, name))
        elif start < 0 and "_" in name and (place := _spoken_of(low, name)) is not None:
            found.append((place, name))
    return sorted(found)


def _spoken_of(message: str, name: str) -> int | None:
    """Return where the first sentence begins that speaks of a tool.

    It has all words of the tool's name; of a tool of the app it has words that mean the same, and the app or
    an id is named as well.
    """
    words = [word for word in name.lower().split("_") if word.isalpha()]
    of_app = words[0] == "app" and len(words) > 2
    meant = [_MEANS.get(word, (word,)) for word in (words[1:] if of_app else words)]
    begin = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(message)), len(message)]:
        sentence = message[begin:end]
        said = plain_words(sentence)
        if (
            len(words) > 1
            and all(any(f" {one} " in said for one in means) for means in meant)
            and (not of_app or _IN_APP.search(sentence) or _ID.search(sentence))
        ):
            return begin
        begin = end
    return None


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


def _assigned(text: str, name: str) -> str | None:
    low = text.lower()
    for form in dict.fromkeys((name.lower(), name.lower().replace("_", " "))):
        start = low.find(form)
        while start >= 0:
            if not _inside_word(low, start, len(form)) and (
                found := _ASSIGNED.match(text, start + len(form))
            ):
                link, *marked, bare = found.groups()
                told = next(filter(None, marked), None) or _bare(bare)
                if told and (link or not bare or any(mark.isdigit() for mark in told)):
                    return told
            start = low.find(form, start + 1)
    return None


def _bare(text: str) -> str:
    text = text.lstrip("*`\"'").rstrip("*`\"'.,;:!?")
    return text if "(" in text else text.rstrip(")")


def _typed(tool: UserTool, name: str, text: str) -> dict[str, Any]:
    """Return {name: value} with the text as the type the schema wants, or {} when it is no such value."""
    schema = tool.parameters[name]
    kinds = [schema.get("type"), *(choice.get("type") for choice in schema.get("anyOf", ()))]
    kind = next((kind for kind in kinds if kind not in (None, "null")), "string")
    if kind == "string":
        options = schema.get("enum")
        if options is not None and text not in options:
            same = [option for option in options if plain_words(option) == plain_words(text)]
            text = next(iter(same or options_in(text, options)), text)
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
