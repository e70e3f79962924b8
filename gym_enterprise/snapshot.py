"""`Snapshot`: a point of an episode."""

from __future__ import annotations

from dataclasses import dataclass

from gym_enterprise.dialogue import Dialogue


@dataclass(frozen=True)
class Snapshot:
    """A point of an episode, picklable: what changed in the database, and the dialogue."""

    image: str
    """Digest of the domain's image."""
    task: str
    """Hash of the task."""
    changeset: bytes
    """SQLite changeset since the initial state."""
    dialogue: Dialogue
    """The rest."""
