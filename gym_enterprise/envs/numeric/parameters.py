"""`Parameter`: one argument of a tool, as far as its JSON schema tells."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FREE_TEXT = frozenset(
    ("body", "comment", "description", "message", "note", "notes", "pattern", "query", "summary", "text")
)
"""Names of parameters that any words fit; they are filled with what the partner said last."""

SEARCH = frozenset(("pattern", "query", "search"))
"""Those of them for which the menu also has topics."""

GENERIC = frozenset(("content", "value"))
"""Names that say nothing about the value; such a parameter takes whatever the partner told last."""

_NUMBER = re.compile(r"-?\d{1,12}(?:\.\d+)?")

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: str
    """Its JSON type; one of "array" or "object" is never filled."""
    required: bool
    choices: tuple[Any, ...] = ()
    """All its values, where the schema lists them."""
    format: str = ""
    """Such as "date" or "dollars"."""

    @property
    def type(self) -> str:
        """What kind of value it is, by its format or else the end of its name: "date", "email", "id", ..."""
        return self.format or self.name.rpartition("_")[2]

    @property
    def named(self) -> bool:
        """Whether its value is looked out for by its name."""
        whole = self.kind == "integer" and not self.required
        told = self.name in FREE_TEXT or self.name in GENERIC
        return self.kind in ("string", "number", "integer") and not (self.choices or told or whole)

    @property
    def asked_for(self) -> bool:
        """Whether a partner can be asked for it: it has a name, and is no id and no name of a tool."""
        return self.named and self.name.rpartition("_")[2] != "id" and not self.name.endswith("tool_name")

    def fit(self, value: Any) -> Any:
        """Return the value as this parameter takes it, or None if it does not."""
        if self.kind == "string":
            return value if isinstance(value, str) else None
        if self.kind in ("number", "integer"):
            if isinstance(value, str) and _NUMBER.fullmatch(value):
                value = float(value) if "." in value else int(value)
            if isinstance(value, bool) or not isinstance(value, int | float):
                return None
            if self.format == "dollars":
                value = abs(value)  # what was taken can be given back
            whole = float(value).is_integer()
            return None if self.kind == "integer" and not whole else int(value) if whole else value
        return None


def parameters_of(schema: Schema) -> tuple[Parameter, ...]:
    """Return the parameters of a tool.

    Args:
        schema: The JSON schema of its arguments.

    Example:
        >>> parameters_of({"properties": {"day": {"type": "string", "format": "date"}}, "required": ["day"]})
        (Parameter(name='day', kind='string', required=True, choices=(), format='date'),)
    """
    required = frozenset(schema.get("required", ()))
    return tuple(
        _parameter(name, part, name in required) for name, part in schema.get("properties", {}).items()
    )


def _parameter(name: str, schema: Schema, required: bool) -> Parameter:
    inner = next((part for part in schema.get("anyOf", ()) if part.get("type") != "null"), schema)
    kind = str(inner.get("type", "string" if "enum" in inner or "const" in inner else "object"))
    choices = tuple(inner["enum"]) if "enum" in inner else (inner["const"],) if "const" in inner else ()
    if name == "arguments":  # of a tool that calls another one: an object, whatever the schema says
        kind = "object"
    if kind == "boolean" and not choices:
        choices = (False, True)
    return Parameter(name, kind, required, choices, str(inner.get("format", "")))


def choices_of(parameters: tuple[Parameter, ...], limit: int) -> tuple[dict[str, Any], ...]:
    """Return all ways to fill the parameters whose values the schema lists, at most `limit`, in its order.

    An optional one is left out first.
    """
    listed = [parameter for parameter in parameters if parameter.choices]
    options = [
        (*parameter.choices,) if parameter.required else (None, *parameter.choices) for parameter in listed
    ]
    ways: Iterator[tuple[Any, ...]] = itertools.product(*options)
    return tuple(
        {parameter.name: value for parameter, value in zip(listed, way, strict=True) if value is not None}
        for way in itertools.islice(ways, limit)
    )
