"""Which regular expressions `grep` runs: those that cannot run away.

Python's `re` backtracks and has no time limit, so a pattern such as `(a+)+$` would stop the process. Whether
a pattern may run is decided from its parts alone, so that equal calls have equal answers on any machine:

- a repeat within a repeat, or of alternatives, is refused: its work grows exponentially
- a repeat that can cross lines needs at least two certain characters right before it
- a repeat within a line needs them too, but for the first `MAX_BARE`
- a third of a word's parts may repeat without a certain character between, and a fourth may not
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Literal

MAX_LENGTH = 200
"""Longest pattern in characters."""
MAX_BARE = 2
"""How many repeats within a line may begin just anywhere."""
MAX_SHORT = 3
"""How many repeats of parts of words may follow each other."""
ANCHOR = 2
"""How many certain characters make a place rare enough to search on from."""
SMALL = 3
"""Bounds that are at most so far apart make a repeat short, whatever it repeats."""

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES = {
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_LOOKS = (codes.ASSERT, codes.ASSERT_NOT)
_UNREADABLE = (re.error, OverflowError, RecursionError, Warning)
"""What compiling raises; a warning only where warnings are errors."""


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern without regard to case; one that is no regular expression is taken literally."""
    try:
        return re.compile(pattern, re.IGNORECASE)
    except _UNREADABLE:
        return re.compile(re.escape(pattern), re.IGNORECASE)


def why_too_costly(pattern: str) -> str | None:
    """Say why a pattern could run away, or None when it cannot.

    Args:
        pattern: A regular expression; one that is none is searched literally, and cannot.

    Example:
        >>> why_too_costly("(a+)+$")
        'it repeats something that holds a repeat or alternatives'
    """
    if len(pattern) > MAX_LENGTH:
        return f"it is longer than {MAX_LENGTH} characters"
    try:
        tree = parser.parse(pattern, re.IGNORECASE)
    except _UNREADABLE:
        return None
    try:
        _Reader().read(tree, bool(tree.state.flags & re.DOTALL))
    except _TooCostlyError as reason:
        return str(reason)
    return None


class _TooCostlyError(Exception):
    """The pattern could take too long; the message says why."""


@dataclass
class _Reader:
    """Reads a pattern part by part."""

    certain: int = 0
    """Certain characters right before this place."""
    running: bool = False
    """Whether a long repeat went before, and nothing rare since."""
    loose: bool = False
    """Whether that one began just anywhere."""
    short: int = 0
    """Short repeats since the last certain character."""
    wordy: bool = False
    """Whether one of them repeats letters."""
    bare: int = 0
    """Repeats within a line that began anywhere."""

    def read(self, nodes: Iterable[Any], dot_crosses: bool) -> None:
        for op, value in nodes:
            if op in _REPEATS:
                self._repeat(value[0], value[1], value[2], dot_crosses)
            elif op is codes.SUBPATTERN:
                self.read(value[3], dot_crosses or bool(value[1] & re.DOTALL))
            elif op is codes.BRANCH:
                self._either(value[1], dot_crosses)
            elif op is codes.GROUPREF_EXISTS:
                self._either([value[1], value[2] or []], dot_crosses)
            elif op in _LOOKS:
                inside = replace(self)
                inside.read(value[1], dot_crosses)  # it is tried once at a place, so only its cost adds up
                self.bare, self.certain = inside.bare, 0
            elif op is codes.ATOMIC_GROUP:
                self.read(value, dot_crosses)
            elif op is codes.LITERAL:
                self.certain += 1
                self.short, self.wordy = 0, False
                self.running = self.running and self.certain < ANCHOR
                self.loose = self.loose and self.running
            elif op is codes.GROUPREF and self.running:
                raise _TooCostlyError(f"\\1 after a repeat needs {ANCHOR} certain characters before it")
            elif op is not codes.AT:
                self.certain = 0
                if op is codes.IN and _is_separator(value):
                    self.short, self.wordy = 0, False

    def _either(self, bodies: Iterable[Any], dot_crosses: bool) -> None:
        found = []
        for body in bodies:
            branch = replace(self)
            branch.read(body, dot_crosses)
            self.bare = branch.bare
            found.append(branch)
        self.certain = min(branch.certain for branch in found)
        self.running = any(branch.running for branch in found)
        self.loose = any(branch.loose for branch in found)
        self.short = max(branch.short for branch in found)
        self.wordy = any(branch.wordy for branch in found)

    def _repeat(self, least: int, most: int, body: Any, dot_crosses: bool) -> None:
        if least == most == 1 or (most <= 1 and not least):
            self._either([body] if least else [body, []], dot_crosses)
            self.short += 1 - least
            self._check_short()
            return
        if most > 1 and _varies(body):
            raise _TooCostlyError("it repeats something that holds a repeat or alternatives")
        if least == most:
            self.read(list(body) * min(most, ANCHOR), dot_crosses)
            return
        reach = _reach(list(body), dot_crosses)
        if reach == "word" or most - least <= SMALL:
            self.certain = 0
            parts = least and _is_blank(list(body))
            self.short = 0 if parts else self.short + 1
            self.wordy = not parts and (self.wordy or not _is_digits(list(body)))
            self._check_short()
            return
        if self.running or (self.certain < ANCHOR and (self.wordy or reach == "document")):
            raise _TooCostlyError(f"a repeat such as .* needs {ANCHOR} or more certain characters before it")
        self.bare += self.certain < ANCHOR
        if self.bare > MAX_BARE:
            raise _TooCostlyError("too many repeats such as .* begin just anywhere")
        self.running, self.loose = True, self.certain < ANCHOR
        self.certain, self.short, self.wordy = 0, 0, False

    def _check_short(self) -> None:
        if self.short > (1 if self.running else MAX_SHORT) or (self.loose and self.wordy):
            raise _TooCostlyError("too many repeats follow each other with no certain character between")


