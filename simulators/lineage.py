"""Whether a history came from a turn of a model: what was played is what the model wrote.

Environments do not keep actions as they are: blanks and stop tokens go, words held back beside a call become
the message of a blank turn, and what is no action at all stands as a call without a name that is answered as
`invalid_action`. All this is still the model's turn. Other words, another tool or other arguments are not:
somebody else has acted in the seat, and neither the words nor the tokens may be taken for the model's.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any, Protocol

from simulators.parsing import is_blank, split_stop, strip_reasoning
from simulators.player import Action, MessageRecord
from simulators.turns import Place, spoken

_COMPARED = 1_000
"""Characters of a message that are compared: a very long one is cut by the environment."""


class Asked(Protocol):
    """A turn of a model."""

    @property
    def history(self) -> tuple[MessageRecord, ...]:
        """What the seat had seen."""
        ...

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the model did."""
        ...


def led_to(history: tuple[MessageRecord, ...], turn: Asked, stop_tokens: Sequence[str]) -> bool:
    """Return whether a history begins with what a turn saw and goes on with what it did.

    Args:
        history: The seat's messages.
        turn: A turn of its model.
        stop_tokens: Texts that may have been taken out of the model's words.
    """
    start = len(turn.history)
    if turn.history != history[:start]:
        return False
    if start == len(history):
        return turn.actions[0] == {"type": "stop"}  # which leaves nothing in a history
    played = zip(history[start::2], history[start + 1 :: 2], turn.actions, strict=False)
    calls = [
        _called(message, answer, action) for message, answer, action in played if message.call is not None
    ]
    message = history[start]
    return (
        all(calls)
        if calls
        else _said(message, turn.actions[0], spoken(turn.history, message.role), stop_tokens)
    )


def continues(history: Sequence[MessageRecord], under_way: Place, actions: Sequence[Action]) -> bool:
    """Return whether what was played so far of a turn under way are these actions."""
    calls, answers = history[under_way.start :: 2], history[under_way.start + 1 :: 2]
    return len(actions) == under_way.total and all(
        message.call is not None and _called(message, answer, action)
        for message, answer, action in zip(calls, answers, actions, strict=False)
    )


def _called(message: MessageRecord, answer: MessageRecord, action: Action) -> bool:
    """Return whether a call and its answer are what an action came to."""
    call: Any = message.call
    if not call.name and _code(answer) in ("invalid_action", "malformed_call"):
        return True  # refused, whatever it was
    return bool(call.name == action.get("name")) and _value(call.arguments) == _value(action.get("arguments"))


def _said(message: MessageRecord, action: Action, held: bool, stop_tokens: Sequence[str]) -> bool:
    """Return whether a message is what an action came to."""
    if action["type"] == "tool_call":
        return False
    words = split_stop(strip_reasoning(action.get("content", "")), stop_tokens)[0]
    if is_blank(words):
        return held  # the words beside the calls before are the message
    shown = split_stop(message.content, stop_tokens)[0]
    return _folded(shown)[:_COMPARED] == _folded(words)[:_COMPARED]


def _code(answer: MessageRecord) -> str:
    outcome = answer.result
    return "" if outcome is None or outcome["ok"] else str(outcome["error"]["code"])


def _value(arguments: Any) -> Any:
    """Return arguments as text of JSON that can be compared, whether they are text already or not."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return json.dumps(arguments, sort_keys=True)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
