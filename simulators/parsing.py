"""Model text in, actions out: what was said, and what was called.

Reasoning is removed first. JSON is read strictly: nothing is repaired, and a call that cannot be read becomes
a call without a name that carries the raw text, so that the environment answers it with exactly one error
observation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from simulators.player import Action

STOP_TOKEN = "###STOP###"

_TAG = re.compile(r"</?think>|<tool_call>|```(?:json)?[ \t]*\n")
_CALL = re.compile(r"<tool_call>")
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(?=\s*(?:\{|\[\s*[\{\]]))")
_LOOKS_LIKE_CALL = re.compile(r"\s*(?:\{|\[\s*(?:\{|\]|\Z))")
_BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one completion says and does."""

    content: str
    """The speech: without reasoning, calls and stop tokens; may be blank."""
    actions: tuple[Action, ...]
    """What to play, in order; empty when the completion is blank, so that the caller can ask again."""
    stopped: bool = False
    """Whether a stop token was said."""
    cut: bool = False
    """Whether the completion was cut by the token limit."""


def strict_json(text: str) -> Any:
    """Parse JSON; duplicate keys, NaN and Infinity are errors.

    Raises:
        ValueError: When the text is not strict JSON.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def strip_reasoning(text: str) -> str:
    """Return the text without its reasoning and without blanks around it.

    ``<think>...</think>`` goes; after an unclosed ``<think>`` everything goes; before a ``</think>`` that was
    never opened (its tag stood in the prompt) everything goes. In a call's JSON these tags are plain text.

    Example:
        >>> strip_reasoning("<think>I play the customer.</think> Where is my refund?")
        'Where is my refund?'
    """
    kept: list[str] = []
    start, position = 0, _after_json(text, 0)
    while tag := _TAG.search(text, position):
        if tag.group() == "</think>":
            kept.clear()
            start = tag.end()
        elif tag.group() == "<think>":
            kept.append(text[start : tag.start()])
            end = text.find("</think>", tag.end())
            if end < 0:
                return "".join(kept).strip()
            start = end + len("</think>")
        position = _after_json(text, max(start, tag.end()))
    return "".join([*kept, text[start:]]).strip()


def split_stop(text: str, tokens: Sequence[str] = (STOP_TOKEN,)) -> tuple[str, bool]:
    """Return the text without stop tokens, and whether there was one; blanks around a token become one.

    Example:
        >>> split_stop("Yes, please cancel O1. ###STOP###")
        ('Yes, please cancel O1.', True)

    Raises:
        ValueError: When a token is blank.
    """
    if any(not token.strip() for token in tokens):
        raise ValueError(
            f"The stop tokens {tuple(tokens)!r} contain a blank one: every text would stop. Remove it."
        )
    stopped = False
    for token in sorted(tokens, key=len, reverse=True):
        while token in text:  # again: two halves of a token can close up around a removed one
            before, _, after = text.partition(token)
            text, stopped = f"{before.rstrip()} {after.lstrip()}".strip(), True
    return text, stopped


def parse_turn(
    text: str,
    format: Literal["hermes", "json"] = "hermes",
    stop_tokens: Sequence[str] = (STOP_TOKEN,),
    finish_reason: str | None = "stop",
) -> Turn:
    """Read one completion.

    Args:
        text: The completion as decoded, reasoning included.
        format: How the model writes calls: ``hermes`` for blocks of
            ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, ``json`` for a completion (or fenced
            blocks in it) that is such an object or a list of them.
        stop_tokens: Texts that end the conversation and are never shown; inside a call they are plain text.
        finish_reason: ``length`` means that the token limit cut the text: no call of it runs. If there is a
            call, even a complete one, the turn becomes one unreadable call; otherwise the text is a message.

    Returns:
        The turn: calls in order (the speech goes with the first), then the stop if there was a stop token.
        Speech alone is a message, or the content of the stop.

    Raises:
        ValueError: When the format is unknown.
    """
    if format not in _FORMATS:
        raise ValueError(f"Unknown call format {format!r}: use one of {sorted(_FORMATS)}.")
    spoken = strip_reasoning(text)
    cut = finish_reason == "length"
    if cut and (begin := _FIRST_CALL[format](spoken)) is not None:
        speech, stopped = split_stop(spoken[:begin].strip(), stop_tokens)
        calls = [_unreadable(spoken[begin:])]
    else:
        speech, calls = _FORMATS[format](spoken, stop_tokens)
        speech, stopped = split_stop(speech, stop_tokens)
    return Turn(speech, tuple(_actions(speech, calls, stopped)), stopped, cut)


def read_hermes(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Split text into speech and the calls of its ``<tool_call>`` blocks."""
    speech, bodies = _split_blocks(text, _CALL, "</tool_call>")
    if "</tool_call>" in speech:  # a block whose opening tag is missing: not to be shown, not to be run
        return "", [_unreadable(text)]
    return speech, [_unreadable(body) if not closed else _read_call(body) for body, closed in bodies]


