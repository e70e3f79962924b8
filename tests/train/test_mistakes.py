"""Runs that cannot go well: each ends with what is wrong, and harms nothing that was there before."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

from gym_enterprise.errors import RunLocked, UsageError
from gym_enterprise.harness.lock import FileLock
from simulators import TransformersEngine
from tests.shop import make_domain, task
from tests.train.test_grpo import config, equal, go, parameters
from train import grpo, journal, run
from train.config import GrpoConfig
from train.grpo import Stale, Unplayed
from train.run import Diverged

__all__ = ["config"]  # a fixture
FICKLE = (
    *("domain=tests.train.tiny_policy:fickle", "rollout.user=tests.train.tiny_policy:Fickle"),
    *("evaluate.every=0", "seed=5", "checkpoint.every=1"),
)
RESUME = "checkpoint.resume=true"


def checkpoints(out: Path) -> list[str]:
    return sorted(path.name for path in (out / "checkpoints").glob("*"))


@pytest.mark.parametrize("staleness", [0, 1])
@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_an_engine_whose_log_probabilities_cannot_be_compared_stops_the_run(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: float, staleness: int
) -> None:
    complete = TransformersEngine.complete

    async def without(self: Any, request: Any) -> Any:
        made = await complete(self, request)
        return dataclasses.replace(made, logprobs=(number,) * len(made.logprobs))

    monkeypatch.setattr(TransformersEngine, "complete", without)
    with pytest.raises(Stale, match=r"of (\d+) tokens \1 have no finite log-probability by the engine"):
        go(config, tmp_path / "run", *FICKLE, f"max_staleness={staleness}")
    assert checkpoints(tmp_path / "run") == []


def test_b037_a_run_of_which_every_episode_breaks_ends_after_two_rounds(config: Path, tmp_path: Path) -> None:
    absent = "rollout.user=tests.train.tiny_policy:Absent"
    with pytest.raises(Unplayed, match="every episode of the last 2 rounds broke"):
        go(config, tmp_path / "run", absent, "steps=5", "evaluate.every=0")
    assert [line["invalid"] for line in journal.read(tmp_path / "run")] == [1.0, 1.0]


def test_weights_that_are_no_numbers_are_in_no_checkpoint(config: Path, tmp_path: Path) -> None:
    with pytest.raises(Diverged, match=r"after step \d+ \d+ of the weights are not finite, such as '"):
        go(config, tmp_path / "run", *FICKLE, "minibatches=1", "optim.lr=1e308")
    assert checkpoints(tmp_path / "run") == []


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("rollout.prompt=nowhere.md", r"rollout\.prompt is 'nowhere\.md', and there is no such file"),
        ("tasks=nowhere.json", r"nowhere\.json is no tasks\.json of train\.filter: FileNotFoundError"),
        ("tasks=pyproject.toml", r"pyproject\.toml is no tasks\.json of train\.filter: JSONDecodeError"),
        ("evaluate.split=tset", "no split 'tset'; splits: train"),
        ("model.device=gpu", "model.device is 'gpu': give cpu, cuda or cuda:1, say"),
        (
            "seed=9223372036854775808",
            "seed is 9223372036854775808: it should be less than 9223372036854775808",
        ),
    ],
)
def test_what_no_episode_could_be_played_with_is_refused_before_the_folder_is_made(
    config: Path, tmp_path: Path, override: str, fault: str
) -> None:
    with pytest.raises((UsageError, KeyError), match=fault):
        go(config, tmp_path / "run", override)
    assert not (tmp_path / "run").exists()


def test_a_window_beyond_that_of_the_model_is_refused(config: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"rollout\.max_segment_tokens is 513: .*was made for \(512\)"):
        go(config, tmp_path / "run", "rollout.max_segment_tokens=513")


def test_a_run_that_failed_before_its_first_step_can_be_begun_again(config: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no user player 'nobody'"):
        go(config, tmp_path / "run", "rollout.user=nobody")
    assert len(go(config, tmp_path / "run", "steps=1", "evaluate.every=0")) == 1


def test_a_run_is_written_by_one_process_at_a_time(config: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    lines = go(config, out, *FICKLE, "steps=1")
    held = FileLock(out / "lock")
    with pytest.raises(RunLocked, match="is being written by process"):
        go(config, out, *FICKLE, "steps=2", RESUME)
    held.release()
    assert journal.read(out) == lines
    assert len(go(config, out, *FICKLE, "steps=2", RESUME)) == 2


def test_a_run_goes_on_whatever_way_its_folder_is_named(config: Path, tmp_path: Path) -> None:
    go(config, tmp_path / "run", *FICKLE, "steps=1")
    (tmp_path / "run").rename(tmp_path / "moved")
    assert len(go(config, tmp_path / "moved", *FICKLE, "steps=2", RESUME)) == 2


def test_a_run_does_not_go_on_to_an_earlier_step(config: Path, tmp_path: Path) -> None:
    lines = go(config, tmp_path / "run", *FICKLE, "steps=2")
    with pytest.raises(UsageError, match="step-000002 is of step 2, and the run is to have 1: give more"):
        go(config, tmp_path / "run", *FICKLE, "steps=1", "evaluate.every=1", RESUME)
    assert journal.read(tmp_path / "run") == lines


@pytest.mark.parametrize("staleness", [0, 1])
def test_b045_tasks_that_have_changed_do_not_go_on(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, staleness: int
) -> None:
    settings = (f"max_staleness={staleness}", "evaluate.every=0")
    go(config, tmp_path / "run", *settings, "steps=1")
    for other in (task("another"), task("cancel", user={"script": {"opening": "Good day."}})):
        monkeypatch.setattr(grpo, "load_domain", lambda _, other=other: make_domain(tasks={"train": [other]}))
        with pytest.raises(UsageError, match="tasks are new, gone or have another content since"):
            go(config, tmp_path / "run", *settings, "steps=2", RESUME)


def test_a_full_disk_leaves_the_checkpoint_before_and_the_run_goes_on_from_it(
    config: Path, tmp_path: Path
) -> None:
    go(config, tmp_path / "whole", *FICKLE, "steps=2")
    go(config, tmp_path / "run", *FICKLE, "steps=1")
    resource = pytest.importorskip("resource", reason="limits are of POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # a file may have so many bytes
    try:
        with pytest.raises(Exception, match=r"(?i)too large|os error 27|failed writing"):
            go(config, tmp_path / "run", *FICKLE, "steps=2", RESUME)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "step-000001" in checkpoints(tmp_path / "run")
    assert "step-000002" not in checkpoints(tmp_path / "run")
    go(config, tmp_path / "run", *FICKLE, "steps=2", RESUME)
    assert checkpoints(tmp_path / "run") == ["step-000001", "step-000002"]
    assert equal(parameters(tmp_path / "whole", 2), parameters(tmp_path / "run", 2))


def test_a_folder_that_cannot_be_made_is_one_line(config: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match=r"error: .*file"):
        run.command([str(config), f"out={tmp_path / 'file' / 'run'}"], GrpoConfig, "", grpo.train)
