"""BM25 with the scores of rank-bm25, computed ahead.

rank-bm25 defines the numbers: `BM25Okapi` for ``idf="okapi"``, `PositiveOkapi` for ``idf="positive"``. It
walks over all documents for each query word; here the weight of each word in each document is computed once,
by the same floating-point operations in the same order, so a query sums a few short columns and arrives at
the same bits.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from kb.documents import Document, DocumentError
from kb.retriever import Hit
from kb.tokens import tokenize

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Column = tuple[Indices | slice, Floats]
"""What a word adds to scores: the rows of the documents that have it (or all rows), its weight in each."""


class PositiveOkapi(BM25Okapi):  # type: ignore[misc]  # rank-bm25 has no types
    """`rank_bm25.BM25Okapi` with an idf that is never zero or negative.

    ``idf = ln(1 + (N - n + 0.5) / (n + 0.5))`` for a word in n of N documents. Without the 1, as in the plain
    idf, a word in half of the documents weighs nothing and a commoner one less than nothing, which small
    knowledge bases meet at once.
    """

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        for word, count in nd.items():
            self.idf[word] = math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))


_MODELS: dict[str, type[BM25Okapi]] = {"positive": PositiveOkapi, "okapi": BM25Okapi}
_FIELDS = ("title", "content")
_COMMON = 0.25  # the share of documents from which on a word's column has all rows


class BM25Retriever:
    """Ranks documents by BM25; safe to share between threads, picklable.

    The result depends on the set of documents only, not on their order or on the process: they are sorted by
    id first. With ``idf="positive"`` every document that shares a word with the query scores above 0 and
    every other one scores 0. With ``idf="okapi"``, rank-bm25's own rule, a word in half of the documents
    weighs nothing, and in a very small knowledge base common words weigh less than nothing.

    Example:
        >>> retriever = BM25Retriever([Document("fees", "Fees", "A card costs 10 dollars.")])
        >>> [(hit.document_id, round(hit.score, 3)) for hit in retriever.search("card")]
        [('fees', 0.288)]
    """

    def __init__(
        self,
        documents: Iterable[Document | Mapping[str, Any]],
        idf: Literal["positive", "okapi"] = "positive",
        fields: Sequence[str] = _FIELDS,
        k1: float = 1.5,
        b: float = 0.75,
        tokenize: Callable[[str], Sequence[str]] = tokenize,
    ) -> None:
        """Index documents.

        Args:
            documents: Documents, or mappings with the keys id, title and content (other keys are not kept).
                May be empty.
            idf: The weight of rare against common words: "positive" or rank-bm25's own "okapi".
            fields: The parts of a document that are searched, joined in this order: "title", "content", or
                both.
            k1: How late repeats of a word stop to count; above 0.
            b: How much long documents are marked down; 0 (not at all) to 1.
            tokenize: Splits a text into words, for documents and queries alike. A module-level function if
                the retriever is to be pickled.

        Raises:
            ValueError: An argument is outside its range, or two documents share an id.
            TypeError: A document is neither a `Document` nor a mapping.
        """
        _check_settings(idf, fields, k1, b)
        self._tokenize = tokenize
        self.documents: tuple[Document, ...] = sorted_by_id(documents)
        """The documents, sorted by id; `scores` has one entry for each, in this order."""
        self.idf = idf
        """Which idf was chosen."""
        corpus = [
            list(tokenize("\n".join(getattr(document, name) for name in fields)))
            for document in self.documents
        ]
        self._columns = _weigh(corpus, idf, k1, b)
        self.name = f"bm25 ({idf}, {k1}, {b}, {'+'.join(fields)})"
        """What its ranking depends on, beside the documents and how text is split into words."""

    def scores(self, query: str) -> Floats:
        """Score every document, as ``rank_bm25`` does for the same words.

        Equal to ``get_scores`` bit for bit. Where that divides 0 by 0 (with ``b=1``, for an empty document)
        or cannot be built (for a corpus without a word) the score is 0.

        Args:
            query: What to look for; a word given twice counts twice.

        Returns:
            float64, shape [documents], in the order of `documents`.

        Raises:
            TypeError: ``query`` is not text.
        """
        if not isinstance(query, str):
            raise TypeError(f"query is {query!r}; it must be text")
        scores: Floats = np.zeros(len(self.documents))
        for word in self._tokenize(query):
            if word in self._columns:
                rows, weights = self._columns[word]
                scores[rows] += weights
        return scores

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Find the documents that match best.

        A document that scores 0 is never returned, however few the others are: it shares no word with the
        query or, with ``idf="okapi"``, only words that weigh nothing.

        Args:
            query: What to look for, in words.
            k: The largest number of hits wanted; 0 or more.

        Returns:
            At most ``k`` hits, by score descending, then by document id ascending; none for a query without a
            known word.

        Raises:
            TypeError: ``query`` is not text or ``k`` is not an integer.
            ValueError: ``k`` is negative.
        """
        k = check_k(k)
        scores = self.scores(query)
        best = _best(scores, k)
        return [
            Hit(self.documents[row].id, score, self.documents[row])
            for row, score in zip(best.tolist(), scores[best].tolist(), strict=True)
        ]


