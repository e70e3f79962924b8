"""The configuration of a run: one TOML file, each of whose keys is declared, documented and checked here.

An override is ``optim.lr=1e-4``: the right side is a TOML value, or, where the key is text, may be bare text.
"none" stands for a key that is absent, which TOML has no value for.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import itertools
import json
import operator
import tomllib
import types
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import torch
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from gym_enterprise.errors import UsageError
from train.losses import Bounds, Importance, KLKind, Normaliser, importance_weights
from train.totals import Level

Config = TypeVar("Config")
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def key(default: Any, doc: str, **rules: Any) -> Any:
    """Declare a key: its default (``...`` where it must be given), a line of help, its range."""
    return Field(default, description=doc, **rules)


@dataclass(frozen=True, config=STRICT)
class Lora:
    """Low-rank adapters."""

    rank: int = key(0, "Of the adapters that are trained; 0 trains the weights themselves.", ge=0)
    alpha: float = key(32.0, "What the adapters add is multiplied by alpha / rank.", gt=0)
    targets: str | tuple[str, ...] = key("all-linear", 'Layers, or "all-linear": all but the output head.')


@dataclass(frozen=True, config=STRICT)
class Model:
    """The model to train."""

    path: str = key(..., "Folder of a causal language model, or its name on the model hub.")
    device: str | None = key(None, "Where it goes; none is CUDA where there is one.")
    dtype: Literal["float32", "bfloat16"] = key(
        "float32", "Of the weights. In bfloat16 small updates are lost, unless only adapters learn."
    )
    autocast: bool = key(False, "Multiply matrices in bfloat16, with the weights as they are.")
    gradient_checkpointing: bool = key(False, "Compute activations again instead of keeping them.")
    lora: Lora = Field(default_factory=Lora)

    def __post_init__(self) -> None:
        try:
            torch.device(self.device or "cpu")
        except RuntimeError:
            raise UsageError(f"model.device is {self.device!r}: give cpu, cuda or cuda:1, say") from None


@dataclass(frozen=True, config=STRICT)
class Optim:
    """Optimiser, schedule and size of a pass: see `train.optim`."""

    kind: Literal["adamw", "muon"] = key("adamw", '"muon" leaves AdamW what is no matrix of the body.')
    lr: float = key(1e-5, "Learning rate of AdamW, at its highest.", gt=0)
    muon_lr: float | None = key(None, "That of Muon; none is lr.", gt=0)
    muon_adjust: Literal["match_rms_adamw", "original"] = key(
        "match_rms_adamw", "Muon's updates have the size of AdamW's, or that of Jordan et al. (2024)."
    )
    betas: tuple[float, float] = key((0.9, 0.95), "Decay of the two moments of AdamW.")
    weight_decay: float = key(0.0, "Of matrices; norms and biases never decay.", ge=0)
    warmup_steps: int = key(0, "Optimiser steps in which the learning rates rise.", ge=0)
    schedule: Literal["constant", "linear", "cosine"] = key("constant", "How they go on after that.")
    lr_floor: float = key(0.0, "Share of them that the schedule ends at.", ge=0, le=1)
    clip_norm: float | None = key(1.0, "Norm that all gradients together are cut to.", gt=0)
    micro_batch_tokens: int = key(16384, "Most tokens of a forward pass, with padding.", ge=1)

    def __post_init__(self) -> None:
        if not all(0 <= beta < 1 for beta in self.betas):
            raise UsageError(f"optim.betas is {list(self.betas)}: give two numbers from 0 to below 1")
        if self.kind == "adamw" and self.muon_lr is not None:
            raise UsageError(f"optim.muon_lr is {self.muon_lr}, but optim.kind 'adamw': drop one")


@dataclass(frozen=True, config=STRICT)
class Checkpoint:
    """What a killed run goes on from: see `train.checkpoint`."""

    every: int = key(20, "Steps between two; the last step has one too.", ge=1)
    keep_last: int = key(2, "How many of the latest are kept.", ge=1)
    keep_every: int | None = key(None, "Those at multiples of this step are kept too.", ge=1)
    resume: bool = key(False, "Go on from the latest in `out`.")


@dataclass(frozen=True, config=STRICT)
class Evaluate:
    """How the policy is measured while it learns."""

    every: int = key(20, "Steps between two; 0 is never.", ge=0)
    split: str = key("test", "Which tasks: none that are trained on.")
    limit: int | None = key(None, "Only the first tasks of the split, so many.", ge=1)
    trials: int = key(1, "How often each is played.", ge=1)
    temperature: float = key(1.0, "Of the agent's tokens; 0 is greedy.", ge=0)


@dataclass(frozen=True, config=STRICT)
class Rollout:
    """How episodes are played for training."""

    mode: Literal["transformers", "vllm", "servers"] = key(
        "transformers", "What samples: the model itself, vLLM on the same GPU, or vLLM servers."
    )
    urls: tuple[str, ...] = key((), 'Of the servers, for "servers".')
    tasks_per_step: int = key(8, "B: tasks that a step draws.", ge=1)
    group_size: int = key(8, "G: rollouts of each, compared with one another.", ge=2)
    temperature: float = key(1.0, "Of the agent's tokens.", gt=0)
    max_tokens: int = key(512, "Most tokens of a turn.", ge=1)
    max_segment_tokens: int = key(4096, "Most tokens of a turn with all before it.", ge=2)
    max_steps: int | None = key(None, "Most messages and calls; none is the task's own.", ge=1)
    user: str = key("scripted", "Who plays the user.")
    format: Literal["hermes", "json", "llama"] = key("hermes", "How the model writes calls.")
    prompt: str | None = key(None, "File of the system message; none is that of `LLMPlayer`.")
    keep_history: bool = key(True, "Keep earlier turns as they were sampled, thoughts included.")
    concurrency: int = key(64, "Most episodes at once, of each process that plays.", ge=1)
    turn_deadline: float | None = key(None, "Seconds of a turn; later, not scored.", gt=0)
    episode_deadline: float | None = key(None, "Seconds of an episode; later, not scored.", gt=0)
    finish_after: float = key(1.0, "Share of episodes after which the long rest is cut.", gt=0, le=1)

    def __post_init__(self) -> None:
        if (self.mode == "servers") != bool(self.urls):
            raise UsageError(
                f"rollout.mode is {self.mode!r} and rollout.urls {list(self.urls)}: 'servers' needs urls, "
                "the others take none"
            )


@dataclass(frozen=True, config=STRICT)
class PolicyLoss:
    """Advantages and loss: see `train.advantages` and `train.losses`, whose names these are."""

    advantage: Literal["leave_one_out", "grpo", "dr_grpo", "shuffled"] = key(
        "leave_one_out",
        'Their rule; "shuffled" deals those of the first out at random, as a control.',
    )
    scale: bool = key(True, 'Divide by the deviation; for "leave_one_out" and "shuffled".')
    filter_zero_variance: bool = key(True, "Drop groups whose rewards are all equal.")
    overlong: Literal["keep", "mask"] = key(
        "keep", "Whether rollouts that were cut for length count in the loss."
    )
    clip_low: float = key(0.2, "How far below 1 a ratio still earns.", ge=0, le=1)
    clip_high: float = key(0.2, "How far above 1 a ratio still earns.", ge=0)
    dual_clip: float | None = key(None, "Multiple of A < 0 below which no term falls.", gt=1)
    importance: Importance = key("raw", "What is made of w, the trainer's probability over the engine's.")
    importance_cap: Bounds | None = key(None, 'Most w, or [least, most]; for "truncated" and "icepop".')
    geometric_delta: Bounds | None = key(None, "Rollouts count whose mean w is in 1 ± this, or [-, +].")
    normaliser: Normaliser = key("group", "Divide by the tokens of a group, or of the batch.")
    level: Level = key("token", 'Ratios of tokens, or, "sequence", of rollouts (GSPO).')
    kl_weight: float = key(0.0, "Of a KL penalty towards the initial model.", ge=0)
    kl_kind: KLKind = key("k3", "Estimate of the KL.")

    def __post_init__(self) -> None:
        importance_weights(torch.zeros(0), self.importance, self.importance_cap)
        if self.geometric_delta is not None and torch.tensor(self.geometric_delta).min() <= 0:
            raise UsageError(f"loss.geometric_delta is {self.geometric_delta}: give what is above 0")
        if self.advantage == "grpo" and not self.scale:
            raise UsageError("loss.scale is false, but loss.advantage 'grpo' divides: give 'dr_grpo'")


@dataclass(frozen=True, config=STRICT)
class Difficulty:
    """Tasks that always or never succeed are drawn less, as nothing is learned from them."""

    floor: float = key(0.1, "Their weight, where others have 1; 1 draws all alike.", gt=0, le=1)
    decay: float = key(0.9, "What older results of a task count for at each new one.", ge=0, le=1)


@dataclass(frozen=True, config=STRICT)
class GrpoConfig:
    """All keys of `train.grpo`."""

    out: str = key(..., "Folder of the run.")
    domain: str = key(..., "Name of the domain, or module:function.")
    split: str = key("train", "Tasks to train on.")
    tasks: str | None = key(None, "tasks.json of `train.filter`: only these of the split.")
    seed: int = key(0, "Of all that is drawn at random.", ge=0, lt=2**63)
    steps: int = key(100, "Rounds of rollouts, each followed by its updates.", ge=1)
    minibatches: int = key(2, "Parts of a round's groups, each an update.", ge=1)
    epochs: int = key(1, "How often the groups of a round are gone through.", ge=1)
    max_staleness: int = key(0, "Rounds that rollouts may be behind the weights; above 0 they overlap.", ge=0)
    canary: float = key(0.1, "Mean |log w| at which the engine has other weights: stop.", gt=0)
    tensorboard: bool = key(False, "Write TensorBoard files beside the JSON lines.")
    model: Model = Field(default_factory=Model)
    rollout: Rollout = Field(default_factory=Rollout)
    loss: PolicyLoss = Field(default_factory=PolicyLoss)
    optim: Optim = Field(default_factory=Optim)
    evaluate: Evaluate = Field(default_factory=Evaluate)
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)
    difficulty: Difficulty = Field(default_factory=Difficulty)

    def __post_init__(self) -> None:
        if self.max_staleness and self.loss.importance == "off":
            raise UsageError(
                f"max_staleness is {self.max_staleness} and loss.importance 'off': rollouts of older weights "
                "need 'raw', 'truncated' or 'icepop'"
            )
        if self.max_staleness and self.rollout.mode == "vllm":
            raise UsageError(
                f"max_staleness is {self.max_staleness} and rollout.mode 'vllm', which sleeps while "
                "the model learns: for rollouts meanwhile give 'servers'"
            )
        if self.minibatches > self.rollout.tasks_per_step:
            raise UsageError(
                f"minibatches is {self.minibatches}, rollout.tasks_per_step {self.rollout.tasks_per_step}: "
                "groups are not split, so give no more minibatches than tasks"
            )


@dataclass(frozen=True, config=STRICT)
class SftConfig:
    """All keys of `train.sft`."""

    out: str = key(..., "Folder of the run.")
    data: tuple[str, ...] = key(..., "Files or folders of `train.filter`, and folders of runs.", min_length=1)
    weights: tuple[float, ...] = key((), "How often each of `data` is drawn; none: by its size.")
    format: Literal["hermes", "json", "llama"] = key("hermes", "How calls of runs are written.")
    prompt: str | None = key(None, "File of the system message of runs; none is that of `LLMPlayer`.")
    keep_history: bool = key(True, "As rollout.keep_history of `train.grpo`.")
    seed: int = key(0, "Of all that is drawn at random.", ge=0, lt=2**63)
    steps: int | None = key(None, "Optimiser steps; none goes by epochs.", ge=1)
    epochs: float = key(1.0, "How often the data is gone through.", gt=0)
    batch_size: int = key(16, "Conversations of an optimiser step.", ge=1)
    max_tokens: int = key(4096, "Longer conversations are dropped, and counted.", ge=2)
    context_weight: float = key(0.0, "Loss of a token that is not the agent's, against 1.", ge=0, le=1)
    holdout: float = key(0.0, "Share of the tasks that is only measured, not learned.", ge=0, lt=1)
    holdout_every: int = key(20, "Steps between two measurements; the last step has one too.", ge=1)
    tensorboard: bool = key(False, "Write TensorBoard files beside the JSON lines.")
    model: Model = Field(default_factory=Model)
    optim: Optim = Field(default_factory=Optim)
    checkpoint: Checkpoint = Field(default_factory=Checkpoint)

    def __post_init__(self) -> None:
        if self.weights and (len(self.weights) != len(self.data) or min(self.weights) <= 0):
            raise UsageError(
                f"weights is {list(self.weights)} for {len(self.data)} entries of data: give each a number "
                "above 0"
            )


class Key(NamedTuple):
    """One line of the documentation."""

    name: str
    type: str
    default: str
    doc: str


def describe(cls: type) -> Iterator[Key]:
    """Yield all keys of a configuration and its sections."""
    for name, hint, field in _leaves(cls):
        default = "required" if field.is_required() else _toml(field.default)
        yield Key(name, _type(hint), default, field.description)


def read(cls: type[Config], path: Path | str, *overrides: str) -> Config:
    """Read a TOML file, put overrides such as ``optim.lr=1e-4`` in place, and check everything.

    Raises:
        UsageError: The file is not there or no TOML, a key is unknown or missing, or a value has the wrong
            type, is out of its range, or does not go with another.

    Example:
        >>> read(GrpoConfig, "train/configs/grpo_cpu.toml", "optim.lr=1e-4").optim.lr  # doctest: +SKIP
        0.0001
    """
    hints = {name: hint for name, hint, _ in _leaves(cls)}
    try:
        values = dict(_flat(tomllib.loads(Path(path).read_text(encoding="utf-8"))))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}") from None
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals:
            raise UsageError(f"the override {override!r} has no '=': write key=value")
        values[name] = _value(text, hints.get(name))
    for name in values:
        if name not in hints:
            raise UsageError(f"there is no key {name!r}: {_nearest(name, hints)}")
    tree: dict[str, Any] = {}
    for name, hint in hints.items():  # all of them, so that a section that is left out is there, and empty
        *sections, last = name.split(".")
        section = functools.reduce(lambda at, each: at.setdefault(each, {}), sections, tree)
        if name in values:
            optional = types.NoneType in get_args(hint)
            section[last] = None if optional and values[name] == "none" else values[name]
    try:
        return TypeAdapter(cls).validate_json(json.dumps(tree, default=str))
    except ValidationError as error:
        raise UsageError("\n".join(_faults(error, cls, values))) from None


def by_key(config: Any) -> dict[str, str]:
    """Return the values of all keys, as they stand in TOML."""
    return {key.name: _toml(operator.attrgetter(key.name)(config)) for key in describe(type(config))}


def to_toml(config: Any) -> str:
    """Return a configuration as TOML that `read` makes the same of, with a comment at each key."""
    own = by_key(config)
    return "".join(f"{key.name} = {own[key.name]}  # {key.doc}\n" for key in describe(type(config)))


def _leaves(cls: Any, prefix: str = "") -> Iterator[tuple[str, Any, Any]]:
    hints = get_type_hints(cls)
    for name, field in cls.__pydantic_fields__.items():
        if dataclasses.is_dataclass(hints[name]):
            yield from _leaves(hints[name], f"{prefix}{name}.")
        else:
            yield prefix + name, hints[name], field


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _value(text: str, hint: Any) -> Any:
    """Return the right side of an override: a TOML value, or the text where it is none or text is wanted."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    is_text = hint is str or str in get_args(hint)
    keep = isinstance(parsed["value"], str | list) or not is_text
    return parsed["value"] if keep and len(parsed) == 1 else text


