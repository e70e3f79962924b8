"""Steps a second of NumericView against the plain environment, side by side.

Run: python benchmarks/numeric.py [--steps 4000] [--rounds 5]

Plays the same episodes of Banking-v0 twice, customer, rewards and resets included: once with actions as
dictionaries (the plain environment), once with numbers (NumericView, which makes vectors, masks and the
menu). Two ways of acting: entries drawn at random, and the way that solves a task. Seconds are those of the
processor, as the median of the rounds. Aim: at least half as many steps a second.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gym_enterprise.domains.banking import procedures
from gym_enterprise.envs import NumericView, SingleAgentEnv

FAMILIES = ("freeze_card", "lower_limit")
SOLUTION = (
    *("ask phone", "ask date_of_birth", "ask postal_code", "ask card_last_four"),
    *("call find_customer_by_phone values 0", "call verify_identity values 0", "call list_cards values 0"),
)

Episode = list[tuple[int, dict[str, Any]]]
"""The entries and the actions that they stood for."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4000, help="steps of each way of acting")
    parser.add_argument("--rounds", type=int, default=5, help="how often each side is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tasks.jsonl"
        made = procedures.tasks(1, 50, FAMILIES, research=False)
        path.write_text("".join(task.model_dump_json() + "\n" for task in made))
        for name, choose in (("at random", at_random), ("the solution", solving)):
            compare(name, path, record(path, choose, options.steps), options.rounds)


def compare(name: str, path: Path, episodes: list[Episode], rounds: int) -> None:
    plain = SingleAgentEnv("banking", tasks=path, max_steps=60)
    numeric = NumericView(SingleAgentEnv("banking", tasks=path, max_steps=60))
    rates = []
    for _ in range(rounds + 1):
        rates.append((play(plain, episodes, 1), play(numeric, episodes, 0)))
    del rates[0]  # it fills caches
    theirs, ours = (statistics.median(side) for side in zip(*rates, strict=True))
    ratio = statistics.median(mine / base for base, mine in rates)
    print(f"{name:13} plain {theirs:,.0f} steps/s, numeric {ours:,.0f}, ratio {ratio:.2f} (aim: 0.50)")


def play(env: Any, episodes: list[Episode], part: int) -> float:
    """Play the episodes; return steps a second of processor time."""
    start = time.process_time()
    for number, episode in enumerate(episodes):
        env.reset(seed=number)
        for step in episode:
            env.step(step[part])
    return sum(map(len, episodes)) / (time.process_time() - start)


def record(path: Path, choose: Callable[..., int], steps: int) -> list[Episode]:
    """Play episodes until there are enough steps."""
    env = NumericView(SingleAgentEnv("banking", tasks=path, max_steps=60))
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    while sum(map(len, episodes)) < steps:
        env.reset(seed=len(episodes))
        episodes.append([])
        over = False
        while not over:
            number = choose(env, rng, len(episodes[-1]))
            action = next(entry.action for entry in env.menu() if entry.index == number)
            episodes[-1].append((number, action or {}))
            _, _, terminated, truncated, _ = env.step(number)
            over = terminated or truncated
    return episodes


def at_random(env: NumericView, rng: np.random.Generator, step: int) -> int:
    return int(rng.choice([entry.index for entry in env.menu()]))


def solving(env: NumericView, rng: np.random.Generator, step: int) -> int:
    """Find customer and card, then do what the reference ends with, then stop."""
    last = env.unwrapped.episode.task.reference[-1]  # type: ignore[attr-defined]
    wanted = {"type": "tool_call", "name": last.name, "arguments": last.arguments}
    for entry in env.menu():
        if entry.action == wanted if step == len(SOLUTION) else entry.label in SOLUTION[step : step + 1]:
            return entry.index
    return next(entry.index for entry in env.menu() if entry.label == "goodbye")


if __name__ == "__main__":
    main()
