"""What a tool returned, as text for a person: documents as they stand, records as lines, no JSON."""

from __future__ import annotations

import json
from typing import Any


def outcome_text(outcome: dict[str, Any]) -> str:
    """Write an outcome: the result in full, or `code: message` of the error.

    Args:
        outcome: As in `Message.result`.

    Example:
        >>> print(outcome_text({"ok": True, "result": {"card_id": "car_1", "status": "active"}}))
        card_id: car_1
        status: active
    """
    if not outcome["ok"]:
        return f"! {outcome['error']['code']}: {outcome['error']['message']}"
    result = outcome["result"]
    if isinstance(result, dict) and {"document_id", "title", "content"} <= result.keys():
        return f"# {result['title']} ({result['document_id']})\n\n{result['content']}"
    return "\n".join(_lines(result)) or "nothing"


def _lines(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in _named(name, item)]
    if isinstance(value, list):
        return [line for item in value for line in _item(item)]
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split("\n")


def _named(name: str, value: Any) -> list[str]:
    lines = _lines(value)
    if value in ({}, []):
        return [f"{name}: none"]
    if isinstance(value, dict | list) or len(lines) > 1:
        return [f"{name}:", *(f"  {line}" for line in lines)]
    return [f"{name}: {lines[0]}"]


def _item(value: Any) -> list[str]:
    lines = _lines(value) or ["none"]
    flat = isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values())
    if flat and len(lines) == len(value):  # no value has two lines
        return [f"- {', '.join(lines)}"]
    first, *rest = lines
    return [f"- {first}", *(f"  {line}" for line in rest)]
