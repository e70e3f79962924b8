"""Reading facts from TOML files.

The file `fees.toml` holds the facts `fees.…`. An entry is a table with one kind and its value:

    [replacement]
    lost = { money = 10.00, note = "general price list" }
    window = { months = 12, since = 2026-01-15, before = [{ months = 6, since = 2025-07-01 }] }
    twice = { derived = "fees.replacement.lost + fees.replacement.lost" }

`before` lists earlier values, the oldest first. `derived` computes a value from others with `+`, `-` and `*`,
one after the other from the left.
"""

import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

from kb.facts import KEY_PATTERN, KINDS, PERIODS, Fact, FactError, Facts, Kind, Revision, Value

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OWN = {"since", "before", "note", "derived"}
_DERIVED = re.compile(rf"{KEY_PATTERN.pattern}(?: [-+*] {KEY_PATTERN.pattern})+")
_SHARE = re.compile(r"(\d+)/(\d+)")
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def load_facts(folder: str | Path) -> Facts:
    """Read every TOML file of a folder.

    Args:
        folder: Where the files are; a folder that is not there holds no facts.

    Returns:
        The facts.

    Raises:
        FactError: An entry breaks a rule; the message names file, key, value, rule and cure.
    """
    read: dict[str, tuple[Path, dict[str, Any]]] = {}
    for path in sorted(Path(folder).glob("*.toml")):
        if not _NAME.fullmatch(path.stem):
            raise FactError(
                f"{path}: the name of a file begins its keys; use letters, digits and underscores"
            )
        for key, entry in _entries(path, path.stem, _parsed(path)):
            read[key] = (path, entry)
    facts = {key: _fact(path, key, entry) for key, (path, entry) in read.items() if "derived" not in entry}
    for key, (path, entry) in read.items():
        if "derived" in entry:
            facts[key] = _derived(path, key, entry, facts)
    return Facts(facts.values())


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FactError(f"{path}: not TOML in UTF-8: {error}; correct that line") from error


