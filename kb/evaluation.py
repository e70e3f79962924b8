"""How well a retriever finds the documents that a question takes: recall@k and mean reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kb.retriever import Retriever

KS = (1, 3, 5, 10)
"""Numbers of hits at which recall is told, unless others are asked for."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked, and what should be found."""

    queries: tuple[str, ...]
    """Searches for one purpose; a document stands where the search that ranks it highest has it."""
    relevant: frozenset[str]
    """Ids of documents, at least one."""


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Means over cases, each of which weighs the same; None where there is no case."""

    cases: int
    """How many."""
    recall: Mapping[int, float | None]
    """By k: the share of a case's relevant documents that stand among the first k."""
    mrr: float | None
    """1 divided by the rank of a case's first relevant document; 0 where none is found."""


def evaluate_retrieval(
    retriever: Retriever, cases: Iterable[Case], ks: Sequence[int] = KS, depth: int = 1000
) -> RetrievalScores:
    """Measure a retriever.

    Args:
        retriever: What ranks.
        cases: What is asked.
        ks: Numbers of hits at which recall is told.
        depth: Ranks beyond it count as not found.

    Returns:
        Recall@k and mean reciprocal rank, as in Manning, Raghavan and Schütze, "Introduction to Information
        Retrieval", chapter 8, and Voorhees, "The TREC-8 Question Answering Track Report", 1999.

    Raises:
        ValueError: A case has no relevant document.
    """
    recalls: dict[int, list[float]] = {k: [] for k in ks}
    reciprocals: list[float] = []
    for case in cases:
        if not case.relevant:
            raise ValueError(f"the case {case.queries!r} has no relevant document; leave it out")
        ranks = _ranks(retriever, case, depth)
        for k, found in recalls.items():
            found.append(sum(rank <= k for rank in ranks) / len(case.relevant))
        reciprocals.append(1 / min(ranks) if ranks else 0.0)
    return RetrievalScores(
        len(reciprocals), {k: _mean(found) for k, found in recalls.items()}, _mean(reciprocals)
    )


def _ranks(retriever: Retriever, case: Case, depth: int) -> list[int]:
    """Return the best rank, from 1, of each relevant document that is found."""
    best: dict[str, int] = {}
    for query in case.queries:
        for rank, hit in enumerate(retriever.search(query, depth), start=1):
            if hit.document_id in case.relevant:
                best[hit.document_id] = min(rank, best.get(hit.document_id, rank))
    return list(best.values())


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
