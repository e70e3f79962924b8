"""The bank's tools and SQL: total orders, an index for every lookup, nothing that would corrupt grading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gym_enterprise.domains.banking as banking
from gym_enterprise.domains.banking.data import ID_PREFIXES, generate
from gym_enterprise.world import World, WorldImage
from tests.domains.bank_desk import BANK, DATES, NEEDS_VERIFICATION, Arguments, Desk

READS: list[tuple[str, Arguments]] = [
    ("find_customer", lambda d: {"full_name": d.customer["full_name"].upper().replace(" ", "  ")}),
    ("find_customer_by_phone", lambda d: {"phone": d.customer["phone"]}),
    *[(name, arguments) for name, arguments in NEEDS_VERIFICATION if name.startswith(("list_", "get_"))],
    ("app_list_requests", lambda d: {}),
]


@pytest.fixture
def reversed_world():
    """The same records, stored in the opposite order."""
    schema = (Path(banking.__file__).parent / "schema.sql").read_text()
    rows = {name: rows[::-1] for name, rows in generate().items()}
    world = World(WorldImage.build(schema, rows, id_prefixes=ID_PREFIXES))
    yield world
    world.close()


def test_listings_do_not_depend_on_the_order_in_which_sqlite_finds_rows(desk, reversed_world):
    desk.verify()
    for amount in (900, 1000):
        desk.do("open_limit_request_3168", card_id=desk.card()["card_id"], limit="cash", amount=amount)
    shown = {name: desk.do(name, **arguments(desk)) for name, arguments in READS}
    other = Desk(desk.customer, reversed_world)
    other.verify()
    for amount in (900, 1000):
        other.do("open_limit_request_3168", card_id=other.card()["card_id"], limit="cash", amount=amount)
    assert {name: other.do(name, **arguments(other)) for name, arguments in READS} == shown
    lengths = {name: len(rows) for name, rows in shown.items()}
    assert min(lengths[name] for name in ("list_accounts", "list_cards", "list_transactions")) > 1


def test_listings_name_the_columns_of_their_order():
    listings = [
        t
        for seat in ("agent", "user")
        for t in BANK.toolset(seat)
        if t.name.split("_")[0] in ("list", "find")
    ]
    assert len(listings) >= 7
    assert all("Ordered by" in tool.description for tool in listings)


def test_every_lookup_uses_an_index(desk, monkeypatch):
    asked: dict[str, tuple[Any, ...]] = {}
    for method in ("query", "execute"):
        original = getattr(type(desk.world), method)

        def recorded(world, sql, *parameters, original=original):
            asked[sql] = parameters
            return original(world, sql, *parameters)

        monkeypatch.setattr(type(desk.world), method, recorded)
    desk.verify()
    desk.do("freeze_card", card_id=desk.card()["card_id"], reason="lost")
    opened = desk.do(
        "open_limit_request_3168", card_id=desk.card("harbor")["card_id"], limit="cash", amount=400
    )
    desk.do("app_confirm_request", request_id=opened["request_id"])
    for name, arguments in [*READS, *NEEDS_VERIFICATION]:
        desk.call(name, **arguments(desk))
    desk.call("app_travel_notice_2290", card_id=desk.card("harbor")["card_id"], country="IS", **DATES)
    monkeypatch.undo()
    assert len(asked) > 40
    for sql, parameters in asked.items():
        for step in desk.world.query(f"EXPLAIN QUERY PLAN {sql}", *parameters):
            scan = step["detail"].startswith("SCAN") and not re.match(
                r"SCAN \(?(subquery|CONSTANT)", step["detail"], re.I
            )
            assert not scan, (sql, step["detail"])


def test_the_sources_use_neither_replace_nor_declined():
    folder = Path(banking.__file__).parent
    sources = {path: path.read_text() for path in folder.rglob("*") if path.suffix in (".py", ".sql")}
    assert len(sources) > 10
    for path, text in sources.items():
        assert not re.search(r"\bREPLACE\b", text), path
        assert "Declined" not in text, path
    schema = sources[folder / "schema.sql"]
    assert not re.search(r"\b(REAL|ANY|BLOB)\b|random\(|'now'", schema)
