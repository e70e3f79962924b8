"""Who samples the rollouts: the model itself, vLLM on its GPU, or vLLM servers; with the newest weights."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch

from gym_enterprise.errors import UsageError
from simulators import Completion, OpenAIEngine, TransformersEngine, VLLMEngine
from simulators.engines.engine import Engine, Request
from simulators.engines.vllm import weights_folder
from simulators.renderer import template_for
from simulators.template import Template
from train.config import GrpoConfig
from train.model import weights


class Actor(Protocol):
    """An engine that can be given the weights of the policy."""

    @property
    def engine(self) -> Engine:
        """What samples."""
        ...

    @property
    def template(self) -> Template:
        """How chats are written as tokens."""
        ...

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        """Keep it from sampling while the model learns; at the end it has the new weights."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


def open_actor(config: GrpoConfig, model: Any, tokenizer: Any) -> Actor:
    """Start what `rollout.mode` says.

    Args:
        config: The configuration.
        model: The policy.
        tokenizer: Its tokenizer.
    """
    rollout = config.rollout
    template = template_for(tokenizer, keep_history=rollout.keep_history)
    if rollout.mode == "transformers":
        return Itself(config, model, tokenizer, template)
    if rollout.mode == "vllm":
        return SharedGPU(config, model, template)
    return Servers(config, model, template)


class Itself:
    """The model samples by itself; nothing has to be copied."""

    def __init__(self, config: GrpoConfig, model: Any, tokenizer: Any, template: Template) -> None:
        self.template = template
        self.engine = TransformersEngine(
            model,
            tokenizer,
            template=template,
            window=config.rollout.max_segment_tokens,
            max_batch=config.rollout.concurrency,
            cache_tokens=config.rollout.concurrency * config.rollout.max_segment_tokens,
            inline=True,
        )

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        """See `Actor.learning`."""
        with self.engine.paused():
            self.engine.reset_cache()  # before, for its memory
            yield
        self.engine.reset_cache()

    def close(self) -> None:
        """See `Actor.close`."""
        self.engine.close()


class SharedGPU:
    """vLLM in this process, on the GPU of the trainer: it sleeps while the model learns."""

    def __init__(self, config: GrpoConfig, model: Any, template: Template) -> None:
        self.template = template
        self.engine = VLLMEngine.load(
            config.model.path,
            template=template,
            max_model_len=config.rollout.max_segment_tokens,
            max_num_seqs=config.rollout.concurrency,
            dtype="bfloat16",
            enable_sleep_mode=torch.cuda.is_available(),
        )
        self._sleeps = torch.cuda.is_available()
        self.engine.update_weights(weights(model))  # the path is where the run began, not where it stands

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        """See `Actor.learning`."""
        if self._sleeps:
            self.engine.sleep(2)
        yield
        if self._sleeps:
            torch.cuda.empty_cache()
            self.engine.wake("weights")
        self.engine.update_weights(weights(model))
        if self._sleeps:
            self.engine.wake("kv_cache")

    def close(self) -> None:
        """See `Actor.close`."""
        self.engine.close()


class Servers:
    """vLLM servers that can read files of this machine; each request goes to the next one.

    They are started with VLLM_SERVER_DEV_MODE=1, which opens the calls that change weights, and with
    ``--logprobs-mode processed_logprobs``.
    """

    def __init__(self, config: GrpoConfig, model: Any, template: Template) -> None:
        self.template = template
        self._urls = config.rollout.urls
        self.engine = Turns([OpenAIEngine(config.model.path, url, token_ids=True) for url in self._urls])
        self._push(model)

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        """See `Actor.learning`."""
        yield
        self._push(model)

    def close(self) -> None:
        """See `Actor.close`."""

    def _push(self, model: Any) -> None:
        with weights_folder(weights(model), torch.bfloat16) as folder:
            for url in self._urls:
                _reload(url.rstrip("/").removesuffix("/v1"), folder)


class Turns:
    """An engine that asks several, one after the other."""

    def __init__(self, engines: Iterable[OpenAIEngine]) -> None:
        self.engines = list(engines)
        self._next = itertools.cycle(self.engines)

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `Engine.complete`."""
        return await next(self._next).complete(request)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        for engine in self.engines:
            await engine.aclose()


def _reload(root: str, folder: str) -> None:
    """Let a server, which nobody asks meanwhile, read its weights and drop old keys and values."""
    import httpx

    calls: tuple[tuple[str, dict[str, Any] | None], ...] = (
        ("/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": folder}}),
        ("/reset_prefix_cache", None),
    )
    for path, body in calls:
        try:
            answer = httpx.post(root + path, json=body, timeout=600)
        except httpx.HTTPError as error:
            raise UsageError(f"POST {root}{path} broke off: {error}; is the server running?") from error
        if answer.status_code != 200:
            raise UsageError(
                f"POST {root}{path} answered {answer.status_code}: {answer.text[:200]!r}. Start vLLM 0.32 or "
                "newer with VLLM_SERVER_DEV_MODE=1 on a machine that sees this one's files"
            )
