"""What an agent's message means to one scripted customer: which of its facts and wants it touches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from simulators.readback import Known
from simulators.sentences import Mood, Sentence, mood_of, split_sentences
from simulators.topics import phrases_for
from simulators.vocabulary import ABOUT_NEW, CONSENT_WORDS, NOT_DOING, plain_words, word_set

_phrase = lru_cache(4096)(plain_words)  # scripts repeat the same phrases, and each episode builds a customer

# What service agents ask for: named in "I do not have the ..." when no fact is it.
_ITEM_NAMES = (
    "date of birth, full name, email address, phone number, address, postal code, maiden name, last"
    " four digits of my social security number, last four digits of my card, social security number,"
    " last four digits of my account, account number, card number, last four digits, username, security"
    " code, verification code, cvv, pin, password, passcode, customer id, order number, reference"
    " number, passport number, passport, drivers license, user name"
)
_ITEMS = tuple((item, plain_words(item)) for item in _ITEM_NAMES.split(", "))
_SMALL_WORDS = word_set(
    "about also been can could from have help into like need please some that then there this want what"
    " when will with would your"
)
_WHICH_ONE = (" which one ", " which of the ", " which of these ", " which of them ")
# What else asks for a fact that a phrase asks for, unless another fact has that as its own phrase.
_IMPLIED = {
    " when ": (" the date ", " what date ", " which date ", " the day ", " what day ", " which day "),
    " which card ": _WHICH_ONE,
    " what happened ": (
        *(" how did you lose ", " turn up ", " for good ", " been stolen "),
        *(" lost or ", " stolen or ", " or lost ", " or stolen "),
    ),
    " card-last-four ": (
        " last four ",
        " card digits ",
        " which card ",
        " which of your cards ",
        *_WHICH_ONE,
    ),
    " account-last-four ": (" last four ", " which account ", " which of your accounts "),
    " ssn-last-four ": (" last four ",),
    " ssn ": (" ssn-last-four ",),
    " phone ": (" phone-last-four ",),
    " card number ": (" card-last-four ",),
    " account number ": (" account-last-four ",),
}
# As phrases of a fact these ask for it only where they lead a question.
_WEAK = frozenset((" when ", " where ", " who ", " what ", " which ", " how ", " why reason "))
_CHECKS = re.compile(r"^ (?:so |and |then )*(?:you|it|this) .* (?:correct|right|true) $")
_WHOLE = re.compile(r" (?:or|correct|right|current|changed|moved) ")
# What of a sentence can be left out where it is named as an option.
_LEAD_IN = re.compile(
    r"^ (?:(?:i|im|am|it|its|is|was|my|the|an?|paid|says|going|with|to|for|at|in|on) )+| please $"
)
# "Your debit card or your Harbor Card?" asks which card.
_EITHER_CARD = re.compile(r" card (?:\w+ ){0,8}or (?:\w+ ){0,8}card ")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that wants a yes or a no."""

    wants: tuple[int, ...] = ()
    """Which wants (the later ones counted on) it is about."""
    declines: tuple[int, ...] = ()
    alternatives: bool = False
    """Whether it offers several things at once ("freeze or cancel")."""
    undone: tuple[int, ...] = ()
    """Wants that it would leave undone ("I will not freeze it, is that fine?")."""
    bare: bool = False
    """Whether neither it nor its message names anything ("Shall I proceed?")."""


