"""Google docstrings, read by indentation."""

from __future__ import annotations

import inspect

_SECTIONS = ("Args:", "Returns:", "Raises:", "Example:", "Examples:", "Yields:", "Note:")


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    r"""Split a docstring into its description and its arguments.

    Args:
        text: A Google docstring.

    Returns:
        The text before the first section, and {argument: description}.

    Example:
        >>> read_docstring("Freeze a card.\n\nArgs:\n    card_id: The card,\n        as listed.")
        ('Freeze a card.', {'card_id': 'The card, as listed.'})
    """
    description: list[str] = []
    arguments: dict[str, str] = {}
    section = current = ""
    for line in inspect.cleandoc(text).split("\n"):
        if line.rstrip() in _SECTIONS:
            section, current = line.rstrip(), ""
        elif not section:
            description.append(line)
        elif section == "Args:" and line.strip():
            indent = len(line) - len(line.lstrip())
            name, colon, rest = line.strip().partition(":")
            if indent == 4 and colon and name.isidentifier():
                current = name
                arguments[name] = rest.strip()
            elif current:
                arguments[current] = f"{arguments[current]} {line.strip()}".strip()
    paragraphs = "\n".join(description).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs), arguments
