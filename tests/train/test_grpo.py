"""The whole loop, with a policy so small that it learns in seconds: what it writes, resumes and refuses."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import torch

from gym_enterprise.errors import UsageError
from tests.train.tiny_policy import save_tiny_policy
from train import grpo, journal
from train.config import GrpoConfig, read
from train.grpo import Stale, train

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration file; its `out` is to be overridden."""
    folder = tmp_path_factory.mktemp("grpo")
    save_tiny_policy(folder / "policy")
    (folder / "prompt.md").write_text("Serve.")
    (folder / "run.toml").write_text(
        f"""
        out = "-"
        domain = "tests.train.tiny_policy:one_task"
        steps = 4
        optim.lr = 5e-3
        model.path = "{folder / "policy"}"
        evaluate.every = 2
        evaluate.split = "train"
        checkpoint.every = 2
        [rollout]
        user = "tests.train.tiny_policy:Brief"
        format = "json"
        prompt = "{folder / "prompt.md"}"
        max_tokens = 4
        max_steps = 6
        max_segment_tokens = 256
        tasks_per_step = 4
        group_size = 8
        """
    )
    return folder / "run.toml"


def go(config: Path, out: Path, *overrides: str) -> list[dict[str, Any]]:
    train(read(GrpoConfig, config, f"out={out}", *overrides))
    return journal.read(out)


def parameters(out: Path, step: int) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(out / "checkpoints" / f"step-{step:06d}" / "model.safetensors")


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_run_leaves_its_configuration_its_figures_and_models_that_load(
    config: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    lines = go(config, tmp_path / "run")
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4]
    assert "pass@1" in lines.pop()  # of the policy at the end
    assert read(GrpoConfig, tmp_path / "run" / "config.toml").steps == 4
    for line in lines:
        assert 0 <= line["reward"] <= 1
        assert line["invalid"] == 0
        assert ("pass@1" in line) == (line["step"] % 2 == 0)
        assert line.get("logp_error", 0) < 1e-5
    model = tmp_path / "run" / "checkpoints" / "step-000004" / "model"
    AutoTokenizer.from_pretrained(model)
    saved = AutoModelForCausalLM.from_pretrained(model).state_dict()
    assert all(torch.equal(saved[name], one) for name, one in parameters(tmp_path / "run", 4).items())


