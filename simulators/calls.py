"""Tool calls in model text: one reader a format, all strict.

==========  ===============================================================================================
format      how a model writes a call
==========  ===============================================================================================
``openai``  not in the text: the server returns ``tool_calls`` beside it
``hermes``  blocks of ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>`` (Hermes, Qwen)
``json``    a text, or fenced blocks in it, that is such an object or a list of them
``llama``   a text that is ``{"name": ..., "parameters": {...}}``, or this after ``<|python_tag|>``; several
            calls are separated by semicolons or blanks (Llama 3)
==========  ===============================================================================================

JSON is read strictly: nothing is repaired. A call that cannot be read becomes a call without a name that
carries the raw text, so that the environment answers it with exactly one error observation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from simulators.player import Action

Format = Literal["openai", "hermes", "json", "llama"]
"""How a model writes its tool calls."""

PYTHON_TAG = "<|python_tag|>"
"""What a Llama model may write before a call."""

_CALL = re.compile(r"<tool_call>")
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(?=\s*(?:\{|\[\s*[\{\]]))")
_LOOKS_LIKE_CALL = re.compile(r"\s*(?:\{|\[\s*(?:\{|\]|\Z))")
_BLANK = re.compile(r"\s*")
_BETWEEN = re.compile(rf"(?:\s|;|{re.escape(PYTHON_TAG)})*")
_NEXT_OBJECT = re.compile(rf"(?:\s|;|{re.escape(PYTHON_TAG)})*(?=\{{)")
_END_MARKS = ("<|eom_id|>", "<|eot_id|>")


def strict_json(text: str) -> Any:
    """Parse JSON; duplicate keys, NaN and Infinity are errors.

    Raises:
        ValueError: When the text is not strict JSON.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def unreadable(raw: str, *, cut: bool = False) -> Action:
    """Return the call that stands for one that cannot be read.

    Args:
        raw: What the model wrote.
        cut: Whether the token limit cut it, so that the error which answers it says so.
    """
    action = {"type": "tool_call", "name": "", "arguments": raw.strip()}
    return {**action, "cut": True} if cut else action


def read_openai(tool_calls: Sequence[Any]) -> list[Action]:
    """Read the calls that a server returned beside the text.

    Args:
        tool_calls: As in a chat completion: objects with ``id`` and ``function``, which has ``name`` and
            ``arguments`` (a JSON object as text).

    Returns:
        One action a call, in order; arguments stay text, which the environment reads strictly.

    Example:
        >>> read_openai([{"id": "c1", "function": {"name": "get_order", "arguments": "{}"}}])
        [{'type': 'tool_call', 'name': 'get_order', 'arguments': '{}', 'id': 'c1'}]
    """
    return [_read_structured(call) for call in tool_calls]


def raw_openai(tool_calls: Sequence[Any]) -> str:
    """Return calls that a server returned as text, one a line."""
    functions = [call.get("function", call) if isinstance(call, Mapping) else call for call in tool_calls]
    return "\n".join(json.dumps(function, ensure_ascii=False) for function in functions)


