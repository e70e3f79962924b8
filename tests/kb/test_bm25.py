"""BM25: the scores of rank-bm25, a total order, no surprises on small knowledge bases."""

import itertools
import os
import pickle
import random
import subprocess
import sys
from typing import Literal

import numpy as np
import pytest
import rank_bm25
from hypothesis import example, given
from hypothesis import strategies as st

from kb import BM25Retriever, Document, DocumentError, Retriever
from kb.bm25 import PositiveOkapi

MODELS = {"positive": PositiveOkapi, "okapi": rank_bm25.BM25Okapi}
Idf = Literal["positive", "okapi"]
WORDS = ["refund", "card", "fee", "limit", "days", "pin", "loan"]


def corpus(*texts: str) -> list[Document]:
    """Documents D1, D2, ... without titles."""
    return [Document(f"D{number}", "", text) for number, text in enumerate(texts, 1)]


def found(retriever: Retriever, query: str, k: int = 10) -> list[str]:
    return [hit.document_id for hit in retriever.search(query, k)]


# The scores are those of rank-bm25.

texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=12), min_size=1, max_size=12)
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=6)


@pytest.mark.parametrize("idf", ["positive", "okapi"])
@given(texts=texts, query=queries, k1=st.sampled_from([1.5, 0.9, 2]), b=st.sampled_from([0.75, 0.3, 0]))
@example(texts=[["fee"], ["fee", "card"]], query=["fee", "card", "fee"], k1=1.5, b=0.75)
def test_scores_are_bit_equal_to_rank_bm25_on_any_corpus(
    idf: Idf, texts: list[list[str]], query: list[str], k1: float, b: float
) -> None:
    if not any(texts):
        texts = [*texts, ["fee"]]
    ids = [f"{number:02}" for number in range(len(texts))]
    documents = [Document(name, "", " ".join(words)) for name, words in zip(ids, texts, strict=True)]
    ours = BM25Retriever(documents, idf=idf, k1=k1, b=b).scores(" ".join(query))
    assert ours.tobytes() == MODELS[idf](texts, k1=k1, b=b).get_scores(query).tobytes()


@pytest.mark.parametrize("idf", ["positive", "okapi"])
def test_scores_are_bit_equal_to_rank_bm25_on_300_documents(idf: Idf) -> None:
    rng = random.Random(27)
    vocabulary = [f"w{rank}" for rank in range(2000)]
    weights = [1 / (rank + 1) for rank in range(2000)]
    bodies = [rng.choices(vocabulary, weights, k=rng.randint(1, 150)) for _ in range(300)]
    documents = [Document(f"d{row:03}", "", " ".join(words)) for row, words in enumerate(bodies)]
    retriever, model = BM25Retriever(documents, idf=idf), MODELS[idf](bodies)
    for _ in range(200):
        query = rng.choices(vocabulary, weights, k=rng.randint(1, 8))
        query += query[:2]  # words asked for twice
        assert retriever.scores(" ".join(query)).tobytes() == model.get_scores(query).tobytes()


def test_the_title_is_searched_before_the_content_as_one_text() -> None:
    documents = [Document("a", "Refund rules", "Within 30 days."), Document("b", "Cards", "No refund.")]
    words = [["refund", "rules", "within", "30", "days"], ["cards", "no", "refund"]]
    expected = PositiveOkapi(words).get_scores(["refund", "rules"])
    assert BM25Retriever(documents).scores("refund rules").tobytes() == expected.tobytes()


def test_fields_choose_what_is_searched() -> None:
    documents = [Document("a", "refund", "card"), Document("b", "card", "refund")]
    assert found(BM25Retriever(documents, fields=("title",)), "refund") == ["a"]
    assert found(BM25Retriever(documents, fields=("content",)), "refund") == ["b"]


def test_a_tokenizer_of_ones_own_is_used_for_documents_and_queries() -> None:
    retriever = BM25Retriever(corpus("Refund.", "refund"), tokenize=str.split)
    assert found(retriever, "Refund.") == ["D1"]
    assert found(retriever, "refund") == ["D2"]


# Reports B024 to B027.


@pytest.mark.parametrize("idf", ["positive", "okapi"])
@pytest.mark.parametrize("query", ["refund", ""])
@pytest.mark.parametrize("texts", [(), ("", "  ")])
def test_b024_a_knowledge_base_without_words_finds_nothing(
    idf: Idf, query: str, texts: tuple[str, ...]
) -> None:
    retriever = BM25Retriever(corpus(*texts), idf=idf)
    assert retriever.search(query) == []
    assert retriever.scores(query).tolist() == [0.0] * len(texts)


