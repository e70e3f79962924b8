"""Decoding in the event loop of the callers: the same bits every time, and the promises of the thread."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[hf]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")

from simulators import Completion, FatalError, Sampling, TokenRequest, TransformersEngine
from tests.engines.tiny_model import passes, tiny_engine

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


LONG = replace(REQUESTS[0], sampling=Sampling(max_tokens=400, seed=0))


async def begun(seen: list[tuple[int, int]], count: int) -> None:
    """Wait for so many passes of a model."""
    while len(seen) < count:
        await asyncio.sleep(0)


def test_a_cancelled_request_is_gone_by_the_next_turn_and_the_others_are_as_alone() -> None:
    engine, other = tiny_engine(inline=True), replace(REQUESTS[1], sampling=Sampling(max_tokens=30, seed=1))

    async def cancelled() -> tuple[Completion, list[int]]:
        leaves = asyncio.create_task(engine.complete(LONG))
        with passes(engine.model) as seen:
            stays = asyncio.create_task(engine.complete(other))
            await begun(seen, 6)
            leaves.cancel()
            await asyncio.wait([leaves])
            at = len(seen)
            return await stays, [rows for rows, _ in seen[at + 1 :]]

    answer, rows = asyncio.run(cancelled())
    assert set(rows) == {1}
    assert answer.token_ids == asyncio.run(tiny_engine(inline=True).complete(other)).token_ids
    assert (engine.totals.calls, engine.totals.failed) == (2, 1)


def test_a_request_that_is_out_of_time_is_not_computed_on() -> None:
    engine = tiny_engine(inline=True)

    async def out_of_time() -> tuple[int, int]:
        with passes(engine.model) as seen:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(engine.complete(LONG), 0.02)
            before = len(seen)
            for _ in range(50):
                await asyncio.sleep(0)
            return before, len(seen)

    before, after = asyncio.run(out_of_time())
    assert after - before <= 1


def test_a_second_event_loop_is_refused_while_the_first_is_at_work_and_welcome_afterwards() -> None:
    engine, refused = tiny_engine(inline=True), []

    async def first() -> Completion:
        with passes(engine.model) as seen:
            under_way = asyncio.create_task(engine.complete(LONG))
            await begun(seen, 3)
            second = threading.Thread(target=ask_elsewhere)
            second.start()
            while second.is_alive():
                await asyncio.sleep(0)
            return await under_way

    def ask_elsewhere() -> None:
        try:
            asyncio.run(asyncio.wait_for(engine.complete(REQUESTS[1]), 30))
        except FatalError as error:
            refused.append(str(error))

    def slow(*_: Any) -> None:
        threading.Event().wait(0.002)  # so that the other thread has its turn meanwhile

    hook = engine.model.register_forward_pre_hook(slow)
    answer = asyncio.run(first())
    hook.remove()
    assert [text.partition(" while")[0] for text in refused] == [
        "An engine that decodes inline was asked from a second event loop"
    ]
    assert answer.token_ids == asyncio.run(tiny_engine(inline=True).complete(LONG)).token_ids
    ask_elsewhere()
    assert len(refused) == 1


def test_a_loop_that_stopped_with_callers_waiting_keeps_the_engine_until_it_is_closed() -> None:
    engine, stopped = tiny_engine(inline=True), asyncio.new_event_loop()
    waiting = stopped.create_task(engine.complete(LONG))
    stopped.run_until_complete(asyncio.sleep(0.01))
    with pytest.raises(FatalError, match="second event loop"):
        asyncio.run(engine.complete(REQUESTS[1]))
    waiting.cancel()
    stopped.run_until_complete(asyncio.wait([waiting]))
    stopped.close()
    assert asyncio.run(engine.complete(REQUESTS[1])).token_ids


def test_who_pauses_or_closes_it_from_another_thread_waits_for_the_turn_under_way() -> None:
    engine, inside, overlaps = tiny_engine(inline=True), threading.Event(), []
    begins = engine.model.register_forward_pre_hook(lambda *_: inside.set())
    ends = engine.model.register_forward_hook(lambda *_: inside.clear())

    def interrupt() -> None:
        for _ in range(20):
            inside.wait(1)
            with engine.paused():
                overlaps.append(inside.is_set())
        engine.close()

    async def talk() -> None:
        while True:
            await engine.complete(LONG)

    async def asked() -> None:
        other = threading.Thread(target=interrupt)
        other.start()
        with pytest.raises(FatalError, match="closed"):
            await talk()
        other.join()

    asyncio.run(asked())
    begins.remove()
    ends.remove()
    assert overlaps == [False] * 20


def test_an_interrupt_within_a_turn_leaves_an_engine_that_can_be_closed() -> None:
    engine = tiny_engine(inline=True)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    engine.model.register_forward_pre_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(engine.complete(LONG))
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
