"""The engine around vLLM: what is passed to it, and, with `-m vllm`, what comes back from the real one."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulators import (
    ChatRequest,
    Completion,
    ContextOverflow,
    FatalError,
    Sampling,
    TokenRequest,
    TransformersEngine,
    VLLMEngine,
)
from simulators.engines.background import elsewhere, run
from simulators.engines.generation import Generation
from simulators.engines.vllm import sampling_arguments
from tests.models.smollm2 import MISSING, gguf, save

# -- without vLLM -----------------------------------------------------------------------------------------


def test_where_vllm_is_missing_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(FatalError, match=r"needs vllm: .*pip install 'gym-enterprise\[vllm\]'.*OpenAIEngine"):
        VLLMEngine.load("somewhere")


def test_sampling_is_passed_on_so_that_only_given_tokens_and_texts_end_a_completion() -> None:
    generation = Generation((1, 2), 30, 0.5, 0.9, 7, ("END",))
    assert sampling_arguments(generation, {9, 3}, "unused") == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 30,
        "seed": 7,
        "stop": ["END"],
        "stop_token_ids": [3, 9],
        "ignore_eos": True,
        "logprobs": 0,
        "detokenize": True,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
    }


def test_a_generation_without_a_seed_gets_one_that_repeats_and_no_seed_means_none() -> None:
    def seed(given: int | None, own: str) -> int:
        return int(sampling_arguments(Generation((1,), 1, 1.0, 1.0, given, ()), (), own)["seed"])

    assert seed(None, "0/1") == seed(None, "0/1") != seed(None, "0/2")
    assert seed(-1, "0/1") == 2**63 - 1


def test_a_coroutine_runs_in_the_background_loop_from_every_loop_and_from_itself() -> None:
    async def where() -> int:
        return id(asyncio.get_running_loop())

    async def twice() -> tuple[int, int]:
        return await elsewhere(where()), await elsewhere(elsewhere(where()))

    here, nested = asyncio.run(twice())
    assert here == nested == run(where()) == run(elsewhere(where()))


def test_a_coroutine_elsewhere_is_cancelled_with_its_caller() -> None:
    async def cancelled() -> str:
        begun, ended = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        async def wait() -> None:
            loop.call_soon_threadsafe(begun.set)
            try:
                await asyncio.Event().wait()
            finally:
                loop.call_soon_threadsafe(ended.set)

        task = asyncio.create_task(elsewhere(wait()))
        await begun.wait()
        task.cancel()
        await asyncio.wait_for(ended.wait(), 30)
        return "ended"

    assert asyncio.run(cancelled()) == "ended"


# -- the real one -----------------------------------------------------------------------------------------

real = [
    pytest.mark.vllm,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(gguf() is None, reason=MISSING),
]
CHAT = ChatRequest(
    ({"role": "user", "content": "Name three colours."},), sampling=Sampling(max_tokens=16, seed=1)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vllm is not installed")
    file = gguf()
    assert file is not None
    folder = tmp_path_factory.mktemp("smollm2")
    save(file, folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[VLLMEngine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")  # GB
        patch.setenv("HF_HUB_OFFLINE", "1")
        engine = VLLMEngine.load(folder, max_model_len=1024, enforce_eager=True, dtype="float32")
        yield engine
        engine.close()


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[TransformersEngine]:
    engine = TransformersEngine.load(folder, device="cpu", dtype="float32")
    yield engine
    engine.close()


def ask(engine: Any, *requests: Any) -> list[Any]:
    async def together() -> list[Any]:
        return await asyncio.gather(
            *(engine.complete(request) for request in requests), return_exceptions=True
        )

    return asyncio.run(together())


def expected(plain: TransformersEngine, answer: Completion, temperature: float = 1.0) -> list[float]:
    """Return the log-probabilities of what was sampled, by one pass of the same weights in transformers."""
    from tests.engines.tiny_model import expected_logprobs

    return expected_logprobs(plain.model, answer, temperature)


class TestRealVLLM:
    pytestmark = real

    def test_a_chat_comes_back_with_its_tokens_and_their_log_probabilities(
        self, engine: VLLMEngine, plain: TransformersEngine
    ) -> None:
        requests = [
            ChatRequest(CHAT.messages, sampling=Sampling(temperature=0.6, max_tokens=24, seed=seed))
            for seed in range(4)
        ]
        for answer in ask(engine, *requests):
            assert answer.prompt_token_ids == plain.template.prompt(CHAT.messages)
            assert answer.text == plain.template.text(answer.token_ids)
            assert answer.logprobs == pytest.approx(expected(plain, answer, 0.6), abs=1e-3)

    def test_a_second_turn_extends_the_first_and_greedy_tokens_are_the_likeliest(
        self, engine: VLLMEngine, plain: TransformersEngine
    ) -> None:
        chat = [{"role": "user", "content": "What is the capital of France?"}]
        sampling = Sampling(temperature=0, max_tokens=40)
        [first] = ask(engine, ChatRequest(tuple(chat), sampling=sampling))
        assert "Paris" in first.text
        assert first.finish_reason == "stop"
        assert first.token_ids[-1] in engine.template.stop_token_ids
        chat += [{"role": "assistant", "content": first.text}, {"role": "user", "content": "And of Italy?"}]
        prompt = engine.template.extended(first.prompt_token_ids, first.token_ids, chat, 1)
        assert prompt is not None
        [second] = ask(engine, TokenRequest(prompt, sampling))
        assert second.prompt_token_ids == prompt
        assert prompt[: len(first.prompt_token_ids) + len(first.token_ids)] == (
            first.prompt_token_ids + first.token_ids
        )
        assert second.logprobs == pytest.approx(expected(plain, second), abs=1e-3)

    def test_limits_and_faults_are_those_of_every_engine(self, engine: VLLMEngine) -> None:
        overflow, empty, hot, cut = ask(
            engine,
            TokenRequest((1,) * 1024),
            TokenRequest(()),
            TokenRequest((100,), Sampling(temperature=5.0)),
            TokenRequest(tuple(range(100, 1110)), Sampling(max_tokens=500, temperature=2.0, seed=2)),
        )
        assert isinstance(overflow, ContextOverflow)
        assert (overflow.window, overflow.prompt_tokens) == (1024, 1024)
        assert isinstance(empty, FatalError)
        assert isinstance(hot, FatalError)  # vLLM's own rule
        assert "temperature must be in [0, 2], got 5.0" in str(hot)
        assert (len(cut.token_ids), cut.finish_reason) == (14, "length")

    def test_a_text_ends_a_completion(self, engine: VLLMEngine) -> None:
        chat = ({"role": "user", "content": "What is the capital of France?"},)
        [whole] = ask(engine, ChatRequest(chat, sampling=Sampling(temperature=0, max_tokens=40)))
        [answer] = ask(
            engine, ChatRequest(chat, sampling=Sampling(temperature=0, max_tokens=40, stop=("Paris",)))
        )
        assert answer.text == whole.text[: whole.text.index("Paris")]
        assert answer.finish_reason == "stop"
        assert whole.token_ids[: len(answer.token_ids)] == answer.token_ids

    def test_new_weights_are_used_at_once_and_nothing_of_the_old_ones_is_kept(
        self, engine: VLLMEngine, plain: TransformersEngine
    ) -> None:
        import torch

        [before] = ask(engine, CHAT)
        norm = plain.model.model.norm.weight
        with torch.no_grad():
            norm.mul_(0.5)  # halves the logits, without rounding
        try:
            engine.update_weights(plain.model.named_parameters())
            [after] = ask(engine, CHAT)
            assert after.logprobs == pytest.approx(expected(plain, after), abs=1e-3)
        finally:
            with torch.no_grad():
                norm.mul_(2)
            engine.update_weights(plain.model.named_parameters())
        [again] = ask(engine, CHAT)
        assert before.token_ids == again.token_ids != after.token_ids
        assert before.logprobs == pytest.approx(again.logprobs, abs=1e-3)

    def test_sleeping_waking_and_forgetting_change_no_answer(self, engine: VLLMEngine) -> None:
        greedy = ChatRequest(CHAT.messages, sampling=Sampling(temperature=0, max_tokens=8))
        [before] = ask(engine, greedy)
        engine.sleep()  # which vLLM ignores on a CPU
        engine.wake()
        engine.reset_cache()
        [after] = ask(engine, greedy)
        assert before.token_ids == after.token_ids
        assert all(math.isfinite(logprob) for logprob in after.logprobs)

    def test_a_closed_engine_fails_what_is_under_way(self, engine: VLLMEngine) -> None:
        long = TokenRequest((100, 200, 300), Sampling(max_tokens=1000, temperature=2.0, seed=1))

        async def closed() -> list[Any]:
            under_way = asyncio.create_task(engine.complete(long))
            first = TokenRequest((100, 200, 300), Sampling(max_tokens=2))
            await engine.complete(first)  # by then the other one is being decoded
            await engine.aclose()
            return await asyncio.gather(under_way, engine.complete(first), return_exceptions=True)

        for error in asyncio.run(closed()):
            assert isinstance(error, FatalError)
            assert "The engine is closed" in str(error)
