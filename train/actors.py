"""Who samples the rollouts: the model itself, vLLM on its GPU, or vLLM servers; with the newest weights."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

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
    """A model of this process samples: the policy itself, or a copy of it (`train.rollouts`)."""

    def __init__(self, config: GrpoConfig, model: Any, tokenizer: Any, template: Template) -> None:
        self.template, window = template, config.rollout.max_segment_tokens
        try:
            self.engine = TransformersEngine(
                model,
                tokenizer,
                template=template,
                window=window,
                max_batch=config.rollout.concurrency,
                cache_tokens=config.rollout.concurrency * window,
                inline=True,
            )
        except ValueError as error:
            raise UsageError(f"rollout.max_segment_tokens is {window}: {error}") from None

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
    """vLLM in this process, on the GPU of the trainer: it sleeps, without weights, while the model learns."""

    def __init__(self, config: GrpoConfig, model: Any, template: Template) -> None:
        self.template = template
        self._sleeps = torch.cuda.is_available()
        window = config.rollout.max_segment_tokens
        self.engine = VLLMEngine.load(
            config.model.path,
            template=template,
            max_model_len=window,
            max_num_seqs=config.rollout.concurrency,
            **(_beside(model) if self._sleeps else _on_cpu(model, window)),
        )
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


def _beside(model: Any) -> dict[str, Any]:
    """Return arguments of vLLM on the GPU of a model, which keeps its weights and gets an optimiser there.

    vLLM takes nine tenths of what these leave; the rest is for what both hold besides.
    """
    free, total = torch.cuda.mem_get_info(model.device)
    trained = sum(one.numel() * one.element_size() for one in model.parameters() if one.requires_grad)
    share = 0.9 * (free - 2 * trained) / total  # 2: AdamW has two moments of each
    if share <= 0:
        raise UsageError(
            f"of {total >> 20} MiB on the GPU {free >> 20} are free, and the optimiser takes "
            f"{2 * trained >> 20}, which leaves vLLM none: train adapters, or use rollout.mode 'servers'"
        )
    return {"dtype": "bfloat16", "enable_sleep_mode": True, "gpu_memory_utilization": share}


def _on_cpu(model: Any, window: int) -> dict[str, Any]:
    """Return arguments of vLLM on a CPU. It reads prompts whole: in pieces, a seed brings vLLM 0.32 down."""
    if model.get_input_embeddings().weight is model.get_output_embeddings().weight:
        raise UsageError(
            "on a CPU, vLLM 0.32 goes on with the old head of a model that shares it with the embeddings: "
            "use rollout.mode 'transformers'"
        )
    return {
        "dtype": "float32",
        "enforce_eager": True,
        "kv_cache_memory_bytes": 2**31,
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(window, 8192),
    }


class Servers:
    """vLLM servers that can read files of this machine.

    They are started with VLLM_SERVER_DEV_MODE=1, which opens the calls that change weights, and with
    ``--logprobs-mode processed_logprobs``.
    """

    def __init__(self, config: GrpoConfig, model: Any, template: Template) -> None:
        self.template = template
        self._urls = config.rollout.urls
        # Else a server samples as the model's generation_config.json says, and ends turns at its tokens.
        plain = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "ignore_eos": True}
        settings: dict[str, Any] = {
            "token_ids": True,
            "concurrency": config.rollout.concurrency,
            "timeout": 600.0,
            "extra": {**plain, "stop_token_ids": sorted(template.stop_token_ids)},
        }
        self.engine = Turns([OpenAIEngine(config.model.path, url, **settings) for url in self._urls])
        self._push(model)

    @contextmanager
    def learning(self, model: Any) -> Iterator[None]:
        """See `Actor.learning`."""
        yield
        self._push(model)

    def close(self) -> None:
        """See `Actor.close`."""

    def _push(self, model: Any) -> None:
        with weights_folder(weights(model), model.dtype) as folder, ThreadPoolExecutor() as threads:
            list(threads.map(_reload, self._urls, itertools.repeat(folder)))


class Turns:
    """An engine of several, which tasks get in turn; a task stays with its own, which keeps its prefixes."""

    def __init__(self, engines: Iterable[OpenAIEngine]) -> None:
        self.engines = list(engines)
        self._next = itertools.cycle(self.engines)
        self._own: WeakKeyDictionary[Any, OpenAIEngine] = WeakKeyDictionary()

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `Engine.complete`."""
        task = asyncio.current_task()
        if task not in self._own:
            self._own[task] = next(self._next)
        return await self._own[task].complete(request)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        for engine in self.engines:
            await engine.aclose()


def _reload(url: str, folder: str) -> None:
    """Let a server read its weights, and drop all keys and values of the old ones."""
    root = url.rstrip("/").removesuffix("/v1")
    _post(f"{root}/collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": folder}})
    told = _post(f"{root}/reset_prefix_cache?reset_running_requests=true", None)
    if told.get("success") is not True:  # it answers 200 either way
        raise UsageError(f"{root} kept keys and values of the old weights, and says {told}: see its log")


def _post(url: str, body: dict[str, Any] | None) -> dict[str, Any]:
    import httpx

    try:
        answer = httpx.post(url, json=body, timeout=600, trust_env=False)
        answer.raise_for_status()
        return dict(answer.json())
    except httpx.HTTPStatusError:
        raise UsageError(
            f"POST {url} answered {answer.status_code}: {answer.text[:200]!r}. Start vLLM 0.32 or newer with "
            "VLLM_SERVER_DEV_MODE=1 on a machine that sees this one's files"
        ) from None
    except (httpx.HTTPError, ValueError) as error:
        raise UsageError(f"POST {url} failed: {error}; is a vLLM server running there?") from error
