"""One call is all or nothing, one fork sees nothing of another, and a new episode nothing of the last."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_enterprise.errors import SnapshotError, TaskError, WorldError
from gym_enterprise.naive import dump, same_state
from gym_enterprise.world import World, WorldImage
from tests.world.random_worlds import (
    NOW,
    SEED,
    Call,
    Refused,
    State,
    Update,
    calls,
    everything,
    play,
    random_worlds,
    started,
)

QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ACCOUNTS = """
CREATE TABLE accounts (id TEXT PRIMARY KEY, cents INT NOT NULL CHECK (cents >= 0), open INT NOT NULL) STRICT;
CREATE TABLE log (n INTEGER PRIMARY KEY, text TEXT) STRICT;
"""
ROWS = {
    "accounts": [
        {"id": "A", "cents": 8000, "open": 1},
        {"id": "B", "cents": 500, "open": 0},
        {"id": "C", "cents": 0, "open": 1},
    ]
}
BANK = WorldImage.build(ACCOUNTS, ROWS, ungraded=["log"])


@pytest.fixture
def bank() -> World:
    return started(BANK)


# -- one call, one savepoint ----------------------------------------------------------------------------


@given(st.data())
@QUICK
def test_a_failed_call_leaves_nothing_behind(data: st.DataObject) -> None:
    drawn = data.draw(random_worlds())
    world = started(drawn.image())
    play(world, data.draw(calls(drawn)))
    changes, content, saved = world.changes(), everything(world), world.changeset()
    play(world, [Call(call.steps, fails=True) for call in data.draw(calls(drawn))])
    assert world.changes() == changes
    assert everything(world) == content
    assert world.fork().changes() == changes
    other = started(world.image)
    other.restore(saved, now=NOW, seed=SEED)
    assert everything(other) == content


def transfer(world: World, source: str, target: str, cents: int) -> None:
    """Debit before the check, as a careless tool would."""
    with world.call():
        world.execute("UPDATE accounts SET cents = cents - ? WHERE id = ?", cents, source)
        row = world.one("SELECT open FROM accounts WHERE id = ?", target)
        if row is None or not row["open"]:
            raise Refused
        world.execute("UPDATE accounts SET cents = cents + ? WHERE id = ?", cents, target)


def test_b009_a_tool_that_fails_half_way_leaves_its_first_write_out(bank: World) -> None:
    before = everything(bank)
    with pytest.raises(Refused):
        transfer(bank, "A", "B", 5000)
    assert everything(bank) == before
    assert len(bank.changes()) == 0
    transfer(bank, "A", "C", 5000)
    target = started(BANK)
    transfer(target, "A", "C", 5000)
    assert bank.changes() == target.changes()
    assert same_state(bank, target)


def set_cents(world: World, *pairs: tuple[str, int], gives_up: bool = False) -> None:
    with world.call():
        for key, cents in pairs:
            world.execute("UPDATE accounts SET cents = ? WHERE id = ?", cents, key)
        if gives_up:
            raise Refused


def test_b009_one_bad_row_of_many_undoes_the_good_ones(bank: World) -> None:
    with pytest.raises(apsw.ConstraintError):
        set_cents(bank, ("A", 100), ("C", 200), ("B", -1))
    assert len(bank.changes()) == 0


def test_a_failed_call_inside_another_undoes_only_itself(bank: World) -> None:
    with bank.call():
        bank.execute("UPDATE accounts SET cents = 1 WHERE id = 'A'")
        with pytest.raises(Refused):
            set_cents(bank, ("C", 2), gives_up=True)
        with pytest.raises(WorldError):
            bank.execute("PRAGMA foreign_keys = OFF")
    assert [row["key"] for row in bank.changes()] == [{"id": "A"}]


def empty_and_run(world: World, sql: str) -> None:
    with world.call():
        world.execute("DELETE FROM accounts")
        world.execute(sql)


FORBIDDEN = [
    "PRAGMA foreign_keys = OFF",
    "PRAGMA defer_foreign_keys = ON",
    "COMMIT",
    "BEGIN",
    "ROLLBACK",
    "SAVEPOINT call",
    "RELEASE call",
    "ROLLBACK TO call",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "CREATE TABLE x (id TEXT PRIMARY KEY) STRICT",
    "CREATE TEMP TABLE x (id)",
    "CREATE INDEX x ON accounts (cents)",
    "CREATE TRIGGER x AFTER INSERT ON log BEGIN DELETE FROM accounts; END",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "DROP TABLE accounts",
    "ALTER TABLE accounts ADD COLUMN x TEXT",
    "REINDEX",
    "ANALYZE",
    "INSERT OR ROLLBACK INTO accounts VALUES ('A', 1, 1)",
    "UPDATE /* so */ OR\nRollback accounts SET id = 'A'",
    "SELECT * FROM pragma_foreign_keys",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
@pytest.mark.parametrize("tried_before", [False, True], ids=["first", "again"])
def test_a_tool_cannot_leave_its_transaction_or_change_the_schema(
    bank: World, sql: str, tried_before: bool
) -> None:
    bank.execute("UPDATE accounts SET cents = 7 WHERE id = 'A'")
    before = everything(bank)
    if tried_before:  # outside a call nothing more is allowed, and nothing is remembered
        with pytest.raises(WorldError):
            bank.execute(sql)
    with pytest.raises(WorldError):
        empty_and_run(bank, sql)
    assert everything(bank) == before
    assert len(bank.changes()) == 1


def test_a_tool_may_speak_of_rollback(bank: World) -> None:
    with bank.call():
        bank.execute("INSERT INTO log (text) VALUES ('OR ROLLBACK') -- not a ROLLBACK")
        bank.insert("log", n=5, text="ROLLBACK")
    assert [row["text"] for row in bank.query("SELECT text FROM log ORDER BY n")] == [
        "OR ROLLBACK",
        "ROLLBACK",
    ]


def test_a_tool_may_use_subqueries_json_functions_upserts_and_returning(bank: World) -> None:
    with bank.call():
        rows = bank.query(
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) "
            "SELECT n, value FROM c JOIN json_each('[10,20]') ON key = n - 1 ORDER BY n"
        )
        upsert = (
            "INSERT INTO accounts VALUES ('C', 1, 1) "
            "ON CONFLICT DO UPDATE SET cents = cents + excluded.cents RETURNING cents"
        )
        assert bank.one(upsert) == {"cents": 1}
    assert rows == [{"n": 1, "value": 10}, {"n": 2, "value": 20}]


def test_a_world_runs_nothing_before_begin() -> None:
    with pytest.raises(WorldError, match="begin"):
        World(BANK).query("SELECT 1")


# -- forks ----------------------------------------------------------------------------------------------


@given(st.data())
@QUICK
def test_forks_do_not_see_each_other(data: st.DataObject) -> None:
    drawn = data.draw(random_worlds())
    world = started(drawn.image())
    play(world, data.draw(calls(drawn)))
    left, right = world.fork(), world.fork(into=started(world.image))
    at_fork = everything(world)
    play(left, data.draw(calls(drawn)))
    left_now = everything(left), left.changes()
    assert everything(world) == everything(right) == at_fork
    play(world, data.draw(calls(drawn)))
    assert everything(right) == at_fork
    assert (everything(left), left.changes()) == left_now


def test_a_fork_into_a_world_of_another_image_is_refused(bank: World) -> None:
    other = started(WorldImage.build(ACCOUNTS, ROWS))
    with pytest.raises(SnapshotError, match="same image"):
        bank.fork(into=other)


def test_a_fork_has_the_clock_seed_and_initial_state_of_its_origin() -> None:
    world = World(BANK)
    state = State(insert={"accounts": [{"id": "D", "cents": 1, "open": 1}]})
    world.begin(state, now="2026-05-01T00:00:00", seed=99)
    world.execute("UPDATE accounts SET cents = 2 WHERE id = 'D'")
    fork = world.fork()
    assert (fork.now, fork.today, fork.seed) == ("2026-05-01T00:00:00", "2026-05-01", 99)
    assert [row["op"] for row in fork.changes()] == ["update"]


# -- episodes -------------------------------------------------------------------------------------------


@given(st.data())
@QUICK
def test_begin_again_is_a_fresh_world(data: st.DataObject) -> None:
    drawn = data.draw(random_worlds())
    image = drawn.image()
    world = started(image)
    play(world, data.draw(calls(drawn)))
    world.begin(now=NOW, seed=SEED)
    fresh = started(image)
    assert everything(world) == everything(fresh)
    assert len(world.changes()) == 0
    second = data.draw(calls(drawn))
    play(world, second)
    play(fresh, second)
    assert everything(world) == everything(fresh)
    assert world.changeset() == fresh.changeset()


def test_a_tasks_state_is_the_start_and_no_change() -> None:
    world = World(BANK)
    state = State(
        insert={"accounts": [{"id": "D", "cents": 1, "open": 1}]},
        update={"accounts": [Update(key={"id": "A"}, set={"cents": 3})]},
        delete={"accounts": [Update(key={"id": "C"})]},
    )
    world.begin(state, now=NOW, seed=SEED)
    assert len(world.changes()) == 0
    assert world.query("SELECT id, cents FROM accounts ORDER BY id") == [
        {"id": "A", "cents": 3},
        {"id": "B", "cents": 500},
        {"id": "D", "cents": 1},
    ]
    world.begin(now=NOW, seed=SEED)
    assert dump(world) == dump(started(BANK))


@pytest.mark.parametrize(
    ("state", "field"),
    [
        (State(insert={"acounts": [{"id": "D"}]}), "state.insert.acounts.0"),
        (State(insert={"accounts": [{"id": "D", "cent": 1}]}), "state.insert.accounts.0"),
        (State(insert={"accounts": [{"id": "A", "cents": 1, "open": 1}]}), "state.insert.accounts.0"),
        (State(insert={"accounts": [{"id": "\ud800", "cents": 1, "open": 1}]}), "state.insert.accounts.0"),
        (State(insert={"accounts": [{"id": "D", "cents": 2**64, "open": 1}]}), "state.insert.accounts.0"),
        (State(update={"accounts": [Update(key={"id": "Z"}, set={"cents": 1})]}), "state.update.accounts.0"),
        (State(update={"accounts": [Update(key={}, set={"cents": 1})]}), "state.update.accounts.0"),
        (
            State(update={"accounts": [Update(key={"id": "A"}, set={"cents": "x"})]}),
            "state.update.accounts.0",
        ),
        (State(delete={"accounts": [Update(key={"id": "Z"})]}), "state.delete.accounts.0"),
    ],
)
def test_a_state_that_does_not_fit_is_named_and_leaves_the_image(state: State, field: str) -> None:
    world = World(BANK)
    with pytest.raises(TaskError) as caught:
        world.begin(state, now=NOW, seed=SEED)
    assert caught.value.field == field
    world.begin(now=NOW, seed=SEED)
    assert dump(world) == dump(started(BANK))
