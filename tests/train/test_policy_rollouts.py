"""What an engine samples in real episodes is what the policy learns from: the same tokens and numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import Record
from gym_enterprise.harness.batch import Job, rollout
from simulators import LLMPlayer, Sampling, TokenRequest
from tests.core.conversation import DOMAIN
from tests.models.smollm2 import MISSING, gguf
from tests.shop import task

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
from simulators import TransformersEngine  # noqa: E402
from tests.engines.tiny_model import tiny_model, tiny_tokenizer  # noqa: E402
from train.batching import Batch, Row, micro_batches, rows  # noqa: E402
from train.config import Lora  # noqa: E402
from train.logprobs import token_logprobs  # noqa: E402
from train.losses import loss_totals, merged, policy_loss, sft_loss  # noqa: E402
from train.model import load_policy, save_policy  # noqa: E402

TEMPERATURE = 0.8
SAMPLING = Sampling(temperature=TEMPERATURE, max_tokens=12)
BUDGETS = [1, 700, 1500, 10**6]


@pytest.fixture(scope="module")
def engine() -> Iterator[TransformersEngine]:
    engine = TransformersEngine(tiny_model(window=2048), tiny_tokenizer())
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def records(engine: TransformersEngine) -> list[Record]:
    agent = partial(LLMPlayer, engine=engine, prompt="You help.", sampling=SAMPLING)
    jobs = [Job(task(name), trial) for name in "ab" for trial in range(3)]
    return asyncio.run(rollout(DOMAIN, jobs, agent, "scripted", max_steps=6))


@pytest.fixture(scope="module")
def given(records: list[Record]) -> list[Row]:
    advantages = [1.0, -0.5, -0.5, 0.25, -1.0, 0.75]
    return rows(records, [record.task_id for record in records], advantages, vocabulary=300)


def test_b038_every_token_that_was_sampled_and_no_other_counts(
    records: list[Record], given: list[Row]
) -> None:
    assert all(record.reward is not None for record in records)
    sampled = sum(record.usage["agent"]["tokens_out"] for record in records)
    assert sampled > 100
    assert sum(int(batch.mask.sum()) for batch in micro_batches(given, 1500)) == sampled
    assert len({row.rollout for row in given}) == 6


def test_b041_the_policy_gives_each_token_the_logprob_that_the_engine_sampled_it_with(
    engine: TransformersEngine, given: list[Row]
) -> None:
    with engine.paused():
        for budget in BUDGETS:
            for batch in micro_batches(given, budget):
                logprobs = token_logprobs(engine.model, batch.ids, batch.attention, batch.mask, TEMPERATURE)
                torch.testing.assert_close(logprobs, batch.rollout_logp, rtol=0, atol=1e-4)


def gradient(model: Any) -> Any:
    return torch.cat([one.grad.flatten() for one in model.parameters()])


def scored(model: Any, batch: Batch) -> Any:
    return token_logprobs(model, batch.ids, batch.attention, batch.mask, TEMPERATURE)


@pytest.mark.parametrize("options", [{}, {"normaliser": "batch"}, {"level": "sequence"}])
def test_b042_policy_losses_of_micro_batches_sum_to_that_of_the_whole(
    options: dict[str, Any], engine: TransformersEngine, given: list[Row]
) -> None:
    """Through the model, with the policy some steps away from the one that sampled."""
    model, moved = engine.model, tiny_model(window=2048)
    with torch.no_grad():
        for one in moved.parameters():
            one *= 1.001
    results = []
    for budget in BUDGETS:
        batches = micro_batches(given, budget, whole_rollouts=True)
        totals = None
        for batch in batches:
            here = loss_totals(batch.mask, batch.group_ids, rollout_ids=batch.rollout_ids)
            totals = here if totals is None else totals + here
        moved.zero_grad(set_to_none=True)
        losses = []
        for batch in batches:
            with torch.no_grad():
                old = scored(model, batch)
            loss = policy_loss(
                scored(moved, batch),
                old,
                batch.rollout_logp,
                batch.advantages,
                batch.mask,
                batch.group_ids,
                rollout_ids=batch.rollout_ids,
                totals=totals,
                **options,
            )
            loss.loss.backward()
            losses.append(loss)
        metrics = merged(loss.metrics for loss in losses)
        assert metrics["logp_error"].value < 1e-4  # the canary: the engine has the weights of `model`
        results.append((len(batches), sum(loss.loss.item() for loss in losses), gradient(moved)))
    *parts, (number, whole, whole_gradient) = results
    assert number == 1
    assert parts[0][0] == 6
    assert whole_gradient.abs().max() > 1e-3
    for _, total, own in parts:
        assert total == pytest.approx(whole, abs=1e-6)
        torch.testing.assert_close(own, whole_gradient, rtol=1e-4, atol=1e-6)


def test_b042_sft_losses_of_micro_batches_sum_to_that_of_the_whole(given: list[Row]) -> None:
    model = tiny_model(window=2048)
    tokens = sum(sum(row.sampled) for row in given)
    results = []
    for budget in BUDGETS:
        model.zero_grad(set_to_none=True)
        losses = []
        for batch in micro_batches(given, budget):
            logprobs = token_logprobs(model, batch.ids, batch.attention, batch.mask)
            losses.append(sft_loss(logprobs, batch.mask, tokens=tokens).loss)
            losses[-1].backward()
        results.append((sum(loss.item() for loss in losses), gradient(model)))
    for total, own in results[:-1]:
        assert total == pytest.approx(results[-1][0], abs=1e-5)
        torch.testing.assert_close(own, results[-1][1], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(gguf() is None, reason=MISSING)
@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft's and transformers', between each other
def test_a_real_model_with_adapters_samples_and_scores_alike_and_is_saved(tmp_path: Path) -> None:
    pytest.importorskip("peft")
    from simulators.template import load_tokenizer

    file = gguf()
    assert file is not None
    tokenizer = load_tokenizer(file)
    policy = load_policy(file, lora=Lora(rank=4), gradient_checkpointing=True)
    generator = torch.Generator().manual_seed(0)
    for name, one in policy.named_parameters():
        if "lora_B" in name:
            one.data.copy_(torch.randn(one.shape, generator=generator) / 1000)
    engine = TransformersEngine(policy, tokenizer)

    async def ask() -> list[Any]:
        texts = ["Name a colour.", "Write two sentences about the sea.", "Count from one to five."]
        prompts = [engine.template.prompt([{"role": "user", "content": text}]) for text in texts]
        sampling = [Sampling(temperature=TEMPERATURE, max_tokens=40, seed=seed) for seed in range(3)]
        return await asyncio.gather(
            *(engine.complete(TokenRequest(*pair)) for pair in zip(prompts, sampling, strict=True))
        )

    answers = asyncio.run(ask())
    engine.close()
    made = []
    for name, answer in enumerate(answers):
        read, said = answer.prompt_token_ids, answer.token_ids
        marks, logprobs = (0,) * len(read) + (1,) * len(said), (0.0,) * len(read) + answer.logprobs
        made.append(Row(read + said, marks, logprobs, name, name))
    batch = Batch.of(made)
    logprobs = scored(policy, batch)
    error = (logprobs - batch.rollout_logp).abs()[batch.mask]
    assert error.mean() < 1e-3
    print(f"mean |rollout - policy| {error.mean():.1e}, largest {error.max():.1e}, {len(error)} tokens")
    logprobs.sum().backward()
    assert all(
        one.grad is not None and one.grad.isfinite().all() for one in policy.parameters() if one.requires_grad
    )
    save_policy(policy, tokenizer, tmp_path / "saved")
    again = scored(load_policy(tmp_path / "saved"), batch)
    assert (again - logprobs).abs().max() < 1e-3
