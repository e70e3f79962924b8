"""Whole episodes a second on one core: oracle against scripted customer, reset and reward included.

Run: python benchmarks/episodes.py [--seconds 10] [--profile]

Prints episodes and steps a second of processor time over all tasks of Banking-v0, each played in turn in one
reused episode, and next to it the bare calls of the same references (no conversation) measured in the same
run. Aim: 300 episodes a second. With --profile also where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import pstats
import time

from gym_enterprise import Domain, Episode, Task, load_domain, replay_reference, run_episode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to measure each kind")
    parser.add_argument("--profile", action="store_true", help="print the costliest functions")
    options = parser.parse_args()
    domain = load_domain("banking")
    tasks = [task for split in domain.tasks.values() for task in split.values()]
    play(domain, tasks, 0.5)
    episodes, steps, spent = play(domain, tasks, options.seconds)
    replays, replay_time = replay(domain, tasks, options.seconds / 4)
    rates = f"{episodes / spent:7.0f} episodes/s  {steps / spent:8.0f} steps/s"
    print(f"conversations: {rates}  (aim: 300 episodes/s)")
    print(f"bare replays:  {replays / replay_time:7.0f} episodes/s")
    print(f"ratio:         {(replays / replay_time) / (episodes / spent):7.2f}")
    if options.profile:
        profiler = cProfile.Profile()
        profiler.runcall(play, domain, tasks, options.seconds / 4)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def play(domain: Domain, tasks: list[Task], seconds: float) -> tuple[int, int, float]:
    """Play conversations for a while, each with reward 1; return episodes, steps and seconds spent."""
    episode = Episode(domain, tasks[0])
    steps = 0
    start = time.process_time()
    for count, task in enumerate(itertools.cycle(tasks), start=1):
        episode.reset(task)
        record = run_episode(episode, "oracle", "scripted", seed=count)
        if record.reward != 1.0:
            raise SystemExit(f"task {task.id}: reward {record.reward}: {record.grade.reason}")
        steps += record.steps
        if (spent := time.process_time() - start) >= seconds:
            return count, steps, spent
    raise AssertionError("unreachable")


def replay(domain: Domain, tasks: list[Task], seconds: float) -> tuple[int, float]:
    """Replay references for a while, reset and reward included; return episodes and seconds spent."""
    episode = Episode(domain, tasks[0])
    start = time.process_time()
    for count, task in enumerate(itertools.cycle(tasks), start=1):
        episode.reset(task)
        replay_reference(episode)
        if episode.grade().reward != 1.0:
            raise SystemExit(f"task {task.id}: the replayed reference scores 0")
        if (spent := time.process_time() - start) >= seconds:
            return count, spent
    raise AssertionError("unreachable")


if __name__ == "__main__":
    main()
