"""The engine for models in this process, against plain passes of the same model over the whole text."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest

from simulators import ChatRequest, Completion, Sampling, TokenRequest, TransformersEngine, Usage
from tests.engines.tiny_model import expected_logprobs, passes, tiny_engine, tiny_model, tiny_tokenizer

HELLO = ChatRequest(({"role": "user", "content": "Hello"},), sampling=Sampling(max_tokens=8, seed=1))


@pytest.fixture
def engine() -> Iterator[TransformersEngine]:
    engine = tiny_engine()
    yield engine
    engine.close()


def ask(engine: TransformersEngine, *requests: Any) -> list[Completion]:
    """Ask all at once."""

    async def together() -> list[Completion]:
        return await asyncio.gather(*(engine.complete(request) for request in requests))

    return asyncio.run(together())


def one_by_one(engine: TransformersEngine, *requests: Any) -> list[Completion]:
    return [ask(engine, request)[0] for request in requests]


def some_requests(count: int, **sampling: Any) -> list[TokenRequest]:
    """Return prompts of 1 to 60 tokens for completions of 1 to 40."""
    rng = random.Random(5)
    return [
        TokenRequest(
            tuple(rng.choices(range(256), k=rng.randint(1, 60))),
            Sampling(**{"max_tokens": rng.randint(1, 40), "seed": seed, **sampling}),
        )
        for seed in range(count)
    ]


def assert_same(completions: list[Completion], others: list[Completion]) -> None:
    for one, other in zip(completions, others, strict=True):
        assert (one.token_ids, one.finish_reason) == (other.token_ids, other.finish_reason)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


# -- what is sampled --------------------------------------------------------------------------------------


def test_a_chat_is_written_by_the_template_and_answered_with_tokens_text_and_counts(
    engine: TransformersEngine,
) -> None:
    [answer] = ask(engine, HELLO)
    written = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    assert answer.prompt_token_ids == tuple(tiny_tokenizer().encode(written))
    assert answer.token_ids is not None
    assert answer.text == tiny_tokenizer().decode(list(answer.token_ids))
    assert answer.finish_reason == "length"
    assert answer.usage == Usage(len(answer.prompt_token_ids), 8)
    assert (engine.totals.calls, engine.totals.prompt_tokens, engine.totals.completion_tokens) == (
        1,
        len(answer.prompt_token_ids),
        8,
    )


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_logprobs_are_those_of_a_pass_over_the_whole_text_divided_by_the_temperature(
    engine: TransformersEngine, temperature: float
) -> None:
    requests = some_requests(6, temperature=temperature, max_tokens=20)
    for answer in ask(engine, *requests):
        expected = expected_logprobs(engine.model, answer, temperature or 1.0)
        assert answer.logprobs == pytest.approx(expected, abs=1e-4)


def test_temperature_zero_samples_as_the_models_own_greedy_generation(engine: TransformersEngine) -> None:
    import torch

    requests = some_requests(5, temperature=0, max_tokens=25)
    for request, answer in zip(requests, ask(engine, *requests), strict=True):
        prompt = torch.tensor([request.prompt_token_ids])
        plain = engine.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            max_new_tokens=25,
            eos_token_id=258,
            pad_token_id=259,
        )
        assert list(answer.token_ids or ()) == plain[0, prompt.shape[1] :].tolist()


def test_rows_of_all_lengths_together_come_out_as_each_one_alone() -> None:
    requests = some_requests(40)
    together = ask(tiny_engine(max_batch=15), *requests)
    assert_same(together, one_by_one(tiny_engine(cache_tokens=0), *requests))
    assert len({answer.usage for answer in together}) > 20  # of many lengths


def test_a_models_sliding_window_is_kept_in_batches_and_from_the_cache() -> None:
    import torch
    import transformers

    config = transformers.Gemma3TextConfig(
        vocab_size=300,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=256,
        initializer_range=0.3,
        sliding_window=8,
        layer_types=["sliding_attention", "full_attention"],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.Gemma3ForCausalLM(config).eval()
    engine = TransformersEngine(model, tiny_tokenizer())
    first = ask(engine, *some_requests(8))
    later = [TokenRequest((*one.prompt_token_ids, *one.token_ids, 5, 6), Sampling(seed=2)) for one in first]
    for answer in [*first, *ask(engine, *later)]:
        assert answer.logprobs == pytest.approx(expected_logprobs(model, answer), abs=1e-4)


# -- seeds ------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_tokens_in_another_engine_and_another_seed_gives_others() -> None:
    request = TokenRequest((1, 2, 3), Sampling(seed=7, max_tokens=20))
    other = TokenRequest((1, 2, 3), Sampling(seed=8, max_tokens=20))
    [first], [second], [third] = (ask(tiny_engine(), one) for one in (request, request, other))
    assert first.token_ids == second.token_ids != third.token_ids


def test_requests_without_a_seed_differ_and_repeat_with_the_engines_seed() -> None:
    requests = [TokenRequest((1, 2, 3), Sampling(max_tokens=20))] * 3
    first, again, other = (one_by_one(tiny_engine(seed=seed), *requests) for seed in (4, 4, 5))
    assert_same(first, again)
    assert len({answer.token_ids for answer in [*first, *other]}) == 6


# -- where it ends ----------------------------------------------------------------------------------------


def stopping(engine: TransformersEngine, **sampling: Any) -> tuple[Completion, str]:
    """Return a completion that runs to its limit, and its text."""
    [answer] = ask(engine, TokenRequest((9, 8, 7), Sampling(seed=3, max_tokens=30, **sampling)))
    return answer, answer.text


def test_the_token_that_ends_a_turn_is_among_the_tokens_and_not_in_the_text() -> None:
    import torch

    model = tiny_model()
    with torch.no_grad():
        model.lm_head.weight[258] = model.lm_head.weight.sum(0)  # makes <|im_end|> likely
    answers = ask(TransformersEngine(model, tiny_tokenizer()), *some_requests(20, max_tokens=40))
    stopped = [answer for answer in answers if answer.finish_reason == "stop"]
    assert stopped
    for answer in stopped:
        assert answer.token_ids is not None
        assert answer.token_ids.index(258) == len(answer.token_ids) - 1
        assert answer.text == tiny_tokenizer().decode(list(answer.token_ids[:-1]))
    assert all(258 not in (answer.token_ids or ()) for answer in answers if answer.finish_reason == "length")


def test_a_text_that_ends_a_completion_is_cut_off_and_its_tokens_stay() -> None:
    whole, text = stopping(tiny_engine())
    place = next(place for place in range(8, 20) if text[place].isascii() and text[place] not in text[:place])
    answer, cut = stopping(tiny_engine(), stop=("never said", text[place : place + 2]))
    assert cut == text[:place]
    assert answer.finish_reason == "stop"
    assert answer.token_ids is not None
    assert whole.token_ids is not None
    assert answer.token_ids == whole.token_ids[: len(answer.token_ids)]
    assert len(answer.logprobs or ()) == len(answer.token_ids) < 30
    assert text[: place + 2] in tiny_tokenizer().decode(list(answer.token_ids))


def test_a_completion_has_no_more_tokens_than_the_window_has_room_for() -> None:
    engine = tiny_engine(window=40)
    [answer] = ask(engine, TokenRequest((1,) * 30, Sampling(max_tokens=50, seed=1)))
    assert (len(answer.token_ids or ()), answer.finish_reason) == (10, "length")


# -- what is kept -----------------------------------------------------------------------------------------


def test_the_next_turn_of_a_conversation_reads_only_what_is_new(engine: TransformersEngine) -> None:
    [first] = ask(engine, HELLO)
    assert first.prompt_token_ids is not None
    assert first.token_ids is not None
    longer = (*first.prompt_token_ids, *first.token_ids, 20, 21, 22)
    with passes(engine.model) as seen:
        [second] = ask(engine, TokenRequest(longer, Sampling(max_tokens=6, temperature=0)))
    assert seen[0] == (1, 4)  # the last token was sampled and never read, and three are new
    fresh = ask(tiny_engine(cache_tokens=0), TokenRequest(longer, Sampling(max_tokens=6, temperature=0)))
    assert_same([second], fresh)


def test_prompts_that_begin_alike_are_read_once_where_they_do(engine: TransformersEngine) -> None:
    system = tuple(random.Random(1).choices(range(256), k=200))
    requests = [
        TokenRequest((*system, group, *[member] * 3), Sampling(max_tokens=3, temperature=0))
        for group in range(4)
        for member in range(4)
    ]
    with passes(engine.model) as seen:
        together = ask(engine, *requests)
    read = sum(rows * tokens for rows, tokens in seen if tokens > 1)
    assert read < 2 * 204 + 16 * 4  # at most two whole prompts: the first may go before the others come
    assert_same(together, one_by_one(tiny_engine(cache_tokens=0), *requests))


def test_turns_of_many_conversations_come_out_alike_with_a_large_a_small_and_no_cache() -> None:
    async def conversation(engine: TransformersEngine, number: int) -> list[Completion]:
        tokens: tuple[int, ...] = (*range(40), number)
        answers = []
        for turn in range(4):
            request = TokenRequest(tokens, Sampling(seed=number * 10 + turn, max_tokens=5 + number))
            answers.append(await engine.complete(request))
            tokens = (*tokens, *(answers[-1].token_ids or ()), turn, number)
        return answers

    async def all_of_them(engine: TransformersEngine) -> list[Completion]:
        answers = await asyncio.gather(*(conversation(engine, number) for number in range(9)))
        return [answer for several in answers for answer in several]

    large, small, none = (
        asyncio.run(all_of_them(tiny_engine(cache_tokens=size, max_batch=6))) for size in (5000, 150, 0)
    )
    assert_same(large, none)
    assert_same(small, none)


def test_rows_that_are_done_take_no_part_in_later_steps(engine: TransformersEngine) -> None:
    requests = [TokenRequest((n, 5), Sampling(max_tokens=2 + 4 * n, seed=n)) for n in range(4)]
    with passes(engine.model) as seen:
        ask(engine, *requests)
    widths = [rows for rows, tokens in seen if tokens == 1]
    assert widths[-3:] == [1, 1, 1]  # the last row has four tokens more than the one before
    assert max(widths) <= 4
    assert sum(widths) <= sum(1 + 4 * n for n in range(4))


# -- threads and loops ------------------------------------------------------------------------------------


def test_callers_in_several_event_loops_are_served_together(engine: TransformersEngine) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from simulators.engines.background import run

    requests = some_requests(12)
    with ThreadPoolExecutor(4) as threads:
        parts = list(threads.map(lambda part: ask(engine, *requests[part::4]), range(4)))
    answers = [parts[number % 4][number // 4] for number in range(12)]
    assert_same(answers, [run(engine.complete(request)) for request in requests])
    assert engine.totals.calls == 24
