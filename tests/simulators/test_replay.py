"""The replaying user plays its part of the reference without seeing the agent's part."""

from __future__ import annotations

from typing import Any

import pytest

from simulators import OraclePlayer, ReplayUser
from tests.simulators.fakes import Action, Scenario, Script, Seat, Task, converse

OPEN = Action("agent", "open_request")
CONFIRM = Action("user", "app_confirm", {"code": "7"})
RATE = Action("user", "app_rate")
READY = "I am ready. Which tool should I use?"


def fails(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"ok": False, "error": {"code": "x", "message": "Not now."}}


def replay(*reference: Action, scenario: Scenario | None = None, **options: Any) -> Seat:
    """Return a replaying user that has said its opening."""
    seat = Seat(ReplayUser(Task(scenario or Scenario(Script("Hi.")), reference), 0), "user", **options)
    seat.turn()
    return seat


@pytest.mark.parametrize(
    ("scenario", "opening"),
    [
        (Scenario(Script("Hi."), "You lost a card."), "Hi."),
        (Scenario(None, "You paid $1.50 too much. You want it back."), "Hello, I need your help, please."),
        (Scenario(None, ""), "Hello, I need your help, please."),
    ],
)
def test_it_opens_with_what_there_is(scenario: Scenario, opening: str) -> None:
    assert replay(OPEN, scenario=scenario).acted == [{"type": "message", "content": opening}]


def test_without_actions_of_its_own_it_stops_with_text_at_the_first_answer() -> None:
    seat = replay(OPEN)
    assert seat.hear("What is your name?")
    assert seat.stopped


def test_an_action_that_waits_for_nobody_is_played_at_the_first_answer() -> None:
    seat = replay(CONFIRM)
    assert seat.hear("Hello.") == "I used `app_confirm` and it worked."
    assert seat.calls == [("app_confirm", {"code": "7"})]
    seat.hear("Good.")
    assert seat.stopped


@pytest.mark.parametrize("line", ["Now use `app_confirm`.", "Please do the App Confirm step."])
def test_an_action_after_the_agents_work_waits_until_its_tool_is_named(line: str) -> None:
    seat = replay(OPEN, CONFIRM)
    assert seat.hear("One moment.") == READY
    assert seat.calls == []
    assert seat.hear(line) == "I used `app_confirm` and it worked."


def test_it_tries_anyway_after_three_questions() -> None:
    seat = replay(OPEN, CONFIRM)
    assert [seat.hear("Hm.") for _ in range(4)] == [READY] * 3 + ["I used `app_confirm` and it worked."]


def test_one_mention_asks_for_one_call() -> None:
    seat = replay(OPEN, CONFIRM, OPEN, CONFIRM)
    assert seat.hear("Use `app_confirm`.") == "I used `app_confirm` and it worked."
    assert seat.calls == [("app_confirm", {"code": "7"})]
    seat.hear("Again `app_confirm`, please.")
    assert len(seat.calls) == 2


def test_actions_in_a_row_are_played_in_one_turn() -> None:
    seat = replay(OPEN, CONFIRM, RATE)
    said = seat.hear("Use `app_confirm`, then `app_rate`.")
    assert said == "I used `app_confirm` and it worked. I used `app_rate` and it worked."


def test_a_failed_call_is_tried_again_after_the_agents_next_message_three_times_in_all() -> None:
    seat = replay(OPEN, CONFIRM, answer=fails)
    said = [seat.hear("Use `app_confirm`."), seat.hear("Again."), seat.hear("Once more.")]
    assert said == ["I used `app_confirm`, but it failed: Not now."] * 3
    seat.hear("Hm.")
    assert seat.stopped
    assert len(seat.calls) == 3


@pytest.mark.parametrize(
    "reference",
    [
        (OPEN,),
        (CONFIRM,),
        (OPEN, CONFIRM, OPEN, RATE, OPEN),
        (CONFIRM, RATE, OPEN),
        (Action("agent", "a", after=(1,)), Action("user", "u", after=()), Action("user", "v", after=(0,))),
        (OPEN, CONFIRM, OPEN, CONFIRM),
        (OPEN, CONFIRM, CONFIRM, CONFIRM, CONFIRM, OPEN, CONFIRM),
        (CONFIRM, RATE, CONFIRM, OPEN, RATE),
    ],
)
def test_with_the_oracle_the_whole_reference_is_played(reference: tuple[Action, ...]) -> None:
    task = Task(Scenario(None, "Do it."), reference)
    agent, user = Seat(OraclePlayer(task, 0), "agent"), Seat(ReplayUser(task, 0), "user")
    assert converse(agent, user) < 30
    for seat in (agent, user):
        assert sorted(name for name, _ in seat.calls) == sorted(
            action.name for action in reference if action.seat == seat.role
        )


def test_the_same_observation_gives_the_same_action_in_any_order() -> None:
    seat = replay(OPEN, CONFIRM, OPEN, RATE)
    for line in ("Hm.", "Use `app_confirm`.", "One moment.", "Use `app_rate`.", "Done."):
        seat.hear(line)
    places = [message.seq for message in seat.history if message.role == "user"]
    for index in [*range(len(places)), *reversed(range(len(places)))]:
        observation = {"messages": seat.history[: places[index]], "turn": 0, "your_turn": 1}
        assert seat.player.act(observation) == seat.acted[index]
