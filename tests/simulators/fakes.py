"""Small stand-ins for messages, views and tasks: the players read attributes and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments_json: str

    @property
    def arguments(self) -> Any:
        return json.loads(self.arguments_json)


@dataclass(frozen=True, slots=True)
class Message:
    seq: int
    role: str
    content: str
    call: Call | None = None

    @property
    def result(self) -> Any:
        return json.loads(self.content) if self.role == "tool" else None


@dataclass(frozen=True)
class Fact:
    value: str
    asked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Want:
    say: str = ""
    about: tuple[str, ...] = ()
    consent: tuple[str, ...] = ()
    unsure: str = ""


@dataclass(frozen=True)
class Pushback:
    say: str
    when: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    say: str
    facts: dict[str, str] = field(default_factory=dict)
    early: bool = False


@dataclass(frozen=True)
class Vague:
    say: str
    until: tuple[str, ...] = ()


@dataclass(frozen=True)
class Script:
    opening: str
    facts: dict[str, Fact] = field(default_factory=dict)
    wants: tuple[Want, ...] = ()
    later: tuple[Want, ...] = ()
    pushback: tuple[Pushback, ...] = ()
    declines: tuple[Want, ...] = ()
    changes: tuple[Change, ...] = ()
    vague: Vague | None = None


@dataclass(frozen=True)
class Scenario:
    script: Script | None
    instructions: str = ""


@dataclass(frozen=True)
class Spec:
    name: str
    parameters: dict[str, Any]
    description: str = ""


@dataclass(frozen=True)
class View:
    scenario: Scenario
    tools: tuple[Spec, ...] = ()


@dataclass(frozen=True)
class Action:
    seat: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    after: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Task:
    user: Scenario
    reference: tuple[Action, ...]


Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


def works(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Answer every call with success."""
    return {"ok": True, "result": {"status": "confirmed"}}


class Seat:
    """One seat's history, and a player that acts on it."""

    def __init__(self, player: Any, role: str, answer: Answer = works) -> None:
        self.player, self.role, self.answer = player, role, answer
        self.history: tuple[Message, ...] = ()
        self.acted: list[dict[str, Any]] = []
        self.append("system", "You are in a test.")

    def append(self, role: str, content: str, call: Call | None = None) -> None:
        self.history = (*self.history, Message(len(self.history), role, content, call))

    def observation(self) -> dict[str, Any]:
        return {"messages": self.history, "turn": len(self.history), "your_turn": 1}

    def act(self) -> dict[str, Any]:
        """Let the player act once and record it; a call is answered."""
        action: dict[str, Any] = self.player.act(self.observation())
        self.acted.append(action)
        if action["type"] == "tool_call":
            call = Call(action["name"], json.dumps(action["arguments"]))
            self.append(self.role, "", call)
            self.append("tool", json.dumps(self.answer(action["name"], action["arguments"])), call)
        else:
            self.append(self.role, action["content"])
        return action

    def turn(self) -> dict[str, Any]:
        """Let the player act until it speaks or stops, and return that."""
        while (action := self.act())["type"] == "tool_call":
            pass
        return action

    def hear(self, content: str) -> str:
        """Let the other side say something, and return what the player says to it."""
        self.append("user" if self.role == "agent" else "agent", content)
        return str(self.turn()["content"])

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [
            (action["name"], action["arguments"]) for action in self.acted if action["type"] == "tool_call"
        ]

    @property
    def stopped(self) -> bool:
        return bool(self.acted) and self.acted[-1]["type"] == "stop"


def converse(agent: Seat, user: Seat, limit: int = 200) -> int:
    """Let two seats talk, the user first; return the number of turns until a stop or the limit."""
    speaker, listener = user, agent
    for turn in range(1, limit + 1):
        action = speaker.turn()
        if action["type"] == "stop":
            if speaker is user:  # the text is delivered, and the agent acts until it next speaks
                agent.append("user", action["content"])
                agent.turn()
            return turn
        listener.append(speaker.role, action["content"])
        speaker, listener = listener, speaker
    return limit
