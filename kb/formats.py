"""How the value of a fact is written in a document.

===========  ===================================  =======================================
format       kinds                                example
===========  ===================================  =======================================
(none)       all but flag and rule                $1,500.00 · 2.5 % · 60 days · 3 · half · 2026-01-15 · 08:00
words        periods, count                       two business days · six
number       periods, count, percent              60 · 2.5
hyphen       periods                              60-day
ordinal      count                                third
next         count                                the place after: fourth for 3
whole        money without cents                  $1,500
none, free   money, percent                       none · free for 0, else as usual
long         date                                 15 January 2026
month, year  date                                 January 2026 · 2026
since        all, by the revision                 its first day, to be formatted on
until        all, by the revision                 its last day, to be formatted on
capital      whatever was written so far          Two business days
===========  ===================================  =======================================
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from kb.facts import PERIODS, Fact, FactError, Kind, Revision, Value
from kb.numbers import ordinal, spelled

# fmt: off
_MONTHS = (  # of no locale
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)
# fmt: on
_SHARES = {
    Fraction(0): "nothing",
    Fraction(1): "the whole",
    Fraction(1, 2): "half",
    Fraction(1, 3): "a third",
    Fraction(2, 3): "two thirds",
    Fraction(1, 4): "a quarter",
    Fraction(3, 4): "three quarters",
}
_COUNTED: tuple[Kind, ...] = ("count", *PERIODS)


def rendered(fact: Fact, revision: Revision, formats: Sequence[str] = ()) -> str:
    """Write a value.

    Args:
        fact: Whose value it is.
        revision: Which of its values.
        formats: Names of formats, applied in order.

    Returns:
        The text.

    Raises:
        FactError: There is no such format, or it does not fit the value.

    Example:
        >>> days = Fact("travel.longest", "days", (Revision(90),))
        >>> rendered(days, days.revisions[-1]), rendered(days, days.revisions[-1], ["hyphen"])
        ('90 days', '90-day')
    """
    kind, value, text = fact.kind, revision.value, None
    for name in formats:
        if name == "capital":
            text = text if text is not None else _plain(fact, kind, value)
            text = text[:1].upper() + text[1:]
        elif text is not None:
            raise FactError(f"{fact.key}: format {name!r} comes after a text was made; put it first")
        elif name in ("since", "until"):
            kind, value = "date", _end(fact, revision, name)
        else:
            text = _formatted(fact, kind, value, name)
    return text if text is not None else _plain(fact, kind, value)


def _end(fact: Fact, revision: Revision, name: str) -> date:
    day: date | None = getattr(revision, name)
    if day is None:
        raise FactError(
            f"{fact.key} = {revision.value} has no day {name!r}: give it one, or leave the format out"
        )
    return day


def _formatted(fact: Fact, kind: Kind, value: Value, name: str) -> str:
    if name not in _FORMATS:
        known = ", ".join((*_FORMATS, "since", "until", "capital"))
        raise FactError(f"{fact.key}: there is no format {name!r}; there are {known}")
    kinds, write = _FORMATS[name]
    if kind not in kinds:
        raise FactError(
            f"{fact.key} is of kind {kind}; format {name!r} is for {', '.join(kinds)}: use another"
        )
    try:
        return write(kind, value)
    except ValueError as error:
        raise FactError(f"{fact.key}: {error}") from error


def _plain(fact: Fact, kind: Kind, value: Value) -> str:
    if kind not in _PLAIN:
        raise FactError(f"{fact.key} is of kind {kind}, which has no text of its own: state it and cite it")
    try:
        return _PLAIN[kind](kind, value)
    except ValueError as error:
        raise FactError(f"{fact.key}: {error}") from error


def _money(_: Kind, cents: Any) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def _whole(_: Kind, cents: Any) -> str:
    if cents % 100:
        raise ValueError(f"{_money('money', cents)} is not whole dollars: leave the format out")
    return f"${cents // 100:,}"


def _percent(_: Kind, value: Decimal) -> str:
    return f"{value} %"


def _unit(kind: Kind, value: Any) -> str:
    unit = kind.replace("_", " ")
    return unit.removesuffix("s") if value == 1 else unit


def _period(kind: Kind, value: Any) -> str:
    return f"{value} {_unit(kind, value)}"


def _share(_: Kind, value: Any) -> str:
    if value not in _SHARES:
        raise ValueError(f"{value} has no word; use one of {', '.join(map(str, _SHARES))}")
    return _SHARES[value]


def _words(kind: Kind, value: Any) -> str:
    return spelled(value) if kind == "count" else f"{spelled(value)} {_unit(kind, value)}"


def _or(word: str) -> Callable[[Kind, Any], str]:
    return lambda kind, value: _PLAIN[kind](kind, value) if value else word


_PLAIN: Mapping[Kind, Callable[[Kind, Any], str]] = {
    "money": _money,
    "percent": _percent,
    "count": lambda _, value: f"{value:,}",
    "share": _share,
    "date": lambda _, value: str(value.isoformat()),
    "time": lambda _, value: str(time.strftime(value, "%H:%M")),
    "text": lambda _, value: str(value),
} | dict.fromkeys(PERIODS, _period)

_FORMATS: Mapping[str, tuple[tuple[Kind, ...], Callable[[Kind, Any], str]]] = {
    "words": (_COUNTED, _words),
    "number": ((*_COUNTED, "percent"), lambda _, value: str(value)),
    "hyphen": (PERIODS, lambda kind, value: f"{value}-{_unit(kind, 1).replace(' ', '-')}"),
    "ordinal": (("count",), lambda _, value: ordinal(value)),
    "next": (("count",), lambda _, value: ordinal(value + 1)),
    "whole": (("money",), _whole),
    "none": (("money", "percent"), _or("none")),
    "free": (("money", "percent"), _or("free")),
    "long": (("date",), lambda _, day: f"{day.day} {_MONTHS[day.month - 1]} {day.year}"),
    "month": (("date",), lambda _, day: f"{_MONTHS[day.month - 1]} {day.year}"),
    "year": (("date",), lambda _, day: str(day.year)),
}
