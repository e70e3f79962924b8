"""Checkpoints: folders ``step-000123`` that are whole or not there, whenever the writer is killed.

Each is written as ``step-000123.part``, brought to disk, then renamed. It holds `manifest.json` (step,
versions, size and hash of each file), `model.safetensors`, and `trainer.pt`: optimiser, random generators,
place in the data, counters. Reading it runs no code that it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import re
import shutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from gym_enterprise.errors import RunDamaged, UsageError
from gym_enterprise.harness.disk import sync_folder
from gym_enterprise.harness.manifest import versions

MANIFEST = "manifest.json"
SCHEMA_VERSION = 1
NAME = re.compile(r"step-(\d{6,})")


class CheckpointDamaged(UserWarning):
    """A checkpoint is not what its writer wrote, and is passed over."""


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds, in main memory."""

    step: int
    model_state: dict[str, Tensor]
    trainer_state: dict[str, Any]


def save(
    folder: Path | str,
    step: int,
    model_state: Mapping[str, Tensor],
    trainer_state: Mapping[str, Any],
    *,
    keep_last: int | None = None,
    keep_every: int | None = None,
    export: Callable[[Path], object] = lambda folder: None,
) -> Path:
    """Write a checkpoint, then delete older ones. One process at a time may write into a folder.

    Args:
        folder: Where checkpoints are, made if it is not there.
        step: How many steps were done.
        model_state: Tensors by name: whole ones, where they were sharded, and none that shares its memory.
        trainer_state: Containers, numbers, texts and tensors.
        keep_last: How many of the latest stay; None keeps all.
        keep_every: Those of steps that are multiples of it stay too.
        export: Called with the folder while it is written, to add files to it.

    Returns:
        The folder of the checkpoint.

    Raises:
        UsageError: One of this step or a later one is there, or the trainer's state cannot be read back
            without running code. Then none is written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path in _newest_first(folder):
        if _step(path) >= step:
            _make_way(path, step)
    part = folder / f"step-{step:06d}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    tensors = {name: one.contiguous() for name, one in model_state.items()}
    save_file(tensors, part / "model.safetensors", metadata={"format": "pt"})
    _save_state(part / "trainer.pt", trainer_state)
    export(part)
    paths = sorted(path for path in part.rglob("*") if path.is_file())
    files = {path.relative_to(part).as_posix(): _facts(path) for path in paths}
    manifest = {"schema_version": SCHEMA_VERSION, "step": step, "versions": versions(), "files": files}
    (part / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    _sync(part)
    whole = part.rename(part.with_suffix(""))
    sync_folder(folder)
    prune(folder, keep_last, keep_every)
    return whole


def latest(folder: Path | str) -> Path | None:
    """Return the latest checkpoint in a folder that is as it was written; None if there never was one.

    Warns:
        CheckpointDamaged: A later one is damaged.

    Raises:
        RunDamaged: All are: to begin anew must not happen unseen.
        UsageError: It is of a form that this version does not know.
    """
    paths = _newest_first(Path(folder))
    for path in paths:
        if (fault := _fault(path)) is None:
            return path
        warnings.warn(f"{path} is passed over: {fault}", CheckpointDamaged, stacklevel=2)
    if paths:
        raise RunDamaged(f"no checkpoint in {folder} is usable: restore one, or start in another folder")
    return None


def load(path: Path | str) -> Saved:
    """Read a checkpoint.

    Raises:
        RunDamaged: It is not as it was written.
        UsageError: It is none, or of a form that this version does not know.
    """
    path = Path(path)
    if fault := _fault(path):
        raise RunDamaged(f"{path} cannot be used: {fault}; take another checkpoint")
    manifest = json.loads((path / MANIFEST).read_bytes())
    state = torch.load(path / "trainer.pt", map_location="cpu", weights_only=True)
    return Saved(manifest["step"], load_file(path / "model.safetensors"), state)


def prune(folder: Path | str, keep_last: int | None, keep_every: int | None = None) -> None:
    """Delete all but the latest and those at multiples of a step, and what killed writers left."""
    folder = Path(folder)
    for path in _newest_first(folder)[keep_last:] if keep_last else []:
        if not keep_every or _step(path) % keep_every:
            shutil.rmtree(path)
    for part in folder.glob("step-*.part"):
        shutil.rmtree(part)


def random_state(**generators: random.Random) -> dict[str, Any]:
    """Return the states of these generators and of the global ones of python, numpy and torch, for `save`."""
    numpy = np.random.get_state(legacy=False)
    return {
        "python": random.getstate(),
        "numpy": numpy | {"state": numpy["state"] | {"key": numpy["state"]["key"].tolist()}},
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,  # of the current device
        "own": {name: generator.getstate() for name, generator in generators.items()},
    }


def restore_random_state(state: Mapping[str, Any], **generators: random.Random) -> None:
    """Go on from `random_state`, with generators of the same names.

    The generator of a GPU stays as it is where none was saved, as its numbers differ from the CPU's anyway.

    Raises:
        UsageError: The names are not the same; nothing was changed.
    """
    if state["own"].keys() != generators.keys():
        raise UsageError(f"generators {list(state['own'])} were saved, not {list(generators)}: give those")
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])
    torch.set_rng_state(state["torch"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
    for name, generator in generators.items():
        generator.setstate(state["own"][name])


def _newest_first(folder: Path) -> list[Path]:
    paths = (path for path in folder.glob("step-*") if NAME.fullmatch(path.name))
    return sorted(paths, key=_step, reverse=True)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _make_way(path: Path, step: int) -> None:
    """Rename a damaged checkpoint, so that it does not stand before that of an earlier or the same step."""
    if _fault(path) is None:
        raise UsageError(f"step {step} cannot be saved as {path} is there: delete it, or use another folder")
    aside = path.with_suffix(".damaged")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)


def _save_state(path: Path, state: Mapping[str, Any]) -> None:
    try:
        torch.save(dict(state), path)
        torch.load(path, weights_only=True, mmap=True)
    except (pickle.PickleError, AttributeError, TypeError) as error:
        found = re.search(r"GLOBAL (\S+)", str(error))
        what = found[1] if found else str(error)
        raise UsageError(
            f"trainer_state holds {what}: give containers, numbers, texts and tensors only"
        ) from None


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"size": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _sync(folder: Path) -> None:
    """Bring a folder and all in it to disk."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("r+b") as file:
                os.fsync(file.fileno())


def _fault(path: Path) -> str | None:
    """Say what is wrong with a checkpoint; None if it is as it was written."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        schema, files = manifest["schema_version"], manifest["files"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"its {MANIFEST} cannot be read ({error})"
    if schema != SCHEMA_VERSION:
        raise UsageError(
            f"{path} has schema_version {schema!r}, this version reads {SCHEMA_VERSION}: use the version of "
            "gym-enterprise that wrote it"
        )
    for name, facts in files.items():
        if not (path / name).is_file():
            return f"{name} is missing"
        if _facts(path / name) != facts:
            return f"{name} is not as it was written"
    return None
