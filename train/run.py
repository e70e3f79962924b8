"""What trainers do around their loop: the run's folder, its model, checkpoints, SIGTERM, the command line."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch

from gym_enterprise.errors import GymEnterpriseError, UsageError
from gym_enterprise.harness.disk import replacing
from gym_enterprise.harness.lock import FileLock
from simulators.engines.errors import EngineError
from train import checkpoint, journal, ranks
from train.config import Model, by_key, describe, read, to_toml
from train.model import load_policy, load_policy_state, policy_state, save_policy

FREE = ("out", "steps", "checkpoint.", "evaluate.", "tensorboard")
"""Keys that may change when a run goes on."""


class Part(Protocol):
    """Something whose state a checkpoint holds."""

    def state_dict(self) -> Any:
        """Return the state; all ranks ask together."""
        ...

    def load_state_dict(self, state: Any) -> Any:
        """Put it back."""
        ...


class Run:
    """A run under way, begun or resumed: its folder, figures and checkpoints; to be used by `with`.

    Args:
        config: Of the program.
        steps: How many are planned.
        model: The policy.
        tokenizer: Its tokenizer.
        rng: Of the run.
        parts: What else has a state, by name.
    """

    def __init__(
        self, config: Any, steps: int, model: Any, tokenizer: Any, rng: random.Random, **parts: Part
    ) -> None:
        self._config, self._settings, self._planned = config, config.checkpoint, steps
        self._model, self._tokenizer, self._rng, self._parts = model, tokenizer, rng, parts
        self._folder = Path(config.out) / "checkpoints"
        self.stopped = False
        """Whether it was asked to end before its last step."""
        self._since = time.monotonic()
        self._journal: journal.Journal | None = None
        self._lock: FileLock | None = None

    def __enter__(self) -> Run:
        """Open the folder, and go on from its latest checkpoint if that is wanted.

        Raises:
            UsageError: It holds a run that is not to go on, or one of another configuration or data.
            RunLocked: Another process writes into it.
        """
        try:
            ranks.first(self._open)
            self._start = self._resume() if self._settings.resume else 0
            if ranks.leads():
                board = self._config.tensorboard
                self._journal = journal.Journal(
                    self._folder.parent, self._planned, start=self._start, tensorboard=board
                )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.release()

    def steps(self, asked: Sequence[int]) -> Iterator[int]:
        """Yield the numbers of the steps to take, and write a checkpoint after each that is to have one.

        Args:
            asked: Of `stop_on_sigterm`, on any rank: with an entry in it, the step under way is the last.
        """
        for step in range(self._start, self._planned):
            self._since = time.monotonic()
            yield step
            last = step + 1 == self._planned
            asked_to_end = any(ranks.gathered(bool(asked)))
            if last or asked_to_end or (step + 1) % self._settings.every == 0:
                self._save(step + 1)
            if asked_to_end and not last:
                self.stopped = True
                ranks.say(f"stopped after step {step + 1}; checkpoint.resume=true goes on")
                return

    def note(self, step: int, figures: Mapping[str, float], shown: tuple[str, ...]) -> None:
        """Write the figures of a step, or of what comes after the last, into the journal, and show some."""
        if self._journal is not None:
            timed = {"seconds": time.monotonic() - self._since} if step < self._planned else {}
            self._journal.write(step, {**figures, **timed}, shown)

    def _open(self) -> None:
        self._lock = open_run(self._config)

    def _save(self, step: int) -> None:
        state = {name: part.state_dict() for name, part in self._parts.items()}
        weights = policy_state(self._model, ranks.leads())
        if not ranks.leads():
            save_policy(self._model, self._tokenizer, self._folder)  # the first writes it, all give shares
            return
        trained = (name for name, one in self._model.named_parameters() if one.requires_grad)
        if wrong := [name for name in trained if name in weights and not weights[name].isfinite().all()]:
            raise Diverged(
                f"after step {step} {len(wrong)} of the weights are not finite, such as {wrong[0]!r}: lower "
                "optim.lr, or set optim.clip_norm. No checkpoint was made of them; those before are sound"
            )
        checkpoint.save(
            self._folder,
            step,
            weights,
            {**state, "random": checkpoint.random_state(run=self._rng)},
            keep_last=self._settings.keep_last,
            keep_every=self._settings.keep_every,
            export=lambda folder: save_policy(self._model, self._tokenizer, folder / "model"),
        )

    def _resume(self) -> int:
        path = ranks.first(lambda: checkpoint.latest(self._folder))
        if path is None:
            return 0
        saved = checkpoint.load(path)
        if saved.step > self._planned:
            raise UsageError(
                f"{path} is of step {saved.step}, and the run is to have {self._planned}: give more steps"
            )
        load_policy_state(self._model, saved.model_state)
        for name, part in self._parts.items():
            part.load_state_dict(saved.trainer_state[name])
        checkpoint.restore_random_state(saved.trainer_state["random"], run=self._rng)
        return saved.step


class Diverged(GymEnterpriseError, RuntimeError):
    """Model: training has made weights of it that are no numbers."""


def open_run(config: Any) -> FileLock:
    """Make the folder of the run, or see that it is this run's; return what keeps other processes out of it.

    A run that failed before its first step leaves nothing that another could harm.

    Raises:
        UsageError: It holds a run that is not to go on, or one of another configuration.
        RunLocked: Another process writes into it.
    """
    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    lock = FileLock(out / "lock")
    try:
        _check_same(config, out)
        with replacing(out / "config.toml") as part:
            part.write_text(to_toml(config), encoding="utf-8")
    except BaseException:
        lock.release()
        raise
    return lock


def _check_same(config: Any, out: Path) -> None:
    saved = out / "config.toml"
    if saved.exists() and (journal.read(out) or any((out / "checkpoints").glob("step-*"))):
        if not config.checkpoint.resume:
            raise UsageError(
                f"{out} holds a run already: checkpoint.resume=true goes on with it, or choose another out"
            )
        before = by_key(read(type(config), saved))
        changed = [
            f"{name} = {value}"
            for name, value in by_key(config).items()
            if value != before[name] and not name.startswith(FREE)
        ]
        if changed:
            raise UsageError(f"{out} was begun with other values of: " + "; ".join(changed))


def load(settings: Model, seed: int, device: str | None = None) -> Any:
    """Return the policy as it is before training.

    Args:
        settings: Of the configuration.
        seed: Of the first weights of adapters.
        device: Where a whole copy goes; None shares the weights out to all ranks.
    """
    own = ranks.own_device(settings.device)
    model = load_policy(
        settings.path,
        dtype=settings.dtype,
        device=device or (own if ranks.count() == 1 else "cpu"),  # its parts go to the devices by themselves
        lora=settings.lora,
        seed=seed,
        gradient_checkpointing=settings.gradient_checkpointing,
    )
    return model if device else ranks.shard(model, own)


def precision(settings: Model, model: Any) -> AbstractContextManager[Any]:
    """Return the context in which matrices are multiplied."""
    return torch.autocast(model.device.type, torch.bfloat16, enabled=settings.autocast)


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


def command(arguments: Sequence[str], cls: Any, about: str, train: Callable[[Any], object]) -> None:
    """Read a configuration from the command line and train; --help prints all keys."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(about)
        for key in describe(cls):
            print(f"  {key.name} = {key.default}  ({key.type})\n      {key.doc}")
        return
    try:
        config = read(cls, arguments[0], *arguments[1:])
        with ranks.together(config.model.device):
            train(config)
    except (GymEnterpriseError, EngineError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
