"""One path for every call of every seat: reports B004, B009, B021; error codes by hand."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pydantic
import pytest

from gym_enterprise import Declined, Money, ToolError, World, tool
from gym_enterprise.dispatch import MAX_RESULT, Dispatcher
from gym_enterprise.messages import Seat
from gym_enterprise.toolset import Toolset
from tests.shop import TOOLS, make_domain, task

DOMAIN = make_domain()
BOTH = {"tools": ["confirm_order", "rate_order_5"]}
EXPEDITE = {"name": "expedite_order_77", "arguments": {"order_id": "O2"}}


class Receipt(pydantic.BaseModel):
    number: int


@tool(writes=True)
def half_way(world: World, how: str, amount: Money = 0) -> Any:
    """Write, then end in some way.

    Args:
        how: In which way.
        amount: Dollars.
    """
    world.execute("UPDATE orders SET status = 'half' WHERE order_id = 'O1'")
    world.insert("log", n=1, entry="half")
    if how == "tool_error":
        raise ToolError("closed", "the account is closed")
    if how == "odd_error":
        raise ToolError("odd", {"not": "text"})  # type: ignore[arg-type]
    if how == "surrogate_error":
        raise ToolError("odd", "a\ud800b")
    if how == "constraint":
        world.insert("credits", account_id="nobody", amount=1)
    if how == "division":
        return 1 / 0
    if how == "recursion":
        return half_way.function(world, how)
    if how == "sql":
        world.query("SELECT nothing FROM nowhere")
    if how == "drop":
        world.execute("DROP TABLE orders")
    if how == "interrupt":
        raise KeyboardInterrupt
    results: dict[str, Any] = {
        "declined": Declined("no", "not today"),
        "model": Receipt(number=3),
        "set": {1, 2},
        "nan": float("nan"),
        "bytes": b"x",
        "surrogate": "a\ud800",
        "long": "x" * (MAX_RESULT + 1000),
        "none": None,
        "odd_keys": {1: "a", (2, 3): "b"},
    }
    return results[how]


@tool()
def sly_reader(world: World, how: str = "write") -> Any:
    """Write, though declared as a read.

    Args:
        how: In which way.
    """
    world.execute("UPDATE orders SET status = 'sly' WHERE order_id = 'O1'")
    return Declined("no", "kept") if how == "declined" else "done"


def dispatcher(user: dict[str, Any] | None = None) -> Dispatcher:
    played = task(user=user or {})
    world = World(DOMAIN.image)
    world.begin(now=played.now, seed=played.seed)
    everything = (*TOOLS, half_way, sly_reader)
    seats: tuple[Seat, Seat] = ("agent", "user")
    return Dispatcher({seat: Toolset(seat, everything) for seat in seats}, played, world)


def changed(it: Dispatcher) -> list[Any]:
    return it._world.changes().to_list()


def error_of(it: Dispatcher, seat: Seat, name: Any, arguments: Any) -> tuple[str, str]:
    """The code and message of a call that must fail and leave every table untouched."""
    before, unlocked, given = it._world.changeset(), it.unlocked, it.given
    outcome = it.call(seat, name, arguments)
    value = outcome.to_dict()
    assert list(value) == ["ok", "error"]
    assert value["ok"] is False
    assert outcome.ok is False
    assert outcome.counts
    assert not outcome.ends
    assert list(value["error"]) == ["code", "message"]
    assert (it._world.changeset(), it.unlocked, it.given) == (before, unlocked, given)
    outcome.text.encode()
    assert not any(word in outcome.text for word in ("Error", "Exception", "Traceback", "pydantic", "apsw"))
    return value["error"]["code"], value["error"]["message"]


# -- what works -------------------------------------------------------------------------------------------


def test_a_call_that_works_answers_ok_and_the_result() -> None:
    assert dispatcher().call("agent", "cancel_order", {"order_id": "O1"}).text == (
        '{"ok": true, "result": "cancelled"}'
    )


def test_arguments_may_be_an_object_or_its_text() -> None:
    as_object = dispatcher().call("agent", "issue_credit", {"account_id": "A1", "amount": 33})
    as_text = dispatcher().call("agent", "issue_credit", '{"account_id": "A1", "amount": 33.0}')
    assert as_object == as_text
    assert as_object.ok


@pytest.mark.parametrize("spelling", ["33", "33.0", "33.00", "3.3e1", "330e-1"])
def test_b001_every_spelling_of_an_amount_makes_the_same_row_id_and_text(spelling: str) -> None:
    it = dispatcher()
    outcome = it.call("agent", "issue_credit", f'{{"account_id": "A1", "amount": {spelling}}}')
    assert outcome.to_dict()["result"]["amount"] == "33.00"
    plain = dispatcher()
    assert plain.call("agent", "issue_credit", {"account_id": "A1", "amount": 33}) == outcome
    assert changed(plain) == changed(it)


def test_use_tool_runs_a_listed_tool_as_a_direct_call_does() -> None:
    direct, used = dispatcher(), dispatcher()
    arguments = {"account_id": "A1", "amount": 3.3e1}
    one = direct.call("agent", "issue_credit", arguments)
    two = used.call("agent", "use_tool", {"name": "issue_credit", "arguments": arguments})
    assert (one, changed(direct)) == (two, changed(used))


def test_use_tool_takes_its_arguments_as_json_text_too() -> None:
    it = dispatcher()
    assert it.call(
        "agent", "use_tool", '{"name": "cancel_order", "arguments": "{\\"order_id\\": \\"O1\\"}"}'
    ).ok


def test_a_model_is_shown_as_an_object_and_none_as_null() -> None:
    assert dispatcher().call("agent", "half_way", {"how": "model"}).to_dict()["result"] == {"number": 3}
    assert dispatcher().call("agent", "half_way", {"how": "none"}).to_dict()["result"] is None


def test_a_terminal_tool_ends_only_when_it_works() -> None:
    it = dispatcher()
    assert it.call("agent", "transfer_to_human", {"account_id": "A1", "reason": "fraud"}).ends
    assert not it.call("agent", "transfer_to_human", {"account_id": "A1", "reason": "fraud"}).ends


def test_a_result_that_is_too_long_is_cut_by_a_rule_that_it_states() -> None:
    outcome = dispatcher().call("agent", "half_way", {"how": "long"})
    result = outcome.to_dict()["result"]
    assert outcome.ok
    assert result.endswith(f"… [cut at {MAX_RESULT} of {MAX_RESULT + 1002} characters]")  # with two quotes
    assert len(result) < MAX_RESULT + 100


def test_an_open_seat_lists_the_tools_that_it_can_call_now() -> None:
    it = dispatcher(BOTH)
    assert it.tools("user") == ("confirm_order", "use_tool")
    it.call("agent", "give_tool", {"name": "rate_order_5"})
    assert it.tools("user") == ("confirm_order", "use_tool", "rate_order_5")
    assert "expedite_order_77" not in it.tools("agent")
    it.call("agent", "unlock_tool", {"name": "expedite_order_77"})
    assert it.tools("agent")[-1] == "expedite_order_77"


# -- unlock, use, give ------------------------------------------------------------------------------------


def test_a_discoverable_tool_is_locked_until_unlocked_in_both_spellings() -> None:
    it = dispatcher()
    assert error_of(it, "agent", "expedite_order_77", {"order_id": "O2"})[0] == "locked"
    assert error_of(it, "agent", "use_tool", EXPEDITE)[0] == "locked"
    unlocked = it.call("agent", "unlock_tool", {"name": "expedite_order_77"})
    assert '"name": "expedite_order_77"' in unlocked.to_dict()["result"]
    assert '"order_id"' in unlocked.to_dict()["result"]
    assert it.call("agent", "use_tool", EXPEDITE) == it.call("agent", "expedite_order_77", {"order_id": "O2"})
    assert it.unlocked == ("expedite_order_77",)


def test_unlocking_changes_no_row_and_again_changes_nothing() -> None:
    it = dispatcher()
    first = it.call("agent", "unlock_tool", {"name": "expedite_order_77"})
    assert it.call("agent", "unlock_tool", {"name": "expedite_order_77"}) == first
    assert it.unlocked == ("expedite_order_77",)
    assert changed(it) == []


@pytest.mark.parametrize("name", ["cancel_order", "rate_order_5", "unlock_tool", "nothing", "confirm_order"])
def test_only_the_agents_discoverable_tools_can_be_unlocked_and_no_other_name_is_told(name: str) -> None:
    code, message = error_of(dispatcher(BOTH), "agent", "unlock_tool", {"name": name})
    assert code == "unknown_tool"
    assert "expedite" not in message


def test_the_list_in_an_error_does_not_name_tools_that_are_to_be_discovered() -> None:
    code, message = error_of(dispatcher(BOTH), "agent", "refnd_order", {})
    assert code == "unknown_tool"
    assert "'refnd_order'" in message
    assert "cancel_order" in message
    assert "expedite" not in message
    assert "rate_order" not in message


def test_a_given_tool_works_for_the_user_in_both_spellings_and_not_before() -> None:
    it = dispatcher(BOTH)
    rate = {"order_id": "O1", "stars": 4}
    assert error_of(it, "user", "rate_order_5", rate)[0] == "locked"
    assert error_of(it, "user", "use_tool", {"name": "rate_order_5", "arguments": rate})[0] == "locked"
    given = it.call("agent", "give_tool", {"name": "rate_order_5"})
    assert given.given is not None
    assert given.given.name == "rate_order_5"
    assert it.call("user", "use_tool", {"name": "rate_order_5", "arguments": rate}).ok
    assert it.call("user", "rate_order_5", {"order_id": "O2", "stars": 4}).ok


def test_giving_again_is_no_second_gift() -> None:
    it = dispatcher(BOTH)
    it.call("agent", "give_tool", {"name": "rate_order_5"})
    again = it.call("agent", "give_tool", {"name": "rate_order_5"})
    assert again.ok
    assert again.given is None
    assert it.given == ("rate_order_5",)


def test_a_user_tool_that_the_task_does_not_offer_can_be_neither_given_nor_called() -> None:
    it = dispatcher({"tools": ["rate_order_5"]})
    assert error_of(it, "user", "confirm_order", {"order_id": "O1", "code": "x"})[0] == "unknown_tool"
    without = dispatcher({"tools": ["confirm_order"]})
    assert error_of(without, "agent", "give_tool", {"name": "rate_order_5"})[0] == "unknown_tool"
    assert error_of(without, "user", "rate_order_5", {"order_id": "O1", "stars": 4})[0] == "unknown_tool"
    used = {"name": "confirm_order", "arguments": {"order_id": "O1", "code": "x"}}
    assert error_of(without, "user", "use_tool", used)[0] == "unknown_tool"


def test_a_user_without_tools_reads_that_it_has_none() -> None:
    assert (
        error_of(dispatcher(), "user", "cancel_order", {})[1]
        == "there is no tool 'cancel_order'; tools: none"
    )


@pytest.mark.parametrize("name", ["cancel_order", "unlock_tool", "give_tool", "expedite_order_77"])
def test_the_user_cannot_call_the_agents_tools(name: str) -> None:
    it = dispatcher(BOTH)
    it.call("agent", "unlock_tool", {"name": "expedite_order_77"})
    assert error_of(it, "user", name, {"order_id": "O1"})[0] == "unknown_tool"
    used = {"name": name, "arguments": {"order_id": "O1"}}
    assert error_of(it, "user", "use_tool", used)[0] == "unknown_tool"


@pytest.mark.parametrize("name", ["confirm_order", "rate_order_5"])
def test_the_agent_cannot_call_the_users_tools(name: str) -> None:
    it = dispatcher(BOTH)
    it.call("agent", "give_tool", {"name": "rate_order_5"})
    assert error_of(it, "agent", name, {"order_id": "O1"})[0] == "unknown_tool"


@pytest.mark.parametrize("name", ["use_tool", "unlock_tool", "give_tool"])
def test_use_tool_runs_no_built_in(name: str) -> None:
    arguments = {"name": name, "arguments": {"name": "expedite_order_77", "arguments": {}}}
    assert error_of(dispatcher(BOTH), "agent", "use_tool", arguments)[0] == "invalid_arguments"


# -- what does not work -----------------------------------------------------------------------------------


def test_a_forged_requestor_is_an_unknown_field() -> None:
    for field in ("requestor", "seat", "world", "user"):
        code, message = error_of(dispatcher(), "agent", "cancel_order", {"order_id": "O1", field: "user"})
        assert (code, message.split(" is ")[0]) == ("invalid_arguments", f"`{field}`")


@pytest.mark.parametrize("name", [None, "", 3, [], {}, True])
def test_b021_a_call_without_a_name_is_malformed(name: Any) -> None:
    assert error_of(dispatcher(), "agent", name, {"a": 3})[0] == "malformed_call"


@pytest.mark.parametrize(
    "arguments",
    [None, "", "{", '{"name":"get_order"', "[]", "3", '"text"', [], 3, True, "null", '{"a": NaN}'],
)
def test_b021_arguments_that_are_no_object_are_malformed(arguments: Any) -> None:
    assert error_of(dispatcher(), "agent", "get_order", arguments)[0] == "malformed_call"


def test_b021_an_unreadable_call_is_shown_what_was_read() -> None:
    assert '{"name":"get_order"' in error_of(dispatcher(), "agent", "", '{"name":"get_order"')[1]


def test_b017_valid_text_is_kept_to_the_letter_and_nothing_is_repaired() -> None:
    it = dispatcher()
    text = "what's the customer's \"limit\", waiting"
    arguments = '{"account_id": "A1", "address": "what\'s the customer\'s \\"limit\\", waiting"}'
    assert it.call("agent", "set_address", arguments).to_dict()["result"] == {"address": text}
    for broken in (
        "{'account_id': 'A1', 'address': 'x'}",
        '{"account_id": "A1", "address": "x",}',
        '{"account_id": "A1", "address": "Sent to the "boss", waiting"}',
        '{"account_id": "A1", "address": "x"',
    ):
        assert error_of(it, "agent", "set_address", broken)[0] == "malformed_call"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"order_id": 1}, {"order_id": "O1 "}, {"order": "O1"}, {"order_id": None}, {"order_id": "\ud800"}],
)
def test_arguments_that_do_not_fit_are_invalid(arguments: Any) -> None:
    code, message = error_of(dispatcher(), "agent", "cancel_order", arguments)
    assert code == "invalid_arguments"
    assert "`order" in message


def test_a_failed_precondition_has_the_tools_own_code_and_words() -> None:
    assert error_of(dispatcher(), "agent", "cancel_order", {"order_id": "O9"}) == (
        "unknown_order",
        "there is no order 'O9'",
    )


def test_b009_a_tool_error_takes_back_what_was_written_before_it() -> None:
    it = dispatcher()
    arguments = {"source": "A1", "target": "closed", "amount": 5}
    assert error_of(it, "agent", "move_money", arguments)[0] == "unknown_account"
    assert error_of(it, "agent", "half_way", {"how": "tool_error"}) == ("closed", "the account is closed")
    assert it.call("agent", "move_money", {**arguments, "target": "A2"}).ok
    assert [row["values"] for row in changed(it)] == [{"balance": 1200}, {"balance": 9500}]


def test_b009_a_failed_call_keeps_earlier_calls() -> None:
    it = dispatcher()
    it.call("agent", "cancel_order", {"order_id": "O2"})
    error_of(it, "agent", "half_way", {"how": "division"})
    assert [row["key"] for row in changed(it)] == [{"order_id": "O2"}]


BUGS = ["constraint", "division", "recursion", "sql", "drop", "set", "nan", "bytes", "surrogate", "odd_keys"]


@pytest.mark.parametrize("how", [*BUGS, "not a key"])
def test_a_bug_in_a_tool_is_a_tool_failure_without_python_names_and_the_log_has_the_traceback(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="gym_enterprise"):
        code, message = error_of(dispatcher(), "agent", "half_way", {"how": how})
    assert code == "tool_failure"
    assert message == "the tool 'half_way' is out of order; nothing was changed"
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "half_way" in record.getMessage()
    assert how in record.getMessage()


def test_an_interrupt_is_not_swallowed_and_leaves_nothing_behind() -> None:
    it = dispatcher()
    with pytest.raises(KeyboardInterrupt):
        it.call("agent", "half_way", {"how": "interrupt"})
    assert changed(it) == []
    assert it.call("agent", "cancel_order", {"order_id": "O1"}).ok


@pytest.mark.parametrize("how", ["write", "declined"])
def test_a_read_that_writes_is_a_tool_failure_and_the_write_is_taken_back(how: str) -> None:
    assert error_of(dispatcher(), "agent", "sly_reader", {"how": how})[0] == "tool_failure"


def test_declined_keeps_its_writes_and_does_not_count() -> None:
    it = dispatcher()
    outcome = it.call("agent", "half_way", {"how": "declined"})
    assert outcome.to_dict() == {"ok": False, "error": {"code": "no", "message": "not today"}}
    assert not outcome.counts
    assert [row["values"] for row in changed(it)] == [{"status": "half"}]


def test_a_tool_error_with_words_that_are_no_text_is_still_an_outcome() -> None:
    assert error_of(dispatcher(), "agent", "half_way", {"how": "odd_error"}) == ("odd", "{'not': 'text'}")
    assert error_of(dispatcher(), "agent", "half_way", {"how": "surrogate_error"}) == ("odd", "a\\ud800b")


HOSTILE: list[tuple[Any, Any]] = [
    ("cancel_order", {"order_id": 10**5000}),
    ("cancel_order", '{"order_id": 1' + "0" * 5000 + "}"),
    ("cancel_order", {"order_id": float("nan")}),
    ("cancel_order", {"order_id": "\ud800"}),
    ("cancel_order", {"\ud800": 1}),
    ("cancel_order", "\ud800"),
    ("", "\ud800" * 300),
    ("\ud800", {}),
    ("x" * 1_000_000, {}),
    ("cancel_order", "[" * 100_000),
    ("cancel_order", '{"order_id": ' * 100_000),
    ("cancel_order", {f"k{number}": 1 for number in range(20_000)}),
    ("unlock_tool", {"name": "x" * 1_000_000}),
    ("give_tool", {"name": "\U0001f600" * 100_000}),
    ("use_tool", {"name": "cancel_order", "arguments": {"order_id": [[[[]]]]}}),
    ("use_tool", {"name": "cancel_order", "arguments": "[" * 100_000}),
    ("cancel_order", {1: 2}),
    ("cancel_order", b"{}"),
    ("cancel_order", {"order_id": object()}),
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_no_call_whatever_raises_or_answers_at_length(number: int) -> None:
    name, arguments = HOSTILE[number]
    _, message = error_of(dispatcher(BOTH), "agent", name, arguments)
    assert len(message) < 10_000
    assert "sys." not in message


def test_deep_arguments_are_refused_whatever_the_stack_has_left() -> None:
    value: Any = "O1"
    for _ in range(sys.getrecursionlimit() * 3):
        value = [value]
    assert error_of(dispatcher(), "agent", "cancel_order", {"order_id": value})[0] == "invalid_arguments"
