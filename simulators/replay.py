"""A user that plays its part of the reference and has little to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulators.memory import Memory
from simulators.plan import ancestors, playing_order
from simulators.player import Action, MessageRecord, Observation, Synchronous

_NEUTRAL_OPENING = "Hello, I need your help, please."
_READY = "I am ready. Which tool should I use?"
_THANKS = "Thank you. That is all from my side."


@dataclass(slots=True)
class _Progress:
    """How far the user's part is played; computed from its history alone."""

    step: int = 0
    """Number of own actions played (or given up)."""
    tries: int = 0
    """Failed calls of the next action."""
    asked: int = 0
    """How often it asked which tool to use."""
    opened: bool = False
    heard: str = ""
    """The agent's latest message, in lower case; blank once the user acted on it."""
    news: tuple[str, ...] = ()
    """What it did since it last spoke."""
    failed: bool = False
    """Whether its last call failed and the agent has not spoken since."""


class ReplayUser(Synchronous):
    """Plays the user's actions of a task's reference, then says so, and stops when none are left.

    It cannot see the agent's calls. So an action that must follow work of the agent is played once the
    agent's latest message names its tool (with underscores or blanks); until then it says that it is ready
    and asks which tool to use, and after `max_questions` such answers it tries anyway. A failed call is tried
    again after the agent's next message, `max_tries` times in all.

    Args:
        task: The whole task.
        seed: Not used: it has one way of playing.

    Raises:
        ValueError: When the reference has no order (see `playing_order`).
    """

    sees_task = True
    max_questions = 3
    max_tries = 3

    def __init__(self, task: Any, seed: int) -> None:
        order = playing_order(task.reference)
        own = [index for index in order if task.reference[index].seat == "user"]
        self._actions = [task.reference[index] for index in own]
        self._waits = _waits_for_agent(task.reference, own)
        self._opening = _opening(task.user)
        self._memory = Memory(_Progress, self._take_in)

    def act(self, observation: Observation) -> Action:
        """Return the user's next message, tool call or stop."""
        now = self._memory.of(observation["messages"])
        if not now.opened:
            return {"type": "message", "content": self._opening}
        if self._may_play(now):
            action = self._actions[now.step]
            return {"type": "tool_call", "name": action.name, "arguments": dict(action.arguments)}
        if now.news:
            return {"type": "message", "content": " ".join(now.news)}
        if now.step == len(self._actions):
            return {"type": "stop", "content": _THANKS}
        return {"type": "message", "content": _READY}

    def _may_play(self, now: _Progress) -> bool:
        if now.step == len(self._actions) or now.failed:
            return False
        if not self._waits[now.step] or now.tries or now.asked >= self.max_questions:
            return True
        name = self._actions[now.step].name.lower()
        return name in now.heard or name.replace("_", " ") in now.heard

    def _take_in(self, now: _Progress, message: MessageRecord) -> _Progress:
        if message.role == "agent":
            now.heard, now.failed = message.content.lower(), False
        elif message.role == "tool" and message.call is not None:
            self._take_in_outcome(now, message.call.name, message.result or {})
        elif message.role == "user" and message.call is None:
            now.opened, now.news, now.heard = True, (), ""
            now.asked += message.content == _READY
        return now

    def _take_in_outcome(self, now: _Progress, name: str, outcome: dict[str, Any]) -> None:
        if now.step == len(self._actions) or self._actions[now.step].name != name:
            return
        if outcome.get("ok"):
            now.news = (*now.news, f"I used `{name}` and it worked.")
            now.heard = now.heard.replace(name.lower(), "", 1)  # one mention asks for one call
        else:
            now.tries += 1
            now.failed = True
            now.news = (
                *now.news,
                f"I used `{name}`, but it failed: {outcome.get('error', {}).get('message', '')}",
            )
        if outcome.get("ok") or now.tries >= self.max_tries:
            now.step, now.tries, now.asked = now.step + 1, 0, 0


def _waits_for_agent(reference: Any, own: list[int]) -> list[bool]:
    """Return for each own action whether the agent must act between the own action before it and it."""
    waits: list[bool] = []
    settled: frozenset[int] = frozenset()
    for index in own:
        before = ancestors(reference, index)
        waits.append(any(reference[earlier].seat == "agent" for earlier in before - settled))
        settled |= before
    return waits


def _opening(scenario: Any) -> str:
    """Return the script's opening; instructions are the user's own, so nothing of them is said."""
    if scenario.script is not None and scenario.script.opening.strip():
        return str(scenario.script.opening)
    return _NEUTRAL_OPENING
