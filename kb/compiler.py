"""From a document with placeholders to its text, with a citation for each fact that it states.

=====================================  ===========================================================
placeholder                            becomes
=====================================  ===========================================================
``{{ fees.card.new }}``                the value in force
``{{ fees.card.new | words }}``        the value in another format, see `kb.formats`
``{{ fees.card.new @ 2025-07-01 }}``   the value that was in force on that day
``{{ cite rules.first_come }}``        nothing: the line says it in its own words (several: commas)
``{{ doc lost-cards }}``               the title of that document, in italics
=====================================  ===========================================================

A placeholder stands on one line, so lines keep their numbers. Titles take placeholders too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from kb.documents import ID_PATTERN, Document, DocumentError
from kb.facts import KEY_PATTERN, FactError, Facts
from kb.formats import rendered

PLACEHOLDER = re.compile(r"\{\{ ([^{}]+) \}\}")
CITATION = re.compile(r"[ \t]*\{\{ cite ([^{}]+) \}\}")
_VALUE = re.compile(rf"({KEY_PATTERN.pattern})(?: @ (\d{{4}}-\d\d-\d\d))?((?: \| [a-z]+)*)")
TITLE_LINE = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """One place where a document states a fact."""

    fact: str
    """Key of the fact."""
    document: str
    """Id of the document."""
    line: int
    """The line of its content, from 1; 0 is the title."""
    text: str
    """How the value is written there; empty where the line says it in its own words."""
    day: date | None = None
    """The day whose value is meant; None: the value in force."""
    formats: tuple[str, ...] = ()
    """The formats applied."""


def compiled(
    source: Document, facts: Facts, titles: Mapping[str, str]
) -> tuple[Document, tuple[Citation, ...]]:
    """Fill in a document's placeholders.

    Args:
        source: The document as it is written.
        facts: What its placeholders name.
        titles: Of all documents, by id, as they are written.

    Returns:
        The document as it is read, and its citations in the order of their lines.

    Raises:
        DocumentError: A placeholder is not one, or names what is not there; the message names document and
            line.

    Example:
        >>> from kb.facts import Fact, Revision
        >>> facts = Facts([Fact("fees.card", "money", (Revision(1000),))])
        >>> written = Document("fees", "Fees", "A card costs {{ fees.card }}.")
        >>> document, citations = compiled(written, facts, {})
        >>> document.content, citations[0].line
        ('A card costs $10.00.', 1)
    """
    writer = _Writer(source.id, facts, titles)
    title = writer.line(TITLE_LINE, source.title)
    lines = [writer.line(number, text) for number, text in enumerate(source.content.split("\n"), start=1)]
    return Document(source.id, title, "\n".join(lines), source.meta), tuple(writer.citations)


class _Writer:
    """Writes the lines of one document and notes what they cite."""

    def __init__(self, document: str, facts: Facts, titles: Mapping[str, str]) -> None:
        self.document, self.facts, self.titles = document, facts, titles
        self.citations: list[Citation] = []

    def line(self, number: int, text: str) -> str:
        """Return the line as it is read."""
        if "{{" not in text and "}}" not in text:
            return text
        try:
            written = CITATION.sub(lambda match: self._cited(number, match[1]), text)
            if text.strip() and not written.strip():
                raise DocumentError("cites, but says nothing; put the citation at the end of what it is for")
            written = PLACEHOLDER.sub(lambda match: self._filled(number, match[1]), written)
            if "{{" in written or "}}" in written:
                raise DocumentError(
                    "holds braces that are no placeholder; write {{ key }}, with one blank inside"
                )
        except DocumentError as error:
            raise DocumentError(f"{self.document}.md, line {number} of its text: {error}") from error
        return written

    def _cited(self, line: int, keys: str) -> str:
        for part in keys.split(", "):
            match = _VALUE.fullmatch(part)
            if match is None or match[4]:
                raise DocumentError(f"cites {part!r}; cite keys of facts, with a comma and a blank between")
            day = _day(match[3])
            self.facts[match[1]].at(day)
            self.citations.append(Citation(match[1], self.document, line, "", day))
        return ""

    def _filled(self, line: int, inside: str) -> str:
        if inside.startswith("doc "):
            return self._reference(inside.removeprefix("doc "))
        match = _VALUE.fullmatch(inside)
        if match is None:
            raise DocumentError(
                f"has the placeholder {inside!r}; write key, key | format, key @ day, cite key, or doc id"
            )
        fact, day = self.facts[match[1]], _day(match[3])
        formats = tuple(match[4].split(" | ")[1:])
        text = rendered(fact, fact.at(day), formats)
        self.citations.append(Citation(fact.key, self.document, line, text, day, formats))
        return text

    def _reference(self, identifier: str) -> str:
        if not ID_PATTERN.fullmatch(identifier) or identifier not in self.titles:
            raise DocumentError(f"refers to the document {identifier!r}, which is not there; correct the id")
        title = PLACEHOLDER.sub(lambda match: self._title_part(match[1]), self.titles[identifier])
        return f"*{title}*"

    def _title_part(self, inside: str) -> str:
        match = _VALUE.fullmatch(inside)
        if match is None:
            raise DocumentError(f"refers to a title with {inside!r} in it, which is not a key of a fact")
        fact = self.facts[match[1]]
        return rendered(fact, fact.at(_day(match[3])), match[4].split(" | ")[1:])


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise FactError(f"asks for the day {text!r}; {error}") from error
