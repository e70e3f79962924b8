"""Log-probabilities by the policy, against a plain pass of the model over each row with all its logits."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from torch.utils import _pytree as pytree  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import train.logprobs  # noqa: E402
from tests.engines.tiny_model import tiny_model  # noqa: E402
from train.logprobs import token_logprobs  # noqa: E402

LENGTHS = [9, 1, 5, 12]
SMALL = {"vocab_size": 70, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
SMALL |= {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "initializer_range": 0.3}
SMALL |= {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def made(kind: str, **settings: Any) -> Any:
    """A small model of another architecture."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        config = getattr(transformers, f"{kind}Config")(**settings)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


MODELS: dict[str, Callable[[], Any]] = {
    "Llama": tiny_model,
    "Llama, tied": lambda: tiny_model(tie_word_embeddings=True),
    "GPT-2, learned absolute positions": lambda: made(
        "GPT2", vocab_size=70, n_embd=32, n_layer=2, n_head=4, n_positions=64, initializer_range=0.3
    ),
    "Gemma 2, soft cap on the logits": lambda: made("Gemma2", **SMALL, final_logit_softcapping=2.0),
    "Cohere, scaled logits": lambda: made("Cohere", **SMALL, logit_scale=0.25),
    "Granite, scaled logits": lambda: made("Granite", **SMALL, logits_scaling=4.0),
    "Mistral, sliding window": lambda: made("Mistral", **SMALL, sliding_window=4),
    "Qwen 3": lambda: made("Qwen3", **SMALL),
}


