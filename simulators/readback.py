"""What an agent reads back to the customer, held against the facts: stated, or given another value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from simulators.sentences import Sentence
from simulators.values import Value, value_beside, value_of
from simulators.vocabulary import plain_words

_ANSWERS_AHEAD = (" is ", " as ", " to ")
_NAME = re.compile(r"[A-Z][\w'-]+ [A-Z][\w'-]+")
_NAMED = re.compile(r"(?:\b(?:is|as|to|with|for|name)|:)\s+([A-Z][\w'-]+ [A-Z][\w'-]+)")
_CALLED = re.compile(
    r"(?:\bdown as|\b(?:speaking|talking) (?:to|with)|\b[Yy]ou(?: are|'re)|\b[Nn]ame(?: is|:))"
    r" [A-Z][\w'-]+ [A-Z]"
    r"|\b[A-Z][\w'-]+ [A-Z][\w'-]+,? (?:born\b|\d{4}-\d\d)"
)
_value_of = lru_cache(4096)(value_of)  # each episode builds a customer, and the facts of a task stay the same
_words = lru_cache(4096)(plain_words)


class Known:
    """The facts of one customer, as a reading back is checked by them.

    Args:
        facts: Value by name.
        phrases: What names them, each phrase with the names of its facts.
    """

    def __init__(self, facts: Mapping[str, str], phrases: Sequence[tuple[str, tuple[str, ...]]]) -> None:
        self.values = {key: _value_of(value) for key, value in facts.items()}
        self.spoken = {key: _words(value) for key, value in facts.items()}
        self._texts = dict(facts)
        self._phrases = phrases

    def states(self, key: str, sentence: Sentence) -> bool:
        """Whether a sentence has the value of a fact."""
        kind, _ = value = self.values[key]
        return self.spoken[key] in sentence.words if kind == "text" else value in sentence.values

    def states_any(self, sentence: Sentence) -> bool:
        """Whether a sentence has the value of some fact."""
        return any(self.states(key, sentence) for key in self.values)

    def differs(self, key: str, sentence: Sentence, named: str) -> bool:
        """Whether the sentence gives the fact (calling it by the name of `named`) another value."""
        kind, _ = value = self.values[key]
        if kind == "text":
            return not (sentence.inquires or self.states(key, sentence)) and self._misnamed(
                key, sentence, named
            )
        phrases = [phrase for phrase, keys in self._phrases if key in keys or named in keys]
        given = value_beside(sentence.text, phrases, kind)
        if given is not None:
            return given != value
        if self.states(key, sentence):
            return False
        return any(self._could_be(other, value) for other in sentence.values)

    def _misnamed(self, key: str, sentence: Sentence, named: str) -> bool:
        """Whether a sentence that does not have a fact of words gives it other words."""
        if _NAME.fullmatch(self._texts[key]):
            return any(name.lower() != self._texts[key].lower() for name in _NAMED.findall(sentence.text))
        return not self.states_any(sentence) and any(
            f"{phrase[:-1]}{link}" in sentence.words
            for phrase, keys in self._phrases
            if (key in keys or named in keys) and not phrase.endswith(" or ")
            for link in _ANSWERS_AHEAD
        )

    def _could_be(self, given: Value, value: Value) -> bool:
        """Whether a value that was read back is meant for a fact, and is no value of any fact."""
        alike = given[0] == value[0] and (given[0] != "number" or len(given[1]) == len(value[1]))
        return alike and given not in self.values.values()

    def unnamed_errors(self, sentence: Sentence) -> list[str]:
        """Return the facts of which a reading back has another value without naming them."""
        missing = [key for key in self.values if not self.states(key, sentence)]
        strange = [
            key
            for key in missing
            if self.values[key][0] != "text"
            and any(self._could_be(given, self.values[key]) for given in sentence.values)
        ]
        called = _CALLED.search(sentence.text)
        names = [key for key in missing if called and _NAME.fullmatch(self._texts[key])]
        return [*strange[:1], *names[:1]]
