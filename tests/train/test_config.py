"""The configuration: what a file and its overrides give, and that no mistake in them passes in silence."""

from __future__ import annotations

import dataclasses
import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
from train.config import GrpoConfig, Optim, SftConfig, describe, read, to_toml  # noqa: E402
from train.losses import policy_loss  # noqa: E402

GRPO = """
out = "runs/a"
domain = "Banking-v0"
[model]
path = "models/tiny"
[optim]
kind = "muon"
betas = [0.8, 0.9]
"""
SFT = 'out = "runs/a"\ndata = ["runs/b"]\nmodel.path = "models/tiny"\n'


@pytest.fixture
def grpo(tmp_path: Path) -> Any:
    (tmp_path / "grpo.toml").write_text(GRPO)
    return lambda *overrides: read(GrpoConfig, tmp_path / "grpo.toml", *overrides)


@pytest.fixture
def sft(tmp_path: Path) -> Any:
    (tmp_path / "sft.toml").write_text(SFT)
    return lambda *overrides: read(SftConfig, tmp_path / "sft.toml", *overrides)


def test_a_file_gives_what_it_says_and_defaults_for_the_rest(grpo: Any, sft: Any) -> None:
    config = grpo()
    assert (config.domain, config.model.path) == ("Banking-v0", "models/tiny")
    assert (config.optim.kind, config.optim.betas, config.optim.lr) == ("muon", (0.8, 0.9), 1e-5)
    assert (config.loss.advantage, config.loss.importance) == ("leave_one_out", "raw")
    assert sft().data == ("runs/b",)
    assert sft().optim == Optim()


def test_a_configuration_cannot_be_changed(grpo: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        grpo().optim.lr = 1.0


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("optim.lr=1e-4", "optim.lr", 1e-4),
        ("optim.lr=1", "optim.lr", 1.0),
        ("optim.betas=[0.5, 0.6]", "optim.betas", (0.5, 0.6)),
        ("optim.kind=adamw", "optim.kind", "adamw"),
        ('optim.kind="adamw"', "optim.kind", "adamw"),
        ("model.gradient_checkpointing=true", "model.gradient_checkpointing", True),
        ("optim.clip_norm=none", "optim.clip_norm", None),
        ("model.device=none", "model.device", None),
        ("model.device=cuda:1", "model.device", "cuda:1"),
        ("loss.geometric_delta=0.1", "loss.geometric_delta", 0.1),
        ("loss.geometric_delta=[0.2, 0.1]", "loss.geometric_delta", (0.2, 0.1)),
        ("model.lora.targets=q_proj", "model.lora.targets", "q_proj"),
        ('model.lora.targets=["q_proj", "v_proj"]', "model.lora.targets", ("q_proj", "v_proj")),
        # Text stays text, whatever it looks like.
        ("out=2024", "out", "2024"),
        ("out=true", "out", "true"),
        ("out=a=b c", "out", "a=b c"),
        ("out=", "out", ""),
        ('out="1"', "out", "1"),
        ("out=none", "out", "none"),  # a key that cannot be absent
        ("out=1\nseed = 2", "out", "1\nseed = 2"),
    ],
)
def test_an_override_is_a_toml_value_or_bare_text_where_the_key_is_text(
    grpo: Any, override: str, key: str, value: Any
) -> None:
    found = grpo(override)
    for name in key.split("."):
        found = getattr(found, name)
    assert (found, type(found)) == (value, type(value))


