"""Hypothesis strategies: random schemas, random statements on them, and a player that runs these."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import apsw
from hypothesis import strategies as st

from gym_enterprise.world import World, WorldImage

NOW, SEED = "2026-03-02T09:30:00", 7

TEXTS = ["", "a", "A", "1", "1.0", "01", "a\0b", "a\0", "é", "NULL"]
INTEGERS = [0, 1, 2, 3, -1, 2**63 - 1, -(2**63), 2**53 + 1]
REALS = [0.0, -0.0, 1.0, 1.5, 2.0, -1.5, 1e300, float("inf"), 3]
BLOBS = [b"", b"a", b"a\0", b"1", b"\xff"]
JSONS = [
    '{"a":1,"b":[2]}',
    '{"b": [2], "a": 1}',
    '{"a":1.0,"b":[2]}',
    '{"a":1,"a":1}',
    "1",
    "1.0",
    "1e0",
    "0.0",
    "-0.0",
    "NaN",
    "1e999",
    "[1",
    '"\\u00e9"',
    '"é"',
    "null",
]
POOLS: dict[str, list[Any]] = {
    "TEXT": [*TEXTS, 1],
    "INTEGER": [*INTEGERS, 1.0, "2"],
    "INT": [*INTEGERS, 2.0],
    "REAL": [*REALS, 1, "1.5"],
    "BLOB": BLOBS,
    "ANY": [*TEXTS, *INTEGERS, *REALS, *BLOBS],
    "JSON": JSONS,
}
KEYS = [
    ("TEXT",),
    ("INTEGER",),
    ("INT",),
    ("REAL",),
    ("BLOB",),
    ("TEXT", "INT"),
    ("INTEGER", "REAL"),
    ("INT", "TEXT", "BLOB"),
]
ENDINGS = ("STRICT", "STRICT, WITHOUT ROWID")
ACTIONS = ["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"]
REACTIONS = [
    "INSERT INTO log (what) VALUES ('{event} of {table}');",
    "INSERT INTO tally VALUES ('{table}', 1) ON CONFLICT DO UPDATE SET n = n + 1;",
    "DELETE FROM {other} WHERE {other_key} = 1;",
    "UPDATE {other} SET {other_column} = NULL;",
    "INSERT OR REPLACE INTO tally VALUES ('{event}', (SELECT count(*) FROM {table}));",
    "SELECT RAISE(ABORT, 'too many') WHERE (SELECT count(*) FROM {table}) > 4;",
    "SELECT RAISE(FAIL, 'too many') WHERE (SELECT count(*) FROM {table}) > 3;",
]


class Refused(Exception):
    """A tool that gave up after its statements ran."""


@dataclass(frozen=True)
class Statement:
    sql: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Reinsertion:
    """Delete the first row and insert it again, as it was."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]


@dataclass(frozen=True)
class Swap:
    """Exchange a column's values of the first two rows, over a third value."""

    table: str
    column: str
    spare: Any


Step = Statement | Reinsertion | Swap


@dataclass(frozen=True)
class Call:
    """One tool call: statements of one savepoint, and whether it fails after them."""

    steps: tuple[Step, ...]
    fails: bool = False


@dataclass(frozen=True)
class RandomTable:
    name: str
    key: tuple[str, ...]
    kinds: dict[str, str]
    """Which pool of values each stored column draws from, key first."""

    def pool(self, column: str) -> list[Any]:
        values = POOLS[self.kinds[column]]
        return values if column in self.key else [None, *values]


@dataclass(frozen=True)
class RandomWorld:
    schema: str
    tables: tuple[RandomTable, ...]
    ungraded: tuple[str, ...]
    json_columns: tuple[str, ...]

    def image(self) -> WorldImage:
        return WorldImage.build(self.schema, ungraded=self.ungraded, json_columns=self.json_columns)


@dataclass(frozen=True)
class Update:
    """A row of a task's state that is updated or deleted."""

    key: dict[str, Any]
    set: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """The shape of a task's initial state."""

    insert: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    update: dict[str, list[Update]] = field(default_factory=dict)
    delete: dict[str, list[Update]] = field(default_factory=dict)


def started(image: WorldImage) -> World:
    world = World(image)
    world.begin(now=NOW, seed=SEED)
    return world


def play(world: World, calls: list[Call]) -> None:
    """Run calls; one that the database or the tool refuses is rolled back."""
    for call in calls:
        try:
            with world.call():
                for step in call.steps:
                    _run(world, step)
                if call.fails:
                    raise Refused
        except (Refused, apsw.ConstraintError, apsw.MismatchError):
            pass


def _run(world: World, step: Step) -> None:
    if isinstance(step, Statement):
        world.execute(step.sql, *step.values)
    elif isinstance(step, Reinsertion):
        _reinsert(world, step)
    else:
        found = world.query(f"SELECT {step.column} AS v FROM {step.table} ORDER BY 1 LIMIT 2")
        if len(found) == 2:
            (a, b), sql = found, f"UPDATE {step.table} SET {step.column} = ? WHERE {step.column} IS ?"
            for new, old in ((step.spare, a["v"]), (a["v"], b["v"]), (b["v"], step.spare)):
                world.execute(sql, new, old)


