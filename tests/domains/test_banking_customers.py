"""What the bank's customers understand: every fact in many words, and nothing that was not asked."""

from __future__ import annotations

from functools import cache

import pytest

from gym_enterprise import Task, load_domain
from gym_enterprise.domains.banking import procedures
from simulators import ScriptedUser
from tests.domains.phrasings import PHRASINGS
from tests.domains.utterances import INSTRUCTIONS, NOT_INSTRUCTIONS, PROPOSALS, REMARKS
from tests.simulators.fakes import Seat

IDENTITY = ("full_name", "date_of_birth", "postal_code", "phone", "email")
THINGS = {"new_phone": "phone number", "new_email": "email address"}


@cache
def _task(family: str, fact: str) -> Task:
    made = procedures.tasks(3, 16, [family], research=False)
    return next(task for task in made if task.user.script and fact in task.user.script.facts)


def _reply(task: Task, line: str, seed: int = 0) -> str:
    seat = Seat(ScriptedUser(load_domain("banking").view(task, "user"), seed), "user")
    seat.turn()
    return seat.hear(line)


QUESTIONS = [(family, fact, line) for (family, fact), lines in PHRASINGS.items() for line in lines]


@pytest.mark.parametrize("place", PHRASINGS, ids="-".join)
def test_each_fact_has_fifteen_phrasings(place: tuple[str, str]) -> None:
    assert len(set(PHRASINGS[place])) >= 15


@pytest.mark.parametrize(("family", "fact", "line"), QUESTIONS)
def test_a_fact_is_told_however_it_is_asked_for(family: str, fact: str, line: str) -> None:
    names = ("new_phone", "new_email") if fact == "new_contact" else (fact,)
    for name in names:
        task = _task(family, name)
        assert task.user.script
        facts = task.user.script.facts
        said = _reply(task, line.format(name=THINGS.get(name, "")))
        assert facts[name].value in said
        assert not [
            other
            for other in IDENTITY
            if other not in names and other in facts and facts[other].value in said
        ]


def _facts(task: Task) -> dict[str, str]:
    assert task.user.script
    return {key: fact.value for key, fact in task.user.script.facts.items()}


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_manner_differs_by_seed_and_the_facts_do_not(seed: int) -> None:
    task = _task("freeze_card", "full_name")
    told = _reply(task, "I need your full name, your date of birth and your postal code.", seed)
    assert all(_facts(task)[key] in told for key in ("full_name", "date_of_birth", "postal_code"))
    assert told != _reply(task, "I need your full name, your date of birth and your postal code.", seed + 1)
    assert told == _reply(task, "I need your full name, your date of birth and your postal code.", seed)


@pytest.mark.parametrize(
    ("family", "line", "asked"),
    [
        (
            "replace_card",
            "What happened, and do you want standard or express?",
            ("what_happened", "delivery"),
        ),
        ("replace_card", "Is your address still right, and why do you need it?", ("moved", "what_happened")),
        ("travel_notice", "Where are you going and when do you leave?", ("country", "travel_days")),
        (
            "travel_notice",
            "Which cards do you take, and do all of them work?",
            ("travelling_cards", "state_of_cards"),
        ),
        ("dispute_charge", "Which shop was it, and when, and how much?", ("shop", "which_charge", "amount")),
        ("dispute_charge", "Who charged you, and how did you pay?", ("shop", "card_used")),
        ("empty_and_close", "Should it be closed or only emptied, and where should the money go?", ("wish",)),
        ("give_notice", "How much do you need and to which account?", ("wished_amount", "target_account")),
        (
            "freeze_card",
            "May I have your name, your DOB and your ZIP?",
            ("full_name", "date_of_birth", "postal_code"),
        ),
        ("freeze_card", "Who am I speaking with, and what happened?", ("full_name", "what_happened")),
        ("raise_limit", "Cash or purchases, and how high should it be?", ("which_limit", "wished_limit")),
        ("due_day", "Which card is it, and which day would you like?", ("which_account", "wished_day")),
    ],
)
def test_a_compound_question_gets_all_its_answers(family: str, line: str, asked: tuple[str, ...]) -> None:
    task = _task(family, asked[0])
    said = _reply(task, line)
    assert [key for key in asked if _facts(task)[key] not in said] == []


@pytest.mark.parametrize("line", PROPOSALS)
def test_it_consents_however_a_proposal_is_put(line: str) -> None:
    assert _reply(_task("freeze_card", "full_name"), line).startswith("Yes, please")


@pytest.mark.parametrize(
    "line",
    [
        "Shall I go ahead and close your account?",
        "I can cancel the card for good if that is fine.",
        "Would you like me to raise the limit?",
        "I will order a new card unless you object. Is that okay?",
    ],
)
def test_it_consents_to_nothing_else(line: str) -> None:
    said = _reply(_task("freeze_card", "full_name"), line)
    assert not said.startswith("Yes")
    assert "freeze" in said


@pytest.mark.parametrize("line", REMARKS)
def test_a_remark_gets_no_fact(line: str) -> None:
    task = _task("freeze_card", "full_name")
    said = _reply(task, line)
    assert [key for key in IDENTITY if _facts(task)[key] in said] == []


@pytest.mark.parametrize(("lines", "used"), [(INSTRUCTIONS, True), (NOT_INSTRUCTIONS, False)])
def test_it_uses_the_app_when_told_in_any_words_and_only_then(lines: tuple[str, ...], used: bool) -> None:
    request = {"request_id": "req_00aa11bb22cc"}
    for line in lines:
        task = _task("raise_limit", "wished_limit")
        seat = Seat(ScriptedUser(load_domain("banking").view(task, "user"), 0), "user")
        seat.turn()
        seat.hear(line.format(id=request["request_id"]))
        assert (line, seat.calls) == (line, [("app_confirm_request", request)] if used else [])


READ_BACK = "So that is {full_name}, born on {date_of_birth}, postal code {postal_code}. Is that correct?"
LISTED = (
    "Let me repeat:\n- Name: {full_name}\n- Born: {date_of_birth}\n- ZIP: {postal_code}\nIs all of it right?"
)
UNNAMED = "{full_name}, {date_of_birth}, {postal_code}: is that right?"


@pytest.mark.parametrize("line", [READ_BACK, LISTED, UNNAMED])
@pytest.mark.parametrize(
    ("key", "wrong"),
    [("", ""), ("date_of_birth", "1931-05-06"), ("postal_code", "10999"), ("full_name", "John Smith")],
)
def test_a_reading_back_that_is_wrong_in_one_part_is_corrected(line: str, key: str, wrong: str) -> None:
    task = _task("freeze_card", "full_name")
    said = _reply(task, line.format(**_facts(task) | {key: wrong}))
    assert said.startswith("No, that is " if key else "Yes, that is ")
    assert not key or _facts(task)[key] in said
