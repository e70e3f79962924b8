"""`Menu`: a list of candidate actions of fixed size, of which those are open that the seat can do now."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gym_enterprise.envs.numeric.acts import FIRST, acts_of, line_of
from gym_enterprise.envs.numeric.observed import Observed, call_of
from gym_enterprise.envs.numeric.parameters import (
    FREE_TEXT,
    GENERIC,
    SEARCH,
    Parameter,
    choices_of,
    parameters_of,
)
from gym_enterprise.messages import Seat
from gym_enterprise.spaces import Mask
from gym_enterprise.tasks import View
from gym_enterprise.tools import ToolSpec
from gym_enterprise.toolset import GIVE, UNLOCK, USE

RANKS = 4
"""How many ways to fill the open values of one tool have entries, the most recent values first."""
LISTED = 8
"""The same for a tool that takes one value: a document that was found, a name of a tool, a customer."""
CHOICES = 128
"""How many entries a tool has at most."""
OPENED, OPENED_SIZE = 4, 8
"""How many discoverable tools have entries, and how many each."""
WAIT = "wait"
_TYPED = ("date", "dollars", "email", "phone", "id")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The entries of one tool, next to each other: by rank of the values, then by choice."""

    start: int
    tool: str
    filled: tuple[Parameter, ...]
    """The parameters whose values the schema does not list."""
    choices: tuple[dict[str, Any], ...]
    """The ways to fill the others."""
    ranks: int
    names: frozenset[str]
    """Names of the values that are used, see `Observed.changed`."""

    @property
    def size(self) -> int:
        """How many entries there are."""
        return self.ranks * len(self.choices)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the menu as it is now."""

    index: int
    label: str
    """What the entry stands for in every episode."""
    open: bool
    action: dict[str, Any] | None
    """What it does now; None where it is closed for want of something."""


class Menu:
    """The candidate actions of a seat of a domain.

    Entry 0 waits: it is open when nothing else is. Then come things to say, goodbye as the last of them, a
    block for each tool of the seat, and blocks for discoverable tools in the order of coming to them.

    Args:
        seat: Whose menu it is.
        tools: The tools that any task advertises to the seat.
        asks: Further things for the agent to ask for, such as "new phone".
        topics: What to search for besides the partner's words; by default the names of the tools.
        texts: Further values for arguments, by the argument's name.
    """

    def __init__(
        self,
        seat: Seat,
        tools: Sequence[ToolSpec],
        asks: Sequence[str] = (),
        topics: Sequence[str] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.seat = seat
        self.texts = {name: list(values) for name, values in (texts or {}).items()}
        read = {spec.name: parameters_of(spec.parameters) for spec in tools if spec.name != USE}
        named = [p for name, given in read.items() if name not in (UNLOCK, GIVE) for p in given if p.named]
        self.names = tuple(dict.fromkeys(p.name for p in named))
        """Arguments for which values are looked out for."""
        asks = [name.replace(" ", "_") for name in asks]
        self._looked_for = frozenset((*self.names, "tool_name", *asks))
        self._words = frozenset(p.name for given in read.values() for p in given).union(
            *(p.choices for given in read.values() for p in given)
        )
        wanted = [p.name for p in named if p.asked_for]
        searched = any(p.name in SEARCH for given in read.values() for p in given)
        self.topics = list(topics if topics is not None else _topics(read) if searched else ())
        self.acts = acts_of(seat, dict.fromkeys([*wanted, *asks]))
        self.tools = tuple(read)
        self.blocks: list[Block] = []
        place = 1 + len(self.acts)
        for name, parameters in read.items():
            self.blocks.append(self._block(place, name, parameters))
            place += self.blocks[-1].size
        self._listed = {block.start + place: (block,) for block in self.blocks for place in range(block.size)}
        self._readers: dict[str, list[Block]] = {}
        for block in self.blocks:
            for name in block.names:
                self._readers.setdefault(name, []).append(block)
        self.opened = place
        """Where the blocks of discoverable tools begin."""
        self.size = place + (OPENED * OPENED_SIZE if any(spec.name == USE for spec in tools) else 0)

    # -- what the entries are ---------------------------------------------------------------------------

    def mask(self, observed: Observed, size: int, to_move: bool) -> Mask:
        """Return which entries are open.

        Args:
            observed: What the seat has seen.
            size: How long the mask is; entries beyond the menu's own are closed.
            to_move: Whether it is the seat's turn.
        """
        if observed.mask is None:
            observed.mask = self._mask(observed)
        mask: Mask = np.zeros(size, np.int8)
        if to_move:
            mask[: self.size] = observed.mask
        mask[0] = not mask.any()
        return mask

    def action(self, index: int, observed: Observed) -> dict[str, Any] | None:
        """Return what an entry does now, or None where it lacks something.

        Args:
            index: Number of the entry.
            observed: What the seat has seen.
        """
        if 1 <= index <= len(self.acts):
            if not self._open_acts(observed)[index - 1]:
                return None
            act, line = self.acts[index - 1], observed.lines[index - 1]
            words = self._instruction(act.number, observed) if act.kind == "instruct" else line
            return {"type": "stop" if act.kind == "goodbye" else "message", "content": words}
        blocks = self._opened(observed) if index >= self.opened else self._listed.get(index, ())
        for block in blocks:
            place = index - block.start
            if 0 <= place < block.size and (block.tool in observed.tools or index >= self.opened):
                filled = self._fillings(block, observed)
                return _call(block, filled[place], index >= self.opened) if place < len(filled) else None
        return None

    def label(self, index: int) -> str:
        """Return what an entry stands for in every episode."""
        if index == 0:
            return WAIT
        if index <= len(self.acts):
            return self.acts[index - 1].label
        for block in self.blocks:
            if index < block.start + block.size:
                rank, choice = divmod(index - block.start, len(block.choices))
                chosen = "".join(f" {name}={value}" for name, value in block.choices[choice].items())
                return f"call {block.tool}{chosen} values {rank}"
        if index < self.size:
            tool, place = divmod(index - self.opened, OPENED_SIZE)
            return f"call opened tool {tool} way {place}"
        return "unused"

    def _mask(self, observed: Observed) -> Mask:
        """Work out which entries are open; only what has changed is worked out again."""
        calls = observed.calls
        if calls is None:
            calls = observed.calls = np.zeros(self.size, np.int8)
            stale = [block for block in self.blocks if block.tool in observed.tools]
        else:
            stale = [block for name in observed.changed for block in self._readers.get(name, ())]
            stale = [block for block in dict.fromkeys(stale) if block.tool in observed.tools]
        if observed.opened or observed.handed:
            stale += self._opened(observed)
            for tool in observed.handed:
                observed.fillings.pop(tool, None)
        observed.changed.clear()
        for block in stale:
            observed.fillings.pop(block.tool, None)
            end = block.start + len(self._ways(block, observed)) * len(block.choices)
            calls[block.start : end] = 1
            calls[end : block.start + block.size] = 0
            if spent := observed.spent.get(block.tool):
                for place, arguments in enumerate(self._fillings(block, observed), start=block.start):
                    calls[place] = arguments not in spent
        mask = calls.copy()
        mask[1 : 1 + len(self.acts)] = self._open_acts(observed)
        return mask

    # -- things to say ----------------------------------------------------------------------------------

    def begin(self, view: View) -> Observed:
        """Return what the seat knows before the first message.

        Args:
            view: Its view of the task.
        """
        lines = tuple(line_of(act, view) for act in self.acts)
        return Observed(view, lines, self._looked_for, self._words)

    def _open_acts(self, observed: Observed) -> list[bool]:
        """Return which acts are open, in their order."""
        said, spoken = observed.said, observed.counts["own_messages"] > 0
        others = spoken or self.seat == "agent"
        return [
            not (line in said or act.asked in observed.values)
            if act.kind == "ask"
            else not spoken
            if act.kind in FIRST
            else act.number < len(observed.handed)
            if act.kind == "instruct"
            else others and line is not None
            for act, line in zip(self.acts, observed.lines, strict=True)
        ]

    def _instruction(self, number: int, observed: Observed) -> str:
        name = list(observed.handed)[number]
        filled = self._fillings(self._block(0, name, parameters_of(observed.handed[name])), observed)
        told = f" with {json.dumps(filled[0], ensure_ascii=False)}" if filled and filled[0] else ""
        return f"Please use `{name}`{told}."

    # -- calls ------------------------------------------------------------------------------------------

    def _block(self, start: int, name: str, parameters: tuple[Parameter, ...], limit: int = CHOICES) -> Block:
        filled = tuple(parameter for parameter in parameters if not parameter.choices)
        choices = choices_of(parameters, limit)
        wanted = RANKS if len(parameters) > 1 else LISTED
        if any(p.name in SEARCH for p in filled):
            wanted = 1 + len(self.topics)
        ranks = max(1, min(wanted, limit // len(choices))) if filled else 1
        names = {source for parameter in filled for source in _sources(parameter, name)}
        return Block(start, name, filled, choices, ranks, frozenset((*names, call_of(name))))

    def _opened(self, observed: Observed) -> list[Block]:
        """Return the blocks of discoverable tools that the seat came to."""
        if self.size == self.opened:
            return []
        return [
            self._block(self.opened + number * OPENED_SIZE, name, parameters_of(schema), OPENED_SIZE)
            for number, (name, schema) in enumerate(itertools.islice(observed.opened.items(), OPENED))
        ]

    def _fillings(self, block: Block, observed: Observed) -> list[dict[str, Any]]:
        """Return the arguments of the entries of a block that can be filled, in order."""
        return [{**way, **choice} for way in self._ways(block, observed) for choice in block.choices]

    def _ways(self, block: Block, observed: Observed) -> list[dict[str, Any]]:
        """Return the ways to fill the values that a tool's schema does not list, the most recent first."""
        ways = observed.fillings.get(block.tool)
        if ways is None:
            ways = observed.fillings[block.tool] = self._filled(block, observed)
        return ways

    def _filled(self, block: Block, observed: Observed) -> list[dict[str, Any]]:
        """Work them out. Optional values are filled with what is known, or left out."""
        needed: dict[str, list[Any]] = {}
        known: dict[str, Any] = {}
        for parameter in block.filled:
            values = self._candidates(parameter, block, observed)
            if parameter.required:
                if not values:
                    return []
                needed[parameter.name] = values
            elif values:
                known[parameter.name] = values[0]
        ways = [
            dict(zip(needed, way, strict=True)) for way in _closest_first(list(needed.values()), block.ranks)
        ]
        if known:
            ways = [version for way in ways for version in ({**way, **known}, way)]
        return ways[: block.ranks]

    def _candidates(self, parameter: Parameter, block: Block, observed: Observed) -> list[Any]:
        name = parameter.name
        extra = self.texts.get(name, [])
        if name in SEARCH:
            return [*([observed.latest] if observed.latest else ()), *self.topics, *extra]
        if block.tool in (UNLOCK, GIVE):
            had = observed.opened if block.tool == UNLOCK else observed.handed
            return [value for value in observed.values_of("tool_name") if value not in had]
        if name in FREE_TEXT:
            values = [observed.latest] if observed.latest else []
        elif name in GENERIC:
            values = observed.told
        else:
            values = observed.values_of(name)
            kind = parameter.type
            if kind == "dollars":
                values = [*observed.values.get("(dollars)", ()), *values]
            elif kind in _TYPED:
                values = [*values, *observed.values.get(f"({kind})", ())]
            if parameter.kind == "integer" and parameter.required:
                values = [*observed.values.get("(whole)", ()), *values]
        if extra:
            values = [*values, *extra]
        return list(dict.fromkeys(fit for value in values if (fit := parameter.fit(value)) is not None))


