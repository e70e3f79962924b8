"""Requests: values of sampling are checked where they are made, alike for all engines."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulators import Sampling, TokenRequest
from simulators.engines.engine import sampled_logprob


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("temperature", -1.0, "a number from 0 to 100"),
        ("temperature", 101, "a number from 0 to 100"),
        ("temperature", 1e308, "a number from 0 to 100"),
        ("temperature", float("nan"), "a number from 0 to 100"),
        ("temperature", float("inf"), "a number from 0 to 100"),
        ("temperature", True, "a number from 0 to 100"),
        ("temperature", "1", "a number from 0 to 100"),
        ("top_p", 0.0, "a number above 0 and at most 1"),
        ("top_p", 1.5, "a number above 0 and at most 1"),
        ("top_p", float("nan"), "a number above 0 and at most 1"),
        ("top_p", True, "a number above 0 and at most 1"),
        ("max_tokens", 0, "a whole number from 1"),
        ("max_tokens", -3, "a whole number from 1"),
        ("max_tokens", 2.5, "a whole number from 1"),
        ("max_tokens", 2.0, "a whole number from 1"),
        ("max_tokens", True, "a whole number from 1"),
        ("max_tokens", 10**30, "a whole number from 1"),
        ("seed", -1, "a whole number from 0"),  # Python's generator takes it for 1, vLLM for none
        ("seed", "x", "a whole number from 0"),
        ("seed", 1.0, "a whole number from 0"),
        ("seed", False, "a whole number from 0"),
        ("seed", 2**63, "a whole number from 0"),
        ("stop", "ab", "a tuple of texts"),
        ("stop", ("x", ""), "a tuple of texts"),
        ("stop", (b"x",), "a tuple of texts"),
        ("stop", None, "a tuple of texts"),
        ("stop", 5, "a tuple of texts"),
    ],
)
def test_a_value_of_another_kind_or_out_of_its_range_is_named_with_the_rule(
    field: str, value: Any, rule: str
) -> None:
    with pytest.raises(ValueError, match=rule) as caught:
        Sampling(**{field: value})
    assert str(caught.value).startswith(f"Sampling: {field} should be ")
    assert f"got {value!r}." in str(caught.value)
    with pytest.raises(ValueError, match=rule):
        replace(Sampling(), **{field: value})


def test_values_at_the_ends_of_their_ranges_are_taken() -> None:
    Sampling(temperature=0, top_p=1, max_tokens=1, seed=0)
    Sampling(temperature=100, top_p=1e-9, max_tokens=2**31 - 1, seed=2**63 - 1)


def test_scalars_of_numpy_and_lists_of_texts_are_kept_as_pythons_own() -> None:
    given: dict[str, Any] = {
        "temperature": np.float32(0.5),
        "top_p": np.float64(0.25),
        "max_tokens": np.int64(8),
        "seed": np.uint32(7),
        "stop": ["END"],
    }
    sampling = Sampling(**given)
    assert sampling == Sampling(0.5, 0.25, 8, 7, ("END",))
    assert {type(getattr(sampling, name)) for name in given} == {float, int, tuple}
    prompt: Any = np.array([3, 4])
    assert json.dumps(TokenRequest(prompt).prompt_token_ids) == "[3, 4]"


@pytest.mark.parametrize("prompt", [(1.5,), ("a",), "ab", (1, None), None, np.array([0.5])])
def test_a_prompt_is_made_of_whole_numbers(prompt: Any) -> None:
    with pytest.raises(ValueError, match="a tuple of token ids, which are whole numbers"):
        TokenRequest(prompt)


def test_a_log_probability_above_0_is_0_by_rounding_and_otherwise_refused() -> None:
    assert [sampled_logprob(value) for value in (-2.5, 0, 1e-6, 1e-3)] == [-2.5, 0.0, 0.0, 0.0]
    for value in (5.0, 0.01, float("nan"), float("inf"), -float("inf"), 10**400):
        with pytest.raises(ValueError, match="finite, and at most 0"):
            sampled_logprob(value)
