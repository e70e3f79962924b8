"""`Act`: an entry of a menu that is something to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gym_enterprise.messages import Seat
from gym_enterprise.tasks import View
from simulators.wording import Wording

FACTS, WANTS, PUSHBACKS = 16, 4, 2
"""How many facts, wants (changes of mind among them) and pushbacks of a user's script have entries."""
HANDED = 4
"""How many tools that were handed over have an entry that tells the user to use it."""

_SAYINGS: Mapping[Seat, Mapping[str, str]] = {
    "agent": {
        "greet": "Hello, how can I help you today?",
        "propose": "Shall I go ahead?",
        "confirm": "Yes, that is correct.",
        "refuse": "I am sorry, but I cannot do that: our rules do not allow it.",
        "report": "That has been done. Is there anything else I can help you with?",
    },
    "user": {
        "agree": "Yes, please.",
        "decline": "No, thank you.",
        "unknown": "I am sorry, I do not know that.",
        "acknowledge": "All right.",
    },
}
_GOODBYE: Mapping[Seat, str] = {
    "agent": "Thank you for getting in touch. Goodbye.",
    "user": "Thank you, that is all. Goodbye.",
}
FIRST = ("greet", "open")
"""What is said as the first thing only, by kind."""


@dataclass(frozen=True, slots=True)
class Act:
    """An entry that is something to say."""

    kind: str
    words: str = ""
    """What it says; empty where that depends on the episode."""
    asked: str = ""
    """The name of what an "ask" asks for."""
    number: int = 0
    """Which fact, want, pushback or tool."""

    @property
    def label(self) -> str:
        """Its name: the same in every episode."""
        if self.kind in ("tell", "want", "insist", "instruct"):
            return f"{self.kind} {self.number}"
        return f"ask {self.asked}" if self.kind == "ask" else self.kind


def acts_of(seat: Seat, asks: Iterable[str]) -> tuple[Act, ...]:
    """Return the acts of a seat in order, goodbye as the last of them.

    Args:
        seat: The seat.
        asks: What the agent can ask for.
    """
    said = [Act(kind, words) for kind, words in _SAYINGS[seat].items()]
    goodbye = Act("goodbye", _GOODBYE[seat])
    if seat == "agent":
        asked = [Act("ask", f"Please tell me your {name.replace('_', ' ')}.", name) for name in asks]
        return (*said, *asked, *(Act("instruct", number=number) for number in range(HANDED)), goodbye)
    scripted = {"tell": FACTS, "want": WANTS, "insist": PUSHBACKS}
    numbered = [Act(kind, number=number) for kind, count in scripted.items() for number in range(count)]
    return (Act("open"), *said, *numbered, goodbye)


def line_of(act: Act, view: View) -> str | None:
    """Return what an act says in an episode; a user's words are those of its own scenario."""
    scenario = view.scenario
    if act.words or scenario is None:
        return act.words or None
    script = scenario.script
    if script is None:
        return scenario.instructions or "Hello." if act.kind == "open" else None
    lines = {
        "open": [script.opening or "Hello."],
        "tell": [Wording(0).fact_line(key, fact.value) for key, fact in script.facts.items()],
        "want": [
            *(want.say for want in (*script.wants, *script.later)),
            *(change.say for change in script.changes),
        ],
        "insist": [pushback.say for pushback in script.pushback],
    }[act.kind]
    return lines[act.number] or None if act.number < len(lines) else None
