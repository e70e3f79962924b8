"""A model of two layers with random weights, and a tokenizer of bytes with a ChatML template."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from simulators import Completion, TransformersEngine
from tests.simulators.tiny_tokenizer import tokenizer

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")


def tiny_tokenizer() -> Any:
    """Return a tokenizer with a token for each byte and each mark of ChatML: 260 of them."""
    made = tokenizer()
    made.add_special_tokens({"pad_token": "<|pad|>"})
    made.eos_token = "<|im_end|>"
    return made


def tiny_model(seed: int = 0, window: int = 512, **settings: Any) -> Any:
    """Return a Llama for `tiny_tokenizer`, with weights large enough that its words are no uniform noise.

    Args:
        seed: Of the weights.
        window: Most tokens.
        settings: Further fields of its configuration.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = transformers.LlamaConfig(
            **{
                "vocab_size": 300,
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "num_key_value_heads": 2,
                "max_position_embeddings": window,
                "initializer_range": 0.3,
                "bos_token_id": None,
                "eos_token_id": None,
                **settings,
            }
        )
        return transformers.LlamaForCausalLM(config).eval()


def tiny_engine(window: int = 512, **settings: Any) -> TransformersEngine:
    """Return an engine of the tiny model."""
    return TransformersEngine(tiny_model(window=window), tiny_tokenizer(), **settings)


def expected_logprobs(model: Any, completion: Completion, temperature: float = 1.0) -> list[float]:
    """Return the logarithm of softmax(logits / temperature) of each token, by one pass over it all."""
    assert completion.prompt_token_ids is not None
    assert completion.token_ids is not None
    ids = torch.tensor([completion.prompt_token_ids + completion.token_ids])
    with torch.no_grad():
        logits = model(ids.to(model.device)).logits[0].float() / temperature
    before = logits[len(completion.prompt_token_ids) - 1 : -1].log_softmax(-1)
    return [before[place, token].item() for place, token in enumerate(completion.token_ids)]


@contextmanager
def passes(model: Any) -> Iterator[list[tuple[int, int]]]:
    """Collect the passes of a model, each as its numbers of rows and of tokens a row."""
    seen: list[tuple[int, int]] = []
    hook = model.register_forward_pre_hook(
        lambda _, __, arguments: seen.append(tuple(arguments["input_ids"].shape)), with_kwargs=True
    )
    try:
        yield seen
    finally:
        hook.remove()
