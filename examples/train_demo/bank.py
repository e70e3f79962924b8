"""The bank with made tasks of four families; each brings its own customer, and no two splits share one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import kb
from gym_enterprise.domain import Domain
from gym_enterprise.domains import banking
from gym_enterprise.domains.banking.attacks import attacks
from gym_enterprise.domains.banking.procedures import tasks
from gym_enterprise.domains.banking.tools import TOOLS
from gym_enterprise.domains.banking.undo import undo
from gym_enterprise.tasks import Task

FAMILIES = ("freeze_card", "change_contact", "lower_limit", "unfreeze_card")
LEARNED, HELD_OUT = 3_000, 800
"""How many tasks."""


@cache
def make() -> Domain:
    """Return the bank; `train.grpo` finds it as ``examples.train_demo.bank:make``."""
    here = Path(banking.__file__).parent
    return Domain(
        "banking",
        banking.make_image(),
        TOOLS,
        (here / "policy.md").read_text(encoding="utf-8"),
        {
            "train": [
                told_apart(task) for task in tasks(21, LEARNED, FAMILIES, split="train", research=False)
            ],
            "test": [
                told_apart(task) for task in tasks(99, HELD_OUT, FAMILIES, split="test", research=False)
            ],
        },
        documents=kb.load_documents(Path(kb.__file__).parent / "banking"),
        attacks=attacks,
        undo=undo,
    )


def told_apart(task: Task) -> Task:
    """Return the task, in a family of its own where what the customer claims is wrong."""
    contradicted = task.meta.knobs.get("contradicted")
    return task.model_copy(update={"family": f"{task.family}, claim is wrong"}) if contradicted else task
