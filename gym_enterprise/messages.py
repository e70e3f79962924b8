"""What stands in a history: `Message` and `Call`, frozen and small."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from gym_enterprise import strict_json

Role = Literal["system", "agent", "user", "tool"]
Seat = Literal["agent", "user"]
SEATS: tuple[Seat, Seat] = ("agent", "user")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as it was made."""

    id: str
    """As given by the caller, or counted by the episode."""
    name: str
    """The tool that was asked for, whether or not it exists."""
    arguments_json: str
    """The arguments as JSON text, so that nobody can change them afterwards."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Call:
        return self

    @property
    def arguments(self) -> Any:
        """A fresh copy of the arguments; an object unless the call was malformed."""
        return json.loads(self.arguments_json)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a seat's history, immutable all the way down.

    A tool call is two messages in its caller's history: one with the caller's role, what was said beside the
    call, and `call`; then one with role "tool", the same `call`, and the outcome as JSON text.
    """

    seq: int
    """Index in this seat's history."""
    role: Role
    """Who speaks; "system" is the environment, "tool" the outcome of a call."""
    content: str
    """The text; for role "tool" the outcome as JSON."""
    call: Call | None = None
    """The call that is made (caller's role) or answered (role "tool")."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Message:
        return self

    @property
    def result(self) -> Any:
        """For role "tool" a fresh copy of the outcome, `{"ok": ...}`; otherwise None."""
        return json.loads(self.content) if self.role == "tool" else None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value with the fields seq, role, content, call, result."""
        return {
            "seq": self.seq,
            "role": self.role,
            "content": self.content,
            "call": self.call.to_dict() if self.call else None,
            "result": self.result,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Message:
        """Rebuild a message from `to_dict`."""
        call = data.get("call")
        return cls(
            seq=data["seq"],
            role=data["role"],
            content=data["content"],
            call=Call(call["id"], call["name"], strict_json.recorded(call["arguments"])) if call else None,
        )


class Observation(TypedDict):
    """What one seat sees: the same shape for `Episode`, environments and players."""

    messages: tuple[Message, ...]
    turn: int
    your_turn: int