def _reinsert(world: World, step: Reinsertion) -> None:
    names = ", ".join(step.columns)
    row = world.one(f"SELECT {names} FROM {step.table} ORDER BY {', '.join(step.key)} LIMIT 1")
    if row is not None:
        where = " AND ".join(f"{column} IS ?" for column in step.key)
        world.execute(f"DELETE FROM {step.table} WHERE {where}", *(row[column] for column in step.key))
        world.insert(step.table, **row)


def everything(world: World) -> dict[str, list[tuple[tuple[str, Any], ...]]]:
    """Return all columns of all rows, ungraded and generated ones too, with types, in key order."""
    found = {}
    for table in world.image.tables.values():
        order = ", ".join(table.key)
        rows = world.query(f"SELECT * FROM {table.name} ORDER BY {order}")
        found[table.name] = [tuple((type(value).__name__, value) for value in row.values()) for row in rows]
    return found


# -- schemas --------------------------------------------------------------------------------------------


@st.composite
def random_worlds(draw: st.DrawFn, endings: tuple[str, ...] = ENDINGS) -> RandomWorld:
    """Draw up to three linked tables with rows, plus an ungraded log and a tally for the triggers."""
    tables: list[RandomTable] = []
    sql: list[str] = []
    ungraded, json_columns = ["log"], []
    for number in range(draw(st.integers(1, 3))):
        table, lines, marks = _table(draw, f"t{number}", tables, endings)
        tables.append(table)
        sql.append(lines)
        ungraded += marks["ungraded"]
        json_columns += marks["json"]
    sql.append("CREATE TABLE log (n INTEGER PRIMARY KEY, what TEXT) STRICT;")
    sql.append("CREATE TABLE tally (name TEXT PRIMARY KEY, n INTEGER) STRICT, WITHOUT ROWID;")
    if len(tables) > 1 and draw(st.integers(0, 5)) == 0:
        ungraded.append(tables[-1].name)
        ungraded = [name for name in ungraded if not name.startswith(f"{tables[-1].name}.")]
    inserts = [
        _insert(draw, draw(st.sampled_from(tables)), "INSERT") for _ in range(draw(st.integers(3, 10)))
    ]
    sql += _accepted(sql, inserts)
    sql += [_trigger(draw, f"r{number}", tables) for number in range(draw(st.integers(0, 2)))]
    return RandomWorld("\n".join(sql), tuple(tables), tuple(ungraded), tuple(json_columns))


def _table(
    draw: st.DrawFn, name: str, others: list[RandomTable], endings: tuple[str, ...]
) -> tuple[RandomTable, str, dict[str, list[str]]]:
    kinds: dict[str, str] = {}
    marks: dict[str, list[str]] = {"ungraded": [], "json": []}
    lines = []
    key = draw(st.sampled_from(KEYS))
    for number, kind in enumerate(key):
        kinds[f"k{number}"] = kind
        lines.append(f"k{number} {kind}")
    names = tuple(kinds)
    if draw(st.booleans()):
        lines.append("g ANY GENERATED ALWAYS AS (quote(c0)) " + draw(st.sampled_from(["STORED", "VIRTUAL"])))
    for number in range(draw(st.integers(1, 3))):
        column, kind = f"c{number}", draw(st.sampled_from(["TEXT", "INTEGER", "REAL", "BLOB", "ANY", "JSON"]))
        kinds[column] = kind
        extra = draw(st.sampled_from(["", "", "", "UNIQUE", "UNIQUE ON CONFLICT REPLACE", "COLLATE NOCASE"]))
        lines.append(f"{column} {'TEXT' if kind == 'JSON' else kind} {extra}")
        if kind == "JSON":
            marks["json"].append(f"{name}.{column}")
        if draw(st.integers(0, 4)) == 0:
            marks["ungraded"].append(f"{name}.{column}")
    parents = [table for table in others if len(table.key) == 1]
    if len(key) == 1 and draw(st.booleans()):
        parents.append(RandomTable(name, names, kinds))
    if draw(st.booleans()) and parents:
        parent = draw(st.sampled_from(parents))
        kinds["parent"] = kind = parent.kinds["k0"]
        delete, update = draw(st.sampled_from(ACTIONS)), draw(st.sampled_from(ACTIONS))
        lines.append(f"parent {kind} REFERENCES {parent.name} (k0) ON DELETE {delete} ON UPDATE {update}")
    lines.append(f"PRIMARY KEY ({', '.join(names)})")
    ending = draw(st.sampled_from(endings))
    return RandomTable(name, names, kinds), f"CREATE TABLE {name} ({', '.join(lines)}) {ending};", marks


