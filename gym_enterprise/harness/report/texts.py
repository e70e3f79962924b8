"""`Texts`: long texts that stand in many episodes, such as documents and system prompts, kept once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym_enterprise.harness.rollout import Record

SHORT = 120
"""Texts up to this many characters are repeated where they stand."""


class Texts:
    """Long texts by number; those that stand once stay where they are.

    Args:
        texts: Every long text, as often as it stands.

    Example:
        >>> texts = Texts(["a" * 200, "b" * 200, "a" * 200])
        >>> texts.put("a" * 200), texts.put("b" * 200) == "b" * 200, texts.put("short")
        (0, True, 'short')
    """

    def __init__(self, texts: Iterable[str]) -> None:
        seen: set[str] = set()
        self._repeated: set[str] = set()
        for text in texts:
            (self._repeated if text in seen else seen).add(text)
        self._numbers: dict[str, int] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def put(self, text: str) -> str | int:
        """Return a text, or the number under which it is kept when it stands more than once."""
        return self.keep(text) if text in self._repeated else text

    def keep(self, text: str) -> int:
        """Keep a text once, and return its number."""
        return self._numbers.setdefault(text, len(self._numbers))


def long_texts(record: Record) -> Iterator[str]:
    """Yield the long texts of a record, each as often as it stands."""
    for _, message in record.transcript:
        if len(message.content) > SHORT:
            yield message.content
        if message.call and message.role != "tool" and len(message.call.arguments_json) > SHORT:
            yield message.call.arguments_json
