"""One of two processes that hold a policy together, for a test: FSDP2 on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import fully_shard

import train.logprobs
from tests.engines.tiny_model import tiny_tokenizer
from tests.train.test_logprobs import assert_same, gradients, plain, some_rows
from train.config import Lora
from train.logprobs import token_logprobs
from train.model import (
    load_policy,
    load_policy_state,
    policy_state,
    save_policy,
    weights,
)


def run(rank: int, folder: Path, adapters: bool, apart: bool) -> None:
    """Compare a sharded policy with a whole one.

    Args:
        rank: 0 or 1.
        folder: Of the policy.
        adapters: Whether these are trained.
        apart: Whether the head is sharded by itself, so that its weights are gone after its call.
    """
    torch.set_num_threads(1)
    train.logprobs.LOGITS_AT_ONCE = 300 * 4
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder.parent / 'meeting'}", rank=rank, world_size=2
    )
    lora = Lora(rank=4) if adapters else None
    whole = load_policy(folder, lora=lora)
    policy = load_policy(folder, lora=lora)
    bare = policy.get_base_model() if adapters else policy
    for layer in [*bare.model.layers, *([bare.lm_head] if apart else [])]:
        fully_shard(layer)
    fully_shard(policy)
    ids, attention = some_rows()
    logprobs = token_logprobs(policy, ids, attention)
    expected = plain(whole, ids, attention)
    torch.testing.assert_close(logprobs, expected, rtol=0, atol=1e-5)
    # Both ranks have the same rows, and FSDP averages: the gradients are those of one.
    found = {name: one.full_tensor() for name, one in gradients(policy, logprobs).items()}
    assert_same(found, gradients(whole, expected))
    check_state(policy, whole)
    save_policy(policy, tiny_tokenizer(), folder.parent / "saved")
    torch.distributed.barrier()
    again = token_logprobs(load_policy(folder.parent / "saved"), ids, attention)
    torch.testing.assert_close(again, expected, rtol=0, atol=1e-5)
    torch.distributed.destroy_process_group()


def check_state(policy: Any, whole: Any) -> None:
    """Compare what is kept of the two, and put other values into both."""
    state = policy_state(policy)
    expected = policy_state(whole)
    assert state.keys() == expected.keys()
    assert all(state[name].equal(expected[name]) for name in state)
    other = {name: one + 0.01 for name, one in state.items()}
    for each in (policy, whole):
        load_policy_state(each, other)
    for (name, one), (_, its) in zip(weights(policy), weights(whole), strict=True):
        torch.testing.assert_close(one, its, rtol=0, atol=1e-6, msg=name)
    for each in (policy, whole):
        load_policy_state(each, state)
