"""The demonstration of `make train-demo`, made small: every stage runs, goes on, and is reported."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("matplotlib")

from examples.train_demo import bank, results, stages, teacher

SMALL = stages.Size(
    exercises=200,
    dialogues=60,
    copying_steps=2,
    imitating_steps=3,
    practising_steps=1,
    tasks_per_step=2,
    held_out=4,
)


def test_the_teacher_is_wrong_as_often_as_asked_and_says_when() -> None:
    for wrong, least, most in ((0.0, 0, 0), (1.0, 60, 120)):
        taught = list(teacher.dialogues(bank.make(), 120, 5, stages.PROMPT, wrong))
        assert len(taught) == 120
        assert least <= sum(not one["right"] for one in taught) <= most
    contradicted = [one for one in taught if "contradicted" in one["task_id"]]
    believed = [one for one in contradicted if '{"name": "unfreeze_card"' in str(one["chat"])]
    assert 0 < len(believed) < len(contradicted)  # else it refuses for a wrong reason


def test_what_is_learned_and_what_is_held_out_share_no_customer() -> None:
    domain = bank.make()
    names = {
        split: {one.state.insert["customers"][0]["full_name"] for one in tasks.values()}
        for split, tasks in domain.tasks.items()
    }
    assert (len(domain.tasks["train"]), len(domain.tasks["test"])) == (3_000, 800)
    assert not names["train"] & names["test"]
    families = {task.family for task in domain.tasks["test"].values()}
    assert families == {
        *("freeze_card", "change_contact", "lower_limit", "unfreeze_card", "unfreeze_card, claim is wrong")
    }


def test_an_exercise_asks_for_fields_that_can_be_read_in_it() -> None:
    for one in teacher.exercises(300, 3):
        read, answer = (message["content"] for message in one["chat"])
        for key, value in json.loads(answer).items():
            assert (value.removesuffix("s") if key == "limit" else value) in read


@pytest.mark.slow
def test_every_stage_runs_and_what_is_done_is_not_done_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "seed-1"
    stages.run(folder, 1, SMALL)
    said = capfd.readouterr().out
    assert [line.split()[1] for line in said.splitlines() if line.startswith("== ")] == [
        *("train.scratch", "train.sft", "train.sft", "train.grpo", "train.sft", "train.grpo"),
    ]
    results.write(tmp_path, {1: folder, 2: tmp_path / "seed-2"})
    table = (tmp_path / "results.md").read_text().splitlines()
    assert len(table) == 2 + 4
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")
    capfd.readouterr()
    stages.run(folder, 1, replace(SMALL))
    assert "==" not in capfd.readouterr().out
