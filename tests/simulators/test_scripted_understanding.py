"""What the scripted customer understands. Each expected reply is read off its script by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.simulators.customers import (
    BORN,
    CAFE,
    LAST4,
    NAME,
    PHONE,
    QUESTIONS,
    SCRIPT,
    customer,
    reply,
)
from tests.simulators.fakes import (
    Fact,
    Script,
    Spec,
    Want,
)

# -- questions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("question", "told"), QUESTIONS)
def test_it_tells_exactly_the_facts_that_a_question_asks_for(question: str, told: set[str]) -> None:
    said = reply(question)
    values = {NAME, BORN, PHONE, LAST4, CAFE, "The reason is lost.", "express"}
    assert {value for value in values if value in said} == told


@pytest.mark.parametrize(
    "line",
    [
        "I see your date of birth, which matches.",
        "Thank you for confirming your phone number.",
        "I will send the form to the phone number on file.",
        "You don't need to share your date of birth with me.",
        "Please do not give your date of birth to anyone.",
        "Please note that your phone number stays the same.",
        "Please wait while I look up your date of birth.",
        "Could you please hold while I check your phone number?",
        "I can confirm that your full name is in our records.",
        "Would you like me to update your phone number?",
        "I have verified the last four digits of your card.",
    ],
)
def test_it_reveals_nothing_when_a_fact_is_only_mentioned(line: str) -> None:
    said = reply(line)
    assert not any(fact.value in said for fact in SCRIPT.facts.values())


def test_a_longer_name_never_asks_for_the_fact_with_the_shorter_one() -> None:
    script = Script("Hi.", {"address": Fact("1 Elm St"), "new_address": Fact("2 Oak St")})
    assert reply("What is the new address?", script=script) == "My new address is 2 Oak St."
    assert reply("What is your address?", script=script) == "My address is 1 Elm St."


def test_a_thing_that_two_facts_can_be_is_asked_back_and_a_thing_that_one_can_be_is_told() -> None:
    script = Script(
        "Hi.", {"old_phone": Fact("555-1"), "new_phone": Fact("555-2"), "new_email": Fact("a@b.c")}
    )
    assert reply("What is your phone number?", script=script) == "Do you mean the old phone or the new phone?"
    assert reply("What is your e-mail address?", script=script) == "My new email is a@b.c."


def test_digits_of_something_else_are_not_those_of_the_card() -> None:
    assert LAST4 not in reply("What are the last four digits of your social security number?")


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("What is your account number?", "account number"),
        ("Please give me your mother's maiden name.", "maiden name"),
        ("What are your e-mail address and your password?", "email address or the password"),
    ],
)
def test_it_says_what_it_does_not_have_and_never_invents(question: str, lacking: str) -> None:
    assert reply(question) == f"I am sorry, I do not have the {lacking}."


def test_it_tells_what_it_knows_and_says_what_it_does_not_have() -> None:
    assert reply("I need your date of birth and your account number.") == (
        "My date of birth is 1984-03-02. I am sorry, I do not have the account number."
    )


def test_a_question_without_a_name_for_what_it_wants_gets_that_it_does_not_know() -> None:
    assert "do not" in reply("What's your favourite colour?")


def test_an_open_question_gets_what_it_wants() -> None:
    for question in (
        "How can I help you today?",
        "What would you like me to do?",
        "Can you explain the issue?",
    ):
        assert reply(question) == "Please freeze my card."


# -- reading back -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "To confirm: your date of birth is March 2, 1984, correct?",
        "Your birth date is 1984-03-02, correct?",
        "Is the phone number (555) 0100-22 still correct?",
        "So your date of birth is 2 March 1984, right?",
        "Please confirm the following details: Name: Jane Doe, DOB: 03/02/1984.",
        "Am I speaking with Jane Doe?",
        "I have your number as 555-0100-22. Is that correct?",
    ],
)
def test_a_value_read_back_rightly_is_confirmed_and_not_told_again(line: str) -> None:
    assert reply(line).startswith("Yes, that is ")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Your birth date is 1990-01-01, correct?", BORN),
        ("Just to double-check, your birthday is 03/05/1984, right?", BORN),
        ("Is your phone number 555-0100-23?", PHONE),
        ("Your name is John Smith, correct?", NAME),
        ("The last four digits of your card are 9911, is that right?", LAST4),
    ],
)
def test_a_value_read_back_wrongly_is_corrected(line: str, told: str) -> None:
    said = reply(line)
    assert said.startswith("No, that is ")
    assert told in said


def test_a_wrong_new_value_gets_no_consent() -> None:
    facts = {"phone": Fact(PHONE), "new_phone": Fact("555-0199-33")}
    script = Script("Change my number.", facts, wants=(Want("Change it.", ("phone",)),))
    right = "I will change your phone number to 555-0199-33. Is that correct?"
    wrong = "I will change your phone number to 555-0000-00. Is that correct?"
    assert reply(right, script=script).startswith("Yes")
    assert reply(wrong, script=script).startswith("No")
    assert "555-0199-33" in reply(wrong, script=script)
    assert PHONE not in reply(wrong, script=script)


# -- proposals and choices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "Would you like me to freeze the card now?",
        "I have found your card ending in 4821. Shall I go ahead and freeze it?",
        "I can freeze the card for you. Is that okay?",
        "Please reply YES to confirm that I should block your debit card.",
        "Do you authorize me to freeze the debit card ending in 4821?",
        "**Summary**\n- Action: freeze\n- Fee: $0.00\n\nDo you want me to proceed? (yes/no)",
        "I see that you'd like to freeze your debit card. Is that right?",
        "May I go ahead and freeze the card?",
    ],
)
def test_it_consents_to_what_it_wants(line: str) -> None:
    assert reply(line).startswith("Yes, please")


@pytest.mark.parametrize(
    "line",
    ["Would you like to add card protection for $5 a month?", "Shall I add an insurance?"],
)
def test_it_declines_in_its_own_words(line: str) -> None:
    assert reply(line) == "No insurance, please."


def test_a_proposal_of_both_gets_the_refusal_and_the_wish() -> None:
    assert reply("Shall I freeze the card and add the insurance?") == (
        "No insurance, please. Please freeze my card."
    )


def test_it_agrees_to_nothing_that_it_did_not_ask_for() -> None:
    said = reply("Do you want me to close your account?")
    assert not said.startswith("Yes")
    assert said.endswith("Please freeze my card.")


@pytest.mark.parametrize(
    "line",
    [
        "I will not freeze the card. Is that fine?",
        "I won't freeze your card, is that okay?",
        "Should I not freeze the card?",
        "Is it okay if we don't freeze the card?",
        "Shall I freeze your other card?",
        "Shall I freeze all of your cards?",
        "Would it be fine if I never freeze the card?",
    ],
)
def test_leaving_it_undone_or_doing_it_to_other_cards_gets_no_yes(line: str) -> None:
    said = reply(line)
    assert not said.lower().startswith("yes")
    assert said.endswith("Please freeze my card.")


@pytest.mark.parametrize(
    "line",
    [
        "I do not see a freeze on the card. Shall I freeze it?",
        "If you do not object, shall I freeze the card?",
        "I will freeze the card and not cancel it. Is that fine?",
    ],
)
def test_a_denial_of_something_else_takes_nothing_back(line: str) -> None:
    assert reply(line).lower().startswith("yes")


def test_a_proposal_that_names_nothing_is_agreed_to_for_its_wants_only() -> None:
    assert reply("Shall I proceed?").endswith("Please freeze my card.")


def test_a_want_that_comes_next_can_be_proposed_by_the_agent() -> None:
    seat = customer()
    assert seat.hear("Should I send you a new card as well?") == "Yes. I would also like a replacement card."


def test_a_want_without_phrases_is_known_by_its_words() -> None:
    script = Script("Please cancel my subscription.", wants=(Want(),))
    assert reply("Shall I cancel the subscription?", script=script).startswith("Yes")
    assert not reply("Shall I close the account?", script=script).startswith("Yes")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Was the card lost or stolen?", "lost"),
        ("Would you prefer standard or express shipping?", "express"),
        ("How would you like the card delivered? We offer standard (free) or express ($15).", "express"),
        ("Is it the card ending in 9911 or the one ending in 4821?", LAST4),
    ],
)
def test_it_picks_the_option_that_is_one_of_its_facts(line: str, told: str) -> None:
    assert told in reply(line)


def test_it_has_no_preference_among_options_that_its_script_does_not_name() -> None:
    assert "no preference" in reply("Would you prefer red or blue?")


# -- tools --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ('Please open your app and use `confirm_in_app` with {"code": "12.5 A"}.', {"code": "12.5 A"}),
        ('Please use the tool `confirm_in_app` with {"code": "1", "other": 2}.', {"code": "1"}),
        ('Call confirm_in_app {"name": "confirm_in_app", "arguments": {"code": "1"}}', {"code": "1"}),
        ("Please use confirm_in_app with the code: 9876.", {"code": "9876"}),
        ("Please run the confirm in app tool with code = `A 1`.", {"code": "A 1"}),
        ("Next, use `confirm_in_app`:\n- **code**: 9876\n- times: 2", {"code": "9876", "times": 2}),
        ("I've given you `confirm_in_app` (code: 5521), please use it.", {"code": "5521"}),
    ],
)
def test_it_calls_a_tool_as_instructed(line: str, arguments: dict[str, Any]) -> None:
    seat = customer()
    seat.hear(line)
    assert seat.calls == [("confirm_in_app", arguments)]


def test_arguments_that_nobody_named_come_from_facts_of_the_same_name() -> None:
    script = Script("Hi.", {"code": Fact("7788")})
    seat = customer(script)
    seat.hear("Please use `confirm_in_app` now.")
    assert seat.calls == [("confirm_in_app", {"code": "7788"})]


@pytest.mark.parametrize("answer", ["The code is 4711.", "Enter `4711`.", 'Use {"code": "4711"}.'])
def test_a_missing_argument_is_asked_for_and_never_guessed(answer: str) -> None:
    seat = customer()
    assert "`code`" in seat.hear("Please use the tool `confirm_in_app`.")
    assert seat.calls == []
    seat.hear(answer)
    assert seat.calls == [("confirm_in_app", {"code": "4711"})]


@pytest.mark.parametrize(
    "line",
    [
        "Don't use `confirm_in_app` yet.",
        "I see that you have used confirm_in_app, thank you.",
        "You can confirm in person, in app or by phone.",
        "Please use the tool `other_tool` with {}.",
    ],
)
def test_it_calls_nothing_that_it_was_not_told_to_call(line: str) -> None:
    seat = customer()
    seat.hear(line)
    assert seat.calls == []


def test_it_reports_what_the_tool_answered() -> None:
    assert reply('Use `confirm_in_app` with {"code": "1"}.') == (
        "I used `confirm_in_app`. It says: status: confirmed."
    )


def test_it_reports_a_failure_truthfully() -> None:
    def fails(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"ok": False, "error": {"code": "expired", "message": "The code has expired."}}

    assert reply('Use `confirm_in_app` with {"code": "1"}.', answer=fails) == (
        "I tried to use `confirm_in_app`, but it did not work: The code has expired."
    )


def test_a_question_and_a_proposal_in_one_sentence_are_both_answered() -> None:
    said = reply("What is your date of birth, and shall I freeze the card?")
    assert f"My date of birth is {BORN}. Yes, please" in said


def test_it_says_again_how_it_went_when_asked() -> None:
    report = "I used `confirm_in_app`. It says: status: confirmed."
    assert reply('Use `confirm_in_app` with {"code": "1"}.', "Did it work?") == report


def test_it_reports_and_answers_in_one_message() -> None:
    said = reply('Please use `confirm_in_app` with {"code": "1"}. Then tell me your date of birth.')
    assert said == f"I used `confirm_in_app`. It says: status: confirmed. My date of birth is {BORN}."


def test_several_tools_are_called_in_the_order_of_the_message() -> None:
    tools = (Spec("tool_a", {"properties": {}}), Spec("tool_b", {"properties": {"n": {"type": "integer"}}}))
    seat = customer(tools=tools)
    seat.hear('First use `tool_b` with {"n": 1}, then use `tool_a` with {}.')
    assert seat.calls == [("tool_b", {"n": 1}), ("tool_a", {})]


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_tool_that_it_is_given_on_the_way_can_be_used(wrapped: bool) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"pin": {"type": "string"}},
        "required": ["pin"],
    }
    described = (
        {"name": "reset_pin", "description": "{Not JSON}", "parameters": schema} if wrapped else schema
    )
    seat = customer(tools=())
    seat.append("system", f"You were given the tool `reset_pin`.\n{json.dumps(described)}")
    seat.hear("Please use `reset_pin` with pin: 99.")
    assert seat.calls == [("reset_pin", {"pin": "99"})]


def test_the_relay_for_given_tools_is_no_tool_of_its_own() -> None:
    seat = customer(
        tools=(Spec("use_tool", {"properties": {"name": {}, "arguments": {}}, "required": ["name"]}),)
    )
    seat.hear("Please use tool name: x.")
    assert seat.calls == []
