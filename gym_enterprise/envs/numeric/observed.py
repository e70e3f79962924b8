"""`Observed`: what one seat has seen so far, in numbers and named values. Folded from its messages alone."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gym_enterprise.messages import Message
from gym_enterprise.spaces import Mask
from gym_enterprise.tasks import View
from gym_enterprise.toolset import GIVE, USE

KEPT = 8
"""How many values are remembered under one name, the latest first."""
MAX_VALUE = 120
"""Longest text in characters that is taken for a value."""
MAX_MESSAGE = 4_000
"""How much of a message is read, in characters from its start."""
MAX_ROWS = 64
"""How many entries of a list in a result are read."""

BAGS = {"heard": 128, "latest": 64, "seen": 64}
"""Sizes of the bags of words: all that the partner said, what it said last, results of own calls."""

LAST = ("heard", "said", "worked", "failed", "note")
"""What the last entry of a history can be: the partner's words, own words, the outcome of an own call that
worked or failed, a note of the environment."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NAMED = re.compile(
    r"(?:^|[\s,;*-])([a-z][a-z _-]{1,48}?)[`*\"]*\s*(?:\bis\b|\bare\b|:|=)\s*(.+)$", re.IGNORECASE
)
_OWNER = re.compile(r"^(?:and |also |yes |the |my |your |our |its |their )+", re.IGNORECASE)
_NAMED_LAST = re.compile(
    r"^(?:that would be (?P<given>.{1,120}?),|(?!(?:my|the|your) )(?P<value>.{1,120}?) (?:is|are)) "
    r"(?:my|the|your) (?P<name>(?!.* (?:is|are) )[a-z][a-z _-]{1,48})$",
    re.IGNORECASE,
)
_ASKED_BACK = re.compile(r"^(?:my|the|your) ([a-z][a-z _-]{1,48})\?$", re.IGNORECASE)
_ANSWERED = re.compile(r"^it is (.+)$", re.IGNORECASE)
_TYPED = re.compile(
    r"(?P<date>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+)"
    r"|\$\s?(?P<dollars>\d[\d,]*(?:\.\d\d)?)"
    r"|(?P<amount>\b\d[\d,]*(?:\.\d\d)?)(?= ?(?:dollars|USD)\b)"
    r"|(?P<phone>\+?\(?\d{3}\)?[ -]\d{3}[ -]\d{4}\b)"
    r"|(?P<id>\b[a-z]{1,8}_[a-z0-9]*\d[a-z0-9]*\b)"
    r"|(?P<whole>\b\d{1,3}\b)"
)
_TOOL_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b")
_WORD = re.compile(r"[a-z]{2,}")

Bag = npt.NDArray[np.float32]


