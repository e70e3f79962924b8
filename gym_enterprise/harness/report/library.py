"""`Library`: a domain's documents, recognised in the prose that some tools return."""

from __future__ import annotations

from collections.abc import Iterable

from kb import Document


class Library:
    r"""Finds documents in texts.

    Args:
        documents: The documents.

    Example:
        >>> Library([Document("fees", "Fees", "None.\nAsk.")]).inlined("1. Fees (id: fees)\nNone.\nAsk.")
        (('fees', 'Fees'),)
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self.titles: dict[str, str] = {}
        """By id."""
        self._beginnings: dict[str, list[tuple[str, str]]] = {}
        self._found: dict[str, tuple[tuple[str, str], ...]] = {}
        for document in documents:
            self.titles[document.id] = document.title
            content = document.content.strip()
            if content:
                first = content.split("\n", 1)[0]
                self._beginnings.setdefault(first, []).append((document.id, content))

    def inlined(self, text: str) -> tuple[tuple[str, str], ...]:
        """Return id and title of the documents that stand in a text whole, from the beginning of a line on.

        Args:
            text: What a tool returned.

        Returns:
            The documents in order of their first lines.
        """
        if text not in self._found:
            lines = dict.fromkeys(text.split("\n"))
            begun = (one for line in lines if line in self._beginnings for one in self._beginnings[line])
            self._found[text] = tuple((name, self.titles[name]) for name, content in begun if content in text)
        return self._found[text]
