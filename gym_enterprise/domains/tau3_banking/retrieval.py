"""How the agent reads the documents: search tools, or documents in its policy, by name.

================  ======================  =================================================================
retrieval         tools                   documents in the policy
================  ======================  =================================================================
no_knowledge      none                    none
full_kb           none                    all
golden_retrieval  none                    those that the task's reference relies on: tasks differ
bm25              KB_search               none
bm25_grep         KB_search, grep         none
grep_only         grep                    none
hybrid            kb_search, kb_read      none; this package's own, not one of the benchmark's
================  ======================  =================================================================

`KB_search` and `grep` rank as the benchmark does, and give the ten best documents whole, equal scores by
document id (there: by the order of files in a folder). There are no times in what they return. The hybrid
searches titles too, shows lines that answer the query, and reads a document on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gym_enterprise.domains.tau3_banking.data import read_prompt
from gym_enterprise.domains.tau3_banking.patterns import compiled, why_too_costly
from gym_enterprise.domains.tau3_banking.toolkit import BankTool, listed
from gym_enterprise.errors import UsageError
from gym_enterprise.tasks import Task
from gym_enterprise.tools import ToolError
from gym_enterprise.world import World
from kb import BM25Retriever, Document

TOP = 10
"""How many documents a search returns at most."""


@dataclass(frozen=True)
class Retrieval:
    """One way of reading the documents."""

    prompt: str
    """The template of the agent's policy, without ending."""
    tools: tuple[str, ...] = ()
    """Names of the search tools."""
    own: str = ""
    """What this package adds to the template."""


RETRIEVALS: Mapping[str, Retrieval] = {
    "no_knowledge": Retrieval("no_knowledge"),
    "full_kb": Retrieval("full_kb"),
    "golden_retrieval": Retrieval("required_docs"),
    "bm25": Retrieval("classic_rag_bm25_no_grep", ("KB_search",)),
    "bm25_grep": Retrieval("classic_rag_bm25", ("KB_search", "grep")),
    "grep_only": Retrieval("grep_only", ("grep",)),
    "hybrid": Retrieval(
        "no_knowledge",
        own="Look things up in the policy documents: `kb_search` finds them, and `kb_read` reads one whole.",
    ),
}
"""By name."""


class Library:
    """The benchmark's documents, ranked as the benchmark does. The index is made at the first search.

    Args:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = tuple(sorted(documents, key=lambda document: document.id))

    @cached_property
    def _index(self) -> BM25Retriever:
        return BM25Retriever(self.documents, idf="okapi", fields=("content",), tokenize=words)

    def search(self, query: str) -> list[tuple[Document, float]]:
        """Rank documents by BM25 (Okapi) over the lower-case words of their content.

        Args:
            query: Words, separated by blanks.

        Returns:
            The `TOP` best with their scores, best first, equal ones by id; scores can be 0.
        """
        scores = self._index.scores(query)
        best = np.argsort(-scores, kind="stable")[:TOP]
        return [(self.documents[row], float(scores[row])) for row in best.tolist()]

    def grep(self, pattern: str) -> list[tuple[Document, int]]:
        """Rank documents by how often a regular expression matches in their content, whatever the case.

        Args:
            pattern: The expression; one that is none is searched literally. See `why_too_costly`.

        Returns:
            The `TOP` documents with most matches, most first, equal ones by id; only those with any.
        """
        expression = compiled(pattern)
        counts = [(item, sum(1 for _ in expression.finditer(item.content))) for item in self.documents]
        found = [(item, count) for item, count in counts if count]
        return sorted(found, key=lambda hit: -hit[1])[:TOP]


def words(text: str) -> list[str]:
    """Split text as the benchmark's index does: lower case, at blanks, punctuation kept."""
    return text.lower().split()


def search_tools(names: Sequence[str], documents: Sequence[Document]) -> list[BankTool]:
    """Make search tools by name, over one library."""
    library = Library(documents)

    @listed()
    def KB_search(world: World, query: str) -> str:
        """Search the knowledge base; returns the ten best documents whole, equal scores by document id.

        Args:
            query: Words to look for.
        """
        hits = [(document, f"{score:.4f}") for document, score in library.search(_text("query", query))]
        return _listing(hits)

    @listed()
    def grep(world: World, pattern: str) -> str:
        """Search the knowledge base by a regular expression, whatever the case.

        Returns the ten documents with most matches whole, equal ones by document id.

        Args:
            pattern: A regular expression; one that is none is searched literally.
        """
        if reason := why_too_costly(_text("pattern", pattern)):
            raise ToolError("pattern_too_costly", f"the pattern is not run: {reason}; use a simpler one")
        return _listing([(document, str(count)) for document, count in library.grep(pattern)])

    made = {"KB_search": KB_search, "grep": grep}
    return [made[name] for name in names]


def policy(folder: Path, name: str, documents: Sequence[Document]) -> str | Callable[[Task], str]:
    """Return the agent's policy for a way of retrieval.

    Args:
        folder: The data.
        name: A key of `RETRIEVALS`.
        documents: All documents.

    Returns:
        The text, or a function that writes it for a task where tasks differ in it.

    Raises:
        UsageError: There is no such way of retrieval, or its template is not there.
    """
    if not isinstance(name, str) or name not in RETRIEVALS:
        raise UsageError(f"there is no retrieval {name!r}; there are {', '.join(RETRIEVALS)}")
    chosen = RETRIEVALS[name]
    template = "\n\n".join(part for part in (read_prompt(folder, chosen.prompt), chosen.own) if part)
    by_id = {document.id: document for document in documents}
    if name == "golden_retrieval":
        mark = "{{required_documents}}"
        return lambda task: template.replace(mark, _inlined([by_id[name] for name in task.documents]))
    return template.replace("{{full_knowledge_base}}", _inlined(documents))


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ToolError("invalid_arguments", f"`{name}` should be text")
    return value


def _listing(hits: Sequence[tuple[Document, str]]) -> str:
    if not hits:
        return "No document matches."
    return "\n\n".join(
        f"{number}. {document.title} (id: {document.id}, score: {score})\n{document.content}"
        for number, (document, score) in enumerate(hits, start=1)
    )


def _inlined(documents: Sequence[Document]) -> str:
    return "\n\n".join(f"## {item.title} (id: {item.id})\n\n{item.content}" for item in documents)
