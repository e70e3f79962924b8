"""What the engine does when a server fails; no test waits."""

from __future__ import annotations

import json

import pytest

from simulators import ChatRequest, ContentError, ContextOverflow, FatalError, Sampling, TransientError
from tests.engines.asking import GOOD, HELLO, Clock, ask, make
from tests.engines.server import Reply, chat, choice, serving

# -- faults that pass -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Reply(drop=True),
        Reply(chat(), short=20),
        Reply(json.dumps(chat()).encode()[:-30]),
        Reply(b"<html>busy</html>"),
        Reply([1, 2]),
        Reply({"choices": []}),
        Reply({"choices": [{"index": 3, "message": {"content": "x"}}]}),
        Reply({"choices": [{"index": 0}]}),
        Reply({"choices": [{"index": [], "message": {"content": "x"}}]}),
        Reply(chat(choice("x", token_ids=[1], logprobs={"content": [{"token": "a", "logprob": 5.0}]}))),
        Reply(chat(choice("x"), choice("y"))),
        Reply({"error": {"message": "upstream is down", "code": 502}}),
        Reply({"error": "busy"}, status=500),
        Reply(status=429),
        Reply(b"\xff\xfe", status=503),
    ],
    ids=lambda fault: f"{fault.status} {str(fault.body)[:40]}{' dropped' if fault.drop else ''}",
)
def test_a_fault_that_may_pass_is_tried_again(fault: Reply) -> None:
    clock = Clock()
    with serving([fault, fault, GOOD]) as server:
        assert ask(make(server.url, clock)).text == "Hello."
    assert len(server.asked) == 3
    assert server.asked[0].body == server.asked[2].body
    assert len(clock.waits) == 2


def test_a_stalled_answer_is_given_up_after_its_limit_and_tried_again() -> None:
    with serving([Reply(stall=True), GOOD]) as server:
        assert ask(make(server.url, timeout=0.2)).text == "Hello."
    assert len(server.asked) == 2


def test_the_waits_grow_and_their_jitter_is_the_seeds() -> None:
    waits = []
    for seed in (3, 3, 4):
        clock = Clock()
        with serving([Reply(status=500)]) as server, pytest.raises(TransientError):
            ask(make(server.url, clock, seed=seed, attempts=5))
        waits.append(clock.waits)
    assert waits[0] == waits[1] != waits[2]
    for wait, longest in zip(waits[0], [0.5, 1, 2, 4], strict=True):
        assert longest / 2 <= wait <= longest


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        (
            {
                "Retry-After": "Wed, 21 Oct 2026 07:28:09 GMT",
                "Date": "Wed, 21 Oct 2026 07:28:00 GMT",
            },
            9.0,
        ),
    ],
)
def test_a_wait_that_the_server_asks_for_is_kept(headers: dict[str, str], wait: float) -> None:
    clock = Clock()
    with serving([Reply(status=429, headers=headers), GOOD]) as server:
        ask(make(server.url, clock))
    assert clock.waits == [wait]


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    clock = Clock()
    with (
        serving([Reply(status=429, headers={"Retry-After": "3600"})]) as server,
        pytest.raises(TransientError) as caught,
    ):
        ask(make(server.url, clock, deadline=60))
    assert clock.waits == []
    assert (caught.value.status, caught.value.retry_after) == (429, 3600.0)


def test_the_deadline_ends_the_attempts() -> None:
    clock = Clock()
    with serving([Reply(status=500)]) as server, pytest.raises(TransientError, match="Given up"):
        ask(make(server.url, clock, deadline=10, attempts=100))
    assert clock.now <= 10


def test_the_final_error_names_url_status_attempts_and_cure() -> None:
    with (
        serving([Reply({"error": {"message": "out of memory"}}, status=500)]) as server,
        pytest.raises(TransientError) as caught,
    ):
        ask(make(server.url, attempts=3))
    words = str(caught.value)
    for part in (f"{server.url}/chat/completions", "500", "out of memory", "3 attempts", "server's log"):
        assert part in words
    assert caught.value.status == 500


def test_a_server_that_is_not_there_is_named() -> None:
    with serving([GOOD]) as server:
        url = server.url
    with pytest.raises(TransientError, match=f"is a server running at {url}"):
        ask(make(url, attempts=2))


# -- faults that stay -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"error": {"message": "bad key"}}, status=401), "OPENAI_API_KEY"),
        (Reply({"detail": "Not Found"}, status=404), "ends in /v1"),
        (Reply({"error": {"message": "temperature is not supported"}}, status=400), "temperature"),
        (Reply(status=307, headers={"Location": "https://elsewhere"}), "elsewhere"),
        (Reply({"error": {"message": "pay", "code": "insufficient_quota"}}, status=429), "quota"),
    ],
)
def test_what_can_never_work_is_not_tried_again(reply: Reply, words: str) -> None:
    with serving([reply]) as server, pytest.raises(FatalError, match=words) as caught:
        ask(make(server.url))
    assert len(server.asked) == 1
    assert str(reply.status) in str(caught.value)


def test_output_that_the_server_could_not_read_is_the_models_fault() -> None:
    error = {"message": "Failed to call a function.", "code": "tool_use_failed", "failed_generation": "<x"}
    with serving([Reply({"error": error}, status=400)]) as server, pytest.raises(ContentError) as caught:
        ask(make(server.url))
    assert caught.value.text == "<x"
    assert len(server.asked) == 1


WINDOW_512 = (
    "This model's maximum context length is 512 tokens. However, you requested {} tokens "
    "({} in the messages, {} in the completion). Please reduce the length of the messages or completion."
)


def test_b054_an_overflow_is_not_tried_again() -> None:
    reply = Reply({"message": WINDOW_512.format(700, 600, 100), "code": 400}, status=400)
    request = ChatRequest(HELLO.messages, sampling=Sampling(max_tokens=100))
    with serving([reply]) as server, pytest.raises(ContextOverflow) as caught:
        ask(make(server.url), request)
    assert len(server.asked) == 1
    assert (caught.value.window, caught.value.prompt_tokens, caught.value.room) == (512, 600, 0)


def test_b054_a_completion_that_does_not_fit_is_clamped() -> None:
    """Window 512, prompt 500, 100 asked for: 12 are left."""
    overflow = Reply({"message": WINDOW_512.format(600, 500, 100), "code": 400}, status=400)
    request = ChatRequest(HELLO.messages, sampling=Sampling(max_tokens=100))
    with serving([overflow, GOOD]) as server:
        assert ask(make(server.url), request).text == "Hello."
    assert [asked.body["max_tokens"] for asked in server.asked] == [100, 12]


def test_b054_a_clamped_request_that_still_does_not_fit_ends() -> None:
    overflow = Reply({"message": WINDOW_512.format(600, 500, 100), "code": 400}, status=400)
    with serving([overflow]) as server, pytest.raises(ContextOverflow):
        ask(make(server.url))
    assert len(server.asked) == 2
