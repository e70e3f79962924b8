"""Sentences from conversations that a person led as the agent; each was once misunderstood."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulators.customers import customer, reply
from tests.simulators.fakes import Fact, Pushback, Script, Spec, Want

COAT = Script(
    opening="I ordered a coat and it never arrived.",
    facts={
        "full_name": Fact("Katya Marchetti"),
        "date_of_birth": Fact("1973-09-13"),
        "email": Fact("katya@mailbox.example"),
        "card_last_four": Fact("7736"),
        "shop": Fact("It was Pinecone Outfitters.", ("which shop", "merchant", "where")),
        "amount": Fact("It was 184 dollars.", ("how much",)),
        "order_date": Fact("Late in January.", ("when", "when was", "when did you")),
        "card_used": Fact("I paid with my debit card.", ("which card", "paid with")),
        "target": Fact("My Premier Checking, please.", ("which account",)),
    },
    wants=(Want("I want to dispute the payment.", ("dispute",)),),
    later=(Want("Please lower my cash limit.", ("cash limit",)),),
    pushback=(Pushback("But it was only a few weeks ago."),),
)
NAME, BORN, MAIL = (
    "My full name is Katya Marchetti.",
    "My date of birth is 1973-09-13.",
    "katya@mailbox.example",
)
SHOP, AMOUNT, DATE, CARD = (COAT.facts[key].value for key in ("shop", "amount", "order_date", "card_used"))

LOST = Script(
    opening="I need a new card.",
    facts={
        "card_last_four": Fact("2105"),
        "what_happened": Fact("It fell off a boat.", ("what happened", "stolen")),
        "postal_code": Fact("31208"),
        "new_street": Fact("9 Lighthouse Close", ("street",)),
        "new_postal_code": Fact("30552"),
    },
    wants=(Want("Please send me a new card.", ("new card", "order")),),
    later=(Want("My Harbor Card was taken, please block it.", ("harbor",)),),
    declines=(Want("No insurance, please.", ("insurance",)),),
)
TRAVEL = Spec(
    "app_travel_notice_22",
    {
        "properties": {
            "card_id": {"type": "string"},
            "country": {"type": "string", "enum": ["ES", "PT"]},
            "starts_on": {"type": "string", "format": "date"},
            "ends_on": {"type": "string", "format": "date"},
        },
        "required": ["card_id", "country", "starts_on", "ends_on"],
    },
)
CONFIRM = Spec(
    "app_confirm_request", {"properties": {"request_id": {"type": "string"}}, "required": ["request_id"]}
)
NOTICE = {"card_id": "crd_f5508d", "country": "PT", "starts_on": "2026-04-10", "ends_on": "2026-04-24"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("When was the purchase and what was the amount?", f"{DATE} {AMOUNT}"),
        ("Also, when was the purchase, and what was the amount?", f"{DATE} {AMOUNT}"),
        ("Where did you buy it, and when?", f"{SHOP} {DATE}"),
        ("At which shop was it, when was it, and how much did you pay?", f"{SHOP} {DATE} {AMOUNT}"),
        ("It would help to know where you bought it, how much it cost, and when.", f"{SHOP} {AMOUNT} {DATE}"),
        ("Which charge is it - what is the amount, the merchant and the day?", f"{AMOUNT} {SHOP} {DATE}"),
        ("How much would you like to dispute?", AMOUNT),
        ("May I have the amount, and the merchant of the payment you want to dispute?", f"{AMOUNT} {SHOP}"),
        (
            "How much would you like to get back, and to which account?",
            f"{AMOUNT} My Premier Checking, please.",
        ),
    ],
)
def test_no_part_of_a_question_is_lost(line: str, said: str) -> None:
    assert reply(line, script=COAT) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Did you pay with your Harbor credit card or with your debit card?", CARD),
        ("I see two payments, one with a Harbor Card, one with a debit card. Which of the two is it?", CARD),
        ("You paid with your Harbor Card, correct?", CARD),
        ("Should the money go to Everyday Checking or Premier Checking?", "My Premier Checking, please."),
    ],
)
def test_a_choice_is_made_by_the_fact_that_tells_it(line: str, said: str) -> None:
    assert reply(line, script=COAT) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("What happened to your old card?", "It fell off a boat."),
        ("Which card is it about?", "My card last four is 2105."),
        ("So it is the card ending in 2105. What happened to it?", "It fell off a boat."),
        ("There are several cards: 1485, 2105 and 0717. Which one is it?", "My card last four is 2105."),
        ("Do you think it might turn up, or is it gone for good?", "It fell off a boat."),
        ("How did you lose it?", "It fell off a boat."),
        (
            "Please tell me the new street and the postal code.",
            "The new street is 9 Lighthouse Close. The new postal code is 30552.",
        ),
    ],
)
def test_a_question_that_names_a_fact_is_no_read_back(line: str, said: str) -> None:
    assert reply(line, script=LOST) == said


def test_please_give_me_your_full_name_as_well_as_your_date_of_birth_and_email() -> None:
    said = reply("Please give me your full name as well as your date of birth and email.", script=COAT)
    assert said == f"{NAME} {BORN} My email is {MAIL}."


@pytest.mark.parametrize(
    "line",
    [
        "Please use `app_confirm_request` with request_id `req_cc2eee`.",
        "Please confirm it with app_confirm_request and the request id req_cc2eee. Tell me once it's done.",
        "Use app_confirm_request with the request id req_cc2eee now.",
        "Your request id is req_cc2eee. Please confirm it with app_confirm_request.",
        "Use app_confirm_request for req_cc2eee and let me know when it has worked.",
        "I have opened it. Please open your app and confirm the request **req_cc2eee**.",
    ],
)
def test_an_argument_needs_no_colon(line: str) -> None:
    seat = customer(COAT, (CONFIRM,))
    seat.hear(line)
    assert seat.calls == [("app_confirm_request", {"request_id": "req_cc2eee"})]


@pytest.mark.parametrize("answer", ["It's req_cc2eee.", "Please enter req_cc2eee as the request id."])
def test_the_answer_to_what_to_enter_is_entered(answer: str) -> None:
    seat = customer(COAT, (CONFIRM,))
    seat.hear("Please use app_confirm_request.")
    seat.hear(answer)
    assert seat.calls == [("app_confirm_request", {"request_id": "req_cc2eee"})]


@pytest.mark.parametrize(
    "lines",
    [
        [
            "You have app_travel_notice_22 now. Please use it with card_id crd_f5508d, country PT, "
            "first day 2026-04-10 and last day 2026-04-24."
        ],
        ["Please use app_travel_notice_22 for the card crd_f5508d, PT, from 2026-04-10 to 2026-04-24."],
        ["Please use app_travel_notice_22 for crd_f5508d.", "Enter PT.", "From 2026-04-10 to 2026-04-24."],
    ],
)
def test_what_has_no_name_is_known_by_its_look(lines: list[str]) -> None:
    seat = customer(COAT, (TRAVEL,))
    for line in lines:
        said = seat.hear(line)
    assert seat.calls == [("app_travel_notice_22", NOTICE)]
    assert said == "I used `app_travel_notice_22`. It says: status: confirmed."


@pytest.mark.parametrize(
    "line",
    [
        "Please use app_travel_notice_22 for crd_1 or crd_2, PT, from 2026-04-10 to 2026-04-24.",
        "Please use app_travel_notice_22 for crd_1, PT, from 2026-04-10.",
        "Thank you for making the travel notice in the app.",
        "A travel notice can be made in the app.",
    ],
)
def test_nothing_is_called_with_a_guess(line: str) -> None:
    seat = customer(COAT, (TRAVEL,))
    seat.hear(line)
    assert seat.calls == []


@pytest.mark.parametrize(
    "line",
    [
        "The old card is cancelled and the new one is on its way.",
        "Your new card is ordered with standard delivery.",
        "I've sent you a new card. Anything else?",
        "Your new card is all set up, I ordered it just now. Anything else?",
    ],
)
def test_reports_of_work_bring_up_the_next_want(line: str) -> None:
    assert reply(line, script=LOST) == "My Harbor Card was taken, please block it."


@pytest.mark.parametrize(
    "line",
    [
        "The card is made of metal and costs 40 dollars.",
        "The purchase was posted on 19 December.",
        "I need to look at the list of cards first.",
    ],
)
def test_what_the_records_say_is_no_report_of_work(line: str) -> None:
    assert reply(line, script=LOST) != "My Harbor Card was taken, please block it."


def test_a_report_counts_although_its_message_asks_something() -> None:
    lines = ("Your new card is ordered. Would you like an insurance?", "All right. Anything else?")
    assert reply(*lines, script=LOST) == "My Harbor Card was taken, please block it."


def test_a_report_with_a_request_that_is_not_understood_ends_nothing() -> None:
    seat = customer(Script("Hi.", wants=(Want("Please raise it.", ("request",)),)))
    seat.hear("I have submitted the request. Please approve it.")
    assert not seat.stopped


@pytest.mark.parametrize(
    "line",
    [
        "It was posted in December, so my decision has to stand. Anything else?",
        "Our records are decisive, so the answer remains no. Is there anything else?",
        "I can't open a dispute; please contact the merchant directly.",
        "There is nothing more I can do. Anything else?",
    ],
)
def test_a_refusal_is_pushed_against_and_then_accepted(line: str) -> None:
    seat = customer(COAT)
    assert seat.hear(line) == "But it was only a few weeks ago."
    assert seat.hear(line).endswith("Please lower my cash limit.")


@pytest.mark.parametrize(
    "line",
    [
        "The total is 18 dollars. May I charge this and order the card?",
        "It costs 18 dollars. Would you like me to request that?",
    ],
)
def test_a_charge_for_what_it_wants_is_agreed_to(line: str) -> None:
    assert reply(line, script=LOST).startswith("Yes")


def arguments_of(line: str, **properties: Any) -> list[tuple[str, Any]]:
    seat = customer(COAT, (Spec("set_code", {"properties": properties, "required": list(properties)}),))
    seat.hear(line)
    return seat.calls


def test_a_value_without_colon_has_the_type_that_the_tool_wants() -> None:
    called = arguments_of("Use `set_code` with times 2.", times={"type": "integer"})
    assert called == [("set_code", {"times": 2})]
    assert arguments_of("Use `set_code` with the right code now.", code={"type": "string"}) == []
