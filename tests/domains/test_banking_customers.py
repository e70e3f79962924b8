"""What the bank's customers understand: every fact in many words, and nothing that was not asked."""

from __future__ import annotations

from functools import cache

import pytest

from gym_enterprise import Task, load_domain
from gym_enterprise.domains.banking import procedures
from simulators import ScriptedUser
from tests.domains.phrasings import PHRASINGS
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
