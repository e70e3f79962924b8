"""Document tables: what counts as a change, and the canonical hash."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations
from typing import Any

import pytest

from gym_enterprise.changes import ChangeSet
from gym_enterprise.domains.tau3_banking.records import (
    TABLES,
    build_image,
    canonical_hash,
    change,
    insert,
    rows,
)
from gym_enterprise.world import World

NOW = "2025-11-14T03:40:00"
DISTINCT: list[dict[str, Any]] = [
    {},
    {"a": None},
    {"a": 1},
    {"a": 1.0},
    {"a": True},
    {"a": "1"},
    {"a": 0},
    {"a": False},
    {"a": {"b": 1}},
    {"a": {"b": 1.0}},
    {"a": [1]},
    {"a": "é"},
]


def _world(tables: dict[str, Any] | None = None, notes: dict[str, str] | None = None) -> World:
    world = World(build_image(tables or {}, notes or {}))
    world.begin(now=NOW, seed=0)
    return world


def _with(record: dict[str, Any]) -> tuple[str, ChangeSet]:
    world = _world({"users": {"u1": {"start": 1}}})
    world.execute("UPDATE users SET data = ?", json.dumps(record))
    return canonical_hash(world), world.changes()


@pytest.mark.parametrize(("one", "other"), list(combinations(DISTINCT, 2)))
def test_values_that_json_tells_apart_are_different_states(one: Any, other: Any) -> None:
    (hash_one, changes_one), (hash_other, changes_other) = _with(one), _with(other)
    assert hash_one != hash_other
    assert changes_one != changes_other


def test_the_order_of_fields_and_of_records_is_no_difference() -> None:
    assert _with({"a": 1, "b": 2}) == _with({"b": 2, "a": 1})
    hashes = set()
    for order in (("r1", "r2"), ("r2", "r1")):
        world = _world()
        for record_id in order:
            insert(world, "referrals", {"referral_id": record_id})
        hashes.add((canonical_hash(world), json.dumps(world.changes().to_list())))
    assert len(hashes) == 1


def test_the_hash_is_over_all_tables_with_their_notes() -> None:
    world = _world({"users": {"u1": {"name": "Zoë", "n": 1.0}}}, {"users": "who"})
    text = ", ".join(
        f'"{table}": {{"data": {{"u1": {{"n": 1.0, "name": "Zo\\u00eb"}}}}, "notes": "who"}}'
        if table == "users"
        else f'"{table}": {{"data": {{}}, "notes": ""}}'
        for table in sorted(TABLES)
    )
    assert len(TABLES) == 23
    assert canonical_hash(world) == hashlib.sha256(f"{{{text}}}".encode()).hexdigest()


def test_a_record_keeps_its_place_and_its_order_of_fields() -> None:
    world = _world({"users": {"b": {"x": 1}, "a": {"x": 1}}})
    insert(world, "users", {"id": "0"})
    change(world, "users", "b", {"x": 1}, y=2, x=3)
    assert list(rows(world, "users").items()) == [
        ("b", {"x": 3, "y": 2}),
        ("a", {"x": 1}),
        ("0", {"id": "0"}),
    ]


def test_a_taken_id_leaves_the_table_as_it_is() -> None:
    world = _world({"users": {"u1": {"x": 1}}})
    assert not insert(world, "users", {"id": "u1"})
    assert insert(world, "users", {"id": "anything"}, "u2")
    assert list(rows(world, "users")) == ["u1", "u2"]


def test_what_was_unlocked_is_no_part_of_the_state() -> None:
    world = _world()
    before = canonical_hash(world)
    world.execute("INSERT INTO unlocked_tools VALUES ('x')")
    assert canonical_hash(world) == before
    assert not len(world.changes())