def _best(scores: Floats, k: int) -> Indices:
    """The rows of the k largest scores that are not 0, best first; equal scores in the order of the rows."""
    contenders = scores != 0
    if 0 < k < len(scores):
        last = np.partition(scores, -k)[-k]
        if last > 0:
            contenders = scores >= last  # sort only the best k and what ties with the last of them
    rows: Indices = contenders.nonzero()[0]
    best: Indices = rows[(-scores[rows]).argsort(kind="stable")[:k]]
    return best


def check_k(k: object) -> int:
    """Return the largest number of hits wanted, or raise what `Retriever.search` raises for what is none."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k is {k!r}; it must be an integer, the largest number of hits wanted")
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    return int(k)


def _check_settings(idf: str, fields: Sequence[str], k1: float, b: float) -> None:
    if idf not in _MODELS:
        raise ValueError(f"idf is {idf!r}; choose one of {sorted(_MODELS)}")
    if (
        isinstance(fields, str)
        or not fields
        or len(set(fields)) < len(fields)
        or not set(fields) <= set(_FIELDS)
    ):
        raise ValueError(f"fields is {fields!r}; give a tuple of one or both of {_FIELDS}, each once")
    if not (math.isfinite(k1) and k1 > 0):
        raise ValueError(f"k1 is {k1}; it must be a finite number above 0")
    if not 0 <= b <= 1:
        raise ValueError(f"b is {b}; it must be between 0 and 1")


def sorted_by_id(documents: Iterable[Document | Mapping[str, Any]]) -> tuple[Document, ...]:
    """Return documents by id, mappings turned into documents; the order of every index."""
    by_id: dict[str, Document] = {}
    for position, item in enumerate(documents):
        document = _as_document(position, item)
        if document.id in by_id:
            raise DocumentError(
                f"document {position}: id {document.id!r} is given twice; ids are unique, so rename one"
            )
        by_id[document.id] = document
    return tuple(by_id[document_id] for document_id in sorted(by_id))


def _as_document(position: int, item: object) -> Document:
    if isinstance(item, Document):
        return item
    if not isinstance(item, Mapping):
        raise TypeError(
            f"document {position} is {item!r}; give a Document or a mapping with id, title and content"
        )
    missing = [key for key in ("id", "title", "content") if key not in item]
    if missing:
        raise DocumentError(
            f"document {position}: missing {', '.join(missing)}; a document needs id, title and content"
        )
    return Document(item["id"], item["title"], item["content"])


def _weigh(corpus: list[list[str]], idf: str, k1: float, b: float) -> dict[str, Column]:
    """Compute the column of each word.

    Args:
        corpus: The words of each document.
        idf: The name of the model.
        k1: As for rank-bm25.
        b: As for rank-bm25.

    Returns:
        A column for each word. A common word has one with all rows, since adding whole arrays is faster; the
        zeros in it change no score.
    """
    if not any(corpus):
        return {}
    model = _MODELS[idf](corpus, k1=k1, b=b)
    postings: dict[str, list[tuple[int, int]]] = {word: [] for word in model.idf}
    for row, frequencies in enumerate(model.doc_freqs):
        for word, count in frequencies.items():
            postings[word].append((row, count))
    rows, counts = np.array([pair for posting in postings.values() for pair in posting]).T.copy()
    idfs = np.repeat([model.idf[word] for word in postings], [len(posting) for posting in postings.values()])
    lengths = np.array(model.doc_len)[rows]
    # The operations of BM25Okapi.get_scores, one by one and in its order: another order rounds otherwise.
    weights = idfs * (counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths / model.avgdl)))
    columns: dict[str, Column] = {}
    end = 0
    for word, posting in postings.items():
        start, end = end, end + len(posting)
        columns[word] = _column(rows[start:end], weights[start:end], len(corpus))
    return columns


def _column(rows: Indices, weights: Floats, documents: int) -> Column:
    if len(rows) <= documents * _COMMON:
        return rows, weights
    full: Floats = np.zeros(documents)
    full[rows] = weights
    return slice(None), full
