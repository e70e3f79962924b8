"""How the final state differs from the target, row by row and column by column, as text to show."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

KINDS = ("missing", "extra", "changed")
"""Of rows in `Grade.diff`."""


def rows(diff: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a grade's diff for the page.

    Values are JSON texts, since the page's numbers could not tell 5 from 5.0, and grading does.

    Args:
        diff: `Grade.diff`; whatever else a domain's own grader put there is left to `rest`.

    Returns:
        For each row `kind`, `table`, `key`, what was `wanted` and what was `got` (insert, update, delete, or
        None for nothing), and `columns`: name, value before, wanted, got; None where there is none.

    Example:
        >>> change = {"table": "cards", "key": {"id": "c1"}, "op": "update"}
        >>> rows({"missing": [change | {"values": {"frozen": 1}, "before": {"frozen": 0}}]})[0]["columns"]
        [['frozen', '0', '1', '0']]
    """
    return [_row(kind, row) for kind, row in _listed(diff)]


def rest(diff: Mapping[str, Any]) -> dict[str, str]:
    """Return, as JSON texts, what a diff holds besides rows."""
    shown = {kind for kind in KINDS if _are_rows(diff.get(kind))}
    return {name: shown_value(value) for name, value in diff.items() if name not in shown}


def tags(diff: Mapping[str, Any]) -> list[str]:
    """Name what is wrong, once each, such as "missing refunds", by kind and table."""
    found = dict.fromkeys(f"{kind} {row.get('table', '')}".strip() for kind, row in _listed(diff))
    return sorted(found, key=lambda tag: (KINDS.index(tag.split()[0]), tag))


def shown_value(value: Any) -> str:
    """Write a value as JSON, in which 5, 5.0 and "5" differ."""
    return json.dumps(value, ensure_ascii=False)


def _listed(diff: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for kind in KINDS:
        if _are_rows(found := diff.get(kind)):
            yield from ((kind, row) for row in found)


def _are_rows(value: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    return isinstance(value, list) and all(map(_is_row, value))


def _is_row(value: Any) -> bool:
    parts = ("key", "values", "before", "wanted")
    return (
        isinstance(value, Mapping)
        and all(isinstance(value.get(part, {}), Mapping) for part in parts)
        and ("wanted" not in value or _is_row(value["wanted"]))
    )


def _row(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    wanted, got = {
        "missing": (row, {}),
        "extra": ({}, row),
        "changed": (row.get("wanted", {}), row),
    }[kind]
    return {
        "kind": kind,
        "table": str(row.get("table", "")),
        "key": [[name, shown_value(value)] for name, value in row.get("key", {}).items()],
        "wanted": wanted.get("op"),
        "got": got.get("op"),
        "columns": _columns(wanted, got),
    }


def _columns(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> list[list[str | None]]:
    before = {**wanted.get("before", {}), **got.get("before", {})}
    names = dict.fromkeys([*wanted.get("values", {}), *got.get("values", {}), *before])
    return [
        [
            name,
            shown_value(before[name]) if name in before else None,
            _value(name, wanted, before),
            _value(name, got, before),
        ]
        for name in names
    ]


def _value(name: str, change: Mapping[str, Any], before: Mapping[str, Any]) -> str | None:
    """Return what a column holds after a change; what it held before, where the change leaves it alone."""
    if name in change.get("values", {}):
        return shown_value(change["values"][name])
    if name in before and change.get("op") != "delete":
        return shown_value(before[name])
    return None
