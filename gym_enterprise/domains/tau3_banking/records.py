"""Document tables: the benchmark's 23 tables of free-form records, kept in a `World`.

A record is a JSON object that keeps exactly the keys it has, in their order; it is stored as text in a column
declared JSON, so that a missing key and a null, or 1 and 1.0, are different states. Beside the records stand
four small tables that are not graded: what each table's notes say, what the agent unlocked, which reads the
task records, and the order of the records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from gym_enterprise.image import WorldImage
from gym_enterprise.world import World

Record = dict[str, Any]
"""One record: values by field, as JSON has them."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "users": ("name", "email"),
    "accounts": ("user_id",),
    "debit_cards": ("account_id",),
    "referrals": ("referrer_id",),
    "credit_card_applications": (),
    "verification_history": (),
    "credit_card_transaction_history": ("user_id",),
    "cash_back_disputes": (),
    "bank_account_transaction_history": ("account_id",),
    "credit_card_accounts": ("user_id",),
    "transaction_disputes": ("user_id",),
    "credit_card_orders": ("credit_card_account_id",),
    "debit_card_orders": ("account_id",),
    "credit_card_closure_reasons": ("credit_card_account_id",),
    "credit_card_account_flags": (),
    "credit_limit_increase_requests": ("credit_card_account_id",),
    "payment_history": ("credit_card_account_id",),
    "debit_card_disputes": ("user_id",),
    "user_discoverable_tools": (),
    "user_discoverable_tool_calls": (),
    "agent_discoverable_tools": (),
    "task_config": (),
    "human_transfer_requests": (),
}
"""The tables, each with the fields by which tools look its records up."""

UNGRADED = ("table_notes", "unlocked_tools", "recorded_reads")
"""Side tables: {table: notes}, names that the agent unlocked, and reads that the task records as calls."""

_SIDE_TABLES = """
CREATE TABLE table_notes (name TEXT PRIMARY KEY, notes TEXT NOT NULL) STRICT;
CREATE TABLE unlocked_tools (name TEXT PRIMARY KEY) STRICT;
CREATE TABLE recorded_reads (name TEXT PRIMARY KEY) STRICT;
"""


def schema() -> str:
    """Return the SQL of all tables and of the indices on looked-up fields."""
    statements = [_SIDE_TABLES]
    for table, fields in TABLES.items():
        statements.append(
            f"CREATE TABLE {table} "
            "(record_id TEXT PRIMARY KEY, position INTEGER NOT NULL, data TEXT NOT NULL) STRICT; "
            f"CREATE INDEX {table}_position ON {table} (position);"
        )
        statements += [
            f"CREATE INDEX {table}_{field} ON {table} (json_extract(data, '$.{field}'), position);"
            for field in fields
        ]
    return "\n".join(statements)


def build_image(tables: Mapping[str, Mapping[str, Record]], notes: Mapping[str, str]) -> WorldImage:
    """Build the world image of a database.

    Args:
        tables: Records by id, by table.
        notes: The notes of each table.

    Returns:
        The image; records are ordered as given.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {
        table: [
            {"record_id": record_id, "position": position, "data": json.dumps(record, ensure_ascii=False)}
            for position, (record_id, record) in enumerate(records.items())
        ]
        for table, records in tables.items()
    }
    rows["table_notes"] = [{"name": table, "notes": notes.get(table, "")} for table in TABLES]
    return WorldImage.build(
        schema(),
        rows,
        ungraded=[*UNGRADED, *(f"{table}.position" for table in TABLES)],
        json_columns=[f"{table}.data" for table in TABLES],
    )


def find(world: World, table: str, record_id: Any) -> Record | None:
    """Return a record by id, or None; an id that is not text names nothing."""
    if not isinstance(record_id, str):
        return None
    row = world.one(f"SELECT data FROM {table} WHERE record_id = ?", record_id)
    return _record(row["data"]) if row else None


def rows(world: World, table: str) -> dict[str, Record]:
    """Return all records of a table by id, in the order in which they were added."""
    found = world.query(f"SELECT record_id, data FROM {table} ORDER BY position, record_id")
    return {row["record_id"]: _record(row["data"]) for row in found}


def matching(world: World, table: str, field: str, value: Any) -> dict[str, Record]:
    """Return the records of a table whose field has exactly this text, in the order they were added.

    Args:
        world: The world.
        table: The table.
        field: One of the table's looked-up fields.
        value: The text; anything else matches nothing.

    Returns:
        Records by id.
    """
    if not isinstance(value, str):
        return {}
    found = world.query(
        f"SELECT record_id, data FROM {table} WHERE json_extract(data, '$.{field}') = ? "
        "ORDER BY position, record_id",
        value,
    )
    return {row["record_id"]: _record(row["data"]) for row in found}


def count(world: World, table: str) -> int:
    """Return how many records a table has."""
    (row,) = world.query(f"SELECT count(*) AS records FROM {table}")
    return int(row["records"])


def insert(world: World, table: str, record: Record, record_id: str | None = None) -> bool:
    """Add a record; when its id is taken, leave the table as it is and return False.

    Args:
        world: The world.
        table: The table.
        record: The record.
        record_id: Its id; by default the value of its first field.
    """
    changed = world.execute(
        f"INSERT INTO {table} SELECT ?, coalesce(max(position) + 1, 0), ? FROM {table} WHERE true "
        "ON CONFLICT (record_id) DO NOTHING",
        next(iter(record.values())) if record_id is None else record_id,
        json.dumps(record, ensure_ascii=False),
    )
    return changed == 1


def change(world: World, table: str, record_id: str, record: Record, **fields: Any) -> None:
    """Set fields of a record that was read; other fields keep their values and their order."""
    record.update(fields)
    world.execute(
        f"UPDATE {table} SET data = ? WHERE record_id = ?", json.dumps(record, ensure_ascii=False), record_id
    )


def arguments_of(scope: Mapping[str, Any]) -> Record:
    """Return a tool's arguments from its `locals()`, in declared order: many records hold them all."""
    return {name: value for name, value in scope.items() if name != "world"}


def dump(world: World, table: str, records: Mapping[str, Record] | None = None) -> str:
    """Write records as text: a heading, then one numbered block a record, fields in the record's order.

    Args:
        world: The world.
        table: Where the records are from.
        records: The records by id; by default all of the table.

    Returns:
        The text; one sentence when there are none.
    """
    records = rows(world, table) if records is None else records
    if not records:
        return f"No records found in '{table}'."
    blocks = [f"Found {len(records)} record(s) in '{table}':"]
    for number, (record_id, record) in enumerate(records.items(), start=1):
        lines = [f"{number}. Record ID: {record_id}"]
        lines += [f"   {field}: {value}" for field, value in record.items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def canonical_hash(world: World) -> str:
    """Return the hash by which the benchmark compares states.

    It is SHA-256 over JSON of all tables, `{table: {"data": {id: record}, "notes": text}}`, with sorted keys,
    default separators and non-ASCII escaped. Grading compares change sets instead; equal hashes and equal
    change sets are the same thing, since both start from one initial state.

    Args:
        world: A world of this domain, in an episode.

    Returns:
        64 hexadecimal digits.
    """
    notes = {row["name"]: row["notes"] for row in world.query("SELECT name, notes FROM table_notes")}
    state = {table: {"data": rows(world, table), "notes": notes[table]} for table in TABLES}
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _record(data: str) -> Record:
    return json.loads(data)  # type: ignore[no-any-return]
