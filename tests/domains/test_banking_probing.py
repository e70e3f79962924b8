"""An agent that has never seen the scripts finishes the bank's tasks by talking to the customers."""

from __future__ import annotations

import pytest

from gym_enterprise import Episode, Task, load_domain, run_episode
from gym_enterprise.domains.banking import procedures
from simulators import ScriptedUser
from tests.domains.probing.agent import ProbingAgent

SEEDS = range(1, 6)
BANK = load_domain("banking")
TASKS = [task for split in BANK.tasks.values() for task in split.values()]
FIRST = {(task.family, task.meta.twin_of is None): task for task in TASKS}.values()
"""One task of each family, and one twin."""


def _reward(task: Task, seed: int) -> float | None:
    def customer(view: object, _: int) -> ScriptedUser:
        return ScriptedUser(view, seed)

    record = run_episode(Episode(BANK, task), ProbingAgent, customer, seed=seed)
    assert record.reward is not None, record.grade
    return record.reward


def test_the_agent_sees_no_task() -> None:
    assert ProbingAgent.sees_task is False


@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_solves_a_task_of_each_family(seed: int) -> None:
    assert [task.id for task in FIRST if _reward(task, seed) != 1.0] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_solves_every_task_with_every_manner_of_the_customer(seed: int) -> None:
    assert [task.id for task in TASKS if _reward(task, seed) != 1.0] == []


@pytest.mark.slow
def test_the_agent_solves_tasks_that_are_made_anew() -> None:
    made = procedures.tasks(20, 108, research=False)
    assert [task.id for number, task in enumerate(made) if _reward(task, number) != 1.0] == []


def _told_otherwise(family: str, reference: dict[str, object], **script: object) -> Task:
    """Return a task of a family with further parts of the script, and other arguments of its last call."""
    (made,) = procedures.tasks(5, 1, [family], research=False)
    fields = made.model_dump(mode="json", exclude_defaults=True)
    fields["user"]["script"] |= script
    fields["reference"][-1]["arguments"] |= reference
    return Task.model_validate(fields)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_follows_a_change_of_mind(seed: int) -> None:
    (made,) = procedures.tasks(5, 1, ["lower_limit"], research=False)
    limit = "cash" if made.reference[-1].arguments["limit"] == "cash" else "purchase"
    say = f"On second thoughts, please lower the daily {limit} limit of that card to 30 dollars."
    change = {"say": say, "facts": {"new_limit": "30 dollars"}}
    assert _reward(_told_otherwise("lower_limit", {"amount": 30}, changes=[change]), seed) == 1.0
    assert _reward(_told_otherwise("lower_limit", {}, changes=[change]), seed) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_gets_consent_that_waits_for_the_price(seed: int) -> None:
    (made,) = procedures.tasks(5, 1, ["replace_card"], research=False)
    assert made.user.script
    (want,) = (want.model_dump(mode="json") for want in made.user.script.wants)
    priced, other = (
        {**want, "consent": [words], "unsure": "At what price?"} for words in ("altogether", "half")
    )
    assert _reward(_told_otherwise("replace_card", {}, wants=[priced]), seed) == 1.0
    assert _reward(_told_otherwise("replace_card", {}, wants=[other]), seed) == 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_agent_asks_a_vague_customer_the_right_thing_and_serves_a_late_request(seed: int) -> None:
    (made,) = procedures.tasks(5, 1, ["lower_limit"], research=False)
    fields = made.model_dump(mode="json", exclude_defaults=True)
    card = made.reference[-1].arguments["card_id"]
    fields["user"]["script"] |= {
        "later": [
            {"say": "And now please freeze it; I cannot find it, but it will turn up.", "about": ["freeze"]}
        ],
        "vague": {"say": "It is about my card.", "until": ["card_last_four"]},
    }
    freeze = {"name": "freeze_card", "arguments": {"card_id": card, "reason": "misplaced"}}
    fields["reference"].append(freeze)
    assert _reward(Task.model_validate(fields), seed) == 1.0
