"""Validation of arguments that loses nothing and guesses nothing.

One value has one meaning whatever its spelling (33, 33.0 and 3.3e1), and what has no certain meaning is an
error that names the field. pydantic checks types and bounds; this module deals with what it would let pass.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

import pydantic

from gym_enterprise import strict_json

_INT64 = 2**63
_EXACT = 2**53
"""Beyond it a float stands for several integers."""
MAX_FAULTS = 10
"""Most faults that one message names."""


class ArgumentError(ValueError):
    """Arguments do not fit a tool's schema; the message is for the player."""


def normalise(value: Any, schema: Mapping[str, Any], path: str) -> Any:
    """Bring one argument to its only spelling.

    Args:
        value: A JSON value.
        schema: Its JSON schema, without references.
        path: Dotted name for messages.

    Returns:
        The value with text in NFC, integral floats as integers where the schema wants an integer or leaves
        the type open, and JSON text decoded where the schema wants an object or array.

    Raises:
        ArgumentError: The value cannot be kept exactly.
    """
    kinds = _kinds(schema)
    if isinstance(value, str) and not kinds & {"string", "any"} and kinds & {"object", "array"}:
        try:
            value = strict_json.parse(value)
        except ValueError as error:
            raise ArgumentError(f"{_field(path)} should be JSON: {error}") from None
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, bool) or value is None:
        if value is not None and kinds & {"integer", "number"} and "boolean" not in kinds:
            rule = "an integer" if "integer" in kinds else "a number"
            raise ArgumentError(f"{_field(path)} should be {rule}, got {_short(value)}")
        return value
    if isinstance(value, int | float):
        return _number(value, kinds, path)
    if isinstance(value, list | tuple):
        items = _part(schema, "array").get("items", {})
        return [normalise(item, items, _join(path, str(number))) for number, item in enumerate(value)]
    whole = _part(schema, "object")
    properties = whole.get("properties", {})
    for name in value:
        if path and name not in properties and whole.get("additionalProperties") is False:
            known = ", ".join(properties) or "none"
            raise ArgumentError(
                f"{_field(_join(path, name))} is not a known field of {_field(path)}; it has {known}"
            )
    return {
        _text(name, _join(path, name)): normalise(item, properties.get(name, {}), _join(path, name))
        for name, item in value.items()
    }


def explain(error: pydantic.ValidationError, of: str, names: list[str], whole: str = "the arguments") -> str:
    """Say in plain words what pydantic found, field by field, with the rule and the value.

    Args:
        error: From validating a model.
        of: Whose fields they are: a tool's name, "a task".
        names: The fields that there are.
        whole: What to call the value when no field of it is at fault.

    Returns:
        One clause a fault, `MAX_FAULTS` at most.
    """
    lines = []
    for item in error.errors(include_url=False):
        field = ".".join(str(part) for part in item["loc"])
        kind = item["type"]
        if kind == "missing":
            lines.append(f"{_field(field)} is required")
        elif kind == "extra_forbidden":
            known = f"a field of {of}; it takes {', '.join(names) or 'none'}"
            lines.append(f"{_field(field)} is not {known if len(item['loc']) == 1 else 'a known field'}")
        else:
            rule = _RULES.get(kind) or str(item.get("ctx", {}).get("error") or item["msg"])
            before, should, after = rule.partition("should ")  # "Input should", "List should": Python's names
            lines.append(
                f"{_field(field, whole)} {should + after if should else before}, got {_short(item['input'])}"
            )
    lines = list(dict.fromkeys(lines))
    more = [f"and {len(lines) - MAX_FAULTS} more"] if len(lines) > MAX_FAULTS else []
    return "; ".join(lines[:MAX_FAULTS] + more)


_RULES = {
    "model_type": "should be an object",
    "model_attributes_type": "should be an object",
    "dict_type": "should be an object",
    "list_type": "should be an array",
    "tuple_type": "should be an array",
    "string_type": "should be text",
    "int_type": "should be an integer",
    "float_type": "should be a number",
    "bool_type": "should be true or false",
    "none_required": "should be null",
}


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    if "anyOf" in schema:
        return set().union(*(_kinds(option) for option in schema["anyOf"]))
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    return {_KINDS.get(type(item), "any") for item in values} or {"any"}


_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def _part(schema: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return the alternative of a schema that describes arrays or objects."""
    for option in schema.get("anyOf", ()):
        if option.get("type") == kind:
            return option  # type: ignore[no-any-return]
    return schema


def _text(value: str, path: str) -> str:
    if not value.isascii():
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ArgumentError(f"{_field(path)} holds a lone surrogate, which is not text")
        value = unicodedata.normalize("NFC", value)
    if value != value.strip():
        raise ArgumentError(f"{_field(path)} has leading or trailing blanks; leave them out")
    return value


def _number(value: int | float, kinds: set[str], path: str) -> int | float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ArgumentError(f"{_field(path)} should be a finite number, got {value}")
        if not value.is_integer() or "number" in kinds:
            return value + 0.0  # minus zero is zero
        if abs(value) > _EXACT:
            if "integer" not in kinds:
                return value
            raise ArgumentError(
                f"{_field(path)} is too large to be exact with a decimal point or exponent, got {value}: "
                "write all its digits"
            )
        if not kinds & {"integer", "any"}:
            return value
        value = int(value)
    if not -_INT64 <= value < _INT64:
        raise ArgumentError(f"{_field(path)} is beyond 64 bits, got {_short(value)}")
    if "number" in kinds and "integer" not in kinds and int(float(value)) != value:
        raise ArgumentError(f"{_field(path)} has more digits than a number keeps, got {_short(value)}")
    return value


def _field(path: str, whole: str = "the arguments") -> str:
    if not path:
        return whole
    shown = path.encode("utf-8", "backslashreplace").decode()
    return f"`{shown if len(shown) <= 80 else shown[:77] + '...'}`"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _short(value: Any) -> str:
    text = strict_json.canonical(value) if strict_json.why_not_json(value) is None else "another value"
    return text if len(text) <= 80 else text[:77] + "..."
