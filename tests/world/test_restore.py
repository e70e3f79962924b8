"""Restoring, forking and starting again bring back the whole database, ungraded parts too."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_enterprise.errors import SnapshotError
from gym_enterprise.naive import dump
from gym_enterprise.world import World, WorldImage
from tests.world.random_worlds import (
    NOW,
    SEED,
    State,
    Update,
    calls,
    everything,
    play,
    random_worlds,
    started,
)

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
LONG = settings(QUICK, max_examples=1000)


def in_shown_order(world: World) -> list[object]:
    """Rows as tools would list them: ordered by another column first, then by key."""
    tables = world.image.tables.values()
    orders = {table.name: ", ".join((table.columns[-1], *table.key)) for table in tables}
    return [world.query(f"SELECT * FROM {name} ORDER BY {order}") for name, order in orders.items()]


def check_restore(data: st.DataObject) -> None:
    drawn = data.draw(random_worlds())
    image = drawn.image()
    world = started(image)
    play(world, data.draw(calls(drawn)))
    other = started(image)
    play(other, data.draw(calls(drawn)))

    other.restore(world.changeset(), now=NOW, seed=SEED)
    assert everything(other) == everything(world)
    assert in_shown_order(other) == in_shown_order(world)
    assert dump(other) == dump(world)
    assert other.changes() == world.changes()


def check_continuation(data: st.DataObject) -> None:
    # Tables in key order only: which row a statement meets first in the others is not part of the state.
    drawn = data.draw(random_worlds(endings=("STRICT, WITHOUT ROWID",)))
    world = started(drawn.image())
    play(world, data.draw(calls(drawn)))
    other = world.fork()
    more = data.draw(calls(drawn))
    play(other, more)
    play(world, more)
    assert everything(other) == everything(world)
    assert other.changes() == world.changes()


@given(st.data())
@QUICK
def test_a_restored_world_is_the_saved_one(data: st.DataObject) -> None:
    check_restore(data)


@given(st.data())
@QUICK
def test_a_fork_goes_on_like_the_world_it_came_from(data: st.DataObject) -> None:
    check_continuation(data)


@pytest.mark.slow
@given(st.data())
@LONG
def test_a_restored_world_is_the_saved_one_at_length(data: st.DataObject) -> None:
    check_restore(data)


@pytest.mark.slow
@given(st.data())
@LONG
def test_a_fork_goes_on_like_the_world_it_came_from_at_length(data: st.DataObject) -> None:
    check_continuation(data)


# -- by hand --------------------------------------------------------------------------------------------

SEATS = """
CREATE TABLE rooms (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT;
CREATE TABLE seats (
    person TEXT PRIMARY KEY, seat INTEGER UNIQUE CHECK (seat < 10),
    room INTEGER REFERENCES rooms ON DELETE CASCADE ON UPDATE CASCADE
) STRICT;
CREATE TABLE moves (n INTEGER PRIMARY KEY, who TEXT) STRICT;
CREATE TRIGGER moved AFTER UPDATE ON seats BEGIN INSERT INTO moves (who) VALUES (new.person); END;
CREATE TRIGGER gone AFTER DELETE ON seats BEGIN INSERT INTO moves (who) VALUES (old.person); END;
"""
IMAGE = WorldImage.build(
    SEATS,
    {
        "rooms": [{"id": 1, "name": "red"}, {"id": 2, "name": "blue"}],
        "seats": [{"person": p, "seat": n, "room": 1 + n % 2} for n, p in enumerate("abcd")],
    },
    ungraded=["moves"],
)


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(
            [
                "UPDATE seats SET seat = 9 WHERE person = 'a'",
                "UPDATE seats SET seat = 0 WHERE person = 'b'",
                "UPDATE seats SET seat = 1 WHERE person = 'a'",
            ],
            id="two people swap a unique seat with a check on it",
        ),
        pytest.param(
            [
                "UPDATE seats SET seat = NULL",
                *(
                    f"UPDATE seats SET seat = {(n + 1) % 4} WHERE person = '{p}'"
                    for n, p in enumerate("abcd")
                ),
            ],
            id="four people move one seat on",
        ),
        pytest.param(
            [
                "UPDATE rooms SET id = 3 WHERE id = 1",
                "UPDATE rooms SET id = 1 WHERE id = 2",
                "UPDATE rooms SET id = 2 WHERE id = 3",
            ],
            id="two rooms swap keys, with cascades",
        ),
        pytest.param(["DELETE FROM rooms WHERE id = 1"], id="a cascade with a trigger on each row"),
        pytest.param(
            ["DELETE FROM seats WHERE person = 'a'", "INSERT INTO seats VALUES ('e', 0, 2)"],
            id="a seat taken over",
        ),
    ],
)
def test_changes_that_no_single_order_of_rows_can_make_are_restored(statements: list[str]) -> None:
    world = started(IMAGE)
    for sql in statements:
        world.execute(sql)
    assert len(world.changes()) > 0
    fork = world.fork()
    assert everything(fork) == everything(world)
    assert fork.changes() == world.changes()
    again = fork.fork()
    assert everything(again) == everything(world)


def test_triggers_and_foreign_keys_work_again_after_a_restore() -> None:
    world = started(IMAGE)
    world.execute("UPDATE seats SET seat = 5 WHERE person = 'a'")
    fork = world.fork()
    fork.execute("DELETE FROM rooms WHERE id = 2")
    assert fork.query("SELECT who FROM moves ORDER BY n") == [{"who": who} for who in "abd"]
    with pytest.raises(apsw.ConstraintError):
        fork.execute("INSERT INTO seats VALUES ('z', 7, 99)")


def test_a_restore_leaves_updated_rows_where_an_unordered_query_saw_them() -> None:
    world = started(IMAGE)
    world.execute("UPDATE seats SET seat = 7 WHERE person = 'b'")
    assert world.fork().query("SELECT * FROM seats") == world.query("SELECT * FROM seats")


WITHOUT_A = State(delete={"seats": [Update(key={"person": "a"})]})
A_ELSEWHERE = State(update={"seats": [Update(key={"person": "a"}, set={"seat": 9})]})


@pytest.mark.parametrize(
    ("origin_start", "statement", "start"),
    [
        (State(), "UPDATE seats SET seat = 8 WHERE person = 'a'", A_ELSEWHERE),
        (State(), "DELETE FROM seats WHERE person = 'a'", A_ELSEWHERE),
        (State(), "DELETE FROM seats WHERE person = 'a'", WITHOUT_A),
        (WITHOUT_A, "INSERT INTO seats VALUES ('a', 8, 1)", State()),
    ],
)
def test_a_changeset_of_another_initial_state_is_refused_and_nothing_is_kept(
    origin_start: State, statement: str, start: State
) -> None:
    origin = World(IMAGE)
    origin.begin(origin_start, now=NOW, seed=SEED)
    origin.execute("DELETE FROM seats WHERE person = 'd'")
    origin.execute(statement)
    world = World(IMAGE)
    with pytest.raises(SnapshotError, match="do not fit"):
        world.restore(origin.changeset(), start, now=NOW, seed=SEED)
    fresh = World(IMAGE)
    fresh.begin(start, now=NOW, seed=SEED)
    assert everything(world) == everything(fresh)
    assert len(world.changes()) == 0


def test_a_changeset_of_another_image_or_no_changeset_at_all_is_refused() -> None:
    other = started(WorldImage.build("CREATE TABLE pets (id TEXT PRIMARY KEY) STRICT"))
    other.insert("pets", id="p")
    world = World(IMAGE)
    for saved in (other.changeset(), b"not a changeset", other.changeset()[:-3]):
        with pytest.raises(SnapshotError, match="do not fit"):
            world.restore(saved, now=NOW, seed=SEED)
        assert len(world.changes()) == 0


def test_nothing_changed_is_saved_as_nothing() -> None:
    world = started(IMAGE)
    assert world.changeset() == b""
    world.restore(b"", now=NOW, seed=SEED)
    assert len(world.changes()) == 0