@dataclass(slots=True)
class Heard:
    """The meaning of one message."""

    mood: Mood
    asked: dict[str, None] = field(default_factory=dict)
    """Facts to tell, in the order asked."""
    corrected: dict[str, None] = field(default_factory=dict)
    """Facts that were read back wrongly."""
    chosen: dict[str, None] = field(default_factory=dict)
    """Facts whose value was among the options of a choice."""
    confirmed: bool = False
    undecided: bool = False
    missing: dict[str, None] = field(default_factory=dict)
    """Things that were asked for and of which there is no fact."""
    ambiguous: dict[tuple[str, ...], None] = field(default_factory=dict)
    """Groups of facts any of which can be meant by one thing that was asked for."""
    proposals: list[Proposal] = field(default_factory=list)
    mentioned: tuple[int, ...] = ()
    """Wants that the message's reports of work are about."""
    allowed: frozenset[int] = frozenset()
    """Wants of which something is said that the customer has to hear before it agrees."""
    pushed: tuple[int, ...] = ()
    """Pushbacks that one of their phrases calls for."""
    open: bool = False
    vague: bool = False
    status: bool = False
    unknown: bool = False
    unclear: bool = False

    @property
    def informed(self) -> bool:
        """Whether it asks for something that has an answer other than yes or no."""
        told = self.asked or self.corrected or self.chosen or self.missing or self.ambiguous
        return bool(told) or self.confirmed or self.undecided


