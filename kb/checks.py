"""What a knowledge base must hold to: each check finds the places that break one rule.

==================  ================================================================================
rule                finds
==================  ================================================================================
bare-number         a number, in digits or words, that no fact gives
needless-exception  a phrase in a document's `uncounted` that excuses nothing
unstated-fact       a value, in force or earlier, that no document states
stale-value         a current document that gives an earlier value as if it were in force
superseded          a document that is replaced and does not say by what, or the other way round; a circle
reference           a title in italics that no document has, or two; a replaced document named as if in force
==================  ================================================================================

A number needs no fact as the number of a list item, inside the name of a tool or word in backticks, or in a
phrase that the document's front matter lists under `uncounted`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kb.compiler import CITATION, PLACEHOLDER, TITLE_LINE, Citation
from kb.documents import Document, DocumentError
from kb.knowledge_base import KnowledgeBase
from kb.numbers import numbers_in

SUPERSEDED = "superseded"
_NAME = re.compile(r"`[a-z][a-z0-9_]*`")
_ITEM = re.compile(r"^ *\d+\. ", re.MULTILINE)
_ITALIC = re.compile(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)")
_REPLACED = re.compile(r"\b(?:supersed|replac|no longer)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that breaks a rule."""

    rule: str
    """Name of the rule."""
    place: str
    """Document and line, or the key of a fact."""
    detail: str
    """What is wrong, and what to do."""


def check_knowledge_base(knowledge: KnowledgeBase) -> tuple[Finding, ...]:
    """Check a knowledge base against every rule.

    Args:
        knowledge: What is checked.

    Returns:
        What was found, by rule, document and line; nothing when all is well.
    """
    return tuple(finding for rule in RULES.values() for finding in rule(knowledge))


def _bare_numbers(knowledge: KnowledgeBase) -> Iterator[Finding]:
    for source in knowledge.sources:
        text = _prose(source)
        excused = [match.span() for phrase in _uncounted(source) for match in phrase.finditer(text)]
        for start, end, number in numbers_in(text):
            if not any(first <= start and end <= last for first, last in excused):
                yield Finding(
                    "bare-number",
                    _place(source, text.count("\n", 0, start)),
                    f"{number!r} comes from no fact; put a placeholder there, or list the phrase under "
                    "`uncounted` if it counts what stands on the page",
                )
    for key, fact in knowledge.facts.items():
        for revision in fact.revisions if fact.kind == "rule" else ():
            for _, _, number in numbers_in(str(revision.value)):
                detail = f"{number!r} stands in the words of a rule; make it a fact of its own"
                yield Finding("bare-number", key, detail)


def _needless_exceptions(knowledge: KnowledgeBase) -> Iterator[Finding]:
    for source in knowledge.sources:
        for phrase, pattern in zip(_phrases(source), _uncounted(source), strict=True):
            if not pattern.search(_prose(source)) or not any(numbers_in(phrase)):
                yield Finding(
                    "needless-exception",
                    source.id,
                    f"`uncounted` lists {phrase!r}, which does not stand in it or holds no number: remove it",
                )


def _unstated_facts(knowledge: KnowledgeBase) -> Iterator[Finding]:
    old = {source.id for source in knowledge.sources if _is_old(source)}
    for key, fact in knowledge.facts.items():
        stated = [one for one in knowledge.stated_in(key) if _gives_value(one)]
        for revision in fact.revisions:
            places = [one for one in stated if fact.at(one.day) == revision]
            if not any(revision.until or one.document not in old for one in places):
                yield Finding(
                    "unstated-fact",
                    key,
                    f"no {'' if revision.until else 'current '}document states {revision.value!s}; state it, "
                    f"or take it out of {fact.source}",
                )


def _stale_values(knowledge: KnowledgeBase) -> Iterator[Finding]:
    old = {source.id for source in knowledge.sources if _is_old(source)}
    for source in knowledge.sources:
        if source.id in old:
            continue
        blocks = _blocks(source)
        cited = knowledge.cited_by(source.id)
        for one in cited:
            if _is_past(knowledge, one) and not _is_dated(knowledge, one, cited, blocks):
                past = f"{one.fact} @ {one.day}"
                yield Finding(
                    "stale-value",
                    _place(source, one.line),
                    f"{one.fact} was {one.text or 'so'} until a day that its paragraph does not give; add "
                    f"{{{{ {past} | until }}}} or {{{{ {one.fact} | since }}}}, or use the value in force",
                )


def _superseded(knowledge: KnowledgeBase) -> Iterator[Finding]:
    documents = {document.id: document for document in knowledge.documents}
    for document in knowledge.documents:
        for detail in _replacement_faults(document, documents):
            yield Finding("superseded", document.id, detail)