def some_rows(padding: str = "right", lengths: list[int] = LENGTHS) -> tuple[Any, Any]:
    """Rows of ragged lengths, whose padding is noise."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(0, 70, (len(lengths), max(lengths)), generator=generator)
    attention = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return (ids, attention) if padding == "right" else (ids.flip(1), attention.flip(1))


def plain(model: Any, ids: Any, attention: Any, temperature: float = 1.0) -> Any:
    """The log-probabilities of each row by itself, without padding, with all its logits."""
    logprobs = torch.zeros(ids.shape)
    for row, real in enumerate(attention):
        own = ids[row, real]
        places = real.nonzero()[1:, 0]
        if len(places):
            spread = (model(own.unsqueeze(0)).logits[0, :-1].float() / temperature).log_softmax(-1)
            logprobs = logprobs.index_put((torch.tensor(row), places), spread.gather(-1, own[1:, None])[:, 0])
    return logprobs


def gradients(model: Any, logprobs: Any) -> dict[str, Any]:
    """Those of a sum in which each token weighs otherwise."""
    weights = torch.linspace(-1, 2, logprobs.numel()).reshape(logprobs.shape)
    model.zero_grad(set_to_none=True)
    (weights * logprobs).sum().backward()
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    scale = max(one.abs().max() for one in expected.values())
    for name, one in expected.items():
        torch.testing.assert_close(found[name], one, rtol=1e-5, atol=1e-6 * float(scale), msg=name)


@pytest.fixture(params=[2**26, 70 * 5], ids=["at once", "in pieces"])
def _pieces(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.logprobs, "LOGITS_AT_ONCE", request.param)


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("kind", MODELS)
def test_b044_logprobs_and_their_gradients_are_those_of_each_row_by_itself(kind: str, padding: str) -> None:
    model = MODELS[kind]()
    ids, attention = some_rows(padding)
    for _ in range(2):  # the second time, it is known whether the model does something to its logits
        logprobs = token_logprobs(model, ids, attention)
        expected = plain(model, ids, attention)
        torch.testing.assert_close(logprobs, expected, rtol=0, atol=1e-5)
        assert_same(gradients(model, logprobs), gradients(model, expected))


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_logits_are_divided_by_the_temperature(temperature: float) -> None:
    model = tiny_model()
    ids, attention = some_rows()
    logprobs = token_logprobs(model, ids, attention, temperature=temperature)
    expected = plain(model, ids, attention, temperature)
    torch.testing.assert_close(logprobs, expected, rtol=0, atol=1e-5)
    assert_same(gradients(model, logprobs), gradients(model, expected))


def test_b041_logits_of_one_and_zero_at_half_the_temperature() -> None:
    model = tiny_model(vocab_size=2, num_hidden_layers=1)
    with torch.no_grad():
        model.lm_head.weight.zero_()
    model.lm_head.bias = torch.nn.Parameter(torch.tensor([1.0, 0.0]))
    ids = torch.zeros(1, 2, dtype=torch.long)
    found = {t: token_logprobs(model, ids, ids == 0, temperature=t)[0, 1].item() for t in (0.5, 1.0)}
    assert found == {0.5: pytest.approx(-0.12693, abs=1e-5), 1.0: pytest.approx(-0.31326, abs=1e-5)}


def test_only_what_the_mask_counts_is_there_and_only_it_has_a_gradient() -> None:
    model = tiny_model()
    ids, attention = some_rows()
    mask = torch.zeros_like(attention)
    mask[0, [3, 8]] = mask[3, 11] = True
    seen: list[int] = []
    with torch.no_grad():
        expected = plain(model, ids, attention)
    hook = model.lm_head.register_forward_hook(lambda _, __, output: seen.append(output.shape[1]))
    logprobs = token_logprobs(model, ids, attention, mask)
    hook.remove()
    torch.testing.assert_close(logprobs, torch.where(mask, expected, 0.0), rtol=0, atol=1e-5)
    assert seen == [3]


@pytest.mark.parametrize("model", [tiny_model, MODELS["Gemma 2, soft cap on the logits"]])
def test_b043_a_batch_in_which_nothing_counts_has_a_graph_and_gradients_of_zero(model: Any) -> None:
    ids, attention = some_rows()
    it = model()
    for shape in (ids.shape, (1, 1)):
        few, real = ids[: shape[0], : shape[1]], attention[: shape[0], : shape[1]]
        logprobs = token_logprobs(it, few, real, torch.zeros_like(real))
        assert not logprobs.any()
        assert not any(one.any() for one in gradients(it, logprobs).values())


def test_what_padding_holds_changes_nothing_at_all() -> None:
    model = tiny_model()
    for padding in ("right", "left"):
        ids, attention = some_rows(padding)
        logprobs = [token_logprobs(model, ids.where(attention, fill), attention) for fill in (0, 42)]
        assert logprobs[0].equal(logprobs[1])


def test_logits_are_never_there_at_once_in_either_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train.logprobs, "LOGITS_AT_ONCE", 300 * 4)
    model = tiny_model()
    ids, attention = some_rows()
    rows: set[int] = set()

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(
            self, function: Any, types: Any, arguments: Any = (), options: Any = None
        ) -> Any:
            made = function(*arguments, **(options or {}))
            for one in pytree.tree_leaves(made):
                if isinstance(one, torch.Tensor) and one.shape[-1:] == (300,):
                    rows.add(one.numel() // 300)
            return made

    with Watch():
        token_logprobs(model, ids, attention).sum().backward()
    assert rows == {0, 3, 4, 32}  # 23 tokens, four at a time, and the weights of the head, which have 32


def test_the_model_is_as_it_was_afterwards_whatever_happens() -> None:
    model = tiny_model()
    ids, attention = some_rows()
    before = model(ids).logits
    token_logprobs(model, ids, attention)
    with pytest.raises(IndexError):
        token_logprobs(model, ids + 1000, attention)
    assert model(ids).logits.equal(before)
    assert not model.lm_head._forward_hooks
    assert not model.lm_head._forward_pre_hooks
    assert copy.deepcopy(model)(ids).logits.equal(before)


def test_wider_numbers_stay_wide_and_narrow_logits_are_summed_in_float32() -> None:
    ids, attention = some_rows()
    assert token_logprobs(tiny_model().double(), ids, attention).dtype == torch.float64
    narrow = tiny_model().bfloat16()
    logprobs = token_logprobs(narrow, ids, attention)
    assert logprobs.dtype == torch.float32
    torch.testing.assert_close(logprobs, plain(narrow, ids, attention), rtol=0, atol=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        logprobs = token_logprobs(tiny_model(), ids, attention)
    assert logprobs.dtype == torch.float32
    torch.testing.assert_close(logprobs, plain(tiny_model(), ids, attention), rtol=0, atol=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attention": torch.ones(2, 3)}, r"shapes \[\[2, 4\], \[2, 3\]\]"),
        ({"mask": torch.ones(4)}, r"shapes \[\[2, 4\], \[2, 4\], \[4\]\]"),
        ({"attention": torch.full((2, 4), 0.5)}, "of bool, or of 0 and 1 only"),
        (
            {"mask": torch.tensor([[0, 0, 0, 0], [0, 0, 0, 1]])},
            r"counts \[1, 3\], which is padding or has no",
        ),
        (
            {"mask": torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0]])},
            r"counts \[0, 0\], which is padding or has no",
        ),
        ({"temperature": 0}, "temperature is 0: give the one that was sampled at, above 0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"model": torch.nn.Module()}, "has no output head"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    attention = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    good = {"model": tiny_model(), "ids": torch.zeros(2, 4, dtype=torch.long), "attention": attention}
    if "model" in changes:
        changes["model"].get_output_embeddings = lambda: None
    with pytest.raises(UsageError, match=message):
        token_logprobs(**good | changes)
