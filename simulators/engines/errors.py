"""What can go wrong in an engine, by who has to act.

====================  ================================================================  ==================
error                 what happened                                                     what comes of it
====================  ================================================================  ==================
`TransientError`      the server was busy, slow, gone, or answered garbage              asked again
`ContentError`        the model wrote what its server could not read                    an observation
`ContextOverflow`     the prompt does not fit into the model's window                   never asked again
`FatalError`          the request can never work: key, model, URL, an argument          never asked again
====================  ================================================================  ==================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any


class EngineError(Exception):
    """Base of all errors of engines.

    Args:
        message: What happened, where, and the cure.
        status: HTTP status, when there was an answer.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TransientError(EngineError):
    """It may work the next time.

    Args:
        message: What happened.
        status: HTTP status, when there was an answer.
        retry_after: Seconds that the server asks to wait.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, status=status)
        self.retry_after = retry_after


class ContentError(EngineError):
    """The model wrote something that its own server could not read: the model's fault, not the server's.

    Args:
        message: What the server said.
        status: HTTP status.
        text: What the model wrote, as far as the server told.
    """

    def __init__(self, message: str, *, status: int | None = None, text: str = "") -> None:
        super().__init__(message, status=status)
        self.text = text


class FatalError(EngineError):
    """It will never work."""


class ContextOverflow(EngineError):
    """Prompt and completion do not fit into the model's window.

    Args:
        message: What the server said.
        status: HTTP status.
        window: Size of the window in tokens, when the server told.
        prompt_tokens: Length of the prompt in tokens, when the server told.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        window: int | None = None,
        prompt_tokens: int | None = None,
    ) -> None:
        super().__init__(message, status=status)
        self.window, self.prompt_tokens = window, prompt_tokens

    @property
    def room(self) -> int:
        """Tokens that a completion could have; 0 when that is not known or there are none."""
        if self.window is None or self.prompt_tokens is None:
            return 0
        return max(0, self.window - self.prompt_tokens)


def http_error(url: str, status: int, body: str, headers: Mapping[str, str]) -> EngineError:
    """Return the error that an HTTP answer means.

    Args:
        url: What was asked, without credentials.
        status: HTTP status; not a success.
        body: Text of the answer.
        headers: Its headers, by lower-case name.

    Returns:
        The error, not raised.
    """
    code, said = _error_fields(body)
    what = f"POST {url} answered {status}: {_short(said) or 'nothing'}"
    if status in _MAY_OVERFLOW and (code in _OVERFLOW_CODES or _OVERFLOW.search(said)):
        return ContextOverflow(what, status=status, window=_first(_WINDOW, said), prompt_tokens=_prompt(said))
    if code in _CONTENT_CODES or _UNREADABLE_OUTPUT.search(said):
        return ContentError(what, status=status, text=_failed_text(body))
    if code in _QUOTA_CODES:
        return FatalError(
            f"{what}. The account has no quota left: top it up, or use another key", status=status
        )
    if status in _TRANSIENT or status >= 500:
        return TransientError(what, status=status, retry_after=retry_after(headers))
    return FatalError(f"{what}. {_cure(status, headers)}", status=status)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds an answer asks to wait; None when it does not say.

    A date is read against the answer's own `Date`, so that no clock of this machine is needed.

    Example:
        >>> retry_after({"retry-after": "3"})
        3.0
    """
    wanted = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", wanted):
        return float(wanted)
    try:
        wait = parsedate_to_datetime(wanted) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())


def printable(text: str) -> str:
    r"""Return a text from outside as a terminal may show it: what it cannot print stands as its escape.

    Example:
        >>> print(printable("\x1b[31mred\x07"))
        \x1b[31mred\x07
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _error_fields(body: str) -> tuple[str, str]:
    """Return the code and the message of an error, as far as it has any."""
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        return "", body
    error = value.get("error", value) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return "", error if isinstance(error, str) else body
    codes = [error.get(key) for key in ("code", "type", "error_type")]
    code = next((code for code in codes if isinstance(code, str) and code in _KNOWN_CODES), "")
    message = error.get("message") or error.get("detail")
    return code, message if isinstance(message, str) else body


def _failed_text(body: str) -> str:
    try:
        text = json.loads(body)["error"]["failed_generation"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return text if isinstance(text, str) else ""


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    digits = next(group for group in found.groups() if group).replace(",", "") if found else ""
    return int(digits) if 0 < len(digits) < 19 else None


def _prompt(said: str) -> int | None:
    return _first(_PROMPT, said)


def _short(text: str, limit: int = 500) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _cure(status: int, headers: Mapping[str, str]) -> str:
    if status in (401, 403):
        return "The server wants a key: set OPENAI_API_KEY, or pass api_key"
    if status in (404, 405):
        return "Check the URL (it usually ends in /v1) and the name of the model (GET /models lists them)"
    if 300 <= status < 400:
        return f"It redirects to {_short(headers.get('location', 'another place'))}: use that URL"
    return "The server does not take this request: change the argument that it names"


_TRANSIENT = {408, 409, 425, 429}
_MAY_OVERFLOW = {400, 413, 422, 500}  # 500: older llama.cpp. Not 429, whose "too large" is about a rate.
_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error", "ContextWindowExceededError"}
_CONTENT_CODES = {"tool_use_failed", "json_validate_failed"}
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_KNOWN_CODES = _OVERFLOW_CODES | _CONTENT_CODES | _QUOTA_CODES

_OVERFLOW = re.compile(
    "|".join(
        (
            r"maximum context length",  # OpenAI, vLLM, DeepSeek, Mistral
            r"context length is only",  # vLLM
            r"longer than the (?:maximum model|model's context) length",  # vLLM, SGLang
            r"exceeds? the (?:available |model'?s |maximum )*context (?:size|length|window)",  # llama.cpp
            r"context (?:window|length) (?:is )?exceeded",
            r"prompt is too long|input is too long",  # Anthropic, Bedrock
            r"input token count .* exceeds the maximum",  # Gemini
            r"`?inputs`? (?:tokens \+ `?max_new_tokens`? must be <=|must have less than \d+ tokens)",  # TGI
            r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq
            r"model'?s max(?:imum)? (?:input|sequence|prompt) length",
        )
    ),
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:maximum context length (?:is|of)|context length is only|maximum model length of"
    r"|model's context length \(|tokens > |context size \()\s*([\d,]+)",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"([\d,]+) in the messages|([\d,]+) input tokens|([\d,]+) tokens in the prompt|prompt contains ([\d,]+)"
    r"|resulted in ([\d,]+) tokens|([\d,]+) tokens from the input|prompt \(length ([\d,]+)\)"
    r"|input \(([\d,]+) tokens\)|request \(([\d,]+) tokens\)|([\d,]+) tokens > ",
    re.IGNORECASE,
)
_UNREADABLE_OUTPUT = re.compile(
    r"error parsing tool call|failed to parse tool call|failed to call a function"
    r"|failed to parse (?:input|messages|output) at pos",  # Ollama, llama.cpp, Groq
    re.IGNORECASE,
)
