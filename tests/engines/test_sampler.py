"""Drawing tokens: how often each one comes, and what its log-probability is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from simulators.engines.local.sampler import sample  # noqa: E402

PROBABILITIES = [0.1, 0.05, 0.6, 0.0, 0.25]


def drawn(draws: Any, temperature: float = 1.0, top_p: float = 1.0) -> tuple[list[int], list[float]]:
    """Draw one token for each number from `PROBABILITIES`."""
    rows = len(draws)
    logits = torch.log(torch.tensor([PROBABILITIES])).expand(rows, -1)
    tokens, logprobs = sample(logits, np.full(rows, temperature), np.full(rows, top_p), np.array(draws))
    return tokens.tolist(), logprobs.tolist()


def counts(tokens: list[int]) -> list[int]:
    return [tokens.count(token) for token in range(len(PROBABILITIES))]


def test_evenly_spread_draws_give_each_token_as_often_as_it_is_likely() -> None:
    tokens, _ = drawn((np.arange(1000) + 0.5) / 1000)
    assert counts(tokens) == [100, 50, 600, 0, 250]


def test_the_log_probability_is_of_the_distribution_at_the_temperature() -> None:
    tokens, logprobs = drawn([0.5], temperature=2.0)
    roots = [math.sqrt(probability) for probability in PROBABILITIES]  # p ** (1 / 2), to be normalised
    assert tokens == [2]
    assert logprobs == pytest.approx([math.log(roots[2] / sum(roots))], abs=1e-6)


def test_a_nucleus_has_the_likeliest_tokens_and_their_log_probabilities_are_of_the_whole() -> None:
    tokens, logprobs = drawn((np.arange(850) + 0.5) / 850, top_p=0.8)  # 0.6 is not enough, 0.6 + 0.25 is
    assert counts(tokens) == [0, 0, 600, 0, 250]
    assert logprobs[tokens.index(4)] == pytest.approx(math.log(0.25), abs=1e-6)


def test_of_equally_likely_tokens_a_nucleus_takes_the_first() -> None:
    logits = torch.zeros(4, 4)
    tokens, _ = sample(logits, np.ones(4), np.full(4, 0.5), np.array([0.0, 0.49, 0.51, 0.99]))
    assert tokens.tolist() == [0, 0, 1, 1]


def test_temperature_zero_takes_the_likeliest_token_beside_rows_that_draw() -> None:
    logits = torch.log(torch.tensor([PROBABILITIES] * 2))
    tokens, logprobs = sample(logits, np.array([0.0, 1.0]), np.ones(2), np.array([0.0, 0.0]))
    assert tokens.tolist() == [2, 0]
    assert logprobs.tolist() == pytest.approx([math.log(0.6), math.log(0.1)], abs=1e-6)


def test_the_largest_draw_takes_no_token_without_probability() -> None:
    logits = torch.tensor([[0.0, -math.inf, -math.inf]])
    tokens, _ = sample(logits, np.ones(1), np.ones(1), np.array([1 - 2**-53]))
    assert tokens.tolist() == [0]


def test_logits_that_are_not_finite_show_in_the_log_probability() -> None:
    logits = torch.tensor([[0.0, math.nan], [math.inf, 0.0], [1.0, 0.0]])
    _, logprobs = sample(logits, np.ones(3), np.ones(3), np.full(3, 0.5))
    assert [math.isfinite(one) for one in logprobs.tolist()] == [False, False, True]
