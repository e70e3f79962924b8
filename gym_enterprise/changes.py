"""What an episode changed: `ChangeSet`, the net graded difference to the initial state, and `Diff`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import apsw

from gym_enterprise import strict_json

Value = None | int | float | str | bytes
Tagged = tuple[str, Any]
"""A value with its type, so that 5, 5.0 and "5" differ."""


_INFINITE = (math.inf, -math.inf)


def tag(value: Value, is_json: bool = False) -> Tagged:
    """Return a value with its type, under which equality is the grading rule.

    Args:
        value: What SQLite returned.
        is_json: The column is declared JSON: valid JSON text is compared in canonical form.

    Returns:
        `(type, comparable value)`. Minus zero counts as zero, as it does for SQLite.
    """
    if value is None:
        return ("null", 0)
    if isinstance(value, str):
        if is_json:
            try:
                return ("json", strict_json.canonical(strict_json.parse(value)))
            except ValueError:
                pass
        return ("text", value)
    if isinstance(value, float):
        return ("real", value + 0.0)
    if isinstance(value, int):
        return ("integer", int(value))
    return ("blob", bytes(value))


def shown(tagged: Tagged) -> Any:
    """Return a tagged value as a JSON value for a diff."""
    kind, value = tagged
    if kind == "null":
        return None
    if kind == "blob":
        return {"blob": value.hex()}
    return {"real": str(value)} if value in _INFINITE else value


@dataclass(frozen=True, slots=True)
class Table:
    """What grading knows of one table."""

    name: str
    """Name as declared."""
    columns: tuple[str, ...]
    """Stored columns in declared order; generated columns are left out, they follow from the others."""
    types: tuple[str, ...]
    """Declared types of the columns."""
    key: tuple[str, ...]
    """Columns of the primary key, in key order."""
    graded: tuple[str, ...]
    """Columns that count, key included; empty when the whole table is ungraded."""
    json: frozenset[str] = frozenset()
    """Columns compared as canonical JSON."""
    prefix: str = ""
    """Prefix of ids made by `World.new_id`."""


@dataclass(frozen=True, slots=True)
class Change:
    """The net change of one row."""

    op: Literal["insert", "update", "delete"]
    """What happened to the row, from the initial state to now."""
    values: Mapping[str, Tagged]
    """New values: all graded columns of an inserted row, the changed ones of an updated row."""
    before: Mapping[str, Tagged] = field(default_factory=dict, compare=False)
    """Old values, for reading only."""


RowKey = tuple[str, tuple[Tagged, ...]]


@dataclass(frozen=True, slots=True)
class Diff:
    """How an actual change set differs from a target; empty exactly when they are equal."""

    missing: tuple[dict[str, Any], ...] = ()
    """Changes of the target that were not made."""
    extra: tuple[dict[str, Any], ...] = ()
    """Changes that the target does not have."""
    changed: tuple[dict[str, Any], ...] = ()
    """Rows changed by both, to different values."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.changed)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {"missing": list(self.missing), "extra": list(self.extra), "changed": list(self.changed)}


class ChangeSet:
    """The net difference of the graded state to the initial state.

    For one initial state, equal change sets mean equal graded states and the other way round; the cost
    of a comparison depends on what changed, not on the size of the database.

    Args:
        rows: Net change of each row that changed.
        tables: The tables, for showing keys by column name.
    """

    __slots__ = ("_tables", "rows")

    def __init__(self, rows: Mapping[RowKey, Change], tables: Mapping[str, Table]) -> None:
        self.rows = dict(sorted(rows.items(), key=lambda item: item[0]))
        self._tables = tables

    @classmethod
    def from_sqlite(cls, changeset: bytes, tables: Mapping[str, Table]) -> ChangeSet:
        """Read a SQLite changeset under the grading rules; a change that vanishes under them is none."""
        rows: dict[RowKey, Change] = {}
        for entry in apsw.Changeset.iter(changeset):
            table = tables[entry.name]
            if not table.graded:
                continue
            old = _graded(table, entry.old or ())
            new = _graded(table, entry.new or ())
            keys = old if entry.old else new
            row_key = (table.name, tuple(keys[column] for column in table.key))
            if entry.op == "INSERT":
                rows[row_key] = Change("insert", new)
            elif entry.op == "DELETE":
                rows[row_key] = Change("delete", {}, old)
            else:
                values = {column: value for column, value in new.items() if value != old.get(column)}
                if values:
                    rows[row_key] = Change("update", values, {column: old[column] for column in values})
        return cls(rows, tables)

    def __eq__(self, other: object) -> bool:
        return self.rows == other.rows if isinstance(other, ChangeSet) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self._row(key, change) for key, change in self.rows.items())

    def __repr__(self) -> str:
        return f"ChangeSet({list(self)!r})"

    def diff(self, target: ChangeSet) -> Diff:
        """Compare with the change set that was wanted.

        Args:
            target: The changes that the reference makes from the same initial state.

        Returns:
            Rows missing, extra and changed; falsy exactly when the change sets are equal.
        """
        missing = [self._row(key, target.rows[key]) for key in target.rows if key not in self.rows]
        extra = [self._row(key, self.rows[key]) for key in self.rows if key not in target.rows]
        changed = [
            self._row(key, change) | {"wanted": self._row(key, target.rows[key])}
            for key, change in self.rows.items()
            if key in target.rows and target.rows[key] != change
        ]
        return Diff(tuple(missing), tuple(extra), tuple(changed))

    def to_list(self) -> list[dict[str, Any]]:
        """Return the changes as a JSON value, ordered by table and key."""
        return list(self)

    def _row(self, key: RowKey, change: Change) -> dict[str, Any]:
        table, values = key
        row: dict[str, Any] = {
            "table": table,
            "key": {c: shown(v) for c, v in zip(self._tables[table].key, values, strict=True)},
            "op": change.op,
        }
        if change.values:
            row["values"] = _shown_all(change.values)
        if change.before:
            row["before"] = _shown_all(change.before)
        return row


def _graded(table: Table, values: Iterable[Any]) -> dict[str, Tagged]:
    return {
        column: tag(value, column in table.json)
        for column, value in zip(table.columns, values, strict=False)
        if value is not apsw.no_change and column in table.graded
    }


def _shown_all(values: Mapping[str, Tagged]) -> dict[str, Any]:
    return {column: shown(value) for column, value in values.items()}