def _entries(path: Path, group: str, table: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the keys and tables of a file; a table with a kind in it is an entry, any other a group."""
    for name, value in table.items():
        key = f"{group}.{name}"
        if not _NAME.fullmatch(name):
            raise FactError(
                f"{path}: {key} has the part {name!r}; use lower-case letters, digits, underscores"
            )
        if not isinstance(value, dict) or not value:
            raise FactError(
                f"{path}: {key} is {value!r}; a fact is a table with a kind, such as {{ money = 10.00 }}"
            )
        if value.keys() & {*KINDS, *_OWN} and not all(isinstance(part, dict) for part in value.values()):
            yield key, value
        else:
            yield from _entries(path, key, value)


def _fact(path: Path, key: str, entry: dict[str, Any]) -> Fact:
    kind = _kind(path, key, entry, _OWN - {"derived"})
    note = entry.get("note", "")
    if not isinstance(note, str):
        raise FactError(f"{path}: {key} has the note {note!r}; it must be text")
    rows = [*_earlier(path, key, kind, entry.get("before", [])), entry]
    starts = [_since(path, key, row) for row in rows]
    for number, (before, after) in enumerate(pairwise(starts), start=1):
        if after is None or (before is None and number > 1) or (before is not None and before >= after):
            raise FactError(
                f"{path}: {key} goes from {before} to {after}; give each value after the first a day in "
                "`since`, the oldest value first"
            )
    ends = [start - timedelta(days=1) for start in starts[1:] if start is not None]
    values = [_checked(path, key, kind, row[kind]) for row in rows]
    revisions = tuple(map(Revision, values, starts, [*ends, None]))
    return Fact(key, kind, revisions, note, path.name)


def _kind(path: Path, key: str, entry: Mapping[str, Any], other: set[str]) -> Kind:
    kinds = [kind for kind in KINDS if kind in entry]
    unknown = sorted(entry.keys() - {*kinds, *other})
    if len(kinds) != 1 or unknown:
        found = ", ".join(map(repr, [*kinds, *unknown])) or "no kind"
        raise FactError(
            f"{path}: {key} has {found}; give one kind of {', '.join(KINDS)}, and else only "
            f"{', '.join(sorted(other))}"
        )
    return kinds[0]


def _earlier(path: Path, key: str, kind: Kind, before: object) -> list[dict[str, Any]]:
    if not isinstance(before, list) or not all(isinstance(row, dict) for row in before):
        raise FactError(f"{path}: {key} has before = {before!r}; give a list of tables like the fact's own")
    for row in before:
        if _kind(path, key, row, {"since"}) != kind:
            raise FactError(f"{path}: {key} was {row!r} and is of kind {kind}; a fact keeps its kind")
    return before


def _since(path: Path, key: str, row: Mapping[str, Any]) -> date | None:
    day = row.get("since")
    if day is not None and (not isinstance(day, date) or isinstance(day, datetime)):
        raise FactError(f"{path}: {key} has since = {day!r}; write a day, as in since = 2026-01-15")
    return day


def _checked(path: Path, key: str, kind: Kind, value: object) -> Value:
    """Return the value as the kind has it, or raise."""
    rule, made = _RULES[kind]
    found = made(value)
    if found is None:
        shown = str(value) if isinstance(value, Decimal) else repr(value)
        raise FactError(f"{path}: {key} has {kind} = {shown}; it must be {rule}")
    return found


def _money(value: object) -> Value | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or value < 0:
        return None
    cents = Fraction(value) * 100
    return cents.numerator if cents.denominator == 1 else None


def _percent(value: object) -> Value | None:
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or value < 0:
        return None
    return Decimal(value)


def _whole(value: object) -> Value | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _share(value: object) -> Value | None:
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    return Fraction(int(match[1]), int(match[2])) if match and int(match[2]) else None


def _text(value: object) -> Value | None:
    return value if isinstance(value, str) and [value.strip()] == value.splitlines() else None


def _day(value: object) -> Value | None:
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


_RULES: Mapping[Kind, tuple[str, Callable[[object], Value | None]]] = {
    **dict.fromkeys((*PERIODS, "count"), ("a whole number, 0 or more", _whole)),
    "money": ("dollars, 0 or more, with at most two decimals, as in 10.00", _money),
    "percent": ("a number, 0 or more, as in 2.5", _percent),
    "share": ('a fraction in text, as in "1/2"', _share),
    "date": ("a day, as in 2026-01-15", _day),
    "time": ("a time of day, as in 08:00:00", lambda value: value if isinstance(value, time) else None),
    "text": ("one line of text without blanks around it", _text),
    "flag": ("true or false", lambda value: value if isinstance(value, bool) else None),
    "rule": ("one line of text: the rule in exact words", _text),
}


def _derived(path: Path, key: str, entry: Mapping[str, Any], facts: Mapping[str, Fact]) -> Fact:
    """Compute a fact from others that were read before it."""
    formula, note = entry["derived"], entry.get("note", "")
    if not isinstance(formula, str) or not _DERIVED.fullmatch(formula) or entry.keys() - {"derived", "note"}:
        raise FactError(
            f'{path}: {key} is {dict(entry)!r}; a derived fact has derived = "key * key" (or + or -) and a '
            "note, and no other entry"
        )
    first, *rest = formula.split(" ")
    result = Fact(key, _named(path, key, first, facts).kind, (Revision(facts[first].value),), note, path.name)
    for sign, name in zip(rest[::2], rest[1::2], strict=True):
        other = _named(path, key, name, facts)
        value = _computed(result, sign, other)
        if value is None:
            raise FactError(
                f"{path}: {key} = {formula!r} comes to {result.kind} {sign} {other.kind} without a result of "
                "that kind (whole cents, whole numbers); combine others"
            )
        result = replace(result, revisions=(Revision(value),))
    return result


def _named(path: Path, key: str, name: str, facts: Mapping[str, Fact]) -> Fact:
    if name not in facts:
        raise FactError(
            f"{path}: {key} is derived from {name!r}, which is not there yet; name a fact, or a derived one "
            "that stands before this one"
        )
    return facts[name]


def _computed(left: Fact, sign: str, right: Fact) -> Value | None:
    """Return a value of the left fact's kind; None where the two do not combine."""
    a, b = left.value, right.value
    if isinstance(a, date) and right.kind == "days" and sign in "+-":
        return _OPERATIONS[sign](a, timedelta(days=int(str(b))))  # type: ignore[no-any-return]
    if left.kind == right.kind == "percent" and sign in "+-" and isinstance(a, Decimal):
        total: Decimal = _OPERATIONS[sign](a, b)
        return total if total >= 0 else None
    if left.kind not in ("money", "count", *PERIODS):
        return None
    if sign == "*" and right.kind in ("count", "share", "percent"):
        b = Fraction(str(b)) / (100 if right.kind == "percent" else 1)
    elif left.kind != right.kind or sign == "*":
        return None
    result = Fraction(_OPERATIONS[sign](a, b))
    return result.numerator if result.denominator == 1 and result >= 0 else None
