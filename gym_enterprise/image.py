"""`WorldImage`: the initial database of a domain, checked once, serialised, shared by all its worlds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import apsw

from gym_enterprise import strict_json
from gym_enterprise.changes import Table
from gym_enterprise.connection import CLOCK_WORDS, DATE_FUNCTIONS, REFUSED, ZONE_WORDS, connect, quoted
from gym_enterprise.errors import SchemaError, WorldError
from gym_enterprise.sql_text import FunctionCall, bare_words, function_calls

_CLOCK = ("CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP")


@dataclass(frozen=True)
class WorldImage:
    """The initial database of a domain: immutable, shared, copied into each `World` once."""

    data: bytes = field(repr=False)
    """The serialised SQLite database."""
    digest: str
    """SHA-256 (hex) over the data and the grading rules."""
    tables: Mapping[str, Table] = field(repr=False)
    """What grading knows of each table, by name, in declared order."""

    @classmethod
    def build(
        cls,
        schema: str,
        rows: Mapping[str, Iterable[Mapping[str, Any]]] | None = None,
        *,
        ungraded: Iterable[str] = (),
        json_columns: Iterable[str] = (),
        id_prefixes: Mapping[str, str] | None = None,
    ) -> WorldImage:
        """Create the database, refuse what would corrupt grading silently, and freeze it.

        Args:
            schema: SQL that creates tables, indices, triggers and views.
            rows: Rows to insert, by table, parents before children.
            ungraded: Names of tables ("log") and columns ("orders.note") that do not count.
            json_columns: Text columns ("orders.items") that are compared as canonical JSON.
            id_prefixes: Prefix of made ids by table; the default is the table's first three letters.

        Returns:
            The image.

        Raises:
            SchemaError: The schema or a row breaks a rule; the message names it and the cure.

        Example:
            >>> image = WorldImage.build("CREATE TABLE pets (id TEXT PRIMARY KEY, name TEXT) STRICT")
            >>> image.tables["pets"].key
            ('id',)
        """
        if not isinstance(schema, str):
            raise SchemaError(f"the schema is SQL text, got {_kind(schema)}: read a file with read_text()")
        db = connect()
        db.authorizer = _authorize
        try:
            db.execute(schema)
        except (apsw.Error, ValueError, WorldError) as error:
            raise SchemaError(f"the schema is refused: {error}") from error
        if db.in_transaction:
            raise SchemaError("the schema leaves a transaction open: drop its BEGIN")
        names = _table_names(db)
        for name in names:
            _refuse_table(db, name)
        _refuse_texts(db)
        _refuse_missing_parents(db, names)
        tables = _describe(db, names, _Rules(ungraded, json_columns, id_prefixes or {}))
        with db:
            for name, table_rows in _mapping("rows", rows or {}).items():
                _fill(db, tables, name, table_rows)
        _refuse_broken_references(db)
        data = db.serialize("main")
        db.close()
        rules = {
            name: [table.columns, table.key, table.graded, sorted(table.json), table.prefix]
            for name, table in tables.items()
        }
        # Bytes 92 to 99 of the file name the SQLite version that wrote it.
        digest = hashlib.sha256(data[:92] + data[100:] + strict_json.canonical(rules).encode()).hexdigest()
        return cls(data, digest, tables)


class _Rules:
    """The grading rules of a domain, used up as they are applied so that a misspelt name is found."""

    def __init__(
        self, ungraded: Iterable[str], json_columns: Iterable[str], prefixes: Mapping[str, str]
    ) -> None:
        self.ungraded = dict.fromkeys(_listed("ungraded", ungraded))
        self.json_columns = dict.fromkeys(_listed("json_columns", json_columns))
        self.id_prefixes = dict(_mapping("id_prefixes", prefixes))
        for name, prefix in self.id_prefixes.items():
            if not isinstance(prefix, str):
                raise SchemaError(f"id_prefixes[{name!r}] should be text, got {_kind(prefix)}")

    def refuse_leftovers(self) -> None:
        for what in ("ungraded", "json_columns", "id_prefixes"):
            for name in getattr(self, what):
                form = '"table"' if what == "id_prefixes" else '"table" or "table.column"'
                raise SchemaError(f"{what} names {name!r}, which the schema does not have; write {form}")


def _listed(what: str, names: Iterable[str]) -> Iterable[str]:
    if isinstance(names, str):
        raise SchemaError(f"{what} is a list of names, not one text: write [{names!r}]")
    return names


def _mapping(what: str, value: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"{what} is a mapping by table, got {_kind(value)}")
    return value


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _authorize(operation: int, *_: str | None) -> int:
    if operation in (apsw.SQLITE_ATTACH, apsw.SQLITE_DETACH):
        raise WorldError("ATTACH, DETACH and VACUUM INTO reach other databases: an image is one; drop them")
    return apsw.SQLITE_OK


def _table_names(db: apsw.Connection) -> list[str]:
    if list(db.execute("SELECT 1 FROM sqlite_temp_schema LIMIT 1")):
        raise SchemaError("TEMP objects are not recorded by grading: create them without TEMP")
    kinds = {row[1]: row[2] for row in db.execute("PRAGMA main.table_list")}
    for name, kind in kinds.items():
        if kind in ("virtual", "shadow"):
            raise SchemaError(f"table {name!r} is virtual: changes to it are not recorded; use a plain table")
    found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    return [row[0] for row in found]


def _refuse_table(db: apsw.Connection, name: str) -> None:
    if name == "sqlite_sequence":
        raise SchemaError("AUTOINCREMENT keeps a counter outside the rows: make ids with World.new_id")
    (strict,) = [row[5] for row in db.execute("PRAGMA main.table_list") if row[1] == name]
    columns = list(db.execute(f"PRAGMA table_xinfo({quoted(name)})"))
    if not any(row[5] for row in columns):
        raise SchemaError(
            f"table {name!r} has no primary key, so its changes cannot be recorded: add a PRIMARY KEY"
        )
    if not strict:
        raise SchemaError(
            f"table {name!r} is not STRICT, so a value's type depends on how it was written: "
            "end its CREATE TABLE with STRICT"
        )
    for row in columns:
        if row[4] is not None and any(word in _CLOCK for word in bare_words(row[4])):
            raise SchemaError(f"column {name}.{row[1]} has the default {row[4]}: use World.now for times")
        if row[4] is not None and not row[6]:
            _refuse_default(db, f"{name}.{row[1]}", row[4])
    for row in columns:
        if row[5] and row[2].upper() == "ANY":
            raise SchemaError(
                f"key column {name}.{row[1]} has the type ANY: 5 and 5.0 would be one row for SQLite and "
                "two for grading; give it the type of its values"
            )
    for column, collation in _key_collations(db, name, [row[1] for row in columns if row[5]]):
        if collation.upper() != "BINARY":
            raise SchemaError(
                f"key column {name}.{column} has the collation {collation}: two spellings would be one row "
                "for SQLite and two for grading; keys need the BINARY collation"
            )


def _refuse_default(db: apsw.Connection, column: str, default: str) -> None:
    """Compute a default, which names no column: if it asks for the clock or chance, that raises."""
    try:
        db.execute(f"SELECT ({default})").fetchall()
    except WorldError as error:
        raise SchemaError(f"column {column} has the default {default}: {error}") from error
    except apsw.Error:  # not computable outside its table, such as a bare word, which is a text
        return


def _key_collations(db: apsw.Connection, name: str, key: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the collations of the key columns and of the key's index, which may differ."""
    for column in key:
        yield column, db.column_metadata("main", name, column)[1]
    for index in db.execute(f"PRAGMA index_list({quoted(name)})"):
        if index[3] == "pk":
            for part in db.execute(f"PRAGMA index_xinfo({quoted(index[1])})"):
                if part[5]:
                    yield part[2], part[4]


