"""Read-only JSON: what tasks and tools share with every player of a process, and nobody may change."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(
        "this is shared by all episodes and read-only: change a copy, made by gym_enterprise.frozen.thaw(), "
        "dict(...) or ToolSpec.to_dict()"
    )


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed; equal to a dict with the same items, and JSON as one."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenDict:
        return self


class FrozenList(list[Any]):
    """A list that cannot be changed; equal to a list with the same items, and JSON as one."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenList:
        return self


def freeze(value: Any) -> Any:
    """Return a value whose objects and arrays, at any depth, cannot be changed.

    Example:
        >>> freeze({"a": [1]})["a"].append(2)
        Traceback (most recent call last):
        TypeError: this is shared by all episodes and read-only: ...
    """
    if isinstance(value, dict):
        return FrozenDict({name: freeze(item) for name, item in value.items()})
    if isinstance(value, list):
        return FrozenList(map(freeze, value))
    if isinstance(value, tuple):
        return tuple(map(freeze, value))
    return value


def thaw(value: Any) -> Any:
    """Return an independent copy with plain dicts and lists."""
    if isinstance(value, dict):
        return {name: thaw(item) for name, item in value.items()}
    if isinstance(value, list):
        return [thaw(item) for item in value]
    return value
