"""The second grader: dump two whole databases and compare them row by row.

Slow and plain on purpose. It shares no code with `gym_enterprise.changes`; tests and `--audit` hold the
fast grader against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gym_enterprise import strict_json
from gym_enterprise.changes import Table

if TYPE_CHECKING:
    from gym_enterprise.world import World

Cell = tuple[str, Any]
"""A value and its type, by SQLite's `typeof`."""
Dump = dict[str, dict[tuple[Cell, ...], tuple[Cell, ...]]]
"""Graded columns of each row, by key, by table."""


def dump(world: World) -> Dump:
    """Read every graded row of a world.

    Args:
        world: A world in an episode.

    Returns:
        For each graded table its rows by key; two worlds of one image are in the same graded state
        exactly when their dumps are equal.

    Example:
        >>> from gym_enterprise.world import World, WorldImage
        >>> pets = "CREATE TABLE pets (id TEXT PRIMARY KEY, legs INTEGER) STRICT"
        >>> world = World(WorldImage.build(pets, {"pets": [{"id": "p1", "legs": 4}]}))
        >>> world.begin(now="2026-03-02T09:30:00", seed=7)
        >>> dump(world)
        {'pets': {(('text', 'p1'),): (('text', 'p1'), ('integer', 4))}}
    """
    return {table.name: _dump_table(world, table) for table in world.image.tables.values() if table.graded}


def same_state(a: World, b: World) -> bool:
    """Say whether two worlds of one image are in the same graded state, by comparing all their rows."""
    return all(
        _dump_table(a, table) == _dump_table(b, table) if table.json else _rows(a, table) == _rows(b, table)
        for table in a.image.tables.values()
        if table.graded
    )


def _rows(world: World, table: Table) -> set[str]:
    """Return the graded columns of each row as one text, in which every value shows its type.

    Much faster than a dump: SQLite writes the text. Values are in hexadecimal, since `quote` ends at a NUL.
    """
    parts = []
    for column in table.graded:
        name = '"' + column.replace('"', '""') + '"'
        number = f"CASE WHEN typeof({name}) = 'real' AND {name} = 0 THEN '0.0' ELSE quote({name}) END"
        parts.append(
            f"CASE WHEN typeof({name}) IN ('text', 'blob') THEN typeof({name}) || hex({name}) "
            f"ELSE {number} END"
        )
    source = table.name.replace('"', '""')
    whole = " || ',' || ".join(parts)
    found = world.query(f'SELECT {whole} AS whole FROM "{source}"')
    return {row["whole"] for row in found}


def _dump_table(world: World, table: Table) -> dict[tuple[Cell, ...], tuple[Cell, ...]]:
    selected = []
    for number, column in enumerate(table.graded):
        name = column.replace('"', '""')
        selected.append(f'typeof("{name}") AS type{number}, "{name}" AS value{number}')
    source = table.name.replace('"', '""')
    rows = {}
    for record in world.query(f'SELECT {", ".join(selected)} FROM "{source}"'):
        cells = {}
        for number, column in enumerate(table.graded):
            cells[column] = _cell(record[f"type{number}"], record[f"value{number}"], column in table.json)
        rows[tuple(cells[column] for column in table.key)] = tuple(cells.values())
    return rows


def _cell(kind: str, value: Any, is_json: bool) -> Cell:
    if kind == "real" and value == 0:
        return ("real", 0.0)  # minus zero too
    if kind == "text" and is_json:
        try:
            return ("json", strict_json.canonical(strict_json.parse(value)))
        except ValueError:
            return ("text", value)
    return (kind, value)
