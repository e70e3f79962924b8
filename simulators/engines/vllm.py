"""`VLLMEngine`: a model that vLLM serves in this process, for many players at once."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulators.engines.background import elsewhere, run
from simulators.engines.engine import Completion, Request, sampled_logprob
from simulators.engines.errors import EngineError, FatalError, TransientError
from simulators.engines.generation import Generation, Limits
from simulators.engines.openai import Totals
from simulators.renderer import template_for
from simulators.template import Template, load_tokenizer

if TYPE_CHECKING:
    import torch

_LOGPROBS = "processed_logprobs"
"""vLLM's name for log-probabilities of what is sampled from: after the temperature."""


class VLLMEngine:
    """Completes chats and token prompts with vLLM, which batches all requests under way and keeps prefixes.

    vLLM computes in a process of its own, and is spoken to in the background loop (see
    `simulators.engines.background`), whichever loop the caller is in.

    `logprobs` are natural logarithms of softmax(logits / temperature), at temperature 0 of softmax(logits).
    Unlike those of `TransformersEngine`, they are of what is left where `top_p` is below 1. What one seed
    samples may differ between runs: vLLM's rounding depends on what else is in its batch.

    Args:
        llm: A `vllm.v1.engine.async_llm.AsyncLLM` with `logprobs_mode="processed_logprobs"`.
        template: How chats are written as tokens, and which tokens end a turn.
        seed: For requests that have none.

    Raises:
        FatalError: The model gives other log-probabilities.

    Example:
        >>> engine = VLLMEngine.load("models/SmolLM2-135M-Instruct", max_model_len=4096)  # doctest: +SKIP
    """

    def __init__(self, llm: Any, template: Template, *, seed: int = 0) -> None:
        config = llm.model_config
        if config.logprobs_mode != _LOGPROBS:
            raise FatalError(
                f"{config.model} gives {config.logprobs_mode}, which are not what it samples by: set "
                f"logprobs_mode={_LOGPROBS!r}."
            )
        self.template = template
        """How chats are written as tokens."""
        self.window: int = config.max_model_len
        """Most tokens of prompt and completion together."""
        self.totals = Totals()
        """What it has done so far."""
        self._open: Any = llm
        self._limits = Limits(str(config.model), self.window, config.get_vocab_size())
        self._seed, self._numbers = seed, itertools.count()
        atexit.register(self.close)

    @classmethod
    def load(
        cls, path: str | Path, *, template: Template | None = None, seed: int = 0, **arguments: Any
    ) -> VLLMEngine:
        """Start vLLM with a model, which takes from half a minute to minutes.

        As vLLM starts processes, a script that does this has to begin with `if __name__ == "__main__":`.

        Args:
            path: A folder, or a name on the model hub.
            template: How chats are written as tokens; by default the model's own chat template.
            seed: See the class.
            arguments: Of vLLM's `AsyncEngineArgs`, such as `max_model_len` (tokens), `tensor_parallel_size`,
                `gpu_memory_utilization` or `enable_sleep_mode`.

        Raises:
            FatalError: vLLM is not installed, or cannot start with this model.
        """
        try:
            from vllm import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            raise FatalError(
                f"A model in this process that vLLM serves needs vllm: {error}. "
                "pip install 'gym-enterprise[vllm]', or start a server and use OpenAIEngine."
            ) from error
        template = template or template_for(load_tokenizer(path))  # before the model, which takes longer
        try:
            asked = AsyncEngineArgs(model=str(path), logprobs_mode=_LOGPROBS, **arguments)
            return cls(AsyncLLM.from_engine_args(asked), template, seed=seed)
        except (OSError, RuntimeError, ValueError) as error:
            raise FatalError(f"vLLM cannot start with {str(path)!r}: {error}") from error

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `Engine.complete`.

        Args:
            request: A chat, or the tokens to continue. Values of its sampling that are None stand for a
                temperature of 1, a top_p of 1, and the tokens that the window leaves, at most `MAX_TOKENS`.

        Returns:
            The completion. Its tokens include the one that ended it. A text that ended it is cut off with
            what follows; its tokens are not.

        Raises:
            ContextOverflow: The prompt leaves no room in the window. When there is room for fewer tokens than
                asked for, there are fewer.
            TransientError: vLLM gave the request up.
            FatalError: The request is out of range, or vLLM has ended or is closed.
        """
        return await elsewhere(self._complete(request))

    def reset_cache(self) -> None:
        """Forget all keys and values; requests under way are read again, with what they have sampled.

        Raises:
            RuntimeError: It is called in the background loop, for which it waits, as all methods below do.
        """
        run(self._reset())

    def sleep(self, level: int = 1) -> None:
        """Give the device's memory back, once the requests under way are done.

        Args:
            level: 1 keeps the weights in the host's memory; 2 keeps none, and `update_weights` has to come
                after `wake`. The model has to be loaded with `enable_sleep_mode=True`.
        """
        run(self._llm.sleep(level, mode="wait"))

    def wake(self, *tags: str) -> None:
        """Take the device's memory again.

        Args:
            tags: "weights" or "kv_cache"; by default both. After "weights" alone, weights can be updated
                before the cache takes its memory.
        """
        run(self._llm.wake_up(list(tags) or None))

    def update_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Put other weights into the model; requests under way go on with them, and no old keys are kept.

        They go through a temporary folder, where all processes of vLLM read them: let TMPDIR be in memory.

        Args:
            weights: All parameters by the names of `transformers`, as from `model.named_parameters()`.

        Raises:
            FatalError: They do not fit; what the model is then is not known.
        """
        with weights_folder(weights, self._llm.model_config.dtype) as folder:
            run(self._reload(folder))

    def close(self) -> None:
        """Fail what is under way, and end vLLM."""
        if self._open is not None:
            atexit.unregister(self.close)
            llm, self._open = self._open, None
            run(_shut_down(llm))

    async def aclose(self) -> None:
        """Close it; see `close`."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> VLLMEngine:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    async def _complete(self, request: Request) -> Completion:
        self.totals.calls += 1
        try:
            llm = self._llm
            generation = Generation.of(request, self.template, self._limits)
            output = await self._generate(llm, generation)
            completion = self._completion(generation, output.outputs[0])
        except BaseException:
            self.totals.failed += 1
            raise
        self.totals.prompt_tokens += completion.usage.prompt_tokens
        self.totals.completion_tokens += completion.usage.completion_tokens
        return completion

    @property
    def _llm(self) -> Any:
        if self._open is None:
            raise _closed()
        return self._open

    async def _generate(self, llm: Any, generation: Generation) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        number = str(next(self._numbers))
        prompt = {"prompt_token_ids": list(generation.prompt)}
        arguments = sampling_arguments(generation, self.template.stop_token_ids, f"{self._seed}/{number}")
        try:
            parameters = SamplingParams(**arguments, output_kind=RequestOutputKind.FINAL_ONLY)
            async for output in llm.generate(prompt, parameters, request_id=number):
                last = output
        except Exception as error:
            raise _meaning(error) from error
        return last

    def _completion(self, generation: Generation, output: Any) -> Completion:
        if output.finish_reason not in ("stop", "length"):
            if self._open is None:
                raise _closed()
            raise TransientError(f"vLLM gave the request up: {output.finish_reason}")
        sampled = tuple(output.token_ids)
        told = [at[token].logprob for token, at in zip(sampled, output.logprobs, strict=True)]
        try:
            logprobs = [sampled_logprob(one) for one in told]
        except ValueError as error:
            raise FatalError(
                f"{self._limits.name} has sampled wrongly, {error}: its weights have diverged. Load an "
                "earlier checkpoint."
            ) from error
        return generation.completion(self.template, sampled, logprobs, output.finish_reason)

    async def _reset(self) -> None:
        if not await self._llm.reset_prefix_cache(reset_running_requests=True):
            raise TransientError("vLLM kept its cache: see its log for the reason")

    async def _reload(self, folder: str) -> None:
        await self._llm.pause_generation(mode="keep", clear_cache=False)
        try:
            await self._llm.collective_rpc("reload_weights", kwargs={"weights_path": folder})
            await self._reset()
        except Exception as error:
            raise FatalError(f"vLLM does not take these weights: {error}. Load the model again") from error
        finally:
            await self._llm.resume_generation()

    def __repr__(self) -> str:
        return f"VLLMEngine({self._limits.name!r}, window={self.window})"

    def __deepcopy__(self, memo: dict[int, Any]) -> VLLMEngine:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} is a model in this process, which cannot be pickled: load it in each process, by the "
            "player string 'vllm:PATH' or with VLLMEngine.load."
        )


@contextlib.contextmanager
def weights_folder(weights: Iterable[tuple[str, torch.Tensor]], dtype: torch.dtype) -> Iterator[str]:
    """Write weights as vLLM's `reload_weights` reads them, into a folder that is gone afterwards.

    Args:
        weights: All parameters by the names of `transformers`.
        dtype: What they are turned into.
    """
    from safetensors.torch import save_file

    copies = {name: one.detach().to("cpu", dtype, copy=True).contiguous() for name, one in weights}
    with tempfile.TemporaryDirectory(prefix="weights-") as folder:
        save_file(copies, Path(folder, "model.safetensors"))
        yield folder


def sampling_arguments(generation: Generation, stop_tokens: Iterable[int], seed: str) -> dict[str, Any]:
    """Return arguments of vLLM's `SamplingParams`.

    Only the template's tokens and the given texts end a completion; its text is written by the template.

    Args:
        generation: What to sample.
        stop_tokens: Tokens that end it.
        seed: Gives the seed where the generation has none.
    """
    number = random.Random(seed).getrandbits(31) if generation.seed is None else generation.seed
    return {
        "temperature": generation.temperature,
        "top_p": generation.top_p,
        "max_tokens": generation.max_tokens,
        "seed": number % 2**63,  # vLLM takes -1 for none
        "stop": list(generation.stop),
        "stop_token_ids": sorted(stop_tokens),
        "ignore_eos": True,
        "logprobs": 0,
        "detokenize": bool(generation.stop),
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
    }


async def _shut_down(llm: Any) -> None:
    from vllm.v1.engine.exceptions import EngineDeadError

    with contextlib.suppress(EngineDeadError):
        await llm.pause_generation(mode="abort")  # or those who wait would wait for ever
    llm.shutdown()


def _closed() -> FatalError:
    return FatalError("The engine is closed: it completes nothing any more. Load a new one.")


def _meaning(error: Exception) -> EngineError:
    from vllm.exceptions import VLLMClientError
    from vllm.v1.engine.exceptions import EngineDeadError

    if isinstance(error, EngineDeadError):
        return FatalError("vLLM has ended: see its log for the reason, and load the model again")
    what = f"{type(error).__name__} {error}".rstrip()
    if isinstance(error, VLLMClientError | TypeError | ValueError):
        return FatalError(f"vLLM does not take this request: {what}")
    return TransientError(f"vLLM gave the request up: {what}")
