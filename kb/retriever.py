"""What a retriever is: a query in, ranked hits out."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kb.documents import Document


@dataclass(frozen=True, slots=True)
class Hit:
    """One document found by a query."""

    document_id: str
    """The id of the document."""
    score: float
    """How well it matches; larger is better. Comparable within one retriever only."""
    document: Document
    """The document itself."""


@runtime_checkable
class Retriever(Protocol):
    """Anything that ranks documents for a query."""

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find the documents that match best.

        Args:
            query: What to look for, in words.
            k: The largest number of hits wanted; 0 or more.

        Returns:
            At most ``k`` hits, by score descending, then by document id ascending.
        """
        ...