def _varies(nodes: Iterable[Any]) -> bool:
    """Say whether there is anything that can match in several ways."""
    for op, value in nodes:
        if op in (codes.BRANCH, codes.GROUPREF_EXISTS, codes.GROUPREF):
            return True
        if op in _REPEATS and (value[0] != value[1] or _varies(value[2])):
            return True
        if op is codes.SUBPATTERN and _varies(value[3]):
            return True
        if (op in _LOOKS and _varies(value[1])) or (op is codes.ATOMIC_GROUP and _varies(value)):
            return True
    return False


def _reach(body: list[Any], dot_crosses: bool) -> Literal["word", "line", "document"]:
    """Say how far a repeat of something can go in prose: within a word, a line, or the whole document."""
    if len(body) != 1:
        fixed = all(op is codes.LITERAL or (op is codes.IN and _is_separator(value)) for op, value in body)
        return "word" if fixed else "document"
    op, value = body[0]
    if op is codes.LITERAL:
        return "word"
    if op is codes.ANY:
        return "document" if dot_crosses else "line"
    if op is codes.SUBPATTERN:
        return _reach(list(value[3]), dot_crosses or bool(value[1] & re.DOTALL))
    if op is not codes.IN:
        return "document"
    found = _matched(value)
    if "a" not in found:
        return "word"
    return "document" if "\n" in found else "line" if " " in found else "word"


def _matched(items: list[Any]) -> str:
    """Return which characters of prose a set matches: a letter, a digit, a blank, a line feed, a point."""
    found = ""
    for character in "a7 \n.":
        hit = False
        for op, value in items:
            if op is codes.LITERAL:
                hit |= chr(value) == character or (character == "a" and chr(value).isalpha())
            elif op is codes.RANGE:
                hit |= value[0] <= ord(character) <= value[1] or (
                    character == "a" and chr(value[0]).isalpha()
                )
            elif op is codes.CATEGORY:
                hit |= bool(re.match(_CATEGORIES.get(value, "."), character))
        if items[0][0] is codes.NEGATE:
            hit = not hit or (character == "a" and not any(op is codes.CATEGORY for op, _ in items[1:]))
        found += character if hit else ""
    return found


def _is_blank(body: list[Any]) -> bool:
    """Say whether something is white space, which parts words."""
    return body == [(codes.IN, [(codes.CATEGORY, codes.CATEGORY_SPACE)])]


def _is_digits(body: list[Any]) -> bool:
    """Say whether something is digits or blanks, which do not run on in prose."""
    return len(body) == 1 and body[0][0] is codes.IN and "a" not in _matched(body[0][1])


def _is_separator(items: list[Any]) -> bool:
    """Say whether a set of characters is a few, digits or blanks: something that is not just anywhere."""
    narrow = (codes.CATEGORY_DIGIT, codes.CATEGORY_SPACE)
    return all(op is codes.LITERAL or value in narrow for op, value in items)
