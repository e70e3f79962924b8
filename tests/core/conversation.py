"""Short ways to write a conversation, for the tests of the core."""

from __future__ import annotations

from typing import Any

from gym_enterprise import Domain, Episode, Task
from gym_enterprise.messages import Seat
from tests.shop import make_domain, task

DOMAIN = make_domain()
BOTH_TOOLS = {"tools": ["confirm_order", "rate_order_5"]}
CANCEL = {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "O1"}}


def say(text: str) -> dict[str, Any]:
    """Return a message."""
    return {"type": "message", "content": text}


def stop(text: str | None = None) -> dict[str, Any]:
    """Return a stop."""
    return {"type": "stop"} if text is None else {"type": "stop", "content": text}


def call(name: str, content: str | None = None, /, **arguments: Any) -> dict[str, Any]:
    """Return a tool call, with text beside it if there is any."""
    action = {"type": "tool_call", "name": name, "arguments": arguments}
    return action if content is None else {**action, "content": content}


def episode(played: Task | None = None, domain: Domain = DOMAIN, **limits: Any) -> Episode:
    """Return a new episode; by default: cancel O1."""
    return Episode(domain, played or task(), **limits)


def play(it: Episode, *turns: tuple[Seat, Any]) -> Episode:
    """Take actions in order."""
    for seat, action in turns:
        it.act(seat, action)
    return it


def opened(played: Task | None = None, domain: Domain = DOMAIN, **limits: Any) -> Episode:
    """Return an episode in which the user has said hello and the agent has the turn."""
    return play(episode(played, domain, **limits), ("user", say("hello")))


def heard(it: Episode, seat: Seat) -> list[str]:
    """Return what a seat's history says in words, as "speaker: text"."""
    messages = it.observe(seat)["messages"]
    return [f"{m.role}: {m.content}" for m in messages[1:] if m.call is None]


def last_error(it: Episode, seat: Seat) -> str:
    """Return the code of a seat's last call, which failed."""
    result = it.observe(seat)["messages"][-1].result
    assert result["ok"] is False
    return str(result["error"]["code"])
