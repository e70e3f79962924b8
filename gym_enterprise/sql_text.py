"""What SQL text says, without running it: its tokens, its bare words, and the functions it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[^\W\d]\w*|\S""", re.DOTALL
)
_BEFORE_A_TABLE = ("TABLE", "VIEW", "INTO", "REFERENCES", "EXISTS", "WITH", "RECURSIVE", ".")


class FunctionCall(NamedTuple):
    """A function that SQL text calls."""

    name: str
    """In lower case, without quotes."""
    arguments: list[list[str]]
    """The tokens of each argument."""

    def literals(self, position: int) -> list[str]:
        """Return the texts that stand in one argument, in lower case; none where it is absent."""
        tokens = self.arguments[position] if position < len(self.arguments) else []
        return [token[1:-1].lower() for token in tokens if token[0] == "'"]


def bare_words(sql: str) -> list[str]:
    """Return the bare words of SQL in upper case, without comments, strings and quoted names."""
    return [word.upper() for word in _TOKEN.findall(sql) if _is_word(word)]


def function_calls(sql: str) -> Iterator[FunctionCall]:
    """Yield the functions that SQL calls, outer ones before those in their arguments.

    Args:
        sql: The text of one statement.

    Returns:
        The calls; a keyword before a parenthesis comes along, a table's name before its columns does not.

    Example:
        >>> [call.name for call in function_calls("CREATE VIEW date (a) AS SELECT lower(hex(1))")]
        ['lower', 'hex']
    """
    tokens = [token for token in _TOKEN.findall(sql) if not token.startswith(("--", "/*"))]
    is_index = "INDEX" in bare_words(sql)[:3]  # CREATE [UNIQUE] INDEX ... ON table (...)
    before_a_table = (*_BEFORE_A_TABLE, "ON") if is_index else _BEFORE_A_TABLE
    for index in range(1, len(tokens)):
        name = tokens[index - 1]
        previous = tokens[index - 2].upper() if index > 1 else ""
        if tokens[index] == "(" and (_is_word(name) or name[0] in '"`[') and previous not in before_a_table:
            yield FunctionCall(name.strip('"`[]').lower(), _arguments(tokens, index + 1))


def _arguments(tokens: list[str], start: int) -> list[list[str]]:
    """Return the tokens up to the closing parenthesis, cut at the commas of their own depth."""
    arguments: list[list[str]] = [[]]
    depth = 0
    for token in tokens[start:]:
        depth += (token == "(") - (token == ")")
        if depth < 0:
            break
        if token == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments if arguments != [[]] else []


def _is_word(token: str) -> bool:
    return token[0].isalpha() or token[0] == "_"
