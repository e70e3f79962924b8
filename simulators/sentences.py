"""A message as the scripted customer hears it: sentences in plain words, and what each of them does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from simulators import vocabulary as say
from simulators.values import Value, values_in
from simulators.vocabulary import plain_words

_BULLET = re.compile(r"\s*(?:[-*+\u2022\u2013]|\(?\d{1,2}[.)]|\(?[a-zA-Z][.)])\s+")
_END = re.compile(r"(?<=[.!?;])(?<!\b(?:Dr|Mr|Ms|St)\.)(?<!Mrs\.)\s+")
_AND = re.compile(
    r",?\s+(?:and|but)\s+(?=(?:what|which|when|where|how|why|who|please"
    r"|(?:could|can|do|would|will) you|(?:may|shall|should|can) i|is that)\b)",
    re.IGNORECASE,
)
_ASKING_START = re.compile(
    r"(?:^|[,:\u2013\u2014-] )\s*(?:(?:also|and|but|so|then|first|now|at|in|on|for|from|to|by|with),? )*"
    r"(?:is|are|was|were|do|does|did|have|has|can|could|would|will|shall|should|may|what|which|when|where"
    r"|who|how|why)\b",
    re.IGNORECASE,
)
_QUESTION_START = re.compile(r"(?:what|which|when|where|who|how|why)\b", re.IGNORECASE)
_CONTINUES = (" and ", " also ", " plus ", " as well as ")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, or one item of a list."""

    text: str
    """As written."""
    words: str
    """Its plain words."""
    asks: bool
    """Whether it asks or requests, or is an item of a list that a request announced."""
    question: bool
    """Whether it ends with a question mark."""
    values: tuple[Value, ...] = ()
    """The dates, numbers and so on in it."""

    @property
    def proposes(self) -> bool:
        """Whether it wants a yes or a no."""
        found = say.PROPOSAL.search(self.words) if self.asks else None
        if found is None:
            return False
        asked = say.ASKS_TO_TELL.search(self.words)
        return asked is None or asked.start() >= found.start() or "how does that sound" in found.group()

    @property
    def closes(self) -> bool:
        """Whether it asks if there is anything else."""
        return say.CLOSING.search(self.words) is not None

    @property
    def reads_back(self) -> bool:
        """Whether it states something for the customer to check."""
        return say.READBACK.search(self.words) is not None

    @property
    def open(self) -> bool:
        """Whether it asks what the customer wants."""
        return self.asks and say.OPEN_QUESTION.search(self.words) is not None

    @property
    def about_status(self) -> bool:
        """Whether it asks how something went that the customer was to do."""
        found = say.STATUS_QUESTION.search(self.words) if self.asks else None
        return found is not None and (not self.inquires or " what " in self.words)

    @property
    def inquires(self) -> bool:
        """Whether it has a question word, so that yes or no is no answer."""
        return say.QUESTION_WORD.search(self.words) is not None

    @property
    def about_customer(self) -> bool:
        """Whether it asks for something of the customer's, or for an answer with content."""
        return self.asks and (self.inquires or say.SECOND_PERSON.search(self.words) is not None)


@dataclass(frozen=True, slots=True)
class Mood:
    """What a whole message does apart from what it asks."""

    refuses: bool
    reports: bool
    """Something was done for the customer (checking who they are does not count)."""
    reports_all: bool
    closes: bool
    parts: bool
    """Says goodbye, or hands the customer over."""
    holds: bool
    """Says that the agent is still at work."""


@lru_cache(1024)  # what agents say at the beginning and end of conversations is often the same
def split_sentences(message: str) -> tuple[Sentence, ...]:
    """Split an agent's message; list items that follow a request are requests too."""
    sentences: list[Sentence] = []
    announced = False
    for line in message.splitlines():
        bullet = _BULLET.match(line)
        for text, question, goes_on in _clauses(line[bullet.end() :] if bullet else line):
            words = plain_words(text)
            if words.isspace():
                continue
            asks = question or _requests(words)
            continues = bullet is not None or goes_on or words.startswith(_CONTINUES) or " or " in words
            asked = asks or (announced and continues)
            sentences.append(Sentence(text.strip(), words, asked, question, values_in(text)))
            if not continues:
                announced = asks
    return tuple(sentences)


def _clauses(line: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the sentences of a line, those that ask two things in two.

    With each: whether it is a question, and whether it asks whatever the clause before it asks ("and when").
    """
    for text in _END.split(line):
        question = text.rstrip(" *_\"'`)").endswith("?")
        *firsts, last = _AND.split(text)
        for first in firsts:
            asks = " or " in first or _ASKING_START.search(first) is not None
            yield first, question and asks, False
        yield last, question, bool(firsts) and _QUESTION_START.match(last) is not None


def mood_of(sentences: tuple[Sentence, ...]) -> Mood:
    """Return what the sentences of one message do together."""
    words = "".join(sentence.words for sentence in sentences)
    told = "".join(sentence.words for sentence in sentences if _reports(sentence))
    return Mood(
        refuses=any(_refuses(sentence) for sentence in sentences),
        reports=bool(told),
        reports_all=say.REPORTS_ALL.search(told) is not None,
        closes=any(sentence.closes for sentence in sentences),
        parts=say.GOODBYE.search(words) is not None,
        holds=say.HOLD.search(words) is not None,
    )


def _requests(words: str) -> bool:
    """Return whether a sentence without a question mark asks for something."""
    if say.CONDITION.search(words) or say.OFFER.search(words):
        return True
    return (
        not say.PROHIBITION.search(words) and say.REQUEST.search(say.NOT_A_REQUEST.sub("", words)) is not None
    )


def _refuses(sentence: Sentence) -> bool:
    return (
        not sentence.question
        and say.REFUSAL.search(sentence.words) is not None
        and not say.CONDITION.search(sentence.words)
    )


def _reports(sentence: Sentence) -> bool:
    return (
        not sentence.asks
        and say.REPORT.search(sentence.words) is not None
        and not say.REFUSAL.search(sentence.words)
        and not say.ONLY_CHECKED.search(sentence.words)
    )
