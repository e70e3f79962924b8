"""`TransformersEngine`: a model of `transformers` in this process, for many players at once."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulators.engines.engine import Completion, Request
from simulators.engines.errors import FatalError
from simulators.engines.generation import Generation, Limits
from simulators.engines.openai import Totals
from simulators.renderer import template_for
from simulators.template import Template, load_tokenizer, source

if TYPE_CHECKING:
    import torch

    from simulators.engines.local.decoding import Row

CACHE_TOKENS = 65536
"""Tokens whose keys and values are kept, unless the engine is told otherwise."""


class TransformersEngine:
    """Completes chats and token prompts with a causal language model in this process.

    All requests under way are decoded together, one token each at every step, by a thread of its own.
    A request joins at the next step, and leaves when it is done or its caller stops waiting. Keys and values
    of what was read and sampled are kept, so that a prompt that begins like an earlier one, as each turn of a
    conversation does, is read from where it differs.

    What is sampled depends on the request only, up to rounding: not on what is decoded beside it, nor on what
    is kept. Each request has random numbers of its own, from its seed; one that has none gets the next of the
    engine's.

    `logprobs` are natural logarithms of softmax(logits / temperature), in float32 over the whole vocabulary,
    also where `top_p` is below 1; at temperature 0, of softmax(logits).

    The model stays the caller's, who may train it: `paused` keeps the engine from using it meanwhile, and
    `reset_cache` has to be called once its weights have changed.

    Args:
        model: A causal language model of `transformers`, or one of `peft` around it, that attends to all
            tokens before or to a sliding window of them.
        tokenizer: Its tokenizer.
        template: How chats are written as tokens; by default `template_for(tokenizer)`.
        window: Most tokens of prompt and completion together; by default what the model was made for.
        max_batch: Most requests decoded at once; further ones wait their turn.
        cache_tokens: Most tokens whose keys and values are kept beside those of requests under way; 0 keeps
            none. It should have room for all conversations under way, as the least recently used goes first.
        seed: For requests that have none.
        inline: Decode in the event loop of the callers instead of a thread: then nothing depends on how fast
            threads are, and the same requests of one loop give the same bits. Another loop may ask once
            nothing is under way in the one before.

    Raises:
        FatalError: The model is of another kind, its window is unknown, or there is no chat template.
        ValueError: A limit is out of its range.

    Example:
        >>> engine = TransformersEngine.load("models/SmolLM2-135M-Instruct")  # doctest: +SKIP
        >>> chat = ChatRequest(({"role": "user", "content": "Name a colour."},))  # doctest: +SKIP
        >>> asyncio.run(engine.complete(chat)).text  # doctest: +SKIP
        'Blue.'
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        template: Template | None = None,
        window: int | None = None,
        max_batch: int = 32,
        cache_tokens: int = CACHE_TOKENS,
        seed: int = 0,
        inline: bool = False,
    ) -> None:
        from simulators.engines.local.causal_lm import CausalLM
        from simulators.engines.local.decoding import Batch
        from simulators.engines.local.prefix_cache import PrefixCache
        from simulators.engines.local.scheduler import Scheduler

        self.model = model
        """The model."""
        self.template: Template = template_for(tokenizer) if template is None else template
        """How chats are written as tokens."""
        self.totals = Totals()
        """What it has done so far."""
        known = CausalLM(model)
        self.window: int = _window(known, window)
        """Most tokens of prompt and completion together."""
        _check(max_batch, cache_tokens)
        self._limits = Limits(known.name, self.window, known.vocabulary)
        self._seed, self._unseeded = seed, itertools.count()
        self._inline = inline
        self._scheduler = Scheduler(Batch(known, max_batch, PrefixCache(cache_tokens)))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: str | None = None,
        dtype: str | torch.dtype | None = None,
        window: int | None = None,
        max_batch: int = 32,
        cache_tokens: int = CACHE_TOKENS,
        seed: int = 0,
        **variables: Any,
    ) -> TransformersEngine:
        """Load a model with its tokenizer.

        Args:
            path: A folder, a name on the model hub, or a .gguf file.
            device: Such as "cuda:1"; by default CUDA where there is any, and otherwise the CPU.
            dtype: Of weights and computation; by default bfloat16 on CUDA and float32 elsewhere.
            window: See the class.
            max_batch: See the class.
            cache_tokens: See the class.
            seed: See the class.
            variables: Further arguments of `template_for`, such as `enable_thinking=False`.

        Raises:
            FatalError: A package is not installed, there is no such model, or the class refuses it.
        """
        tokenizer = load_tokenizer(path)
        template = template_for(tokenizer, **variables)  # before the model, which takes longer
        return cls(
            _load_model(path, device, dtype),
            tokenizer,
            template=template,
            window=window,
            max_batch=max_batch,
            cache_tokens=cache_tokens,
            seed=seed,
        )

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
            TransientError: There was not enough memory.
            FatalError: The request is out of range, the model failed, the engine is closed, or it decodes
                inline and is at work in another event loop.
        """
        self.totals.add(calls=1)
        try:
            generation = Generation.of(request, self.template, self._limits)
            row = self._row(generation)
            self._scheduler.submit(row, asyncio.get_running_loop() if self._inline else None)
            try:
                await asyncio.wrap_future(row.future)
            finally:
                row.future.cancel()  # where nobody waits any more; it does nothing once the row is done
        except BaseException:
            self.totals.add(failed=1)
            raise
        self.totals.add(prompt_tokens=row.prompt_length, completion_tokens=len(row.logprobs))
        return generation.completion(self.template, row.sampled, row.logprobs, row.reason)

    def paused(self) -> AbstractContextManager[None]:
        """Keep the engine from using the model, for as long as a `with` statement lasts.

        It begins when the step under way is done. Requests wait meanwhile, and then go on where they were.
        A model that was set to training mode in it is set to evaluation mode by the next step.

        Example:
            >>> with engine.paused():  # doctest: +SKIP
            ...     optimizer.step()
            ...     engine.reset_cache()
        """
        return self._scheduler.paused()

    def reset_cache(self) -> None:
        """Forget all keys and values, as is needed when the weights have changed, and free their memory.

        Requests under way go on with the new weights; what they have sampled stays, with the
        log-probabilities by the old ones.
        """
        self._scheduler.reset()

    def close(self) -> None:
        """Fail what is under way, complete nothing any more, and free the memory of keys and values."""
        self._scheduler.close()

    async def aclose(self) -> None:
        """Close it; see `close`."""
        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> TransformersEngine:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def _row(self, generation: Generation) -> Row:
        from simulators.engines.local.decoding import Row

        seed = f"{self._seed}/{next(self._unseeded)}" if generation.seed is None else generation.seed
        return Row(
            tokens=list(generation.prompt),
            prompt_length=len(generation.prompt),
            end=len(generation.prompt) + generation.max_tokens,
            temperature=generation.temperature,
            top_p=generation.top_p,
            random=random.Random(seed),
            stop_tokens=self.template.stop_token_ids,
            stopped=_stopper(generation, self.template) if generation.stop else None,
        )

    def __repr__(self) -> str:
        return f"TransformersEngine({self._limits.name!r}, {str(self.model.device)!r}, window={self.window})"

    def __deepcopy__(self, memo: dict[int, Any]) -> TransformersEngine:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self!r} is a model in this process, which cannot be pickled: load it in each process, by the "
            "player string 'hf:PATH' or with TransformersEngine.load."
        )


def _load_model(path: str | Path, device: str | None, dtype: Any) -> Any:
    try:
        import torch
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise FatalError(
            f"A model in this process needs torch and transformers: {error}. pip install 'gym-enterprise[hf]'"
        ) from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = dtype or (torch.bfloat16 if torch.device(device).type == "cuda" else torch.float32)
    folder, arguments = source(path)
    try:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **arguments)
    except ImportError as error:
        raise FatalError(
            f"The model at {str(path)!r} needs another package: {error} For .gguf files: "
            "pip install gguf accelerate"
        ) from error
    except (OSError, ValueError) as error:
        raise FatalError(f"There is no model at {str(path)!r} that can be loaded: {error}") from error
    return model.to(device).eval()


def _window(model: Any, wanted: int | None) -> int:
    window = model.window if wanted is None else wanted
    if window is None:
        raise FatalError(
            f"The configuration of {model.name} does not say how long its window is: set window."
        )
    if window < 2 or (model.window is not None and window > model.window):
        raise ValueError(
            f"The window should have 2 tokens or more, and no more than {model.name} was made for "
            f"({model.window}); got {wanted}."
        )
    return int(window)


def _check(max_batch: int, cache_tokens: int) -> None:
    if max_batch < 1 or cache_tokens < 0:
        raise ValueError(
            f"max_batch should be at least 1 and cache_tokens at least 0, got {max_batch} and {cache_tokens}."
        )


def _stopper(generation: Generation, template: Template) -> Callable[[Sequence[int]], bool]:
    """Return what says, told after each token, whether sampled tokens contain a text that ends them."""
    tail = 4 * max(map(len, generation.stop)) + 8  # a character is at most four tokens

    def stopped(sampled: Sequence[int]) -> bool:
        if generation.stop_in(template.text(sampled[-tail:])) is None:
            return False
        return generation.stop_in(template.text(sampled)) is not None  # a tail may begin within a character

    return stopped
