"""Answers read strictly: token ids and log-probabilities above all."""

from __future__ import annotations

from typing import Any

import pytest

from simulators import Usage
from simulators.engines.responses import read_completions
from tests.engines.server import chat, choice


def told(token_ids: Any, *entries: dict[str, Any]) -> dict[str, Any]:
    return chat(choice("x", token_ids=token_ids, logprobs={"content": list(entries)}))


def test_b040_the_log_probability_of_the_sampled_token_is_kept() -> None:
    """The report's numbers: {512: -0.10, 880: -2.30}, and 880 was sampled."""
    candidates = [
        {"token": "token_id:512", "logprob": -0.10},
        {"token": "token_id:880", "logprob": -2.30},
    ]
    for entry in (
        {**candidates[1], "top_logprobs": candidates},
        {**candidates[0], "top_logprobs": candidates},
    ):
        (answer,) = read_completions(told([880], entry), 1)
        assert answer.logprobs == (-2.30,)


def test_b040_a_log_probability_of_another_token_is_refused() -> None:
    with pytest.raises(ValueError, match="token 880 was sampled"):
        read_completions(told([880], {"token": "token_id:512", "logprob": -0.1}), 1)


def test_labels_that_are_words_are_taken_as_they_come() -> None:
    (answer,) = read_completions(told([880], {"token": "Hello", "logprob": -0.5}), 1)
    assert answer.logprobs == (-0.5,)


def test_token_ids_are_read_from_the_labels_of_older_servers() -> None:
    (answer,) = read_completions(told(None, {"token": "token_id:880", "logprob": -0.5}), 1)
    assert (answer.token_ids, answer.logprobs) == ((880,), (-0.5,))


@pytest.mark.parametrize(
    ("token_ids", "entries"),
    [
        ([1, 2], [{"token": "a", "logprob": -0.1}]),
        ([1], [{"token": "a", "logprob": -9999.0}]),
        ([1], [{"token": "a", "logprob": float("nan")}]),
        ([1], [{"token": "a", "logprob": float("-inf")}]),
        ([1], [{"token": "a", "logprob": None}]),
        ([1], [{"token": "a", "logprob": True}]),
        ([1], [{"token": "a", "logprob": 5.0}]),
        ([1], [{"token": "a", "logprob": 0.01}]),
        ([1], [{"token": "a", "logprob": 10**400}]),
        ([1], [{"token": "a", "logprob": -(10**400)}]),
        ([1], [{"token": "token_id:2", "logprob": -0.1, "top_logprobs": 5}]),
        ([-1], [{"token": "a", "logprob": -0.1}]),
        (["1"], [{"token": "a", "logprob": -0.1}]),
        ([1.0], [{"token": "a", "logprob": -0.1}]),
        ("12", [{"token": "a", "logprob": -0.1}]),
    ],
)
def test_ids_and_log_probabilities_that_do_not_fit_are_refused(token_ids: Any, entries: Any) -> None:
    with pytest.raises(ValueError, match=r"logprob|log-probability|token_ids"):
        read_completions(told(token_ids, *entries), 1)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        {},
        {"choices": {}},
        {"choices": [1]},
        chat(choice(index=1)),
        chat(choice(index=0), choice(index=0)),
        {"choices": [{"index": 0, "message": None}]},
        {"choices": [{"index": 0, "message": {"content": 5}}]},
        {"choices": [{"index": 0, "message": {"content": "x", "tool_calls": {"id": "c"}}}]},
        {"choices": [{"index": [], "message": {"content": "x"}}]},
        {"choices": [{"index": True, "message": {"content": "x"}}]},
        {"choices": [{"index": 0, "message": {"content": [{"text": 5}]}}]},
        {"choices": [{"index": 0, "message": {"content": "x"}, "logprobs": []}]},
        {"choices": [{"index": 0, "message": {"content": "x"}, "logprobs": {"content": [1]}}]},
        {"choices": [{"index": 0, "text": "x", "logprobs": {"tokens": [], "token_logprobs": [1]}}]},
    ],
)
def test_what_is_no_completion_is_refused(payload: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_completions(payload, 1)


def test_what_a_server_leaves_out_is_none() -> None:
    (answer,) = read_completions({"choices": [{"message": {"content": None}}]}, 1)
    assert (answer.text, answer.tool_calls, answer.token_ids, answer.logprobs) == ("", (), None, None)
    assert (answer.finish_reason, answer.usage) == (None, Usage(0, 0))


def test_a_log_probability_that_rounding_has_put_above_0_is_0() -> None:
    (answer,) = read_completions(told([880], {"token": "Hello", "logprob": 1e-6}), 1)
    assert answer.logprobs == (0.0,)


@pytest.mark.parametrize("count", [-5, 10**30, 2.5, "7", True, None])
def test_a_count_of_tokens_that_cannot_be_is_not_counted(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 3}
    (answer,) = read_completions({"choices": [choice("x")], "usage": usage}, 1)
    assert answer.usage == Usage(0, 3)


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "Hello "}, {"type": "text", "text": "there."}]
    (answer,) = read_completions({"choices": [{"index": 0, "message": {"content": parts}}]}, 1)
    assert answer.text == "Hello there."