class Observed:
    """What a seat has seen: counts, named values, tools that it came to. Grows by `take_in`.

    Args:
        view: What the seat knows at the start: its tools and, for the user, its own scenario.
        lines: What the seat's menu has to say in this episode; None where there is no such thing.
        names: The arguments for which values are looked out for.
        words: What its tools call their arguments and choices: no names of other tools.
    """

    def __init__(
        self,
        view: View,
        lines: tuple[str | None, ...] = (),
        names: frozenset[str] = frozenset(),
        words: frozenset[str] = frozenset(),
    ) -> None:
        self.lines = lines
        self._names = names
        self.seat = view.seat
        self.scenario = view.scenario
        """The user's own scenario; None for the agent."""
        self.tools = frozenset(spec.name for spec in view.tools)
        """Names of the tools that it was told of."""
        self._no_tools = self.tools | words
        self.values: dict[str, list[Any]] = {}
        """Values by name, the latest first: fields of results, and what the partner called something."""
        self.changed: set[str] = set()
        """Names of values that have changed since a menu looked; also "(told)", "(latest)", "(tools)"
        and, for calls that were made, `call_of` their tool."""
        self.fillings: dict[str, list[dict[str, Any]]] = {}
        """The ways that a menu found to fill a tool's arguments: a cache."""
        self.calls: Mask | None = None
        """What a menu worked out of them: a cache."""
        self.mask: Mask | None = None
        """What a menu worked out of everything: a cache, None whenever something is new."""
        self.told: list[Any] = []
        """Values in the partner's words, named or not, the latest first."""
        self.latest = ""
        """What the partner said last."""
        self.opened: dict[str, dict[str, Any]] = {}
        """Schemas of discoverable tools that the seat can call, in the order of coming to them."""
        self.handed: dict[str, dict[str, Any]] = {}
        """Schemas of tools that it handed to the partner."""
        self.said: Counter[str] = Counter()
        """Own messages by text."""
        self.spent: dict[str, list[Any]] = {}
        """Arguments of own calls since the partner last spoke, by tool."""
        self.worked: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        """Own calls by tool that worked, and that did not."""
        self.counts = dict.fromkeys(("own_messages", "partner_messages", "own_calls", "own_errors"), 0)
        self.last = "nothing"
        """Kind of the last entry of the history: "nothing" or one of `LAST`."""
        self.last_tool = ""
        self.bags: dict[str, Bag] = {name: np.zeros(size, np.float32) for name, size in BAGS.items()}
        self.known: list[float] | None = None
        """How many values are known for each argument, as a feature: a cache."""
        self.records: set[str] = set()
        """Ids of records that were in results."""
        self._found: dict[str, list[Any]] = {}
        script = view.scenario.script if view.scenario else None
        self._learn({key: [fact.value] for key, fact in script.facts.items()} if script else {})

    def take_in(self, message: Message) -> Observed:
        """Take in the next message of the seat's history; returns itself."""
        self.mask = None
        if message.role == "tool" and message.call is not None:
            self._take_in_result(message.call.name, message.call.arguments, message.result)
        elif message.role == self.seat and message.call is None:
            self.counts["own_messages"] += 1
            self.said[message.content] += 1
            self.last = "said"
        elif message.role == "system":
            if message.seq:  # the first is what `view` says
                self.last = "note"
                self._open(message.content)
        elif message.role != self.seat:
            self._hear(message.content)
        return self

    def values_of(self, name: str) -> list[Any]:
        """Return the values known for an argument: those of its own name, then of longer or shorter ones.

        What is called `card_id` is good for `new_card_id`, and what is called `card_last_four` for
        `last_four`. The caller must not change the list.
        """
        values = self._found.get(name)
        if values is None:
            others = [other for other in self.values if _related(name, other)]
            values = [
                *self.values.get(name, ()),
                *(value for other in others for value in self.values[other]),
            ]
            if name in self._names:
                self._found[name] = values
        return values

    # -- inside ---------------------------------------------------------------------------------------

    def _hear(self, text: str) -> None:
        self.counts["partner_messages"] += 1
        self.changed.update(map(call_of, self.spent))
        text = text[:MAX_MESSAGE]
        self.last, self.latest, self.spent = "heard", text, {}
        heard, latest = _buckets(text)
        self.bags["heard"][heard] = 1
        self.bags["latest"][:] = 0
        self.bags["latest"][latest] = 1
        named: dict[str, list[Any]] = {}
        told: list[Any] = []
        for name, value in values_in(text):
            named.setdefault(name, []).append(value)
            if name != "(whole)":
                told.append(value)
        self.told = _merged(told, self.told)
        self.changed.update(("(told)", "(latest)"))
        self._learn(named)

    def _take_in_result(self, name: str, arguments: Any, outcome: Any) -> None:
        self.counts["own_calls"] += 1
        if name == USE and isinstance(arguments, dict):  # what was called is the tool that it names
            name, arguments = str(arguments.get("name")), arguments.get("arguments")
        self.spent.setdefault(name, []).append(arguments)
        self.changed.add(call_of(name))
        self.last_tool = name
        if not outcome.get("ok"):
            self.counts["own_errors"] += 1
            self.failed[name] += 1
            self.last = "failed"
            return
        self.worked[name] += 1
        self.last = "worked"
        result = outcome.get("result")
        found: dict[str, list[Any]] = {}
        for key, value in fields_of(result):
            self._see(key, value, found)
        self._learn(found)
        if isinstance(result, str):
            self._open(result, handed=name == GIVE)

    def _see(self, key: str, value: Any, found: dict[str, list[Any]]) -> None:
        """Note one field of a result."""
        if isinstance(value, str) and " " in value:
            names = [word for word in _tool_names(value) if word not in self._no_tools]
            if names:
                found.setdefault("tool_name", []).extend(names)
            if len(value) > MAX_VALUE:
                return
        if value is None or isinstance(value, bool) or (isinstance(value, str) and value.isalpha()):
            self.bags["seen"][_bucket(f"{key}={value}".lower(), BAGS["seen"])] = 1
        if value is not None and not isinstance(value, bool):
            found.setdefault(key, []).append(value)
            if key.endswith("id") and isinstance(value, str):
                self.records.add(value)

    def _learn(self, found: dict[str, list[Any]]) -> None:
        for name, values in found.items():
            before = self.values.get(name, [])
            merged = _merged(values, before)
            if merged != before:
                self.values[name] = merged
                self.known = None
                for argument in _fed_by(self._names, name):
                    self._found.pop(argument, None)
                self.changed.update(_fed_by(self._names, name))

    def _open(self, text: str, handed: bool = False) -> None:
        """Note a tool that a text from the environment describes, if it describes one."""
        begin = text.find("{")
        try:
            spec = json.JSONDecoder().raw_decode(text, begin)[0] if begin >= 0 else None
        except ValueError:
            spec = None
        if isinstance(spec, dict) and isinstance(spec.get("name"), str) and "parameters" in spec:
            (self.handed if handed else self.opened)[spec["name"]] = spec["parameters"]
            self.changed.add("(tools)")


