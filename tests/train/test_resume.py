"""A run that stopped or was killed, wherever that hit it, goes on as if nothing had happened."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from tests.train import toy  # noqa: E402
from train.checkpoint import latest, load, random_state, restore_random_state, save  # noqa: E402

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _the_generators_of_the_process_are_left_as_they_were() -> Iterator[None]:
    before = random_state()
    yield
    restore_random_state(before)


def small(folder: Path, step: int, keep_last: int | None = None) -> None:
    save(folder, step, {"w": torch.tensor([float(step)])}, {"step": step}, keep_last=keep_last)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def assert_same_run(ours: toy.Toy, theirs: toy.Toy) -> None:
    for name, value in theirs.model.state_dict().items():
        assert ours.model.state_dict()[name].equal(value), name
    moments = theirs.optimiser.state_dict()["moments"]
    for name, parts in ours.optimiser.state_dict()["moments"].items():
        assert parts.keys() == moments[name].keys() != set()
        assert all(part.equal(moments[name][key]) for key, part in parts.items()), name
    assert (ours.position, ours.order) == (theirs.position, theirs.order)


def test_b045_a_resumed_run_sees_the_same_tasks_rates_and_draws_and_saves_its_place(
    tmp_path: Path,
) -> None:
    straight, seen = toy.run(tmp_path / "straight", until=4)
    _, first = toy.run(tmp_path / "halves", until=2)
    resumed, second = toy.run(tmp_path / "halves", until=4)
    assert first + second == seen
    assert len({record["task"] for record in seen}) == 4
    assert_same_run(resumed, straight)
    states = [load(latest(tmp_path / name)).trainer_state for name in ("straight", "halves")]
    assert [state["position"] for state in states] == [4, 4]


@pytest.mark.parametrize("stop", [1, 2, 5, 7])
def test_a_run_that_stopped_after_any_step_ends_as_if_it_had_not(tmp_path: Path, stop: int) -> None:
    straight, seen = toy.run(tmp_path / "straight")
    toy.run(tmp_path / "stopped", until=stop)
    resumed, rest = toy.run(tmp_path / "stopped")
    assert rest == seen[stop - stop % toy.EVERY :]
    assert_same_run(resumed, straight)


class Killed(BaseException):
    """In place of a kill: nothing in `save` catches it."""


@pytest.fixture
def killed_at(tmp_path: Path) -> Callable[[int], None]:
    """Have the access to files of this number fail, from now on; 0 for none."""
    left = 0

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    def set_to(number: int) -> None:
        nonlocal left
        left = number

    toy.on_file_events(tmp_path, tick)
    return set_to  # the hook stays; what counts down from 0 does nothing


def test_no_access_to_files_is_one_that_a_kill_may_not_hit(
    tmp_path: Path, killed_at: Callable[[int], None]
) -> None:
    kills = 0
    for number in range(1, 1000):
        folder = tmp_path / str(number)
        small(folder, 1)
        small(folder, 2, keep_last=1)
        killed_at(number)
        try:
            small(folder, 3, keep_last=1)
        except Killed:
            kills += 1
        else:
            break
        finally:
            killed_at(0)
        found = load(latest(folder)).step
        assert found in (2, 3)
        small(folder, found + 1, keep_last=1)
        assert names(folder) == [f"step-{found + 1:06d}"]
        assert load(latest(folder)).trainer_state == {"step": found + 1}
    assert kills > 10


@pytest.mark.slow
def test_a_run_that_was_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "tests.train.toy"]

    def play(folder: Path, kill_at: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, str(folder), str(kill_at)], cwd=ROOT, capture_output=True, text=True)

    finished = play(tmp_path / "straight", 0)
    assert finished.returncode == 0, finished.stderr
    straight = toy.Toy()
    straight.resume(tmp_path / "straight")
    rng = random.Random(0)
    for trial in range(10):
        folder = tmp_path / f"killed-{trial}"
        assert play(folder, rng.randint(1, int(finished.stdout))).returncode == -signal.SIGKILL
        resumed, _ = toy.run(folder)
        assert_same_run(resumed, straight)
