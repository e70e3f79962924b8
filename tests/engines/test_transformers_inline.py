"""Decoding in the event loop of the callers: the same bits every time, and the promises of the thread."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[hf]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")

from simulators import Completion, FatalError, Sampling, TokenRequest, TransformersEngine
from tests.engines.tiny_model import tiny_engine

REQUESTS = [
    TokenRequest(tuple(range(5, 25 + 3 * number)), Sampling(max_tokens=4 + 2 * number, seed=number))
    for number in range(8)
]


async def conversations(engine: TransformersEngine) -> list[list[Completion]]:
    """Eight conversations at once, of three turns each."""

    async def talk(request: TokenRequest) -> list[Completion]:
        said = []
        for _ in range(3):
            answer = await engine.complete(request)
            said.append(answer)
            prompt = (*request.prompt_token_ids, *(answer.token_ids or ()), 7, 8)
            request = replace(request, prompt_token_ids=prompt)
        return said

    return list(await asyncio.gather(*map(talk, REQUESTS)))


def test_the_same_requests_give_the_same_bits() -> None:
    first, second = (asyncio.run(conversations(tiny_engine(inline=True))) for _ in range(2))
    assert first == second  # log-probabilities too


def test_it_gives_what_the_thread_gives() -> None:
    inline, thread = (asyncio.run(conversations(tiny_engine(inline=one))) for one in (True, False))
    for ours, theirs in zip(chain(*inline), chain(*thread), strict=True):
        assert ours.token_ids == theirs.token_ids
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)


def test_one_loop_after_another_and_one_that_was_left_in_the_middle() -> None:
    engine = tiny_engine(inline=True)

    async def give_up() -> None:
        asyncio.get_running_loop().call_later(0.01, asyncio.current_task().cancel)  # type: ignore[union-attr]
        await asyncio.gather(*(engine.complete(one) for one in REQUESTS))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(give_up())
    assert (
        asyncio.run(conversations(engine))[0][0] == asyncio.run(conversations(tiny_engine(inline=True)))[0][0]
    )


def test_a_pause_holds_and_ends() -> None:
    engine = tiny_engine(inline=True)

    async def paused() -> tuple[bool, Any]:
        with engine.paused():
            asked = asyncio.ensure_future(engine.complete(REQUESTS[0]))
            await asyncio.sleep(0.05)
            waited = not asked.done()
        return waited, (await asked).token_ids

    waited, tokens = asyncio.run(paused())
    assert waited
    assert tokens == asyncio.run(tiny_engine(inline=True).complete(REQUESTS[0])).token_ids


def test_the_loop_goes_on_beside_it_and_closing_fails_what_is_under_way() -> None:
    engine = tiny_engine(inline=True)

    async def beside() -> int:
        asked = asyncio.ensure_future(
            engine.complete(replace(REQUESTS[0], sampling=Sampling(max_tokens=200)))
        )
        turns = 0
        while not asked.done() and turns < 20:
            await asyncio.sleep(0)
            turns += 1
        engine.close()
        with pytest.raises(FatalError, match="closed"):
            await asked
        return turns

    assert asyncio.run(beside()) == 20
