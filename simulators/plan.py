"""The order in which a reference is played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class ReferenceAction(Protocol):
    """One call of a reference."""

    @property
    def seat(self) -> str:
        """Who makes it."""
        ...

    @property
    def name(self) -> str:
        """The tool."""
        ...

    @property
    def arguments(self) -> dict[str, Any]:
        """Its arguments."""
        ...

    @property
    def after(self) -> tuple[int, ...] | None:
        """What it must follow; None: the action before it."""
        ...


def predecessors(reference: Sequence[ReferenceAction], index: int) -> tuple[int, ...]:
    """Return the indices that action `index` must directly follow (by default the one before it)."""
    after = reference[index].after
    if after is None:
        return (index - 1,) if index else ()
    return tuple(after)


def playing_order(reference: Sequence[ReferenceAction]) -> tuple[int, ...]:
    """Return the topological order that always takes the first action in the list that is ready.

    Raises:
        ValueError: When `after` names no action, or when actions wait for each other in a circle.
    """
    waits = [set(predecessors(reference, index)) for index in range(len(reference))]
    for index, before in enumerate(waits):
        if wrong := sorted(before - set(range(len(reference)))):
            raise ValueError(
                f"Reference action {index} must follow {wrong}, but there are only the actions 0 to "
                f"{len(reference) - 1}: correct its `after`."
            )
    order: list[int] = []
    while len(order) < len(reference):
        done = set(order)
        ready = next((i for i, before in enumerate(waits) if i not in done and before <= done), None)
        if ready is None:
            circle = [i for i in range(len(reference)) if i not in done]
            raise ValueError(
                f"Reference actions {circle} wait for each other in a circle: correct their `after`."
            )
        order.append(ready)
    return tuple(order)


def ancestors(reference: Sequence[ReferenceAction], index: int) -> frozenset[int]:
    """Return all indices that must be done before action `index`, however far back."""
    found: set[int] = set()
    open_ends = list(predecessors(reference, index))
    while open_ends:
        earlier = open_ends.pop()
        if earlier not in found:
            found.add(earlier)
            open_ends.extend(predecessors(reference, earlier))
    return frozenset(found)
