"""`Activity`: what the two seats did in an episode: messages, calls, failed calls, tokens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gym_enterprise.dialogue import Transcript
from gym_enterprise.messages import Message, Seat
from gym_enterprise.toolset import USE

NOT_EXECUTED = "not_executed"
"""Code of a call that came after the end and did not happen."""


class PlayedEpisode(Protocol):
    """What counting activity reads of a record, such as `Record`."""

    @property
    def transcript(self) -> Transcript:
        """Messages and calls of both seats in order."""
        ...

    @property
    def usage(self) -> Mapping[str, Mapping[str, int]]:
        """By seat, `tokens_in` and `tokens_out` where known."""
        ...


@dataclass(frozen=True)
class Activity:
    """Counts of one episode, by seat."""

    messages: Mapping[str, int]
    """Messages said to the other seat; text beside a call is none of its own."""
    calls: Mapping[str, int]
    """Tool calls, failed ones included."""
    errors: Mapping[str, Mapping[str, int]]
    """Calls whose outcome was not ok, by code."""


def activity(record: PlayedEpisode) -> Activity:
    """Count what each seat did; calls after the end, which did not happen, are left out."""
    messages = {"agent": 0, "user": 0}
    calls = {"agent": 0, "user": 0}
    errors: dict[str, Counter[str]] = {"agent": Counter(), "user": Counter()}
    for seat, message in record.transcript:
        if message.role in ("agent", "user") and message.call is None:
            messages[seat] += 1
        elif message.role == "tool":
            code = error_code(message)
            if code != NOT_EXECUTED:
                calls[seat] += 1
                errors[seat].update([code] if code else [])
    return Activity(messages, calls, errors)


def error_code(answer: Message) -> str | None:
    """Return the error code of a call's outcome; None when it worked."""
    outcome = answer.result
    return None if outcome["ok"] else str(outcome["error"]["code"])


def tokens(record: PlayedEpisode, seat: Seat, kind: str) -> int | None:
    """Return the tokens of one seat, or None when they are not known.

    Args:
        record: The record.
        seat: Whose.
        kind: "tokens_in" (read by the model, at each of its calls) or "tokens_out" (written by it).
    """
    return record.usage.get(seat, {}).get(kind)


def called(answer: Message) -> tuple[str, dict[str, Any]]:
    """Return the tool that a call came to and its arguments: those inside of `use_tool`, if it was that.

    Args:
        answer: The message with role "tool" of a call that worked.
    """
    assert answer.call is not None
    name, arguments = answer.call.name, _object(answer.call.arguments)
    if name == USE and isinstance(arguments.get("name"), str):
        return arguments["name"], _object(arguments.get("arguments"))
    return name, arguments


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    return arguments if isinstance(arguments, dict) else {}
