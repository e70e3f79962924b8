"""How the scripted customer conducts itself: refusals, later wants, the end, and being a pure function."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulators import OraclePlayer, ScriptedUser
from tests.simulators.customers import (
    BORN,
    CONFIRM,
    LAST4,
    NAME,
    PHONE,
    QUESTIONS,
    SCRIPT,
    customer,
    reply,
)
from tests.simulators.fakes import (
    Action,
    Fact,
    Pushback,
    Scenario,
    Script,
    Seat,
    Task,
    View,
    Want,
    converse,
)

# -- opening and construction -------------------------------------------------------------------------


def test_it_opens_with_its_opening_even_when_the_agent_spoke_first() -> None:
    assert customer().acted == [{"type": "message", "content": SCRIPT.opening}]
    greeted = Seat(ScriptedUser(View(Scenario(SCRIPT)), 0), "user")
    assert greeted.hear("Welcome! How can I help you?") == SCRIPT.opening


@pytest.mark.parametrize("script", [None, Script(opening=" ")])
def test_a_scenario_without_a_script_or_opening_is_refused_with_the_way_out(script: Script | None) -> None:
    with pytest.raises(ValueError, match=r"`user.script`.*`opening`.*language model or ReplayUser"):
        ScriptedUser(View(Scenario(script)), 0)


# -- refusals, later wants, the end -------------------------------------------------------------------


def test_it_pushes_back_as_often_as_its_script_says_then_accepts_and_goes_on() -> None:
    seat = customer()
    assert seat.hear("I'm sorry, but I cannot do that.") == "But my neighbour got that last week!"
    assert seat.hear("It is not possible.").endswith("I would also like a replacement card.")
    seat.hear("That is against our policy, I have to decline.")
    seat.hear("I have recorded your request.")
    assert seat.stopped


def test_a_question_is_answered_before_a_refusal_is_argued_with() -> None:
    said = reply("I'm unable to find your account. Could you give me your phone number?")
    assert said == f"My phone is {PHONE}."


def test_a_pushback_can_wait_for_its_own_phrase() -> None:
    script = Script("Hi.", pushback=(Pushback("The fee is unfair!", ("ten dollars",)),))
    assert reply("It costs ten dollars.", script=script) == "The fee is unfair!"


def test_later_wants_come_one_at_a_time_and_then_it_ends_with_thanks() -> None:
    script = Script("Hi.", wants=(Want("A", ("alpha",)),), later=(Want("And B."), Want("And C.")))
    seat = customer(script)
    assert seat.hear("Alpha is done.") == "And B."
    assert seat.hear("That has been taken care of. Anything else?") == "And C."
    assert not seat.stopped
    seat.hear("All done. Is there anything else I can help you with?")
    assert seat.stopped
    assert "Goodbye" in seat.acted[-1]["content"]


def test_it_reminds_once_of_a_want_that_was_not_reported() -> None:
    script = Script("Hi.", wants=(Want("Please do A.", ("alpha",)), Want("Please do B.", ("beta",))))
    seat = customer(script)
    assert seat.hear("Alpha has been changed.").endswith("Please do B.")
    seat.hear("Is there anything else?")
    assert seat.stopped


@pytest.mark.parametrize(
    "line",
    [
        "Your identity has been verified. One moment please while I check the card.",
        "Thank you, I have located your account.",
        "Your card has been frozen. I will now order the replacement.",
        "I will now freeze the card.",
    ],
)
def test_progress_that_is_not_the_end_is_only_acknowledged(line: str) -> None:
    seat = customer()
    assert seat.hear(line) in ("All right.", "Okay, thank you.", "All right, thank you.")


def test_it_acknowledges_twice_then_says_it_does_not_understand_then_ends() -> None:
    seat = customer()
    said = [seat.hear("Hm.") for _ in range(6)]
    assert [line.endswith("Please freeze my card.") for line in said] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    assert seat.stopped


ADVERSARIES = {
    "silent": ["..."],
    "gibberish": ["asdf qwer", "\u00df\u00f8 \u2603", "{{{", "`", '{"a":'],
    "endless questions": ["What is your date of birth?", "What's your favourite colour?"],
    "endless open questions": ["How can I help you?"],
    "goodbyes": ["Thanks, goodbye!"],
    "refusals": ["I cannot do that."],
    "promises": ["One moment please.", "I will now check that."],
    "proposals": ["Shall I close your account?", "Shall I freeze it?"],
    "instructions": ['Use `confirm_in_app` with {"code": "1"}.'],
    "instructions without arguments": ["Use `confirm_in_app`."],
    "choices": ["Red or blue?"],
    "status": ["Did it work?"],
    "reports": ["It has been done, one moment."],
}


@pytest.mark.parametrize("lines", ADVERSARIES.values(), ids=ADVERSARIES.keys())
def test_b016_it_always_comes_to_an_end(lines: list[str]) -> None:
    seat = customer()
    for turn in range(ScriptedUser.max_messages):
        if seat.stopped:
            break
        seat.hear(lines[turn % len(lines)])
    assert seat.stopped
    assert sum(action["type"] != "tool_call" for action in seat.acted) <= ScriptedUser.max_messages


def test_b016_its_last_message_still_answers() -> None:
    seat = customer()
    while not seat.stopped:
        last = seat.hear("What is your date of birth?")
    assert BORN in last


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [line for lines in ADVERSARIES.values() for line in lines] + [q for q, _ in QUESTIONS]
        )
        | st.text(max_size=40),
        max_size=12,
    )
)
def test_it_never_says_a_fact_that_no_message_named(lines: list[str]) -> None:
    secret = Script(
        SCRIPT.opening,
        {"zygote_code": Fact("Xy-77-Qz"), **SCRIPT.facts},
        SCRIPT.wants,
        SCRIPT.later,
        SCRIPT.pushback,
        SCRIPT.declines,
    )
    seat = customer(secret)
    for line in lines:
        if seat.stopped:
            break
        assert "Xy-77-Qz" not in seat.hear(line)
    assert "Xy-77-Qz" in reply("What is your zygote code?", script=secret)


# -- purity -------------------------------------------------------------------------------------------


def transcript() -> Seat:
    seat = customer()
    for question, _ in QUESTIONS[:4]:
        seat.hear(question)
    seat.append(
        "system", 'You were given the tool `reset_pin`.\n{"properties": {"pin": {}}, "required": ["pin"]}'
    )
    for line in (
        'Please use `confirm_in_app` with {"code": "1"} and `reset_pin` with pin: 3.',
        "I cannot waive the fee.",
        "Your card has been frozen.",
        "Anything else?",
    ):
        seat.hear(line)
    return seat


def own_turns(seat: Seat) -> list[int]:
    """Return how long the history was each time the player acted."""
    return [message.seq for message in seat.history if message.role == seat.role]


def test_the_same_observation_gives_the_same_action_in_any_order() -> None:
    seat = transcript()
    places = own_turns(seat)
    assert len(places) == len(seat.acted)
    for player in (seat.player, ScriptedUser(View(Scenario(SCRIPT), (CONFIRM,)), 0)):
        for index in [*range(len(places)), *reversed(range(len(places))), 7, 0, 7, 7, 2]:
            observation = {"messages": seat.history[: places[index]], "turn": 0, "your_turn": 1}
            assert player.act(observation) == seat.acted[index]


def test_an_action_that_was_not_taken_leaves_no_trace() -> None:
    seat, other = customer(), customer()
    seat.append("agent", "I cannot do that.")
    seat.player.act(seat.observation())  # would use up the pushback, had it happened
    seat.append("agent", "It is not possible.")
    other.append("agent", "I cannot do that.")
    other.append("agent", "It is not possible.")
    assert seat.turn() == other.turn()


def test_changing_a_returned_action_changes_nothing() -> None:
    seat = customer()
    seat.append("agent", 'Use `confirm_in_app` with {"code": "1"}.')
    first = seat.player.act(seat.observation())
    first["arguments"]["code"] = "changed"
    first["name"] = "changed"
    assert seat.player.act(seat.observation())["arguments"] == {"code": "1"}
    assert seat.player.act(seat.observation())["name"] == "confirm_in_app"


def test_the_seed_varies_only_the_wording() -> None:
    said = {reply("Would you like me to freeze the card?", seed=seed) for seed in range(20)}
    assert len(said) > 1
    assert all(line.startswith("Yes, please") for line in said)
    told = {reply("What is your date of birth?", seed=seed) for seed in range(6)}
    assert len(told) == 6
    assert all("1984-03-02" in line and "date of birth" in line for line in told)


async def _aact(seat: Seat) -> dict[str, Any]:
    action: dict[str, Any] = await seat.player.aact(seat.observation())
    return action


def test_it_can_be_awaited() -> None:
    coroutine = _aact(Seat(ScriptedUser(View(Scenario(SCRIPT)), 0), "user"))
    with pytest.raises(StopIteration) as done:
        coroutine.send(None)
    assert done.value.value == {"type": "message", "content": SCRIPT.opening}


# -- with the oracle ----------------------------------------------------------------------------------


def test_a_conversation_with_the_oracle_plays_everything_and_ends() -> None:
    reference = (
        Action("agent", "find", {"name": NAME, "born": BORN}),
        Action("user", "confirm_in_app", {"code": "77"}),
        Action("agent", "freeze", {"card": LAST4}),
    )
    agent = Seat(OraclePlayer(Task(Scenario(SCRIPT), reference), 0), "agent")
    user = Seat(ScriptedUser(View(Scenario(SCRIPT), (CONFIRM,)), 0), "user")
    assert converse(agent, user) < 20
    assert [name for name, _ in agent.calls] == ["find", "freeze"]
    assert user.calls == [("confirm_in_app", {"code": "77"})]
    assert user.stopped
