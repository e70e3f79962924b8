"""Writers as processes: report B049, and a run that is killed ten times."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gym_enterprise.harness.results import read_run

ROOT = Path(__file__).parents[2]


def writer(folder: Path, *, tasks: int, trials: int, size: int) -> subprocess.Popen[str]:
    arguments = [str(folder), str(tasks), str(trials), str(size)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.harness.writer", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with process:  # read here, not by communicate(), which misses what first_line() has buffered
        output = process.stdout.read()
    assert process.returncode == 0
    return output.strip()


def every(tasks: int, trials: int) -> list[tuple[str, int]]:
    return sorted((f"t{number}", trial) for number in range(tasks) for trial in range(trials))


def test_b049_of_eight_processes_that_write_one_run_seven_are_refused(tmp_path: Path) -> None:
    # 200 records of 20 kB each, as in the report.
    processes = [writer(tmp_path / "run", tasks=50, trials=4, size=20_000) for _ in range(8)]
    said = [first_line(process) for process in processes]
    winner = said.index("opened")
    expected = f"is being written by process {processes[winner].pid} on "
    assert all(expected in line for line in said if line != "opened")
    assert said.count("opened") == 1
    assert [finish(process) for process in processes].count("done") == 1
    run = read_run(tmp_path / "run")
    assert sorted((item.task_id, item.trial) for item in run) == every(50, 4)
    assert run.lines == 200


def wait_for(file: Path, size: int) -> None:
    """Wait until a file has a size, without pause: its writer is to be caught in the middle of a line."""
    deadline = time.monotonic() + 30
    while not file.exists() or file.stat().st_size < size:
        assert time.monotonic() < deadline, f"{file} did not reach {size} bytes"


@pytest.mark.slow
def test_a_run_killed_ten_times_at_random_moments_has_each_episode_once(tmp_path: Path) -> None:
    random_ = random.Random(4)
    folder, file = tmp_path / "run", tmp_path / "run" / "trajectories.jsonl"
    shape = {"tasks": 50, "trials": 4, "size": 400_000}
    for _ in range(10):
        before = file.stat().st_size if file.exists() else 0
        process = writer(folder, **shape)
        # Somewhere in the next 15 lines; 0 is the moment at which the folder is made, or any after it.
        wait_for(file, before + random_.choice([0, *(random_.randrange(6_000_000) for _ in range(4))]))
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -9
        done = [(item.task_id, item.trial) for item in read_run(folder)]
        assert len(set(done)) == len(done)
    assert 0 < len(read_run(folder)) < 200
    assert finish(writer(folder, **shape)) == "opened\ndone"
    run = read_run(folder)
    assert sorted((item.task_id, item.trial) for item in run) == every(50, 4)
    assert run.lines == 200
