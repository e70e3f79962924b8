"""Engines that answer from a script, for tests of the players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulators import Completion

Answer = str | Completion | Exception


def answer(one: Answer) -> Completion:
    if isinstance(one, Exception):
        raise one
    return one if isinstance(one, Completion) else Completion(one)


class Script:
    """Gives its answers one after the other; remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = iter(answers)
        self.requests: list[Any] = []

    async def complete(self, request: Any) -> Completion:
        self.requests.append(request)
        return answer(next(self._answers))


class Rule:
    """Answers each request by a function of it, as a deterministic server does."""

    def __init__(self, rule: Callable[[Any], Answer]) -> None:
        self._rule = rule
        self.requests: list[Any] = []

    async def complete(self, request: Any) -> Completion:
        self.requests.append(request)
        return answer(self._rule(request))


def by_turn(*answers: Answer) -> Rule:
    """Answer by how often the model has spoken in the chat; the last answer stays."""

    def rule(request: Any) -> Answer:
        spoken = sum(message["role"] == "assistant" for message in request.messages)
        return answers[min(spoken, len(answers) - 1)]

    return Rule(rule)


def calls(*functions: tuple[str, str], text: str = "", finish: str = "tool_calls") -> Completion:
    """Return a completion with structured calls c1, c2, ...; each is a name and arguments as text."""
    listed = tuple(
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(functions, start=1)
    )
    return Completion(text, listed, finish_reason=finish)
