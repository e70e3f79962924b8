"""The policy loss by hand: the clipped surrogate, normalisers, and what each mask leaves out."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from tests.train.hand import on_policy, tensor  # noqa: E402
from train.advantages import leave_one_out  # noqa: E402
from train.losses import KL, clipped_surrogate, loss_totals, policy_loss  # noqa: E402


def test_the_surrogate_and_its_gradient_by_hand() -> None:
    ratio, advantage = [0.5, 1, 1.5, 0.5, 1.5], tensor([1, -1, 2, -1, -1])
    log_ratio = tensor(ratio).log().requires_grad_()
    terms = clipped_surrogate(log_ratio.exp(), advantage)
    assert terms.tolist() == pytest.approx([0.5, -1, 2.4, -0.8, -1.5])
    assert terms.mean().item() == pytest.approx(-0.08)
    terms.sum().backward()
    assert log_ratio.grad.tolist() == pytest.approx([0.5, -1, 0, 0, -1.5])  # r A where the clip does not hold
    higher = clipped_surrogate(tensor(ratio), advantage, 0.2, 0.28)
    assert higher.tolist() == pytest.approx([0.5, -1, 2.56, -0.8, -1.5])


def test_the_dual_clip_bounds_what_a_bad_token_can_cost() -> None:
    ratio, advantage = tensor([5, 2, 5, 0.5]), tensor([-1, -1, 1, -1])
    assert clipped_surrogate(ratio, advantage, dual=3).tolist() == pytest.approx([-3, -2, 1.2, -0.8])
    assert clipped_surrogate(ratio, advantage).tolist() == pytest.approx([-5, -2, 1.2, -0.8])


def test_on_policy_the_gradient_is_the_advantage_not_half_of_it_nor_none() -> None:
    _, gradient = on_policy([1, 1], [1.5, -0.5], ["a", "a"])
    assert gradient.flatten().tolist() == [-0.75, 0.25]


def test_numbers_that_another_library_publishes() -> None:
    # NeMo RL's tests have a row of three tokens with an advantage each; here they are three rows. Old is -1.
    def loss(engine: list[float], **options: Any) -> float:
        old = tensor([[-1.0]] * 3)
        logp = old + tensor([[0.5], [1], [1.5]]).log()
        rows = (logp, old, tensor(engine).unsqueeze(1), tensor([1, -1, 2]), torch.ones_like(old))
        return policy_loss(*rows, ["g"] * 3, **options).loss.item()

    assert loss([-1, -1, -1]) == pytest.approx(-0.6333, abs=1e-4)
    engine = [-0.5, -1.5, -0.8]  # w = e^-.5, e^.5, e^-.2, capped to .6065, .8, .8
    assert loss(engine, importance="truncated", importance_cap=0.8) == pytest.approx(-0.4744, abs=1e-4)


def test_numbers_that_another_library_publishes_for_sequences() -> None:
    # The same tokens as one rollout of their mean advantage, 2/3. r is the geometric mean; w is capped.
    old = tensor([[-1.0] * 3])
    logp = old + tensor([[0.5, 1, 1.5]]).log()
    rows = (logp, old, tensor([[-0.5, -1.5, -0.8]]), tensor([2 / 3]), torch.ones_like(old), ["g"])
    plain = policy_loss(*rows, level="sequence", importance="off")
    assert plain.metrics["ratio"].value == pytest.approx(0.908560, abs=1e-6)
    assert plain.loss.item() == pytest.approx(-0.6057, abs=1e-4)
    capped = policy_loss(*rows, level="sequence", importance="truncated", importance_cap=0.8)
    assert capped.loss.item() == pytest.approx(-0.4846, abs=1e-4)


def test_the_ratio_of_a_sequence_is_a_geometric_mean_with_a_share_of_gradient_for_each_token() -> None:
    # exp((.1 - .3 + .4 + .2) / 4); the product would be 1.491825 and would be clipped.
    old = tensor([[-1.0] * 4])
    logp = (old + tensor([[0.1, -0.3, 0.4, 0.2]])).requires_grad_()
    result = policy_loss(logp, old, old, tensor([2.0]), torch.ones_like(old), ["g"], level="sequence")
    assert result.loss.item() == pytest.approx(-2 * 1.105171, abs=1e-6)
    result.loss.backward()
    assert logp.grad.tolist() == [pytest.approx([-1.105171 * 2 / 4] * 4, abs=1e-6)]


def test_at_level_sequence_a_short_rollout_weighs_what_a_long_one_does() -> None:
    # Two rollouts of 1 and 3 tokens: GSPO takes the mean over rollouts, (1 - 1) / 2, and Eq. (4) (1 - 3) / 4.
    assert on_policy([1, 3], [1, -1], ["a", "a"], level="sequence")[0].loss.item() == pytest.approx(0)
    assert on_policy([1, 3], [1, -1], ["a", "a"])[0].loss.item() == pytest.approx(0.5)


# Normalisers. By hand: the sum of A over the tokens of a group, over their number; then the mean over groups.


@pytest.mark.parametrize(
    ("lengths", "groups", "by_group", "by_batch"),
    [
        ([1, 3], "aa", -0.5, -0.5),
        ([1, 3, 8, 4], "aabb", -0.083333, 0.125),
        ([2, 6, 30, 10], "aabb", 0.0, 0.333333),
    ],
)
def test_groups_weigh_the_same_or_tokens_do(
    lengths: list[int], groups: str, by_group: float, by_batch: float
) -> None:
    advantages = [1.0, -1.0] * (len(lengths) // 2)
    grouped, _ = on_policy(lengths, advantages, list(groups))
    assert -grouped.loss.item() == pytest.approx(by_group, abs=1e-6)
    batched, _ = on_policy(lengths, advantages, list(groups), normaliser="batch")
    assert -batched.loss.item() == pytest.approx(by_batch, abs=1e-6)


def test_b042_micro_batches_of_unequal_length_sum_to_the_loss_of_one_batch() -> None:
    # 2 tokens with a sum of 2, 8 tokens with a sum of 24: 26 / 10; the mean of the means would be 2.
    def part(length: int, advantage: float, totals: Any) -> tuple[Any, torch.Tensor]:
        return on_policy([length], [-advantage], ["g"], totals=totals)

    mask = torch.arange(8) < torch.tensor([[2], [8]])
    totals = loss_totals(mask, ["g", "g"])
    (first, first_slope), (second, second_slope) = part(2, 1.0, totals), part(8, 3.0, totals)
    assert first.loss.item() + second.loss.item() == pytest.approx(2.6)
    whole, slope = on_policy([2, 8], [-1.0, -3.0], ["g", "g"])
    assert whole.loss.item() == pytest.approx(2.6)
    assert torch.cat([first_slope, slope.new_zeros(1, 6)], dim=1)[0].tolist() == slope[0].tolist()
    assert second_slope[0].tolist() == slope[1].tolist()
    # (1 - 3) / 4 as two micro-batches; the mean of local means would be 0.
    totals = loss_totals(torch.arange(3) < torch.tensor([[1], [3]]), ["g", "g"])
    assert part(1, -1.0, totals)[0].loss.item() + part(3, 1.0, totals)[0].loss.item() == pytest.approx(0.5)


def test_b043_masked_rollouts_leave_the_denominator_too() -> None:
    # 10 tokens with a sum of 10, and 90 tokens of a rollout that was cut and is masked: 1.0, not 0.1.
    mask = torch.arange(90) < torch.tensor([[10], [90]])
    mask[1] = False
    logp = torch.zeros(2, 90, requires_grad=True)
    result = policy_loss(logp, logp.detach(), logp.detach(), torch.tensor([-1.0, 5.0]), mask, ["g", "g"])
    assert result.loss.item() == pytest.approx(1.0)
    assert result.metrics["rollouts"].value == 1


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("shape", [(2, 5), (1, 0), (0, 3)])
def test_b043_a_batch_without_a_counted_token_has_a_loss_of_zero_and_a_graph(
    level: Any, shape: tuple[int, int]
) -> None:
    parameter = torch.ones(shape, requires_grad=True)
    anything = torch.full(shape, math.nan)
    result = policy_loss(
        parameter.log(),
        anything,
        anything,
        torch.full(shape[:1], math.nan),
        torch.zeros(shape),
        ["g"] * shape[0],
        level=level,
        geometric_delta=0.1,
        kl=KL(anything, 1.0),
    )
    assert result.loss.item() == 0.0
    result.loss.backward()
    assert torch.equal(parameter.grad, torch.zeros(shape))
    assert math.isnan(result.metrics["ratio"].value)
    assert math.isnan(result.metrics["ratio_max"].value)
    assert result.metrics["tokens"].value == 0


def test_b036_a_group_without_variance_adds_nothing_and_counts_in_the_mean_over_groups() -> None:
    mixed, gradient = on_policy([2, 2, 2, 2], [0, 0, 1, -0.5], list("aabb"))
    # Group b alone: (2 - 1) / 4.
    assert -mixed.loss.item() == pytest.approx(0.25 / 2)
    assert gradient[:2].tolist() == [[0.0, 0.0]] * 2
    assert mixed.metrics["groups"].value == 2
    assert mixed.metrics["zero_advantage"].value == 0.5
    alone, _ = on_policy([2, 2], [1, -0.5], list("bb"))
    assert -alone.loss.item() == pytest.approx(0.25)


def test_b037_a_failed_rollout_leaves_baseline_numerator_and_denominator() -> None:
    rewards = torch.tensor([1.0, math.nan, 0.0])
    advantages = leave_one_out(rewards, "aaa", torch.tensor([True, False, True])).values
    mask = torch.tensor([[1, 1], [0, 0], [1, 1]])
    logp = torch.zeros(3, 2, requires_grad=True)
    result = policy_loss(logp, logp.detach(), logp.detach(), advantages, mask, "aaa")
    result.loss.backward()
    # Advantages 1 and -1 over four tokens.
    assert logp.grad.tolist() == [[-0.25, -0.25], [0.0, 0.0], [0.25, 0.25]]


def test_an_overlong_rollout_stays_in_the_baseline_and_leaves_the_rest() -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0])  # the last one ran out of steps
    advantages = leave_one_out(rewards, "aaa", scale=False).values
    mask = torch.tensor([[1, 1], [1, 1], [0, 0]])
    logp = torch.zeros(3, 2, requires_grad=True)
    policy_loss(logp, logp.detach(), logp.detach(), advantages, mask, "aaa").loss.backward()
    # Advantages 1 and -1/2, not the 1 and -1 of a group of two, over four tokens.
    assert logp.grad.tolist() == [[-0.25, -0.25], [0.125, 0.125], [0.0, 0.0]]


def test_a_rollout_that_m_drops_stays_in_the_denominator() -> None:
    # The second rollout's w is e^.5 in each token: out of 1 ± .1. The first one's token is one of four.
    old = tensor([[-1.0, 0, 0], [-1, -1, -1]])
    engine = tensor([[-1.0, 0, 0], [-1.5, -1.5, -1.5]])
    mask = torch.tensor([[1, 0, 0], [1, 1, 1]])
    logp = old.clone().requires_grad_()
    result = policy_loss(logp, old, engine, tensor([1, 1]), mask, "aa", geometric_delta=0.1)
    result.loss.backward()
    assert result.loss.item() == pytest.approx(-0.25)
    assert logp.grad.tolist() == [[-0.25, 0, 0], [0, 0, 0]]
    assert (result.metrics["dropped"].value, result.metrics["rollouts"].value) == (0.5, 2)


def test_b039_only_tokens_that_the_policy_sampled_have_a_gradient() -> None:
    # An assistant message in the prompt, then: agent, tool, user, agent; ends of turns are sampled too.
    sampled = torch.tensor([[0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1]])
    logp = torch.full((1, 12), -0.5, requires_grad=True)
    result = policy_loss(logp, logp.detach(), logp.detach(), torch.tensor([1.0]), sampled, ["g"])
    result.loss.backward()
    assert (logp.grad != 0).int().tolist() == sampled.tolist()
    assert result.metrics["tokens"].value == 5
