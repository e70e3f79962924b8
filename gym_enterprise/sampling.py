"""Random actions that read like real ones: short phrases, and arguments that fit a tool's JSON schema.

The schemas are those that `gym_enterprise.tools` can emit. Anything else is refused when a space is built, so
that sampling never gives a call that its tool's schema does not allow.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from gym_enterprise.errors import ToolDefinitionError

PHRASES = (
    "Hello, I need some help with my account.",
    "Could you check that for me, please?",
    "I do not have that number at hand.",
    "Yes, please go ahead.",
    "No, thank you.",
    "One moment, let me look that up.",
    "May I have your date of birth, please?",
    "That is done now.",
    "I am afraid I cannot do that.",
    "When will it take effect?",
    "Can you tell me why?",
    "Is there anything else?",
)
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "iris", "A1", "42")

_NOTES = {"title", "description", "default", "examples"}
_RANGE = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_FORMATS = {"string": "date", "number": "dollars"}
_KEYWORDS: dict[str, set[str]] = {
    "string": {"minLength", "maxLength", "format"},
    "integer": _RANGE,
    "number": {*_RANGE, "format"},
    "boolean": set(),
    "null": set(),
    "array": {"items", "minItems", "maxItems"},
    "object": {"properties", "required", "additionalProperties"},
}
_WIDTH = 1000
"""Span, in steps, of a number that has no bound on one side."""


def sample_text(rng: np.random.Generator) -> str:
    """Return one or two phrases."""
    return " ".join(_one(rng, PHRASES) for _ in range(int(rng.integers(1, 3))))


def sample_value(rng: np.random.Generator, schema: Mapping[str, Any]) -> Any:
    """Return a fresh value that fits a schema which `check_schema` has passed.

    Args:
        rng: The source of chance.
        schema: A JSON schema without references.

    Returns:
        A JSON value.
    """
    for keyword in ("examples", "enum"):
        if keyword in schema:
            return _one(rng, schema[keyword])
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return sample_value(rng, _one(rng, schema["anyOf"]))
    return _SAMPLERS[schema.get("type", "string")](rng, schema)


def check_schema(schema: Mapping[str, Any], where: str) -> None:
    """Refuse a schema that cannot be sampled.

    Args:
        schema: A JSON schema without references.
        where: What it describes, for the message.

    Raises:
        ToolDefinitionError: It uses a keyword beyond the supported ones and has no `examples`.
    """
    if "examples" in schema or "enum" in schema or "const" in schema:
        return
    if "anyOf" in schema:
        for option in schema["anyOf"]:
            check_schema(option, where)
        return
    kind = schema.get("type", "string")
    known = _KEYWORDS.get(kind) if isinstance(kind, str) else None
    unknown = sorted(schema.keys() - _NOTES - {"type"} - (known or set()))
    if known is None or unknown or schema.get("format") not in (None, _FORMATS.get(kind)):
        what = f"the type {kind!r}" if known is None else f"the keyword {(unknown or ['format'])[0]!r}"
        raise ToolDefinitionError(
            f"{where}: actions cannot be sampled for {what} of its schema; give the parameter "
            "Field(examples=[...]) to draw from"
        )
    if kind in ("integer", "number"):
        _number_range(schema, where)
    if kind == "array":
        check_schema(schema.get("items", {}), f"{where}, items")
    for name, part in schema.get("properties", {}).items():
        check_schema(part, f"{where}, {name!r}")


def _one(rng: np.random.Generator, items: Sequence[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


def _string(rng: np.random.Generator, schema: Mapping[str, Any]) -> str:
    if "format" in schema:
        return (datetime.date(2020, 1, 1) + datetime.timedelta(int(rng.integers(4000)))).isoformat()
    word: str = _one(rng, WORDS)
    word = word.ljust(schema.get("minLength", 0), "x")
    return word[: schema["maxLength"]] if "maxLength" in schema else word


def _number(rng: np.random.Generator, schema: Mapping[str, Any]) -> int | float:
    low, high, step = _number_range(schema, "number")
    count = min(int(high - low), 10**6) + 1
    value = (low + int(rng.integers(count))) * step
    return int(value) if schema["type"] == "integer" else float(value)


def _number_range(schema: Mapping[str, Any], where: str) -> tuple[Decimal, Decimal, Decimal]:
    """Return the first and last multiple of the step within the bounds, and the step."""
    whole = schema["type"] == "integer"
    steps = [Decimal(str(schema["multipleOf"]))] if "multipleOf" in schema else []
    steps = [Decimal("0.01")] if "format" in schema else steps
    for step in steps or ([Decimal(1)] if whole else [Decimal(10) ** -digits for digits in (2, 6, 12)]):
        low, high = _bound(schema, "inimum", step), _bound(schema, "aximum", step)
        if low is None and high is None:
            low = Decimal(0)
        low = high - _WIDTH if low is None and high is not None else low
        high = low + _WIDTH if high is None and low is not None else high
        if low is not None and high is not None and low <= high:
            return low, high, step
    raise ToolDefinitionError(f"{where}: no number fits its bounds")


def _bound(schema: Mapping[str, Any], end: str, step: Decimal) -> Decimal | None:
    """Return the outermost multiple of the step that one end allows ("inimum" or "aximum"), or None."""
    lower = end == "inimum"
    bounds = []
    for keyword, exclusive in ((f"m{end}", False), (f"exclusiveM{end}", True)):
        if keyword in schema:
            exact = Decimal(str(schema[keyword])) / step
            count = exact.to_integral_value(ROUND_CEILING if lower else ROUND_FLOOR)
            if exclusive and count == exact:
                count += 1 if lower else -1
            bounds.append(count)
    if not bounds:
        return None
    return max(bounds) if lower else min(bounds)


def _array(rng: np.random.Generator, schema: Mapping[str, Any]) -> list[Any]:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + 2), least + 2)
    items = schema.get("items", {})
    return [sample_value(rng, items) for _ in range(int(rng.integers(least, most + 1)))]


def _object(rng: np.random.Generator, schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    return {
        name: sample_value(rng, part)
        for name, part in schema.get("properties", {}).items()
        if name in required or rng.integers(2)
    }


_SAMPLERS: dict[str, Callable[[np.random.Generator, Mapping[str, Any]], Any]] = {
    "string": _string,
    "integer": _number,
    "number": _number,
    "boolean": lambda rng, schema: bool(rng.integers(2)),
    "null": lambda rng, schema: None,
    "array": _array,
    "object": _object,
}