def test_overrides_win_over_the_file_and_later_over_earlier_ones(grpo: Any) -> None:
    assert grpo("optim.betas=[0.1, 0.2]", "optim.betas=[0.3, 0.4]").optim.betas == (0.3, 0.4)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optim.lrr=1", "there is no key 'optim.lrr': did you mean 'optim.lr'?"),
        ("optm.lr=1", "there is no key 'optm.lr': did you mean 'optim.lr'?"),
        ("lr=1", "there is no key 'lr': did you mean 'optim.lr'?"),
        ("warmup_steps=1", "there is no key 'warmup_steps': did you mean 'optim.warmup_steps'?"),
        ("zzzzz=1", "there is no key 'zzzzz': the keys are out, domain, "),
        ("optim=1", "there is no key 'optim': did you mean 'optim."),
        ("rollout.top_p=0.9", "there is no key 'rollout.top_p'"),
        ("optim.lr", "the override 'optim.lr' has no '=': write key=value"),
        ("optim.lr=-1", "optim.lr is -1: it should be greater than 0 (Learning rate of AdamW"),
        ("optim.lr=nan", "optim.lr is NaN: it should be a finite number"),
        ("optim.lr=true", "optim.lr is true: it should be a valid number"),
        ("optim.lr=fast", 'optim.lr is "fast": it should be a valid number'),
        ("seed=1.5", "seed is 1.5: it should be a valid integer"),
        ("seed=1\nsteps = 2", 'seed is "1\\nsteps = 2": it should be a valid integer'),
        ("model.autocast=1", "model.autocast is 1: it should be a valid boolean"),
        ("optim.kind=sgd", "optim.kind is \"sgd\": it should be 'adamw' or 'muon'"),
        ("optim.betas=[0.9]", "optim.betas is [0.9]: "),
        ("optim.betas=[0.9, 1.0]", "optim.betas is [0.9, 1.0]: give two numbers from 0 to below 1"),
        ("rollout.urls=http://a", 'rollout.urls is "http://a": it should be a valid array'),
        ("loss.importance_cap=x", 'loss.importance_cap is "x": it should be a valid number, or it should'),
        ("loss.geometric_delta=0.0", "loss.geometric_delta is 0.0: give what is above 0"),
        ("checkpoint.keep_last=0", "checkpoint.keep_last is 0: it should be greater than or equal to 1"),
    ],
)
def test_a_mistake_is_named_with_its_value_and_the_rule(grpo: Any, override: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        grpo(override)
    assert str(caught.value).startswith(message)


def test_b036_groups_of_one_are_refused_at_the_start(grpo: Any) -> None:
    with pytest.raises(UsageError, match="group_size is 1: it should be greater than or equal to 2"):
        grpo("rollout.group_size=1")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["max_staleness=1", "loss.importance=off"],
            "max_staleness is 1 and loss.importance 'off': rollouts of",
        ),
        (
            ["max_staleness=1", "rollout.mode=vllm"],
            "rollout.mode 'vllm', which sleeps while the model learns: .* 'servers'",
        ),
        (["loss.importance=icepop"], "importance 'icepop', importance_cap None: .* need a cap"),
        (["loss.importance_cap=2"], "importance 'raw', importance_cap 2.0: .* the others take none"),
        (
            ["loss.importance=truncated", "loss.importance_cap=[2, 1]"],
            r"importance_cap is \(2.0, 1.0\): give",
        ),
        (
            ["loss.advantage=grpo", "loss.scale=false"],
            "loss.scale is false, .* 'grpo' divides: give 'dr_grpo'",
        ),
        (["rollout.mode=servers"], r"rollout.mode is 'servers' and rollout.urls \[\]: 'servers' needs urls"),
        (['rollout.urls=["http://a"]'], "rollout.mode is 'transformers' .* the others take none"),
        (["optim.kind=adamw", "optim.muon_lr=1"], "optim.muon_lr is 1.0, but optim.kind 'adamw': drop one"),
        (["minibatches=9"], "minibatches is 9, rollout.tasks_per_step 8: .* no more minibatches than tasks"),
    ],
)
def test_values_that_do_not_go_together_are_refused(grpo: Any, overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        grpo(*overrides)


def test_weights_are_one_for_each_entry_of_data(sft: Any) -> None:
    assert sft("weights=[0.5]").weights == (0.5,)
    for wrong in ("weights=[1, 2]", "weights=[0.0]"):
        with pytest.raises(
            UsageError, match=r"weights is .* for 1 entries of data: give each a number above 0"
        ):
            sft(wrong)


def test_a_mistake_in_the_file_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GRPO + "[optim.muon]\nlr = 1\n")
    with pytest.raises(UsageError, match=r"there is no key 'optim.muon.lr': did you mean 'optim\.lr'"):
        read(GrpoConfig, tmp_path / "a.toml")


def test_all_that_is_wrong_is_said_at_once(grpo: Any) -> None:
    with pytest.raises(UsageError) as caught:
        grpo("optim.lr=0", "seed=-1")
    assert [line.split(" is ")[0] for line in str(caught.value).splitlines()] == ["seed", "optim.lr"]


def test_a_key_that_must_be_given_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(UsageError) as caught:
        read(GrpoConfig, tmp_path / "empty.toml")
    assert [line.split(" (")[0] for line in str(caught.value).splitlines()] == [
        "out is missing",
        "domain is missing",
        "model.path is missing",
    ]


def test_a_file_that_is_not_there_or_is_no_toml_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("out = ")
    for name in ("a.toml", "b.toml"):
        with pytest.raises(UsageError, match=rf"{name} cannot be read as TOML: "):
            read(GrpoConfig, tmp_path / name)


def test_a_resolved_configuration_reads_back_as_the_same(grpo: Any, sft: Any, tmp_path: Path) -> None:
    config = grpo(
        'out=a "b" \\ é\u2028\n', "optim.clip_norm=none", "optim.lr=1e-07", "loss.geometric_delta=[0.1, 0.2]"
    )
    for each in (config, sft("steps=3")):
        (tmp_path / "resolved.toml").write_text(to_toml(each), encoding="utf-8")
        assert read(type(each), tmp_path / "resolved.toml") == each
    keys = {key.name for key in describe(SftConfig)}
    assert {line.split(" = ")[0] for line in to_toml(sft()).splitlines()} == keys


@pytest.mark.parametrize("cls", [GrpoConfig, SftConfig])
def test_every_key_is_documented_with_its_type_and_default(cls: Any) -> None:
    rows = list(describe(cls))
    assert len({row.name for row in rows}) == len(rows) > 20
    for row in rows:
        assert row.doc.endswith("."), row.name
        assert len(row.doc) > 10
        if row.default != "required":
            tomllib.loads(f"{row.name} = {row.default}")


def test_the_description_says_what_may_be_written() -> None:
    rows = {row.name: row for row in describe(GrpoConfig)}
    assert rows["optim.lr"][1:3] == ("number", "1e-05")
    assert rows["out"][1:3] == ("text", "required")
    assert rows["optim.kind"].type == '"adamw" | "muon"'
    assert rows["loss.importance_cap"][1:3] == ('number | [number, number] | "none"', '"none"')
    assert rows["model.lora.targets"].type == "text | [text, ...]"
    assert rows["loss.scale"][1:3] == ("true | false", "true")


def test_every_option_of_the_policy_loss_is_a_key_with_its_default() -> None:
    keys = {row.name: row for row in describe(GrpoConfig)}
    per_batch = {"rollout_ids", "totals", "kl"}  # kl is loss.kl_weight and loss.kl_kind
    for name, parameter in inspect.signature(policy_loss).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in per_batch:
            default = "none" if parameter.default is None else parameter.default
            assert tomllib.loads(f"x = {keys[f'loss.{name}'].default}")["x"] == default, name