class Listener:
    """Understands messages by the phrase tables of one script.

    Args:
        script: The script.
        facts: The values of its facts now; by default the script's own.
    """

    def __init__(self, script: Any, facts: Mapping[str, str] | None = None) -> None:
        facts = {key: fact.value for key, fact in script.facts.items()} if facts is None else facts
        self._answers = {
            key: [_phrase(phrase) for phrase in script.facts[key].asked]
            for key, value in facts.items()
            if value.endswith((".", "!", "?"))
        }
        self._phrases = _phrase_table(tuple((key, fact.asked) for key, fact in script.facts.items()))
        self._known = Known(facts, self._phrases)
        self._short = {key: _LEAD_IN.sub(" ", words) for key, words in self._known.spoken.items()}
        self._order = {key: number for number, key in enumerate(script.facts)}
        self._names = {key: _phrase(key) for key in script.facts}
        opening = plain_words(script.opening)
        wants = (*script.wants, *script.later)
        self._wants = [
            _topic(want, opening if number < len(script.wants) else "") for number, want in enumerate(wants)
        ]
        self._declines = [_topic(want, "") for want in script.declines]
        self._consents = [[_phrase(phrase) for phrase in want.consent] for want in wants]
        self._pushbacks = [[_phrase(phrase) for phrase in pushback.when] for pushback in script.pushback]
        named = "".join(self._names.values())
        self._items = [(item, words) for item, words in _ITEMS if words not in opening or words in named]
        self._heard: dict[str, Heard] = {}

    def hear(self, message: str) -> Heard:
        """Return what the message means; the result is shared, so it must not be changed."""
        heard = self._heard.get(message)
        if heard is None:
            heard = self._heard[message] = self._understand(split_sentences(message))
        return heard

    def _understand(self, sentences: tuple[Sentence, ...]) -> Heard:
        heard = Heard(mood_of(sentences))
        words = "".join(sentence.words for sentence in sentences)
        for sentence in sentences:
            if sentence.asks and not sentence.closes:
                self._understand_request(heard, sentence, sentences)
        heard.mentioned = _about(self._wants, "".join(s.words for s in sentences if not s.asks))
        heard.allowed = frozenset(
            number
            for number, phrases in enumerate(self._consents)
            if not phrases or any(phrase in words for phrase in phrases)
        )
        heard.pushed = tuple(
            number
            for number, phrases in enumerate(self._pushbacks)
            if any(phrase in words for phrase in phrases)
        )
        for key in heard.corrected:
            heard.asked.pop(key, None)
        return heard

    def _understand_request(self, heard: Heard, sentence: Sentence, sentences: tuple[Sentence, ...]) -> None:
        words = f"{sentence.words.partition(' while i ')[0]} "
        facts, rest = self._facts_in(f"{words}which card " if _EITHER_CARD.search(words) else words)
        if sentence.proposes:
            self._understand_proposal(heard, sentence, sentences, facts)
        elif " or " in sentence.words and (chosen := self._options(sentence.words)):
            heard.chosen.update(chosen)
        elif facts:
            for key in facts:
                self._read_back(heard, key, sentence)
            self._note_missing(heard, "" if " or " in rest else rest)
        elif not self._note_missing(heard, rest):
            self._understand_rest(heard, sentence)

    def _understand_proposal(
        self, heard: Heard, sentence: Sentence, sentences: tuple[Sentence, ...], facts: dict[str, None]
    ) -> None:
        choice = _offers_options(sentence.words)
        if choice and (chosen := self._options(sentence.words)):
            heard.chosen.update(chosen)
            return
        if whole := self._asked_outright(sentence.words):
            heard.asked.update(whole)
            return
        wants, declines = _about(self._wants, sentence.words), _about(self._declines, sentence.words)
        told = sentence
        if not wants and not declines and not sentence.values and not facts:  # "Is that correct?"
            told = _joined(sentences)
            wants, declines = _about(self._wants, told.words), _about(self._declines, told.words)
            facts = self._facts_in(told.words)[0]
        meant = {key: self._renamed(key, told) for key in facts}
        if wrong := [new for key, new in meant.items() if self._known.differs(new, told, key)]:
            heard.corrected.update(dict.fromkeys(wrong))
        elif wants or declines:
            left = _about(self._wants, NOT_DOING.sub(" ", told.words))
            undone = tuple(number for number in wants if number not in left)
            heard.proposals.append(Proposal(wants, declines, choice, undone))
        elif self._known.states_any(told):
            heard.corrected.update(dict.fromkeys(self._known.unnamed_errors(told)))
            heard.confirmed = not heard.corrected
        elif choice:
            heard.undecided = True
        elif facts and told is sentence and _CHECKS.search(sentence.words):  # "You paid by card, correct?"
            heard.asked.update(dict.fromkeys(meant.values()))
        elif told is sentence and (said := self._own_answers(sentence.words)):
            heard.asked.update(said)
        else:
            heard.proposals.append(Proposal(bare=CONSENT_WORDS.issuperset(sentence.words.split())))

    def _understand_rest(self, heard: Heard, sentence: Sentence) -> None:
        if (
            sentence.question and not sentence.inquires and self._known.states_any(sentence)
        ):  # "Am I speaking with Jane Doe?"
            heard.confirmed = True
        elif sentence.open:
            heard.open = True
        elif sentence.about_status:
            heard.status = True
        elif " or " in sentence.words and sentence.question:
            heard.undecided = True
        elif any(
            word in sentence.words for word in (" identity ", " information ", " details ", " questions ")
        ):
            heard.vague = True
        elif sentence.about_customer:
            heard.unknown = True
        else:
            heard.unclear = True

    def _read_back(self, heard: Heard, key: str, sentence: Sentence) -> None:
        """Sort a fact that a request names into told, confirmed and corrected."""
        meant = self._renamed(key, sentence)
        if self._known.states(meant, sentence):
            heard.confirmed = True
        elif self._is_checked(meant, sentence) and self._known.differs(meant, sentence, key):
            heard.corrected[meant] = None
        else:
            heard.asked[key] = None

    def _is_checked(self, key: str, sentence: Sentence) -> bool:
        """Whether a request that names a fact may state it; a question has numbers for other reasons."""
        return sentence.reads_back or (sentence.question and self._known.values[key][0] != "number")

    def _renamed(self, key: str, sentence: Sentence) -> str:
        """Return the key of the new value where a sentence about a change names only the thing."""
        changes = any(word in sentence.words for word in (" change ", " update ", " set ", " changed "))
        return f"new_{key}" if changes and f"new_{key}" in self._known.values else key

    def _facts_in(self, words: str) -> tuple[dict[str, None], str]:
        """Return the facts that the words name, in their order, and the words that name none."""
        places: list[tuple[int, int, str]] = []
        rest = words
        for phrase, keys in self._phrases:
            if phrase in rest and (phrase not in _WEAK or _leads(words, phrase)):
                place = words.find(phrase)
                about_new = " new " in words[: place + 1] or ABOUT_NEW.search(words) is not None
                for key in keys:
                    new = f"new_{key}"
                    named = new if about_new and new in self._known.values else key
                    places.append((place, self._order[named], named))
                rest = rest.replace(phrase, " | ")
        return dict.fromkeys(key for *_, key in sorted(places)), rest

    def _asked_outright(self, words: str) -> dict[str, None]:
        """Return the facts that a phrase asks for which is a whole question ("is the address correct")."""
        found = [keys for phrase, keys in self._phrases if _WHOLE.search(phrase) and phrase in words]
        return dict.fromkeys(key for keys in found for key in keys)

    def _own_answers(self, words: str) -> dict[str, None]:
        """Return the facts, told in the customer's own words, of which a phrase of the script is there."""
        found = (key for key, phrases in self._answers.items() if any(phrase in words for phrase in phrases))
        return dict.fromkeys(found)

    def _options(self, words: str) -> dict[str, None]:
        return dict.fromkeys(key for key, value in self._short.items() if len(value) > 3 and value in words)

    def _note_missing(self, heard: Heard, rest: str) -> bool:
        found = False
        for item, words in self._items:
            if words not in rest:
                continue
            rest, found = rest.replace(words, " | "), True
            meant = tuple(key for key, name in self._names.items() if name.endswith(words))
            if len(meant) == 1:
                heard.asked[meant[0]] = None
            elif meant:
                heard.ambiguous[meant] = None
            else:
                heard.missing[item] = None
        return found


