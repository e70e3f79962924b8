"""The same JSON in other spellings: no reward may depend on them."""

from __future__ import annotations

import json
from typing import Any


def respell(value: Any) -> str:
    """Write a JSON value with every number spelled another way: 33 as 33.0, 33.5 as 3.35e1.

    Args:
        value: A JSON value.

    Returns:
        JSON text of an equal value.

    Example:
        >>> respell({"amount": 33.5, "cards": [2]})
        '{"amount": 3.35e1, "cards": [2.0]}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {respell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(respell, value)) + "]"
    if type(value) is int and abs(value) <= 2**53:  # beyond it a decimal spelling is refused, see lossless.py
        return f"{value}.0"
    if type(value) is float:
        digits = repr(value)
        whole, point, cents = digits.partition(".")
        sign, whole = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
        if "e" in digits or not point:
            return digits
        return f"{sign}{whole[0]}.{whole[1:]}{cents}e{len(whole) - 1}"
    return json.dumps(value)