def read_hermes(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Split text into speech and the calls of its ``<tool_call>`` blocks."""
    speech, bodies = _split_blocks(text, _CALL, "</tool_call>")
    if "</tool_call>" in speech:  # a block whose opening tag is missing: not to be shown, not to be run
        return "", [unreadable(text)]
    return speech, [unreadable(body) if not closed else _read_call(body) for body, closed in bodies]


def read_json(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Split text into speech and the calls written as bare or fenced JSON."""
    bare, token = _split_trailing_stop(text, stop_tokens)
    if _LOOKS_LIKE_CALL.match(bare):
        return token, _read_calls(bare)
    speech, bodies = _split_blocks(text, _FENCE, "```")
    return speech, [
        call for body, closed in bodies for call in (_read_calls(body) if closed else [unreadable(body)])
    ]


def read_llama(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Split text into speech and the calls written as bare JSON or after ``<|python_tag|>``."""
    for mark in _END_MARKS:
        text = text.removesuffix(mark).rstrip()
    speech, body = "", text
    if not text.startswith("{"):
        speech, tag, body = text.partition(PYTHON_TAG)
        if not tag:
            return text, []
    body, token = _split_trailing_stop(body.strip(), stop_tokens)
    return "\n".join(part for part in (speech.strip(), token) if part), _read_sequence(body)


def plain_text(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Return the text as speech without calls: those of this format stand beside it."""
    return text, []


def after_json(text: str, start: int) -> int:
    """Return the end of the JSON values that begin at `start`, or `start` if none does."""
    end = _after_value(text, start)
    while end > start and (found := _NEXT_OBJECT.match(text, end)):
        start, end = end, _after_value(text, found.end())
    return max(start, end)


def _after_value(text: str, start: int) -> int:
    begin = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    if text[begin : begin + 1] not in ("{", "["):
        return start
    try:
        return _LENIENT.raw_decode(text, begin)[1]
    except (ValueError, RecursionError):
        return start


def _split_blocks(text: str, opening: re.Pattern[str], closing: str) -> tuple[str, list[tuple[str, bool]]]:
    """Return the text outside the blocks, and each block's body with whether it was closed."""
    speech: list[str] = []
    bodies: list[tuple[str, bool]] = []
    position = 0
    while found := opening.search(text, position):
        speech.append(text[position : found.start()])
        end = text.find(closing, after_json(text, found.end()))
        bodies.append((text[found.end() : end if end >= 0 else len(text)].strip(), end >= 0))
        position = end + len(closing) if end >= 0 else len(text)
    speech.append(text[position:])
    return "\n".join(part.strip() for part in speech if part.strip()), bodies


def _split_trailing_stop(text: str, stop_tokens: Sequence[str]) -> tuple[str, str]:
    """Return the text before the stop token it ends with, and that token ("" when there is none)."""
    for token in stop_tokens:
        if text.endswith(token):
            return text[: -len(token)].rstrip(), token
    return text, ""


def _read_structured(call: Any) -> Action:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return unreadable(json.dumps(call, ensure_ascii=False))
    value = {key: function[key] for key in ("name", "arguments") if key in function}
    if isinstance(call.get("id"), str) and call["id"]:
        value["id"] = call["id"]
    return _as_call(value, json.dumps(function, ensure_ascii=False))


def _read_sequence(body: str) -> list[Action]:
    """Read calls that follow one another; all or none, as the end of one that is broken cannot be told."""
    calls: list[Action] = []
    position = 0
    try:
        while position < len(body):
            value, end = _DECODER.raw_decode(body, position)
            calls.append(_as_call(_with_arguments(value), body[position:end]))
            position = _BETWEEN.match(body, end).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return [unreadable(body)]
    return calls or [unreadable(body)]


def _with_arguments(value: Any) -> Any:
    """Return a Llama call in the common form."""
    if not isinstance(value, dict):
        return value
    common = {("arguments" if key == "parameters" else key): item for key, item in value.items()}
    if common.get("type") == "function":
        del common["type"]
    both = {"arguments", "parameters"} <= value.keys()
    return None if both else common


def _read_calls(body: str) -> list[Action]:
    try:
        value = strict_json(body)
    except ValueError:
        return [unreadable(body)]
    if isinstance(value, list) and value:
        return [_as_call(item, json.dumps(item, ensure_ascii=False)) for item in value]
    return [_as_call(value, body)]


def _read_call(body: str) -> Action:
    try:
        return _as_call(strict_json(body), body)
    except ValueError:
        return unreadable(body)


def _as_call(value: Any, raw: str) -> Action:
    """Return the call that a JSON value describes: exactly a name and arguments, and an id if it has one."""
    readable = (
        isinstance(value, dict)
        and {"name", "arguments"} <= value.keys() <= {"name", "arguments", "id"}
        and isinstance(value["name"], str)
        and bool(value["name"].strip())
        and isinstance(value["arguments"], dict | str)
        and isinstance(value.get("id", ""), str)
    )
    return {"type": "tool_call", **value} if readable else unreadable(raw)


def _first_hermes_call(text: str) -> int | None:
    found = _CALL.search(text)
    return found.start() if found else _cut_tag(text, "<tool_call>")


def _first_json_call(text: str) -> int | None:
    if _LOOKS_LIKE_CALL.match(text):
        return 0
    found = _FENCE.search(text) or re.search(r"```(?:json)?\s*\Z", text)
    return None if found is None else found.start()


def _first_llama_call(text: str) -> int | None:
    if text.startswith("{"):
        return 0
    found = text.find(PYTHON_TAG)
    return found if found >= 0 else _cut_tag(text, PYTHON_TAG)


def _no_call(text: str) -> int | None:
    return None


def _cut_tag(text: str, tag: str) -> int | None:
    """Return where the text's last characters begin a tag that was cut."""
    return next((len(text) - n for n in range(len(tag) - 1, 1, -1) if text.endswith(tag[:n])), None)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"The JSON key {twice!r} stands twice in one object: write it once.")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON: write a number.")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_LENIENT = json.JSONDecoder()  # only finds where a call ends; what it says is read by the strict one

READERS: dict[str, Callable[[str, Sequence[str]], tuple[str, list[Action]]]] = {
    "openai": plain_text,
    "hermes": read_hermes,
    "json": read_json,
    "llama": read_llama,
}
"""By format: text without reasoning, and stop tokens → speech and calls."""

FIRST_CALL: dict[str, Callable[[str], int | None]] = {
    "openai": _no_call,
    "hermes": _first_hermes_call,
    "json": _first_json_call,
    "llama": _first_llama_call,
}
"""By format: text → where its first call begins, be it cut within its opening tag; None without a call."""