@lru_cache(maxsize=4096)
def values_in(text: str) -> tuple[tuple[str, Any], ...]:
    """Return the values in a text with what it calls them; a typed one without a name under its type.

    Example:
        >>> values_in("My postal code is 30417. Set it to 250 dollars.")
        (('postal_code', '30417'), ('(dollars)', 250))
    """
    found: list[tuple[str, Any]] = []
    asked_back = ""
    for sentence in _SENTENCE.split(text):
        name, value = _named(sentence, asked_back)
        if name and value and len(value) <= MAX_VALUE:
            found.append((name, value))
        back = _ASKED_BACK.match(sentence)
        asked_back = back[1] if back else ""
        for typed in _TYPED.finditer(sentence):
            kind, value = typed.lastgroup or "", typed[typed.lastgroup or 0]
            if kind in ("dollars", "amount"):
                number = float(value.replace(",", ""))
                found.append(("(dollars)", int(number) if number.is_integer() else number))
            elif kind == "whole":
                found.append(("(whole)", int(value)))
            else:
                found.append((f"({kind})", value))
    return tuple(dict.fromkeys(found))


def _named(sentence: str, asked_back: str) -> tuple[str, str]:
    """Return a name and the value that a sentence gives it, both empty if it gives none.

    Args:
        sentence: Such as "My postal code is 30417.", "30417 is my postal code." or "It is 30417."
        asked_back: The name of which the sentence before was a question, as in "My postal code?"
    """
    plain = sentence.strip().rstrip(".!?;,")
    if asked_back and (answer := _ANSWERED.match(plain)):
        name, value = asked_back, answer[1]
    elif last := _NAMED_LAST.match(plain):
        name, value = last["name"], last["given"] or last["value"]
    elif first := _NAMED.search(plain):
        name, value = _OWNER.sub("", f"{first[1].strip()} "), first[2]
    else:
        return "", ""
    return name.strip().lower().replace(" ", "_").replace("-", "_"), value.strip("`\"'* ")


def fields_of(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a result with their names, however deep; entries of lists in order."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from fields_of(part, name)
    elif isinstance(value, list):
        for part in value[:MAX_ROWS]:
            yield from fields_of(part, key)
    else:
        yield key, value


def call_of(tool: str) -> str:
    """Return what stands in `Observed.changed` for a call of a tool.

    Example:
        >>> call_of("freeze_card")
        '(call of freeze_card)'
    """
    return f"(call of {tool})"


@lru_cache(maxsize=4096)
def _tool_names(text: str) -> tuple[str, ...]:
    """Return the words in a text that could be names of tools, each once."""
    return tuple(dict.fromkeys(_TOOL_NAME.findall(text)))


@lru_cache(maxsize=16384)
def _related(name: str, other: str) -> bool:
    """Whether one of two different names is the end of the other, at a word."""
    return name != other and (name.endswith(f"_{other}") or other.endswith(f"_{name}"))


@lru_cache(maxsize=4096)
def _fed_by(names: frozenset[str], name: str) -> frozenset[str]:
    """Return the arguments for which a value of this name is good, and the name itself."""
    return frozenset((name, *(other for other in names if _related(other, name))))


def _merged(new: Iterable[Any], old: list[Any]) -> list[Any]:
    """Return values, the new ones first, each once, as many as are kept."""
    return list(dict.fromkeys([*new, *old]))[:KEPT]


@lru_cache(maxsize=8192)
def _bucket(word: str, size: int) -> int:
    return zlib.crc32(word.encode()) % size


@lru_cache(maxsize=4096)
def _buckets(text: str) -> tuple[list[int], list[int]]:
    words = frozenset(_WORD.findall(text.lower()))
    heard, latest = ({_bucket(word, BAGS[bag]) for word in words} for bag in ("heard", "latest"))
    return sorted(heard), sorted(latest)
