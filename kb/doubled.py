"""Units that a sentence says again after a value that says them itself, such as "2 days days"."""

import re
from collections.abc import Iterable, Iterator

from kb.compiler import Citation
from kb.documents import Document

_AGAIN = {"$": r"dollars?", "%": r"(?:%|per ?cent)"}


def doubled_units(document: Document, citations: Iterable[Citation]) -> Iterator[tuple[int, str]]:
    """Find the values of a document whose unit follows once more.

    Args:
        document: The document as it is read.
        citations: What it cites.

    Yields:
        The line, and the words that stand there.

    Example:
        >>> document = Document("a", "A", "It takes 2 days days.")
        >>> list(doubled_units(document, [Citation("a.b", "a", 1, "2 days")]))
        [(1, '2 days days')]
    """
    lines = ["", *document.content.split("\n"), ""]
    for line, text in sorted({(one.line, one.text) for one in citations if one.text and one.line}):
        here = f"{lines[line]} {lines[line + 1].lstrip()}"
        for match in re.finditer(rf"(?<!\w){re.escape(text)} +{_unit(text)}(?!\w)", here, re.IGNORECASE):
            if match.start() < len(lines[line]):
                yield line, match[0]


def _unit(text: str) -> str:
    """Return the pattern of the unit with which a value is written, or one that never matches."""
    for sign, words in _AGAIN.items():
        if text.startswith(sign) or text.endswith(sign):
            return words
    last = re.search(r" ([a-z]+?)s?$", text)
    return f"{last[1]}s?" if last else r"(?!)"
