"""What a run says while it goes: a line on the terminal, JSON lines, and TensorBoard where it is wanted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_enterprise.harness.disk import replacing

NAME = "metrics.jsonl"


class Journal:
    """Appends one line a step to RUN/metrics.jsonl; figures that are not finite are null in it.

    Args:
        out: Folder of the run.
        steps: How many steps are planned, for the terminal.
        start: The first step that will be written; lines of later ones, which a killed run left, go.
        tensorboard: Write TensorBoard files too.
    """

    def __init__(self, out: Path, steps: int, *, start: int = 0, tensorboard: bool = False) -> None:
        self._path, self._steps = out / NAME, steps
        kept = [line for line in read(out) if line["step"] < start]
        with replacing(self._path) as part:
            part.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        self._board: Any = None
        if tensorboard:
            from torch.utils.tensorboard import SummaryWriter

            self._board = SummaryWriter(out / "tensorboard", purge_step=start)

    def write(self, step: int, figures: Mapping[str, float], shown: tuple[str, ...]) -> None:
        """Write the figures of a step, and show some of them."""
        line = {"step": step, **{name: _finite(value) for name, value in figures.items()}}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, allow_nan=False) + "\n")
        said = "  ".join(f"{name} {figures[name]:.4g}" for name in shown if name in figures)
        print(f"[{min(step + 1, self._steps)}/{self._steps}] {said}", flush=True)
        if self._board is not None:
            for name, value in figures.items():
                self._board.add_scalar(name, value, step)
            self._board.flush()


def read(out: Path) -> list[dict[str, Any]]:
    """Return the lines of a run, without one that was being written when it was killed."""
    path = out / NAME
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
