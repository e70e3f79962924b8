"""Everything about a task, for its author: `dossier` gathers it, as a JSON value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gym_enterprise.admission import check_task
from gym_enterprise.domain import Domain
from gym_enterprise.episode import Episode
from gym_enterprise.tasks import Task


def dossier(domain: Domain, task: Task) -> dict[str, Any]:
    """Gather everything about a task.

    Args:
        domain: The task's domain.
        task: The task.

    Returns:
        `task` (as in its file), `hash`, `reference` (each call with what it changes), `documents` (with the
        lines that state facts), and `checks` of admission.
    """
    return {
        "task": task.model_dump(mode="json", exclude_defaults=True),
        "hash": task.hash,
        "reference": list(_steps(domain, task)),
        "documents": [_document(domain, name) for name in task.documents],
        "checks": [check.to_dict() for check in check_task(domain, task)],
    }


def _steps(domain: Domain, task: Task) -> Iterator[dict[str, Any]]:
    episode = Episode(domain, task, max_steps=10_000, max_errors=10_000)
    try:
        before: list[dict[str, Any]] = []
        for index, action in enumerate(task.reference):
            outcome = episode.dispatcher.call(action.seat, action.name, action.arguments)
            after = episode.world.changes().to_list()
            yield {
                "index": index,
                "seat": action.seat,
                "name": action.name,
                "arguments": dict(action.arguments),
                "after": list(task.predecessors(index)),
                "ok": outcome.ok,
                "changes": [_since(before, row) for row in after if row not in before],
                "undone": [row for row in before if _place(row) not in map(_place, after)],
            }
            before = after
    finally:
        episode.close()


def _place(row: dict[str, Any]) -> tuple[str, str]:
    return row["table"], repr(row["key"])


def _since(before: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a row's net change what earlier calls had changed already."""
    earlier: dict[str, Any] = next((one["values"] for one in before if _place(one) == _place(row)), {})
    if row["op"] == "delete":
        return row
    values = {name: value for name, value in row["values"].items() if earlier.get(name) != value}
    had = {name: earlier.get(name, value) for name, value in row.get("before", {}).items() if name in values}
    return {**row, "values": values, **({"before": had} if had else {})}


def _document(domain: Domain, document_id: str) -> dict[str, Any]:
    """Tell a document's title, and each line of it that states facts, with the facts' keys."""
    document = next(one for one in domain.documents if one.id == document_id)
    facts: dict[int, list[str]] = {}
    for citation in domain.knowledge_base.citations if domain.knowledge_base else ():
        if citation.document == document_id:
            facts.setdefault(citation.line, []).append(citation.fact)
    lines = [document.title, *document.content.split("\n")]
    return {
        "id": document_id,
        "title": document.title,
        "cited": [
            {"line": number, "text": lines[number], "facts": list(dict.fromkeys(facts[number]))}
            for number in sorted(facts)
        ],
    }
