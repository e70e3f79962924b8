"""`Features`: what a seat has seen, as numbers from 0 to 1 with names."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from gym_enterprise.envs.numeric.acts import FACTS
from gym_enterprise.envs.numeric.menu import Menu
from gym_enterprise.envs.numeric.observed import BAGS, LAST, Observed

Vector = npt.NDArray[np.float32]

FIRST = ("your_turn", "steps_left", "errors_left")
COUNTS = ("own_messages", "partner_messages", "own_calls", "own_errors")
MANY = 16
"""A count of this and more is 1."""
FEW = 4
"""The same for what rarely happens more than once."""


class Features:
    """Numbers about what a seat has seen; which one means what is in `names`.

    ============================  =========================================================================
    `your_turn`                   1 when it is the seat's turn
    `steps_left`, `errors_left`   share of the environment's budgets that is left, by what the seat knows
    `own_messages`, ...           counts of messages, calls and failed calls, 1 from 16 on
    `records`, `opened`,          record ids in results; discoverable tools that the seat can call, and that
    `handed`, `names_found`       it handed over; names of tools that it read: 1 from 4 on (`records`: 16)
    `last: KIND`                  what the history ends with: heard, said, worked, failed, note
    `said: ENTRY`                 how often the seat said what that entry of its menu says, 1 from 4 on
    `worked: TOOL`, `failed:`     how often a call of the tool worked, and failed, 1 from 4 on
    `called: TOOL`                1 when the seat's latest call was of that tool
    `known: NAME`                 how many values are known that fit an argument of that name, 1 from 4 on
    `asked: N`                    for the user: whether the partner's latest message has the name of fact N of
                                  the script, or a phrase that asks for it
    `heard: N`                    1 when a word that hashes to N was in any message of the partner
    `latest: N`                   the same for its latest message
    `seen: N`                     1 when a field of a result had a word as its value, by hash of both
    `unused`                      0; it makes the vectors of both seats equally long
    ============================  =========================================================================

    Args:
        menu: The seat's menu.
        max_steps: The environment's budget of steps.
        max_errors: Its budget of failed calls.
    """

    def __init__(self, menu: Menu, max_steps: int, max_errors: int) -> None:
        self._menu, self._max_steps, self._max_errors = menu, max_steps, max_errors
        groups: dict[str, list[str]] = {
            "": [*FIRST, *COUNTS, "records", "opened", "handed", "names_found"],
            "last": list(LAST),
            "said": [act.label for act in menu.acts],
            "worked": list(menu.tools),
            "failed": list(menu.tools),
            "called": list(menu.tools),
            "known": list(menu.names),
            "asked": [str(number) for number in range(FACTS)] if menu.seat == "user" else [],
            **{bag: [str(number) for number in range(size)] for bag, size in BAGS.items()},
        }
        self.names = tuple(
            f"{group}: {name}" if group else name for group, names in groups.items() for name in names
        )
        begins = itertools.accumulate((len(names) for names in groups.values()), initial=0)
        self._begins = dict(zip(groups, begins, strict=False))
        self._places = {name: place for place, name in enumerate(self.names)}

    def vector(self, observed: Observed, size: int, step: int, to_move: bool) -> Vector:
        """Return the features.

        Args:
            observed: What the seat has seen.
            size: How long the vector is; what is beyond the features is 0.
            step: Steps of both seats so far.
            to_move: Whether it is the seat's turn.

        Returns:
            A fresh float32 array of shape `(size,)`, entries from 0 to 1.
        """
        vector = np.zeros(size, np.float32)
        counts, begins, places = observed.counts, self._begins, self._places
        first = (
            to_move,
            1 - step / self._max_steps,
            1 - counts["own_errors"] / self._max_errors,
            *(counts[name] / MANY for name in COUNTS),
            len(observed.records) / MANY,
            len(observed.opened) / FEW,
            len(observed.handed) / FEW,
            len(observed.values.get("tool_name", ())) / FEW,
        )
        vector[: len(first)] = first
        if observed.known is None:
            observed.known = [len(observed.values_of(name)) / FEW for name in self._menu.names]
        vector[begins["known"] : begins["known"] + len(observed.known)] = observed.known
        for number, line in enumerate(observed.lines if observed.said else ()):
            if line is not None:
                vector[begins["said"] + number] = observed.said.get(line, 0) / FEW
        for group, calls in (("worked", observed.worked), ("failed", observed.failed)):
            for tool, count in calls.items():
                if place := places.get(f"{group}: {tool}"):
                    vector[place] = count / FEW
        for name in (f"last: {observed.last}", f"called: {observed.last_tool}"):
            if place := places.get(name):
                vector[place] = 1
        if self._menu.seat == "user":
            vector[begins["asked"] : begins["asked"] + FACTS] = _asked(observed)
        for name, bag in observed.bags.items():
            vector[begins[name] : begins[name] + len(bag)] = bag
        np.minimum(np.maximum(vector, 0, out=vector), 1, out=vector)
        return vector


def _asked(observed: Observed) -> list[bool]:
    """Return whether the partner's latest message asks for each fact."""
    latest = observed.latest.lower()
    script = observed.scenario.script if observed.scenario else None
    asked = [
        any(phrase.lower() in latest for phrase in (key.replace("_", " "), *fact.asked))
        for key, fact in (script.facts.items() if script else ())
    ][:FACTS]
    return asked + [False] * (FACTS - len(asked))
