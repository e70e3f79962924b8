"""Equal change sets, equal databases and an empty diff are one and the same thing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_enterprise.naive import dump, same_state
from gym_enterprise.world import World, WorldImage
from tests.world.random_worlds import calls, play, random_worlds, started

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = settings(QUICK, max_examples=1000)


def assert_graders_agree(a: World, b: World) -> bool:
    equal = a.changes() == b.changes()
    assert equal == (dump(a) == dump(b)) == same_state(a, b)
    assert equal == (not a.changes().diff(b.changes())) == (not b.changes().diff(a.changes()))
    return equal


def check_two_plays(data: st.DataObject) -> None:
    drawn = data.draw(random_worlds())
    image = drawn.image()
    a, b = started(image), started(image)
    first = data.draw(calls(drawn))
    play(a, first)
    play(b, data.draw(st.one_of(st.permutations(first), calls(drawn))))
    assert_graders_agree(a, b)
    untouched = started(image)
    assert assert_graders_agree(a, untouched) == (len(a.changes()) == 0)


@given(st.data())
@QUICK
def test_two_plays_have_equal_changes_exactly_when_their_databases_are_equal(data: st.DataObject) -> None:
    check_two_plays(data)


@pytest.mark.slow
@given(st.data())
@LONG
def test_two_plays_have_equal_changes_exactly_when_their_databases_are_equal_at_length(
    data: st.DataObject,
) -> None:
    check_two_plays(data)


# -- by hand --------------------------------------------------------------------------------------------

SHAPES = """
CREATE TABLE things (id TEXT PRIMARY KEY, a ANY, r REAL, j TEXT, note TEXT, g ANY AS (quote(a))) STRICT;
CREATE TABLE ints (n INTEGER PRIMARY KEY, u TEXT UNIQUE) STRICT;
CREATE TABLE reals (x REAL, y INT, v TEXT, PRIMARY KEY (y, x)) STRICT, WITHOUT ROWID;
CREATE TABLE children (id INT PRIMARY KEY, n INT REFERENCES ints ON DELETE SET NULL ON UPDATE CASCADE) STRICT;
CREATE TABLE twin (n INTEGER PRIMARY KEY, u TEXT UNIQUE) STRICT;
CREATE TABLE packed (n INT PRIMARY KEY, u TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE packed_twin (n INT PRIMARY KEY, u TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE log (n INTEGER PRIMARY KEY, what TEXT) STRICT;
CREATE TRIGGER gone AFTER DELETE ON ints BEGIN INSERT INTO log (what) VALUES (old.u); END;
"""
IMAGE = WorldImage.build(
    SHAPES,
    {
        "things": [{"id": "t", "a": 5, "r": 0.0, "j": '{"x": [1], "y": 2}', "note": "n"}],
        "ints": [{"n": n, "u": u} for n, u in ((1, "a"), (2, "b"), (3, "c"))],
        "children": [{"id": 1, "n": 1}, {"id": 2, "n": 2}],
        "reals": [{"x": 1.0, "y": 1, "v": "one"}, {"x": -0.0, "y": 1, "v": "zero"}],
        "packed": [{"n": 1, "u": "a"}],
    },
    ungraded=["log", "things.note"],
    json_columns=["things.j"],
)

SAME = {
    "an update undone": ["UPDATE ints SET u = 'z' WHERE n = 1", "UPDATE ints SET u = 'a' WHERE n = 1"],
    "an insert deleted": ["INSERT INTO ints VALUES (9, 'z')", "DELETE FROM ints WHERE n = 9"],
    "a row deleted and put back": ["DELETE FROM packed", "INSERT INTO packed VALUES (1, 'a')"],
    "a row replaced by itself": [
        "REPLACE INTO packed VALUES (1, 'a')",
        "REPLACE INTO twin SELECT * FROM twin",
    ],
    "minus zero": ["UPDATE things SET r = -0.0", "UPDATE reals SET x = 0.0 WHERE x = 0"],
    "an integer in a REAL column": ["UPDATE things SET r = 0"],
    "a key moved there and back": ["UPDATE ints SET n = 7 WHERE n = 3", "UPDATE ints SET n = 3 WHERE n = 7"],
    "JSON written differently": ["""UPDATE things SET j = '{"y":2,"x":[ 1 ]}'"""],
    "an ungraded column": ["UPDATE things SET note = 'other'"],
    "an ungraded table": ["INSERT INTO log (what) VALUES ('x')"],
    "all rows deleted and put back": [
        "DELETE FROM reals",
        "INSERT INTO reals VALUES (0, 1, 'zero')",
        "INSERT INTO reals VALUES (1, 1.0, 'one')",
    ],
}


@pytest.mark.parametrize("statements", SAME.values(), ids=SAME)
def test_what_leaves_the_graded_state_as_it_was_is_no_change(statements: list[str]) -> None:
    world = started(IMAGE)
    for sql in statements:
        world.execute(sql)
    assert world.changes().to_list() == []
    assert assert_graders_agree(world, started(IMAGE))


DIFFERENT = {
    "a real for an integer": "UPDATE things SET a = 5.0",
    "text for an integer": "UPDATE things SET a = '5'",
    "a blob for text": "UPDATE things SET a = x'35'",
    "null for something": "UPDATE things SET a = NULL",
    "text after NUL": "UPDATE things SET a = 'x' || char(0) || 'y'",
    "JSON with a real for an integer": """UPDATE things SET j = '{"x": [1.0], "y": 2}'""",
    "JSON with another order of items": """UPDATE things SET j = '{"x": [1, 1], "y": 2}'""",
    "text that is no JSON": """UPDATE things SET j = '{"x": [1], "y": 2'""",
    "a duplicate JSON key": """UPDATE things SET j = '{"x": [1], "y": 2, "y": 2}'""",
    "JSON too large": "UPDATE things SET j = '1e999'",
    "NULL for JSON null": "UPDATE things SET j = NULL",
    "the largest integer": "UPDATE things SET a = 9223372036854775807",
    "a cascade to a child": "UPDATE ints SET n = 11 WHERE n = 1",
    "a child set to null": "DELETE FROM ints WHERE n = 1",
    "a replacement over a unique column": "REPLACE INTO ints VALUES (8, 'a')",
    "a key pushed over another": "UPDATE OR REPLACE ints SET n = 2 WHERE n = 1",
    "a whole table copied": "INSERT INTO twin SELECT * FROM ints",
    "a whole table without rowids copied": "INSERT INTO packed_twin SELECT * FROM packed",
    "a table emptied": "DELETE FROM packed",
    "a real key": "UPDATE reals SET x = 2 WHERE x = 1",
}


@pytest.mark.parametrize("sql", DIFFERENT.values(), ids=DIFFERENT)
def test_what_changes_the_graded_state_is_a_change_for_both_graders(sql: str) -> None:
    world = started(IMAGE)
    world.execute(sql)
    assert len(world.changes()) > 0
    assert not assert_graders_agree(world, started(IMAGE))
    others = [started(IMAGE) for _ in DIFFERENT]
    for other, other_sql in zip(others, DIFFERENT.values(), strict=True):
        other.execute(other_sql)
        assert assert_graders_agree(world, other) == (sql == other_sql)


def test_changes_name_table_key_operation_and_values_in_order() -> None:
    world = started(IMAGE)
    world.execute("UPDATE OR REPLACE ints SET n = 2 WHERE n = 1")
    world.execute("INSERT INTO things (id, a, r, j) VALUES ('u', x'00ff', 9e999, 'x')")
    world.execute("UPDATE reals SET v = 'ONE' WHERE x = 1")
    assert world.changes().to_list() == [
        {"table": "children", "key": {"id": 1}, "op": "update", "values": {"n": 2}, "before": {"n": 1}},
        {"table": "children", "key": {"id": 2}, "op": "update", "values": {"n": None}, "before": {"n": 2}},
        {"table": "ints", "key": {"n": 1}, "op": "delete", "before": {"n": 1, "u": "a"}},
        {"table": "ints", "key": {"n": 2}, "op": "update", "values": {"u": "a"}, "before": {"u": "b"}},
        {
            "table": "reals",
            "key": {"y": 1, "x": 1.0},
            "op": "update",
            "values": {"v": "ONE"},
            "before": {"v": "one"},
        },
        {
            "table": "things",
            "key": {"id": "u"},
            "op": "insert",
            "values": {"id": "u", "a": {"blob": "00ff"}, "r": {"real": "inf"}, "j": "x"},
        },
    ]


def test_deeply_nested_json_is_raw_text_for_both_graders() -> None:
    deep, spaced = "[" * 500 + "]" * 500, "[" * 500 + " " + "]" * 500
    a, b = started(IMAGE), started(IMAGE)
    a.execute("UPDATE things SET j = ?", deep)
    b.execute("UPDATE things SET j = ?", spaced)
    assert not assert_graders_agree(a, b)
    b.execute("UPDATE things SET j = ?", deep)
    assert assert_graders_agree(a, b)


def test_names_with_quotes_blanks_and_keywords_are_graded_like_others() -> None:
    image = WorldImage.build(
        'CREATE TABLE "a ""b" (id TEXT PRIMARY KEY, "v""1" INT, "order" TEXT) STRICT',
        {'a "b': [{"id": "x", 'v"1': 1, "order": "o"}]},
        ungraded=['a "b.order'],
    )
    world = started(image)
    row: dict[str, Any] = {'v"1': 2, "order": "p"}
    made = world.insert('a "b', **row)
    world.execute("""UPDATE "a ""b" SET "v""1" = 3, "order" = 'q' WHERE id = 'x'""")
    assert [row["key"]["id"] for row in world.changes()] == [made, "x"]
    assert not assert_graders_agree(world, started(image))
    assert assert_graders_agree(world, world.fork())


# -- reports --------------------------------------------------------------------------------------------

SHOP = """
CREATE TABLE users (id TEXT PRIMARY KEY, address TEXT, credit_limit INTEGER) STRICT;
CREATE TABLE orders (id TEXT PRIMARY KEY, user TEXT REFERENCES users, state TEXT, updates INTEGER) STRICT;
CREATE TABLE appointments (id TEXT PRIMARY KEY, day TEXT, slot INTEGER) STRICT;
CREATE TABLE refunds (id TEXT PRIMARY KEY, order_id TEXT REFERENCES orders, cents INTEGER) STRICT;
CREATE TABLE balances (id TEXT PRIMARY KEY, cents INTEGER, raw REAL) STRICT;
CREATE TRIGGER counted AFTER UPDATE OF state ON orders BEGIN
    UPDATE orders SET updates = updates + 1 WHERE id = new.id;
END;
"""
SHOP_IMAGE = WorldImage.build(
    SHOP,
    {
        "users": [{"id": u, "address": "old", "credit_limit": 100} for u in ("U1", "U2")],
        "orders": [
            {"id": o, "user": u, "state": "open", "updates": 0}
            for o, u in (("O1", "U1"), ("O2", "U1"), ("O3", "U2"))
        ],
        "balances": [{"id": "B1", "cents": 0, "raw": 0.0}],
    },
    ungraded=["orders.updates", "balances.raw"],
)


def shop(*statements: str) -> World:
    world = started(SHOP_IMAGE)
    for sql in statements:
        with world.call():
            world.execute(sql)
    return world


def test_b003_rows_made_in_another_order_are_the_same_rows() -> None:
    appointment, order = (
        "INSERT INTO appointments VALUES ('P1', '2026-03-02', 1)",
        "INSERT INTO orders VALUES ('O9', 'U1', 'open', 0)",
    )
    assert assert_graders_agree(shop(appointment, order), shop(order, appointment))
    second = "INSERT INTO appointments VALUES ('P2', '2026-03-02', 2)"
    assert assert_graders_agree(shop(appointment, second), shop(second, appointment))


def test_b003_made_ids_do_not_depend_on_the_order_either() -> None:
    a, b = shop(), shop()
    for world, slots in ((a, (1, 2)), (b, (2, 1))):
        for slot in slots:
            world.insert("appointments", day="2026-03-02", slot=slot)
    assert assert_graders_agree(a, b)


def test_b007_amounts_added_in_another_order_give_the_same_balance() -> None:
    """In binary 0.1 + 0.2 + 0.3 is 0.6000000000000001 and 0.3 + 0.2 + 0.1 is 0.6; in cents both are 60."""
    add = "UPDATE balances SET cents = cents + {0}, raw = raw + {0} / 100.0"
    forward = shop(*(add.format(cents) for cents in (10, 20, 30)))
    backward = shop(*(add.format(cents) for cents in (30, 20, 10)))
    assert forward.one("SELECT raw FROM balances") != backward.one("SELECT raw FROM balances")
    assert assert_graders_agree(forward, backward)
    assert forward.one("SELECT cents FROM balances") == {"cents": 60}
    assert shop(add.format(32471), add.format(18151)).one("SELECT cents FROM balances") == {"cents": 50622}


def test_b010_another_path_to_the_same_state_is_equal() -> None:
    address, cancel = (
        "UPDATE users SET address = '{}' WHERE id = 'U1'",
        "UPDATE orders SET state = 'cancelled' WHERE id = 'O1'",
    )
    reference = shop(address.format("A"), cancel)
    agent = shop(cancel, address.format("B"), address.format("A"), cancel)
    assert agent.one("SELECT updates FROM orders WHERE id = 'O1'") == {"updates": 2}
    assert assert_graders_agree(agent, reference)

    agent.insert("refunds", order_id="O1", cents=500)
    assert not assert_graders_agree(agent, reference)
    (extra,) = agent.changes().diff(reference.changes()).extra
    assert (extra["table"], extra["op"], extra["values"]["cents"]) == ("refunds", "insert", 500)


def test_b057_a_blanket_update_shows_the_rows_it_should_have_left() -> None:
    cancel = "UPDATE orders SET state = 'cancelled'"
    reference = shop(cancel + " WHERE id = 'O1'")
    blanket = shop(cancel)
    assert not assert_graders_agree(blanket, reference)
    diff = blanket.changes().diff(reference.changes())
    assert [row["key"] for row in diff.extra] == [{"id": "O2"}, {"id": "O3"}]
    assert (diff.missing, diff.changed) == ((), ())

    greedy = shop(cancel + " WHERE id = 'O1'", "UPDATE users SET credit_limit = 999 WHERE id = 'U1'")
    assert not assert_graders_agree(greedy, reference)
    (extra,) = greedy.changes().diff(reference.changes()).extra
    assert (extra["table"], extra["values"]) == ("users", {"credit_limit": 999})


def test_a_diff_sorts_rows_into_missing_extra_and_changed() -> None:
    wanted = shop(
        "UPDATE orders SET state = 'a' WHERE id = 'O1'", "UPDATE orders SET state = 'a' WHERE id = 'O2'"
    )
    actual = shop("UPDATE orders SET state = 'b' WHERE id = 'O2'", "DELETE FROM orders WHERE id = 'O3'")
    diff = actual.changes().diff(wanted.changes())
    assert [row["key"]["id"] for row in diff.missing] == ["O1"]
    assert [row["key"]["id"] for row in diff.extra] == ["O3"]
    assert [(row["values"], row["wanted"]["values"]) for row in diff.changed] == [
        ({"state": "b"}, {"state": "a"})
    ]
    assert len(diff) == 3
    assert json.loads(json.dumps(diff.to_dict())) == diff.to_dict()