def _sources(parameter: Parameter, tool: str) -> tuple[str, ...]:
    """Return the names of what an argument can be filled with, see `Observed.changed`."""
    if tool in (UNLOCK, GIVE):
        return ("tool_name", "(tools)")
    if parameter.name in FREE_TEXT:
        return ("(latest)",)
    return ("(told)",) if parameter.name in GENERIC else (parameter.name, f"({parameter.type})")


def _topics(read: Mapping[str, tuple[Parameter, ...]]) -> list[str]:
    """Return the names of tools as words, those left out that search, read or open something."""
    plain = [name for name, given in read.items() if not any(p.name in SEARCH for p in given)]
    return [name.replace("_", " ") for name in plain if name not in (UNLOCK, GIVE)]


def _closest_first(lists: Sequence[Sequence[Any]], limit: int) -> list[tuple[Any, ...]]:
    """Return combinations of one value of each list, early values first; no value stands in one twice."""
    if len(lists) < 2:
        return [(value,) for value in lists[0][:limit]] if lists else [()]
    most = limit if len(lists) < 4 else 2  # of each list, lest there be thousands
    places = itertools.product(*(range(min(len(values), most)) for values in lists))
    ways: list[tuple[Any, ...]] = []
    for place in sorted(places, key=lambda place: (sum(place), place)):
        way = tuple(values[index] for values, index in zip(lists, place, strict=True))
        if len(set(way)) == len(way):
            ways.append(way)
            if len(ways) == limit:
                break
    return ways


def _call(block: Block, arguments: dict[str, Any], opened: bool) -> dict[str, Any]:
    if opened:
        arguments = {"name": block.tool, "arguments": arguments}
    return {"type": "tool_call", "name": USE if opened else block.tool, "arguments": arguments}
