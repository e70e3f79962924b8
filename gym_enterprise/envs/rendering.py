"""An episode as text for people: who said what, which calls were made, and how it ended.

It shows both seats, so it is no observation for a player.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from gym_enterprise.episode import Episode
from gym_enterprise.messages import Message, Seat

MAX_SHOWN = 300
"""Longest arguments and result in characters; longer ones are cut and say so."""

SPEAKER_WIDTH = 7
"""Width of the column that says who speaks."""

_INDENT = " " * SPEAKER_WIDTH


def episode_text(episode: Episode, *, max_shown: int = MAX_SHOWN) -> str:
    """Write an episode as text.

    Args:
        episode: The episode, under way or over.
        max_shown: Longest arguments and result in characters.

    Returns:
        A title, one paragraph a message, `>` and a line a call, `<` and its result or `!` and its error, and
        the verdict once it is over.

    Example:
        >>> print(episode_text(env.unwrapped.episode))  # doctest: +SKIP
        banking / card-lost-014
        user   I have lost my card.
        agent  > kb_search(query="lost card")
               < [{"document_id": "cards-lost", "title": "Lost cards"}]
    """
    return "\n".join([title_text(episode), *new_lines(episode, 0, max_shown=max_shown)])


def title_text(episode: Episode) -> str:
    """Name the domain and the task."""
    return f"{episode.domain.name} / {episode.task.id}"


def new_lines(episode: Episode, start: int, *, max_shown: int = MAX_SHOWN) -> list[str]:
    """Write the entries of an episode's transcript from one on, and the verdict once it is over."""
    lines = [_entry(seat, message, max_shown) for seat, message in episode.transcript[start:]]
    return [*lines, verdict_text(episode)] if episode.done else lines


def verdict_text(episode: Episode) -> str:
    """Say how an episode ended and what it is worth."""
    grade = episode.grade()
    worth = "not scored" if grade.reward is None else f"reward {grade.reward} ({grade.reason})"
    return f"ended by {episode.reason} after {episode.step} steps: {worth}"


def show(text: str) -> None:
    """Print text, with escapes for what the terminal cannot show."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def _entry(seat: Seat, message: Message, max_shown: int) -> str:
    who: str = seat
    text = message.content
    if message.role == "tool":
        who, text = "", _outcome(message.result, max_shown)
    elif message.call is not None:
        name = message.call.name or "(unreadable call)"
        text = f"> {name}({_cut(_arguments(message.call.arguments), max_shown)})"
        text = f"{message.content}\n{text}" if message.content else text
    lines = printable(text).split("\n")
    return f"{who:<{SPEAKER_WIDTH}}" + f"\n{_INDENT}".join(lines)


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, dict):
        return ", ".join(f"{name}={_json(value)}" for name, value in arguments.items())
    return _json(arguments)


def _outcome(outcome: dict[str, Any], max_shown: int) -> str:
    if not outcome["ok"]:
        error = outcome["error"]
        return f"! {error['code']}: {_cut(error['message'], max_shown)}"
    result = outcome["result"]
    return f"< {_cut(result if isinstance(result, str) else _json(result), max_shown)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … [{len(text)} characters]"


def printable(text: str) -> str:
    """Escape control characters and the like, which a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )
