"""`OpenAIEngine`: any server that speaks OpenAI's protocol, such as vLLM, SGLang, llama.cpp or Ollama."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from simulators.engines.address import read_address
from simulators.engines.background import run
from simulators.engines.engine import ChatRequest, Completion, Request, TokenRequest
from simulators.engines.errors import ContextOverflow, EngineError, FatalError, TransientError, http_error
from simulators.engines.patience import Patience
from simulators.engines.responses import read_completions

if TYPE_CHECKING:
    import httpx

KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable with the key, for servers that want one."""

_adding = threading.Lock()


@dataclass(slots=True)
class Totals:
    """What an engine has done so far."""

    calls: int = 0
    """Requests that were answered or given up."""
    retries: int = 0
    """Attempts beyond the first of each call."""
    failed: int = 0
    """Calls without a completion."""
    prompt_tokens: int = 0
    """Tokens read, as the server counts them."""
    completion_tokens: int = 0
    """Tokens sampled."""

    def add(self, **more: int) -> None:
        """Add to some of them; callers may be in several threads."""
        with _adding:
            for name, value in more.items():
                setattr(self, name, getattr(self, name) + value)


@dataclass(slots=True)
class _Line:
    """Connections of one event loop: a client for each request that is under way.

    One client for all would look at every connection for every request: with 200 of them that takes longer
    than the request itself.
    """

    open: Callable[[], httpx.AsyncClient]
    """Makes a client."""
    slots: asyncio.Semaphore
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    """All that were made."""
    free: list[httpx.AsyncClient] = field(default_factory=list)
    """Those that wait for a request; the one used last comes first, as its connection is still alive."""

    def take(self) -> httpx.AsyncClient:
        """Return a client for one request; its caller puts it back into `free`."""
        if self.free:
            return self.free.pop()
        self.clients.append(self.open())
        return self.clients[-1]


