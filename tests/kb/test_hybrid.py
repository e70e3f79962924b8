"""Reciprocal rank fusion, with sums worked out by hand."""

from __future__ import annotations

import itertools

import pytest

from kb import BM25Retriever, Document, HybridRetriever, Retriever, make_retriever
from tests.kb.vectors import Ranked


def test_a_score_is_the_sum_of_1_over_60_plus_the_rank() -> None:
    hits = HybridRetriever([Ranked("a", "b", "c"), Ranked("c", "a")]).search("any")
    scores = [(hit.document_id, hit.score) for hit in hits]
    assert scores == [
        ("a", pytest.approx(123 / 3782)),  # 1/61 + 1/62
        ("c", pytest.approx(124 / 3843)),  # 1/63 + 1/61
        ("b", 1 / 62),
    ]


def test_another_constant_weighs_the_top_otherwise() -> None:
    """With 0 a first place and nothing else (1) beats two third places (2/3); with 60 it does not."""
    rankings = [Ranked("a", "x", "b"), Ranked("y", "z", "b")]
    assert [hit.document_id for hit in HybridRetriever(rankings).search("any", 1)] == ["b"]
    assert [hit.document_id for hit in HybridRetriever(rankings, constant=0).search("any", 2)] == ["a", "y"]


def test_equal_scores_come_in_order_of_id() -> None:
    hits = HybridRetriever([Ranked("b", "a"), Ranked("a", "b")]).search("any")
    assert [hit.document_id for hit in hits] == ["a", "b"]
    assert hits[0].score == hits[1].score


def test_the_order_of_the_retrievers_changes_no_bit() -> None:
    rankings = [Ranked(*"abcdefg"), Ranked(*"gcbadfe"), Ranked(*"dbgcfae")]
    results = {
        tuple((hit.document_id, hit.score) for hit in HybridRetriever(order).search("any"))
        for order in itertools.permutations(rankings)
    }
    assert len(results) == 1


def test_fewer_hits_are_the_beginning_of_more() -> None:
    fused = HybridRetriever([Ranked(*"abcdefg"), Ranked(*"gfedcba")])
    everything = [hit.document_id for hit in fused.search("any", 7)]
    assert [[hit.document_id for hit in fused.search("any", k)] for k in range(8)] == [
        everything[:k] for k in range(8)
    ]


def test_hits_beyond_the_depth_do_not_count() -> None:
    fused = HybridRetriever([Ranked("a", "b"), Ranked("c", "b")], depth=1)
    assert [hit.document_id for hit in fused.search("any", 1)] == ["a"]  # b is second in both


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"retrievers": []}, "retrievers is empty"),
        ({"retrievers": [Ranked("a")], "constant": -1}, "constant is -1"),
        ({"retrievers": [Ranked("a")], "constant": float("nan")}, "constant is nan"),
        ({"retrievers": [Ranked("a")], "depth": 0}, "depth is 0"),
    ],
)
def test_settings_out_of_range_are_refused(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HybridRetriever(**arguments)  # type: ignore[arg-type]


def test_k_is_checked() -> None:
    with pytest.raises(ValueError, match="k is -1"):
        HybridRetriever([Ranked("a")]).search("any", -1)


def test_it_is_a_retriever_and_says_what_it_is_made_of() -> None:
    fused = HybridRetriever([BM25Retriever([Document("a", "", "card")]), Ranked("a")])
    assert isinstance(fused, Retriever)
    assert fused.name == "hybrid (60, 100): bm25 (positive, 1.5, 0.75, title+content); Ranked"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'colbert'; choose one of bm25, dense, hybrid"):
        make_retriever("colbert", [])
