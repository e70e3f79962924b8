"""An agent that knows the reference and plays it in conversation: the upper bound of every task."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from simulators.memory import Memory
from simulators.plan import playing_order
from simulators.player import Action, CallRecord, MessageRecord, Observation, Synchronous

_GREETING = "Hello, how can I help you today?"
_DONE = "Everything is done now. Is there anything else I can help you with?"
_DONE_TOO = "That has been taken care of as well. Is there anything else I can help you with?"
_AGREE = "Shall I go ahead with what you asked for ({topic})?"
_GOODBYE = "Thank you for getting in touch. Goodbye."


@dataclass(slots=True)
class _Progress:
    """How far the reference is played; computed from the agent's history alone."""

    step: int = 0
    """Position in the playing order of the next action."""
    tries: int = 0
    """Own calls of the next action's tool with other arguments."""
    opened: bool = False
    """Whether the user spoke."""
    asked: bool = False
    """Whether the agent had its say before acting."""
    instructed: bool = False
    """Whether the user was told what to do and has not answered."""
    repeats: int = 0
    """How often it told the user once more what to do, as the user had changed its mind instead."""
    agreed: bool = False
    """Whether the user was asked to agree."""
    farewells: int = 0
    latest: str = ""
    """The user's latest message, in lower case."""
    heard: str = ""
    """All that was said, in lower case."""


class OraclePlayer(Synchronous):
    """Plays the agent's side of a task's reference.

    Once, before acting, it asks in one message for the user's facts that its calls need; then it makes its
    calls in reference order; before its last one it asks for consent, naming the amount, if the user
    withholds it or changes its mind early; before an action of the user it says which tool to use with what,
    and waits for the answer (which may report that the next tools were used as well); in the end it says that
    all is done, as often as the user has later wants, and stops.

    Args:
        task: The whole task.
        seed: Not used: the oracle has one way of playing.

    Raises:
        ValueError: When the reference has no order (see `playing_order`).
    """

    sees_task = True
    max_tries = 2
    """A call of its own tool with other arguments is taken for the reference's after this many."""

    def __init__(self, task: Any, seed: int) -> None:
        self._actions = [task.reference[index] for index in playing_order(task.reference)]
        script = task.user.script
        self._needed = _needed_facts(script.facts, self._actions) if script else {}
        self._rounds = 2 + (len(script.later) + len(script.changes) if script else 0)
        self._changes = sum(change.early for change in script.changes) if script else 0
        self._consent = _proposal(script, self._actions) if script else (-1, "")
        self._memory = Memory(_Progress, self._take_in)

    def act(self, observation: Observation) -> Action:
        """Return the agent's next message, tool call or stop."""
        now = self._memory.of(observation["messages"])
        if not now.opened and not now.asked:
            return _say(_GREETING)
        if not now.asked and (unknown := self._unknown(now)):
            return _say(f"To help you, please tell me {_listed(unknown)}.")
        if now.step == self._consent[0] and not now.agreed:
            return _say(self._consent[1])
        if now.step < len(self._actions):
            action = self._actions[now.step]
            if action.seat == "agent":
                return {"type": "tool_call", "name": action.name, "arguments": dict(action.arguments)}
            return _say(_instruction(action))
        if now.farewells > self._rounds or (now.farewells and "goodbye" in now.latest):
            return {"type": "stop", "content": _GOODBYE}
        return _say(_DONE_TOO if now.farewells else _DONE)

    def _take_in(self, now: _Progress, message: MessageRecord) -> _Progress:
        if message.role == "user":
            now.opened = True
            now.latest = message.content.lower()
            now.heard += f"\n{now.latest}"
            if now.instructed:
                self._take_in_report(now)
        elif message.role == "agent" and message.call is not None:
            self._take_in_call(now, message.call)
        elif message.role == "agent":
            self._take_in_speech(now, message.content)
        return now

    def _take_in_report(self, now: _Progress) -> None:
        """Pass over the action that was asked for, and those after it that the answer reports too."""
        reported = now.latest
        if _report(self._actions[now.step].name) not in reported and now.repeats < self._changes:
            now.repeats, now.instructed = now.repeats + 1, False
            return
        while True:
            done = _report(self._actions[now.step].name)
            reported = reported.replace(done, "", 1)
            now.step, now.tries, now.instructed = now.step + 1, 0, False
            if now.step == len(self._actions) or self._actions[now.step].seat != "user":
                return
            if _report(self._actions[now.step].name) not in reported:
                return

    def _take_in_call(self, now: _Progress, call: CallRecord) -> None:
        now.asked = True
        if now.step == len(self._actions):
            return
        action = self._actions[now.step]
        if action.seat != "agent" or action.name != call.name:
            return
        now.tries += 1
        if now.tries >= self.max_tries or call.arguments == action.arguments:
            now.step, now.tries = now.step + 1, 0

    def _take_in_speech(self, now: _Progress, content: str) -> None:
        if now.opened and now.step == self._consent[0] and (now.asked or not self._unknown(now)):
            now.agreed = True
        now.heard += f"\n{content.lower()}"
        if not now.opened:
            return
        now.asked = True
        if now.step == len(self._actions):
            now.farewells += 1
        elif self._actions[now.step].seat == "user" and f"`{self._actions[now.step].name}`" in content:
            now.instructed = True

    def _unknown(self, now: _Progress) -> list[str]:
        return [key for key, value in self._needed.items() if value.lower() not in now.heard]


