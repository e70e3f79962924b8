"""`gym-enterprise play`: what a person types, what a terminal shows, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from gym_enterprise import UsageError
from gym_enterprise.cli.app import make_app
from gym_enterprise.cli.outcomes import outcome_text
from gym_enterprise.cli.typed import argument_text, completions, read_line, tool_text
from gym_enterprise.tools import ToolSpec
from tests.shop import make_domain

SHOP = "tests.shop:make_domain"
TOOLS = {spec.name: spec for spec in make_domain().toolset("agent").listed}
ODD = ToolSpec(
    "odd",
    "Take all kinds.",
    {
        "properties": {
            "amount": {"type": "number", "description": "How much."},
            "day": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "kind": {"type": "string", "enum": ["lost", "stolen"]},
            "urgent": {"type": "boolean"},
            "items": {"type": "array"},
        },
        "required": ["amount"],
    },
)


def play(*options: str, lines: str) -> str:
    result = CliRunner().invoke(make_app(), ["play", SHOP, *options], input=lines)
    assert result.exception is None, result.exception
    return result.output


# What is typed.


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("Hello there ", {"type": "message", "content": "Hello there"}),
        ("//stop is a word", {"type": "message", "content": "/stop is a word"}),
        ("/stop", {"type": "stop"}),
        ("/stop Good bye.", {"type": "stop", "content": "Good bye."}),
        ("/search lost card", ("kb_search", {"query": "lost card"})),
        ("/read refunds", ("kb_read", {"document_id": "refunds"})),
        ("/odd amount=12.50 day=2026-03-02", ("odd", {"amount": 12.5, "day": "2026-03-02"})),
        ("/odd amount=3 day='the 2nd' urgent=true items=[1,2]", None),
        ('/odd {"amount": 3, "kind": "lost"}', ("odd", {"amount": 3, "kind": "lost"})),
        ("/get_order order_id=7", ("get_order", {"order_id": "7"})),  # text, whatever it looks like
    ],
)
def test_a_line_is_an_action(line: str, action: Any) -> None:
    if action is None:
        action = ("odd", {"amount": 3, "day": "the 2nd", "urgent": True, "items": [1, 2]})
    if isinstance(action, tuple):
        action = {"type": "tool_call", "name": action[0], "arguments": action[1]}
    assert read_line(line, TOOLS | {"odd": ODD}).action == action


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/cancel O1", "there is no /cancel"),
        ("/search", "takes what to search"),
        ("/get_order", r"get_order needs order_id \(text\): The order."),
        ("/get_order order_id", "should be name=value"),
        ("/get_order order_id='O1", "close the quotation"),
        ("/get_order id=O1", "no argument 'id'; it takes order_id"),
        ("/get_order order_id=1 order_id=2", "order_id is given twice"),
        ("/odd amount=much", "amount should be a number, got 'much'"),
        ("/odd {amount: 1}", "no JSON object"),
    ],
)
def test_a_line_that_is_none_is_refused_in_words_and_nothing_is_called(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_line(line, TOOLS | {"odd": ODD})


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", "/get", ["/get_order "]),
        ("", "/s", ["/search ", "/set_address ", "/stop "]),
        ("", "get", []),  # a message
        ("/tools ", "get", ["get_order"]),
        ("/odd ", "", ["amount=", "day=", "kind=", "urgent=", "items="]),
        ("/odd amount=3 ", "", ["day=", "kind=", "urgent=", "items="]),
        ("/odd ", "kind=", ["kind=lost", "kind=stolen"]),
        ("/odd ", "urgent=t", ["urgent=true"]),
        ("I have ", "/get", []),
    ],
)
def test_tab_completes_tools_arguments_and_values(before: str, word: str, found: list[str]) -> None:
    assert completions(before, word, TOOLS | {"odd": ODD}) == found


def test_a_tool_is_told_with_its_arguments_and_their_kinds() -> None:
    assert tool_text(ODD).split("\n") == [
        "/odd amount=...",
        "  Take all kinds.",
        "  - amount (number): How much.",
        "  - day (text, optional)",
        "  - kind (lost | stolen, optional)",
        "  - urgent (true | false, optional)",
        "  - items (JSON list, optional)",
    ]
    assert argument_text("order_id", TOOLS["get_order"]) == "order_id (text): The order."


# What is shown.


def test_results_are_lines_rather_than_json() -> None:
    rows = [{"id": "a", "price": 3}, {"id": "b", "note": "one\ntwo"}]
    assert outcome_text({"ok": True, "result": {"rows": rows, "none": [], "gone": None}}).split("\n") == [
        "rows:",
        "  - id: a, price: 3",
        "  - id: b",
        "    note:",
        "      one",
        "      two",
        "none: none",
        "gone: null",
    ]
    document = {"document_id": "fees", "title": "Fees", "content": "# Fees\n\nNone."}
    assert outcome_text({"ok": True, "result": document}) == "# Fees (fees)\n\n# Fees\n\nNone."
    fault = {"ok": False, "error": {"code": "locked", "message": "not yet"}}
    assert outcome_text(fault) == "! locked: not yet"


def test_right_work_ends_with_the_changes_and_reward_1() -> None:
    lines = "/search refund\n/get_order order_id=O1\n/cancel_order order_id=O1\nDone.\n/stop Good bye.\n"
    output = play("--task", "cancel", lines=lines)
    assert "user: Please cancel an order of mine." in output
    assert "document_id: refunds" in output
    assert "status: open" in output
    assert "reward 1.0" in output
    assert "update orders [order_id=O1] status: 'open' -> 'cancelled'" in output
    assert "Against what was wanted: no difference" in output


def test_work_left_undone_ends_with_what_is_missing_and_reward_0() -> None:
    output = play("--task", "cancel", lines="/stop\n")
    assert "reward 0.0" in output
    assert "The database: no change" in output
    assert "missing: update orders [order_id=O1] status: 'open' -> 'cancelled'" in output


def test_faults_of_typing_are_one_line_and_no_call() -> None:
    output = play("--task", "cancel", lines="/cancel_order\n/nothing\n\n/stop\n")
    assert "cancel_order needs order_id" in output
    assert "there is no /nothing" in output
    assert "after 1 steps" in output  # the customer's opening; a stop is none


def test_a_discovered_tool_can_be_called_by_its_name() -> None:
    lines = "/unlock_tool name=expedite_order_77\n/expedite_order_77 order_id=O2\n/stop\n"
    output = play("--task", "expedite", lines="/expedite_order_77 order_id=O2\n" + lines)
    assert "there is no /expedite_order_77" in output
    assert "reward 1.0" in output


def test_leaving_is_no_end_and_nothing_is_graded() -> None:
    for lines in ("/quit\n", "", "Hello.\n"):
        output = play("--task", "cancel", lines=lines)
        assert "left before the end: nothing is graded" in output
        assert "reward" not in output


def test_a_person_in_the_customers_seat_sees_its_own_scenario_and_tools_only() -> None:
    lines = (
        "My parcel came.\n/tools\n/confirm_order order_id=O1 code=XK-7\nI used `confirm_order`.\n"
        "/rate_order_5 order_id=O2 stars=4\nI used `rate_order_5`.\nThank you, goodbye.\nGoodbye.\n"
    )
    output = play("--role", "user", "--task", "confirm", lines=lines)
    assert "code: XK-7" in output
    assert "/confirm_order" in output
    assert "cancel_order" not in output
    assert "reward 1.0" in output


def test_the_agent_is_not_shown_what_the_customer_knows() -> None:
    output = play("--task", "confirm", lines="/task\n/history\n/quit\n")
    assert "You serve the customers of a small shop." in output
    assert "XK-7" not in output


def test_the_history_has_the_persons_own_calls() -> None:
    output = play("--task", "cancel", lines="/get_order order_id=O1\n/history\n/quit\n")
    assert 'agent: > get_order {"order_id": "O1"}' in output
    assert output.count("status: open") == 2


def test_the_seed_draws_the_task_and_the_same_one_again() -> None:
    outputs = [play("--seed", str(seed), lines="/quit\n") for seed in (0, 0, 1, 2, 3, 4)]
    assert outputs[0] == outputs[1]
    assert len(set(outputs)) > 1


def test_an_unknown_seat_is_refused() -> None:
    result = CliRunner().invoke(make_app(), ["play", SHOP, "--role", "boss"])
    assert isinstance(result.exception, UsageError)
    assert "'boss'" in str(result.exception)
