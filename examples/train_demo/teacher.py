"""What the model is taught from: dialogues of a teacher that is sometimes wrong, and exercises in copying.

The teacher is the oracle with varied words. In some dialogues it decides wrongly, in one of the ways that the
task's author declared as attacks: it believes the customer, gives a reason that does not hold, or does more
than was asked for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from examples.train_demo import bank
from gym_enterprise import Domain, Job, rollout
from gym_enterprise.domains.banking.procedures import tasks
from gym_enterprise.domains.banking.procedures.people import newcomer
from gym_enterprise.errors import TaskError
from gym_enterprise.tasks import Task
from simulators import OraclePlayer
from train.dialogues import dialogue

MISTAKES = ("obeys_claims", "skip_second_document", "wrong_reason", "one_too_many")
"""Attacks that a teacher can play with what it knows."""
ASK = ("I need {}.", "Please tell me {}.", "What is {}?")
DONE = ("All is done. Anything else?", "That is done. Anything else?", "It is done now. Anything else?")
BYE = ("Goodbye.", "Thanks. Goodbye.")
SAID = {
    "last_four": "My card last four is {}.",
    "phone": "My phone is {}.",
    "new_phone": "My new phone is {}.",
    "new_email": "My new email is {}.",
    "date_of_birth": "My date of birth is {}.",
    "postal_code": "The postal code is {}.",
    "limit": "I mean the daily {} limit.",
}
"""How a customer tells a fact."""


class Teacher(OraclePlayer):
    """The oracle, in words that are shorter and vary with the seed."""

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__(task, seed)
        draw = Random(seed)
        self._ask, self._done, self._bye = (draw.choice(words) for words in (ASK, DONE, BYE))

    def act(self, observation: Any) -> Any:
        """Return the oracle's action in other words."""
        action = super().act(observation)
        said = str(action.get("content", ""))
        if action["type"] == "stop":
            return {"type": "stop", "content": self._bye}
        if said.startswith(question := "To help you, please tell me "):
            return {"type": "message", "content": self._ask.format(said[len(question) : -1])}
        return {"type": "message", "content": self._done} if action["type"] == "message" else action


def dialogues(domain: Domain, n: int, seed: int, prompt: Path, wrong: float) -> Iterator[dict[str, Any]]:
    """Yield dialogues of the teacher on tasks of the split `train`.

    Args:
        domain: The bank.
        n: How many.
        seed: Of tasks, words and mistakes.
        prompt: File of the system message.
        wrong: In which share a wrong decision is tried; where the tools refuse it, the teacher is right.

    Yields:
        Lines of training data: the chat, the task, and whether the teacher was right.
    """
    draw = Random(f"teacher/{seed}")
    right = tasks(seed, n, bank.FAMILIES, split="train", research=False)
    played = [mistaken(domain, task, draw) if draw.random() < wrong else task for task in right]
    records = asyncio.run(rollout(domain, [Job(task) for task in played], Teacher, "scripted", seed=seed))
    for task, taught, record in zip(right, played, records, strict=True):
        chat = dialogue(domain, taught, record, "json", prompt)
        yield {"chat": chat, "task_id": task.id, "right": taught is task}


def mistaken(domain: Domain, task: Task, draw: Random) -> Task:
    """Return the task with a wrong decision for a reference, or as it is if the tools refuse that."""
    wrong = {name: actions for name, actions in domain.attacks(task).items() if name in MISTAKES and actions}
    if not wrong:
        return task
    played = task.model_copy(update={"reference": tuple(wrong[draw.choice(sorted(wrong))])})
    try:
        domain.admit(played)
    except TaskError:
        return task
    return played


def exercises(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield exercises: a record, or what a customer tells, and some of its fields in another order.

    Args:
        n: How many.
        seed: Of all that is drawn.
    """
    draw = Random(f"exercises/{seed}")
    for number in range(n):
        customer = newcomer("train", draw)
        card, first_last = draw.choice(customer.cards), customer.data["full_name"].lower().split()
        values = {
            "customer_id": customer.id,
            "card_id": card["card_id"],
            "account_id": card["account_id"],
            "last_four": card["last_four"],
            "limit": draw.choice(("purchases", "cash")),
            "new_phone": f"(555) {draw.randrange(200, 1000)}-{draw.randrange(1000, 10_000)}",
            "new_email": f"{'.'.join(first_last)}{draw.randrange(10, 100)}@newpost.example",
            **{name: customer.data[name] for name in ("date_of_birth", "postal_code", "phone")},
        }
        told = draw.random() < 0.5
        keys = draw.sample(list(SAID) if told else list(values), draw.randint(2, 4))
        if told:
            spoken = values | {"limit": values["limit"].removesuffix("s")}
            text = " ".join(SAID[key].format(spoken[key]) for key in keys)
        else:
            shown = json.dumps({"ok": True, "result": {key: values[key] for key in keys}})
            text = f"<tool_response>\n{shown}\n</tool_response>"
        again = {key: values[key] for key in draw.sample(keys, len(keys))}
        chat = [{"role": "user", "content": text}, {"role": "assistant", "content": json.dumps(again)}]
        yield {"chat": chat, "task_id": f"exercise-{seed}-{number}"}
