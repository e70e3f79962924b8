"""Model text in, actions out: what was said, and what was called.

Reasoning is removed first; `simulators.calls` reads the calls of each format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulators.calls import (
    FIRST_CALL,
    READERS,
    Format,
    after_json,
    raw_openai,
    read_openai,
    unreadable,
)
from simulators.player import Action

STOP_TOKEN = "###STOP###"
MAX_CHARS = 100_000
"""Longest completion in characters; what is longer is read as one that was cut there."""

_INVISIBLE = " \t\r\n\u200b\u200c\u200d\u2060\ufeff"
"""Characters of which a message cannot consist alone, besides blanks."""

_TAG = re.compile(r"</?think>|<tool_call>|<\|python_tag\|>|```(?:json)?[ \t]*\n")


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


def is_blank(text: str) -> bool:
    """Return whether a text shows nothing: it is empty, or blanks and characters without a width."""
    return not text.strip(_INVISIBLE).strip()


def is_text(text: str) -> bool:
    """Return whether a string can be encoded, as one with a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def strip_reasoning(text: str) -> str:
    """Return the text without its reasoning and without blanks around it.

    ``<think>...</think>`` goes; after an unclosed ``<think>`` everything goes; before a ``</think>`` that was
    never opened (its tag stood in the prompt) everything goes. In a call's JSON these tags are plain text.

    Example:
        >>> strip_reasoning("<think>I play the customer.</think> Where is my refund?")
        'Where is my refund?'
    """
    kept: list[str] = []
    start, position = 0, after_json(text, 0)
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
        position = after_json(text, max(start, tag.end()))
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
            parts = (part.strip() for part in text.split(token))
            text, stopped = " ".join(part for part in parts if part), True
    return text, stopped


def parse_turn(
    text: str,
    format: Format = "hermes",
    stop_tokens: Sequence[str] = (STOP_TOKEN,),
    finish_reason: str | None = "stop",
    tool_calls: Sequence[Any] = (),
) -> Turn:
    """Read one completion.

    Args:
        text: The completion as decoded, reasoning included.
        format: How the model writes calls; see `simulators.calls`.
        stop_tokens: Texts that end the conversation and are never shown; inside a call they are plain text.
        finish_reason: ``length`` means that the token limit cut the text: no call of it runs. If there is a
            call, even a complete one, the turn becomes one unreadable call; otherwise the text is a message.
            A text of more than `MAX_CHARS` is cut there.
        tool_calls: The calls that the server returned beside the text, as it wrote them; read in any format,
            after those in the text.

    Returns:
        The turn: calls in order (the speech goes with the first), then the stop if there was a stop token.
        Speech alone is a message, or the content of the stop.

    Raises:
        ValueError: When the format is unknown.
    """
    if format not in READERS:
        raise ValueError(f"Unknown call format {format!r}: use one of {sorted(READERS)}.")
    cut = finish_reason == "length" or len(text) > MAX_CHARS
    spoken = strip_reasoning(text[:MAX_CHARS])
    begin = FIRST_CALL[format](spoken) if cut else None
    if cut and (begin is not None or tool_calls):
        begin = len(spoken) if begin is None else begin
        written = "\n".join(part for part in (spoken[begin:], raw_openai(tool_calls)) if part)
        calls = [unreadable(written, cut=True)]
        speech = spoken[:begin].strip()
    else:
        speech, calls = READERS[format](spoken, stop_tokens)
        calls += read_openai(tool_calls)
    speech, stopped = split_stop(speech, stop_tokens)
    speech = "" if is_blank(speech) else speech
    return Turn(speech, tuple(_actions(speech, calls, stopped)), stopped, cut)


def _actions(speech: str, calls: list[Action], stopped: bool) -> list[Action]:
    said = {"content": speech} if speech else {}
    if calls:
        return [{**calls[0], **said}, *calls[1:], *([{"type": "stop"}] if stopped else [])]
    if stopped:
        return [{"type": "stop", **said}]
    return [{"type": "message", **said}] if speech else []