def _nearest(name: str, known: Collection[str]) -> str:
    last = name.rpartition(".")[2]
    near = [each for each in known if each.rpartition(".")[2] == last]
    near += difflib.get_close_matches(name, known)
    return f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"


def _faults(error: ValidationError, cls: type, values: Mapping[str, Any]) -> Iterator[str]:
    docs = {key.name: key.doc for key in describe(cls)}
    rules: dict[str, list[str]] = {}
    for each in error.errors():
        place = list(itertools.accumulate(map(str, each["loc"]), "{}.{}".format))
        name = next((name for name in place if name in docs), "")
        rules.setdefault(name, []).append(each["msg"].removeprefix("Value error, ").replace("Input", "it"))
    for name, texts in rules.items():
        if not name:
            yield from texts
        elif name in values:
            yield f"{name} is {_toml(values[name])}: {', or '.join(texts)} ({docs[name]})"
        else:
            yield f"{name} is missing ({docs[name]})"


def _toml(value: Any) -> str:
    return json.dumps("none" if value is None else value, ensure_ascii=False, default=str)


def _type(hint: Any) -> str:
    words = {str: "text", int: "integer", float: "number", bool: "true | false", types.NoneType: '"none"'}
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return " | ".join(map(_toml, parts))
    if get_origin(hint) is tuple:
        return f"[{', '.join('...' if part is ... else _type(part) for part in parts)}]"
    return " | ".join(map(_type, parts)) if parts else words[hint]
