"""The lines of a document that answer a query best, with their line numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kb.documents import Document
from kb.tokens import tokenize


@dataclass(frozen=True, slots=True)
class Snippet:
    """Consecutive lines of a document."""

    line: int
    """The number of the first of them in the document's content, counted from 1."""
    text: str
    """The lines, as they stand there."""


def snippet(
    document: Document,
    query: str,
    *,
    lines: int = 2,
    tokenize: Callable[[str], Sequence[str]] = tokenize,
) -> Snippet:
    r"""Show where a document speaks of a query.

    The best line is the one with most distinct query words, the earlier of two equal ones; when no line has
    any (only the title matches), it is the first line that is not blank. The snippet is that line and those
    after it, up to ``lines`` lines that are not blank, so that a heading comes with what it heads.

    Args:
        document: The document found.
        query: The query that found it.
        lines: How many lines to show, blank ones not counted; at least 1.
        tokenize: How text is split into words; as given to the retriever.

    Returns:
        The lines with the number of the first; empty text at line 1 for a document without text.

    Raises:
        ValueError: ``lines`` is below 1.

    Example:
        >>> fees = Document("fees", "Fees", "# Cards\n\nA new card is free.\nA replacement costs 10 dollars.")
        >>> snippet(fees, "replacement cost", lines=1)
        Snippet(line=4, text='A replacement costs 10 dollars.')
    """
    if lines < 1:
        raise ValueError(f"lines is {lines}; a snippet has at least 1 line")
    text = document.content.split("\n")
    filled = [number for number, line in enumerate(text) if line.strip()]
    if not filled:
        return Snippet(1, "")
    wanted = frozenset(tokenize(query))
    words = _words_by_line(document.content, tokenize)
    best = max(filled, key=lambda number: len(wanted & words[number]))  # max keeps the first of equals
    shown = filled[filled.index(best) :][:lines]
    return Snippet(best + 1, "\n".join(text[best : shown[-1] + 1]))


@lru_cache(maxsize=4096)
def _words_by_line(content: str, tokenize: Callable[[str], Sequence[str]]) -> tuple[frozenset[str], ...]:
    """The distinct words of each line; cached, because rollouts ask about the same documents often."""
    return tuple(frozenset(tokenize(line)) for line in content.split("\n"))
