"""The oracle plays the agent's side of the reference; it asks and instructs so that a talk can happen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from simulators import OraclePlayer
from tests.simulators.fakes import Action, Call, Change, Fact, Scenario, Script, Seat, Task, Want

SCRIPT = Script(
    opening="I have moved.",
    facts={
        "full_name": Fact("Jane Doe"),
        "date_of_birth": Fact("1984-03-02"),
        "amount": Fact("$1,500.00"),
        "street": Fact("9 Elm St"),
        "pin": Fact("0000"),
    },
    later=(Want("And my e-mail."),),
)
FIND = Action("agent", "find", {"name": "Jane Doe"})
VERIFY = Action("agent", "verify", {"checks": [{"born": "1984-03-02"}], "limit": 1500})
CONFIRM = Action("user", "confirm_in_app", {"code": "7"})
CLOSE = Action("agent", "close", {"address": "9 Elm St, Marlow"})


def made_call(name: str, arguments: dict[str, Any]) -> Call:
    return Call(name, json.dumps(arguments))


def oracle(*reference: Action, script: Script | None = SCRIPT, **options: Any) -> Seat:
    """Return an oracle to which the user has said its opening, before its first action."""
    seat = Seat(OraclePlayer(Task(Scenario(script), reference), 0), "agent", **options)
    seat.append("user", "I have moved.")
    return seat


def test_it_asks_once_in_one_message_for_the_facts_that_its_calls_need() -> None:
    seat = oracle(FIND, VERIFY, CLOSE)
    assert seat.turn()["content"] == (
        "To help you, please tell me your full name, your date of birth, your amount and your street."
    )
    seat.hear("I won't say.")
    assert seat.calls == [("find", FIND.arguments), ("verify", VERIFY.arguments), ("close", CLOSE.arguments)]


def test_it_does_not_ask_for_what_was_said() -> None:
    seat = oracle(FIND, VERIFY)
    seat.append("user", "I am JANE DOE, born 1984-03-02.")
    assert seat.turn()["content"] == "To help you, please tell me your amount."


def test_it_acts_at_once_when_it_needs_no_fact() -> None:
    assert oracle(Action("agent", "ping"), script=None).act()["name"] == "ping"


def test_it_tells_the_user_which_tool_to_use_and_waits() -> None:
    seat = oracle(Action("agent", "open"), CONFIRM, Action("agent", "finish"))
    said = seat.turn()["content"]
    assert said == 'Please use the tool `confirm_in_app` with {"code": "7"} and tell me what it says.'
    assert [name for name, _ in seat.calls] == ["open"]
    seat.hear("It says: confirmed.")
    assert [name for name, _ in seat.calls] == ["open", "finish"]


def test_each_action_of_the_user_gets_its_own_instruction() -> None:
    seat = oracle(CONFIRM, Action("user", "rate"))
    assert "`confirm_in_app`" in seat.turn()["content"]
    assert seat.hear("Done.") == "Please use the tool `rate` now, and tell me what it says."
    assert seat.hear("Done.").startswith("Everything is done now.")


def test_it_follows_after_and_takes_list_order_among_what_is_ready() -> None:
    seat = oracle(
        Action("agent", "a", after=(2,)),
        Action("agent", "b", after=()),
        Action("agent", "c", after=()),
        Action("agent", "d", after=(0, 1)),
        script=None,
    )
    seat.turn()
    assert [name for name, _ in seat.calls] == ["b", "c", "a", "d"]


@pytest.mark.parametrize(("after", "message"), [((5,), r"action 0 must follow \[5\]"), ((0,), "circle")])
def test_a_reference_without_an_order_is_refused(after: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        oracle(Action("agent", "a", after=after))


def test_it_takes_care_of_later_wants_and_stops_after_a_few_rounds() -> None:
    seat = oracle(Action("agent", "ping"))
    assert seat.turn()["content"] == "Everything is done now. Is there anything else I can help you with?"
    said = [seat.hear("And another thing.") for _ in range(4)]
    assert [line.startswith("That has been taken care of as well.") for line in said] == [True] * 3 + [False]
    assert seat.stopped


def test_it_answers_a_goodbye_by_a_goodbye() -> None:
    seat = oracle(Action("agent", "ping"))
    seat.turn()
    seat.hear("Thanks. Goodbye.")
    assert seat.stopped


def test_a_user_that_stops_at_once_still_gets_all_the_work() -> None:
    seat = oracle(FIND, CLOSE)
    seat.turn()
    seat.hear("That is all from my side.")
    assert [name for name, _ in seat.calls] == ["find", "close"]


def test_a_failed_call_is_not_repeated() -> None:
    def fails(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"ok": False, "error": {"code": "x", "message": "no"}}

    seat = oracle(Action("agent", "a"), Action("agent", "b"), script=None, answer=fails)
    seat.turn()
    assert [name for name, _ in seat.calls] == ["a", "b"]


def test_it_goes_on_from_what_another_agent_has_done() -> None:
    seat = oracle(FIND, VERIFY)
    for name, arguments in (("look", {}), ("find", {"name": "Someone Else"}), ("find", {"name": "Jane Doe"})):
        made = made_call(name, arguments)
        seat.append("agent", "", made)
        seat.append("tool", '{"ok": true, "result": null}', made)
    assert seat.act() == {"type": "tool_call", "name": "verify", "arguments": VERIFY.arguments}


def test_a_call_recorded_with_other_arguments_does_not_hold_it_up_for_ever() -> None:
    seat = oracle(FIND, script=None)
    for _ in range(2):
        made = made_call("find", {"name": "JANE"})
        seat.append("agent", "", made)
    assert seat.act()["type"] == "message"


def test_it_greets_when_it_has_to_speak_first() -> None:
    seat = Seat(OraclePlayer(Task(Scenario(SCRIPT), (FIND,)), 0), "agent")
    assert seat.turn()["content"] == "Hello, how can I help you today?"
    assert seat.hear("I have moved.") == "To help you, please tell me your full name."


def test_the_same_observation_gives_the_same_action_in_any_order() -> None:
    seat = oracle(FIND, VERIFY, CONFIRM, CLOSE)
    seat.turn()
    for line in ("Jane Doe, 1984-03-02", "Confirmed.", "And my e-mail.", "Goodbye."):
        seat.hear(line)
    places = [message.seq for message in seat.history if message.role == "agent"]
    for index in [*range(len(places)), *reversed(range(len(places)))]:
        observation = {"messages": seat.history[: places[index]], "turn": 0, "your_turn": 0}
        assert seat.player.act(observation) == seat.acted[index]


def test_it_does_not_ask_again_for_what_the_answer_reports() -> None:
    rate = Action("user", "rate")
    seat = oracle(CONFIRM, CONFIRM, CONFIRM, rate, Action("agent", "finish"))
    assert "`confirm_in_app`" in seat.turn()["content"]
    said = seat.hear("I used `confirm_in_app` and it worked. I used `confirm_in_app` and it worked.")
    assert "`confirm_in_app`" in said  # the third time
    assert seat.calls == []
    said = seat.hear("I used `confirm_in_app`. It says: ok. I used `rate`, but it failed: no.")
    assert said.startswith("Everything is done now.")
    assert [name for name, _ in seat.calls] == ["finish"]


COSTLY = Script(
    opening="I need a new card.",
    wants=(Want("A new card, please.", ("new card",), consent=("$",)),),
    changes=(Change("Rather by express.", early=True),),
)


def test_it_asks_for_consent_with_the_amount_before_its_last_call() -> None:
    order = Action("agent", "order", {"fee": 18, "express": True})
    seat = oracle(FIND, order, script=COSTLY)
    assert seat.turn()["content"] == (
        "It comes to $18.00. Shall I go ahead with what you asked for (new card)?"
    )
    assert [name for name, _ in seat.calls] == ["find"]
    assert seat.hear("Yes, please.").startswith("Everything is done now.")
    assert seat.calls[-1] == ("order", order.arguments)


def test_it_tells_the_user_once_more_what_to_do_after_a_change_of_mind() -> None:
    seat = oracle(CONFIRM, script=replace(COSTLY, wants=()))
    first = seat.turn()["content"]
    assert "`confirm_in_app`" in first
    assert seat.hear("Rather by express.") == first
    assert seat.hear("All right, done that.").startswith("Everything is done now.")


def test_a_report_of_another_tool_passes_over_nothing() -> None:
    seat = oracle(CONFIRM, Action("user", "rate"))
    seat.turn()
    assert "`rate`" in seat.hear("I used `look` and it worked. Shall I use `rate`?")