def _replacement_faults(document: Document, documents: dict[str, Document]) -> Iterator[str]:
    status, by = document.meta.get("status"), document.meta.get("superseded_by")
    if status not in (None, SUPERSEDED):
        yield f"status is {status!r}; the only status is {SUPERSEDED!r}, leave it out otherwise"
    elif (status is None) != (by is None):
        yield f"status is {status!r} and superseded_by is {by!r}; give both, or none of them"
    elif by is not None:
        if by not in documents or by == document.id:
            yield f"superseded_by is {by!r}; name another document that is there"
        elif _is_circle(document, documents):
            yield f"superseded_by is {by!r}, and going on from there never comes to a document in force"
        elif not _opening(document).startswith("**Superseded"):
            yield "the text does not begin with **Superseded; say so first"
        elif f"*{documents[by].title}*" not in _opening(document):
            yield f"the first paragraph does not name {by!r}; refer to it with {{{{ doc {by} }}}}"
    replaces = document.meta.get("supersedes")
    if replaces is not None and (
        replaces not in documents or documents[replaces].meta.get("superseded_by") != document.id
    ):
        yield (
            f"supersedes is {replaces!r}, which does not say superseded_by = {document.id!r}: make both agree"
        )


def _is_circle(document: Document, documents: dict[str, Document]) -> bool:
    """Whether what replaces a document, and what replaces that, and so on, has no end."""
    met: set[object] = set()
    by: object = document.id
    while by in documents and by not in met:
        met.add(by)
        by = documents[str(by)].meta.get("superseded_by")
    return by in met


def _references(knowledge: KnowledgeBase) -> Iterator[Finding]:
    titles: dict[str, Document] = {}
    for document in knowledge.documents:
        if titles.setdefault(document.title, document) is not document:
            detail = f"{titles[document.title].id} has the title {document.title!r} too; rename one"
            yield Finding("reference", _place(document, TITLE_LINE), detail)
    for document in knowledge.documents:
        for line, block in _paragraphs(document.content):
            for title in _ITALIC.findall(" ".join(block.split())):
                if title not in titles:
                    detail = f"no document has the title {title!r}; correct it, or use {{{{ doc id }}}}"
                    yield Finding("reference", _place(document, line), detail)
                elif _is_old(titles[title]) and not _is_old(document) and not _REPLACED.search(block):
                    detail = (
                        f"{title!r} is superseded; say so in the same paragraph, or refer to its successor"
                    )
                    yield Finding("reference", _place(document, line), detail)


RULES: dict[str, Callable[[KnowledgeBase], Iterator[Finding]]] = {
    "bare-number": _bare_numbers,
    "needless-exception": _needless_exceptions,
    "unstated-fact": _unstated_facts,
    "stale-value": _stale_values,
    "superseded": _superseded,
    "reference": _references,
}
"""By name, what finds the places that break it."""


def _place(document: Document, line: int) -> str:
    return f"{document.id}:{line}"


def _is_old(document: Document) -> bool:
    return document.meta.get("status") == SUPERSEDED


def _prose(source: Document) -> str:
    """Return title and content, line by line, without placeholders, names in backticks and item numbers."""
    text = PLACEHOLDER.sub("…", CITATION.sub("", f"{source.title}\n{source.content}"))
    return _ITEM.sub("", _NAME.sub("…", text))


def _uncounted(source: Document) -> list[re.Pattern[str]]:
    """Return what finds the phrases that need no fact, across the ends of lines too."""
    return [re.compile(r"\s+".join(map(re.escape, phrase.split()))) for phrase in _phrases(source)]


def _phrases(source: Document) -> tuple[str, ...]:
    phrases = source.meta.get("uncounted", ())
    if not isinstance(phrases, tuple) or not all(isinstance(phrase, str) for phrase in phrases):
        raise DocumentError(
            f'{source.id}.md: uncounted is {phrases!r}; give a list of texts, as in ["one of"]'
        )
    return phrases


def _gives_value(citation: Citation) -> bool:
    """Whether a citation gives a value, rather than one of the days on which it began or ended."""
    return not {"since", "until"} & set(citation.formats)


def _is_past(knowledge: KnowledgeBase, citation: Citation) -> bool:
    """Whether a citation gives a value that is no longer in force."""
    return _gives_value(citation) and knowledge.facts[citation.fact].at(citation.day).until is not None


def _is_dated(
    knowledge: KnowledgeBase, citation: Citation, cited: tuple[Citation, ...], blocks: dict[int, int]
) -> bool:
    """Whether the paragraph gives the last day of the value, or the first day of the next one."""
    fact = knowledge.facts[citation.fact]
    mine = fact.at(citation.day)
    following = fact.revisions[fact.revisions.index(mine) + 1]
    wanted = {("until", mine), ("since", following)}
    return any(
        (name, fact.at(other.day)) in wanted
        for other in cited
        if other.fact == citation.fact and blocks[other.line] == blocks[citation.line]
        for name in other.formats
    )


def _paragraphs(content: str) -> Iterator[tuple[int, str]]:
    """Yield the runs of lines between blank ones, each with its first line's number."""
    start, block = 1, list[str]()
    for number, text in enumerate([*content.split("\n"), ""], start=1):
        if text.strip():
            start = start if block else number
            block.append(text)
        elif block:
            yield start, "\n".join(block)
            block = []


def _blocks(source: Document) -> dict[int, int]:
    """Return the first line of each line's paragraph."""
    blocks = {TITLE_LINE: TITLE_LINE}
    for start, block in _paragraphs(source.content):
        blocks |= {start + offset: start for offset in range(block.count("\n") + 1)}
    return blocks


def _opening(document: Document) -> str:
    return " ".join(document.content.split("\n\n")[0].split())
