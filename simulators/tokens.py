"""Streams of tokens: what a model read and sampled in one conversation, as it was, for training.

A later prompt extends the earlier tokens exactly, or a new segment begins. Nothing is encoded again, so that
the tokens that are trained on are those that were sampled, each with the log-probability it was sampled with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from simulators.engines.engine import Completion


@dataclass(frozen=True, slots=True)
class Segment:
    """Tokens in one piece; the three have the same length."""

    ids: tuple[int, ...]
    """The tokens."""
    sampled: tuple[int, ...]
    """1 where the model sampled the token, and 0 where it only read it."""
    logprobs: tuple[float, ...]
    """Log-probability with which the token was sampled, natural logarithm; 0.0 where it was not."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {"ids": list(self.ids), "sampled": list(self.sampled), "logprobs": list(self.logprobs)}


def segments(completions: Iterable[Completion]) -> tuple[Segment, ...]:
    """Join the completions of one conversation to as few segments as there can be.

    Args:
        completions: In the order of the conversation. One whose engine told no tokens or log-probabilities is
            left out: what it said is part of a later prompt, and nothing that was sampled.

    Returns:
        The segments, in order. There is more than one when a prompt did not begin with all tokens before it.

    Example:
        >>> first = Completion("b", token_ids=(2,), prompt_token_ids=(1,), logprobs=(-0.5,))
        >>> second = Completion("d", token_ids=(4,), prompt_token_ids=(1, 2, 3), logprobs=(-0.25,))
        >>> segments([first, second])
        (Segment(ids=(1, 2, 3, 4), sampled=(0, 1, 0, 1), logprobs=(0.0, -0.5, 0.0, -0.25)),)
    """
    found: list[Segment] = []
    for one in completions:
        prompt, ids, logprobs = one.prompt_token_ids, one.token_ids, one.logprobs
        if prompt is None or ids is None or logprobs is None:
            continue
        last = found[-1] if found else None
        if last is not None and prompt[: len(last.ids)] == last.ids:
            found.pop()
        else:
            last = Segment((), (), ())
        read = len(prompt) - len(last.ids)
        found.append(
            Segment(
                prompt + ids,
                last.sampled + (0,) * read + (1,) * len(ids),
                last.logprobs + (0.0,) * read + logprobs,
            )
        )
    return tuple(found)
