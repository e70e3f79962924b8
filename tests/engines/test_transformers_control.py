"""The engine for models in this process: requests that cannot be met, and who may interrupt whom."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from simulators import (
    ContextOverflow,
    FatalError,
    Sampling,
    TokenRequest,
    TransformersEngine,
    TransientError,
)
from tests.engines.tiny_model import (
    expected_logprobs,
    passes,
    tiny_engine,
    tiny_model,
    tiny_tokenizer,
    torch,
    transformers,
)

SHORT = TokenRequest((1, 2, 3), Sampling(max_tokens=3, temperature=0))
LONG = TokenRequest((4, 5, 6), Sampling(max_tokens=400, seed=0))


@pytest.fixture
def engine() -> Iterator[TransformersEngine]:
    engine = tiny_engine()
    yield engine
    engine.close()


def ask(engine: TransformersEngine, request: Any = SHORT) -> Any:
    return asyncio.run(engine.complete(request))


async def settled(engine: TransformersEngine, *requests: Any) -> list[Any]:
    """Return what becomes of requests at once, errors included."""
    return await asyncio.gather(*(engine.complete(one) for one in requests), return_exceptions=True)


class Gate:
    """Holds a model at the beginning of a pass."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self, *_: Any) -> None:
        self.reached.set()
        assert self.open.wait(30)


@contextmanager
def hooked(model: Any, before: Any) -> Iterator[Any]:
    """Call a function before each pass of a model."""
    hook = model.register_forward_pre_hook(before)
    try:
        yield before
    finally:
        hook.remove()


# -- requests that cannot be met --------------------------------------------------------------------------


def test_a_prompt_that_fills_the_window_is_an_overflow_with_its_numbers() -> None:
    engine = tiny_engine(window=32)
    with pytest.raises(
        ContextOverflow, match="The prompt has 32 tokens, the window of LlamaForCausalLM has 32"
    ) as caught:
        ask(engine, TokenRequest((1,) * 32))
    assert (caught.value.window, caught.value.prompt_tokens, caught.value.room) == (32, 32, 0)
    assert (engine.totals.calls, engine.totals.failed) == (1, 1)


def test_a_temperature_too_low_for_the_range_of_numbers_is_named(engine: TransformersEngine) -> None:
    with pytest.raises(FatalError, match=r"temperature of 1e-06: set 0, or at least 0.01"):
        ask(engine, TokenRequest((1, 2), Sampling(temperature=1e-6)))
    for temperature in (0, 0.01, 100):
        assert ask(engine, TokenRequest((1, 2), Sampling(temperature=temperature, max_tokens=1))).token_ids


@pytest.mark.parametrize("prompt", [(), (1, 300), (-1, 2)])
def test_a_prompt_is_made_of_the_models_own_tokens(
    engine: TransformersEngine, prompt: tuple[int, ...]
) -> None:
    with pytest.raises(FatalError, match="one token or more, from 0 to 299"):
        ask(engine, TokenRequest(prompt))
    assert ask(engine).finish_reason == "length"


@pytest.mark.parametrize("limits", [{"max_batch": 0}, {"cache_tokens": -1}, {"window": 1}, {"window": 513}])
def test_a_limit_out_of_its_range_is_refused(limits: dict[str, int]) -> None:
    model = tiny_model(window=512)
    with pytest.raises(ValueError, match=next(iter(limits))):
        TransformersEngine(model, tiny_tokenizer(), **limits)


def test_a_model_whose_layers_remember_otherwise_is_refused_with_the_way_out() -> None:
    config = transformers.MambaConfig(vocab_size=300, hidden_size=16, num_hidden_layers=1)
    with pytest.raises(
        FatalError, match=r"MambaForCausalLM cannot do: it has layers of .* serve it with vLLM"
    ):
        TransformersEngine(transformers.MambaForCausalLM(config), tiny_tokenizer(), window=64)


# -- failures ---------------------------------------------------------------------------------------------


