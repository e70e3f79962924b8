"""`examples/train_tiny.sh`: all programs of training, one after the other, from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "train_tiny.sh"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_shortest_path_leads_to_a_model_that_loads(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
    transformers = pytest.importorskip("transformers", reason="needs pip install 'gym-enterprise[train]'")
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'gym-enterprise[train]'")

    def run() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHON": sys.executable}
        return subprocess.run(
            [str(SCRIPT), "made here"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "made here"
    assert done.stdout.rstrip().endswith(str(folder / "grpo/checkpoints/step-000012/model"))
    assert "[12/12]" in done.stdout
    assert (folder / "grpo/plot.png").stat().st_size > 10_000
    transformers.AutoModelForCausalLM.from_pretrained(folder / "grpo/checkpoints/step-000012/model")
    again = run()
    assert (again.returncode, again.stderr) == (2, "made here is not empty: give a new folder\n")
