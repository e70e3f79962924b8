"""Documents, and how they are read from Markdown files."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path
from types import MappingProxyType
from typing import Any

FENCE = "+++"
ID_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]*")
_SCALARS = (str, bool, int, float, datetime, date, time)


class DocumentError(ValueError):
    """A document, or a file meant to be one, breaks a rule; the author of the knowledge base is at fault."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a knowledge base; immutable in all its parts, hashable, picklable.

    Example:
        >>> Document("fees", "Card fees", "A new card is free.", {"audience": "staff"}).meta["audience"]
        'staff'
    """

    id: str
    """Unique in its knowledge base."""
    title: str
    """One line that names it."""
    content: str
    """The text; its lines, numbered from 1, are what citations point at."""
    meta: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further facts about it: text, numbers, flags, dates, or lists of these (kept as tuples). Read-only."""

    def __post_init__(self) -> None:
        for name in ("id", "title", "content"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise DocumentError(
                    f"document {self.id!r}: {name} is {value!r}; it must be text, so pass a str"
                )
        if not self.id.strip():
            raise DocumentError(
                f"document titled {self.title!r}: id is {self.id!r}; give it an id that is not blank"
            )
        frozen = {key: _frozen_value(self.id, key, value) for key, value in self.meta.items()}
        object.__setattr__(self, "meta", MappingProxyType(frozen))

    def __reduce__(self) -> tuple[Any, ...]:
        return Document, (
            self.id,
            self.title,
            self.content,
            dict(self.meta),
        )  # a mapping proxy cannot be pickled


def _frozen_value(document_id: str, key: str, value: object) -> object:
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, _SCALARS) for item in value):
        return tuple(value)
    raise DocumentError(
        f"document {document_id!r}: meta key {key!r} is {value!r}; "
        "use text, a number, a flag, a date, or a flat list of these"
    )


def load_documents(folder: str | Path) -> tuple[Document, ...]:
    """Read every Markdown file (``*.md``) of a folder and its subfolders.

    A file begins with TOML between two ``+++`` lines; ``id`` and ``title`` are required, other keys become
    ``meta``. The rest is the content, without blank lines before and after it; line 1 of the content is its
    first line that is not blank.

    Args:
        folder: Where the files are.

    Returns:
        The documents, sorted by id.

    Raises:
        DocumentError: The folder is missing, a file breaks a rule, or two files share an id; the message
            names the file.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DocumentError(f"{folder}: no such folder; give the folder that holds the Markdown files")
    found: dict[str, tuple[Path, Document]] = {}
    for path in sorted(folder.rglob("*.md")):
        document = _read(path)
        if document.id in found:
            raise DocumentError(
                f"{path}: id {document.id!r} is taken by {found[document.id][0]}; ids are unique, rename one"
            )
        found[document.id] = (path, document)
    return tuple(found[document_id][1] for document_id in sorted(found))


def _read(path: Path) -> Document:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    front, body = _split(path, text)
    try:
        keys = tomllib.loads("\n" + front)  # a line for the fence: TOML counts as the file does
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"{path}: the front matter is not TOML: {error}; correct that line") from error
    document_id = _required(path, keys, "id")
    if not ID_PATTERN.fullmatch(document_id):
        raise DocumentError(
            f"{path}: id is {document_id!r}; "
            "an id is lower-case letters, digits and hyphens and begins with a letter or digit"
        )
    title = _required(path, keys, "title")
    if [title.strip()] != title.splitlines():
        raise DocumentError(f"{path}: title is {title!r}; a title is one line without blanks around it")
    try:
        return Document(document_id, title, body, keys)
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error


def _split(path: Path, text: str) -> tuple[str, str]:
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    if not fences or fences[0] != 0:
        raise DocumentError(
            f"{path}: line 1 is {lines[0]!r}; "
            f"a document begins with TOML between two {FENCE} lines, so put {FENCE} on line 1"
        )
    if len(fences) < 2:
        raise DocumentError(f"{path}: the front matter never ends; put {FENCE} on a line of its own after it")
    body = lines[fences[1] + 1 :]
    while body and not body[0].strip():
        body.pop(0)
    content = "\n".join(body).rstrip()
    if not content:
        raise DocumentError(f"{path}: the body is empty; write the document's text after the second {FENCE}")
    return "\n".join(lines[1 : fences[1]]), content


def _required(path: Path, keys: dict[str, Any], name: str) -> str:
    """Take a required key out of the front matter."""
    if name not in keys:
        raise DocumentError(f'{path}: key {name!r} is missing; add {name} = "..." between the {FENCE} lines')
    value = keys.pop(name)
    if not isinstance(value, str) or not value.strip():
        raise DocumentError(f"{path}: key {name!r} is {value!r}; it must be text that is not blank")
    return value
