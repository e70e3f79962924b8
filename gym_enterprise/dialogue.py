"""`Dialogue`: all of an episode that is not in the database: what was said, whose turn it is, the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gym_enterprise import strict_json
from gym_enterprise.actions import Parsed, cut
from gym_enterprise.dispatch import Outcome, Past
from gym_enterprise.errors import InvalidAction
from gym_enterprise.messages import SEATS, Call, Message, Role, Seat
from simulators.parsing import is_blank, split_stop, strip_reasoning
from simulators.role_flip import role_flip

Transcript = tuple[tuple[Seat, Message], ...]
"""Messages and calls in order, each with the seat that made it."""


@dataclass
class Dialogue:
    """The conversation of one episode, changed by what is said and called in it."""

    histories: dict[Seat, tuple[Message, ...]]
    """What each seat sees."""
    stop_tokens: Sequence[str]
    """Texts that end the conversation and are never shown."""
    turn: Seat | None
    """The seat to move; None when it is over."""
    transcript: Transcript = ()
    """What was said and called, in order, by whom."""
    held: dict[Seat, str] = field(default_factory=lambda: dict.fromkeys(SEATS, ""))
    """What each seat said beside its calls and the other has not heard yet."""
    step: int = 0
    """Messages and calls of both seats."""
    errors: int = 0
    """Failed calls of both seats."""
    calls: int = 0
    """Calls of both seats, for their ids."""
    closing: bool = False
    """Whether the user has stopped with a text that the agent may still act on."""
    terminated: bool = False
    truncated: bool = False
    unscored: bool = False
    reason: str = ""
    faults: dict[str, int] = field(default_factory=dict)
    """Faults of the user simulator by kind."""
    past: Past = ((), (), ())
    """What the dispatcher remembers."""

    def copy(self) -> Dialogue:
        """Return an independent copy."""
        return replace(self, histories=dict(self.histories), held=dict(self.held), faults=dict(self.faults))

    def hear(self, seat: Seat, action: Parsed) -> tuple[str, str, bool]:
        """Read a message or stop without taking it.

        Args:
            seat: Who says it.
            action: A message or stop.

        Returns:
            The text in its speaker's own history, the text that is delivered, and whether it stops.

        Raises:
            InvalidAction: Nothing is said.
        """
        own, _ = split_stop(_without_reasoning(action.content), self.stop_tokens)
        text = _joined(self.held[seat], _without_reasoning(action.content))
        text, stops = split_stop(text, self.stop_tokens)
        stops = stops or action.type == "stop"
        if is_blank(text) and not stops:
            raise InvalidAction("the message is blank: say something, call a tool, or stop")
        return own, text, stops

    def say(self, seat: Seat, action: Parsed) -> None:
        """Deliver a message or stop, and pass the turn or end; raises `InvalidAction` as `hear` does."""
        own, text, stops = self.hear(seat, action)
        if is_blank(text):
            self.end("user_stop" if self.closing else f"{seat}_stop")
            return
        text = cut(text) if self.held[seat] else text
        self.held[seat] = ""
        self.step += 1
        for reader in SEATS:
            self.show(reader, seat, text if reader != seat or is_blank(own) else own)
        self.transcript += ((seat, self.histories[seat][-1]),)
        if seat == "user" and role_flip(text):
            self.faults["role_flip"] = self.faults.get("role_flip", 0) + 1
        if seat == "agent" and (self.closing or stops):
            self.end("user_stop" if self.closing else "agent_stop")
            return
        self.closing = stops
        self.turn = "agent" if seat == "user" else "user"

    def record(self, seat: Seat, action: Parsed, outcome: Outcome) -> None:
        """Write a call and what came of it into its caller's history; what is said beside it is held."""
        self.calls += 1
        self.errors += outcome.counts
        said = _without_reasoning(action.content)
        # With its stop tokens: one that is said beside a call stops with this seat's next message.
        self.held[seat] = cut(_joined(self.held[seat], said))
        said, _ = split_stop(said, self.stop_tokens)
        name = action.name if isinstance(action.name, str) else ""
        call = Call(action.id or f"call_{self.calls}", name, strict_json.recorded(action.arguments))
        entries: tuple[tuple[Role, str], ...] = ((seat, said), ("tool", outcome.text))
        for role, text in entries:
            self.show(seat, role, text, call)
            self.transcript += ((seat, self.histories[seat][-1]),)

    def show(self, reader: Seat, role: Role, text: str, call: Call | None = None) -> None:
        """Append a message to one seat's history."""
        history = self.histories[reader]
        self.histories[reader] = (*history, Message(len(history), role, text, call))

    def exhaust(self, reason: str) -> None:
        """End because something ran out; as `user_stop` when the user had stopped already."""
        self.end("user_stop" if self.closing else reason, truncated=not self.closing)

    def end(self, reason: str, *, truncated: bool = False, unscored: bool = False) -> None:
        """End the conversation."""
        self.turn, self.reason, self.unscored = None, reason, unscored
        self.terminated, self.truncated = not truncated, truncated


def _without_reasoning(text: str) -> str:
    return strip_reasoning(text) if "<think>" in text else text


def _joined(first: str, second: str) -> str:
    return "\n\n".join(part for part in (first, second) if not is_blank(part))
