"""CPU of the harness for each turn, above a bare loop of the same calls.

Run: python benchmarks/harness.py [--episodes 200] [--turns 10] [--rounds 5] [--memory 20000]

Both play the same episodes with the same players, which answer at once: the bare loop one after the other in
one reused database, with nothing but observe, ask, act and grade; the harness (`Batch`) all of them at once,
with deadlines for turns and episodes. Every episode has that many turns of the agent, which says a line each
time. The two take turns in each round, and the medians of all rounds are compared. Aim: under 0.3 ms a turn.

With --memory, so many more episodes are played and dropped, and the memory of the process is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import time
from pathlib import Path
from typing import Any

from gym_enterprise import Domain, Episode, Record, Task, load_domain
from gym_enterprise.harness.batch import Batch, Job, rollout
from simulators import Synchronous

AIM_MS = 0.3


class Line(Synchronous):
    """Says the same line at once, whatever it sees."""

    def act(self, observation: Any) -> dict[str, Any]:
        """Return the line."""
        return {"type": "message", "content": "May I have your date of birth, please?"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=200, help="how many are played at once")
    parser.add_argument("--turns", type=int, default=10, help="turns of the agent in each")
    parser.add_argument("--rounds", type=int, default=5, help="how often both are measured")
    parser.add_argument("--memory", type=int, default=0, help="how many episodes to watch the memory over")
    options = parser.parse_args()
    domain = load_domain("banking")
    tasks = list(domain.tasks["train"].values())
    chosen = [tasks[number % len(tasks)] for number in range(options.episodes)]
    turns = options.episodes * options.turns
    rounds = [
        (bare(domain, chosen, 2 * options.turns), harness(domain, chosen, 2 * options.turns))
        for _ in range(options.rounds + 1)
    ][1:]  # the first builds the targets of the tasks
    loop, ours = (statistics.median(column) for column in zip(*rounds, strict=True))
    above = statistics.median(mine - base for base, mine in rounds)
    print(f"bare loop: {1000 * loop / turns:7.3f} ms of CPU a turn of the agent")
    print(f"harness:   {1000 * ours / turns:7.3f} ms, {options.episodes} episodes at once")
    print(f"above:     {1000 * above / turns:7.3f} ms (aim: under {AIM_MS})")
    print(f"ratio:     {ours / loop:7.2f}")
    if options.memory:
        watch_memory(domain, tasks, options.memory, 2 * options.turns)


def bare(domain: Domain, tasks: list[Task], max_steps: int) -> float:
    """Play one episode after the other; return seconds of CPU."""
    episode = Episode(domain, tasks[0], max_steps=max_steps)
    players = {"agent": Line(), "user": Line()}
    start = time.process_time()
    for task in tasks:
        episode.reset(task)
        while (seat := episode.turn) is not None:
            episode.act(seat, players[seat].act(episode.observe(seat)))
        check(episode.step, max_steps, episode.grade().reward)
    return time.process_time() - start


def harness(domain: Domain, tasks: list[Task], max_steps: int) -> float:
    """Play all episodes at once; return seconds of CPU, databases included."""
    jobs = [Job(task, trial) for trial, task in enumerate(tasks)]
    limits = {"turn_deadline": 60.0, "episode_deadline": 600.0, "max_steps": max_steps}
    start = time.process_time()
    records = asyncio.run(rollout(domain, jobs, Line(), Line(), concurrency=len(jobs), **limits))
    spent = time.process_time() - start
    for record in records:
        check(record.steps, max_steps, record.reward)
    return spent


def watch_memory(domain: Domain, tasks: list[Task], episodes: int, max_steps: int) -> None:
    """Play episodes and drop their records; print the resident memory ten times."""
    jobs = [Job(tasks[number % len(tasks)], number) for number in range(episodes)]
    done = itertools.count(1)

    def drop(_: int, record: Record) -> None:
        if (number := next(done)) % max(1, episodes // 10) == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            print(f"after {number:6d} episodes: {pages * os.sysconf('SC_PAGE_SIZE') / 2**20:6.1f} MiB")

    asyncio.run(Batch(domain, jobs, Line(), Line(), concurrency=64, max_steps=max_steps).run(drop))


def check(steps: int, max_steps: int, reward: float | None) -> None:
    if (steps, reward) != (max_steps, 0.0):
        raise SystemExit(f"an episode took {steps} of {max_steps} steps and earned {reward}")


if __name__ == "__main__":
    main()
