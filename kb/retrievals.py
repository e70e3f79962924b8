"""The retrievers that have a name.

==========  ===============================================================================================
name        how documents are ranked
==========  ===============================================================================================
`bm25`      by the words that they share with the query; the default, numpy only
`dense`     by meaning, with a sentence model in this process
`hybrid`    the two fused by reciprocal rank
==========  ===============================================================================================

`dense` and `hybrid` need the extra `retrieval`. Where the environment variable GYM_ENTERPRISE_CACHE names a
folder, they keep the vectors of the documents there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from kb.bm25 import BM25Retriever
from kb.dense import DenseRetriever
from kb.documents import Document
from kb.hybrid import HybridRetriever
from kb.retriever import Retriever

CACHE = "GYM_ENTERPRISE_CACHE"
"""The environment variable that names the folder."""


def _dense(documents: tuple[Document, ...]) -> DenseRetriever:
    return DenseRetriever(documents, cache=os.environ.get(CACHE) or None)


def _hybrid(documents: tuple[Document, ...]) -> HybridRetriever:
    return HybridRetriever([BM25Retriever(documents), _dense(documents)])


_MAKERS: Mapping[str, Callable[[tuple[Document, ...]], Retriever]] = {
    "bm25": BM25Retriever,
    "dense": _dense,
    "hybrid": _hybrid,
}

RETRIEVALS = tuple(_MAKERS)
"""The names, the default first."""


def make_retriever(name: str, documents: Iterable[Document]) -> Retriever:
    """Make a retriever by name.

    Args:
        name: One of `RETRIEVALS`.
        documents: What it ranks.

    Returns:
        The retriever, ready to search.

    Raises:
        ValueError: There is no such name.
        RetrieverUnavailable: What it needs is not installed.

    Example:
        >>> fees = Document("fees", "Fees", "A card is free.")
        >>> [hit.document_id for hit in make_retriever("bm25", [fees]).search("card")]
        ['fees']
    """
    if name not in RETRIEVALS:
        raise ValueError(f"retrieval is {name!r}; choose one of {', '.join(RETRIEVALS)}")
    return _MAKERS[name](tuple(documents))
