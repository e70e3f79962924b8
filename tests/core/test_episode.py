"""The state machine of one conversation: each rule of turns, stops and budgets as one test."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from gym_enterprise import (
    Episode,
    InvalidAction,
    Message,
    OutOfTurn,
    UsageError,
    load_domain,
)
from gym_enterprise.actions import MAX_TEXT
from gym_enterprise.messages import Seat
from tests.core.conversation import (
    BOTH_TOOLS,
    CANCEL,
    DOMAIN,
    call,
    episode,
    heard,
    last_error,
    opened,
    play,
    say,
    stop,
)
from tests.shop import make_domain, task

BOTH: tuple[Seat, Seat] = ("agent", "user")
SHOP = load_domain("shop")

# -- turns ------------------------------------------------------------------------------------------------


def test_the_user_opens_and_each_history_begins_with_its_own_system_text() -> None:
    it = episode()
    assert it.turn == "user"
    (agent,), (user,) = it.observe("agent")["messages"], it.observe("user")["messages"]
    assert agent == Message(0, "system", "You serve the customers of a small shop. Look before you act.")
    assert user.role == "system"
    assert "You begin with: Please cancel an order of mine." in user.content


def test_a_domain_can_let_the_agent_open() -> None:
    it = episode(domain=make_domain(first_speaker="agent"))
    assert it.turn == "agent"
    it.act("agent", say("Good morning."))
    assert str(it.turn) == "user"


def test_a_message_passes_the_turn_and_both_read_it() -> None:
    it = play(episode(), ("user", say("hello")), ("agent", say("hi")))
    assert it.turn == "user"
    assert heard(it, "agent") == heard(it, "user") == ["user: hello", "agent: hi"]


def test_a_call_keeps_the_turn_and_is_two_messages_of_its_caller_only() -> None:
    it = play(opened(), ("agent", {**CANCEL, "id": "c1"}))
    assert it.turn == "agent"
    made, answered = it.observe("agent")["messages"][-2:]
    assert (str(made.role), made.content, made.call) == ("agent", "", answered.call)
    assert answered.role == "tool"
    assert answered.result == {"ok": True, "result": "cancelled"}
    assert answered.call is not None
    assert answered.call.to_dict() == {"id": "c1", "name": "cancel_order", "arguments": {"order_id": "O1"}}
    assert heard(it, "user") == ["user: hello"]


def test_an_observation_has_the_history_the_steps_and_whose_turn_it_is() -> None:
    it = play(opened(), ("agent", CANCEL))
    agent, user = it.observe("agent"), it.observe("user")
    assert list(agent) == ["messages", "turn", "your_turn"]
    assert (agent["turn"], agent["your_turn"], user["turn"], user["your_turn"]) == (2, 1, 2, 0)
    assert [m.seq for m in agent["messages"]] == [0, 1, 2, 3]
    assert it.observe("agent") == agent
    with pytest.raises(UsageError, match="no seat 'bot'; seats: agent, user"):
        it.observe("bot")  # type: ignore[arg-type]


def test_a_bare_stop_ends_at_once_and_is_no_step() -> None:
    ways: dict[Seat, list[tuple[Seat, Any]]] = {
        "user": [("user", stop())],
        "agent": [("user", say("hi")), ("agent", stop())],
    }
    for seat, turns in ways.items():
        it = play(episode(), *turns)
        assert (it.done, it.terminated, it.truncated, it.turn) == (True, True, False, None)
        assert it.reason == f"{seat}_stop"
        assert it.step == len(turns) - 1


def test_an_agents_stop_with_text_delivers_it_and_ends() -> None:
    it = play(opened(), ("agent", stop("Goodbye.")))
    assert heard(it, "user") == ["user: hello", "agent: Goodbye."]
    assert (it.reason, it.step) == ("agent_stop", 2)


def test_a_terminal_tool_that_works_ends_and_one_that_fails_does_not() -> None:
    it = play(opened(), ("agent", call("transfer_to_human", account_id="A1", reason="bored")))
    assert not it.done
    it.act("agent", call("transfer_to_human", account_id="A1", reason="fraud"))
    assert (it.terminated, it.truncated, it.reason) == (True, False, "terminal_tool")


def test_acting_out_of_turn_changes_nothing() -> None:
    it = opened()
    before = it.snapshot()
    for action in (say("me again"), call("confirm_order"), stop(), {"not": "an action"}):
        with pytest.raises(OutOfTurn, match="it is the agent's turn, not the user's"):
            it.act("user", action)
    with pytest.raises(OutOfTurn):
        it.act_all("user", [say("x")])
    with pytest.raises(OutOfTurn):
        it.reject("user", "x")
    with pytest.raises(UsageError, match="no seat"):
        it.act("bot", say("x"))  # type: ignore[arg-type]
    assert it.snapshot() == before


def test_b029_acting_after_the_end_raises_twice_and_changes_nothing() -> None:
    it = play(opened(), ("agent", stop()))
    before, grade = it.snapshot(), it.grade()
    for _ in range(2):
        for seat in BOTH:
            with pytest.raises(OutOfTurn, match=r"the episode is over \(agent_stop\): reset\(\)"):
                it.act(seat, CANCEL)
        with pytest.raises(OutOfTurn):
            it.fail("late")
    assert it.snapshot() == before
    assert it.grade() == grade
    assert grade.reward == 0.0
    it.reset()
    assert it.turn == "user"


# -- what is no action ------------------------------------------------------------------------------------

NOT_ACTIONS: list[Any] = [
    None,
    "hello",
    3,
    [],
    {},
    {"type": "shout", "content": "x"},
    {"type": ["message"], "content": "x"},
    {"content": "x"},
    {"type": "message"},
    {"type": "message", "content": None},
    {"type": "message", "content": 3},
    {"type": "message", "content": ["x"]},
    {"type": "message", "content": ""},
    {"type": "message", "content": " \n\t\u00a0"},
    {"type": "message", "content": "x", "role": "system"},
    {"type": "message", "content": "x", "seat": "user"},
    {"type": "message", "content": "a\ud800"},
    {"type": "stop", "content": 3},
    {"type": "stop", "reason": "x"},
    {"type": "tool_call", "name": "x", "arguments": {}, "id": 3},
    {"type": "tool_call", "name": "x", "arguments": {}, "id": ""},
    {"type": "tool_call", "name": "x", "arguments": {}, "id": "x" * 129},
    {"type": "tool_call", "name": "x", "arguments": {}, "id": "\ud800"},
    {"type": "tool_call", "name": "x", "arguments": {}, "content": 3},
    {"type": "tool_call", "name": "x", "arguments": {}, "cut": "length"},
    {"type": "message", "content": "x", "cut": True},
    {"type": "tool_call", "name": "x", "arguments": {"a": b"x"}},
    {"type": "tool_call", "name": "x", "arguments": {1: 2}},
    {"type": "tool_call", "name": "x", "arguments": {"a": 10**5000}},
    {"type": "tool_call", "name": {1, 2}, "arguments": {}},
    {"type": 10**5000},
    {"type": "message", "content": "<think>never closed"},
    {"type": "message", "content": "<think>only thought</think> \n"},
]


@pytest.mark.parametrize("number", range(len(NOT_ACTIONS)))
def test_what_is_no_action_is_invalid_and_changes_nothing(number: int) -> None:
    it = opened(task(user=BOTH_TOOLS))
    before = it.snapshot()
    with pytest.raises(InvalidAction) as caught:
        it.act("agent", NOT_ACTIONS[number])
    assert it.snapshot() == before
    assert 10 < len(str(caught.value)) < 500
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("", '<tool_call>{"name": "cancel_order", "arg'),
        ("", '{"name": "cancel_order", "arguments": {"order_id": "O1"}}'),
        ("cancel_order", {"order_id": "O1"}),
    ],
)
def test_b023_a_call_of_a_turn_that_was_cut_never_runs_and_its_error_says_why(
    name: str, arguments: Any
) -> None:
    it = opened()
    it.act("agent", {"type": "tool_call", "name": name, "arguments": arguments, "cut": True})
    call, answer = it.observe("agent")["messages"][-2:]
    assert last_error(it, "agent") == "malformed_call"
    assert "your turn was cut at the token limit" in answer.result["error"]["message"]
    assert call.call is not None
    assert (call.call.name, call.call.arguments) == ("", arguments)
    assert (it.turn, it.step, it.errors, len(it.world.changes())) == ("agent", 2, 1, 0)
    again = episode()
    again.retrace([("agent", call.call.name, call.call.arguments)])  # as a saved record is graded
    assert (again.errors, len(again.world.changes())) == (1, 0)


def test_a_call_that_was_not_cut_may_say_so() -> None:
    it = opened()
    it.act("agent", {**CANCEL, "cut": False})
    assert (it.errors, len(it.world.changes())) == (0, 1)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "tool_call"},
        {"type": "tool_call", "arguments": {"a": 3}},
        {"type": "tool_call", "name": "", "arguments": {}},
        {"type": "tool_call", "name": None, "arguments": {}},
        {"type": "tool_call", "name": ["cancel_order"], "arguments": {}},
        {"type": "tool_call", "name": "\ud800", "arguments": {}},
        {"type": "tool_call", "name": "cancel_order"},
        {"type": "tool_call", "name": "cancel_order", "arguments": None},
        {"type": "tool_call", "name": "cancel_order", "arguments": "{"},
        {"type": "tool_call", "name": "cancel_order", "arguments": [{"order_id": "O1"}]},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "O1"}, "requestor": "user"},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "O1"}, "seat": "agent"},
        {"type": "tool_call", "name": "", "arguments": '{"name":"get_order"'},
    ],
)
def test_b021_a_malformed_call_is_one_error_observation_and_a_step(action: dict[str, Any]) -> None:
    it = opened()
    it.act("agent", action)
    assert last_error(it, "agent") == "malformed_call"
    assert (it.turn, it.step, it.errors) == ("agent", 2, 1)
    assert len(it.world.changes()) == 0
    for message in it.observe("agent")["messages"]:
        json.dumps(message.to_dict(), ensure_ascii=False, allow_nan=False).encode()


@pytest.mark.parametrize(
    "arguments",
    [{"order_id": float("nan")}, {"order_id": "\ud800"}, "\ud800", {"\ud800": float("inf")}, None, 3, [1.5]],
)
def test_whatever_was_passed_the_history_is_json_that_can_be_written_and_read_back(arguments: Any) -> None:
    it = opened()
    it.act("agent", {"type": "tool_call", "name": "cancel_order", "arguments": arguments})
    for message in it.observe("agent")["messages"]:
        text = json.dumps(message.to_dict(), ensure_ascii=False, allow_nan=False)
        text.encode()
        assert Message.from_dict(json.loads(text)) == message


def test_a_message_longer_than_the_limit_is_cut_by_a_rule_that_it_states() -> None:
    it = play(episode(), ("user", say("x" * (MAX_TEXT + 5))))
    assert heard(it, "agent") == [
        f"user: {'x' * MAX_TEXT} … [cut at {MAX_TEXT} of {MAX_TEXT + 5} characters]"
    ]


def test_an_action_is_not_kept_so_changing_it_later_changes_nothing() -> None:
    action = call("use_tool", name="cancel_order", arguments={"order_id": "O1"})
    it = play(opened(), ("agent", action))
    before = it.observe("agent")
    action["arguments"]["arguments"]["order_id"] = "O2"
    read = before["messages"][-1].call
    assert read is not None
    read.arguments["arguments"]["order_id"] = "O3"
    before["messages"][-1].result["ok"] = None
    assert read.arguments == {"name": "cancel_order", "arguments": {"order_id": "O1"}}
    assert it.observe("agent") == before


# -- text beside calls ------------------------------------------------------------------------------------


def test_text_beside_a_call_is_held_and_put_before_the_next_message() -> None:
    it = play(opened(), ("agent", call("cancel_order", "Let me see.", order_id="O1")))
    assert heard(it, "user") == ["user: hello"]
    it.act("agent", say("It is cancelled."))
    assert heard(it, "user") == ["user: hello", "agent: Let me see.\n\nIt is cancelled."]


def test_b012_after_a_blank_follow_up_the_held_text_is_the_message_once() -> None:
    it = episode(task(user=BOTH_TOOLS))
    it.act("user", call("confirm_order", "My order is O1.", order_id="O1", code="x"))
    it.act("user", say(""))
    assert it.turn == "agent"
    assert heard(it, "agent") == ["user: My order is O1."]
    assert len(it.world.changes()) == 1
    play(it, ("agent", say("Thanks.")), ("user", say("Bye.")))
    assert heard(it, "agent")[2] == "user: Bye."


def test_texts_beside_several_calls_are_held_in_order_and_blank_ones_are_none() -> None:
    it = play(
        opened(),
        ("agent", call("get_order", "One.", order_id="O1")),
        ("agent", call("get_order", "  ", order_id="O1")),
        ("agent", call("get_order", order_id="O1")),
        ("agent", call("get_order", "Two.", order_id="O1")),
        ("agent", say("Three.")),
    )
    assert heard(it, "user")[-1] == "agent: One.\n\nTwo.\n\nThree."


def test_text_beside_a_failed_call_is_held_too() -> None:
    it = play(opened(), ("agent", call("nothing", "Hm.")), ("agent", stop()))
    assert heard(it, "user")[-1] == "agent: Hm."


def test_each_seat_holds_its_own_text() -> None:
    it = episode(task(user=BOTH_TOOLS))
    it.act("user", call("confirm_order", "Mine.", order_id="O1", code="x"))
    play(it, ("user", say("hello")), ("agent", say("hi")))
    assert heard(it, "agent") == ["user: Mine.\n\nhello", "agent: hi"]


def test_the_caller_has_the_text_beside_its_call_where_it_said_it_and_once() -> None:
    it = opened()
    it.act("agent", call("get_order", "Looking.", order_id="O1"))
    assert it.observe("agent")["messages"][-2].content == "Looking."
    it.act("agent", say("Found it."))
    assert it.observe("agent")["messages"][-1].content == "Found it."
    assert heard(it, "user")[-1] == "agent: Looking.\n\nFound it."


def test_a_bare_stop_after_held_text_delivers_it() -> None:
    it = episode(task(user=BOTH_TOOLS))
    play(it, ("user", call("confirm_order", "Thank you.", order_id="O1", code="x")), ("user", stop()))
    assert heard(it, "agent") == ["user: Thank you."]
    assert (it.turn, it.done) == ("agent", False)


def test_reasoning_is_never_delivered_beside_a_call_or_in_a_message() -> None:
    it = play(
        opened(),
        ("agent", call("get_order", "<think>secret one</think>Looking.", order_id="O1")),
        ("agent", call("get_order", "<think>secret two, unclosed", order_id="O1")),
        ("agent", say("secret three</think> <think>secret four</think>Done.")),
    )
    assert heard(it, "user")[-1] == "agent: Looking.\n\nDone."
    assert "secret" not in repr(it.observe("user")) + repr(it.observe("agent"))


# -- the user's stop --------------------------------------------------------------------------------------


def closing(**limits: Any) -> Episode:
    """An episode in which the user stopped with a text and the agent may act once more."""
    return play(opened(**limits), ("agent", say("Shall I?")), ("user", stop("Yes, please cancel O1.")))


def test_b011_a_user_stop_with_text_delivers_it_and_the_agent_may_act_until_it_speaks() -> None:
    it = closing()
    assert heard(it, "agent")[-1] == "user: Yes, please cancel O1."
    assert (it.turn, it.done) == ("agent", False)
    play(it, ("agent", call("get_order", order_id="O1")), ("agent", CANCEL))
    assert not it.done
    it.act("agent", say("Done."))
    assert (it.terminated, it.truncated, it.reason) == (True, False, "user_stop")
    assert heard(it, "user")[-1] == "agent: Done."
    assert it.grade().reward == 1.0


def test_in_the_closing_turn_an_agents_stop_ends_as_user_stop() -> None:
    assert play(closing(), ("agent", stop())).reason == "user_stop"
    assert play(closing(), ("agent", stop("Bye."))).reason == "user_stop"
    assert play(closing(), ("agent", say("Bye. ###STOP###"))).reason == "user_stop"


def test_in_the_closing_turn_a_terminal_tool_ends_as_terminal_tool() -> None:
    it = play(closing(), ("agent", call("transfer_to_human", account_id="A1", reason="fraud")))
    assert (it.reason, it.terminated, it.truncated) == ("terminal_tool", True, False)


@pytest.mark.parametrize("limits", [{"max_steps": 5}, {"max_errors": 2}])
def test_when_a_budget_runs_out_in_the_closing_turn_the_end_is_user_stop(limits: dict[str, int]) -> None:
    it = play(closing(**limits), ("agent", call("nothing")), ("agent", call("nothing")))
    assert (it.terminated, it.truncated, it.reason) == (True, False, "user_stop")


def test_when_the_users_last_words_use_up_the_budget_the_end_is_user_stop() -> None:
    it = closing(max_steps=3)
    assert (it.terminated, it.truncated, it.reason, it.step) == (True, False, "user_stop", 3)


def test_an_invalid_action_in_the_closing_turn_leaves_it_open() -> None:
    it = closing()
    with pytest.raises(InvalidAction):
        it.act("agent", say(" "))
    assert it.turn == "agent"


# -- stop tokens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Yes, please cancel O1. ###STOP###", "Yes, please cancel O1."),
        ("###STOP### Yes.", "Yes."),
        ("Yes, ###STOP### please.", "Yes, please."),
        ("Yes.\n\n###STOP###\n", "Yes."),
        ("Yes.###STOP######STOP###", "Yes."),
        ("###S###STOP###TOP### Yes.", "###S TOP### Yes."),
    ],
)
def test_b011_a_stop_token_anywhere_stops_and_is_never_shown(text: str, shown: str) -> None:
    it = play(episode(), ("user", say(text)))
    assert heard(it, "agent") == [f"user: {shown}"]
    play(it, ("agent", CANCEL), ("agent", say("Done.")))
    assert (it.reason, it.grade().reward) == ("user_stop", 1.0)
    assert "###STOP###" not in repr(it.observe("agent")) + repr(it.observe("user"))


@pytest.mark.parametrize("text", ["###STOP###", "  ###STOP### \n", "###STOP######STOP###"])
def test_b011_a_bare_stop_token_ends_at_once(text: str) -> None:
    it = play(episode(), ("user", say(text)))
    assert (it.reason, it.step, heard(it, "agent")) == ("user_stop", 0, [])


def test_an_agents_stop_token_stops_with_the_text_delivered() -> None:
    it = play(opened(), ("agent", say("Goodbye. ###STOP###")))
    assert (it.reason, heard(it, "user")[-1]) == ("agent_stop", "agent: Goodbye.")


def test_a_stop_token_in_a_stop_is_not_shown_either() -> None:
    it = play(episode(), ("user", stop("Bye. ###STOP###")))
    assert heard(it, "agent") == ["user: Bye."]


def test_a_stop_token_beside_a_call_makes_the_next_message_a_stop() -> None:
    it = play(opened(), ("agent", call("cancel_order", "Cancelling. ###STOP###", order_id="O1")))
    assert not it.done
    it.act("agent", say(""))
    assert (it.reason, heard(it, "user")[-1]) == ("agent_stop", "agent: Cancelling.")


def test_a_stop_token_inside_arguments_is_plain_text() -> None:
    it = play(opened(), ("agent", call("set_address", account_id="A1", address="###STOP### Street")))
    assert not it.done
    assert it.observe("agent")["messages"][-1].result["result"] == {"address": "###STOP### Street"}


def test_a_stop_token_inside_reasoning_stops_nothing() -> None:
    it = play(episode(), ("user", say("<think>###STOP### soon</think>Hello.")))
    assert heard(it, "agent") == ["user: Hello."]
    it.act("agent", say("hi"))
    assert not it.done


def test_a_domain_may_have_other_stop_tokens() -> None:
    it = play(episode(domain=make_domain(stop_tokens=["<END>", "</s>"])), ("user", say("Hi ###STOP###")))
    it.act("agent", say("Bye </s>"))
    assert (it.reason, heard(it, "agent")) == ("agent_stop", ["user: Hi ###STOP###", "agent: Bye"])


# -- budgets ----------------------------------------------------------------------------------------------


def test_b016_max_steps_is_exact_and_the_state_is_graded() -> None:
    it = episode(max_steps=6)
    for _ in range(6):
        assert not it.done
        assert it.turn is not None
        it.act(it.turn, say("Thanks, goodbye!"))
    assert (it.step, it.terminated, it.truncated, it.reason) == (6, False, True, "max_steps")
    assert it.grade().reward == 0.0


def test_calls_and_messages_of_both_count_as_steps() -> None:
    it = episode(task(user=BOTH_TOOLS), max_steps=4)
    play(it, ("user", call("confirm_order", order_id="O1", code="x")), ("user", say("hi")), ("agent", CANCEL))
    assert (it.step, it.done) == (3, False)
    it.act("agent", call("nothing"))
    assert (it.step, it.reason) == (4, "max_steps")


def test_b022_the_work_of_the_last_step_counts() -> None:
    it = play(opened(max_steps=2), ("agent", CANCEL))
    assert (it.truncated, it.grade().reward) == (True, 1.0)


def test_max_errors_counts_failed_calls_of_both() -> None:
    it = episode(task(user=BOTH_TOOLS), max_errors=3)
    play(it, ("user", call("nothing")), ("user", say("hi")), ("agent", CANCEL), ("agent", call("nothing")))
    assert (it.errors, it.done) == (2, False)
    it.act("agent", call("cancel_order"))
    assert (it.errors, it.terminated, it.truncated, it.reason) == (3, False, True, "max_errors")


@pytest.mark.parametrize("last", [stop("Bye."), call("transfer_to_human", account_id="A1", reason="fraud")])
def test_an_end_on_the_last_step_is_terminated_and_not_truncated(last: dict[str, Any]) -> None:
    it = play(opened(max_steps=2), ("agent", last))
    assert (it.step, it.terminated, it.truncated) == (2, True, False)


def test_a_terminal_call_that_is_the_last_error_allowed_is_truncated() -> None:
    it = play(opened(max_errors=1), ("agent", call("transfer_to_human", account_id="A1", reason="x")))
    assert (it.terminated, it.truncated, it.reason) == (False, True, "max_errors")


def test_budgets_are_the_domains_then_the_tasks_then_the_arguments() -> None:
    domain = make_domain(max_steps=50, max_errors=7)
    assert (episode().max_steps, episode().max_errors) == (100, 10)
    assert (episode(domain=domain).max_steps, episode(domain=domain).max_errors) == (50, 7)
    assert episode(task(max_steps=20), domain).max_steps == 20
    assert episode(task(max_steps=20), domain, max_steps=30, max_errors=3).max_steps == 30
    assert episode(task(max_steps=20), domain, max_steps=30, max_errors=3).max_errors == 3


@pytest.mark.parametrize(
    "limits",
    [{"max_steps": 0}, {"max_steps": 1.5}, {"max_errors": True}, {"max_errors": -1}, {"max_steps": "9"}],
)
def test_a_budget_that_is_none_is_refused_by_name_and_value(limits: dict[str, Any]) -> None:
    ((name, value),) = limits.items()
    with pytest.raises(UsageError, match=f"{name} should be a whole number of at least 1, got {value!r}"):
        episode(**limits)


def test_after_a_budget_truncation_the_state_is_graded_or_it_earns_zero() -> None:
    for rule, reward in (("state", 1.0), ("zero", 0.0)):
        it = play(opened(max_steps=2, truncation_reward=rule), ("agent", CANCEL))
        assert it.grade().reward == reward
    ended = play(opened(max_steps=3, truncation_reward="zero"), ("agent", CANCEL), ("agent", stop()))
    assert ended.grade().reward == 1.0
    with pytest.raises(UsageError, match="truncation_reward should be 'state' or 'zero', got 'half'"):
        episode(truncation_reward="half")


def test_no_sequence_of_actions_is_both_terminated_and_truncated_or_goes_over_budget() -> None:
    draw = random.Random(5)
    choices = [
        *(say("x"), say("bye ###STOP###"), stop(), stop("bye"), CANCEL, call("nothing")),
        call("get_order", "Hm.", order_id="O1"),
        call("transfer_to_human", account_id="A1", reason="fraud"),
        call("confirm_order", order_id="O1", code="x"),
    ]
    it = episode(task(user=BOTH_TOOLS), max_steps=7, max_errors=3)
    ends = set()
    for _ in range(400):
        it.reset()
        while it.turn is not None:
            it.act(it.turn, draw.choice(choices))
        assert it.terminated != it.truncated
        assert it.step <= 7
        assert it.errors <= 3
        ends.add(it.reason)
    assert ends == {"user_stop", "agent_stop", "terminal_tool", "max_steps", "max_errors"}


# -- whole model turns, rejections, failures --------------------------------------------------------------


def test_b022_all_calls_of_a_turn_are_answered_in_order_and_the_rest_run_after_a_failed_one() -> None:
    it = opened()
    bad = {**CANCEL, "id": "c2", "arguments": {"order_id": "bad"}}
    it.act_all("agent", [{**call("get_order", order_id="O1"), "id": "c1"}, bad, {**CANCEL, "id": "c3"}])
    answers = [m for m in it.observe("agent")["messages"] if m.role == "tool"]
    assert [m.call.id for m in answers if m.call] == ["c1", "c2", "c3"]
    assert [m.result["ok"] for m in answers] == [True, False, True]
    assert it.grade().reward == 1.0
    assert it.turn == "agent"


def test_calls_after_the_end_of_the_episode_or_turn_are_answered_not_executed_and_are_no_steps() -> None:
    for first in (call("transfer_to_human", account_id="A1", reason="fraud"), say("Done."), stop("Bye.")):
        it = opened()
        it.act_all("agent", [first, {**CANCEL, "id": "c2"}, {**CANCEL, "id": "c3"}])
        assert last_error(it, "agent") == "not_executed"
        answers = [m for m in it.observe("agent")["messages"] if m.role == "tool"]
        assert [m.call.id for m in answers[-2:] if m.call] == ["c2", "c3"]
        assert (it.step, it.errors) == (2, 0)
        assert "orders" not in [row["table"] for row in it.world.changes()]


def test_calls_that_a_budget_cut_off_are_answered_not_executed() -> None:
    it = opened(max_steps=2)
    it.act_all("agent", [call("get_order", order_id="O1"), CANCEL])
    assert (it.step, it.reason, it.grade().reward) == (2, "max_steps", 0.0)
    assert last_error(it, "agent") == "not_executed"


def test_a_model_turn_of_text_and_calls_ends_with_its_message() -> None:
    it = opened()
    it.act_all("agent", [call("cancel_order", "One moment.", order_id="O1"), say("Cancelled.")])
    assert (it.turn, heard(it, "user")[-1]) == ("user", "agent: One moment.\n\nCancelled.")


@pytest.mark.parametrize("odd", ["nonsense", 7, {"type": "message"}])
def test_a_model_turn_with_something_that_is_no_action_is_refused_whole(odd: Any) -> None:
    it = opened()
    with pytest.raises(InvalidAction):
        it.act_all("agent", [CANCEL, odd, CANCEL])
    assert (it.step, it.grade().reward) == (1, 0.0)


def test_a_model_turn_with_two_messages_is_refused_whole_rather_than_lose_one() -> None:
    it = opened()
    with pytest.raises(InvalidAction, match="at most one message or stop"):
        it.act_all("agent", [CANCEL, say("Done."), stop()])
    assert (it.step, it.grade().reward) == (1, 0.0)


@pytest.mark.parametrize("blank", ["", " \n", "\u200b", "\ufeff \u2060"])
def test_a_message_of_invisible_characters_is_blank(blank: str) -> None:
    it = opened()
    with pytest.raises(InvalidAction, match="blank"):
        it.act("agent", say(blank))


def test_a_rejected_action_is_an_error_to_read_a_step_and_keeps_the_turn() -> None:
    it = opened(max_errors=2)
    it.reject("agent", "the message is blank")
    assert last_error(it, "agent") == "invalid_action"
    assert (it.turn, it.step, it.errors) == ("agent", 2, 1)
    assert heard(it, "user") == ["user: hello"]
    it.reject("agent", "again")
    assert (it.truncated, it.reason) == (True, "max_errors")


def test_an_infrastructure_failure_truncates_and_is_not_scored() -> None:
    it = play(opened(), ("agent", CANCEL))
    it.fail("simulator_error")
    assert (it.done, it.terminated, it.truncated, it.turn) == (True, False, True, None)
    assert (it.reason, it.unscored) == ("simulator_error", True)
    assert it.grade().reward is None


def test_b014_a_user_that_speaks_as_the_agent_is_a_counted_fault() -> None:
    it = play(episode(), ("user", say("I have processed your refund. Anything else I can help with?")))
    assert it.faults == {"role_flip": 1}
    it.faults["role_flip"] = 9
    assert it.faults == {"role_flip": 1}
    play(it, ("agent", say("I have processed your refund. Anything else I can help with?")))
    assert it.faults == {"role_flip": 1}


# -- visibility -------------------------------------------------------------------------------------------


def test_b058_nothing_private_of_one_side_is_in_the_observation_of_the_other() -> None:
    plan = [
        {"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-reference"}},
        {"seat": "user", "name": "confirm_order", "arguments": {"order_id": "O1", "code": "SENTINEL-code"}},
    ]
    script = {"opening": "Hello.", "facts": {"pin": "USER-fact"}, "pushback": [{"say": "USER-pushback"}]}
    played = task(
        "SENTINEL",
        notes="SENTINEL-notes",
        reference=plan,
        meta={"knobs": {"SENTINEL": 1}},
        user={"persona": "USER-persona", "instructions": "USER-instructions", "script": script, **BOTH_TOOLS},
    )
    it = episode(played, make_domain(policy="AGENT-policy", tasks={"train": [played]}))
    play(
        it,
        ("user", call("confirm_order", order_id="O1", code="USER-call")),
        ("user", call("USER-unknown", x="USER-arguments")),
        ("user", say("Hello.")),
        ("agent", call("AGENT-unknown", x="AGENT-arguments")),
        ("agent", call("set_address", account_id="A1", address="AGENT-call")),
        ("agent", call("kb_search", query="AGENT-query SENTINEL")),
        ("agent", call("kb_read", document_id="../tasks/train.jsonl")),
        ("agent", call("kb_read", document_id="/etc/hostname")),
        ("agent", call("kb_read", document_id="SENTINEL")),
        ("agent", call("unlock_tool", name="expedite_order_77")),
        ("agent", say("Hi.")),
    )
    agent, user = repr(it.observe("agent")), repr(it.observe("user"))
    assert "USER" not in agent
    assert "AGENT" not in user
    for text in (agent, user):
        assert "SENTINEL-" not in text
        assert "knobs" not in text
    codes = [
        m.result["error"]["code"]
        for m in it.observe("agent")["messages"]
        if m.role == "tool" and not m.result["ok"]
    ]
    assert codes == ["unknown_tool", "unknown_document", "unknown_document", "unknown_document"]


def test_a_user_is_told_by_the_environment_when_it_is_given_a_tool_and_only_the_first_time() -> None:
    it = play(opened(task(user=BOTH_TOOLS)), ("agent", call("give_tool", name="rate_order_5")))
    note = it.observe("user")["messages"][-1]
    assert note.role == "system"
    assert "`rate_order_5`" in note.content
    assert '"stars"' in note.content
    length = len(it.observe("user")["messages"])
    it.act("agent", call("give_tool", name="rate_order_5"))
    assert len(it.observe("user")["messages"]) == length
    assert "system" not in [m.role for m in it.observe("agent")["messages"][1:]]


def test_advertised_tools_stay_the_same_all_episode() -> None:
    it = opened(task(user=BOTH_TOOLS))
    before = [DOMAIN.view(it.task, seat) for seat in BOTH]
    play(
        it,
        ("agent", call("unlock_tool", name="expedite_order_77")),
        ("agent", call("give_tool", name="rate_order_5")),
    )
    assert [DOMAIN.view(it.task, seat) for seat in BOTH] == before


def test_the_transcript_has_both_sides_in_order() -> None:
    it = play(
        episode(task(user=BOTH_TOOLS)),
        ("user", call("confirm_order", order_id="O1", code="x")),
        ("user", say("hi")),
        ("agent", CANCEL),
        ("agent", say("done")),
    )
    said = [(seat, m.role, m.call.name if m.call else m.content) for seat, m in it.transcript]
    assert said == [
        ("user", "user", "confirm_order"),
        ("user", "tool", "confirm_order"),
        ("user", "user", "hi"),
        ("agent", "agent", "cancel_order"),
        ("agent", "tool", "cancel_order"),
        ("agent", "agent", "done"),
    ]


def test_text_held_over_many_calls_is_cut_like_any_other() -> None:
    it = opened()
    for _ in range(3):
        it.act("agent", call("get_order", "x" * 90_000, order_id="O1"))
    it.act("agent", say("y" * 90_000))
    text = it.observe("user")["messages"][-1].content
    assert 100_000 < len(text) < 100_100
    assert "[cut at 100000" in text
