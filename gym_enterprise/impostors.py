"""Agents that do none of the work: no task may reward them."""

from __future__ import annotations

from typing import Any

from gym_enterprise.messages import Observation


class Silent:
    """An agent that does nothing and ends the conversation."""

    def __init__(self, view: Any, seed: int) -> None: ...

    def act(self, observation: Observation) -> dict[str, Any]:
        """Stop at once."""
        return {"type": "stop"}


class Claims(Silent):
    """An agent that says it has done everything, and does nothing."""

    def act(self, observation: Observation) -> dict[str, Any]:
        """Claim success."""
        text = "I have done everything that you asked for. It is completed now. Is there anything else?"
        return {"type": "message", "content": text}
