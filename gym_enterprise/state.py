"""A task's initial state: what it inserts, updates and deletes in the domain's image."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import apsw

from gym_enterprise.changes import Table
from gym_enterprise.connection import quoted
from gym_enterprise.errors import TaskError


def apply_state(db: apsw.Connection, tables: Mapping[str, Table], state: Any) -> None:
    """Insert, then update, then delete the rows that a task names.

    Args:
        db: A connection inside a transaction; the caller rolls back on errors.
        tables: The tables of the image.
        state: Object with `insert` {table: [row]}, `update` {table: [{"key", "set"}]} and
            `delete` {table: [{"key"}]}.

    Raises:
        TaskError: A name is unknown, a key does not name exactly one row, or SQLite refuses a value.
    """
    for name, rows in state.insert.items():
        for number, row in enumerate(rows):
            field = f"state.insert.{name}.{number}"
            table = _table(tables, name, row, field)
            columns = ", ".join(map(quoted, row))
            marks = ", ".join("?" * len(row))
            _run(db, f"INSERT INTO {quoted(name)} ({columns}) VALUES ({marks})", _bound(row), field)
    for name, rows in state.update.items():
        for number, row in enumerate(rows):
            field = f"state.update.{name}.{number}"
            table = _table(tables, name, {**row.key, **row.set}, field)
            where = _where(table, row.key, field)
            assignments = ", ".join(f"{quoted(column)} = ?" for column in row.set)
            values = _bound(row.set) + _bound(row.key)
            _run(db, f"UPDATE {quoted(name)} SET {assignments} WHERE {where}", values, field)
            _need_one(db, table, row.key, field)
    for name, rows in state.delete.items():
        for number, row in enumerate(rows):
            field = f"state.delete.{name}.{number}"
            table = _table(tables, name, row.key, field)
            where = _where(table, row.key, field)
            _run(db, f"DELETE FROM {quoted(name)} WHERE {where}", _bound(row.key), field)
            _need_one(db, table, row.key, field)


def _table(tables: Mapping[str, Table], name: str, columns: Mapping[str, Any], field: str) -> Table:
    if name not in tables:
        raise TaskError(f"there is no table {name!r}; tables: {', '.join(tables)}", field=field)
    for column in columns:
        if column not in tables[name].columns:
            raise TaskError(
                f"table {name!r} has no column {column!r}; columns: {', '.join(tables[name].columns)}",
                field=field,
            )
    return tables[name]


def _where(table: Table, key: Mapping[str, Any], field: str) -> str:
    if sorted(key) != sorted(table.key):
        raise TaskError(
            f"the key must name exactly {', '.join(table.key)}; got {', '.join(key) or 'nothing'}",
            field=field,
        )
    return " AND ".join(f"{quoted(column)} = ?" for column in key)


def _bound(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Bind values; an object or array for a JSON column is written as text."""
    return tuple(
        json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for value in row.values()
    )


def _run(db: apsw.Connection, sql: str, values: tuple[Any, ...], field: str) -> None:
    try:
        db.execute(sql, values)
    except (apsw.Error, ValueError, TypeError, OverflowError) as error:
        raise TaskError(f"the database refuses the row: {error}", field=field) from error


def _need_one(db: apsw.Connection, table: Table, key: Mapping[str, Any], field: str) -> None:
    if db.changes() != 1:
        raise TaskError(f"no row of {table.name!r} has the key {dict(key)!r}", field=field)
