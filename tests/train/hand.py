"""Small batches by hand, which the tests of the policy loss share."""

from __future__ import annotations

from typing import Any

import torch

from train.losses import Loss, policy_loss


def tensor(numbers: Any, **options: Any) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64, **options)


def on_policy(
    lengths: list[int], advantages: list[float], groups: list[Any], **options: Any
) -> tuple[Loss, torch.Tensor]:
    """The loss where r = w = 1, and its gradient."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    logp = torch.full(mask.shape, -1.0, dtype=torch.float64, requires_grad=True)
    same = logp.detach()
    result = policy_loss(logp, same, same, tensor(advantages), mask, groups, **options)
    result.loss.backward()
    return result, logp.grad


def one_rollout(log_weights: list[float], **options: Any) -> Loss:
    """The loss of a rollout of advantage 1 with r = 1 and these log w."""
    old = tensor([[-1.0] * len(log_weights)])
    logp = old.clone().requires_grad_()
    mask = torch.ones_like(old, dtype=torch.bool)
    return policy_loss(logp, old, old - tensor([log_weights]), tensor([1.0]), mask, ["g"], **options)
