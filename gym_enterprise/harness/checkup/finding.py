"""`Finding`: what one check came to."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from simulators.engines.errors import printable

Status = Literal["ok", "warning", "failed"]

LONGEST = 400
"""Most characters of a detail that is a message of other code."""

_SECRETS = ("OPENAI_API_KEY", "HF_TOKEN")
"""Environment variables whose values are never told."""
_SHORTEST_SECRET = 6
"""What is shorter is a placeholder, such as "none", and would also hide plain words."""
_PASSWORD = re.compile(r"(?<=://)[^\s'\"]*(?=@)")
_QUERY = re.compile(r"(?<=\?)[^\s'\"?]*=[^\s'\"]*")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check came to."""

    check: str
    """What was looked at."""
    status: Status
    """"failed" is what keeps something that was asked for from working."""
    detail: str
    """What was found, on one line."""
    cure: str = ""
    """What to do about it, where there is something to do."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self)

    def redacted(self) -> Finding:
        """Return the same without keys, passwords, the queries of URLs, and orders to a terminal."""
        check, detail, cure = (printable(_redacted(one)) for one in (self.check, self.detail, self.cure))
        return replace(self, check=check, detail=detail, cure=cure)


def ok(check: str, detail: str, cure: str = "") -> Finding:
    """Return that a check found all in order; the cure is for who wants more."""
    return Finding(check, "ok", detail, cure)


def warning(check: str, detail: str, cure: str) -> Finding:
    """Return that a check found something that works, but perhaps not as it is meant."""
    return Finding(check, "warning", detail, cure)


def failed(check: str, detail: str, cure: str) -> Finding:
    """Return that a check found something that does not work."""
    return Finding(check, "failed", detail, cure)


def failure(check: str, error: Exception, cure: str) -> Finding:
    """Return that a check was ended by an error.

    Args:
        check: The check.
        error: What was raised.
        cure: What to do, unless the error itself says what to install.
    """
    said = one_line(str(error) or type(error).__name__)
    before, install, what = said.partition("pip install ")
    if install:
        return failed(check, before.rstrip(" .:"), install + what)
    return failed(check, said, cure)


def one_line(text: str, limit: int = LONGEST) -> str:
    """Return a text on one line, cut to so many characters; a key in it is hidden before it is cut."""
    text = " ".join(_redacted(text).split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _redacted(text: str) -> str:
    for name in _SECRETS:
        secret = os.environ.get(name, "")
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return _QUERY.sub("***", _PASSWORD.sub("***", text))