def _refuse_texts(db: apsw.Connection) -> None:
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"):
        words = bare_words(sql)
        for before, word in zip(["", *words], words, strict=False):
            if word == "DEFERRABLE" and before != "NOT":
                raise SchemaError(
                    f"{kind} {name!r} has a DEFERRABLE key: a call could end with a broken reference; drop it"
                )
            if word in _CLOCK:
                raise SchemaError(f"{kind} {name!r} uses {word}, the machine's clock: pass World.now instead")
            if word == "AUTOINCREMENT":
                raise SchemaError(f"{kind} {name!r} uses AUTOINCREMENT: drop it, make ids with World.new_id")
            if word == "ROLLBACK":
                raise SchemaError(f"{kind} {name!r} uses ROLLBACK, which would end the episode: use ABORT")
        for call in function_calls(sql):
            if call.name in REFUSED:
                cure = REFUSED[call.name][1]
                raise SchemaError(
                    f"{kind} {name!r} calls {call.name}(), which differs from run to run: {cure}"
                )
            if call.name in DATE_FUNCTIONS and _asks_the_clock(call):
                raise SchemaError(
                    f"{kind} {name!r} calls {call.name}() with the machine's clock or zone: pass World.now "
                    "into a column and use that"
                )


def _asks_the_clock(call: FunctionCall) -> bool:
    times = DATE_FUNCTIONS[call.name]
    if len(call.arguments) <= times[-1] or any(
        word in CLOCK_WORDS for p in times for word in call.literals(p)
    ):
        return True
    return any(word in ZONE_WORDS for p in range(len(call.arguments)) for word in call.literals(p))


