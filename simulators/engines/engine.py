"""What an engine takes and gives: requests, sampling, completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

ChatMessage = Mapping[str, Any]
"""A chat message as OpenAI-compatible servers take it: role, content, tool_calls or tool_call_id."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample; None leaves a value to the engine."""

    temperature: float | None = None
    """0 takes the likeliest token."""
    top_p: float | None = None
    """Share of the probability that is sampled from."""
    max_tokens: int | None = None
    """Most tokens of the completion."""
    seed: int | None = None
    """Seed of the sampler."""
    stop: tuple[str, ...] = ()
    """Texts at which the completion ends."""


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
    """Tokens to continue: what was sampled before goes in again as it was, never re-encoded."""

    prompt_token_ids: tuple[int, ...]
    """The prompt."""
    sampling: Sampling = field(default_factory=Sampling)
    """How to sample."""


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
