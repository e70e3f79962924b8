"""Rollouts that are played while the model learns: which weights play is decided by numbers alone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import torch

from tests.train import served
from tests.train.test_grpo import command, config, equal, go, parameters, wait_for_lines
from train import actors, grpo, journal, rollouts
from train.actors import Itself

ROOT = Path(__file__).parents[2]
FICKLE = ("domain=tests.train.tiny_policy:fickle", "rollout.user=tests.train.tiny_policy:Fickle")
__all__ = ["config"]  # a fixture


def figures(out: Path) -> list[dict[str, Any]]:
    return [{**line, "seconds": 0} for line in journal.read(out)]


@pytest.mark.parametrize("staleness", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_is_the_same_each_time_and_when_it_is_resumed(
    config: Path, tmp_path: Path, staleness: int
) -> None:
    settings = (*FICKLE, f"max_staleness={staleness}", "seed=3", "steps=5")
    go(config, tmp_path / "first", *settings)
    go(config, tmp_path / "again", *settings)
    for steps in (2, 4, 5):
        resume = "checkpoint.resume=true"
        go(config, tmp_path / "parts", *settings, f"steps={steps}", resume)
    for name in ("again", "parts"):
        assert equal(parameters(tmp_path / "first", 5), parameters(tmp_path / name, 5))
    assert figures(tmp_path / "first") == figures(tmp_path / "again")
    assert figures(tmp_path / "first") == figures(tmp_path / "parts")


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_the_weights_of_a_round_are_those_before_the_step_that_its_number_says(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, staleness: int
) -> None:
    """Each step adds 1 to a weight that the engine shows in the log-probabilities of nothing else."""
    seen: list[float] = []
    playing = rollouts.rollout

    def watched(domain: Any, jobs: Any, agent: Any, *rest: Any, **settings: Any) -> Any:
        seen.append(mark(agent.keywords["engine"].model).item())
        return playing(domain, jobs, agent, *rest, **settings)

    def mark(model: Any) -> Any:
        return model.model.norm.weight[0]

    def learn(config: Any, model: Any, *rest: Any) -> dict[str, float]:
        with torch.no_grad():
            mark(model).add_(1.0)
        return {}

    monkeypatch.setattr(rollouts, "rollout", watched)
    monkeypatch.setattr(grpo, "learn", learn)
    settings = (f"max_staleness={staleness}", "steps=5", "evaluate.every=0", "checkpoint.every=2")
    lines = go(config, tmp_path / "run", *settings)
    assert [round(each - seen[0]) for each in seen] == [max(0, k - staleness) for k in range(5 + staleness)]
    assert all(("canary" in line) == (staleness > 0) for line in lines)
    assert all(line.get("canary", 0.0) < 1e-5 for line in lines)


def test_the_next_round_is_played_while_the_model_learns(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each waits for the other to have begun, which neither could if they took turns."""
    learning, playing = threading.Event(), threading.Event()
    taught, played = grpo.learn, rollouts.rollout
    rounds: list[int] = []

    async def watched(domain: Any, jobs: Any, *rest: Any, **settings: Any) -> Any:
        rounds.append(len(rounds))
        if len(rounds) == 2:  # the round of step 1
            playing.set()
            assert await asyncio.to_thread(learning.wait, 60)
        return await played(domain, jobs, *rest, **settings)

    def learn(*arguments: Any) -> dict[str, float]:
        learning.set()
        assert playing.wait(60)
        return taught(*arguments)

    monkeypatch.setattr(rollouts, "rollout", watched)
    monkeypatch.setattr(grpo, "learn", learn)
    go(config, tmp_path / "run", "max_staleness=1", "steps=2", "evaluate.every=0")
    assert len(journal.read(tmp_path / "run")) == 2


@pytest.mark.parametrize("staleness", [0, 1])
def test_servers_play_the_same_rounds_by_the_same_weights(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, staleness: int
) -> None:
    settings = (*FICKLE, f"max_staleness={staleness}", "seed=3", "rollout.max_segment_tokens=512")
    go(config, tmp_path / "itself", *settings)
    monkeypatch.setattr(actors, "Servers", served.Servers)
    go(config, tmp_path / "served", *settings, "rollout.mode=servers", 'rollout.urls=["http://localhost:1"]')
    assert equal(parameters(tmp_path / "itself", 4), parameters(tmp_path / "served", 4))
    assert figures(tmp_path / "itself") == figures(tmp_path / "served")


def test_the_canary_compares_with_the_weights_that_sampled(config: Path, tmp_path: Path) -> None:
    """At this learning rate a step moves log-probabilities by far more than the canary allows."""
    settings = (*FICKLE, "optim.lr=3e-2", "canary=1e-3", "max_staleness=1", "evaluate.every=0")
    lines = go(config, tmp_path / "run", *settings)
    assert max(line["logp_error"] for line in lines) > 0.01
    assert all(0 < line["canary"] < 1e-5 for line in lines)


def test_the_canary_sees_weights_that_did_not_reach_the_engine(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(model: Any, state: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            loading(model, state)

    loading = rollouts.load_policy_state
    monkeypatch.setattr(rollouts, "load_policy_state", nowhere)
    settings = (*FICKLE, "optim.lr=3e-2", "canary=1e-3", "max_staleness=1", "steps=9", "evaluate.every=0")
    with pytest.raises(grpo.Stale, match=r"differ by .* a token, and canary is 0\.001"):
        go(config, tmp_path / "run", *settings)
    assert (
        len(journal.read(tmp_path / "run")) == 3
    )  # the round of step 2 was to have the weights after step 0


def test_a_run_that_fails_ends_what_is_under_way(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Itself] = []
    monkeypatch.setattr(Itself, "close", lambda self: closed.append(self))

    def learn(*arguments: Any) -> dict[str, float]:
        raise RuntimeError("no more")

    monkeypatch.setattr(grpo, "learn", learn)
    with pytest.raises(RuntimeError, match="no more"):
        go(config, tmp_path / "run", "max_staleness=2", "evaluate.every=0")
    assert len(closed) == 1
    assert "rollouts" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_it_learns_what_is_rewarded_from_rollouts_of_the_step_before(
    config: Path, tmp_path: Path, seed: int
) -> None:
    settings = ("steps=110", f"seed={seed}", "max_staleness=1", "checkpoint.every=110", "evaluate.every=0")
    lines = go(config, tmp_path / "run", *settings)
    first, last = (sum(line["reward"] for line in part) / 10 for part in (lines[:10], lines[-10:]))
    assert first < 0.15
    assert last > 0.9


@pytest.mark.slow
def test_a_run_that_is_killed_and_resumed_ends_with_the_same_bits(config: Path, tmp_path: Path) -> None:
    settings = (*FICKLE, "steps=12", "checkpoint.every=2", "seed=5", "max_staleness=1", "evaluate.every=0")
    go(config, tmp_path / "whole", *settings)
    for kill in range(3):
        running = command(config, tmp_path / "parts", *settings, "checkpoint.resume=true")
        wait_for_lines(tmp_path / "parts", 3 * kill + 1 + kill % 2)
        running.kill()
        running.communicate()
    running = command(config, tmp_path / "parts", *settings, "checkpoint.resume=true")
    running.communicate(timeout=120)
    assert running.returncode == 0
    assert equal(parameters(tmp_path / "whole", 12), parameters(tmp_path / "parts", 12))
    assert figures(tmp_path / "whole") == figures(tmp_path / "parts")