def _refuse_missing_parents(db: apsw.Connection, names: list[str]) -> None:
    known = {name.lower() for name in names}
    for name in names:
        for row in db.execute(f"PRAGMA foreign_key_list({quoted(name)})"):
            if row[2].lower() not in known:
                raise SchemaError(
                    f"column {name}.{row[3]} refers to the table {row[2]!r}, which the schema does not have: "
                    "create it, or drop the REFERENCES"
                )


def _refuse_broken_references(db: apsw.Connection) -> None:
    try:
        broken = db.execute("PRAGMA foreign_key_check").fetchone()
    except apsw.Error as error:
        raise SchemaError(f"a foreign key of the schema is refused: {error}") from error
    if broken:
        raise SchemaError(f"a row of {broken[0]!r} refers to a row of {broken[2]!r} that is not there")


def _describe(db: apsw.Connection, names: list[str], rules: _Rules) -> dict[str, Table]:
    tables = {}
    for name in names:
        info = list(db.execute(f"PRAGMA table_xinfo({quoted(name)})"))
        columns = tuple(row[1] for row in info if not row[6])
        key = tuple(row[1] for row in sorted((row for row in info if row[5]), key=lambda row: row[5]))
        whole = name in rules.ungraded
        rules.ungraded.pop(name, None)
        skipped = _take(rules.ungraded, name, columns)
        for column in skipped:
            if column in key:
                raise SchemaError(f"key column {name}.{column} cannot be ungraded: rows are compared by key")
        types = {row[1]: row[2].upper() for row in info}
        json_columns = _take(rules.json_columns, name, columns)
        for column in json_columns:
            if types[column] not in ("TEXT", "ANY") or column in key:
                raise SchemaError(f"{name}.{column} is declared JSON: it must be TEXT and outside the key")
        graded = () if whole else tuple(column for column in columns if column not in skipped)
        prefix = rules.id_prefixes.pop(name, f"{name[:3]}_")
        column_types = tuple(types[column] for column in columns)
        tables[name] = Table(name, columns, column_types, key, graded, frozenset(json_columns), prefix)
    rules.refuse_leftovers()
    return tables


def _take(wanted: dict[str, None], table: str, columns: tuple[str, ...]) -> list[str]:
    found = [column for column in columns if f"{table}.{column}" in wanted]
    for column in found:
        del wanted[f"{table}.{column}"]
    return found


def _fill(
    db: apsw.Connection, tables: Mapping[str, Table], name: str, rows: Iterable[Mapping[str, Any]]
) -> None:
    if name not in tables:
        raise SchemaError(f"rows are given for {name!r}, which is not a table; tables: {', '.join(tables)}")
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise SchemaError(f"the rows of {name!r} are a list of mappings, got {_kind(rows)}")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise SchemaError(f"row {number} of {name!r} is a mapping by column, got {_kind(row)}")
        unknown = [column for column in row if column not in tables[name].columns]
        if unknown:
            known = ", ".join(tables[name].columns)
            raise SchemaError(
                f"row {number} of {name!r} has the unknown column {unknown[0]!r}; columns: {known}"
            )
        columns = ", ".join(quoted(column) for column in row)
        marks = ", ".join("?" * len(row))
        try:
            db.execute(f"INSERT INTO {quoted(name)} ({columns}) VALUES ({marks})", tuple(row.values()))
        except (apsw.Error, ValueError, TypeError, OverflowError, WorldError) as error:
            raise SchemaError(f"row {number} of {name!r} is refused: {error}") from error