def test_b024_an_empty_document_beside_a_full_one_is_not_found_and_divides_nothing() -> None:
    (hit,) = BM25Retriever(corpus("", "refund policy")).search("refund")
    assert hit.document_id == "D2"
    # n = 1 of N = 2: idf ln(1 + 1.5/1.5) = ln 2; length 2, mean length 1.
    # 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2/1)) = 2.5 / 3.625.
    assert hit.score == pytest.approx(np.log(2) * 2.5 / 3.625)


@pytest.mark.parametrize("idf", ["positive", "okapi"])
@pytest.mark.parametrize("query", ["", "  ", "?!", "mortgage"])
def test_b024_a_query_without_a_known_word_finds_nothing(idf: Idf, query: str) -> None:
    assert BM25Retriever(corpus("refund policy", "card fees"), idf=idf).search(query) == []


def test_b025_a_word_in_half_of_the_documents_puts_them_above_all_others() -> None:
    retriever = BM25Retriever(corpus("refund policy", "card fees", "no refund", "pin change"))
    assert found(retriever, "refund") == ["D1", "D3"]
    scores = retriever.scores("refund")
    # The four documents are equally long, so the term part is 2.5 / 2.5 and the score is the idf,
    # ln(1 + 2.5/2.5) = ln 2 = 0.6931.
    assert scores.tolist() == pytest.approx([0.6931, 0.0, 0.6931, 0.0], abs=1e-4)


def test_b025_a_word_in_all_documents_still_ranks_them_and_scores_above_zero() -> None:
    retriever = BM25Retriever(corpus("refund policy", "refund refund refund"))
    hits = retriever.search("refund")
    assert [hit.document_id for hit in hits] == ["D2", "D1"]
    # idf ln(1 + 0.5/2.5) = ln 1.2 = 0.1823; mean length 2.5.
    # D2: 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 3/2.5)) = 1.5873.
    # D1: 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 2/2.5)) = 1.0989.
    assert [hit.score for hit in hits] == pytest.approx([0.2894, 0.2004], abs=1e-4)


def test_b025_the_plain_idf_is_there_for_parity_with_its_weightless_and_negative_words() -> None:
    # "refund" in 2 of 4: ln(2.5/2.5) = 0, which is no match.
    half = BM25Retriever(corpus("refund policy", "card fees", "no refund", "pin change"), idf="okapi")
    assert half.scores("refund").tolist() == [0.0] * 4
    assert half.search("refund") == []
    # "refund" in 3 of 3 and nothing else: ln(0.5/3.5) = -1.9459, replaced by a quarter of the mean: -0.4865.
    every = BM25Retriever(corpus("refund", "refund", "refund"), idf="okapi")
    assert [hit.score for hit in every.search("refund")] == pytest.approx([-0.4865] * 3, abs=1e-4)
    assert found(every, "refund", k=2) == ["D1", "D2"]


def test_b025_with_the_plain_idf_negative_scores_come_after_positive_ones() -> None:
    # Five words in 3 of 4 documents, idf ln(1.5/3.5) = -0.847 each; two in 1 of 4, idf +0.847 each. The mean,
    # -0.363, is negative, so a common word weighs a quarter of it.
    documents = corpus("a b c d e", "a b c d e", "a b c d e rare", "other")
    retriever = BM25Retriever(documents, idf="okapi")
    assert found(retriever, "rare a") == ["D3", "D1", "D2"]
    assert found(retriever, "rare a", k=2) == ["D3", "D1"]
    assert retriever.scores("a")[0] < 0 < retriever.scores("rare")[2]


def test_b026_asking_for_more_than_there_is_gives_what_there_is() -> None:
    retriever = BM25Retriever(corpus("refund", "refund refund card", "pin refund pin fees"))
    everything = found(retriever, "refund", k=3)
    assert sorted(everything) == ["D1", "D2", "D3"]
    assert found(retriever, "refund", k=10) == found(retriever, "refund", k=10**30) == everything
    assert found(retriever, "refund", k=0) == []
    assert found(retriever, "refund", k=2) == everything[:2]


def test_b026_a_negative_k_is_refused() -> None:
    with pytest.raises(ValueError, match="k is -1; it must be 0 or more"):
        BM25Retriever(corpus("refund")).search("refund", k=-1)


@pytest.mark.parametrize("k", [True, 2.0, "2", None])
def test_b026_a_k_that_is_no_integer_is_refused(k: object) -> None:
    with pytest.raises(TypeError, match="it must be an integer"):
        BM25Retriever(corpus("refund")).search("refund", k=k)  # type: ignore[arg-type]


