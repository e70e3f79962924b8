"""Several rankings as one, by reciprocal rank fusion."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kb.bm25 import check_k
from kb.documents import Document
from kb.retriever import Hit, Retriever

CONSTANT = 60
"""The constant of the paper, found there on a pilot and near the best for all its collections."""

DEPTH = 100
"""How many hits of each ranking are looked at, unless more are wanted."""


class HybridRetriever:
    """Fuses the rankings of other retrievers; their scores, which are not comparable, play no part.

    A document scores the sum, over the rankings that it stands in, of ``1 / (constant + rank)``, where the
    first rank is 1: reciprocal rank fusion, the equation of section 2 in Cormack, Clarke and Büttcher,
    "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009. The sum
    is rounded once (`math.fsum`), so the order of the retrievers does not matter.

    Args:
        retrievers: What to fuse, over the same documents.
        constant: How little the top of a ranking stands out; 0 or more.
        depth: How many hits of each ranking count; at least 1.

    Raises:
        ValueError: There is no retriever, or a number is out of its range.

    Example:
        >>> from kb import BM25Retriever, Document
        >>> fees = BM25Retriever([Document("fees", "Fees", "A card costs 10 dollars.")])
        >>> HybridRetriever([fees, fees]).search("card")[0].score == 2 / 61
        True
    """

    def __init__(
        self, retrievers: Sequence[Retriever], constant: float = CONSTANT, depth: int = DEPTH
    ) -> None:
        if not retrievers:
            raise ValueError("retrievers is empty; give at least one to fuse")
        if not (math.isfinite(constant) and constant >= 0):
            raise ValueError(f"constant is {constant}; it must be a finite number of at least 0")
        if check_k(depth) < 1:
            raise ValueError(f"depth is {depth}; it must be at least 1")
        self._retrievers, self._constant, self._depth = tuple(retrievers), constant, depth

    @property
    def name(self) -> str:
        """What its ranking depends on, beside the documents."""
        fused = "; ".join(getattr(one, "name", type(one).__qualname__) for one in self._retrievers)
        return f"hybrid ({self._constant}, {self._depth}): {fused}"

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find the documents that stand highest in the rankings together.

        Args:
            query: What to look for, in words.
            k: The largest number of hits wanted; 0 or more.

        Returns:
            At most ``k`` hits, by score descending, then by document id ascending. They begin with those of a
            smaller ``k``, up to the depth.

        Raises:
            TypeError: ``query`` is not text or ``k`` is not an integer.
            ValueError: ``k`` is negative.
        """
        k = check_k(k)
        terms: dict[str, list[float]] = {}
        documents: dict[str, Document] = {}
        for retriever in self._retrievers:
            for rank, hit in enumerate(retriever.search(query, max(k, self._depth)), start=1):
                terms.setdefault(hit.document_id, []).append(1 / (self._constant + rank))
                documents.setdefault(hit.document_id, hit.document)
        scores = {document_id: math.fsum(found) for document_id, found in terms.items()}
        best = sorted(scores, key=lambda document_id: (-scores[document_id], document_id))[:k]
        return [Hit(document_id, scores[document_id], documents[document_id]) for document_id in best]
