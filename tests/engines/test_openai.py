"""The engine for OpenAI-compatible servers against a server of our own; no test waits."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import Any

import pytest

from simulators import (
    ChatRequest,
    Completion,
    EngineError,
    FatalError,
    OpenAIEngine,
    Sampling,
    TokenRequest,
    Usage,
)
from simulators.engines import background
from simulators.engines.background import run
from tests.engines.asking import GOOD, HELLO, Clock, ask, make
from tests.engines.server import Reply, called, chat, choice, serving

SECRET = "sk-SENTINEL"


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


def test_one_engine_answers_several_event_loops_at_once_and_counts_them_all() -> None:
    async def ask_often(engine: OpenAIEngine) -> None:
        async with engine:
            answers = await asyncio.gather(*(engine.complete(HELLO) for _ in range(10)))
        assert {answer.text for answer in answers} == {"Hello."}

    with serving([GOOD]) as server:
        engine = make(server.url)
        threads = [threading.Thread(target=asyncio.run, args=(ask_often(engine),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (engine.totals.calls, engine.totals.failed) == (40, 0)
    assert (engine.totals.prompt_tokens, engine.totals.completion_tokens) == (400, 120)


def test_a_connection_is_used_again_and_there_are_no_more_than_requests_at_once() -> None:
    gate = threading.Barrier(2)

    def reply(number: int, asked: Any) -> Reply:
        if number >= 3:
            gate.wait(timeout=30)
        return GOOD

    with serving(reply) as server:

        async def one_after_the_other_and_then_two_at_once() -> None:
            async with make(server.url, concurrency=2) as engine:
                for _ in range(3):
                    await engine.complete(HELLO)
                await asyncio.gather(*(engine.complete(HELLO) for _ in range(4)))

        asyncio.run(one_after_the_other_and_then_two_at_once())
    ports = [asked.port for asked in server.asked]
    assert len(set(ports[:3])) == 1
    assert len(set(ports)) == 2


# -- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "http://x/v1"), "a model and a URL"),
        (("m", "localhost:8000"), "a model and a URL"),
        (("m", "http:///v1"), "a model and a URL"),
        (("m", "http://user:pass@x/v1"), "The URL of x has a password"),
        (("m", "http://x/v1?key=k"), "The URL of x has a password"),
        (("m", "http://x/v 1"), "a model and a URL"),
        (("m", "http://x\n/v1"), "a model and a URL"),
        (("m", "http://[::1/v1"), "cannot be read"),
        (("m", "http://host:99999/v1"), "The port of .* 1 to 65535"),
        (("m", "http://host:abc/v1"), "The port of .* 1 to 65535"),
        (("m", "http://host:0/v1"), "The port of .* 1 to 65535"),
        (("m", "http://a..b/v1"), "The host of"),
        (("m", f"http://{'a' * 64}.org/v1"), "The host of"),
        (("m", "http://<host>/v1"), "The host of"),
    ],
)
def test_an_engine_without_a_model_or_a_url_is_refused(arguments: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        OpenAIEngine(*arguments)


@pytest.mark.parametrize(
    "url",
    ["http://[::1]:8000/v1", "https://bücher.example", "http://my_service:8000/v1", "http://host.:65535/v1/"],
)
def test_addresses_of_every_kind_are_taken(url: str) -> None:
    assert OpenAIEngine("m", url).url == url.rstrip("/")


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
