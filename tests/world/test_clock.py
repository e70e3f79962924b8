"""The machine's clock, its time zone and chance do not exist in a world."""

from __future__ import annotations

import sqlite3

import pytest

from gym_enterprise.errors import WorldError
from gym_enterprise.world import World, WorldImage
from tests.world.random_worlds import everything, started

# What an image can see in the text of a schema, it refuses (test_image.py); these hide the word.
SCHEMA = """
CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) STRICT;
CREATE TABLE checked (a TEXT PRIMARY KEY, b TEXT, CHECK (b <= date('n' || 'ow'))) STRICT;
CREATE TABLE triggered (a TEXT PRIMARY KEY, b TEXT) STRICT;
CREATE TRIGGER stamp AFTER INSERT ON triggered BEGIN UPDATE triggered SET b = time('n' || 'ow'); END;
CREATE VIEW today AS SELECT date(x'6e6f77') AS day;
"""


@pytest.fixture(scope="module")
def image() -> WorldImage:
    return WorldImage.build(SCHEMA)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT random()",
        "SELECT hex(randomblob(8))",
        "SELECT abs(RANDOM() % 10)",
        "SELECT * FROM t ORDER BY random()",
        "SELECT last_insert_rowid()",
        "SELECT changes()",
        "SELECT total_changes()",
        "SELECT current_timestamp",
        "SELECT CURRENT_DATE || ' ' || CURRENT_TIME",
        "SELECT date()",
        "SELECT time()",
        "SELECT datetime('now')",
        "SELECT datetime('NOW', '+1 day')",
        "SELECT julianday()",
        "SELECT unixepoch()",
        "SELECT unixepoch('subsec')",
        "SELECT datetime('subsecond')",
        "SELECT strftime('%Y')",
        "SELECT strftime('%Y', 'now')",
        "SELECT timediff('now', '2026-01-01')",
        "SELECT timediff('2026-01-01', 'now')",
        "SELECT date(CAST('now' AS BLOB))",
        "SELECT date('now' || char(0) || 'x')",
        "SELECT datetime('2026-01-01', 'localtime')",
        "SELECT datetime('2026-01-01', 'utc')",
        "SELECT * FROM today",
        "INSERT INTO t VALUES ('x', datetime('now'))",
        "INSERT INTO checked VALUES ('x', '2026-01-01')",
        "INSERT INTO triggered (a) VALUES ('x')",
    ],
)
def test_asking_for_the_clock_a_zone_or_chance_raises(image: WorldImage, sql: str) -> None:
    world = started(image)
    world.execute("INSERT INTO t VALUES ('y', 'z')")
    before = everything(world)
    with pytest.raises(WorldError), world.call():
        world.query(sql)
    assert everything(world) == before


@pytest.mark.parametrize(
    "call",
    [
        "date('2026-03-02', '+1 month', 'start of month')",
        "datetime('2026-03-02T09:30:00')",
        "strftime('%Y-%m', '2026-03-02')",
        "julianday('2026-03-02')",
        "unixepoch('2026-03-02')",
        "date(0, 'unixepoch')",
        "date(NULL)",
        "date('now and then')",
        "time(x'31323a3030')",
    ],
)
def test_date_arithmetic_on_given_times_is_sqlites_own(image: WorldImage, call: str) -> None:
    (expected,) = sqlite3.connect(":memory:").execute(f"SELECT {call}").fetchone()
    assert started(image).one(f"SELECT {call} AS result") == {"result": expected}


def test_now_and_today_are_the_tasks(image: WorldImage) -> None:
    world = World(image)
    world.begin(now="2031-12-24T23:59:59", seed=1)
    assert world.now == "2031-12-24T23:59:59"
    assert world.today == "2031-12-24"
