"""The benchmark's data on disk: found, read and checked; none of it is part of this package."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_enterprise.domains.tau3_banking.records import TABLES, Record
from gym_enterprise.errors import DataNotFound, UsageError
from kb import Document

VARIABLE = "TAU3_BANKING_DATA"
_INSIDE_A_CHECKOUT = "data/tau2/domains/banking_knowledge"
_HOW_TO_GET_IT = (
    "the benchmark's data does not come with this package: "
    "clone https://github.com/sierra-research/tau2-bench "
    f"and pass data_dir=, or set {VARIABLE}, to the clone or to its folder {_INSIDE_A_CHECKOUT}"
)


@dataclass(frozen=True)
class Database:
    """The content of `db.json`: for each of the 23 tables its records by id, and its notes."""

    tables: dict[str, dict[str, Record]]
    notes: dict[str, str]


def find_folder(data_dir: str | Path | None = None) -> Path:
    """Find the folder with `db.json`, `tasks/`, `documents/` and `prompts/`.

    Args:
        data_dir: That folder, or a checkout of tau2-bench; by default what TAU3_BANKING_DATA names.

    Returns:
        The folder.

    Raises:
        DataNotFound: There is none; the message says how to get it.
    """
    given = data_dir if data_dir is not None else os.environ.get(VARIABLE)
    if given is not None and not isinstance(given, str | Path):
        raise UsageError(f"data_dir should be a path, got {given!r:.80}")
    if not given:
        raise DataNotFound(f"tau3_banking needs its data: {_HOW_TO_GET_IT}")
    root = Path(given).expanduser()
    inside = Path(_INSIDE_A_CHECKOUT)
    for candidate in (root, *(root.joinpath(*inside.parts[n:]) for n in range(len(inside.parts)))):
        if (candidate / "db.json").is_file() and (candidate / "tasks").is_dir():
            return candidate
    raise DataNotFound(f"{str(root)!r} has no db.json beside a folder tasks; {_HOW_TO_GET_IT}")


def read_database(folder: Path) -> Database:
    """Read `db.json`.

    Args:
        folder: From `find_folder`.

    Returns:
        All 23 tables; those that the file lacks are empty.

    Raises:
        UsageError: The file is not JSON, or names a table that there is not.
    """
    content = read_json(folder / "db.json")
    unknown = [table for table in content if table not in TABLES]
    if unknown:
        raise UsageError(f"{folder / 'db.json'} has the unknown table {unknown[0]!r}; this is release 1.0.1")
    tables = {table: dict(content.get(table, {}).get("data", {})) for table in TABLES}
    notes = {table: str(content.get(table, {}).get("notes", "")) for table in TABLES}
    return Database(tables, notes)


def read_documents(folder: Path) -> tuple[Document, ...]:
    """Read the knowledge base: one JSON file a document, with id, title and content; sorted by id."""
    documents = []
    for path in sorted((folder / "documents").glob("*.json")):
        item = read_json(path)
        try:
            documents.append(Document(item["id"], item["title"], item["content"]))
        except (KeyError, TypeError) as error:
            raise UsageError(f"{path} is not a document: it has no {error}") from None
    return tuple(sorted(documents, key=lambda document: document.id))


def read_prompt(folder: Path, name: str) -> str:
    """Read a template of the agent's policy, with its components filled in.

    Args:
        folder: From `find_folder`.
        name: The template's file name without ending, such as "no_knowledge".

    Returns:
        The text; other placeholders, such as that for documents, are still in it.
    """
    prompts = folder / "prompts"
    text = _read_text(prompts / f"{name}.md")
    for path in sorted((prompts / "components").glob("*.md")):
        text = text.replace(f"{{{{component:{path.stem}}}}}", _read_text(path).strip())
    return text.strip()


def read_json(path: Path) -> Any:
    """Read a JSON file; raises `UsageError` naming the file."""
    try:
        return json.loads(_read_text(path))
    except ValueError as error:
        raise UsageError(f"{path} is not JSON: {error}") from None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}); {_HOW_TO_GET_IT}") from None
