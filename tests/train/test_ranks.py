"""Two processes under `torchrun` train as one does: the programs themselves, on the CPU by gloo."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

from safetensors.torch import load_file

from gym_enterprise.errors import UsageError
from tests.train.tiny_policy import CANCEL, LOOK, save_tiny_policy
from train import grpo, journal, ranks, sft
from train.batching import Row
from train.config import GrpoConfig, SftConfig, read

ROOT = Path(__file__).parents[2]
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has the configurations of both programs."""
    folder = tmp_path_factory.mktemp("ranks")
    save_tiny_policy(folder / "policy")
    (folder / "prompt.md").write_text("Serve.")
    (folder / "grpo.toml").write_text(
        f"""
        out = "-"
        domain = "tests.train.tiny_policy:fickle"
        seed = 5
        steps = 3
        optim.lr = 1e-3
        model.path = "{folder / "policy"}"
        evaluate.every = 2
        evaluate.split = "train"
        evaluate.trials = 3
        checkpoint.every = 2
        [rollout]
        user = "tests.train.tiny_policy:Fickle"
        format = "json"
        prompt = "{folder / "prompt.md"}"
        max_tokens = 4
        max_steps = 6
        max_segment_tokens = 256
        tasks_per_step = 4
        group_size = 8
        """
    )
    rng = random.Random(0)
    with (folder / "sft.jsonl").open("w") as data:
        for number in range(12):
            said = rng.choices([CANCEL, LOOK, "Hello."], k=rng.randint(1, 4))
            turns = [("user", "Hello."), ("assistant", "")] * len(said)
            contents = [text or said.pop() for _, text in turns]
            chat = [{"role": role, "content": text} for (role, _), text in zip(turns, contents, strict=True)]
            data.write(json.dumps({"task_id": f"t{number}", "chat": chat}) + "\n")
    (folder / "sft.toml").write_text(
        f"""
        out = "-"
        data = ["{folder}"]
        batch_size = 3
        steps = 3
        model.path = "{folder / "policy"}"
        optim.lr = 1e-3
        """
    )
    return folder


def together(program: str, config: Path, out: Path, *overrides: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TORCHRUN, "-m", program, str(config), f"out={out}", *overrides],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def done(running: subprocess.Popen[str]) -> str:
    said = running.communicate(timeout=300)[0]
    assert running.returncode == 0, said
    return said


def parameters(out: Path, step: int) -> dict[str, Any]:
    return load_file(out / "checkpoints" / f"step-{step:06d}" / "model.safetensors")


