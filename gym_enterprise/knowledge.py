"""The agent's two tools over the policy documents: search and read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field

from gym_enterprise.tools import Tool, ToolError, tool
from kb import Document, Retriever, snippet

MAX_CACHED = 1_000
"""Longest query in characters whose hits are kept, so that junk cannot fill the memory."""


def knowledge_tools(documents: Sequence[Document], retriever: Callable[[], Retriever]) -> tuple[Tool, Tool]:
    """Make `kb_search` and `kb_read` for a domain.

    Args:
        documents: The policy documents.
        retriever: Returns what ranks them for a query; called at the first search.

    Returns:
        The two tools, for the agent.
    """
    by_id = {document.id: document for document in documents}

    @lru_cache(maxsize=4096)
    def hits(query: str, k: int) -> list[dict[str, Any]]:
        found = []
        for hit in retriever().search(query, k):
            best = snippet(by_id[hit.document_id], query)
            found.append(
                {
                    "document_id": hit.document_id,
                    "title": by_id[hit.document_id].title,
                    "score": round(hit.score, 3),
                    "line": best.line,
                    "snippet": best.text,
                }
            )
        return found

    @tool()
    def kb_search(world: Any, query: str, k: Annotated[int, Field(ge=0, le=50)] = 5) -> Any:
        """Search the policy documents; the best come first, equal scores in order of document id.

        Args:
            query: Words to look for.
            k: How many documents to return at most.
        """
        return hits(query, k) if len(query) <= MAX_CACHED else hits.__wrapped__(query, k)

    @tool()
    def kb_read(world: Any, document_id: str) -> Any:
        """Read one policy document whole.

        Args:
            document_id: Its id, as returned by kb_search.
        """
        document = by_id.get(document_id)
        if document is None:
            raise ToolError(
                "unknown_document", f"there is no document {document_id!r}; search with kb_search"
            )
        return {"document_id": document.id, "title": document.title, "content": document.content}

    return kb_search, kb_read