def _report(name: str) -> str:
    """How a user says, in lower case, that it used a tool."""
    return f"used `{name.lower()}`"


def _say(text: str) -> Action:
    return {"type": "message", "content": text}


def _listed(keys: list[str]) -> str:
    names = [f"your {key.replace('_', ' ')}" for key in keys]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _instruction(action: Any) -> str:
    if not action.arguments:
        return f"Please use the tool `{action.name}` now, and tell me what it says."
    given = json.dumps(action.arguments, ensure_ascii=False)
    return f"Please use the tool `{action.name}` with {given} and tell me what it says."


def _proposal(script: Any, actions: list[Any]) -> tuple[int, str]:
    """Return before which action to ask for consent, and how; -1 where none is needed."""
    own = [place for place, action in enumerate(actions) if action.seat == "agent"]
    wants = [want for want in script.wants if want.consent] or list(script.wants)
    early = any(change.early for change in script.changes)
    if not own or not wants or not (early or wants[0].consent):
        return -1, ""
    last, want = own[-1], wants[0]
    numbers = [value for value in actions[last].arguments.values() if type(value) in (int, float)]
    told = [f"It comes to ${numbers[-1]:.2f}."] if numbers and "$" in want.consent else []
    told += [f"About that: {phrase}." for phrase in want.consent[:1] if phrase != "$"]
    topic = want.about[0] if want.about else want.say
    return last, " ".join((*told, _AGREE.format(topic=topic)))


def _needed_facts(facts: Any, actions: list[Any]) -> dict[str, str]:
    """Return the facts whose value is an argument, or part of one, of the agent's actions."""
    leaves = [leaf for action in actions if action.seat == "agent" for leaf in _leaves(action.arguments)]
    texts = dict.fromkeys(leaf.lower() for leaf in leaves if isinstance(leaf, str))
    numbers = {Decimal(str(leaf)) for leaf in leaves if type(leaf) in (int, float)}
    return {key: fact.value for key, fact in facts.items() if _held(fact.value, texts, numbers)}


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list | tuple):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]


def _held(value: str, texts: Collection[str], numbers: Collection[Decimal]) -> bool:
    """Say whether a fact is one of the texts or numbers, or part of a text."""
    plain = value.lower()
    if not plain.strip():
        return False
    if plain in texts or (len(plain) > 2 and any(plain in text for text in texts)):
        return True
    try:
        return Decimal(value.strip().removeprefix("$").replace(",", "")) in numbers
    except InvalidOperation:
        return False
