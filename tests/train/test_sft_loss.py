"""The loss of supervised fine-tuning."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from gym_enterprise.errors import UsageError

torch = pytest.importorskip("torch")
from train.losses import merged, sft_loss  # noqa: E402


def test_the_loss_is_the_mean_over_the_tokens_of_the_assistant() -> None:
    logp = torch.tensor([[-9.0, -1.0, -2.0], [-3.0, -9.0, -9.0]], requires_grad=True)
    mask = torch.tensor([[0, 1, 1], [1, 0, 0]])
    result = sft_loss(logp, mask)
    assert result.loss.item() == pytest.approx(2.0)
    result.loss.backward()
    assert logp.grad.tolist() == [
        [0, pytest.approx(-1 / 3), pytest.approx(-1 / 3)],
        [pytest.approx(-1 / 3), 0, 0],
    ]
    assert result.metrics["nll"].value == pytest.approx(2.0)
    assert result.metrics["tokens"].value == 3


def test_b039_every_turn_of_the_assistant_counts_and_no_other_token() -> None:
    # Header, turn, end; user; header, turn, end. What the template or others wrote has no gradient.
    mask = torch.tensor([[0, 1, 1, 0, 0, 0, 1, 1, 1]])
    logp = torch.full((1, 9), -1.0, requires_grad=True)
    sft_loss(logp, mask).loss.backward()
    assert (logp.grad != 0).int().tolist() == mask.tolist()


def test_b042_micro_batches_sum_to_the_whole() -> None:
    # 2 tokens with a sum of 2, 8 tokens with a sum of 24.
    first = sft_loss(torch.full((1, 2), -1.0), torch.ones(1, 2), tokens=10)
    second = sft_loss(torch.full((2, 4), -3.0), torch.ones(2, 4), tokens=10)
    assert (first.loss + second.loss).item() == pytest.approx(2.6)
    assert merged([first.metrics, second.metrics])["nll"].value == pytest.approx(2.6)


@pytest.mark.parametrize("seed", range(5))
def test_b042_no_split_changes_the_gradient(seed: int) -> None:
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    logp = -torch.rand(9, 7, generator=generator, dtype=torch.float64)
    mask = torch.rand(9, 7, generator=generator) < 0.5
    whole = logp.clone().requires_grad_()
    sft_loss(whole, mask).loss.backward()
    split = logp.clone().requires_grad_()
    cuts = [0, *sorted(rng.choices(range(10), k=3)), 9]
    for start, stop in itertools.pairwise(cuts):
        sft_loss(split[start:stop], mask[start:stop], tokens=int(mask.sum())).loss.backward()
    torch.testing.assert_close(split.grad, whole.grad, rtol=1e-12, atol=0)


def test_b043_a_batch_without_labels_has_a_loss_of_zero_and_a_graph() -> None:
    logp = torch.full((2, 3), math.nan, requires_grad=True)
    result = sft_loss(logp, torch.zeros(2, 3))
    assert result.loss.item() == 0.0
    result.loss.backward()
    assert logp.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_poison_counts_nowhere_or_is_refused(poison: float) -> None:
    logp = torch.tensor([[poison, -1.0]], requires_grad=True)
    result = sft_loss(logp, torch.tensor([[0, 1]]))
    result.loss.backward()
    assert (result.loss.item(), logp.grad.tolist()) == (1.0, [[0.0, -1.0]])
    with pytest.raises(
        UsageError, match=r"logp is not finite at 1 of the 2 places that count, the first at \[0, 0\]"
    ):
        sft_loss(logp, torch.ones(1, 2))


def test_narrow_log_probabilities_are_summed_in_float32() -> None:
    # A thousand times -1 in bfloat16 would stop at 256.
    logp = torch.full((1, 1000), -1.0, dtype=torch.bfloat16, requires_grad=True)
    result = sft_loss(logp, torch.ones(1, 1000))
    assert (result.loss.dtype, result.loss.item()) == (torch.float32, 1.0)
    result.loss.backward()
    assert logp.grad.dtype == torch.bfloat16


def test_totals_that_are_too_small_are_refused() -> None:
    with pytest.raises(UsageError, match="3 tokens count here but tokens is 2"):
        sft_loss(torch.zeros(1, 3), torch.ones(1, 3), tokens=2)
    with pytest.raises(UsageError, match=r"logp has the shape \[3\]"):
        sft_loss(torch.zeros(3), torch.ones(1, 3))
