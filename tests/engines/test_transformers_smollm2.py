"""The engine with a real chat model of 135 million parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from simulators import ChatRequest, Completion, Sampling, TokenRequest, TransformersEngine
from tests.engines.tiny_model import expected_logprobs, passes
from tests.models.smollm2 import MISSING, gguf

FILE = gguf()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(FILE is None, reason=MISSING)]


@pytest.fixture(scope="module")
def engine() -> Iterator[TransformersEngine]:
    assert FILE is not None
    engine = TransformersEngine.load(FILE, device="cpu")
    yield engine
    engine.close()


def asked(question: str, **sampling: float) -> ChatRequest:
    return ChatRequest(({"role": "user", "content": question},), sampling=Sampling(**sampling))  # type: ignore[arg-type]


def ask(engine: TransformersEngine, *requests: ChatRequest | TokenRequest) -> list[Completion]:
    async def together() -> list[Completion]:
        return await asyncio.gather(*(engine.complete(request) for request in requests))

    return asyncio.run(together())


def test_it_answers_sensibly_and_ends_its_turn(engine: TransformersEngine) -> None:
    [answer] = ask(engine, asked("What is the capital of France?", temperature=0, max_tokens=40))
    assert "Paris" in answer.text
    assert answer.finish_reason == "stop"
    assert "<|im_end|>" not in answer.text
    assert engine.template.stop_token_ids.issuperset((answer.token_ids or ())[-1:])


def test_its_logprobs_are_those_of_one_pass_over_the_whole_text(engine: TransformersEngine) -> None:
    questions = ["Name a colour.", "Write one sentence about the sea.", "Count from one to five, please."]
    requests = [
        asked(question, temperature=0.8, max_tokens=24, seed=seed) for seed, question in enumerate(questions)
    ]
    for answer in ask(engine, *requests):
        assert answer.logprobs == pytest.approx(expected_logprobs(engine.model, answer, 0.8), abs=1e-3)


def test_a_second_turn_reads_what_is_new_only(engine: TransformersEngine) -> None:
    chat = [{"role": "user", "content": "My name is Ada. Greet me."}]
    [first] = ask(engine, ChatRequest(tuple(chat), sampling=Sampling(temperature=0, max_tokens=30)))
    assert first.prompt_token_ids is not None
    assert first.token_ids is not None
    chat += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "What is my name?"}]
    prompt = engine.template.extended(first.prompt_token_ids, first.token_ids, chat, 1)
    assert prompt is not None
    with passes(engine.model) as seen:
        [second] = ask(engine, TokenRequest(prompt, Sampling(temperature=0, max_tokens=30)))
    assert seen[0] == (1, len(prompt) - len(first.prompt_token_ids) - len(first.token_ids) + 1)
    assert second.logprobs == pytest.approx(expected_logprobs(engine.model, second), abs=1e-3)
