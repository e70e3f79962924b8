"""Customers that change their mind, withhold consent, or stay vague, as their script declares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulators import ScriptedUser
from tests.simulators.customers import customer, reply
from tests.simulators.fakes import Change, Fact, Scenario, Script, Seat, Vague, View, Want

CHANGING = Script(
    opening="Please lower the limit of my card to 500 dollars.",
    facts={"new_limit": Fact("500 dollars", ("how much", "which amount"))},
    wants=(Want("Please set the limit to 500 dollars.", ("limit", "lower")),),
    changes=(Change("Wait, make that 600 dollars instead.", {"new_limit": "600 dollars"}),),
)
COSTLY = Script(
    opening="I need a new card.",
    facts={"delivery": Fact("express", ("how fast",))},
    wants=(
        Want(
            "Please send a new card.", ("new card", "order"), ("18 dollars", "$18"), "What will it cost me?"
        ),
    ),
)
VAGUE = Script(
    opening="I am going away.",
    facts={"country": Fact("To Portugal.", ("which country",)), "name": Fact("Jane Doe")},
    wants=(Want("I want to pay with my card in Portugal.", ("travel notice", "abroad")),),
    vague=Vague("I just want everything to be in order.", ("country",)),
)


# -- a change of mind ---------------------------------------------------------------------------------


def test_it_changes_its_mind_at_the_turn_after_it_agreed() -> None:
    seat = customer(CHANGING)
    assert seat.hear("Shall I lower the limit to 500 dollars?").startswith("Yes, please")
    assert seat.hear("One moment, please.").endswith("Wait, make that 600 dollars instead.")
    assert "600 dollars" in seat.hear("How much should it be now?")


def test_it_changes_its_mind_when_the_work_is_reported() -> None:
    seat = customer(CHANGING)
    said = seat.hear("I have lowered the limit to 500 dollars. Is there anything else I can do?")
    assert said == "Wait, make that 600 dollars instead."
    assert not seat.stopped
    assert seat.hear("What would you like me to do?") == "Wait, make that 600 dollars instead."


def test_it_changes_its_mind_once_and_is_content_then() -> None:
    seat = customer(CHANGING)
    seat.hear("I have lowered the limit to 500 dollars.")
    assert "Goodbye" in seat.hear("I have set the limit to 600 dollars. Is there anything else?")
    assert seat.stopped


def test_it_keeps_to_its_word_before_it_has_agreed() -> None:
    seat = customer(CHANGING)
    assert "500 dollars" in seat.hear("How much should it be?")
    assert "600" not in seat.hear("How much was it again?")


def test_after_a_change_the_old_value_read_back_is_wrong() -> None:
    seat = customer(CHANGING)
    seat.hear("Shall I lower the limit?")
    seat.hear("One moment, please.")
    said = seat.hear("So the new limit is 500 dollars, is that correct?")
    assert said.startswith("No") or "600 dollars" in said


EARLY = replace(CHANGING, changes=(replace(CHANGING.changes[0], early=True),))


def test_an_early_change_comes_with_the_yes_so_that_nothing_is_done_yet() -> None:
    seat = customer(EARLY)
    said = seat.hear("Shall I lower the limit to 500 dollars?")
    assert said.startswith("Yes, please")
    assert said.endswith("Wait, make that 600 dollars instead.")
    assert seat.hear("So shall I lower the limit to 600 dollars?").startswith("Yes, please")
    assert "Wait" not in seat.hear("One moment, please.")


def test_an_early_change_comes_in_place_of_using_a_tool_and_the_next_time_it_is_used() -> None:
    seat = customer(EARLY)
    said = seat.hear("It is prepared. Please use the tool `confirm_in_app` with the code 4711.")
    assert said == "Wait, make that 600 dollars instead."
    assert seat.calls == []
    seat.hear("Please use the tool `confirm_in_app` with the code 4712.")
    assert seat.calls == [("confirm_in_app", {"code": "4712"})]


def test_an_early_change_comes_with_the_report_where_nobody_asked() -> None:
    said = customer(EARLY).hear("I have lowered the limit to 500 dollars. Is there anything else?")
    assert said == "Wait, make that 600 dollars instead."


# -- consent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["Shall I order the new card?", "I can order a new card if that is fine."])
def test_it_withholds_consent_until_it_has_heard_what_it_must(line: str) -> None:
    seat = customer(COSTLY)
    assert seat.hear(line) == "What will it cost me?"
    assert seat.hear("It costs $18. Shall I order the new card?").startswith("Yes, please")


def test_what_it_must_hear_may_have_been_said_before() -> None:
    seat = customer(COSTLY)
    seat.hear("A new card costs 18 dollars altogether.")
    assert seat.hear("Would you like me to order it, the new card?").startswith("Yes, please")


ANY_PRICE = replace(COSTLY, wants=(replace(COSTLY.wants[0], consent=("$", "free")),))


@pytest.mark.parametrize(
    "line",
    [
        *("It costs $18.00.", "It is 18 dollars altogether.", "That is $ 7.", "It is free.", "0.00 USD."),
        *("It costs USD 18.", "The price is eighteen dollars.", "That makes 1,200.50 dollars."),
    ],
)
def test_any_amount_of_money_is_a_price(line: str) -> None:
    assert reply(f"{line} Shall I order the new card?", script=ANY_PRICE).startswith("Yes, please")


@pytest.mark.parametrize(
    "line", ["It comes within 3 days.", "I see the card ending in 1800.", "It was issued on 2025-01-18."]
)
def test_other_numbers_are_no_price(line: str) -> None:
    assert reply(f"{line} Shall I order the new card?", script=ANY_PRICE) == "What will it cost me?"


def test_a_bare_proposal_gets_no_yes_before_the_price_and_one_after_it() -> None:
    seat = customer(ANY_PRICE)
    assert seat.hear("Shall I go ahead?") == "What will it cost me?"
    assert seat.hear("It is $18. Shall I go ahead?").startswith("Yes, please")


def test_after_a_change_of_mind_it_wants_to_hear_the_price_anew() -> None:
    change = Change("On second thoughts, not by express.", {"delivery": "standard"}, early=True)
    seat = customer(replace(ANY_PRICE, changes=(change,)))
    assert "second thoughts" in seat.hear("It costs $18. Shall I order the new card?")
    assert seat.hear("Shall I order the new card then?") == "What will it cost me?"
    assert seat.hear("It costs $10. Shall I order the new card then?").startswith("Yes, please")


def test_another_price_is_not_what_it_must_hear() -> None:
    assert reply("It costs $25. Shall I order the new card?", script=COSTLY) == "What will it cost me?"


# -- vagueness ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["How can I help you?", "What would you like me to do?", "Could you tell me more about it?"]
)
def test_it_stays_vague_when_asked_in_general(line: str) -> None:
    assert reply(line, script=VAGUE) == "I just want everything to be in order."


def test_a_fact_that_is_not_the_right_thing_leaves_it_vague() -> None:
    seat = customer(VAGUE)
    assert "Jane Doe" in seat.hear("What is your name?")
    assert seat.hear("What can I do for you?") == "I just want everything to be in order."


@pytest.mark.parametrize("line", ["Which country is it?", "Would you like a travel notice?"])
def test_asked_the_right_thing_it_says_what_it_wants(line: str) -> None:
    seat = customer(VAGUE)
    seat.hear(line)
    assert seat.hear("What would you like me to do?") == "I want to pay with my card in Portugal."


# -- purity -------------------------------------------------------------------------------------------


def test_a_player_made_anew_says_the_same_after_a_change() -> None:
    seat = customer(CHANGING)
    seat.hear("Shall I lower the limit to 500 dollars?")
    seat.hear("One moment, please.")
    again = Seat(ScriptedUser(View(Scenario(CHANGING), ()), 0), "user")
    again.history = seat.history
    for both in (seat, again):
        both.append("agent", "How much should it be now?")
    assert seat.act() == again.act()