class OpenAIEngine:
    """Asks an OpenAI-compatible server for completions.

    Connections are kept per event loop; close the engine (`async with`, `aclose()`, or `close()` after use
    from code without a loop) to give them back. It can be shared by any number of players.

    Args:
        model: Name of the model, as the server knows it.
        url: Base URL, such as "http://localhost:8000/v1".
        api_key: Key; by default what the environment variable OPENAI_API_KEY holds, if anything. It is not
            shown, logged or pickled.
        concurrency: Most requests of one event loop at once; further ones wait their turn.
        timeout: Seconds for one attempt.
        deadline: Seconds for one call with all its attempts and waits, from when it has its turn.
        attempts: Most attempts of one call; only transient errors are tried again.
        token_ids: Whether to ask for token ids and log-probabilities (fields of vLLM).
        max_tokens_field: What the server calls the limit of a completion.
        extra: Further fields of every request.
        seed: Seed of the jitter of the waits.
        sleep: Waits for so many seconds.
        clock: Gives seconds.

    Raises:
        ValueError: An argument is not one of those.

    Example:
        >>> engine = OpenAIEngine("qwen", "http://localhost:8000/v1")
        >>> engine
        OpenAIEngine('qwen', 'http://localhost:8000/v1')
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        api_key: str | None = None,
        concurrency: int = 64,
        timeout: float = 120.0,
        deadline: float = 600.0,
        attempts: int = 6,
        token_ids: bool = False,
        max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens",
        extra: Mapping[str, Any] | None = None,
        seed: int = 0,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        _check(model, url, concurrency=concurrency, timeout=timeout, deadline=deadline, attempts=attempts)
        self.model, self.url = model, url.rstrip("/")
        self.totals = Totals()
        """What it has done so far."""
        self._key = api_key
        self._concurrency, self._timeout, self._deadline = concurrency, timeout, deadline
        self._attempts, self._token_ids = attempts, token_ids
        self._max_tokens_field, self._extra = max_tokens_field, dict(extra or {})
        self._rng = random.Random(seed)
        self._sleep, self._clock = sleep, clock
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, _Line] = WeakKeyDictionary()

    async def complete(self, request: Request) -> Completion:
        """Complete one request; see `Engine.complete`."""
        return (await self.sample(request, 1))[0]

    async def sample(self, request: Request, n: int) -> tuple[Completion, ...]:
        """Complete one request `n` times.

        Args:
            request: A chat, or the tokens to continue.
            n: How many completions.

        Returns:
            The completions, by index.

        Raises:
            TransientError: It failed as often as was allowed; the message has the last failure.
            ContentError: The model wrote what the server could not read.
            ContextOverflow: The prompt leaves no room in the model's window. When there is room for fewer
                tokens than asked for, so many are asked for.
            FatalError: The server will never take this request.
        """
        path, body = self._body(request, n)
        line = self._line()
        async with line.slots:
            patience = Patience(self._attempts, self._deadline, self._rng, self._clock)
            self.totals.add(calls=1)
            client = line.take()
            try:
                completions = await self._persist(client, path, body, n, patience)
            except BaseException:
                self.totals.add(failed=1)
                raise
            finally:
                line.free.append(client)
                self.totals.add(retries=patience.retries)
        self.totals.add(
            prompt_tokens=sum(one.usage.prompt_tokens for one in completions),
            completion_tokens=sum(one.usage.completion_tokens for one in completions),
        )
        return completions

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            for client in line.clients:
                await client.aclose()

    def close(self) -> None:
        """Close the connections that code without an event loop has used."""
        run(self.aclose())

    async def __aenter__(self) -> OpenAIEngine:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _persist(
        self, client: httpx.AsyncClient, path: str, body: dict[str, Any], n: int, patience: Patience
    ) -> tuple[Completion, ...]:
        clamped = False
        while True:
            try:
                return await self._attempt(client, path, body, n, patience.left)
            except ContextOverflow as error:
                if clamped or not error.room:
                    raise
                body, clamped = {**body, self._max_tokens_field: error.room}, True
            except TransientError as error:
                wait = patience.wait_after(error)
                if wait is None:
                    raise self._given_up(error, patience) from error
                await self._sleep(wait)

    async def _attempt(
        self, client: httpx.AsyncClient, path: str, body: dict[str, Any], n: int, left: float
    ) -> tuple[Completion, ...]:
        import httpx

        where = self.url + path
        limit = min(self._timeout, left)
        try:
            async with asyncio.timeout(limit):
                answer = await client.post(_parsed(where), json=body, headers=self._headers())
        except TimeoutError:
            raise TransientError(f"POST {where} was not answered within {limit:g} s") from None
        except httpx.InvalidURL as error:
            raise FatalError(f"POST {where} cannot be sent: {error}. Check the URL") from error
        except httpx.RequestError as error:
            raise TransientError(
                f"POST {where} broke off: {type(error).__name__} {error}".rstrip()
            ) from error
        if answer.status_code != 200:
            raise self._without_key(http_error(where, answer.status_code, answer.text, answer.headers))
        return self._read(where, answer.content.decode(errors="replace"), n)  # JSON is UTF-8

    def _read(self, where: str, text: str, n: int) -> tuple[Completion, ...]:
        try:
            payload = json.loads(text)
            if isinstance(payload, dict) and "choices" not in payload and payload.get("error"):
                raise self._without_key(http_error(where, _status(payload["error"]), text, {}))
            return read_completions(payload, n)
        except (ValueError, RecursionError) as error:
            raise TransientError(
                f"POST {where} answered what is no completion: {error}", status=200
            ) from error

    def _given_up(self, error: TransientError, patience: Patience) -> TransientError:
        cure = "see the server's log" if error.status else f"is a server running at {self.url}?"
        times = "1 attempt" if patience.spent == 1 else f"{patience.spent} attempts"
        return TransientError(
            f"{error}. Given up after {times}: {cure}", status=error.status, retry_after=error.retry_after
        )

    def _without_key(self, error: EngineError) -> EngineError:
        key = self._api_key()
        if key and key in str(error):
            error.args = (str(error).replace(key, "***"),)
        return error

    def _api_key(self) -> str | None:
        return self._key or os.environ.get(KEY_VARIABLE)

    def _headers(self) -> dict[str, str]:
        key = self._api_key()
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _body(self, request: Request, n: int) -> tuple[str, dict[str, Any]]:
        body: dict[str, Any] = {"model": self.model}
        if isinstance(request, TokenRequest):
            path = "/completions"
            body["prompt"] = list(request.prompt_token_ids)
        else:
            path = "/chat/completions"
            body |= _chat(request)
        sampling = request.sampling
        given = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._max_tokens_field: sampling.max_tokens,
            "seed": sampling.seed,
            "stop": list(sampling.stop) or None,
            "n": n if n != 1 else None,
        }
        body |= {name: value for name, value in given.items() if value is not None}
        if self._token_ids:
            body |= {"return_token_ids": True, "return_tokens_as_token_ids": True}
            body["logprobs"] = True if isinstance(request, ChatRequest) else 1
        return path, body | self._extra

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = _Line(self._opener(), asyncio.Semaphore(self._concurrency))
        return line

    def _opener(self) -> Callable[[], httpx.AsyncClient]:
        import httpx

        address = read_address(self.url)
        trusted = address.hostname not in ("localhost", "127.0.0.1", "::1")  # no proxy to this machine
        secure = address.scheme == "https"  # reading the certificates takes longer than a local call
        return functools.partial(
            httpx.AsyncClient,
            limits=httpx.Limits(max_keepalive_connections=1),
            timeout=None,  # each attempt has its own limit
            verify=httpx.create_ssl_context(verify=secure, trust_env=trusted),
            trust_env=trusted,
        )

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, {self.url!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> OpenAIEngine:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_key": None, "_lines": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lines = WeakKeyDictionary()


@functools.lru_cache(maxsize=64)
def _parsed(url: str) -> httpx.URL:
    import httpx

    return httpx.URL(url)


def _chat(request: ChatRequest) -> dict[str, Any]:
    tools = {"tools": list(request.tools)} if request.tools else {}
    return {"messages": list(request.messages), **tools}


def _status(error: Any) -> int:
    """Return the status that an error inside a successful answer names."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 300 <= code < 600 else 502


def _check(model: str, url: str, **numbers: float) -> None:
    read_address(url)
    if not model:
        raise ValueError(f"An engine needs a model and a URL; there is no model for {url!r}.")
    for name, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name} should be above 0, got {value!r}.")
