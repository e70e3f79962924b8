"""Policies: loaded, adapted, kept and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tests.engines.tiny_model import tiny_model, tiny_tokenizer  # noqa: E402
from tests.train.test_logprobs import assert_same, gradients, made, plain, some_rows  # noqa: E402
from train.config import Lora  # noqa: E402
from train.logprobs import token_logprobs  # noqa: E402
from train.model import (  # noqa: E402
    load_policy,
    load_policy_state,
    policy_state,
    save_policy,
    weights,
)

ADAPTERS = Lora(rank=4, alpha=8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_policy(tiny_model(tie_word_embeddings=True), tiny_tokenizer(), tmp_path / "start")
    return tmp_path / "start"


def adapted(folder: Path, lora: Lora = ADAPTERS, **settings: Any) -> Any:
    """A policy whose adapters have learned something."""
    pytest.importorskip("peft")
    policy = load_policy(folder, lora=lora, **settings)
    generator = torch.Generator().manual_seed(5)
    for name, one in policy.named_parameters():
        if "lora_B" in name:
            one.data.copy_(torch.randn(one.shape, generator=generator) / 10)
    return policy


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(first[name].equal(second[name]) for name in first)


@pytest.mark.parametrize("tied", [True, False])
def test_what_is_saved_is_loaded_bit_by_bit(tied: bool, tmp_path: Path) -> None:
    model = tiny_model(tie_word_embeddings=tied)
    save_policy(model, tiny_tokenizer(), tmp_path / "saved")
    again = load_policy(tmp_path / "saved")
    assert same(model.state_dict(), again.state_dict())
    assert (again.lm_head.weight is again.model.embed_tokens.weight) == tied
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert tokenizer.chat_template == tiny_tokenizer().chat_template
    assert json.loads((tmp_path / "saved" / "config.json").read_text())["architectures"] == [
        "LlamaForCausalLM"
    ]
    assert [one.name for one in tmp_path.iterdir()] == ["saved"]


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def save_pretrained(self, folder: Path) -> None:
            raise OSError("no space left")

    (tmp_path / "saved.part").mkdir()
    (tmp_path / "saved.part" / "torn").touch()
    with pytest.raises(OSError, match="no space left"):
        save_policy(tiny_model(), Broken(), tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    save_policy(tiny_model(), tiny_tokenizer(), tmp_path / "saved")
    assert not (tmp_path / "saved.part").exists()
    assert not (tmp_path / "saved" / "torn").exists()
    with pytest.raises(UsageError, match="is there already: remove it, or save under another name"):
        save_policy(tiny_model(), tiny_tokenizer(), tmp_path / "saved")


def test_adapters_start_as_nothing_from_their_seed_and_are_all_that_is_trained(folder: Path) -> None:
    pytest.importorskip("peft")
    state = torch.get_rng_state()
    policy = load_policy(folder, lora=ADAPTERS)
    assert torch.get_rng_state().equal(state)
    ids, attention = some_rows()
    assert token_logprobs(policy, ids, attention).equal(token_logprobs(load_policy(folder), ids, attention))
    trained = {name for name, one in policy.named_parameters() if one.requires_grad}
    assert {name.rpartition(".lora_")[0].rpartition(".")[2] for name in trained} == {
        *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    }
    assert policy_state(policy).keys() == trained
    assert same(policy_state(policy), policy_state(load_policy(folder, lora=ADAPTERS)))
    other = policy_state(load_policy(folder, lora=ADAPTERS, seed=4))
    assert not same(policy_state(policy), other)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("padding", ["right", "left"])
def test_logprobs_and_gradients_with_adapters_are_those_of_each_row_by_itself(
    padding: str, checkpointing: bool, folder: Path
) -> None:
    policy = adapted(folder, gradient_checkpointing=checkpointing)
    ids, attention = some_rows(padding)
    logprobs, expected = token_logprobs(policy, ids, attention), plain(policy, ids, attention)
    torch.testing.assert_close(logprobs, expected, rtol=0, atol=1e-5)
    found = gradients(policy, logprobs)
    assert found.keys() == policy_state(policy).keys()
    assert_same(found, gradients(policy, expected))


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # peft's
def test_merged_weights_do_what_the_adapters_do_and_are_those_that_peft_merges(
    folder: Path, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    policy = adapted(folder)
    before = policy_state(policy)
    save_policy(policy, tiny_tokenizer(), tmp_path / "saved")
    assert same(policy_state(policy), before)
    ids, attention = some_rows()
    expected = token_logprobs(policy, ids, attention)
    merged = load_policy(tmp_path / "saved")
    torch.testing.assert_close(token_logprobs(merged, ids, attention), expected, rtol=0, atol=1e-5)
    on_top = peft.PeftModel.from_pretrained(load_policy(folder), tmp_path / "saved" / "adapter")
    assert token_logprobs(on_top, ids, attention).equal(expected)
    assert same(merged.state_dict(), policy.merge_and_unload().state_dict())


def test_weights_for_an_engine_have_the_names_of_the_plain_model(folder: Path) -> None:
    start = load_policy(folder)
    names = [name for name, _ in start.named_parameters()]
    assert [name for name, _ in weights(start)] == names
    assert [name for name, _ in weights(adapted(folder))] == names
    assert "lm_head.weight" not in names  # which is tied


def test_adapters_of_tied_embeddings_are_refused(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("peft")
    both = Lora(rank=4, targets=("q_proj", "lm_head"))
    with pytest.warns(UserWarning, match="tie"), pytest.raises(UsageError, match="share their weights"):
        load_policy(folder, lora=both)
    with pytest.raises(UsageError, match=r"Lora\(.*'nothing'.* does not fit the model"):
        load_policy(folder, lora=Lora(rank=4, targets=("nothing",)))
    save_policy(tiny_model(), tiny_tokenizer(), tmp_path / "untied")
    policy = adapted(tmp_path / "untied", both)
    ids, attention = some_rows()
    logprobs = token_logprobs(policy, ids, attention)
    torch.testing.assert_close(logprobs, plain(policy, ids, attention), rtol=0, atol=1e-5)
    save_policy(policy, tiny_tokenizer(), tmp_path / "saved")
    merged = token_logprobs(load_policy(tmp_path / "saved"), ids, attention)
    torch.testing.assert_close(merged, logprobs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("lora", [None, ADAPTERS])
def test_a_state_is_put_back_bit_by_bit(lora: Lora | None, folder: Path, tmp_path: Path) -> None:
    policy = adapted(folder) if lora else load_policy(folder)
    with torch.no_grad():
        for one in policy.parameters():
            one += one.requires_grad * 0.125
    state = policy_state(policy)
    torch.save(state, tmp_path / "state")
    fresh = load_policy(folder, lora=lora)
    load_policy_state(fresh, torch.load(tmp_path / "state"))
    assert same(fresh.state_dict(), policy.state_dict())
    with torch.no_grad():
        next(iter(state.values())).zero_()  # copies, not the weights themselves
    assert same(fresh.state_dict(), policy.state_dict())


def test_tied_weights_are_in_the_state_once_and_stay_tied(folder: Path) -> None:
    policy = load_policy(folder)
    state = policy_state(policy)
    assert "lm_head.weight" not in state
    load_policy_state(policy, {name: one + 1 for name, one in state.items()})
    assert policy.lm_head.weight is policy.model.embed_tokens.weight
    assert policy.lm_head.weight.equal(state["model.embed_tokens.weight"] + 1)


def test_a_state_of_another_model_is_refused_and_changes_nothing(folder: Path) -> None:
    policy = load_policy(folder)
    state = policy_state(policy)
    others = [
        policy_state(adapted(folder)),
        state | {"model.norm.weight": torch.ones(3)},
        {name: one.bfloat16() for name, one in state.items()},
        {name: one + 1 for name, one in state.items() if "norm" not in name},
    ]
    for other in others:
        with pytest.raises(UsageError, match="the state is of another model: "):
            load_policy_state(policy, other)
    assert same(policy_state(policy), state)


def test_activations_are_computed_again_even_after_an_engine_set_evaluation_mode(folder: Path) -> None:
    policy = load_policy(folder, gradient_checkpointing=True)
    ids, attention = some_rows()
    plainly = load_policy(folder)
    expected = gradients(plainly, plain(plainly, ids, attention))
    passes: list[int] = []
    policy.model.layers[0].mlp.register_forward_pre_hook(lambda *_: passes.append(1))
    for mode in (True, False):
        policy.train(mode)
        passes.clear()
        logprobs = token_logprobs(policy, ids, attention)
        assert len(passes) == 1
        found = gradients(policy, logprobs)
        assert len(passes) == 2
        assert_same(found, expected)
        with torch.no_grad():
            token_logprobs(policy, ids, attention)
        assert len(passes) == 3


def test_a_policy_has_no_dropout(tmp_path: Path) -> None:
    noisy = made("GPT2", vocab_size=70, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    noisy.save_pretrained(tmp_path / "noisy")
    save_policy(tiny_model(attention_dropout=0.5), tiny_tokenizer(), tmp_path / "llama")
    ids, attention = some_rows()
    assert not noisy.train()(ids).logits.equal(noisy(ids).logits)
    for name in ("noisy", "llama"):
        policy = load_policy(tmp_path / name)
        evaluated = token_logprobs(policy.eval(), ids, attention)
        assert token_logprobs(policy.train(), ids, attention).equal(evaluated)


def test_a_path_that_is_no_model_is_named() -> None:
    with pytest.raises(UsageError, match="there is no model at '/nowhere/at-all' that can be loaded"):
        load_policy("/nowhere/at-all")


def test_a_model_without_all_its_weights_is_refused(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = folder / "model.safetensors"
    state = load_file(file)
    del state["model.norm.weight"]
    save_file(state, file, metadata={"format": "pt"})
    with pytest.raises(UsageError, match=r"it lacks 1 weights, such as 'model\.norm\.weight'"):
        load_policy(folder)


def test_weights_may_be_narrow_and_adapters_are_wide_all_the_same(folder: Path, tmp_path: Path) -> None:
    policy = adapted(folder, dtype="bfloat16")
    assert policy.model.model.embed_tokens.weight.dtype == torch.bfloat16
    assert {one.dtype for one in policy_state(policy).values()} == {torch.float32}
    assert {one.dtype for _, one in weights(policy)} == {torch.bfloat16}
