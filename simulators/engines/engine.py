"""What an engine takes and gives: requests, sampling, completions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Protocol

ChatMessage = Mapping[str, Any]
"""A chat message as OpenAI-compatible servers take it: role, content, tool_calls or tool_call_id."""

ROUNDING = 1e-3
"""How far above 0 a log-probability may lie by rounding."""

_RULES: dict[str, tuple[type, Callable[[Any], float], Callable[[Any], bool], str]] = {
    "temperature": (Real, float, lambda value: 0 <= value <= 100, "a number from 0 to 100"),
    "top_p": (Real, float, lambda value: 0 < value <= 1, "a number above 0 and at most 1"),
    "max_tokens": (Integral, int, lambda value: 1 <= value < 2**31, "a whole number from 1 to 2**31 - 1"),
    "seed": (Integral, int, lambda value: 0 <= value < 2**63, "a whole number from 0 to 2**63 - 1"),
}
"""Of each value of `Sampling`: its kind, how it is kept, whether it is in range, and the rule as words."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample; None leaves a value to the engine.

    Numbers may be scalars of numpy, and are kept as Python's own.

    Raises:
        ValueError: A value is not of its kind or out of its range.
    """

    temperature: float | None = None
    """From 0, which takes the likeliest token, to 100."""
    top_p: float | None = None
    """Share of the probability that is sampled from: above 0 and at most 1."""
    max_tokens: int | None = None
    """Most tokens of the completion; at least 1."""
    seed: int | None = None
    """Seed of the sampler: 0 or more, below 2**63."""
    stop: tuple[str, ...] = ()
    """Texts at which the completion ends."""

    def __post_init__(self) -> None:
        for name, (kind, kept, fits, rule) in _RULES.items():
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, kind) or not fits(value):
                raise ValueError(
                    f"Sampling: {name} should be {rule}, or None to leave it to the engine; got {value!r}."
                )
            object.__setattr__(self, name, kept(value))
        texts: Any = self.stop
        if not isinstance(texts, tuple | list) or not all(isinstance(one, str) and one for one in texts):
            raise ValueError(
                "Sampling: stop should be a tuple of texts that have at least one character, such as "
                f"('END',); got {texts!r}."
            )
        object.__setattr__(self, "stop", tuple(texts))


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat to complete."""

    messages: tuple[ChatMessage, ...]
    """The chat so far."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Functions that the model may call, in OpenAI's format."""
    sampling: Sampling = field(default_factory=Sampling)
    """How to sample."""


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """Tokens to continue: what was sampled before goes in again as it was, never re-encoded.

    Raises:
        ValueError: A token is no whole number.
    """

    prompt_token_ids: tuple[int, ...]
    """The prompt; integers of numpy are kept as Python's own."""
    sampling: Sampling = field(default_factory=Sampling)
    """How to sample."""

    def __post_init__(self) -> None:
        try:
            ids = tuple(map(operator.index, self.prompt_token_ids))
        except TypeError as error:
            raise ValueError(f"A prompt is a tuple of token ids, which are whole numbers: {error}.") from None
        object.__setattr__(self, "prompt_token_ids", ids)


Request = ChatRequest | TokenRequest


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a completion took, as the engine counts them."""

    prompt_tokens: int = 0
    """Tokens read."""
    completion_tokens: int = 0
    """Tokens sampled."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered."""

    text: str
    """The text as decoded; empty when there is none."""
    tool_calls: tuple[Any, ...] = ()
    """Structured calls as the server wrote them, unchecked."""
    token_ids: tuple[int, ...] | None = None
    """The tokens that were sampled; None when the engine does not tell."""
    prompt_token_ids: tuple[int, ...] | None = None
    """The tokens that were read; None when the engine does not tell."""
    logprobs: tuple[float, ...] | None = None
    """Log-probability of each sampled token, natural logarithm; None when the engine does not tell."""
    finish_reason: str | None = "stop"
    """Why it ended: "stop", "length" (cut by the token limit), "tool_calls", or the server's own word."""
    usage: Usage = field(default_factory=Usage)
    """Tokens that it took."""


def sampled_logprob(value: float) -> float:
    """Return the log-probability of a token that was sampled, without what rounding has put above 0.

    Raises:
        ValueError: It is not finite, or above 0.

    Example:
        >>> sampled_logprob(-0.5), sampled_logprob(1e-6)
        (-0.5, 0.0)
    """
    if not -float("inf") < value <= ROUNDING:
        raise ValueError(f"a logprob is {value!r}: that of a token that was sampled is finite, and at most 0")
    return min(float(value), 0.0)


class Engine(Protocol):
    """Completes chats. One engine serves many players at once.

    Example:
        >>> class Echo:
        ...     async def complete(self, request):
        ...         return Completion(request.messages[-1]["content"])
        >>> import asyncio
        >>> chat = ChatRequest(({"role": "user", "content": "Hello"},))
        >>> asyncio.run(Echo().complete(chat)).text
        'Hello'
    """

    async def complete(self, request: Request) -> Completion:
        """Complete one request.

        Args:
            request: A chat, or the tokens to continue.

        Returns:
            The completion.

        Raises:
            EngineError: There is none; see `simulators.engines.errors`.
        """
        ...