def assert_same_run(one: Path, other: Path, step: int) -> None:
    ours, theirs = parameters(one, step), parameters(other, step)
    assert ours.keys() == theirs.keys()
    assert max(float((ours[name] - theirs[name]).abs().max()) for name in ours) < 1e-5
    for line, its in zip(journal.read(one), journal.read(other), strict=True):
        assert line.keys() == its.keys()
        for name in line.keys() - {"seconds"}:
            same = line[name] if line[name] is None else pytest.approx(line[name], rel=1e-3, abs=1e-5)
            assert its[name] == same, name


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        (),
        (
            *("optim.kind=muon", "optim.lr=1e-4", "loss.level=sequence", "loss.kl_weight=0.1"),
            *("loss.geometric_delta=0.5", "model.gradient_checkpointing=true", "minibatches=1"),
            *("rollout.tasks_per_step=1", "rollout.group_size=5", "optim.micro_batch_tokens=20"),
        ),
        (
            *("model.lora.rank=2", "max_staleness=1", "optim.micro_batch_tokens=64"),
            *("epochs=2", "loss.filter_zero_variance=false"),
        ),
    ],
)
def test_grpo_in_two_processes_ends_with_the_parameters_of_one(
    folder: Path, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    if any("lora" in each for each in overrides):
        pytest.importorskip("peft")
    running = together("train.grpo", folder / "grpo.toml", tmp_path / "two", *overrides)
    grpo.train(read(GrpoConfig, folder / "grpo.toml", f"out={tmp_path / 'one'}", *overrides))
    said = done(running)
    assert said.count("[1/3]") == 1
    assert_same_run(tmp_path / "one", tmp_path / "two", 3)
    assert sum(line.get("updates", 0) for line in journal.read(tmp_path / "one")) > 2


@pytest.mark.slow
def test_the_first_process_asks_the_servers_for_all(folder: Path, tmp_path: Path) -> None:
    served = ("rollout.mode=servers", 'rollout.urls=["http://localhost:1"]')
    running = together(
        "tests.train.served", folder / "grpo.toml", tmp_path / "two", *served, "max_staleness=1"
    )
    grpo.train(read(GrpoConfig, folder / "grpo.toml", f"out={tmp_path / 'one'}", "max_staleness=1"))
    done(running)
    assert_same_run(tmp_path / "one", tmp_path / "two", 3)


@pytest.mark.slow
def test_sft_in_two_processes_ends_with_the_parameters_of_one(folder: Path, tmp_path: Path) -> None:
    overrides = ("context_weight=0.1", "holdout=0.25", "holdout_every=2", "optim.micro_batch_tokens=48")
    running = together("train.sft", folder / "sft.toml", tmp_path / "two", *overrides)
    sft.train(read(SftConfig, folder / "sft.toml", f"out={tmp_path / 'one'}", *overrides))
    assert done(running).count("12 conversations") == 1
    assert_same_run(tmp_path / "one", tmp_path / "two", 3)


@pytest.mark.slow
def test_a_run_goes_on_in_another_number_of_processes(folder: Path, tmp_path: Path) -> None:
    config, more = folder / "grpo.toml", ("checkpoint.resume=true", "max_staleness=1")
    begun = together("train.grpo", config, tmp_path / "fewer", "steps=2", "max_staleness=1")
    for name, steps in (("whole", 4), ("more", 2)):
        grpo.train(read(GrpoConfig, config, f"out={tmp_path / name}", f"steps={steps}", "max_staleness=1"))
    done(begun)
    resumed = together("train.grpo", config, tmp_path / "more", "steps=4", *more)
    grpo.train(read(GrpoConfig, config, f"out={tmp_path / 'fewer'}", "steps=4", *more))
    done(resumed)
    for name in ("more", "fewer"):
        # pass@1 of the last evaluation of the first half is not in a run that was not interrupted.
        assert_same_run(tmp_path / "whole", tmp_path / name, 4)


@pytest.mark.slow
def test_sigterm_to_any_process_stops_all_after_the_same_step(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    endless = ("steps=100000", "checkpoint.every=100000", "evaluate.every=0")
    running = together("train.grpo", folder / "grpo.toml", out, *endless)
    while len(journal.read(out)) < 3:
        assert running.poll() is None, running.communicate()[0]
        time.sleep(0.05)
    workers = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    assert len(workers) == 2
    os.kill(int(workers[1]), signal.SIGTERM)
    said = done(running)
    steps = re.findall(r"stopped after step (\d+); checkpoint\.resume=true goes on", said)
    assert [int(steps[0])] == [len(journal.read(out))]
    assert [path.name for path in (out / "checkpoints").iterdir()] == [f"step-{int(steps[0]):06d}"]


@pytest.mark.slow
def test_an_error_in_one_process_ends_all(folder: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    running = together("tests.train.failing_rank", folder / "grpo.toml", tmp_path / "run")
    said = running.communicate(timeout=120)[0]
    assert running.returncode == 1
    assert "the second rank has failed" in said
    assert time.monotonic() - began < 100
    assert not list((tmp_path / "run" / "checkpoints").glob("*"))


@pytest.mark.slow
def test_a_mistake_that_the_first_process_finds_ends_all_and_leaves_no_folder(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("")
    (tmp_path / "run" / "metrics.jsonl").write_text('{"step": 0}\n')
    running = together("train.sft", folder / "sft.toml", tmp_path / "run")
    said = running.communicate(timeout=120)[0]
    assert running.returncode == 1
    assert "holds a run already: checkpoint.resume=true goes on with it" in said


# -- the parts of it --------------------------------------------------------------------------------------


def as_rank(monkeypatch: pytest.MonkeyPatch, rank: int, count: int) -> None:
    monkeypatch.setattr(ranks, "rank", lambda: rank)
    monkeypatch.setattr(ranks, "count", lambda: count)


def row(length: int, rollout: int) -> Row:
    return Row((1,) * length, (0,) + (1,) * (length - 1), (0.0,) + (-1.0,) * (length - 1), "g", rollout)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_ranks_share_all_rows_and_take_as_many_passes(
    monkeypatch: pytest.MonkeyPatch, count: int, whole: bool
) -> None:
    rng = random.Random(count)
    rows = [row(rng.randint(2, 30), place // 2) for place in range(9)]
    held = []
    for rank in range(count):
        as_rank(monkeypatch, rank, count)
        held.append(ranks.share(rows, 40, whole_rollouts=whole))
    assert len({len(batches) for batches in held}) == 1
    made = [one for batches in held for batch in batches for one in batch.rows if one is not ranks.NOTHING]
    assert sorted(map(id, made)) == sorted(map(id, rows))
    loads = [sum(int(batch.mask.sum()) for batch in batches) for batches in held]
    assert max(loads) - min(loads) <= 60  # the two longest rows
    if whole:
        owners = [{one.rollout for batch in batches for one in batch.rows} - {None} for batches in held]
        assert sum(map(len, owners)) == 5


def test_a_rank_with_nothing_to_do_takes_its_passes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    as_rank(monkeypatch, 1, 2)
    [batch] = ranks.share([row(5, 0)], 100)
    assert batch.rows == [ranks.NOTHING]
    assert not batch.mask.any()
    assert ranks.share([], 100) == []


def test_vllm_of_this_process_is_for_one_process(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = read(GrpoConfig, folder / "grpo.toml", f"out={tmp_path / 'run'}", "rollout.mode=vllm")
    as_rank(monkeypatch, 0, 2)
    monkeypatch.setattr(ranks, "shard", lambda model, device: model)
    with pytest.raises(UsageError, match=r"rollout\.mode 'vllm' is for one process: under torchrun use"):
        grpo.train(config)
    assert not (tmp_path / "run").exists()


def test_each_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ranks.own_device("cuda:1") == "cuda:1"
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert ranks.own_device("cuda") == "cuda:2"
    assert ranks.own_device("cpu") == "cpu"
