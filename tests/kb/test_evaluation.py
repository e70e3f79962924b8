"""Recall@k and mean reciprocal rank, counted by hand."""

from __future__ import annotations

import pytest

from kb import Hit
from kb.evaluation import Case, evaluate_retrieval
from tests.kb.vectors import Ranked

LETTERS = Ranked(*"abcdefghij")


def case(*relevant: str, queries: tuple[str, ...] = ("any",)) -> Case:
    return Case(queries, frozenset(relevant))


def test_recall_is_the_share_of_the_documents_among_the_first_k() -> None:
    """Of c, f and z: none in 1, c in 3 and 5, c and f in 10; z is never found. The first is at rank 3."""
    scores = evaluate_retrieval(LETTERS, [case("c", "f", "z")])
    assert scores.recall == {
        1: 0.0,
        3: pytest.approx(1 / 3),
        5: pytest.approx(1 / 3),
        10: pytest.approx(2 / 3),
    }
    assert scores.mrr == pytest.approx(1 / 3)


def test_each_case_weighs_the_same() -> None:
    """Ranks 1, 2 and none: recall@1 is 1/3, MRR is (1 + 1/2 + 0) / 3."""
    scores = evaluate_retrieval(LETTERS, [case("a"), case("b"), case("z")])
    assert (scores.cases, scores.recall[1], scores.mrr) == (3, pytest.approx(1 / 3), 0.5)


def test_of_several_searches_the_one_that_ranks_a_document_highest_counts() -> None:
    class Two:
        def search(self, query: str, k: int = 10) -> list[Hit]:
            return Ranked(*("xab" if query == "first" else "yzb")).search(query, k)

    scores = evaluate_retrieval(Two(), [case("a", "y", queries=("first", "second"))], ks=(1, 2))
    assert (scores.recall, scores.mrr) == ({1: 0.5, 2: 1.0}, 1.0)


def test_ranks_beyond_the_depth_are_not_found() -> None:
    assert evaluate_retrieval(LETTERS, [case("c")], depth=2).mrr == 0.0


def test_no_case_has_no_means_and_a_case_without_documents_is_refused() -> None:
    assert evaluate_retrieval(LETTERS, []).mrr is None
    with pytest.raises(ValueError, match="no relevant document"):
        evaluate_retrieval(LETTERS, [case()])
