"""A knowledge base: facts, the documents compiled from them, and what is stated where."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kb.compiler import Citation, compiled
from kb.documents import Document, load_documents
from kb.fact_files import load_facts
from kb.facts import Facts

FACTS = "facts"
"""The folder of the facts, inside that of the documents."""


@dataclass(frozen=True)
class KnowledgeBase:
    """Documents compiled from facts; iterating gives the documents, sorted by id."""

    facts: Facts
    """Every constant and rule, once."""
    sources: tuple[Document, ...]
    """The documents as they are written, with placeholders."""
    documents: tuple[Document, ...]
    """The same as they are read."""
    citations: tuple[Citation, ...]
    """Every place where a document states a fact, by document and line."""

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def stated_in(self, fact: str) -> tuple[Citation, ...]:
        """Return where documents state a fact, with its value in force or an earlier one.

        Args:
            fact: Its key.

        Raises:
            FactError: There is no such fact.
        """
        return self._by_fact.get(self.facts[fact].key, ())

    def cited_by(self, document: str) -> tuple[Citation, ...]:
        """Return what a document states, in the order of its lines; nothing for an unknown document."""
        return tuple(citation for citation in self.citations if citation.document == document)

    @cached_property
    def _by_fact(self) -> dict[str, tuple[Citation, ...]]:
        found: dict[str, tuple[Citation, ...]] = {}
        for citation in self.citations:
            found[citation.fact] = (*found.get(citation.fact, ()), citation)
        return found


def load_knowledge_base(folder: str | Path) -> KnowledgeBase:
    """Read the facts and compile the documents of a folder.

    Args:
        folder: Holds Markdown files, as `load_documents` reads them, and a folder `facts` of TOML files, as
            `kb.fact_files` describes them.

    Returns:
        The knowledge base.

    Raises:
        FactError: An entry of a TOML file breaks a rule.
        DocumentError: A Markdown file breaks one.
    """
    facts, sources = load_facts(Path(folder) / FACTS), load_documents(folder)
    titles = {source.id: source.title for source in sources}
    pairs = [compiled(source, facts, titles) for source in sources]
    return KnowledgeBase(
        facts,
        sources,
        tuple(document for document, _ in pairs),
        tuple(citation for _, citations in pairs for citation in citations),
    )
