"""Which regular expressions `grep` runs: those that cannot run away.

Python's `re` backtracks and has no time limit, so a pattern such as `(a+)+$` would stop the process. Before a
pattern runs, its cost is estimated: in how many ways one place of a document can be tried, as the product of
what each part of the pattern can match. The factors are of the order found in prose; a pattern of `MAX_COST`
takes some seconds over the benchmark's documents at the very worst, and a thousandth of that as a rule.
A repeat within a repeat, with which the work grows exponentially, is refused at once.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

MAX_LENGTH = 200
"""Longest pattern in characters."""
MAX_COST = 3_000_000
"""Highest estimate of a pattern that is run."""

LINE, DOCUMENT = 100, 1_000
"""Lengths that a repeat can have which stays in a line, and one that can cross lines."""
FROM_ANYWHERE, AFTER_ANOTHER = 10, 100
"""Penalties of a long repeat that no certain character precedes: at the start, or after another one."""
_SHORT = {codes.CATEGORY_SPACE: 4, codes.CATEGORY_DIGIT: 8, codes.CATEGORY_WORD: 8}
"""Lengths of classes that do not run on for long in prose."""
_LETTER = 4
"""Length of a run of one character."""

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
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
    estimate = _Estimate()
    try:
        estimate.add(tree, bool(tree.state.flags & re.DOTALL))
    except _RunsAway:
        return "it repeats something that holds a repeat or alternatives"
    if estimate.cost > MAX_COST:
        return "it can match in too many ways: use fewer repeats such as .* with certain characters between"
    return None


class _RunsAway(Exception):
    """A repeat holds something that can match one text in several ways."""


class _Estimate:
    """The cost of a pattern, part by part."""

    def __init__(self) -> None:
        self.cost = 1
        self.penalty = FROM_ANYWHERE
        """What a long repeat would cost besides if it came next; 1 after a character that has to occur."""

    def add(self, nodes: Iterable[Any], dot_crosses: bool) -> None:
        for op, value in nodes:
            if op in _REPEATS:
                self._repeat(value[0], value[1], value[2], dot_crosses)
            elif op is codes.SUBPATTERN:
                self.add(value[3], dot_crosses or bool(value[1] & re.DOTALL))
            elif op is codes.BRANCH:
                self._either(value[1], dot_crosses)
            elif op is codes.GROUPREF_EXISTS:
                self._either([value[1], value[2] or []], dot_crosses)
            elif op in _LOOKS or op is codes.ATOMIC_GROUP:
                self.add(value[1] if op in _LOOKS else value, dot_crosses)
            elif op is codes.GROUPREF:
                self.cost *= LINE
            elif op is codes.LITERAL or (op is codes.IN and _is_narrow(value)):
                self.penalty = 1

    def _either(self, bodies: Iterable[Any], dot_crosses: bool) -> None:
        found = [copy.copy(self) for _ in bodies]
        for branch, body in zip(found, bodies, strict=True):
            branch.add(body, dot_crosses)
        self.cost = sum(branch.cost for branch in found)
        self.penalty = max(branch.penalty for branch in found)

    def _repeat(self, least: int, most: int, body: Any, dot_crosses: bool) -> None:
        if most <= 1 and not least:
            self._either([body, []], dot_crosses)
            return
        if most > 1 and _varies(body):
            raise _RunsAway
        length = _length(list(body), dot_crosses)
        if least == most or length < LINE:
            self.cost *= min(most - least + 1, length)
            if least:
                self.add(body, dot_crosses)
            return
        self.cost *= min(most - least + 1, length) * self.penalty
        self.penalty = AFTER_ANOTHER


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


def _length(body: list[Any], dot_crosses: bool) -> int:
    """Estimate how long a repeat of something can be, in prose."""
    if len(body) != 1:
        return DOCUMENT
    op, value = body[0]
    if op is codes.LITERAL:
        return _LETTER
    if op is codes.ANY:
        return DOCUMENT if dot_crosses else LINE
    if op is not codes.IN:
        return DOCUMENT
    if len(value) == 1 and value[0][0] is codes.CATEGORY:
        return _SHORT.get(value[0][1], DOCUMENT)
    for item, characters in value:
        if item in (codes.NEGATE, codes.CATEGORY):
            return DOCUMENT
        low, high = characters if item is codes.RANGE else (characters, characters)
        if low <= ord("\n") <= high:
            return DOCUMENT
    return LINE


def _is_narrow(items: list[Any]) -> bool:
    """Say whether a set of characters is a few, or digits: something that is not just anywhere."""
    return all(op is codes.LITERAL or value is codes.CATEGORY_DIGIT for op, value in items)
