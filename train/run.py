"""What trainers do around their loop: the run's folder, its model, checkpoints, SIGTERM, the command line."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from gym_enterprise.errors import GymEnterpriseError, UsageError
from gym_enterprise.harness.disk import replacing
from train import checkpoint
from train.config import Checkpoint, Model, describe, read, to_toml
from train.model import LoRA, load_policy, load_policy_state, policy_state, save_policy

Config = TypeVar("Config")

FREE = ("steps =", "checkpoint.", "evaluate.", "tensorboard")
"""Keys that may change when a run goes on."""


class Part(Protocol):
    """Something whose state a checkpoint holds."""

    def state_dict(self) -> Any:
        """Return the state."""
        ...

    def load_state_dict(self, state: Any) -> Any:
        """Put it back."""
        ...


def open_run(config: Any) -> Path:
    """Make the folder of the run, or see that it is this run's; return it.

    Raises:
        UsageError: It holds a run that is not to go on, or one of another configuration.
    """
    out, text = Path(config.out), to_toml(config)
    saved = out / "config.toml"
    if saved.exists():
        if not config.checkpoint.resume:
            raise UsageError(
                f"{out} holds a run already: checkpoint.resume=true goes on with it, or choose another out"
            )
        before = set(saved.read_text(encoding="utf-8").splitlines())
        changed = [line for line in text.splitlines() if line not in before and not line.startswith(FREE)]
        if changed:
            raise UsageError(f"{out} was begun with other values of: " + "; ".join(changed))
    out.mkdir(parents=True, exist_ok=True)
    with replacing(saved) as part:
        part.write_text(text, encoding="utf-8")
    return out


def in_one_process(program: str) -> None:
    """Refuse a start by torchrun, which this version does not do.

    Raises:
        UsageError: There is more than one process.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError(f"{program} runs in one process in this version: start it without torchrun")


def load(settings: Model, seed: int) -> Any:
    """Return the policy as it is before training.

    Args:
        settings: Of the configuration.
        seed: Of the first weights of adapters.
    """
    lora = LoRA(settings.lora.rank, settings.lora.alpha, settings.lora.targets, seed)
    return load_policy(
        settings.path,
        dtype=settings.dtype,
        device=settings.device or ("cuda" if torch.cuda.is_available() else "cpu"),
        lora=lora if settings.lora.rank else None,
        gradient_checkpointing=settings.gradient_checkpointing,
    )


def precision(settings: Model, model: Any) -> AbstractContextManager[Any]:
    """Return the context in which matrices are multiplied."""
    return torch.autocast(model.device.type, torch.bfloat16, enabled=settings.autocast)


def save(
    out: Path,
    settings: Checkpoint,
    step: int,
    model: Any,
    tokenizer: Any,
    parts: Mapping[str, Part],
    rng: random.Random,
) -> None:
    """Write a checkpoint, with the model as a folder that anything loads.

    Args:
        out: Folder of the run.
        settings: Of the configuration.
        step: How many steps are done.
        model: The policy.
        tokenizer: Its tokenizer.
        parts: What else has a state, by name.
        rng: Of the run.
    """
    state = {name: part.state_dict() for name, part in parts.items()}
    checkpoint.save(
        out / "checkpoints",
        step,
        policy_state(model),
        {**state, "random": checkpoint.random_state(run=rng)},
        keep_last=settings.keep_last,
        keep_every=settings.keep_every,
        export=lambda folder: save_policy(model, tokenizer, folder / "model"),
    )


def resume(out: Path, settings: Checkpoint, model: Any, parts: Mapping[str, Part], rng: random.Random) -> int:
    """Put the latest checkpoint in place when that is asked for; return the step to go on with."""
    path = checkpoint.latest(out / "checkpoints") if settings.resume else None
    if path is None:
        return 0
    saved = checkpoint.load(path)
    load_policy_state(model, saved.model_state)
    for name, part in parts.items():
        part.load_state_dict(saved.trainer_state[name])
    checkpoint.restore_random_state(saved.trainer_state["random"], run=rng)
    return saved.step


@contextmanager
def stop_on_sigterm() -> Iterator[list[int]]:
    """Give a list that gets an entry when the process is asked to end: the step under way is finished.

    Afterwards the signal does what it did before.
    """
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)


def command(
    arguments: Sequence[str], cls: type[Config], about: str, train: Callable[[Config], object]
) -> None:
    """Read a configuration from the command line and train; --help prints all keys."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(about)
        for key in describe(cls):
            print(f"  {key.name} = {key.default}  ({key.type})\n      {key.doc}")
        return
    try:
        train(read(cls, arguments[0], *arguments[1:]))
    except GymEnterpriseError as error:
        raise SystemExit(f"error: {error}") from None
