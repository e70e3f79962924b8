"""What a model did wrong in its turns, counted by kind.

==============  ==================================================================
kind            what the model did
==============  ==================================================================
``blank``       wrote nothing that could be played, and had said nothing beside its calls
``cut``         was cut by the token limit
``unreadable``  wrote a call that could not be read
``repeated``    sent the same message as in its turn before
==============  ==================================================================
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Protocol

from simulators.turns import spoken


class _Turn(Protocol):
    @property
    def history(self) -> tuple[Any, ...]: ...

    @property
    def completions(self) -> tuple[Any, ...]: ...

    @property
    def actions(self) -> tuple[dict[str, Any], ...]: ...


def faults(turns: Iterable[_Turn], seat: str) -> dict[str, int]:
    """Count the faults of a model's turns.

    Args:
        turns: The turns of one conversation, in order.
        seat: Whose turns they are.

    Returns:
        Counts by kind, in order of name; kinds that did not occur are left out.
    """
    found: Counter[str] = Counter()
    before = None
    for turn in turns:
        first = turn.actions[0]
        blank = first == {"type": "message", "content": ""}
        found["blank"] += len(turn.completions) - (not blank or spoken(turn.history, seat))
        found["cut"] += sum(one.finish_reason == "length" for one in turn.completions)
        found["unreadable"] += sum(action.get("name") == "" for action in turn.actions)
        found["repeated"] += not blank and first["type"] == "message" and first == before
        before = first
    return {kind: count for kind, count in sorted(found.items()) if count}
