"""The script for a GPU, with a tiny model on the CPU: every part runs, and tells a line."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.sh"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


def run(*parts: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Return the exit status, the lines by part, and all that was said."""
    pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
    pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")
    settings = {
        "SIZE": "tiny",
        "DEVICE": "cpu",
        "PYTHON": sys.executable,
        "OMP_NUM_THREADS": "1",
        "PATIENCE": "10",
    }
    done = subprocess.run(
        [str(SCRIPT), *parts], env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done.returncode, {line["part"]: line for line in lines}, done.stdout + done.stderr


@pytest.mark.slow
def test_losses_updates_and_the_engine_of_this_process_are_measured() -> None:
    status, lines, said = run("vectors", "update", "transformers")
    assert status == 0, said
    assert lines["vectors"]["worst_relative_difference"] < 1e-5
    for kind in ("plain", "checkpointing"):
        assert lines["update"][kind]["tokens_per_s"] > 0
    assert lines["transformers"]["sampled_per_s"] > 0


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_a_part_that_fails_says_so_and_hides_no_other() -> None:
    status, lines, said = run("vllm", "vectors")
    assert status == 1, said
    assert not lines["vllm"]["ok"]
    assert "needs vllm" in lines["vllm"]["log"][-1]
    assert lines["vectors"]["ok"]


@pytest.mark.vllm
@pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="needs vLLM: see `make test-vllm`")
def test_vllm_samples_and_gets_new_weights() -> None:
    status, lines, said = run("vllm", "grpo")
    assert status == 0, said
    assert lines["vllm"]["canary_before"] < 1e-4 < 0.05 < lines["vllm"]["stale"]
    assert lines["vllm"]["canary_after"] < 1e-4
    assert len(lines["grpo"]["logp_error"]) == 3
