"""Dense retrieval: documents ranked by how close they are in meaning to a query.

A model reads a few hundred words at once, and a long text as one vector says little about any of its parts.
So a document is cut into passages, each begun with the title, and scores as its best passage does (MaxP:
Dai and Callan, "Deeper Text Understanding for IR with Contextual Neural Language Modeling", SIGIR 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kb.bm25 import Floats, check_k, sorted_by_id
from kb.documents import Document
from kb.embeddings import Embeddings
from kb.encoder import Encoder, default_encoder
from kb.retriever import Hit

PASSAGE = 120
"""Most words of a passage, its title not counted, where its lines allow; MiniLM reads some 190 at once."""

DIGITS = 6
"""Decimals of a score. A model's last digits depend on what is encoded beside a text; these do not."""


class DenseRetriever:
    """Ranks documents by the cosine of their best passage with the query; safe to share between threads.

    The vectors of documents are computed once, when the retriever is made, and kept; with `cache` also on
    disk, for the next process. The result depends on the set of documents only, not on their order. A vector
    of zeros has no direction: it scores 0.0. One that is not finite is refused, as it would outrank all.

    Args:
        documents: Documents, or mappings with the keys id, title and content. May be empty.
        encoder: Gives the vectors; by default the model that the extra `retrieval` installs.
        cache: Folder for vectors of documents, made if it is not there. A file in it is named by a hash of
            the encoder's name and the passages, and written whole or not at all.

    Raises:
        RetrieverUnavailable: The default encoder is not installed.
        ValueError: Two documents share an id, or the encoder gave something other than finite vectors.
        TypeError: A document is neither a `Document` nor a mapping.

    Example:
        >>> retriever = DenseRetriever(documents)  # doctest: +SKIP
        >>> retriever.search("my wallet was stolen", k=1)[0].document_id  # doctest: +SKIP
        'lost-and-stolen-cards'
    """

    def __init__(
        self,
        documents: Iterable[Document | Mapping[str, Any]],
        encoder: Encoder | None = None,
        cache: str | Path | None = None,
    ) -> None:
        self.documents: tuple[Document, ...] = sorted_by_id(documents)
        """The documents, sorted by id; `scores` has one entry for each, in this order."""
        self._encoder = default_encoder() if encoder is None else encoder
        cut = [passages(document) for document in self.documents]
        self._starts = np.cumsum([0, *map(len, cut)])[:-1]
        owners = [document.id for document, parts in zip(self.documents, cut, strict=True) for _ in parts]
        texts = [passage for parts in cut for passage in parts]
        self._vectors = Embeddings(self._encoder, cache).of_passages(texts, owners)

    @property
    def name(self) -> str:
        """What its ranking depends on, beside the documents."""
        return f"dense: {self._encoder.name}"

    def scores(self, query: str) -> Floats:
        """Score every document.

        Args:
            query: What to look for, in words.

        Returns:
            float64, shape [documents], in the order of `documents`: cosines from -1 to 1, rounded to `DIGITS`
            decimals.

        Raises:
            TypeError: ``query`` is not text.
            ValueError: The encoder gave something other than a finite vector for it.
        """
        if not isinstance(query, str):
            raise TypeError(f"query is {query!r}; it must be text")
        if not self.documents:
            return np.zeros(0)
        direction = Embeddings(self._encoder).of_query(query, self._vectors.shape[1])
        best: Floats = np.maximum.reduceat(self._vectors @ direction, self._starts)
        return best.round(DIGITS) + 0.0  # no negative zeros

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find the documents that are closest.

        Args:
            query: What to look for, in words. A blank one finds nothing.
            k: The largest number of hits wanted; 0 or more.

        Returns:
            The ``k`` best, or all documents where there are fewer, however low they score; by score
            descending, then by document id ascending.

        Raises:
            TypeError: ``query`` is not text or ``k`` is not an integer.
            ValueError: ``k`` is negative, or the encoder failed as in `scores`.
        """
        k = check_k(k)
        if isinstance(query, str) and not query.strip():
            return []
        scores = self.scores(query)
        best: npt.NDArray[np.int64] = np.argsort(-scores, kind="stable")[:k]
        return [Hit(self.documents[row].id, float(scores[row]), self.documents[row]) for row in best.tolist()]


def passages(document: Document, words: int = PASSAGE) -> list[str]:
    """Cut a document into passages of whole lines.

    Args:
        document: The document.
        words: Most words of a passage; a longer line is a passage by itself.

    Returns:
        At least one text; each begins with the title.
    """
    parts: list[list[str]] = [[]]
    size = 0
    for line in filter(str.strip, document.content.split("\n")):
        count = len(line.split())
        if parts[-1] and size + count > words:
            parts.append([])
            size = 0
        parts[-1].append(line)
        size += count
    return ["\n".join([document.title, *lines]) for lines in parts]
