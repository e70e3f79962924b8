"""`gym-enterprise play`: what a person types, what a terminal shows, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from gym_enterprise import UsageError
from gym_enterprise.cli.app import make_app
from gym_enterprise.cli.outcomes import outcome_text
from gym_enterprise.cli.pager import page
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
        ("/cancel O1", "there is no /cancel: /tools lists"),
        ("/get_ordr order_id=O1", r"did you mean /get_order\? /tools"),
        ("get_order order_id=O1", "get_order is a tool: /get_order calls it"),
        ("//", "there is no //"),
        ("q", "q ends a long text"),
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
    assert completions(before, word, TOOLS | {"odd": ODD}, {}) == found


def test_tab_completes_ids_that_results_have_shown() -> None:
    seen = {"order_id": ["O2", "O1"], "document_id": ["refunds", "returns"], "id": ["X1"]}
    assert completions("/get_order ", "order_id=", TOOLS, seen) == [
        "order_id=O2",
        "order_id=O1",
        "order_id=X1",
    ]
    assert completions("/get_order ", "order_id=O1", TOOLS, seen) == ["order_id=O1"]
    assert completions("/read ", "ref", TOOLS, seen) == ["refunds"]
    assert completions("/read ", "ref", TOOLS, {}) == []


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


# A terminal.


def paged(lines: int, height: int, *answers: str | type[BaseException]) -> tuple[list[str], str]:
    shown: list[str] = []
    waiting = list(answers)

    def ask(question: str) -> str:
        shown.append(question)
        answer = waiting.pop(0)
        if isinstance(answer, str):
            return answer
        raise answer

    typed = page([str(number) for number in range(1, lines + 1)], height, shown.append, ask)
    assert not waiting
    return shown, typed


def test_long_text_comes_a_page_at_a_time_and_says_how_to_go_on_and_how_to_end() -> None:
    question = "-- 2/5: Enter goes on, q ends --"
    assert paged(5, 3, "", "") == (["1\n2", question, "3\n4", question.replace("2/", "4/"), "5"], "")
    assert paged(2, 3) == (["1\n2"], "")
    assert paged(5, 3, "q") == (["1\n2", question], "")
    assert paged(5, 3, KeyboardInterrupt) == (["1\n2", question, ""], "")


def test_what_is_typed_in_the_middle_of_a_long_text_is_the_next_line() -> None:
    assert paged(5, 3, "Hello!")[1] == "Hello!"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_in_a_small_terminal_a_message_typed_at_a_page_reaches_the_customer() -> None:
    """An outside pager took such a line for its own commands, and wrote a file named after it."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 60, 0, 0))
    command = "import gym_enterprise.cli as cli, sys; sys.argv[1:] = ['play', 'banking']; cli.main()"
    environment = os.environ | {"TERM": "xterm", "PAGER": "no-such-pager"}
    with subprocess.Popen(
        [sys.executable, "-c", command], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        os.write(ours, b"/read fees-of-cards\nMay I have your full name?\n/quit\n")
        output = b""
        try:
            while chunk := os.read(ours, 65536):
                output += chunk
        except OSError:  # how a pseudo-terminal says that the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    shown = output.decode()
    assert "Enter goes on, q ends" in shown
    assert "user: " in shown.split("May I have your full name?")[-1]
    assert "left before the end" in shown


def test_the_customer_is_not_offered_documents_that_only_the_agent_can_read() -> None:
    output = play("--task", "cancel", "--role", "user", lines="/help\n/search refunds\n/quit\n")
    assert "/search WORDS" not in output
    assert "there is no /search" in output
    assert "/search WORDS: search the documents" in play("--task", "cancel", lines="/help\n/quit\n")


def test_a_domain_is_named_at_the_end_as_the_command_line_found_it() -> None:
    assert f"gym-enterprise show cancel --domain {SHOP}" in play("--task", "cancel", lines="/stop\n")