def _accepted(schema: list[str], inserts: list[Statement]) -> list[str]:
    """Return, as SQL text, the inserts that the tables take."""
    db = apsw.Connection(":memory:")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("".join(schema))
    kept = []
    for insert in inserts:
        try:
            with db:
                db.execute(insert.sql, insert.values)
                # SQLite takes a dangling reference of a table to itself when the insert may replace rows.
                if list(db.execute("PRAGMA foreign_key_check")):
                    raise Refused
        except (Refused, apsw.ConstraintError, apsw.MismatchError):
            continue
        start = insert.sql.partition(" VALUES (")[0]
        kept.append(f"{start} VALUES ({', '.join(map(apsw.format_sql_value, insert.values))});")
    return kept


def _trigger(draw: st.DrawFn, name: str, tables: list[RandomTable]) -> str:
    table, other = draw(st.sampled_from(tables)), draw(st.sampled_from(tables))
    event = draw(st.sampled_from(["INSERT", "UPDATE", "DELETE"]))
    reaction = draw(st.sampled_from(REACTIONS)).format(
        event=event, table=table.name, other=other.name, other_key="k0", other_column="c0"
    )
    when = draw(st.sampled_from(["BEFORE", "AFTER"]))
    return f"CREATE TRIGGER {name} {when} {event} ON {table.name} BEGIN {reaction} END;"


# -- statements -----------------------------------------------------------------------------------------

_OR = ["", "", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ABORT"]


def calls(world: RandomWorld) -> st.SearchStrategy[list[Call]]:
    """Draw tool calls on a world; one in five fails after its statements."""
    steps = st.lists(_steps(world), min_size=1, max_size=3).map(lambda groups: sum(groups, ()))
    call = st.builds(Call, steps, st.integers(0, 4).map(lambda n: n == 4))
    return st.lists(call, min_size=1, max_size=5)


@st.composite
def _steps(draw: st.DrawFn, world: RandomWorld) -> tuple[Step, ...]:
    table = draw(st.sampled_from(world.tables))
    kind = draw(st.sampled_from(["insert", "insert", "upsert", "update", "update", "delete", "swap", "misc"]))
    if kind == "insert":
        return (_insert(draw, table, "INSERT" + draw(st.sampled_from(_OR))),)
    if kind == "upsert":
        insert = _insert(draw, table, "INSERT")
        column = draw(st.sampled_from(list(table.kinds)))
        act = draw(st.sampled_from([f"UPDATE SET {column} = excluded.{column}", "NOTHING"]))
        return (Statement(f"{insert.sql} ON CONFLICT DO {act}", insert.values),)
    if kind == "update":
        return (_update(draw, table),)
    if kind == "delete":
        where, values = _where(draw, table)
        return (Statement(f"DELETE FROM {table.name}{where}", values),)
    if kind == "swap":
        column = draw(st.sampled_from(list(table.kinds)))
        return (Swap(table.name, column, draw(st.sampled_from(table.pool(column)))),)
    return (_oddity(draw, table),)


def _insert(draw: st.DrawFn, table: RandomTable, verb: str) -> Statement:
    values = tuple(draw(st.sampled_from(table.pool(column))) for column in table.kinds)
    marks = ", ".join("?" * len(values))
    return Statement(f"{verb} INTO {table.name} ({', '.join(table.kinds)}) VALUES ({marks})", values)


def _update(draw: st.DrawFn, table: RandomTable) -> Statement:
    columns = draw(st.lists(st.sampled_from(list(table.kinds)), min_size=1, max_size=2, unique=True))
    values = tuple(draw(st.sampled_from(table.pool(column))) for column in columns)
    where, more = _where(draw, table)
    assignments = ", ".join(f"{column} = ?" for column in columns)
    verb = "UPDATE" + draw(st.sampled_from(_OR))
    return Statement(f"{verb} {table.name} SET {assignments}{where}", values + more)


def _where(draw: st.DrawFn, table: RandomTable) -> tuple[str, tuple[Any, ...]]:
    column = draw(st.sampled_from(["", "n-th", "n-th", "n-th", *table.kinds]))
    if column == "":
        return "", ()
    if column == "n-th":
        chosen = f"(SELECT k0 FROM {table.name} ORDER BY k0 LIMIT 1 OFFSET {draw(st.integers(0, 2))})"
        return f" WHERE k0 IS {chosen}", ()
    return f" WHERE {column} IS ?", (draw(st.sampled_from(table.pool(column))),)


def _oddity(draw: st.DrawFn, table: RandomTable) -> Step:
    rest = ", ".join(column for column in table.kinds if column != "k0")
    choices: list[Step] = [
        Reinsertion(table.name, tuple(table.kinds), table.key),
        Statement(f"UPDATE{draw(st.sampled_from(_OR))} {table.name} SET k0 = k0 + 1"),
        Statement(f"UPDATE OR REPLACE {table.name} SET k0 = -k0"),
        Statement(
            f"INSERT OR REPLACE INTO {table.name} (k0, {rest}) SELECT ?, {rest} FROM {table.name} LIMIT 1",
            (draw(st.sampled_from(table.pool("k0"))),),
        ),
        Statement(f"UPDATE {table.name} SET c0 = c0"),
        Statement(f"REPLACE INTO {table.name} (k0, {rest}) SELECT k0, {rest} FROM {table.name}"),
    ]
    return draw(st.sampled_from(choices))
