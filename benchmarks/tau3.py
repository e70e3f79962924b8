"""One episode of the public benchmark: reset, reference and reward; and its memory over many episodes.

Run: python benchmarks/tau3.py [--data DIR] [--passes 20] [--episodes 10000] [--profile]

Needs the benchmark's data, see docs/tau3.md. Prints the median milliseconds of a reset, of the reference's
replay and of the reward over all tasks, and of a whole conversation (oracle against a replaying customer),
aim: 5 ms for the first three together; next to it the benchmark's own replay-and-compare by canonical hash,
done here on the same database, as a ratio. Then memory in use before and after many episodes.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import itertools
import os
import pstats
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gym_enterprise import Episode, Task, UsageError, load_domain, replay_reference, run_episode
from gym_enterprise.domains.tau3_banking import canonical_hash


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the benchmark's data; default: what TAU3_BANKING_DATA names")
    parser.add_argument("--passes", type=int, default=20, help="how often each task is measured")
    parser.add_argument("--episodes", type=int, default=10_000, help="episodes of the memory check")
    parser.add_argument("--profile", action="store_true", help="print the costliest functions")
    options = parser.parse_args()
    try:
        domain = load_domain("tau3_banking", data_dir=options.data)
    except UsageError as error:
        print(f"skipped: {error}")
        return
    tasks = list(domain.tasks["test"].values())
    episode = Episode(domain, tasks[0])
    for task in tasks:
        check(episode, task)
    timed = {
        "reset": lambda task: episode.reset(task),
        "reference": lambda task: replay_reference(episode),
        "reward": lambda task: episode.grade(),
    }
    medians = measure(tasks, options.passes, timed)
    whole = sum(medians.values())
    hashed = measure(tasks, 1, {"hashes": lambda task: by_hash(episode, task)})["hashes"]
    talked = measure(tasks, 2, {"talk": lambda task: converse(episode, task)})["talk"]
    for name, milliseconds in medians.items():
        print(f"{name:34} {milliseconds:8.2f} ms")
    print(f"{'episode, median of ' + str(len(tasks)) + ' tasks':34} {whole:8.2f} ms  (aim: 5 ms)")
    print(f"{'conversation, oracle and customer':34} {talked:8.2f} ms")
    print(
        f"{'reward by replay and two hashes':34} {hashed:8.2f} ms  ({hashed / medians['reward']:.0f} times)"
    )
    if options.profile:
        profiler = cProfile.Profile()
        profiler.runcall(measure, tasks, 3, timed)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
    memory(episode, tasks, options.episodes)


def check(episode: Episode, task: Task) -> None:
    """Play a task's reference; it must earn 1, or need a judge."""
    episode.reset(task)
    replay_reference(episode)
    if episode.grade().reward != (None if task.meta.knobs["needs_judge"] else 1.0):
        raise SystemExit(f"task {task.id}: {episode.grade().reason}")


def measure(tasks: list[Task], passes: int, steps: dict[str, Callable[[Task], object]]) -> dict[str, float]:
    """Return the median over tasks of the median time of each step, in milliseconds."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for task in tasks:
        times: dict[str, list[float]] = {name: [] for name in steps}
        for _ in range(passes):
            for name, step in steps.items():
                start = time.perf_counter()
                step(task)
                times[name].append(time.perf_counter() - start)
        for name, values in times.items():
            seconds[name].append(statistics.median(values))
    return {name: 1000 * statistics.median(values) for name, values in seconds.items()}


def by_hash(episode: Episode, task: Task) -> bool:
    """Reward as the benchmark computes it: make all calls again from the start, and compare whole states."""
    final = canonical_hash(episode.world)
    episode.reset(task)
    replay_reference(episode)
    return canonical_hash(episode.world) == final


def converse(episode: Episode, task: Task) -> None:
    episode.reset(task)
    run_episode(episode, "oracle", "replay")


def memory(episode: Episode, tasks: list[Task], episodes: int) -> None:
    """Print the memory in use at the start, half way and at the end of many episodes."""
    counted = []
    for number, task in enumerate(itertools.islice(itertools.cycle(tasks), episodes + 1)):
        if number in (episodes // 10, episodes // 2, episodes):
            gc.collect()
            counted.append(f"{megabytes():.1f} MB after {number}")
        check(episode, task)
    print(f"{'memory in use, by episodes':34} {', '.join(counted)}")


def megabytes() -> float:
    """Return the resident memory; where the system does not tell, its peak."""
    if (statm := Path("/proc/self/statm")).exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
