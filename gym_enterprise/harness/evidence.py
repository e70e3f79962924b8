"""Look before act: what the agent had read when it first changed something, and what it never opened."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from gym_enterprise.changes import ChangeSet
from gym_enterprise.dialogue import Transcript
from gym_enterprise.harness.activity import called, error_code
from gym_enterprise.tasks import Task
from gym_enterprise.toolset import Toolset

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain

READ, SEARCH = "kb_read", "kb_search"


class TracedEpisode(Protocol):
    """What looking for evidence reads of a record, such as `Record`."""

    @property
    def task_id(self) -> str:
        """The task."""
        ...

    @property
    def transcript(self) -> Transcript:
        """Messages and calls of both seats in order."""
        ...


@dataclass(frozen=True)
class Look:
    """What the agent looked at in one episode."""

    acted: bool
    """Whether it changed anything."""
    reads_before: int
    """Different evidence reads that worked, up to the first change or, without one, to the end."""
    opened_before: tuple[str, ...]
    """Documents of the reference opened by then, in order of the task."""
    opened: tuple[str, ...]
    """Documents of the reference opened at any time."""
    never_opened: tuple[str, ...]
    """Documents of the reference that were never opened."""


@dataclass(frozen=True)
class LookBeforeAct:
    """`Look` over many episodes; see `look_before_act`."""

    episodes: int
    """Episodes looked at."""
    acted: int
    """Those in which the agent changed something."""
    blind: int
    """Those in which it did so without any evidence read before."""
    reads_before: float | None
    """Evidence reads before the first change: average over the episodes with a change."""
    documents_before: float | None
    """Share of the reference's documents opened before the first change: average over the same episodes,
    of those whose tasks name documents."""
    documents_opened: float | None
    """Share of the reference's documents opened at any time: average over episodes whose tasks name any."""
    never_opened: Mapping[str, int]
    """Documents of a reference, with the number of episodes that needed and never opened them; most first."""


def look(transcript: Transcript, task: Task, toolset: Toolset, *, quiet: Collection[str] = ()) -> Look:
    """Find what the agent read before it first changed something.

    A *change* is a call, of a tool that writes, that worked. An *evidence read* is a call, of a tool that
    does not write or is quiet, that worked; searching, unlocking and giving tools are none, and a read
    repeated with the same arguments counts once. A document is *opened* by `kb_read`; a search result is not.

    Args:
        transcript: What both seats did.
        task: The task, for the documents of its reference.
        toolset: The agent's tools.
        quiet: Names of tools that write only what is not graded, such as a log; see `quiet_tools`.
    """
    reads: set[tuple[str, str]] = set()
    opened: set[str] = set()
    before: tuple[int, frozenset[str]] | None = None
    for seat, message in transcript:
        if seat != "agent" or message.role != "tool" or error_code(message) is not None:
            continue
        name, arguments = called(message)
        tool = toolset.get(name)
        if tool is None or name == SEARCH:
            continue
        if tool.writes and name not in quiet:
            before = before or (len(reads), frozenset(opened))
            continue
        reads.add((name, repr(sorted(arguments.items()))))
        if name == READ:
            opened.add(str(arguments.get("document_id")))
    count, by_then = before or (len(reads), frozenset(opened))
    return Look(
        acted=before is not None,
        reads_before=count,
        opened_before=tuple(document for document in task.documents if document in by_then),
        opened=tuple(document for document in task.documents if document in opened),
        never_opened=tuple(document for document in task.documents if document not in opened),
    )


def look_before_act(
    records: Iterable[TracedEpisode],
    tasks: Mapping[str, Task],
    toolset: Toolset,
    *,
    quiet: Collection[str] = (),
) -> LookBeforeAct:
    """Summarise `look` over episodes.

    Args:
        records: The episodes.
        tasks: By id, at least their tasks.
        toolset: The agent's tools; without `kb_read` among them nothing is said of documents.
        quiet: Names of tools that write only what is not graded; see `quiet_tools`.
    """
    readable = toolset.get(READ) is not None
    looks: list[tuple[Look, Sequence[str]]] = []
    for record in records:
        task = tasks[record.task_id]
        found = look(record.transcript, task, toolset, quiet=quiet)
        looks.append((found, task.documents if readable else ()))
    acted = [(found, documents) for found, documents in looks if found.acted]
    missed = Counter(name for found, documents in looks if documents for name in found.never_opened)
    return LookBeforeAct(
        episodes=len(looks),
        acted=len(acted),
        blind=sum(not found.reads_before for found, _ in acted),
        reads_before=_average([found.reads_before for found, _ in acted]),
        documents_before=_average([len(found.opened_before) / len(all_) for found, all_ in acted if all_]),
        documents_opened=_average([len(found.opened) / len(all_) for found, all_ in looks if all_]),
        never_opened=dict(sorted(missed.items(), key=lambda item: (-item[1], item[0]))),
    )


def quiet_tools(domain: Domain, tasks: Iterable[Task]) -> frozenset[str]:
    """Name the tools that write, but nothing that is graded: a log, or that a customer was verified.

    They are found by playing the references: a tool that writes, is used in one, and changes the graded state
    in none. A tool that no reference uses is taken to change it. What was found for the last few domains and
    contents of tasks is kept.

    Args:
        domain: The domain.
        tasks: The tasks whose references are played.

    Returns:
        Names of the agent's tools.

    Raises:
        TaskError: A task does not fit the domain, or its reference does not work.
    """
    return _quiet_tools(domain, tuple(tasks))


@functools.lru_cache(maxsize=8)
def _quiet_tools(domain: Domain, tasks: tuple[Task, ...]) -> frozenset[str]:
    from gym_enterprise.episode import Episode

    toolset = domain.toolset("agent")
    used: set[str] = set()
    loud: set[str] = set()
    episode: Episode | None = None
    for task in tasks:
        if episode is None:
            episode = Episode(domain, task)
        else:
            episode.reset(task)
        before: ChangeSet = episode.world.changes()
        for action in task.reference:
            episode.dispatcher.call(action.seat, action.name, action.arguments)
            after = episode.world.changes()
            name = _inner(action.name, action.arguments)
            if action.seat == "agent" and (tool := toolset.get(name)) and tool.writes:
                used.add(name)
                loud.update([name] if after != before else [])
            before = after
    if episode is not None:
        episode.close()
    return frozenset(used - loud)


def _inner(name: str, arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("name")) if name == "use_tool" else name


def _average(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