def test_a_run_that_is_resumed_ends_with_the_same_bits(config: Path, tmp_path: Path) -> None:
    go(config, tmp_path / "whole", "seed=5")
    go(config, tmp_path / "parts", "seed=5", "steps=2")
    lines = go(config, tmp_path / "parts", "seed=5", "checkpoint.resume=true")
    assert equal(parameters(tmp_path / "whole", 4), parameters(tmp_path / "parts", 4))
    whole = journal.read(tmp_path / "whole")
    for one, other in zip(whole, lines, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_the_seed_decides(config: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        go(config, tmp_path / name, f"seed={seed}", "evaluate.every=0")
    assert equal(parameters(tmp_path / "a", 4), parameters(tmp_path / "b", 4))
    assert not equal(parameters(tmp_path / "a", 4), parameters(tmp_path / "c", 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_what_is_rewarded(config: Path, tmp_path: Path, seed: int) -> None:
    """The only rewarded turn is one of nine tokens alone; at first about one turn in thirty is it."""
    lines = go(
        config, tmp_path / "run", "steps=90", f"seed={seed}", "checkpoint.every=90", "evaluate.every=0"
    )
    first, last = (sum(line["reward"] for line in part) / 10 for part in (lines[:10], lines[-10:]))
    assert first < 0.15
    assert last > 0.9


def test_a_folder_that_holds_a_run_is_not_written_over(config: Path, tmp_path: Path) -> None:
    go(config, tmp_path / "run", "steps=1")
    with pytest.raises(UsageError, match=r"holds a run already: checkpoint\.resume=true goes on"):
        go(config, tmp_path / "run", "steps=1")
    with pytest.raises(UsageError, match="begun with other values of: seed = 3"):
        go(config, tmp_path / "run", "steps=2", "seed=3", "checkpoint.resume=true")
    saved = tmp_path / "run" / "config.toml"  # as of a version with other comments, and fewer keys
    lines = [line.partition("  #")[0] for line in saved.read_text().splitlines()]
    saved.write_text("\n".join(line for line in lines if not line.startswith("max_staleness")))
    assert len(go(config, tmp_path / "run", "steps=2", "checkpoint.resume=true")) == 3


def test_b037_episodes_that_broke_are_in_no_baseline_loss_or_pass_rate(config: Path, tmp_path: Path) -> None:
    broken = "rollout.user=tests.train.tiny_policy:Unwell"
    lines = go(config, tmp_path / "run", broken, "steps=2", "evaluate.every=0")
    for line in lines:
        assert 0.2 < line["invalid"] < 0.8
    assert equal(parameters(tmp_path / "run", 2), parameters(tmp_path / "run", 2))


def test_a_round_in_which_everything_broke_changes_nothing(config: Path, tmp_path: Path) -> None:
    lines = go(
        config, tmp_path / "run", "rollout.user=tests.train.tiny_policy:Absent", "steps=1", "evaluate.every=0"
    )
    assert (lines[0]["invalid"], lines[0]["reward"], lines[0]["updates"]) == (1.0, None, 0)


def test_weights_that_did_not_reach_the_engine_stop_the_run(config: Path, tmp_path: Path) -> None:
    with pytest.raises(Stale, match=r"log-probabilities differ by .* a token, and canary is 1e-12"):
        go(config, tmp_path / "run", "steps=40", "canary=1e-12")


def test_a_list_of_tasks_is_what_is_drawn_from(config: Path, tmp_path: Path) -> None:
    listed = tmp_path / "tasks.json"
    listed.write_text('{"tasks": {"cancel": {"pass_rate": 0.5}}}')
    go(config, tmp_path / "run", f"tasks={listed}", "steps=1", "evaluate.every=0")
    listed.write_text('{"tasks": {"other": {"pass_rate": 0.5}}}')
    with pytest.raises(UsageError, match="lists 'other', which is not in the split 'train'"):
        go(config, tmp_path / "again", f"tasks={listed}", "steps=1")


def test_after_a_run_the_process_can_be_ended_as_before(config: Path, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    go(config, tmp_path / "run", "steps=1", "evaluate.every=0")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_start_that_fails_leaves_no_folder(config: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        go(config, tmp_path / "run", "model.path=/nowhere/at-all")
    assert not (tmp_path / "run").exists()


def test_the_first_update_of_a_round_needs_no_pass_to_know_the_policy_before_it(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []

    def counted(config: Any, model: Any, rows: Any) -> Any:
        scored.append(len(rows))
        return scores(config, model, rows)

    scores = grpo.scores
    monkeypatch.setattr(grpo, "scores", counted)
    always = ("domain=tests.train.tiny_policy:fickle", "rollout.user=tests.train.tiny_policy:Fickle")
    settings = (*always, "steps=1", "evaluate.every=0", "seed=5")
    one, two = (go(config, tmp_path / f"{parts}", *settings, f"minibatches={parts}")[0] for parts in (1, 2))
    # m = 1 for all, but asked for before the first update.
    needed = go(config, tmp_path / "all", *settings, "loss.geometric_delta=[0.99, 99.0]")[0]
    rows = scored[2]
    assert (one["rollouts"], two["rollouts"], scored[0]) == (rows, rows, 0)
    assert 0 < scored[1] < rows
    assert (one["ratio_min"], one["ratio_max"]) == (1.0, 1.0)
    assert 0 < one["logp_error"] < 1e-6  # it is still compared with the engine
    for name in ("loss", "ratio", "weight", "entropy", "grad_norm", "logp_error"):
        assert two[name] == pytest.approx(needed[name], abs=1e-6), name
    ours, theirs = parameters(tmp_path / "2", 1), parameters(tmp_path / "all", 1)
    assert all(torch.allclose(ours[name], theirs[name], rtol=0, atol=1e-5) for name in ours)


@pytest.mark.parametrize(
    "overrides",
    [
        ("loss.kl_weight=0.1", "loss.advantage=dr_grpo"),
        ("loss.advantage=shuffled",),
        ("loss.level=sequence", "loss.geometric_delta=0.5", "optim.kind=muon"),
        ("loss.importance=truncated", "loss.importance_cap=2.0", "epochs=2", "loss.normaliser=batch"),
        ("model.lora.rank=2", "model.gradient_checkpointing=true", "loss.filter_zero_variance=false"),
    ],
)
def test_every_kind_of_loss_model_and_optimiser_runs(
    config: Path, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    lines = go(config, tmp_path / "run", *overrides, "steps=3", "evaluate.every=0", "seed=5")
    assert any(line["updates"] for line in lines)
    for line in lines:
        assert math.isfinite(line.get("loss", 0.0))
        assert line["skipped"] == 0


def command(config: Path, out: Path, *overrides: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "train.grpo", str(config), f"out={out}", "evaluate.every=0", *overrides],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for_lines(out: Path, count: int) -> None:
    while len(journal.read(out)) < count:
        time.sleep(0.02)


@pytest.mark.slow
def test_sigterm_finishes_the_step_and_saves(config: Path, tmp_path: Path) -> None:
    running = command(config, tmp_path / "run", "steps=100000", "checkpoint.every=100000")
    wait_for_lines(tmp_path / "run", 3)
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0
    assert "checkpoint.resume=true goes on" in said
    done = len(journal.read(tmp_path / "run"))
    assert (tmp_path / "run" / "checkpoints" / f"step-{done:06d}").is_dir()


@pytest.mark.slow
def test_a_run_killed_ten_times_ends_with_the_same_bits(config: Path, tmp_path: Path) -> None:
    settings = ("steps=24", "checkpoint.every=2", "seed=5")
    go(config, tmp_path / "whole", *settings, "evaluate.every=0")
    for kill in range(10):
        running = command(config, tmp_path / "parts", *settings, "checkpoint.resume=true")
        wait_for_lines(tmp_path / "parts", 2 * kill + 1 + kill % 2)
        running.kill()
        running.communicate()
    last = command(config, tmp_path / "parts", *settings, "checkpoint.resume=true")
    last.communicate(timeout=120)
    assert last.returncode == 0
    assert equal(parameters(tmp_path / "whole", 24), parameters(tmp_path / "parts", 24))
    assert [line["step"] for line in journal.read(tmp_path / "parts")] == list(range(24))


def test_a_mistake_on_the_command_line_is_one_line(config: Path, tmp_path: Path) -> None:
    running = command(config, tmp_path / "run", "optim.lrr=1")
    said = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 1
    assert said.strip() == "error: there is no key 'optim.lrr': did you mean 'optim.lr'?"
