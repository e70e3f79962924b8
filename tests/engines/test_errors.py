"""What servers answer when something is wrong; the wordings are those that the servers are known for."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from simulators import ContentError, ContextOverflow, FatalError, TransientError
from simulators.engines.errors import http_error

OVERFLOWS: list[tuple[int, Any, int | None, int | None]] = [
    (  # OpenAI
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4,097 tokens. However, your messages "
                "resulted in 5,000 tokens.",
                "code": "context_length_exceeded",
            }
        },
        4097,
        5000,
    ),
    (  # vLLM, newer
        400,
        {
            "error": {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum "
                "context length is 512 tokens and your request has 500 input tokens (100 > 512 - 500).",
                "code": 400,
            }
        },
        512,
        500,
    ),
    (  # vLLM, engine
        400,
        {"message": "The decoder prompt (length 600) is longer than the maximum model length of 512."},
        512,
        600,
    ),
    (  # vLLM, newest
        400,
        {
            "message": "You passed 600 input tokens and requested 10 output tokens. However, the model's "
            "context length is only 512 tokens"
        },
        512,
        600,
    ),
    (  # SGLang
        400,
        {"message": "The input (600 tokens) is longer than the model's context length (512 tokens)."},
        512,
        600,
    ),
    (
        400,
        {
            "message": "Requested token count exceeds the model's maximum context length of 512 tokens. You "
            "requested a total of 600 tokens: 500 tokens from the input messages and 100 tokens for the "
            "completion."
        },
        512,
        500,
    ),
    (  # llama.cpp
        400,
        {
            "error": {
                "message": "the request (600 tokens) exceeds the available context size (512 tokens), try "
                "increasing it",
                "type": "exceed_context_size_error",
                "code": 400,
            }
        },
        512,
        600,
    ),
    (500, {"error": {"message": "the request exceeds the available context size"}}, None, None),
    (  # TGI
        422,
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."},
        None,
        None,
    ),
    (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens."}, None, None),
    (  # Anthropic
        400,
        {"error": {"message": "prompt is too long: 208310 tokens > 200000 maximum"}},
        200000,
        208310,
    ),
    (  # Gemini
        400,
        {"error": {"message": "The input token count (40000) exceeds the maximum number of tokens allowed"}},
        None,
        None,
    ),
    (400, {"error": {"message": "no words", "type": "ContextWindowExceededError"}}, None, None),
]


@pytest.mark.parametrize(("status", "body", "window", "prompt"), OVERFLOWS)
def test_b054_an_overflow_is_recognised_in_the_words_of_each_server(
    status: int, body: Any, window: int | None, prompt: int | None
) -> None:
    error = http_error("http://x", status, json.dumps(body), {})
    assert isinstance(error, ContextOverflow)
    assert (error.window, error.prompt_tokens) == (window, prompt)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            429,
            "Request too large on tokens per min: please reduce the length of the messages.",
            TransientError,
        ),
        (503, "maximum context length unknown while loading", TransientError),
        (400, "max_tokens must be at least 1", FatalError),
        (400, '{"error": {"code": {"a": 1}, "message": ["x"]}}', FatalError),
        (400, "[" * 100_000, FatalError),
        (500, '{"error": "error parsing tool call: raw=\'{\'"}', ContentError),
        (418, "", FatalError),
        (529, "", TransientError),
    ],
)
def test_other_answers_are_told_apart(status: int, body: str, kind: type[Exception]) -> None:
    assert type(http_error("http://x", status, body, {})) is kind


def test_orders_to_a_terminal_stand_in_a_message_as_their_escapes() -> None:
    said = json.dumps({"error": {"message": "bad \x1b[31mRED\x07 \u202eevil \x9b2J, naïve 顧客\xa0👍"}})
    told = str(http_error("http://x", 500, said, {}))
    assert told.endswith(r"answered 500: bad \x1b[31mRED\x07 \u202eevil \x9b2J, naïve 顧客 👍")
    moved = str(http_error("http://x", 307, "", {"location": "http://y/\x9b2J"}))
    assert r"It redirects to http://y/\x9b2J: use that URL" in moved


@pytest.mark.parametrize("number", [",", "9" * 5000], ids=["none", "5,000 digits"])
def test_a_number_in_a_message_that_cannot_be_is_not_known(number: str) -> None:
    said = f"This model's maximum context length is {number} tokens. However, you requested 600 tokens"
    error = http_error("http://x", 400, said, {})
    assert isinstance(error, ContextOverflow)
    assert (error.window, error.room) == (None, 0)


def test_a_long_answer_is_cut_in_the_message() -> None:
    assert len(str(http_error("http://x", 400, "word " * 10_000, {}))) < 700


@pytest.mark.parametrize(
    "error",
    [
        ContextOverflow("a", status=400, window=5, prompt_tokens=3),
        TransientError("b", retry_after=2.0),
        ContentError("c", text="t"),
    ],
)
def test_errors_survive_a_pickle(error: Exception) -> None:
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), vars(copied)) == (str(error), vars(error))
