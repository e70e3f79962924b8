"""Ids come from the seed and the row, by the documented formula, which these tests work out by themselves."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from gym_enterprise.errors import WorldError
from gym_enterprise.world import World, WorldImage
from tests.world.random_worlds import NOW, Refused

SCHEMA = """
CREATE TABLE credits (
    id TEXT PRIMARY KEY, account TEXT NOT NULL, cents INTEGER CHECK (cents > 0), rate REAL,
    terms TEXT, note TEXT
) STRICT;
CREATE TABLE pairs (a TEXT, b TEXT, PRIMARY KEY (a, b)) STRICT;
CREATE TABLE files (id TEXT PRIMARY KEY, body BLOB) STRICT;
"""
IMAGE = WorldImage.build(
    SCHEMA, ungraded=["credits.note"], json_columns=["credits.terms"], id_prefixes={"credits": "cr-"}
)
ROW: dict[str, Any] = {"account": "A1", "cents": 3300, "rate": None, "terms": None}


@pytest.fixture
def world() -> World:
    world = World(IMAGE)
    world.begin(now=NOW, seed=14)
    return world


def by_hand(prefix: str, text: str) -> str:
    """The rule: prefix + 12 hex digits of SHA-256 over canonical JSON (sorted keys, no blanks, ASCII)."""
    return prefix + hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


def content(n: int = 1, seed: int = 14, account: str = "A1", cents: int = 3300, rest: str = "") -> str:
    fields = f'"account":"{account}","cents":{cents},' + (rest or '"rate":null,"terms":null')
    return f'[{seed},"credits",{{{fields}}},{n}]'


def test_an_id_is_the_prefix_and_a_hash_of_seed_table_graded_columns_and_number(world: World) -> None:
    assert world.new_id("credits", **ROW) == by_hand("cr-", content())


def test_insert_makes_the_same_id_whatever_the_ungraded_columns_say(world: World) -> None:
    assert world.insert("credits", **ROW, note="first words") == by_hand("cr-", content())
    world.begin(now=NOW, seed=14)
    assert world.insert("credits", note="other words", **ROW) == by_hand("cr-", content())


def test_the_same_content_twice_counts_up(world: World) -> None:
    made = [world.insert("credits", **ROW) for _ in range(3)]
    assert made == [by_hand("cr-", content(n)) for n in (1, 2, 3)]


def test_the_default_prefix_is_three_letters_of_the_table_and_a_blob_is_its_hex(world: World) -> None:
    made = world.insert("files", body=b"\x00\xff")
    assert made == by_hand("fil_", '[14,"files",{"body":{"blob":"00ff"}},1]')


def test_letters_beyond_ascii_are_escaped_and_json_is_canonical(world: World) -> None:
    made = world.new_id("credits", account="é", cents=1, rate=1.5, terms='{"b": 1.0, "a": 1}')
    fields = r'"account":"\u00e9","cents":1,"rate":1.5,"terms":"{\"a\":1,\"b\":1.0}"'
    assert made == by_hand("cr-", f'[14,"credits",{{{fields}}},1]')


def test_another_seed_makes_another_id(world: World) -> None:
    world.begin(now=NOW, seed=15)
    assert world.new_id("credits", **ROW) == by_hand("cr-", content(seed=15))


def test_b001_spellings_that_the_database_stores_alike_make_one_id(world: World) -> None:
    whole = world.new_id("credits", account="A1", cents=3300, rate=33.0, terms=None)
    assert whole == by_hand("cr-", content(rest='"rate":33.0,"terms":null'))
    assert world.new_id("credits", account="A1", cents=3300, rate=33, terms=None) == whole
    assert world.new_id("credits", account="A1", cents=3300.0, rate="33.0", terms=None) == whole
    assert world.new_id("credits", account="A1", cents=3301, rate=33.0, terms=None) != whole


def insert_and_give_up(world: World) -> None:
    with world.call():
        world.insert("credits", **ROW)
        raise Refused


def test_b006_a_rejected_call_consumes_no_id(world: World) -> None:
    for failure in ({**ROW, "cents": -1}, {**ROW, "account": None}):
        with pytest.raises(Exception, match="constraint failed"), world.call():
            world.insert("credits", **failure)
    with pytest.raises(Refused):
        insert_and_give_up(world)
    assert world.insert("credits", **ROW) == by_hand("cr-", content())


def test_creating_two_things_in_the_other_order_gives_the_same_ids(world: World) -> None:
    other = {**ROW, "account": "A2"}
    first = world.insert("credits", **ROW), world.insert("credits", **other)
    changes = world.changes()
    world.begin(now=NOW, seed=14)
    second = world.insert("credits", **other), world.insert("credits", **ROW)
    assert first == second[::-1] == (by_hand("cr-", content()), by_hand("cr-", content(account="A2")))
    assert world.changes() == changes


def test_creating_again_after_undoing_gives_the_first_id_again(world: World) -> None:
    first = world.insert("credits", **ROW)
    world.execute("DELETE FROM credits WHERE id = ?", first)
    assert world.insert("credits", **ROW) == first
    second = world.insert("credits", **ROW)
    world.execute("DELETE FROM credits WHERE id = ?", first)
    assert world.insert("credits", **ROW) == first != second


def test_insert_returns_the_key_that_was_given_or_all_of_a_composite_one(world: World) -> None:
    assert world.insert("credits", id="C7", **ROW) == "C7"
    assert world.insert("pairs", b="y", a="x") == ("x", "y")


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"account": "A1", "cents": 1, "rate": None}, "the row lacks terms"),
        ({**ROW, "note": "ungraded"}, "note"),
        ({**ROW, "id": "C7"}, "id"),
        ({**ROW, "centz": 1}, "the row has centz, which is no graded column"),
    ],
)
def test_new_id_needs_every_graded_column_and_nothing_else(
    world: World, columns: dict[str, Any], named: str
) -> None:
    with pytest.raises(WorldError, match=named):
        world.new_id("credits", **columns)


def test_new_id_refuses_composite_keys_and_unknown_tables(world: World) -> None:
    with pytest.raises(WorldError, match="one-column keys"):
        world.new_id("pairs")
    with pytest.raises(WorldError, match="no table 'credit'; tables: credits, pairs, files"):
        world.new_id("credit")
