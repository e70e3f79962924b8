"""A run in miniature that draws from every generator there is: `python -m tests.train.toy FOLDER KILL_AT`."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from train.checkpoint import latest, load, random_state, restore_random_state, save
from train.config import Optim
from train.optim import Optimiser

STEPS, EVERY, TASKS = 8, 2, 5
FILE_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}


class Toy:
    """Two layers with dropout, both optimisers, a shuffled list of tasks, and noise."""

    def __init__(self) -> None:
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        layers = [torch.nn.Linear(3, 6), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(6, 2)]
        self.model = torch.nn.Sequential(*layers)
        settings = Optim(kind="muon", lr=0.05, schedule="cosine", warmup_steps=2, weight_decay=0.1)
        self.optimiser = Optimiser(self.model, settings, STEPS)
        self.shuffler, self.noise = random.Random(7), random.Random(8)
        self.order: list[int] = []
        self.position = 0

    def step(self) -> dict[str, Any]:
        """Train one step, and say what it saw."""
        if not self.order:
            self.order = self.shuffler.sample(range(TASKS), TASKS)
        task, self.position = self.order.pop(), self.position + 1
        draws = [self.noise.gauss(0, 1), random.random(), np.random.random()]
        loss = self.model(torch.tensor([[task, *draws[:2]]])).square().sum() * draws[2]
        loss.backward()
        update = self.optimiser.step()
        self.optimiser.zero_grad()
        return {"task": task, "draws": draws, "loss": loss.item()} | vars(update)

    def save(self, folder: Path) -> None:
        """Save all that there is."""
        state = {
            "optimiser": self.optimiser.state_dict(),
            "random": random_state(shuffler=self.shuffler, noise=self.noise),
            "order": self.order,
            "position": self.position,
        }
        save(folder, self.position, self.model.state_dict(), state, keep_last=2)

    def resume(self, folder: Path) -> None:
        """Go on from the latest checkpoint, if there is one."""
        if (path := latest(folder)) is None:
            return
        saved = load(path)
        self.model.load_state_dict(saved.model_state)
        self.optimiser.load_state_dict(saved.trainer_state["optimiser"])
        self.order, self.position = saved.trainer_state["order"], saved.trainer_state["position"]
        restore_random_state(saved.trainer_state["random"], shuffler=self.shuffler, noise=self.noise)


def run(folder: Path, until: int = STEPS, tick: Callable[[], None] = lambda: None) -> tuple[Toy, list[Any]]:
    """Go on with a run, or begin it; `tick` is called at each step."""
    toy, seen = Toy(), []
    toy.resume(folder)
    while toy.position < until:
        tick()
        seen.append(toy.step())
        if toy.position % EVERY == 0:
            toy.save(folder)
    return toy, seen


def on_file_events(folder: Path, tick: Callable[[], None]) -> None:
    """Call `tick` before each thing that this process does to files in a folder, for good."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and str(arguments[0]).startswith(str(folder)):
            tick()

    sys.addaudithook(hook)


def main(folder: Path, kill_at: int) -> None:
    """Run, and be killed at a step or at an access to files: the one of this number."""
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    on_file_events(folder, tick)
    run(folder, tick=tick)
    print(ticks)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
