"""How the agent reads the documents: rankings against rank_bm25 and brute force, policies, and the tools."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rank_bm25 import BM25Okapi

import gym_enterprise.domains.tau3_banking.retrieval as retrieval_module
from gym_enterprise import Document, Domain, Episode
from gym_enterprise.domains.tau3_banking import RETRIEVALS, make_domain
from gym_enterprise.domains.tau3_banking.retrieval import Library
from kb import retrievals
from tests.tau3.public_data import benchmark, needs_data, tasks
from tests.tau3.small_bank import raw_task, write_folder

LINES = {
    "d": "Fee for a lost card: $5.",
    "b": "Cards. A card, a CARD and a card.",
    "a": "Loans are for those who wait",
    "c": "fee fee fee",
    **{f"x{n:02}": f"Filler number {n}" for n in range(12)},
}
DOCUMENTS = [Document(key, f"Title of {key}", text) for key, text in LINES.items()]


def by_hand(query: str) -> list[tuple[str, float]]:
    """Rank as the specification says: Okapi over lower-case words, the ten best, equal ones by id."""
    ids = sorted(LINES)
    model = BM25Okapi([LINES[key].lower().split() for key in ids])
    scores = model.get_scores(query.lower().split())
    order = sorted(range(len(ids)), key=lambda row: (-scores[row], ids[row]))
    return [(ids[row], float(scores[row])) for row in order[:10]]


@pytest.mark.parametrize(
    "query", ["card", "Fee", "a card", "card: lost $5.", "title", "number 3", "zebra", ""]
)
def test_bm25_ranks_as_rank_bm25_over_contents(query: str) -> None:
    found = Library(DOCUMENTS).search(query)
    assert [(document.id, score) for document, score in found] == by_hand(query)
    assert len(found) == 10


def test_a_query_without_a_known_word_gives_the_first_ten_documents_at_score_0() -> None:
    found = Library(DOCUMENTS).search("zebra title")  # titles are not searched
    assert [document.id for document, _ in found] == sorted(LINES)[:10]
    assert {score for _, score in found} == {0.0}


@pytest.mark.parametrize(
    ("pattern", "hits"),
    [
        ("fee", [("c", 3), ("d", 1)]),
        ("card", [("b", 4), ("d", 1)]),
        (r"\bcard\b", [("b", 3), ("d", 1)]),
        ("card:|loans", [("a", 1), ("d", 1)]),
        (r"$5.", []),  # a regular expression: an end, then more
        (r"\$5\.", [("d", 1)]),
        ("(lost", []),  # none: taken literally
        ("zebra", []),
    ],
)
def test_grep_counts_matches_in_contents_whatever_the_case(pattern: str, hits: list[tuple[str, int]]) -> None:
    assert [(document.id, count) for document, count in Library(DOCUMENTS).grep(pattern)] == hits


def test_grep_takes_an_invalid_pattern_literally_and_gives_at_most_ten() -> None:
    documents = [Document(f"d{n:02}", "", "a (b" * (n % 3 + 1)) for n in range(30)]
    assert [hit[0].id for hit in Library(documents).grep("A (")] == [f"d{n:02}" for n in range(2, 30, 3)]


@needs_data
@pytest.mark.parametrize(
    "query", ["replace a lost card", "How long? fees, fees", "zqxj", "apply_statement_credit_8472"]
)
def test_the_benchmarks_documents_are_ranked_as_by_rank_bm25(query: str) -> None:
    documents = sorted(benchmark().documents, key=lambda document: document.id)
    model = BM25Okapi([document.content.lower().split() for document in documents])
    scores = model.get_scores(query.lower().split())
    order = sorted(range(len(documents)), key=lambda row: (-scores[row], row))[:10]
    found = Library(documents).search(query)
    assert [(hit.id, score) for hit, score in found] == [(documents[r].id, float(scores[r])) for r in order]


@needs_data
@pytest.mark.parametrize("pattern", ["annual fee", r"fee.*waive", r"\$\d+", "[", "provisional.credit"])
def test_the_benchmarks_documents_are_grepped_as_by_brute_force(pattern: str) -> None:
    counts = {}
    for document in benchmark().documents:
        text = document.content
        try:
            counts[document.id] = len(re.findall(pattern, text, re.IGNORECASE))
        except re.error:
            counts[document.id] = text.lower().count(pattern.lower())
    best = sorted((key for key in counts if counts[key]), key=lambda key: (-counts[key], key))[:10]
    found = Library(benchmark().documents).grep(pattern)
    assert [(document.id, count) for document, count in found] == [(key, counts[key]) for key in best]


# -- as the agent meets it --------------------------------------------------------------------------------


def bank(tmp_path: Path, retrieval: str) -> Domain:
    other = raw_task(id="task_002", required_documents=[])
    folder = write_folder(tmp_path / "bank", raw_task(), other)
    more = {"id": "doc_2", "title": "Loans", "content": "No loans. Cards cost nothing: card."}
    (folder / "documents" / "doc_2.json").write_text(json.dumps(more))
    return make_domain(folder, retrieval=retrieval)


def searched(domain: Domain, name: str, arguments: dict[str, Any]) -> Any:
    episode = Episode(domain, domain.tasks["test"]["task_001"])
    return episode.dispatcher.call("agent", name, arguments).to_dict()


CARDS = "Cards (id: doc_1, score: {})\nCards are free."
LOANS = "Loans (id: doc_2, score: {})\nNo loans. Cards cost nothing: card."


@pytest.mark.parametrize(
    ("retrieval", "tools", "policy"),
    [
        ("no_knowledge", [], "Be kind. You know it all."),
        (
            "full_kb",
            [],
            "Be kind. Read: ## Cards (id: doc_1)\n\nCards are free.\n\n"
            "## Loans (id: doc_2)\n\nNo loans. Cards cost nothing: card.",
        ),
        ("golden_retrieval", [], "Be kind. Read: ## Cards (id: doc_1)\n\nCards are free."),
        ("bm25", ["KB_search"], "Be kind. Search by words."),
        ("bm25_grep", ["KB_search", "grep"], "Be kind. Search."),
        ("grep_only", ["grep"], "Be kind. Search by patterns."),
    ],
)
def test_each_retrieval_has_its_tools_and_its_policy(
    tmp_path: Path, retrieval: str, tools: list[str], policy: str
) -> None:
    domain = bank(tmp_path, retrieval)
    view = domain.tasks["test"]["task_001"].view("agent")
    assert [spec.name for spec in view.tools][14:] == tools
    assert view.prompt == policy
    for name in {"KB_search", "grep", "kb_search", "kb_read"} - {*tools}:
        assert searched(domain, name, {})["error"]["code"] == "unknown_tool"


def test_all_retrievals_of_the_specification_are_there_and_one_of_our_own() -> None:
    theirs = ["no_knowledge", "full_kb", "golden_retrieval", "bm25", "bm25_grep", "grep_only"]
    assert [*RETRIEVALS] == [*theirs, "hybrid"]


def test_golden_retrieval_gives_each_task_its_own_documents(tmp_path: Path) -> None:
    domain = bank(tmp_path, "golden_retrieval")
    assert "doc_1" in domain.tasks["test"]["task_001"].view("agent").prompt
    assert "doc_" not in domain.tasks["test"]["task_002"].view("agent").prompt
    episode = Episode(domain, domain.tasks["test"]["task_001"])
    assert "Cards are free." in episode.observe("agent")["messages"][0].content
    episode.reset(domain.tasks["test"]["task_002"])
    assert "Cards are free." not in episode.observe("agent")["messages"][0].content


def test_a_search_returns_whole_documents_with_title_id_and_score(tmp_path: Path) -> None:
    domain = bank(tmp_path, "bm25_grep")
    scores = BM25Okapi(
        [text.lower().split() for text in ("Cards are free.", "No loans. Cards cost nothing: card.")]
    )
    cards, loans = scores.get_scores(["cards", "free."])
    assert loans > cards  # in so small a base a common word weighs less than nothing
    best = f"1. {LOANS}\n\n2. {CARDS}".format(f"{loans:.4f}", f"{cards:.4f}")
    assert searched(domain, "KB_search", {"query": "Cards free."}) == {"ok": True, "result": best}
    assert searched(domain, "grep", {"pattern": "card"})["result"] == (
        "1. " + LOANS.format(2) + "\n\n2. " + CARDS.format(1)
    )
    assert searched(domain, "grep", {"pattern": "zebra"})["result"] == "No document matches."


def test_the_same_search_gives_the_same_bytes_so_no_times(tmp_path: Path) -> None:
    domain = bank(tmp_path, "bm25_grep")
    for name, arguments in (("KB_search", {"query": " card "}), ("grep", {"pattern": "card "})):
        said = {json.dumps(searched(domain, name, arguments)) for _ in range(20)}
        assert len(said) == 1
        assert not re.search(r"\d\s*(ms|seconds)\b", said.pop())


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("KB_search", {"query": 5}, "invalid_arguments"),
        ("KB_search", {}, "invalid_arguments"),
        ("KB_search", {"query": "a", "k": 3}, "invalid_arguments"),
        ("grep", {"pattern": None}, "invalid_arguments"),
        ("grep", {"pattern": "(a+)+$"}, "pattern_too_costly"),
    ],
)
def test_a_wrong_search_is_answered_by_an_error(tmp_path: Path, name: str, arguments: Any, code: str) -> None:
    assert searched(bank(tmp_path, "bm25_grep"), name, arguments)["error"]["code"] == code


def test_the_hybrid_searches_titles_shows_snippets_and_reads(tmp_path: Path) -> None:
    domain = bank(tmp_path, "hybrid")
    (hit,) = searched(domain, "kb_search", {"query": "loans", "k": 5})["result"]
    assert (hit["document_id"], hit["title"]) == ("doc_2", "Loans")
    assert searched(domain, "kb_read", {"document_id": "doc_1"})["result"]["content"] == "Cards are free."
    prompt = domain.tasks["test"]["task_001"].view("agent").prompt
    assert prompt.startswith("Be kind. You know it all.")
    assert "kb_search" in prompt


@pytest.mark.parametrize("retrieval", ["bm25_grep", "hybrid"])
def test_the_index_is_made_once_and_not_before_the_first_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retrieval: str
) -> None:
    made = []

    class Counted(retrieval_module.BM25Retriever):
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            made.append(self)
            super().__init__(*arguments, **keywords)

    monkeypatch.setattr(retrieval_module, "BM25Retriever", Counted)
    monkeypatch.setitem(retrievals._MAKERS, "bm25", Counted)  # type: ignore[arg-type]
    domain = bank(tmp_path, retrieval)
    assert made == []
    assert domain.retrieval == retrieval  # for a run's manifest
    for _ in range(3):
        assert searched(domain, "kb_search" if retrieval == "hybrid" else "KB_search", {"query": "card"})[
            "ok"
        ]
    assert len(made) == 1


@needs_data
def test_searching_changes_no_graded_row_and_is_no_failed_call() -> None:
    episode = Episode(benchmark(), tasks()["task_005"])
    episode.act("user", {"type": "message", "content": "Hello"})
    for name, arguments in (("KB_search", {"query": "card"}), ("grep", {"pattern": "card"})):
        episode.act("agent", {"type": "tool_call", "name": name, "arguments": arguments})
    assert not len(episode.world.changes())
    assert episode.errors == 0


@needs_data
def test_the_benchmarks_own_templates_are_filled() -> None:
    task_id = "task_005"
    for retrieval in RETRIEVALS:
        task = benchmark(retrieval).tasks["test"][task_id]
        prompt = task.view("agent").prompt
        assert "{{" not in prompt
        inlined = prompt.count("(id: doc_")
        assert inlined == {"full_kb": 698, "golden_retrieval": len(task.documents)}.get(retrieval, 0)
