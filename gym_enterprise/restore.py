"""Bringing a database to a saved point of an episode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import apsw

from gym_enterprise.changes import Table
from gym_enterprise.connection import quoted
from gym_enterprise.errors import SnapshotError

_CASCADES = (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, apsw.SQLITE_DBCONFIG_ENABLE_FKEY)
_Set = dict[str, Any]


def apply_changeset(db: apsw.Connection, changeset: bytes, tables: Mapping[str, Table]) -> None:
    """Make a net changeset again, on the state over which it was recorded.

    `sqlite3changeset_apply` is not used: where rows swapped values of a UNIQUE column it needs `random()`,
    and a CHECK on that column makes it fail. Here a row that does not fit yet is taken out and comes back
    last, when all others are as they were saved.

    Args:
        db: A connection inside a transaction; the caller rolls back on errors.
        changeset: What `World.changeset` returned.
        tables: The tables of the image.

    Raises:
        SnapshotError: A row that the changeset starts from is not there, or a new one is there already.
    """
    with _without_cascades(db):
        try:
            for table, row in _all_but_late(db, changeset, tables):
                _insert(db, table, row)
        except (apsw.Error, KeyError) as error:
            raise SnapshotError(f"the saved changes do not fit this initial state: {error}") from error


def _all_but_late(
    db: apsw.Connection, changeset: bytes, tables: Mapping[str, Table]
) -> list[tuple[Table, _Set]]:
    """Make the changes in their order; return the rows whose values other rows have until the end of it."""
    late: list[tuple[Table, _Set]] = []
    for change in apsw.Changeset.iter(changeset):
        table = tables[change.name]
        old, new = _given(table, change.old), _given(table, change.new)
        if change.op == "DELETE":
            _one(db, table, f"DELETE FROM {quoted(table.name)}", {}, old)
            continue
        try:
            if change.op == "INSERT":
                _insert(db, table, new)
            else:
                assignments = ", ".join(f"{quoted(column)} = ?" for column in new)
                _one(db, table, f"UPDATE OR ABORT {quoted(table.name)} SET {assignments}", new, old)
        except apsw.ConstraintError:
            late.append((table, _take(db, table, old) | new))
    return late


def _insert(db: apsw.Connection, table: Table, row: _Set) -> None:
    names, marks = ", ".join(map(quoted, row)), ", ".join("?" * len(row))
    db.execute(f"INSERT OR ABORT INTO {quoted(table.name)} ({names}) VALUES ({marks})", tuple(row.values()))


def _given(table: Table, values: tuple[Any, ...] | None) -> _Set:
    pairs = zip(table.columns, values or (), strict=False)
    return {column: value for column, value in pairs if value is not apsw.no_change}


def _take(db: apsw.Connection, table: Table, old: _Set) -> _Set:
    """Remove a row and return it; nothing for a row that is new."""
    if not old:
        return {}
    names, where = ", ".join(map(quoted, table.columns)), _where(old)
    (row,) = db.execute(f"SELECT {names} FROM {quoted(table.name)} WHERE {where}", tuple(old.values()))
    _one(db, table, f"DELETE FROM {quoted(table.name)}", {}, old)
    return dict(zip(table.columns, row, strict=True))


def _one(db: apsw.Connection, table: Table, sql: str, values: _Set, old: _Set) -> None:
    db.execute(f"{sql} WHERE {_where(old)}", (*values.values(), *old.values()))
    if db.changes() != 1:
        key = {column: old[column] for column in table.key}
        raise SnapshotError(
            f"the saved changes do not fit this initial state: the row {key!r} of {table.name!r} is not as "
            "it was; restore takes a snapshot of the same image and task"
        )


def _where(old: _Set) -> str:
    return " AND ".join(f"{quoted(column)} IS ?" for column in old)


@contextmanager
def _without_cascades(db: apsw.Connection) -> Iterator[None]:
    """Switch triggers and foreign keys off: what they did is in the changeset."""
    for setting in _CASCADES:
        db.config(setting, 0)
    try:
        yield
    finally:
        for setting in _CASCADES:
            db.config(setting, 1)
