"""JSON read without guessing and written in one canonical form."""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 64
"""Deepest nesting of objects and arrays that a value may have."""
MAX_DIGITS = 1000
"""Longest integer in digits: longer ones take quadratic time, and from 4300 on Python refuses them."""


def parse(text: str) -> Any:
    """Parse JSON text strictly: no duplicate keys, no NaN or Infinity, no number that overflows.

    Args:
        text: One JSON document.

    Returns:
        The value; integers stay `int`, other numbers are `float`, and -0.0 is 0.0.

    Raises:
        ValueError: The text is not strict JSON; the message says why.

    Example:
        >>> parse('{"amount": 3.3e1}')
        {'amount': 33.0}
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    if reason := why_not_json(value):
        raise ValueError(reason)
    return value


def recorded(value: Any) -> str:
    r"""Return JSON text of what a player passed, for the record.

    Args:
        value: What `why_not_json` has nothing against.

    Returns:
        JSON that any reader can decode: a value with NaN, an infinity or a lone surrogate is kept as text.

    Example:
        >>> print(recorded({"amount": float("nan")}))
        "{\"amount\": NaN}"
    """
    try:
        text = _PLAIN.encode(value)
        text.encode()
    except ValueError:
        return json.dumps(json.dumps(value))
    return text


def canonical(value: Any) -> str:
    """Return the one text for a JSON value: sorted keys, no blanks, ASCII, typed numbers (5 is not 5.0)."""
    return _ENCODER.encode(value)


def why_not_json(value: Any, depth: int = 0) -> str | None:
    """Say why a Python object is not a JSON value, or None when it is one.

    NaN and the infinities pass: tools refuse them by field name, which is the better message.
    """
    kind = type(value)
    if kind is int and value.bit_length() > _MAX_BITS:
        return f"an integer has more than {MAX_DIGITS} digits"
    if value is None or kind in (str, int, float, bool):
        return None
    if depth >= MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, dict):
        for key, item in value.items():
            if type(key) is not str:
                return f"a key is {type(key).__name__}, not a string"
            reason = why_not_json(item, depth + 1)
            if reason:
                return reason
        return None
    if isinstance(value, list | tuple):
        return next((reason for item in value if (reason := why_not_json(item, depth + 1))), None)
    return f"{kind.__name__} is not a JSON type"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        double = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"duplicate key {double!r}")
    return result


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"an integer has more than {MAX_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value + 0.0


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


_MAX_BITS = (10**MAX_DIGITS).bit_length()
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
)
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
