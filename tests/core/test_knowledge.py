"""The agent's two tools over the documents, as calls: reports B024, B026, B027, B058."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gym_enterprise import Document
from tests.core.conversation import call, last_error, opened, play
from tests.shop import make_domain, task


def searched(documents: list[Document], query: Any, **k: Any) -> Any:
    """The result of a search, as the agent reads it."""
    domain = make_domain(documents=documents, tasks={"train": []})
    it = play(opened(task(documents=[]), domain), ("agent", call("kb_search", query=query, **k)))
    return it.observe("agent")["messages"][-1].result


SHOP_DOCUMENTS = list(make_domain().documents)


def ids(result: Any) -> list[str]:
    assert result["ok"], result
    return [hit["document_id"] for hit in result["result"]]


def test_a_hit_has_id_title_score_and_a_snippet_with_its_line() -> None:
    result = searched(SHOP_DOCUMENTS, "cancelled refunded")["result"]
    assert [list(hit) for hit in result] == [["document_id", "title", "score", "line", "snippet"]]
    (hit,) = result
    assert (hit["document_id"], hit["title"]) == ("refunds", "Refund policy")
    assert (hit["line"], hit["snippet"]) == (2, "Cancelled orders are refunded.")
    assert hit["score"] > 0


def test_a_document_is_read_whole() -> None:
    it = play(opened(), ("agent", call("kb_read", document_id="refunds")))
    assert it.observe("agent")["messages"][-1].result == {
        "ok": True,
        "result": {
            "document_id": "refunds",
            "title": "Refund policy",
            "content": "A refund is a credit.\nCancelled orders are refunded.",
        },
    }


def test_b024_a_domain_without_documents_has_no_search() -> None:
    domain = make_domain(documents=[], tasks={"train": []})
    it = play(opened(task(documents=[]), domain), ("agent", call("kb_search", query="refund")))
    assert last_error(it, "agent") == "unknown_tool"
    assert "kb_search" not in [spec.name for spec in domain.view(it.task, "agent").tools]


def test_b024_empty_documents_are_never_found_and_an_empty_query_finds_nothing() -> None:
    empty = [Document("a", "", ""), Document("b", "", "  ")]
    assert ids(searched(empty, "refund")) == []
    assert ids(searched(empty, "")) == []
    mixed = [Document("a", "", ""), Document("b", "", "refund policy")]
    found = searched(mixed, "refund")
    assert ids(found) == ["b"]
    assert found["result"][0]["score"] > 0
    assert ids(searched(mixed, "")) == []
    assert ids(searched(mixed, "...")) == []


def test_b026_more_hits_than_documents_are_all_and_none_are_none() -> None:
    documents = [Document(name, name, f"refund {name}") for name in ("a", "b", "c")]
    assert ids(searched(documents, "refund", k=10)) == ["a", "b", "c"]
    assert ids(searched(documents, "refund", k=10.0)) == ["a", "b", "c"]
    assert ids(searched(documents, "refund", k=0)) == []


@pytest.mark.parametrize("k", [-1, 51, 2**63, 1.5, "5", True, None, [5]])
def test_b026_a_count_that_is_none_is_an_error_to_read(k: Any) -> None:
    result = searched(SHOP_DOCUMENTS, "refund", k=k)
    assert result["error"]["code"] == "invalid_arguments"
    assert "`k`" in result["error"]["message"]


def test_b027_equal_scores_come_in_order_of_id_whatever_the_order_of_documents() -> None:
    names = ["D5", "D2", "D4", "D1", "D3"]
    for order in (names, sorted(names), names[::-1]):
        documents = [Document(name, "Same", "the same text") for name in order]
        assert ids(searched(documents, "same text", k=2)) == ["D1", "D2"]


@pytest.mark.parametrize(
    "document_id",
    [
        "../tasks.json",
        "/etc/hostname",
        "refunds.md",
        "../refunds",
        "./refunds",
        "refunds\x00",
        "*",
        "%",
        "REFUNDS",
        "file:///etc/passwd",
        "refunds' OR '1'='1",
        "\u202erefunds",
        "__class__",
        "",
    ],
)
def test_b058_an_id_that_is_a_path_or_a_pattern_is_an_unknown_document(document_id: str) -> None:
    it = play(opened(), ("agent", call("kb_read", document_id=document_id)))
    assert last_error(it, "agent") == "unknown_document"
    assert "search with kb_search" in it.observe("agent")["messages"][-1].content


@pytest.mark.parametrize(
    "query", ["refund " * 20_000, "\x00", "'; DROP TABLE orders; --", "\U0001f600", "re(fund[", "%s{}"]
)
def test_any_text_is_a_query(query: str) -> None:
    assert searched(SHOP_DOCUMENTS, query.strip())["ok"]


def test_a_search_changes_nothing_and_gives_the_same_answer_each_time() -> None:
    it = opened()
    for _ in range(2):
        it.act("agent", call("kb_search", query="refund"))
    one, two = [m.content for m in it.observe("agent")["messages"] if m.role == "tool"]
    assert one == two
    assert len(it.world.changes()) == 0
    assert json.loads(one)["ok"]


def test_a_retriever_of_ones_own_that_fails_is_a_tool_failure() -> None:
    class Broken:
        def search(self, query: str, k: int = 10) -> Any:
            raise ConnectionError("index gone")

    domain = make_domain(retriever=Broken(), tasks={"train": []})
    it = play(opened(task(), domain), ("agent", call("kb_search", query="refund")))
    assert last_error(it, "agent") == "tool_failure"
    assert "index" not in it.observe("agent")["messages"][-1].content
