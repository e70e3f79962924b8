"""Answers of OpenAI-compatible servers, read strictly: what is not as it should be is a `ValueError`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulators.engines.engine import Completion, Usage, sampled_logprob

_LABEL = re.compile(r"token_id:(\d+)")
_IMPOSSIBLE = -9999.0
"""What vLLM writes for a log-probability of minus infinity."""
_MOST_COUNTED = 2**53
"""No count is larger: JSON numbers are exact up to here."""


def read_completions(payload: Any, n: int) -> tuple[Completion, ...]:
    """Read the answer to a chat or to a token prompt.

    Args:
        payload: The parsed JSON.
        n: How many choices were asked for.

    Returns:
        The choices in the order of their index. Usage stands with the first, as it is counted for all.

    Raises:
        ValueError: It is not such an answer; the message says what is wrong.
    """
    choices = payload.get("choices") if isinstance(payload, Mapping) else None
    if not isinstance(choices, list) or not all(isinstance(choice, Mapping) for choice in choices):
        raise ValueError("there is no list of choices")
    indices = [choice.get("index", place) for place, choice in enumerate(choices)]
    by_index = {index: one for index, one in zip(indices, choices, strict=True) if type(index) is int}
    if len(by_index) != len(choices) or not set(range(n)) <= by_index.keys():
        raise ValueError(f"the choices have the indices {indices}, and 0 to {n - 1} were asked for")
    return tuple(_read_choice(payload, by_index[index], first=index == 0) for index in range(n))


def _read_choice(payload: Mapping[str, Any], choice: Mapping[str, Any], first: bool) -> Completion:
    text, tool_calls = _said(choice)
    entries = _entries(choice.get("logprobs"))
    token_ids = _ids(choice.get("token_ids"), "token_ids")
    if token_ids is None and entries and all(_label(entry) is not None for entry in entries):
        token_ids = tuple(int(_label(entry) or 0) for entry in entries)
    prompt = choice.get("prompt_token_ids", payload.get("prompt_token_ids"))
    finish = choice.get("finish_reason")
    return Completion(
        text=text,
        tool_calls=tool_calls,
        token_ids=token_ids,
        prompt_token_ids=_ids(prompt, "prompt_token_ids"),
        logprobs=_logprobs(entries, token_ids),
        finish_reason=finish if isinstance(finish, str) else None,
        usage=_usage(payload.get("usage")) if first else Usage(),
    )


def _said(choice: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    if "text" in choice and "message" not in choice:
        return _text(choice["text"]), ()
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise ValueError("a choice has neither a message nor a text")
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise ValueError("tool_calls is no list")
    return _text(message.get("content")), tuple(calls)


def _text(content: Any) -> str:
    if isinstance(content, list):  # parts, as some servers write them
        content = "".join(_text(part.get("text")) for part in content if isinstance(part, Mapping))
    if not isinstance(content, str | None):
        raise ValueError(f"the content is {type(content).__name__}, not text")
    return content or ""


def _ids(value: Any, name: str) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(token) is int and token >= 0 for token in value):
        raise ValueError(f"{name} is no list of integers from 0")
    return tuple(value)


def _entries(logprobs: Any) -> list[Mapping[str, Any]] | None:
    """Return one entry a token with `token` and `logprob`, from either of the two forms that servers use."""
    if logprobs is None:
        return None
    if not isinstance(logprobs, Mapping):
        raise ValueError("logprobs is no object")
    if "token_logprobs" in logprobs:
        values, labels = logprobs["token_logprobs"], logprobs.get("tokens")
        if not isinstance(values, list) or not isinstance(labels, list) or len(labels) != len(values):
            raise ValueError("tokens and token_logprobs are not two lists of the same length")
        return [{"token": label, "logprob": value} for label, value in zip(labels, values, strict=True)]
    content = logprobs.get("content")
    if content is None:
        return None
    if not isinstance(content, list) or not all(isinstance(entry, Mapping) for entry in content):
        raise ValueError("logprobs.content is no list of objects")
    return content


def _logprobs(
    entries: list[Mapping[str, Any]] | None, token_ids: tuple[int, ...] | None
) -> tuple[float, ...] | None:
    if entries is None:
        return None
    if token_ids is None:
        return tuple(_logprob(entry.get("logprob")) for entry in entries)
    if len(entries) != len(token_ids):
        raise ValueError(f"there are {len(token_ids)} tokens and {len(entries)} logprobs")
    return tuple(_sampled(entry, token) for entry, token in zip(entries, token_ids, strict=True))


def _sampled(entry: Mapping[str, Any], token: int) -> float:
    """Return the log-probability of the token that was sampled, not of the likeliest candidate."""
    label = _label(entry)
    if label in (None, token):
        return _logprob(entry.get("logprob"))
    candidates = entry.get("top_logprobs")
    for candidate in candidates if isinstance(candidates, list) else ():
        if _label(candidate) == token:
            return _logprob(candidate.get("logprob"))
    raise ValueError(f"token {token} was sampled, and the log-probability is of token {label}")


def _label(entry: Any) -> int | None:
    token = entry.get("token") if isinstance(entry, Mapping) else None
    found = _LABEL.fullmatch(token) if isinstance(token, str) else None
    return int(found.group(1)) if found else None


def _logprob(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a logprob is {value!r}, not a number")
    return sampled_logprob(value if value > _IMPOSSIBLE else -float("inf"))


def _usage(value: Any) -> Usage:
    """Return what was counted; a count that cannot be is one that the server did not tell."""
    if not isinstance(value, Mapping):
        return Usage()
    counts = [value.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if type(count) is int and 0 <= count <= _MOST_COUNTED else 0 for count in counts))
