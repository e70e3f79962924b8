"""One seed, stage by stage. A stage that is done is not done again; one that was stopped goes on.

    copying      exercises, from random weights                                      train.sft
    imitating    the teacher's dialogues, until more of them help little             train.sft
    practising   GRPO with the exact reward                                          train.grpo
    further      control: imitating for as long as practising took                   train.sft
    shuffled     control: GRPO whose advantages are dealt out at random              train.grpo

After `imitating` and each stage that follows, the held-out tasks are played, sampled and greedy.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from examples.train_demo import bank, teacher
from gym_enterprise import evaluate
from gym_enterprise.harness.disk import replacing
from simulators import LLMPlayer, Sampling, TransformersEngine
from train.journal import read

HERE = Path(__file__).parent
PROMPT = HERE / "prompt.md"
MEASURED = ("imitating", "practising", "further", "shuffled")
TEMPERATURES = {"sampled": 1.0, "greedy": 0.0}
COPYING = ('optim.schedule="constant"', "batch_size=40")
"""What differs from sft.toml while exercises are learned."""
WRONG = 0.2
"""In which share of the dialogues the teacher tries a wrong decision."""


@dataclass(frozen=True)
class Size:
    """How much is done."""

    exercises: int = 18_000
    dialogues: int = 12_000
    copying_steps: int = 450
    imitating_steps: int = 800
    practising_steps: int = 60
    tasks_per_step: int = 16
    held_out: int = bank.HELD_OUT


def run(out: Path, seed: int, size: Size) -> None:
    """Go through all stages of a seed.

    Args:
        out: Folder of the seed.
        seed: Of everything.
        size: How much is done.
    """
    exercises = lines(out / "exercises.jsonl", teacher.exercises(size.exercises, seed))
    taught = teacher.dialogues(bank.make(), size.dialogues, seed, PROMPT, wrong=WRONG)
    dialogues = lines(out / "dialogues.jsonl", taught)
    base = out / "base"
    if not (base / "tokenizer.json").exists():
        program("train.scratch", "--out", base, "--data", dialogues, exercises, "--seed", seed)
    copying = sft(out / "copying", base, exercises, seed, size.copying_steps, *COPYING)
    imitating = sft(out / "imitating", copying, dialogues, seed, size.imitating_steps)
    measure(out, "imitating", imitating, size)
    practising = grpo(out / "practising", imitating, seed, size)
    measure(out, "practising", practising, size)
    more = lines(
        out / "more.jsonl", teacher.dialogues(bank.make(), size.dialogues, seed + 1_000, PROMPT, wrong=WRONG)
    )
    steps = round(seconds(out / "practising") / seconds(out / "imitating") * size.imitating_steps)
    measure(out, "further", sft(out / "further", imitating, more, seed, steps), size)
    shuffled = grpo(out / "shuffled", imitating, seed, size, 'loss.advantage="shuffled"')
    measure(out, "shuffled", shuffled, size)


def lines(file: Path, made: Iterable[Mapping[str, Any]]) -> Path:
    """Write JSON lines, unless the file is there; return it."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as part, part.open("w", encoding="utf-8") as stream:
            stream.writelines(json.dumps(line) + "\n" for line in made)
    return file


def sft(out: Path, model: Path, data: Path, seed: int, steps: int, *more: str) -> Path:
    """Train by imitation; return the folder of the model."""
    settings = (
        f'data=["{data}"]',
        f'model.path="{model}"',
        f"seed={seed}",
        f"steps={steps}",
        f"optim.warmup_steps={min(60, steps // 2)}",
    )
    return trained("train.sft", HERE / "sft.toml", out, steps, *settings, *more)


def grpo(out: Path, model: Path, seed: int, size: Size, *more: str) -> Path:
    """Train by GRPO; return the folder of the model."""
    steps = size.practising_steps
    settings = (
        f'rollout.prompt="{PROMPT}"',
        f'model.path="{model}"',
        f"seed={seed}",
        f"steps={steps}",
        f"rollout.tasks_per_step={size.tasks_per_step}",
        f"evaluate.limit={min(200, size.held_out)}",
    )
    return trained("train.grpo", HERE / "grpo.toml", out, steps, *settings, *more)


def trained(name: str, config: Path, out: Path, steps: int, *settings: str) -> Path:
    """Run a training program to its end, from where it was stopped; return the folder of the model."""
    model = out / "checkpoints" / f"step-{steps:06d}" / "model"
    if not model.exists():
        program(name, config, f'out="{out}"', "checkpoint.resume=true", *settings)
    return model


def program(name: str, *arguments: object) -> None:
    """Run a program of the package in a process with one thread.

    Raises:
        SystemExit: It failed, and has said why.
    """
    print(f"== {name} {' '.join(map(str, arguments))}", flush=True)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", name, *map(str, arguments)]
    if code := subprocess.run(command, cwd=HERE.parents[1], env=environment, check=False).returncode:
        raise SystemExit(code)


def seconds(out: Path) -> float:
    """Return how long a run has learned, without what it measured between."""
    return float(sum(line.get("seconds", 0.0) for line in read(out)))


def measure(out: Path, stage: str, model: Path, size: Size) -> None:
    """Play the held-out tasks by a model, sampled and greedy, and save both as runs.

    Args:
        out: Folder of the seed.
        stage: After which stage.
        model: Folder of the model.
        size: How much is done.
    """
    domain = bank.make()
    tasks = list(domain.tasks["test"].values())[: size.held_out]
    for name, temperature in TEMPERATURES.items():
        engine = TransformersEngine.load(
            str(model), window=512, max_batch=128, cache_tokens=128 * 512, inline=True
        )
        agent = partial(
            LLMPlayer,
            engine=engine,
            format="json",
            prompt=PROMPT,
            sampling=Sampling(temperature=temperature, max_tokens=64),
        )
        told = {"agent": str(model), "temperature": temperature}
        folder = out / "measured" / f"{stage}-{name}"
        played = evaluate(
            folder, domain, tasks, agent, resume=True, max_steps=24, configuration=told, concurrency=128
        )
        print(f"{stage}, {name}: {asyncio.run(played).headline}", flush=True)
        engine.close()
