r"""The page: template, style, program and data in one file.

Data stands in `<script type="application/json">` elements, which a browser does not run. Their JSON is ASCII
with `<` written `\u003c`, so that no text of an episode can end the element, or break a line in it.
"""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64encode
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from gym_enterprise.harness.disk import replacing

PROGRAM = (
    "dom.js",
    "text.js",
    "charts.js",
    "overview.js",
    "tasks.js",
    "difference.js",
    "conversation.js",
    "episode.js",
    "report.js",
)
"""Parts of the page's program, in order."""
STYLE = ("report.css", "episode.css")


def write_page(path: Path, overview: dict[str, Any], episodes: Iterable[Any], texts: Iterable[str]) -> None:
    """Write the page so that a reader, or a crash, sees the old file or the new one and nothing between.

    Args:
        path: The file.
        overview: What the page shows at once.
        episodes: What it shows of each episode, by number.
        texts: Texts that these share, by number; iterated after the episodes.
    """
    own = path.with_name(f"{path.name}.{os.getpid()}.part")
    with replacing(path, own) as part, part.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(page(overview, episodes, texts))


def page(overview: dict[str, Any], episodes: Iterable[Any], texts: Iterable[str]) -> Iterator[str]:
    """Yield the text of the page, in ASCII, in parts."""
    style, program = _joined(STYLE), _joined(PROGRAM)
    yield Template(_read("page.html")).substitute(
        title=_ascii(escape(f"{overview['run']['name']} - gym-enterprise")),
        headline=_ascii(escape(overview["summary"]["headline"])),
        policy=_policy(style, program),
        style=style,
        program=program,
        overview=embedded(overview),
    )
    for number, episode in enumerate(episodes):
        yield _data(f"episode-{number}", episode)
    yield _data("texts", list(texts))
    yield "</body>\n</html>\n"


def embedded(value: Any) -> str:
    r"""Write a value as JSON that is safe inside of a script element.

    Example:
        >>> embedded("</script>")
        '"\\u003c/script>"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _data(name: str, value: Any) -> str:
    return f'<script type="application/json" id="{name}">{embedded(value)}</script>\n'


def _policy(style: str, program: str) -> str:
    """Allow this style and this program by their hashes, and nothing else: no network, no other script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(program)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _joined(names: Iterable[str]) -> str:
    return "\n" + "\n".join(_read(name) for name in names)


def _read(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _ascii(text: str) -> str:
    """Write what is not ASCII as character references."""
    return text.encode("ascii", "xmlcharrefreplace").decode()