TIES = """
from kb import BM25Retriever
for order in ((5, 4, 3, 2, 1), (2, 5, 1, 4, 3), (1, 2, 3, 4, 5)):
    documents = [{"id": f"D{n}", "title": "Refunds", "content": "the same text"} for n in order]
    for idf in ("positive", "okapi"):
        hits = BM25Retriever(documents, idf=idf).search("same refunds", k=2)
        print([(hit.document_id, hit.score.hex()) for hit in hits])
"""


def test_b027_ties_are_broken_by_id_in_every_process() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-c", TIES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    lines = outputs[0].splitlines()
    assert len(lines) == 6
    assert all(line.startswith("[('D1', ") and "('D2', " in line for line in lines)


def test_b027_scores_do_not_depend_on_the_order_of_the_documents() -> None:
    documents = corpus("fee card refund", "card", "refund refund limit", "pin fee")
    for idf in ("positive", "okapi"):
        results = {
            tuple(
                (hit.document_id, hit.score)
                for hit in BM25Retriever(order, idf=idf).search("card fee refund")
            )
            for order in itertools.permutations(documents)
        }
        assert len(results) == 1


def test_b027_hits_go_by_score_then_id() -> None:
    documents = [Document("b", "", "fee pin"), Document("c", "", "fee fee"), Document("a", "", "fee card")]
    assert found(BM25Retriever(documents), "fee") == ["c", "a", "b"]


# What goes in and what comes out.


def test_a_hit_carries_the_document_itself() -> None:
    document = Document("fees", "Fees", "A card is free.", {"internal": True})
    (hit,) = BM25Retriever([document]).search("card")
    assert hit.document is document
    assert type(hit.score) is float


def test_mappings_serve_as_documents_and_a_generator_as_a_list_of_them() -> None:
    rows = ({"id": name, "title": name, "content": "fee", "source": [{"nested": 1}]} for name in ("b", "a"))
    assert [hit.document for hit in BM25Retriever(rows).search("fee")] == [
        Document("a", "a", "fee"),
        Document("b", "b", "fee"),
    ]


def test_a_retriever_is_a_retriever_and_survives_pickling() -> None:
    retriever = BM25Retriever(corpus("refund policy", "card fees"))
    again = pickle.loads(pickle.dumps(retriever))
    assert isinstance(again, Retriever)
    assert again.search("refund card") == retriever.search("refund card")


def test_a_retriever_keeps_no_counts_of_rank_bm25() -> None:
    retriever = BM25Retriever(corpus("refund policy", "card fees"))
    assert not any(isinstance(value, rank_bm25.BM25) for value in vars(retriever).values())


def test_two_documents_with_one_id_are_refused() -> None:
    with pytest.raises(DocumentError, match="document 1: id 'x' is given twice"):
        BM25Retriever([Document("x", "", "a"), Document("x", "", "b")])


@pytest.mark.parametrize(
    ("documents", "error", "words"),
    [
        ([{"id": "x", "titel": "X", "content": "t"}], DocumentError, "document 0: missing title"),
        ([{"id": "x", "title": "X", "content": None}], DocumentError, "content is None"),
        (["text"], TypeError, "document 0 is 'text'"),
        ({"x": Document("x", "", "t")}, TypeError, "document 0 is 'x'"),
    ],
)
def test_what_is_no_document_is_refused(
    documents: list[Document], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        BM25Retriever(documents)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"idf": "plus"}, "idf is 'plus'; choose one of"),
        ({"fields": ()}, "fields is"),
        ({"fields": "title"}, "fields is 'title'"),
        ({"fields": ("title", "title")}, "each once"),
        ({"fields": ("titel",)}, "titel"),
        ({"k1": 0}, "k1 is 0"),
        ({"k1": float("nan")}, "k1 is nan"),
        ({"b": 1.1}, "b is 1.1"),
    ],
)
def test_settings_outside_their_range_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        BM25Retriever([], **settings)  # type: ignore[arg-type]


def test_a_query_that_is_not_text_is_refused() -> None:
    with pytest.raises(TypeError, match="query is None; it must be text"):
        BM25Retriever(corpus("refund")).search(None)  # type: ignore[arg-type]


def test_an_empty_document_scores_zero_where_rank_bm25_divides_zero_by_zero() -> None:
    assert BM25Retriever(corpus("", "refund"), b=1).scores("refund")[0] == 0.0
