"""Random calls: no exception comes out, and a refused or failed call changes nothing but its record."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_enterprise.domains.tau3_banking import canonical_hash
from gym_enterprise.domains.tau3_banking.tools.catalogue import AGENTS, USERS
from tests.tau3.good_calls import GOOD
from tests.tau3.small_bank import Desk, database, small_bank

IDS = sorted({record_id for table in database().values() for record_id in table})
WORDS = [
    "",
    " ",
    "é",
    "e\u0301",
    "\x00",
    "\ud800",
    "ACTIVE",
    "checking",
    "fee_refund",
    "1,5",
    "$1",
    "nan",
    "-inf",
]
NUMBERS = [0, -1, 1, 25, 0.005, -0.0, 1e308, -1e308, 2**63, 10**400, float("nan"), float("inf")]
SCALARS = st.one_of(
    st.sampled_from(IDS),
    st.sampled_from(WORDS),
    st.sampled_from(NUMBERS),
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text(max_size=8),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner))
TOOLS = [(seat, tool.name) for seat in ("agent", "user") for tool in small_bank().toolset(seat)]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, Any]:
    """Draw a call: of any tool, by any seat, with good, odd, missing and superfluous arguments."""
    seat, name = draw(st.sampled_from(TOOLS))
    tool = small_bank().toolset(seat).get(name)
    assert tool is not None
    arguments: dict[str, Any] = dict(GOOD.get(name, {}))
    for field in tool.parameters["properties"]:
        if field not in arguments or draw(st.integers(0, 3)) == 0:
            arguments[field] = draw(VALUES)
    if draw(st.integers(0, 9)) == 0:
        arguments.pop(draw(st.sampled_from([*arguments, "nothing"])), None)
    if draw(st.integers(0, 19)) == 0:
        arguments[draw(st.text(max_size=4))] = draw(VALUES)
    seat = draw(st.sampled_from([seat, seat, seat, "agent", "user"]))
    way = draw(st.sampled_from(["directly", "discovered", "discovered", "as text"]))
    if way == "discovered" and name in AGENTS:
        call = {"agent_tool_name": name, "arguments": json.dumps(arguments)}
        return seat, "call_discoverable_agent_tool", call
    if way == "discovered" and name in USERS:
        call = {"discoverable_tool_name": name, "arguments": json.dumps(arguments)}
        return seat, "call_discoverable_user_tool", call
    return seat, name, json.dumps(arguments) if way == "as text" else arguments


@settings(max_examples=150, deadline=None)
@given(st.lists(calls(), min_size=1, max_size=6))
def test_no_call_raises_and_an_error_changes_nothing_but_its_record(made: list[tuple[str, str, Any]]) -> None:
    desk = Desk()
    for seat, name, arguments in made:
        state, whole = desk.state(), desk.hash()
        outcome = desk.dispatcher.call(seat, name, arguments)
        code = outcome.to_dict().get("error", {}).get("code")
        assert code != "tool_failure", (seat, name, arguments)
        if not outcome.ok:
            assert desk.state() == state
        if outcome.counts:
            assert desk.hash() == whole
        twin = desk.world.fork()
        assert canonical_hash(twin) == desk.hash()
        assert twin.changes() == desk.world.changes()
        twin.close()


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TOOLS), VALUES)
def test_arguments_of_any_shape_are_answered(tool: tuple[str, str], arguments: Any) -> None:
    desk = Desk()
    before = desk.state()
    outcome = desk.dispatcher.call(tool[0], tool[1], arguments)
    if not outcome.ok:
        assert desk.state() == before


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, logger="gym_enterprise")
