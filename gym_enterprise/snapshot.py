"""A point of an episode: `Progress`, all that is not in the database, and `Snapshot`, all of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gym_enterprise.dispatch import Past
from gym_enterprise.messages import Message, Seat

Transcript = tuple[tuple[Seat, Message], ...]


@dataclass
class Progress:
    """Everything of an episode that is not in the database."""

    histories: dict[Seat, tuple[Message, ...]]
    transcript: Transcript = ()
    """What was said and called, in order, by whom."""
    held: dict[Seat, str] = field(default_factory=lambda: {"agent": "", "user": ""})
    turn: Seat | None = None
    step: int = 0
    errors: int = 0
    calls: int = 0
    closing: bool = False
    """Whether the user has stopped with a text that the agent may still act on."""
    terminated: bool = False
    truncated: bool = False
    unscored: bool = False
    reason: str = ""
    faults: dict[str, int] = field(default_factory=dict)
    past: Past = ((), (), ())
    """What the dispatcher remembers."""

    def copy(self) -> Progress:
        """Return an independent copy."""
        return replace(self, histories=dict(self.histories), held=dict(self.held), faults=dict(self.faults))


@dataclass(frozen=True)
class Snapshot:
    """A point of an episode, picklable: what changed in the database, and the dialogue."""

    image: str
    """Digest of the domain's image."""
    task: str
    """Hash of the task."""
    changeset: bytes
    """SQLite changeset since the initial state."""
    progress: Progress
    """The rest."""
