"""What an image refuses, and what it does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.errors import SchemaError
from gym_enterprise.world import World, WorldImage

ROOT = Path(__file__).parents[2]

REFUSED = [
    ("no primary key", "CREATE TABLE t (a TEXT) STRICT", "no primary key"),
    ("not STRICT", "CREATE TABLE t (a TEXT PRIMARY KEY)", "not STRICT"),
    ("not STRICT, WITHOUT ROWID", "CREATE TABLE t (a TEXT PRIMARY KEY) WITHOUT ROWID", "not STRICT"),
    ("NOCASE", "CREATE TABLE t (a TEXT PRIMARY KEY COLLATE NOCASE) STRICT", "t.a has the collation NOCASE"),
    ("RTRIM", "CREATE TABLE t (a TEXT COLLATE RTRIM PRIMARY KEY) STRICT", "t.a has the collation RTRIM"),
    (
        "NOCASE in a composite key",
        "CREATE TABLE t (a TEXT, b TEXT COLLATE NOCASE, PRIMARY KEY (a, b)) STRICT",
        "t.b has the collation NOCASE",
    ),
    (
        "RTRIM in a WITHOUT ROWID key",
        "CREATE TABLE t (a TEXT, b TEXT COLLATE RTRIM, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID",
        "t.b has the collation RTRIM",
    ),
    (
        "collation of the key only",
        "CREATE TABLE t (a TEXT, PRIMARY KEY (a COLLATE nocase)) STRICT",
        "t.a has the collation nocase",
    ),
    (
        "collation of the column only",
        "CREATE TABLE t (a TEXT COLLATE NOCASE, PRIMARY KEY (a COLLATE BINARY)) STRICT",
        "t.a has the collation NOCASE",
    ),
    ("ANY key", "CREATE TABLE t (a ANY, b INT, PRIMARY KEY (b, a)) STRICT", "t.a has the type ANY"),
    (
        "DEFERRABLE",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES t DEFERRABLE INITIALLY DEFERRED) STRICT",
        "DEFERRABLE",
    ),
    (
        "deferrable, in lower case, over a comment",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES t -- NOT\n deferrable) STRICT",
        "DEFERRABLE",
    ),
    ("AUTOINCREMENT", "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT) STRICT", "AUTOINCREMENT"),
    (
        "clock as default",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT current_timestamp) STRICT",
        "current_timestamp",
    ),
    (
        "clock in a default expression",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT ('on ' || CURRENT_DATE)) STRICT",
        "CURRENT_DATE",
    ),
    (
        "clock in a trigger",
        "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT;"
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET a = CURRENT_TIME; END",
        "trigger 'r' uses CURRENT_TIME",
    ),
    (
        "clock in a view",
        "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT; CREATE VIEW v AS SELECT current_date AS today",
        "view 'v' uses CURRENT_DATE",
    ),
    ("TEMP table", "CREATE TEMP TABLE t (a TEXT PRIMARY KEY) STRICT", "TEMP"),
    (
        "TEMP trigger",
        "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT;"
        "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END",
        "TEMP",
    ),
    ("virtual table", "CREATE VIRTUAL TABLE t USING fts5(a)", "virtual"),
    ("virtual table without tables of its own", "CREATE VIRTUAL TABLE t USING rtree_i32(a, b, c)", "virtual"),
    (
        "ON CONFLICT ROLLBACK",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b INT UNIQUE ON CONFLICT ROLLBACK) STRICT",
        "table 't' uses ROLLBACK",
    ),
    (
        "RAISE(ROLLBACK)",
        "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT;"
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT RAISE(ROLLBACK, 'no'); END",
        "trigger 'r' uses ROLLBACK",
    ),
    ("broken SQL", "CREATE TABL t (a)", "syntax error"),
    ("open transaction", "BEGIN; CREATE TABLE t (a TEXT PRIMARY KEY) STRICT", "transaction open"),
    (
        "clock while building",
        "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT; INSERT INTO t VALUES (date())",
        "World.now",
    ),
    (
        "reference to a column that is no key",
        "CREATE TABLE p (a TEXT PRIMARY KEY, b INT) STRICT;"
        "CREATE TABLE t (a TEXT PRIMARY KEY, b INT REFERENCES p (b)) STRICT",
        "foreign key",
    ),
    (
        "reference to a table that is not there",
        "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES members) STRICT",
        "column t.b refers to the table 'members'",
    ),
    ("ATTACH", "ATTACH '/tmp/other.db' AS other", "ATTACH"),
    ("DETACH", "DETACH main", "DETACH"),
    ("VACUUM INTO", "VACUUM INTO '/tmp/other.db'", "VACUUM INTO"),
    (
        "row without its parent",
        "PRAGMA foreign_keys = OFF; CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES t) STRICT;"
        "INSERT INTO t VALUES ('x', 'y')",
        "'t' refers to a row of 't' that is not there",
    ),
]


TABLE = "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) STRICT;"
TRIGGER = f"{TABLE}CREATE TRIGGER r AFTER INSERT ON t"

CLOCK_OR_CHANCE = [
    # where it stands; the schema with {} for the expression; how the error names the object
    ("default", "CREATE TABLE t (a TEXT PRIMARY KEY, b ANY DEFAULT ({})) STRICT", "column t.b"),
    ("check", "CREATE TABLE t (a TEXT PRIMARY KEY, b ANY CHECK (b <> {})) STRICT", "table 't'"),
    ("table check", "CREATE TABLE t (a TEXT PRIMARY KEY, b ANY, CHECK (b IN ({}))) STRICT", "table 't'"),
    ("trigger", f"{TRIGGER} BEGIN DELETE FROM t WHERE a = {{}}; END", "trigger 'r'"),
    ("WHEN of a trigger", f"{TRIGGER} WHEN {{}} > 1 BEGIN DELETE FROM t; END", "trigger 'r'"),
    ("view", f"{TABLE}CREATE VIEW v AS SELECT * FROM t JOIN t AS u ON {{}} = t.a", "view 'v'"),
]
GENERATED = [
    ("generated", "CREATE TABLE t (a TEXT PRIMARY KEY, b ANY, c ANY AS ({})) STRICT", "table 't'"),
    ("index", f"{TABLE}CREATE INDEX i ON t ({{}})", "index 'i'"),
    ("part of an index", f"{TABLE}CREATE UNIQUE INDEX i ON t (b) WHERE b > {{}}", "index 'i'"),
]
DATES = [
    "datetime('now')",
    "DATE ( 'Now' , '+1 day')",
    "time()",
    "strftime('%Y')",
    "strftime('%Y-%m', 'now')",
    "julianday('subsec')",
    "unixepoch(/* a comment */)",
    "\"date\"('now')",
    "[datetime]('now')",
    "`time`('now')",
    "timediff('2026-01-01', 'now')",
    "coalesce(NULL, lower(date('now', 'start of year')))",
    "date(coalesce(NULL, 'now'))",
    "datetime('2026-01-01', 'localtime')",
    "datetime('2026-01-01', '+1 day', 'utc')",
]
CHANCE = [
    "random()",
    "abs(RANDOM( ) % 10)",
    "hex(randomblob(4))",
    '"random"()',
    "last_insert_rowid()",
    "changes()",
]


@pytest.mark.parametrize(
    ("schema", "named", "expression"),
    [
        pytest.param(schema, named, expression, id=f"{where}: {expression}")
        for wheres, expressions in ((CLOCK_OR_CHANCE, DATES + CHANCE), (GENERATED, DATES))
        for where, schema, named in wheres
        for expression in expressions
    ],
)
def test_clock_and_chance_are_refused_wherever_they_stand_and_the_object_is_named(
    schema: str, named: str, expression: str
) -> None:
    with pytest.raises(SchemaError, match=named):
        WorldImage.build(schema.format(expression))


@pytest.mark.parametrize("schema", [row[1].format("random()") for row in GENERATED])
def test_sqlite_itself_refuses_chance_in_generated_columns_and_indices(schema: str) -> None:
    with pytest.raises(SchemaError, match="non-deterministic"):
        WorldImage.build(schema)


def test_a_default_is_computed_so_that_a_spelling_hides_nothing() -> None:
    with pytest.raises(SchemaError, match=r"column t\.b has the default date\('n' \|\| 'ow'\): .*World\.now"):
        WorldImage.build("CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT (date('n' || 'ow'))) STRICT")


@pytest.mark.parametrize("statement", ["ATTACH '{}' AS other", "VACUUM INTO '{}'"])
def test_a_schema_makes_no_file(statement: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="ATTACH"):
        WorldImage.build(statement.format(tmp_path / "other.db"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("schema", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_schema_that_would_corrupt_grading_is_refused_with_the_reason(schema: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        WorldImage.build(schema)
    assert reason in str(caught.value)


ACCEPTED = [
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES t NOT DEFERRABLE) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT REFERENCES t NOT /**/ DEFERRABLE INITIALLY DEFERRED) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT COLLATE NOCASE) STRICT",
    "CREATE TABLE t (a TEXT, PRIMARY KEY (a COLLATE binary)) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY /* CURRENT_DATE, AUTOINCREMENT */) STRICT -- DEFERRABLE",
    "CREATE TABLE t (a TEXT PRIMARY KEY, -- it's CURRENT_TIME\n b TEXT) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT 'CURRENT_TIME ''AUTOINCREMENT'' ROLLBACK') STRICT",
    """CREATE TABLE t (a TEXT PRIMARY KEY, "current_date" TEXT, [DEFERRABLE] TEXT, `ROLLBACK` TEXT) STRICT""",
    'CREATE TABLE "AUTOINCREMENT" (a TEXT PRIMARY KEY, "a "" DEFERRABLE" TEXT) STRICT',
    "CREATE TABLE t (a TEXT PRIMARY KEY, not_deferrable TEXT, current_date_of_birth TEXT) STRICT",
    "CREATE TABLE t (a REAL PRIMARY KEY, b ANY, c BLOB) STRICT, WITHOUT ROWID",
    "CREATE TABLE t (a INTEGER PRIMARY KEY, b ANY AS (a + 1) VIRTUAL) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY) STRICT; CREATE VIEW v AS SELECT 'current_date' AS a FROM t",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT 'now' CHECK (b IN ('now', 'later', 'utc'))) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT 'random()' CHECK (b <> 'date(''now'')')) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT CHECK (date(b) = b AND b <> 'now')) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b ANY AS (strftime('%Y', a)), c ANY AS (time(a, 'subsec'))) STRICT",
    "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT DEFAULT (date('2026-01-01', '+1 day'))) STRICT",
    "CREATE TABLE date (a TEXT PRIMARY KEY, random TEXT, changes TEXT, UNIQUE (random)) STRICT;"
    "CREATE INDEX time ON date (random); CREATE VIEW random (a) AS SELECT a FROM date;"
    "CREATE TRIGGER r AFTER INSERT ON date BEGIN INSERT INTO date (a) VALUES ('x'); END",
    "CREATE TABLE IF NOT EXISTS changes (a TEXT PRIMARY KEY, b TEXT REFERENCES CHANGES (a)) STRICT",
]


@pytest.mark.parametrize("schema", ACCEPTED)
def test_words_in_comments_strings_and_names_and_harmless_schemas_pass(schema: str) -> None:
    world = World(WorldImage.build(schema))
    world.begin(now="2026-03-02T09:30:00", seed=7)
    assert len(world.changes()) == 0


PETS = "CREATE TABLE pets (id TEXT PRIMARY KEY, name TEXT NOT NULL, tags TEXT) STRICT"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({"pet": [{"id": "p"}]}, "'pet', which is not a table; tables: pets"),
        (
            {"pets": [{"id": "p", "name": "Rex", "nam": "Rex"}]},
            "row 0 of 'pets' has the unknown column 'nam'; columns: id, name",
        ),
        ({"pets": [{"id": "p", "name": "Rex"}, {"id": "p", "name": "Rex"}]}, "row 1 of 'pets' is refused"),
        ({"pets": [{"id": "p", "name": None}]}, "row 0 of 'pets' is refused"),
        ({"pets": [{"id": "p", "name": b"Rex"}]}, "row 0 of 'pets' is refused"),
        ({"pets": [{"id": "p", "name": "\ud800"}]}, "row 0 of 'pets' is refused"),
        ({"pets": [{"id": "p", "name": 2**64}]}, "row 0 of 'pets' is refused"),
        ({"pets": [{"id": "p", "name": ["Rex"]}]}, "row 0 of 'pets' is refused"),
        ({"pets": [{}]}, "row 0 of 'pets' is refused"),
        ({"pets": [("p", "Rex")]}, "row 0 of 'pets' is a mapping by column, got a value of type tuple"),
        (
            {"pets": {"id": "p", "name": "Rex"}},
            "the rows of 'pets' are a list of mappings, got a value of type dict",
        ),
        ({"pets": "Rex"}, "the rows of 'pets' are a list of mappings, got a value of type str"),
        ({"pets": None}, "the rows of 'pets' are a list of mappings, got None"),
        ([("pets", [])], "rows is a mapping by table, got a value of type list"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_number(rows: Any, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        WorldImage.build(PETS, rows)
    assert reason in str(caught.value)


@pytest.mark.parametrize("schema", [None, PETS.encode(), Path("schema.sql"), [PETS]])
def test_a_schema_that_is_no_text_is_refused(schema: Any) -> None:
    with pytest.raises(SchemaError, match=r"the schema is SQL text, got .*read_text"):
        WorldImage.build(schema)


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ({"ungraded": ["pet"]}, "ungraded names 'pet'"),
        ({"ungraded": ["pets.nam"]}, "ungraded names 'pets.nam'"),
        ({"ungraded": ["pets.id"]}, "key column pets.id cannot be ungraded"),
        ({"ungraded": "pets"}, "not one text"),
        ({"json_columns": ["pets.tag"]}, "json_columns names 'pets.tag'"),
        ({"json_columns": ["pets.id"]}, "pets.id is declared JSON"),
        ({"json_columns": ["pets.weight"]}, "pets.weight is declared JSON"),
        (
            {"id_prefixes": {"pet": "p_"}},
            """id_prefixes names 'pet', which the schema does not have; write "table\"""",
        ),
        ({"id_prefixes": {"pets": 1}}, "id_prefixes['pets'] should be text, got a value of type int"),
        ({"id_prefixes": ["pets"]}, "id_prefixes is a mapping by table, got a value of type list"),
    ],
)
def test_a_grading_rule_that_names_nothing_is_refused(rules: dict[str, list[str]], reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        WorldImage.build(PETS.replace("tags TEXT", "tags TEXT, weight REAL"), **rules)  # type: ignore[arg-type]
    assert reason in str(caught.value)


def test_the_digest_tells_rows_and_rules_apart() -> None:
    rows = {"pets": [{"id": "p", "name": "Rex"}]}
    images = [
        WorldImage.build(PETS),
        WorldImage.build(PETS, rows),
        WorldImage.build(PETS, rows, ungraded=["pets.tags"]),
        WorldImage.build(PETS, rows, json_columns=["pets.tags"]),
        WorldImage.build(PETS, rows, id_prefixes={"pets": "p_"}),
    ]
    assert len({image.digest for image in images}) == len(images)
    assert WorldImage.build(PETS, rows) == images[1]


PROGRAM = """
import sys
from gym_enterprise.world import World, WorldImage
image = WorldImage.build(
    "CREATE TABLE tickets (id TEXT PRIMARY KEY, user TEXT, text TEXT, created_at TEXT) STRICT;"
    "CREATE TABLE notes (a TEXT, b INT, c TEXT, PRIMARY KEY (a, b)) STRICT",
    {"notes": [{"a": a, "b": b, "c": "x"} for a in "pqr" for b in range(3)]},
    json_columns=["notes.c"], ungraded=["tickets.text"],
)
world = World(image)
world.begin(now="2026-03-02T09:30:00", seed=7)
with world.call():
    world.insert("tickets", user="U1", text="x", created_at=world.now)
    for a in {"p", "q", "r", "s"}:
        world.execute("UPDATE notes SET c = '{}' WHERE a = ?", a)
print(image.digest, world.changes().to_list())
"""


def test_b006_two_processes_with_different_hash_seeds_make_the_same_rows() -> None:
    """The order of the set in the program differs with the hash seed; the image and the changes must not."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([*sys.path, str(ROOT)])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1
    assert "2026-03-02T09:30:00" in outputs.pop()
