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