def read_json(text: str, stop_tokens: Sequence[str] = ()) -> tuple[str, list[Action]]:
    """Split text into speech and the calls written as bare or fenced JSON."""
    bare, token = _split_trailing_stop(text, stop_tokens)
    if _LOOKS_LIKE_CALL.match(bare):
        return token, _read_calls(bare)
    speech, bodies = _split_blocks(text, _FENCE, "```")
    return speech, [
        call for body, closed in bodies for call in (_read_calls(body) if closed else [_unreadable(body)])
    ]


def _actions(speech: str, calls: list[Action], stopped: bool) -> list[Action]:
    said = {"content": speech} if speech else {}
    if calls:
        return [{**calls[0], **said}, *calls[1:], *([{"type": "stop"}] if stopped else [])]
    if stopped:
        return [{"type": "stop", **said}]
    return [{"type": "message", **said}] if speech else []


def _split_blocks(text: str, opening: re.Pattern[str], closing: str) -> tuple[str, list[tuple[str, bool]]]:
    """Return the text outside the blocks, and each block's body with whether it was closed."""
    speech: list[str] = []
    bodies: list[tuple[str, bool]] = []
    position = 0
    while found := opening.search(text, position):
        speech.append(text[position : found.start()])
        end = text.find(closing, _after_json(text, found.end()))
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


def _read_calls(body: str) -> list[Action]:
    try:
        value = strict_json(body)
    except ValueError:
        return [_unreadable(body)]
    if isinstance(value, list) and value:
        return [_as_call(item, json.dumps(item, ensure_ascii=False)) for item in value]
    return [_as_call(value, body)]


def _read_call(body: str) -> Action:
    try:
        return _as_call(strict_json(body), body)
    except ValueError:
        return _unreadable(body)


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
    return {"type": "tool_call", **value} if readable else _unreadable(raw)


def _unreadable(raw: str) -> Action:
    return {"type": "tool_call", "name": "", "arguments": raw.strip()}


def _first_hermes_call(text: str) -> int | None:
    """Return where the first call begins, be it cut within its opening tag."""
    if (found := _CALL.search(text)) is not None:
        return found.start()
    tag = "<tool_call>"
    return next((len(text) - n for n in range(len(tag) - 1, 1, -1) if text.endswith(tag[:n])), None)


def _first_json_call(text: str) -> int | None:
    if _LOOKS_LIKE_CALL.match(text):
        return 0
    found = _FENCE.search(text) or re.search(r"```(?:json)?\s*\Z", text)
    return None if found is None else found.start()


def _after_json(text: str, start: int) -> int:
    """Return the end of the JSON object or array that begins at `start`, or `start` if none does."""
    begin = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    if text[begin : begin + 1] not in ("{", "["):
        return start
    try:
        return _LENIENT.raw_decode(text, begin)[1]
    except (ValueError, RecursionError):
        return start


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
_FORMATS = {"hermes": read_hermes, "json": read_json}
_FIRST_CALL = {"hermes": _first_hermes_call, "json": _first_json_call}

_DONE_BY_ME = (
    r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:(?:now|just|already|successfully)\s+)*"
    r"(?:processed|issued|refunded|cancell?ed|updated|frozen|unfrozen|blocked|unblocked|reset|approved"
    r"|verified|located"
    r"|escalated|submitted|reversed|credited|waived|closed|activated)\s+your\s+(?:\w+\s+){0,2}"
    r"(?:refund|account|order|card|address|reservation|booking|payment|request|transfer|claim|dispute"
    r"|profile|identity|fee)\b"
)
_SERVICE_LINES = (
    r"\b(?:can|may|could)\s+(?:i|we)\s+(?:help|assist)\s+you\b",
    r"\banything\s+else\s+(?:that\s+)?(?:i|we)\s+(?:can|could|may)\s+(?:help|assist)\b",
    r"\bthank(?:s|\s+you)\s+for\s+(?:contacting|calling|reaching\s+out\s+to|choosing|banking\s+with)\b",
    r"\b(?:i|we)(?:'ll|\s+will)?\s+(?:need|have)\s+to\s+verify\s+your\s+identity\b",
    r"\bhappy\s+to\s+assist\s+you\b",
    _DONE_BY_ME,
)
_AGENT_LINE = re.compile("|".join(_SERVICE_LINES), re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"")


def role_flip(text: str) -> bool:
    """Return whether a line supposedly said by the customer speaks as the service agent.

    It knows a few lines that only an agent says, and prefers missing a flip to accusing a customer: offers of
    help ("How may I assist you", "anything else I can help with"), "thank you for contacting", "I need to
    verify your identity", "happy to assist you", and work done on *your* refund, account, card and so on.
    Quoted words do not count.

    Example:
        >>> role_flip("I have processed your refund. Anything else I can help with?")
        True
        >>> role_flip("I have processed the form you sent. Can you help me with anything else?")
        False
    """
    plain = text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')
    return _AGENT_LINE.search(_QUOTED.sub(" ", plain)) is not None
