"""Which Python types a tool's argument may have: those that JSON carries exactly and without a choice."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pydantic

ALLOWED = (
    "str, int, bool, float, Literal[...], Money, Date, Annotated[...] of these, list[...], X | None, "
    "dict[str, Any] (an open object), and pydantic models of these"
)
"""The allowed types, for messages."""

_OPEN_OBJECT = dict[str, Any]


def why_not_allowed(annotation: Any, inside: tuple[type, ...] = ()) -> str | None:
    """Say which part of a type is not allowed, or None when the type is.

    Args:
        annotation: The type of an argument.
        inside: The models around it.

    Returns:
        The part at fault.

    Example:
        >>> why_not_allowed(list[str] | None) is None
        True
        >>> why_not_allowed(list[int | str])
        'int | str'
    """
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return why_not_allowed(parts[0], inside)
    if annotation in (str, int, bool, float) or annotation == _OPEN_OBJECT:
        return None
    if origin is Literal and all(type(value) in (str, int, bool) for value in parts):
        return None
    if origin is list:
        return why_not_allowed(parts[0], inside)
    if origin in (Union, UnionType):
        others = [part for part in parts if part is not NoneType]
        return why_not_allowed(others[0], inside) if len(others) == 1 else str(annotation)
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        if annotation in inside:
            return f"{annotation.__name__} within itself"
        annotation.model_rebuild(raise_errors=False)  # a model may name one that is defined below it
        fields = annotation.model_fields.values()
        found = (why_not_allowed(field.annotation, (*inside, annotation)) for field in fields)
        return next((part for part in found if part), None)
    return annotation.__name__ if isinstance(annotation, type) and not parts else str(annotation)


def marks(annotation: Any) -> Iterator[Any]:
    """Yield what `Annotated` attaches to a type, also within `X | None`."""
    if get_origin(annotation) is Annotated:
        yield from annotation.__metadata__
    elif get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from marks(part)