def _leads(words: str, question_word: str) -> bool:
    """Whether a question word begins the sentence, or what it asks to be told."""
    leads = ("tell me", "tell us", "know", "remember", "confirm", "specify", "exactly", "and")
    return words.startswith(question_word) or any(f" {lead}{question_word}" in words for lead in leads)


def _joined(sentences: tuple[Sentence, ...]) -> Sentence:
    """Return a whole message as one question."""
    words = "".join(sentence.words for sentence in sentences if not sentence.closes)
    text = " ".join(sentence.text for sentence in sentences)
    values = tuple(value for sentence in sentences for value in sentence.values)
    return Sentence(text, words, asks=True, question=True, values=values)


def _offers_options(words: str) -> bool:
    return " or " in words and " or not " not in words and " yes or no " not in words


@lru_cache(512)
def _phrase_table(facts: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each phrase with the keys of the facts that it asks for, long phrases first."""
    table: dict[str, list[str]] = {}
    for key, asked in facts:
        for phrase in dict.fromkeys(map(_phrase, (key, *asked))):
            table.setdefault(phrase, []).append(key)
    usual: dict[str, list[str]] = {}
    for key, _ in facts:
        for phrase in dict.fromkeys(map(_phrase, phrases_for(key))):
            usual.setdefault(phrase, []).append(key)
    table = {**usual, **table}
    for phrase, implied in _IMPLIED.items():
        if phrase in table:
            table = {**dict.fromkeys(implied, table[phrase]), **table}
    return tuple(
        (phrase, tuple(table[phrase]))
        for phrase in sorted(table, key=lambda p: (-len(p), p))
        if phrase.strip()
    )


def _topic(want: Any, opening: str) -> tuple[int, list[list[str]]]:
    """Return how many of which word groups make a text be about the want.

    Each of its `about` phrases alone does; a want without any is known by two telling words of what it says.
    """
    if want.about:
        return 1, [[f" {word}" for word in _phrase(phrase).split()] for phrase in want.about]
    words = dict.fromkeys((plain_words(want.say) if want.say else opening).split())
    return 2, [[f" {word}"] for word in words if len(word) > 3 and word not in _SMALL_WORDS]


def _about(topics: Sequence[tuple[int, Iterable[list[str]]]], words: str) -> tuple[int, ...]:
    return tuple(
        number
        for number, (needed, groups) in enumerate(topics)
        if sum(all(start in words for start in group) for group in groups) >= needed
    )