def test_logits_that_are_not_finite_fail_their_own_row_and_leave_nothing_behind(
    engine: TransformersEngine,
) -> None:
    good = [TokenRequest((1, 2, n), Sampling(max_tokens=12, seed=n)) for n in range(3)]
    with torch.no_grad():
        engine.model.model.embed_tokens.weight[77] = float("nan")
    bad = TokenRequest((1, 2, 77), Sampling(max_tokens=12, seed=9))
    *answers, error = asyncio.run(settled(engine, *good, bad))
    assert isinstance(error, FatalError)
    assert "logits are not finite after 3 tokens" in str(error)
    for answer in [*answers, *asyncio.run(settled(engine, *good, SHORT))]:
        assert answer.logprobs == pytest.approx(expected_logprobs(engine.model, answer), abs=1e-4)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (
            RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
            TransientError,
            "max_batch",
        ),
        (torch.OutOfMemoryError("CUDA out of memory"), TransientError, "not enough memory"),
        (IndexError("a bug"), FatalError, "The model failed on 1 rows: IndexError a bug"),
    ],
)
def test_a_pass_that_fails_fails_its_rows_and_the_engine_goes_on(
    engine: TransformersEngine, fault: Exception, kind: type[Exception], words: str
) -> None:
    def fail_for_one(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if (named["input_ids"] == 99).any():
            raise fault

    engine.model.register_forward_pre_hook(fail_for_one, with_kwargs=True)
    before = ask(engine)
    with pytest.raises(kind, match=words) as caught:
        ask(engine, TokenRequest((99,)))
    assert caught.value.__cause__ is fault
    assert ask(engine).token_ids == before.token_ids


def test_where_memory_runs_out_for_one_prompt_the_other_rows_begin_anew_and_come_out_alike(
    engine: TransformersEngine,
) -> None:
    some = [TokenRequest((5, 6, n), Sampling(max_tokens=30, seed=n)) for n in range(3)]
    expected = [ask(engine, one).token_ids for one in some]

    def run_out(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if named["input_ids"].shape[1] > 200:
            raise torch.OutOfMemoryError("CUDA out of memory")

    engine.model.register_forward_pre_hook(run_out, with_kwargs=True)
    *answers, error = asyncio.run(settled(engine, *some, TokenRequest((9,) * 300)))
    assert isinstance(error, TransientError)
    assert [answer.token_ids for answer in answers] == expected


def test_a_step_that_fails_fails_all_rows_of_the_batch_and_those_that_wait_go_on() -> None:
    engine = tiny_engine(max_batch=2)
    count = iter(range(1000))

    def fail_once(*_: Any) -> None:
        if next(count) == 4:
            raise RuntimeError("once")

    with hooked(engine.model, fail_once):
        outcomes = asyncio.run(settled(engine, *[SHORT] * 6))
    failed = [outcome for outcome in outcomes if isinstance(outcome, FatalError)]
    assert 1 <= len(failed) <= 2
    assert {outcome.token_ids for outcome in outcomes if outcome not in failed} == {ask(engine).token_ids}


# -- cancellation -----------------------------------------------------------------------------------------


def test_a_cancelled_request_leaves_the_batch_and_one_that_waits_is_never_read() -> None:
    engine, gate = tiny_engine(max_batch=1), Gate()

    async def cancelled() -> None:
        running = asyncio.create_task(engine.complete(LONG))
        await asyncio.to_thread(gate.reached.wait, 30)
        waiting = asyncio.create_task(engine.complete(TokenRequest((7,) * 50, Sampling(max_tokens=400))))
        await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        assert [
            type(outcome) for outcome in await asyncio.gather(running, waiting, return_exceptions=True)
        ] == [
            asyncio.CancelledError,
            asyncio.CancelledError,
        ]
        gate.open.set()

    with passes(engine.model) as seen, hooked(engine.model, gate):
        asyncio.run(cancelled())
        ask(engine)
    assert len(seen) <= 6  # three tokens of the last one, after at most three passes of the first
    assert (1, 50) not in seen
    assert (engine.totals.calls, engine.totals.failed) == (3, 2)


# -- the trainer and the engine ---------------------------------------------------------------------------


def test_nothing_is_computed_while_the_engine_is_paused_and_all_goes_on_afterwards(
    engine: TransformersEngine,
) -> None:
    some = TokenRequest((4, 5, 6), Sampling(max_tokens=60, seed=0))
    gate, mine, intruders = Gate(), threading.current_thread(), []
    inside = threading.Event()

    def watch(*_: Any) -> None:
        if inside.is_set() and threading.current_thread() is not mine:
            intruders.append("a pass of the engine")

    async def paused() -> Any:
        first = asyncio.create_task(engine.complete(some))
        with hooked(engine.model, gate), hooked(engine.model, watch):
            await asyncio.to_thread(gate.reached.wait, 30)
            gate.open.set()
            with engine.paused(), engine.paused():
                inside.set()
                second = asyncio.create_task(engine.complete(SHORT))
                for _ in range(20):
                    await asyncio.sleep(0)
                    engine.model(torch.tensor([[1, 2, 3]]))
                inside.clear()
            return await asyncio.gather(first, second)

    outcomes = asyncio.run(paused())
    assert not intruders
    assert [one.token_ids for one in outcomes] == [ask(engine, some).token_ids, ask(engine).token_ids]


def test_after_new_weights_and_a_reset_cache_all_comes_from_the_new_weights(
    engine: TransformersEngine,
) -> None:
    [layer] = [engine.model.model.layers[0].self_attn.v_proj]
    before = ask(engine)
    with engine.paused():
        engine.model.train()
        loss = engine.model(torch.tensor([[1, 2, 3, 4]]), labels=torch.tensor([[1, 2, 3, 4]])).loss
        loss.backward()
        torch.optim.SGD(engine.model.parameters(), lr=1.0).step()
        engine.reset_cache()
    after = ask(engine)
    assert layer.weight.grad is not None
    assert before.logprobs != pytest.approx(after.logprobs, abs=1e-3)
    assert after.logprobs == pytest.approx(expected_logprobs(engine.model, after), abs=1e-4)
    assert not engine.model.training


def test_a_request_under_way_at_a_reset_keeps_its_tokens_and_goes_on_with_the_new_weights(
    engine: TransformersEngine,
) -> None:
    old = copy.deepcopy(engine.model)
    gate = Gate()
    passed: list[int] = []

    async def updated() -> Any:
        task = asyncio.create_task(engine.complete(TokenRequest((1, 2, 3), Sampling(max_tokens=30, seed=2))))
        with passes(engine.model) as seen:
            with hooked(engine.model, gate):
                await asyncio.to_thread(gate.reached.wait, 30)
                gate.open.set()
                with engine.paused():
                    passed.append(len(seen))
                    with torch.no_grad():
                        for parameter in engine.model.parameters():
                            parameter.mul_(1.1)
                    engine.reset_cache()
            return await task

    answer = asyncio.run(updated())
    by_old, by_new = expected_logprobs(old, answer), expected_logprobs(engine.model, answer)
    [count] = passed
    assert 1 <= count < 30
    assert answer.logprobs == pytest.approx((*by_old[:count], *by_new[count:]), abs=1e-4)
    again = ask(engine, TokenRequest((*answer.prompt_token_ids, *answer.token_ids, 5), SHORT.sampling))
    assert again.logprobs == pytest.approx(expected_logprobs(engine.model, again), abs=1e-4)


def test_a_closed_engine_fails_what_is_under_way_and_takes_nothing_more() -> None:
    engine, gate = tiny_engine(), Gate()

    async def closed() -> Any:
        with hooked(engine.model, gate):
            task = asyncio.create_task(engine.complete(LONG))
            await asyncio.to_thread(gate.reached.wait, 30)
            closing = asyncio.create_task(engine.aclose())
            gate.open.set()
            await closing
            return await asyncio.gather(task, engine.complete(SHORT), return_exceptions=True)

    for error in asyncio.run(closed()):
        assert isinstance(error, FatalError)
        assert "The engine is closed" in str(error)
    engine.close()


# -- the object -------------------------------------------------------------------------------------------


def test_a_copy_is_the_engine_itself_and_a_pickle_says_what_to_do_instead(engine: TransformersEngine) -> None:
    assert copy.deepcopy(engine) is engine
    assert repr(engine) == "TransformersEngine('LlamaForCausalLM', 'cpu', window=512)"
    with pytest.raises(TypeError, match="load it in each process, by the player string 'hf:PATH'"):
        pickle.dumps(engine)


def test_simulators_are_imported_without_torch_and_the_engine_loads_it_when_it_is_made() -> None:
    code = (
        "import sys, simulators; assert simulators.TransformersEngine and simulators.VLLMEngine; "
        "print(sorted({'torch', 'transformers', 'vllm', 'numpy', 'httpx'} & set(sys.modules)))"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"


@pytest.mark.slow
def test_a_program_ends_while_its_engine_is_decoding() -> None:
    code = (
        "import asyncio, threading\n"
        "from simulators import Sampling, TokenRequest\n"
        "from tests.engines.tiny_model import tiny_engine\n"
        "engine, begun = tiny_engine(), threading.Event()\n"
        "engine.model.register_forward_pre_hook(lambda *_: begun.set())\n"
        "async def begin():\n"
        "    task = asyncio.create_task(engine.complete(TokenRequest((1,), Sampling(max_tokens=500))))\n"
        "    await asyncio.to_thread(begun.wait)\n"
        "asyncio.run(begin())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")


# -- loading ----------------------------------------------------------------------------------------------


def test_a_folder_is_loaded_in_float32_on_the_cpu_with_its_template(tmp_path: Path) -> None:
    model = tiny_model()
    model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    engine = TransformersEngine.load(tmp_path, device="cpu", max_batch=4)
    assert engine.model.dtype == torch.float32
    assert not engine.model.training
    assert ask(engine).token_ids == ask(TransformersEngine(model, tiny_tokenizer())).token_ids


@pytest.mark.parametrize("name", ["nowhere", "nowhere.gguf"])
def test_a_model_that_is_not_there_is_an_error_with_its_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(FatalError, match=f"There is no tokenizer at '.*{name}'"):
        TransformersEngine.load(tmp_path / name)


def test_a_tokenizer_without_a_template_is_refused_before_the_model_is_loaded(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path)  # no model beside it
    with pytest.raises(FatalError, match="has no chat template"):
        TransformersEngine.load(tmp_path)


def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_tokenizer().save_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(FatalError, match=r"torch.*pip install 'gym-enterprise\[hf\]'"):
        TransformersEngine.load(tmp_path)
