"""Which documents the agent came upon in an episode, and which of the reference's it never opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gym_enterprise.harness.activity import called, error_code
from gym_enterprise.harness.evidence import look
from gym_enterprise.harness.report.library import Library
from gym_enterprise.harness.report.source import Source
from gym_enterprise.harness.rollout import Record


@dataclass
class Reading:
    """A document that a result showed."""

    document_id: str
    title: str
    opened: bool
    """Whether its whole content was shown; a search may show a few lines only."""
    entry: int
    """Index in the transcript of the result that first showed it, or first showed it whole."""
    tool: str
    """The tool whose result that was."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {
            "id": self.document_id,
            "title": self.title,
            "opened": self.opened,
            "entry": self.entry,
            "tool": self.tool,
        }


def readings(record: Record, library: Library | None) -> list[Reading]:
    """List the documents that results showed the agent, in order.

    A result shows a document when it holds an object with its `document_id`, whole when there is `content`
    beside it. Where the domain is known, a text in a result that holds all of one of its documents shows that
    one whole: some tools answer in prose.

    Args:
        record: The episode.
        library: The domain's documents, when it could be loaded.
    """
    found: dict[str, Reading] = {}
    for index, (seat, message) in enumerate(record.transcript):
        if seat != "agent" or message.role != "tool" or error_code(message) is not None:
            continue
        tool = called(message)[0]
        for document_id, title, opened in _shown(message.result.get("result"), library):
            known = found.get(document_id)
            if known is None or (opened and not known.opened):
                found[document_id] = Reading(document_id, title, opened, index, tool)
    return list(found.values())


def references(record: Record, source: Source, read: list[Reading]) -> list[dict[str, Any]] | None:
    """Say of each document that the reference relies on whether the agent opened it, and when.

    Args:
        record: The episode.
        source: Where tasks and domain are.
        read: What `readings` found.

    Returns:
        By document `id`, `title` and `state`: before (the first change), opened, found, or never. None when
        the task is not known.
    """
    task = source.tasks.get(record.task_id)
    if task is None or source.domain is None:
        return None
    looked = look(record.transcript, task, source.domain.toolset("agent"), quiet=source.quiet or ())
    states = {one.document_id: "opened" if one.opened else "found" for one in read}
    states |= dict.fromkeys(looked.opened, "opened") | dict.fromkeys(looked.opened_before, "before")
    titles = source.library.titles if source.library else {}
    return [
        {"id": name, "title": titles.get(name, ""), "state": states.get(name, "never")}
        for name in task.documents
    ]


def _shown(result: Any, library: Library | None) -> Iterator[tuple[str, str, bool]]:
    """Yield id, title and whether it is whole, of each document in a result."""
    waiting = [result]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(name := value.get("document_id"), str):
                yield name, str(value.get("title", "")), isinstance(value.get("content"), str)
                continue
            waiting.extend(reversed(value.values()))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, str) and library is not None:
            yield from ((name, title, True) for name, title in library.inlined(value))
