"""Drawing the next token of each row of a batch."""

from __future__ import annotations

import numpy as np
import torch


def sample(
    logits: torch.Tensor, temperatures: np.ndarray, top_ps: np.ndarray, draws: np.ndarray
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row by inverting the distribution function, so that a row needs one number only.

    Args:
        logits: (rows, vocabulary), float32.
        temperatures: (rows,); 0 takes the likeliest token, the first of equals.
        top_ps: (rows,), above 0 and at most 1: only the likeliest tokens are drawn from, as few as have this
            share of the probability together.
        draws: (rows,), float64, at least 0 and below 1.

    Returns:
        The tokens, and the log-probability of each: the logarithm of softmax(logits / temperature) over the
        whole vocabulary whatever `top_ps` is, and of softmax(logits) at temperature 0.

    Example:
        >>> logits = torch.log(torch.tensor([[0.1, 0.2, 0.7]]))
        >>> tokens, logprobs = sample(logits, np.ones(1), np.ones(1), np.array([0.25]))
        >>> tokens.item(), round(logprobs.exp().item(), 3)
        (1, 0.2)
    """
    greedy = temperatures == 0
    divisors = np.where(greedy, 1.0, temperatures).astype(np.float32)
    logprobs = torch.log_softmax(logits / _column(divisors, logits), dim=-1)
    if greedy.all():
        tokens = logits.argmax(-1, keepdim=True)
    else:
        tokens = _drawn(logprobs.exp(), top_ps, draws)
        if greedy.any():
            tokens = torch.where(_column(greedy, logits), logits.argmax(-1, keepdim=True), tokens)
    return tokens[:, 0], logprobs.gather(-1, tokens)[:, 0]


def _drawn(weights: torch.Tensor, top_ps: np.ndarray, draws: np.ndarray) -> torch.Tensor:
    if (top_ps < 1).any():
        weights = _nucleus(weights, _column(top_ps, weights))
    below = weights.cumsum(-1, dtype=torch.float64)
    tokens = torch.searchsorted(below, below[:, -1:] * _column(draws, weights), right=True)
    return tokens.clamp(max=weights.shape[-1] - 1)  # of NaN, it would be one more


def _nucleus(weights: torch.Tensor, top_ps: torch.Tensor) -> torch.Tensor:
    """Return the weights with those of all but the likeliest tokens set to 0."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1, dtype=torch.float64) - ordered
    kept = (before < top_ps) | (top_ps >= 1)
    return weights * torch.empty_like(kept).scatter_(-1, order, kept)


def _column(values: np.ndarray, like: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(values).to(like.device)[:, None]
