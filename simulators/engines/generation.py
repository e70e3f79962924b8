"""`Generation`: what a model in this process is asked to sample, and the completion that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulators.engines.engine import Completion, Request, TokenRequest, Usage
from simulators.engines.errors import ContextOverflow, FatalError
from simulators.template import Template

MAX_TOKENS = 2048
"""Tokens of a completion when the request does not say, if the window has room for them."""
LOWEST_TEMPERATURE = 0.01
"""Lowest temperature above 0; below, logits leave the range of numbers, and vLLM takes this one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model can take."""

    name: str
    """The model, as errors call it."""
    window: int
    """Most tokens of prompt and completion together."""
    vocabulary: int
    """How many tokens it knows."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A request as tokens, with nothing left open but the seed."""

    prompt: tuple[int, ...]
    """Tokens to continue."""
    max_tokens: int
    """Most tokens to sample; at least 1, and no more than the window has room for."""
    temperature: float
    """0 takes the likeliest token."""
    top_p: float
    """Share of the probability that is sampled from."""
    seed: int | None
    """None where the request has none."""
    stop: tuple[str, ...]
    """Texts that end the completion."""

    @classmethod
    def of(cls, request: Request, template: Template, limits: Limits) -> Generation:
        """Read a request.

        Args:
            request: A chat, or the tokens to continue. None in its sampling stands for a temperature of 1, a
                top_p of 1, and `MAX_TOKENS`.
            template: Writes a chat as tokens.
            limits: Of the model.

        Raises:
            ContextOverflow: The prompt leaves no room in the window.
            FatalError: The temperature is too low, or a token is none of the model's.
        """
        sampling = request.sampling
        if sampling.temperature and sampling.temperature < LOWEST_TEMPERATURE:
            raise FatalError(
                f"A model in this process cannot be sampled from with a temperature of "
                f"{sampling.temperature!r}: set 0, or at least {LOWEST_TEMPERATURE}."
            )
        if isinstance(request, TokenRequest):
            prompt = tuple(request.prompt_token_ids)
        else:
            prompt = template.prompt(request.messages, request.tools)
        _check_prompt(prompt, limits)
        return cls(
            prompt=prompt,
            max_tokens=min(sampling.max_tokens or MAX_TOKENS, limits.window - len(prompt)),
            temperature=1.0 if sampling.temperature is None else sampling.temperature,
            top_p=1.0 if sampling.top_p is None else sampling.top_p,
            seed=sampling.seed,
            stop=sampling.stop,
        )

    def stop_in(self, text: str) -> int | None:
        """Return where the first text begins that ends the completion; None when there is none."""
        return min((text.find(stop) for stop in self.stop if stop in text), default=None)

    def completion(
        self, template: Template, sampled: Sequence[int], logprobs: Sequence[float], reason: str | None
    ) -> Completion:
        """Return the completion that was sampled.

        Args:
            template: Writes tokens as text.
            sampled: The tokens, with the one that ended it.
            logprobs: One a token.
            reason: "stop" or "length".
        """
        text = template.text(sampled)
        cut = self.stop_in(text)
        return Completion(
            text=text[:cut],
            token_ids=tuple(sampled),
            prompt_token_ids=self.prompt,
            logprobs=tuple(logprobs),
            finish_reason=reason if cut is None else "stop",
            usage=Usage(len(self.prompt), len(sampled)),
        )


def _check_prompt(prompt: Sequence[int], limits: Limits) -> None:
    if not prompt or min(prompt) < 0 or max(prompt) >= limits.vocabulary:
        raise FatalError(
            f"A prompt for {limits.name} is one token or more, from 0 to {limits.vocabulary - 1}; this one "
            f"has {len(prompt)}, from {min(prompt, default=None)} to {max(prompt, default=None)}. Encode it "
            "with the model's own tokenizer."
        )
    if len(prompt) >= limits.window:
        raise ContextOverflow(
            f"The prompt has {len(prompt)} tokens, the window of {limits.name} has {limits.window}: that "
            "leaves no room for a completion. Shorten the chat, or use a model with a longer window.",
            window=limits.window,
            prompt_tokens=len(prompt),
        )
