"""Dense and hybrid retrieval with a real model, as a wheel brings it; no network is asked."""

from __future__ import annotations

import multiprocessing
import pickle
import socket

import pytest

from kb import DenseRetriever, Document, SentenceEncoder, make_retriever
from kb.encoder import RetrieverUnavailable, default_encoder

pytestmark = pytest.mark.slow

DOCUMENTS = [
    Document("lost", "Lost cards", "Block the card, then send a new one."),
    Document("mortgage", "Home loans", "A mortgage is repaid over twenty years."),
    Document("travel", "Going abroad", "Tell us the countries and the days before you leave."),
]


@pytest.fixture(autouse=True)
def model() -> SentenceEncoder:
    try:
        return default_encoder()
    except RetrieverUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["dense", "hybrid"])
@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("my wallet was stolen", "lost"),
        ("buying a house", "mortgage"),
        ("holiday in Spain", "travel"),
    ],
)
def test_a_question_in_other_words_finds_its_document(
    monkeypatch: pytest.MonkeyPatch, name: str, query: str, best: str
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    assert make_retriever(name, DOCUMENTS).search(query, 1)[0].document_id == best


def test_a_forked_child_encodes_after_its_parent_did(model: SentenceEncoder) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        retriever = DenseRetriever(DOCUMENTS, model)
        assert retriever.search("lost card", 1)
        context = multiprocessing.get_context("fork")
        child = context.Process(target=retriever.search, args=("stolen wallet", 1))
        child.start()
        child.join(30)
        code = child.exitcode
        child.kill()
    finally:
        torch.set_num_threads(before)
    assert code == 0


def test_half_a_surrogate_pair_in_a_query_is_no_error(model: SentenceEncoder) -> None:
    retriever = DenseRetriever(DOCUMENTS, model)
    assert retriever.search("a lost card \ud800", 3) == retriever.search("a lost card ?", 3)


def test_the_vectors_are_those_of_the_published_model(model: SentenceEncoder) -> None:
    """The example, and the similarities, of the quickstart of sentence-transformers' documentation."""
    sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    vectors = model.encode(sentences)
    assert vectors.shape == (3, 384)
    similarity = vectors @ vectors.T
    assert similarity[0] == pytest.approx([1.0, 0.6660, 0.1046], abs=2e-4)
    assert similarity[1] == pytest.approx([0.6660, 1.0, 0.1411], abs=2e-4)


def test_a_pickle_of_the_retriever_ranks_alike(model: SentenceEncoder) -> None:
    retriever = DenseRetriever(DOCUMENTS)
    copy = pickle.loads(pickle.dumps(retriever))
    for query in ("my wallet was stolen", "nothing of the kind"):
        assert copy.search(query) == retriever.search(query)
    assert copy.name == retriever.name == f"dense: {model.name}"
