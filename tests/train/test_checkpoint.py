"""Checkpoints: what comes back, what is passed over, what stays, and what is refused."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_enterprise.errors import RunDamaged, UsageError

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors")
from train.checkpoint import (  # noqa: E402
    CheckpointDamaged,
    latest,
    load,
    prune,
    random_state,
    restore_random_state,
    save,
)


@pytest.fixture(autouse=True)
def _the_generators_of_the_process_are_left_as_they_were() -> Iterator[None]:
    before = random_state()
    yield
    restore_random_state(before)


def small(folder: Path, step: int, **options: Any) -> Path:
    return save(folder, step, {"w": torch.tensor([float(step)])}, {"step": step}, **options)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    model = {
        "whole": base,
        "half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
        "turned": torch.arange(12).reshape(3, 4).T,
        "empty": torch.empty(0),
        "other_empty": torch.empty(0),
        "count": torch.tensor(3),
        "trained": torch.ones(2, requires_grad=True),
    }
    trainer = {
        "text": "a\u2028b",
        "numbers": [1, 2.5, -(2**127), float("inf"), True, None],
        "pair": ({("t", 3): 0.5}, b"\x00\xff"),
        "tensor": torch.tensor([1.0, float("nan")]),
    }
    saved = load(save(tmp_path / "runs" / "a", 123, model, trainer))
    assert saved.step == 123
    assert saved.model_state.keys() == model.keys()
    for name, tensor in model.items():
        assert saved.model_state[name].dtype == tensor.dtype
        assert saved.model_state[name].equal(tensor), name
    torch.testing.assert_close(saved.trainer_state.pop("tensor"), trainer.pop("tensor"), equal_nan=True)
    assert saved.trainer_state == trainer


def test_the_folder_says_what_it_is_and_is_readable_by_other_programs(tmp_path: Path) -> None:
    path = small(tmp_path, 7)
    assert path.name == "step-000007"
    assert names(path) == ["manifest.json", "model.safetensors", "trainer.pt"]
    manifest = json.loads((path / "manifest.json").read_text())
    assert (manifest["schema_version"], manifest["step"]) == (1, 7)
    assert manifest["versions"]["torch"] == importlib.metadata.version("torch")
    assert manifest["files"].keys() == {"model.safetensors", "trainer.pt"}
    for name, facts in manifest["files"].items():
        data = (path / name).read_bytes()
        assert facts == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    with safetensors.safe_open(path / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}  # which transformers asks for


def test_what_is_exported_belongs_to_the_checkpoint(tmp_path: Path) -> None:
    def export(folder: Path) -> None:
        assert folder.name == "step-000001.part"
        (folder / "hf").mkdir()
        (folder / "hf" / "config.json").write_text("{}")

    path = small(tmp_path, 1, export=export)
    assert (path / "hf" / "config.json").read_text() == "{}"
    (path / "hf" / "config.json").write_text("[]")
    with pytest.raises(RunDamaged, match=r"cannot be used: hf/config\.json is not as it was written"):
        load(path)


def test_the_latest_is_that_of_the_highest_step(tmp_path: Path) -> None:
    assert latest(tmp_path) is None
    assert latest(tmp_path / "nowhere") is None
    for step in (9, 10, 1_000_000):
        small(tmp_path, step)
        assert latest(tmp_path).name == f"step-{step:06d}"


def test_what_is_unfinished_or_something_else_is_not_looked_at(tmp_path: Path) -> None:
    small(tmp_path, 1)
    for name in ("step-000002.part", "step-000003.damaged", "step-last", "step-4", "notes"):
        (tmp_path / name).mkdir()
    assert latest(tmp_path).name == "step-000001"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


DAMAGES: list[tuple[Callable[[Path], None], str, str]] = [
    (cut, "trainer.pt", "trainer.pt is not as it was written"),
    (flip, "model.safetensors", "model.safetensors is not as it was written"),
    (Path.unlink, "trainer.pt", "trainer.pt is missing"),
    (Path.unlink, "manifest.json", "its manifest.json cannot be read"),
    (cut, "manifest.json", "its manifest.json cannot be read"),
    (lambda path: path.write_text("[]"), "manifest.json", "its manifest.json cannot be read"),
]


@pytest.mark.parametrize(("damage", "file", "message"), DAMAGES)
def test_a_damaged_one_is_passed_over_with_a_warning(
    tmp_path: Path, damage: Callable[[Path], None], file: str, message: str
) -> None:
    small(tmp_path, 1)
    path = small(tmp_path, 2)
    text = (path / "manifest.json").read_text().rstrip()
    (path / "manifest.json").write_text(text)  # so that its last byte matters
    damage(path / file)
    with pytest.warns(CheckpointDamaged, match=f"step-000002 is passed over: {message}"):
        found = latest(tmp_path)
    assert load(found).trainer_state == {"step": 1}
    with pytest.raises(RunDamaged, match=f"step-000002 cannot be used: {message}.*; take another checkpoint"):
        load(path)


def test_where_all_are_damaged_nothing_begins_anew_unseen(tmp_path: Path) -> None:
    for step in (1, 2):
        flip(small(tmp_path, step) / "trainer.pt")
    with (
        pytest.warns(CheckpointDamaged),
        pytest.raises(RunDamaged, match=r"no checkpoint in .* is usable: restore one, or start"),
    ):
        latest(tmp_path)


def test_one_of_another_version_is_not_taken_for_damaged(tmp_path: Path) -> None:
    small(tmp_path, 1)
    manifest = small(tmp_path, 2) / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    message = "step-000002 has schema_version 2, this version reads 1: use the version of gym-enterprise"
    for read in (lambda: latest(tmp_path), lambda: load(manifest.parent)):
        with pytest.raises(UsageError, match=message):
            read()


def test_old_ones_are_deleted_but_for_multiples_and_so_is_what_killed_writers_left(tmp_path: Path) -> None:
    (tmp_path / "step-000003.part").mkdir()
    for step in range(2, 15, 2):
        small(tmp_path, step, keep_last=2, keep_every=4)
    assert names(tmp_path) == ["step-000004", "step-000008", "step-000012", "step-000014"]
    prune(tmp_path, 1)
    assert names(tmp_path) == ["step-000014"]
    prune(tmp_path, None)
    assert names(tmp_path) == ["step-000014"]


@pytest.mark.parametrize("step", [4, 5])
def test_a_checkpoint_is_never_written_over_nor_put_before_a_later_one(tmp_path: Path, step: int) -> None:
    small(tmp_path, 5)
    with pytest.raises(UsageError, match=f"step {step} cannot be saved as .*step-000005 is there: delete it"):
        small(tmp_path, step)
    assert names(tmp_path) == ["step-000005"]
    assert load(latest(tmp_path)).trainer_state == {"step": 5}


@pytest.mark.parametrize("step", [4, 5])
def test_a_damaged_one_is_set_aside_when_the_run_comes_by_again(tmp_path: Path, step: int) -> None:
    flip(small(tmp_path, 5) / "trainer.pt")
    small(tmp_path, step, keep_last=1)
    assert names(tmp_path) == [f"step-00000{step}", "step-000005.damaged"]
    assert load(latest(tmp_path)).trainer_state == {"step": step}


class Dangerous:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        import os

        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.random.default_rng(0), "numpy.random"),
        (np.float64(1), "numpy"),
        (np.arange(3), "numpy"),
        (Path("a"), "pathlib"),
        (lambda: None, "lambda"),
    ],
)
def test_a_state_that_could_not_be_read_back_is_refused_when_it_is_saved(
    tmp_path: Path, value: Any, name: str
) -> None:
    small(tmp_path, 1)
    message = f"trainer_state holds .*{name}.*: give containers, numbers, texts and tensors only"
    with pytest.raises(UsageError, match=message):
        save(tmp_path, 2, {}, {"a": [value]})
    assert latest(tmp_path).name == "step-000001"
    assert small(tmp_path, 2) == latest(tmp_path)


def test_reading_a_checkpoint_runs_none_of_it(tmp_path: Path) -> None:
    path = small(tmp_path, 1)
    torch.save({"a": Dangerous(tmp_path / "made")}, path / "trainer.pt")
    data = (path / "trainer.pt").read_bytes()
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"]["trainer.pt"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(Exception, match="Weights only load failed"):
        load(path)
    assert not (tmp_path / "made").exists()


def test_a_generator_goes_on_where_it_was(tmp_path: Path) -> None:
    generator, other = random.Random(5), random.Random(6)
    generator.gauss(0, 1)  # which keeps a second number for later
    path = save(tmp_path, 1, {}, random_state(mine=generator))
    restore_random_state(load(path).trainer_state, mine=other)
    assert [other.gauss(0, 1), other.random()] == [generator.gauss(0, 1), generator.random()]


def test_the_global_generators_go_on_where_they_were(tmp_path: Path) -> None:
    def draws() -> list[float]:
        # gauss and normal keep every second number for later, which is part of the state.
        return [random.gauss(0, 1), np.random.normal(), np.random.random(), torch.randn(1).item()]

    draws()
    path = save(tmp_path, 1, {}, random_state())
    expected = draws() + draws()
    draws()
    restore_random_state(load(path).trainer_state)
    assert draws() + draws() == expected


@pytest.mark.gpu
def test_the_generator_of_the_gpu_goes_on_where_it_was(tmp_path: Path) -> None:
    path = save(tmp_path, 1, {}, random_state())
    expected = torch.rand(3, device="cuda").tolist()
    restore_random_state(load(path).trainer_state)
    assert torch.rand(3, device="cuda").tolist() == expected


def test_generators_of_other_names_are_refused() -> None:
    state, before = random_state(tasks=random.Random(1)), random.getstate()
    with pytest.raises(UsageError, match=r"generators \['tasks'\] were saved, not \['noise'\]: give those"):
        restore_random_state(state, noise=random.Random(1))
    assert random.getstate() == before
