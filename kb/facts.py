"""Facts: every constant and rule of a business, once, with a kind, a value and the values it had before."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeVar, get_args

from kb.documents import DocumentError

Kind = Literal[
    "money",
    "percent",
    "days",
    "business_days",
    "weeks",
    "months",
    "years",
    "hours",
    "minutes",
    "count",
    "share",
    "date",
    "time",
    "text",
    "flag",
    "rule",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
PERIODS: tuple[Kind, ...] = ("days", "business_days", "weeks", "months", "years", "hours", "minutes")
"""Kinds whose value is a whole number of a unit of time."""
Value = int | Decimal | Fraction | date | time | str | bool
"""Cents for money, a number of units for periods, text for a rule."""
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
V = TypeVar("V")


class FactError(DocumentError):
    """A fact, or what is asked of one, breaks a rule; the author of the knowledge base is at fault."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A value with the days on which it was, or is, in force."""

    value: Value
    """See `Value`."""
    since: date | None = None
    """First day; None: always."""
    until: date | None = None
    """Last day; None: it is in force."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One constant or rule."""

    key: str
    """Its name: the file, then the tables, then the entry, with dots between."""
    kind: Kind
    """What sort of value it has."""
    revisions: tuple[Revision, ...]
    """All values, the oldest first; the last one is in force."""
    note: str = ""
    """For authors."""
    source: str = ""
    """The file that holds it."""

    @property
    def value(self) -> Value:
        """The value in force."""
        return self.revisions[-1].value

    def at(self, day: date | None) -> Revision:
        """Return the value that was in force on a day.

        Args:
            day: The day; None for the value in force.

        Raises:
            FactError: The fact had no value yet.
        """
        if day is None:
            return self.revisions[-1]
        for revision in reversed(self.revisions):
            if revision.since is None or revision.since <= day:
                return revision
        first = self.revisions[0].since
        raise FactError(
            f"{self.source}: {self.key} begins on {first}; ask for that day or a later one, not {day}"
        )


class Facts(Mapping[str, Fact]):
    """All facts of a knowledge base by key, in order of keys; immutable.

    Example:
        >>> facts = Facts([Fact("fees.card", "money", (Revision(1000),))])
        >>> facts.money("fees.card")
        1000
    """

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts = {fact.key: fact for fact in sorted(facts, key=lambda fact: fact.key)}

    def __getitem__(self, key: str) -> Fact:
        if key not in self._facts:
            group = key.rpartition(".")[0]
            near = [known for known in self._facts if known.rpartition(".")[0] == group] or self.names("")
            raise FactError(
                f"there is no fact {key!r}; there are {', '.join(near)}: correct the key, or add it"
            )
        return self._facts[key]

    def __contains__(self, key: object) -> bool:
        return key in self._facts

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def names(self, group: str) -> tuple[str, ...]:
        """Return what the keys of a group go on with.

        Args:
            group: The first parts of a key, such as "products"; empty for the files.

        Example:
            >>> Facts([Fact("fees.card.new", "money", (Revision(1000),))]).names("fees")
            ('card',)
        """
        prefix = f"{group}." if group else ""
        tails = (key[len(prefix) :] for key in self._facts if key.startswith(prefix))
        return tuple(dict.fromkeys(tail.partition(".")[0] for tail in tails))

    def money(self, key: str) -> int:
        """Return an amount in cents."""
        return self._value(key, int, "money")

    def percent(self, key: str) -> Decimal:
        """Return a rate in percent."""
        return self._value(key, Decimal, "percent")

    def period(self, key: str, unit: Kind) -> int:
        """Return how many units a period has.

        Args:
            key: The fact.
            unit: One of `PERIODS`, which the fact must be in.
        """
        return self._value(key, int, unit)

    def days(self, key: str) -> int:
        """Return a number of calendar days."""
        return self.period(key, "days")

    def months(self, key: str) -> int:
        """Return a number of months."""
        return self.period(key, "months")

    def count(self, key: str) -> int:
        """Return a number of things."""
        return self._value(key, int, "count")

    def share(self, key: str) -> Fraction:
        """Return a part of a whole."""
        return self._value(key, Fraction, "share")

    def day(self, key: str) -> date:
        """Return a day."""
        return self._value(key, date, "date")

    def text(self, key: str) -> str:
        """Return a name or a word."""
        return self._value(key, str, "text")

    def flag(self, key: str) -> bool:
        """Return whether something holds."""
        return self._value(key, bool, "flag")

    def _value(self, key: str, made: type[V], kind: Kind) -> V:
        fact = self[key]
        if fact.kind != kind or not isinstance(fact.value, made):
            raise FactError(f"{fact.source}: {key} is of kind {fact.kind}, not {kind}; ask for what it is")
        return fact.value
