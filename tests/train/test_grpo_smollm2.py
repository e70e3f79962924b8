"""Steps of GRPO with a real model: SmolLM2-135M-Instruct with adapters, on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.smollm2 import MISSING, gguf

pytest.importorskip("transformers", reason=MISSING)
pytest.importorskip("peft", reason="needs peft: pip install 'gym-enterprise[train]'")

from safetensors.torch import load_file

from train import journal
from train.config import GrpoConfig, read
from train.grpo import train

pytestmark = pytest.mark.slow


def test_a_step_changes_the_adapter_only_and_the_run_goes_on(tmp_path: Path) -> None:
    file = gguf()
    if file is None:
        pytest.skip(MISSING)
    out = tmp_path / "run"
    (tmp_path / "prompt.md").write_text("You serve the customers of a small shop.")
    (tmp_path / "run.toml").write_text(
        f"""
        out = "{out}"
        domain = "tests.train.tiny_policy:fickle"
        evaluate.every = 0
        checkpoint.every = 1
        optim.lr = 1e-4
        model.path = "{file}"
        model.lora.rank = 4
        [rollout]
        user = "tests.train.tiny_policy:Fickle"
        prompt = "{tmp_path / "prompt.md"}"
        max_tokens = 12
        max_segment_tokens = 256
        tasks_per_step = 2
        group_size = 6
        """
    )

    def adapter(step: int) -> dict[str, object]:
        return load_file(out / "checkpoints" / f"step-{step:06d}" / "model.safetensors")

    train(read(GrpoConfig, tmp_path / "run.toml", "steps=1"))
    train(read(GrpoConfig, tmp_path / "run.toml", "steps=2", "checkpoint.resume=true"))
    lines = journal.read(out)
    assert [line["step"] for line in lines] == [0, 1]
    for line in lines:
        assert 0 < line["reward"] < 1
        assert line["updates"] > 0
        assert line["logp_error"] < 1e-3  # of the engine and the trainer
        assert abs(line["loss"]) < 10
        assert 0 < line["grad_norm"] < 1e3
    first, second = adapter(1), adapter(2)
    assert all("lora_" in name for name in first)
    assert any(bool((first[name] != second[name]).any()) for name in first)  # type: ignore[attr-defined]
    assert (out / "checkpoints" / "step-000002" / "model" / "adapter").is_dir()
