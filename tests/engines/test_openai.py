"""The engine for OpenAI-compatible servers against a server of our own; no test waits."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from typing import Any

import pytest

from simulators import (
    ChatRequest,
    Completion,
    ContentError,
    ContextOverflow,
    EngineError,
    FatalError,
    OpenAIEngine,
    Sampling,
    TokenRequest,
    TransientError,
    Usage,
)
from simulators.engines import background
from simulators.engines.background import run
from tests.engines.server import Reply, called, chat, choice, serving

HELLO = ChatRequest(({"role": "user", "content": "Hi"},))
GOOD = Reply(chat(choice("Hello.")))
GARBAGE = Reply(b"<html>busy</html>")
SECRET = "sk-SENTINEL"


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def __call__(self) -> float:
        return self.now


def make(url: str, clock: Clock | None = None, **settings: Any) -> OpenAIEngine:
    clock = clock or Clock()
    return OpenAIEngine("m", url, sleep=clock.sleep, clock=clock, **settings)


def ask(engine: OpenAIEngine, request: Any = HELLO) -> Completion:
    async def once() -> Completion:
        async with engine:
            return await engine.complete(request)

    return asyncio.run(once())


# -- what is sent and what comes back ---------------------------------------------------------------------


def test_a_chat_is_sent_with_tools_and_sampling_and_answered() -> None:
    tools = ({"type": "function", "function": {"name": "get_order", "parameters": {}}},)
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=12, seed=7, stop=("END",))
    calls = [called("get_order", {"order_id": "O1"})]
    reply = Reply(chat(choice(None, tool_calls=calls, finish_reason="tool_calls")))
    with serving([reply]) as server:
        answer = ask(make(server.url), ChatRequest(HELLO.messages, tools, sampling))
    assert answer == Completion("", tuple(calls), finish_reason="tool_calls", usage=Usage(10, 3))
    assert server.asked[0].path == "/v1/chat/completions"
    assert server.asked[0].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": list(tools),
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 12,
        "seed": 7,
        "stop": ["END"],
    }


def test_what_is_not_set_is_not_sent_and_what_is_extra_is() -> None:
    with serving([GOOD]) as server:
        engine = make(server.url + "/", extra={"top_k": 5}, max_tokens_field="max_completion_tokens")
        ask(engine, ChatRequest(HELLO.messages, sampling=Sampling(max_tokens=4)))
    assert set(server.asked[0].body) == {"model", "messages", "max_completion_tokens", "top_k"}
    assert server.asked[0].path == "/v1/chat/completions"


def test_tokens_go_in_as_they_are_and_come_back_with_their_logprobs() -> None:
    body = {
        "choices": [
            {
                "index": 0,
                "text": " there",
                "finish_reason": "stop",
                "token_ids": [612, 2],
                "prompt_token_ids": [1, 15043],
                "logprobs": {"tokens": ["token_id:612", "token_id:2"], "token_logprobs": [-0.5, -0.25]},
            }
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 2},
    }
    with serving([Reply(body)]) as server:
        answer = ask(make(server.url, token_ids=True), TokenRequest((1, 15043), Sampling(max_tokens=2)))
    assert server.asked[0].path == "/v1/completions"
    assert server.asked[0].body["prompt"] == [1, 15043]
    assert server.asked[0].body["return_token_ids"] is True
    assert (answer.text, answer.token_ids, answer.prompt_token_ids) == (" there", (612, 2), (1, 15043))
    assert answer.logprobs == (-0.5, -0.25)


def test_a_chat_gives_token_ids_and_logprobs_where_the_server_returns_them() -> None:
    content = [{"token": "token_id:880", "logprob": -2.5}, {"token": "token_id:2", "logprob": 0.0}]
    told = choice("Hello.", token_ids=[880, 2], logprobs={"content": content})
    with serving([Reply(chat(told, prompt_token_ids=[5, 6]))]) as server:
        answer = ask(make(server.url, token_ids=True))
    assert server.asked[0].body["logprobs"] is True
    assert (answer.token_ids, answer.logprobs, answer.prompt_token_ids) == ((880, 2), (-2.5, 0.0), (5, 6))


def test_several_samples_come_back_by_index() -> None:
    with serving([Reply(chat(choice("second", 1), choice("third", 2), choice("first", 0)))]) as server:

        async def several() -> list[str]:
            async with make(server.url) as engine:
                return [one.text for one in await engine.sample(HELLO, 3)]

        assert asyncio.run(several()) == ["first", "second", "third"]
    assert server.asked[0].body["n"] == 3


def test_tokens_calls_and_retries_are_counted() -> None:
    clock = Clock()
    with serving([Reply(status=503), GOOD, GOOD, Reply(status=401)]) as server:
        engine = make(server.url, clock)

        async def three() -> None:
            async with engine:
                await engine.complete(HELLO)
                await engine.complete(HELLO)
                with pytest.raises(FatalError):
                    await engine.complete(HELLO)

        asyncio.run(three())
    totals = engine.totals
    assert (totals.calls, totals.retries, totals.failed) == (3, 1, 1)
    assert (totals.prompt_tokens, totals.completion_tokens) == (20, 6)


def test_code_without_a_loop_and_code_inside_one_can_both_wait_for_it() -> None:
    with serving([GOOD]) as server:
        engine = make(server.url)
        assert run(engine.complete(HELLO)).text == "Hello."

        async def inside_a_loop() -> str:
            return run(engine.complete(HELLO)).text  # as in a notebook

        assert asyncio.run(inside_a_loop()) == "Hello."
        engine.close()


def test_the_background_loop_does_not_wait_for_itself() -> None:
    async def inner() -> None:
        pass

    async def outer() -> None:
        run(inner())

    with pytest.raises(RuntimeError, match="await aact"):
        run(outer())


def test_no_more_requests_are_under_way_than_allowed() -> None:
    lock, under_way, most = threading.Lock(), 0, 0
    gate = threading.Barrier(2)  # two must be under way at once, and no third comes

    def reply(number: int, asked: Any) -> Reply:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        gate.wait(timeout=30)
        with lock:
            under_way -= 1
        return GOOD

    with serving(reply) as server:

        async def six() -> None:
            async with make(server.url, concurrency=2) as engine:
                await asyncio.gather(*(engine.complete(HELLO) for _ in range(6)))

        asyncio.run(six())
    assert most == 2


# -- faults that pass -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Reply(drop=True),
        Reply(chat(), short=20),
        Reply(json.dumps(chat()).encode()[:-30]),
        GARBAGE,
        Reply([1, 2]),
        Reply({"choices": []}),
        Reply({"choices": [{"index": 3, "message": {"content": "x"}}]}),
        Reply({"choices": [{"index": 0}]}),
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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "http://x/v1"), "a model and a URL"),
        (("m", "localhost:8000"), "a model and a URL"),
        (("m", "http:///v1"), "a model and a URL"),
        (("m", "http://user:pass@x/v1"), "The URL of x has a password"),
        (("m", "http://x/v1?key=k"), "The URL of x has a password"),
    ],
)
def test_an_engine_without_a_model_or_a_url_is_refused(arguments: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OpenAIEngine(*arguments)


@pytest.mark.parametrize("setting", ["concurrency", "timeout", "deadline", "attempts"])
def test_a_limit_of_nothing_is_refused_by_name(setting: str) -> None:
    settings: dict[str, Any] = {setting: 0}
    with pytest.raises(ValueError, match=setting):
        OpenAIEngine("m", "http://x/v1", **settings)


# -- the key ----------------------------------------------------------------------------------------------


def test_no_key_is_sent_unless_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving([GOOD]) as server:
        ask(make(server.url))
        monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
        ask(make(server.url))
        ask(make(server.url, api_key=SECRET))
    sent = [asked.headers.get("authorization") for asked in server.asked]
    assert sent == [None, "Bearer sk-environment", f"Bearer {SECRET}"]


def test_the_key_is_in_no_error_text_pickle_or_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    reply = Reply({"error": {"message": f"Incorrect API key provided: {SECRET}"}}, status=401)
    with serving([reply]) as server:
        engine = make(server.url, api_key=SECRET)
        with pytest.raises(EngineError) as caught:
            ask(engine)
    assert SECRET not in str(caught.value) + repr(engine) + caplog.text
    assert SECRET.encode() not in pickle.dumps(OpenAIEngine("m", "http://x/v1", api_key=SECRET))


def test_a_copy_shares_the_connections_and_a_pickle_opens_its_own() -> None:
    engine = OpenAIEngine("m", "http://x/v1")
    assert copy.deepcopy(engine) is engine
    assert repr(pickle.loads(pickle.dumps(engine))) == "OpenAIEngine('m', 'http://x/v1')"


def test_a_forked_process_gets_a_background_loop_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork copies the object, but not its thread: waiting for that one would never end."""

    async def loop() -> int:
        return id(asyncio.get_running_loop())

    parent = run(loop())
    assert run(loop()) == parent
    monkeypatch.setattr(background, "_running", (-1, *(background._running or ())[1:]))
    assert run(loop()) != parent
