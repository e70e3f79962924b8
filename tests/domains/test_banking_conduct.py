"""Customers of the bank that make it harder: how many there are, and a conversation with one of each kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gym_enterprise import Episode, Task, load_domain
from gym_enterprise.domains.banking import procedures
from gym_enterprise.domains.banking.procedures.conduct import AMOUNT, PRICE
from gym_enterprise.tasks import Script
from simulators import ScriptedUser
from simulators.scenario import scenario_text
from tests.simulators.fakes import Seat

BANK = load_domain("banking")
TASKS = [task for split in BANK.tasks.values() for task in split.values()]
WRITTEN = {"verify_then_change", "two_documents", "contradicted_claim", "confirm_in_app"}
MADE = [task for task in TASKS if task.family not in WRITTEN]

KINDS: dict[str, Callable[[Task], bool]] = {
    "consent": lambda task: any(want.consent for want in _script(task).wants),
    "changes": lambda task: bool(_script(task).changes),
    "vague": lambda task: _script(task).vague is not None,
    "later": lambda task: bool(_script(task).later),
    "pushback": lambda task: bool(_script(task).pushback),
}


def _script(task: Task) -> Script:
    assert task.user.script
    return task.user.script


@pytest.mark.parametrize("kind", KINDS)
def test_each_conduct_is_in_eight_made_tasks_of_two_families_and_no_split_lacks_it(kind: str) -> None:
    found = [task for task in MADE if KINDS[kind](task)]
    assert len(found) >= 8
    assert len({task.family for task in found}) >= 2
    assert {task.split for task in TASKS if KINDS[kind](task)} == {"train", "validation", "test"}


def test_no_conduct_is_in_all_tasks_of_a_family_but_pushback() -> None:
    sizes = Counter(task.family for task in MADE)
    for kind in ("consent", "changes", "vague", "later"):
        for family, number in Counter(task.family for task in MADE if KINDS[kind](task)).items():
            assert number < sizes[family], (kind, family)


def test_tasks_declare_the_conduct_of_their_customers() -> None:
    for task in MADE:
        declared = task.meta.knobs.get("conduct", ())
        assert list(declared) == [kind for kind in list(KINDS)[:4] if KINDS[kind](task)], task.id


def test_who_withholds_consent_or_changes_its_mind_is_not_refused() -> None:
    for task in MADE:
        if KINDS["consent"](task) or KINDS["changes"](task):
            assert "record_refusal" not in [action.name for action in task.reference]


def test_the_first_word_is_possible_and_scores_nothing() -> None:
    tried = [task for task in MADE if BANK.attacks(task)["first_word"] is not None]
    assert [task.id for task in tried] == [task.id for task in MADE if KINDS["changes"](task)]
    for task in tried:
        episode = Episode(BANK, task)
        attack = BANK.attacks(task)["first_word"]
        differing = 0
        for action, right in zip(attack or (), task.reference, strict=True):
            done = episode.dispatcher.call(action.seat, action.name, action.arguments)
            differing += action.arguments != right.arguments
            # Only the confirmation names what then has another id.
            assert done.ok or action.name == "app_confirm_request"
        assert differing >= 1
        assert episode.grade().reward == 0.0


def test_a_customer_is_not_told_the_right_amount_that_it_waits_for() -> None:
    for task in MADE:
        for want in _script(task).wants:
            assert want.consent in ((), AMOUNT, PRICE)
            assert not any(mark.isdigit() for mark in want.unsure)


def test_a_model_in_the_customers_seat_is_told_in_words() -> None:
    task = next(task for task in MADE if KINDS["consent"](task))
    assert "an amount of money" in scenario_text(task.user)
    assert "$ or" not in scenario_text(task.user)


def test_the_page_of_the_bank_counts_right() -> None:
    page = (Path(__file__).parents[2] / "docs" / "banking.md").read_text()
    for kind, there in KINDS.items():
        found = [task for task in TASKS if there(task)]
        (row,) = (line for line in page.splitlines() if line.startswith((f"| `{kind}` |", f"| ({kind}) |")))
        assert row.endswith(f"| {len(found)} |"), row
        named = dict(re.findall(r"`(\w+)` (\d+)", row))
        made = Counter(task.family for task in found if task.family not in WRITTEN)
        assert not named or {family: int(number) for family, number in named.items()} == made


# -- conversations by hand ------------------------------------------------------------------------------


def _customer(family: str, kind: str, *, but: tuple[str, ...] = ()) -> tuple[Task, Seat]:
    """Return the first task of a family with a conduct, and its customer after the opening."""
    made = procedures.tasks(1, 40, [family], research=False)
    task = next(task for task in made if KINDS[kind](task) and not any(KINDS[other](task) for other in but))
    BANK.admit(task)
    seat = Seat(ScriptedUser(BANK.view(task, "user"), 0), "user")
    seat.turn()
    return task, seat


@pytest.mark.parametrize(
    ("family", "proposal", "unsure"),
    [
        ("replace_card", "Shall I order the new card?", "What will it cost me, all in all?"),
        ("courtesy_refund", "Shall I refund the fee?", "How much of it would I get back?"),
        ("redeem_points", "Shall I redeem the points?", "How much money is that?"),
    ],
)
def test_a_customer_withholds_its_consent_and_gives_it_once_it_has_heard_an_amount(
    family: str, proposal: str, unsure: str
) -> None:
    _, seat = _customer(family, "consent", but=("changes",))
    assert seat.hear(proposal) == unsure
    assert seat.hear("Shall I go ahead?") == unsure
    assert seat.hear(f"It is $12.50. {proposal}").startswith("Yes, please")
    # Neither the right amount nor the wrong one: which is due is for the agent to find out.
    assert not seat.stopped


def test_a_customer_with_a_price_to_pay_is_content_with_none() -> None:
    _, seat = _customer("replace_card", "consent", but=("changes",))
    assert seat.hear("It is free of charge. Shall I order the new card?").startswith("Yes, please")


def test_a_customer_chooses_another_delivery_as_it_agrees_and_is_served_then() -> None:
    task, seat = _customer("replace_card", "changes")
    (order,) = (action for action in task.reference if action.name == "reissue_card_4417")
    (change,) = _script(task).changes
    first = seat.hear("Which delivery would you like, standard or express?")
    assert _script(task).facts["delivery"].value in first
    said = seat.hear("It costs $15 altogether. Shall I order the new card?")
    assert said.startswith("Yes, please")
    assert said.endswith(change.say)
    now = seat.hear("Which delivery would you like, standard or express?")
    assert order.arguments["delivery"] in now.lower()
    assert seat.hear("Then it costs $20 altogether. Shall I order the new card?").startswith("Yes, please")
    assert "Goodbye" in seat.hear("I have ordered the new card. Is there anything else I can do for you?")
    assert seat.stopped


@pytest.mark.parametrize("family", ["raise_limit", "contact_and_limit"])
def test_a_customer_wants_another_limit_in_place_of_confirming_and_confirms_that_one(family: str) -> None:
    task, seat = _customer(family, "changes")
    (change,) = _script(task).changes
    said = seat.hear("I have prepared it. Please confirm the request req_00aa11bb22cc in your app.")
    assert said == change.say
    assert seat.calls == []
    (amount,) = (a.arguments["amount"] for a in task.reference if a.name == "open_limit_request_3168")
    assert f"${amount:,}" in said
    seat.hear("Then please confirm the request req_11aa11bb22cc in your app.")
    assert seat.calls == [("app_confirm_request", {"request_id": "req_11aa11bb22cc"})]


@pytest.mark.parametrize(
    ("family", "general", "asking", "fact"),
    [
        ("travel_notice", "What would you like me to do?", "Which country are you travelling to?", "country"),
        (
            "empty_and_close",
            "Could you tell me more about it?",
            "Should it be closed, or do you only want to move the money?",
            "wish",
        ),
        ("hand_over", "What would you like me to do?", "What has happened?", "what_happened"),
    ],
)
def test_a_customer_stays_vague_until_it_is_asked_the_right_thing(
    family: str, general: str, asking: str, fact: str
) -> None:
    task, seat = _customer(family, "vague", but=("changes",))
    script = _script(task)
    for line in ("How can I help you?", general):
        assert script.vague
        assert seat.hear(line) == script.vague.say
    assert script.facts[fact].value in seat.hear(asking)
    assert seat.hear("How can I help you?") == script.wants[0].say


@pytest.mark.parametrize(
    ("family", "report"),
    [
        ("due_day", "I have changed the due day of your card."),
        ("due_day", "I am sorry, I have to refuse that: it was changed within the last year."),
        ("bank_error_refund", "I have refunded the fee."),
    ],
)
def test_a_customer_asks_late_for_one_thing_more(family: str, report: str) -> None:
    task, seat = _customer(family, "later")
    (later,) = _script(task).later
    closing = "Is there anything else I can do for you?"
    said = seat.hear(f"{report} {closing}")
    if said == _script(task).pushback[0].say:
        said = seat.hear(f"I understand, but the decision stands. {closing}")
    assert said.endswith(later.say)
    assert task.reference[-1].name == "set_card_limit"
    assert str(task.reference[-1].arguments["amount"]) in said
    assert "Goodbye" in seat.hear(f"I have set the purchase limit of that card. {closing}")
    assert seat.stopped
