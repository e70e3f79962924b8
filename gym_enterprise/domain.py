"""`Domain`: everything a domain provides; its tasks by split."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gym_enterprise.errors import TaskError, UnknownTask, UsageError
from gym_enterprise.grading import Grader
from gym_enterprise.image import WorldImage
from gym_enterprise.knowledge import knowledge_tools
from gym_enterprise.messages import SEATS, Seat
from gym_enterprise.tasks import Action, Task, TaskSet, UserScenario, View, check_field, load_tasks
from gym_enterprise.tools import Tool
from gym_enterprise.toolset import Toolset
from gym_enterprise.world import World
from kb import RETRIEVALS, Document, KnowledgeBase, Retriever, RetrieverUnavailable, make_retriever

TaskSource = Path | str | Sequence[Path | str] | Mapping[str, Task] | Iterable[Task]
Procedures = Callable[[int, int, Sequence[str], str], list[Task]]
"""Seed, number, families (empty for all) and split → tasks."""
Attacks = Mapping[str, Sequence[Action] | None]
TruncationReward = Literal["state", "zero"]


class Domain:
    """One business: its database, tools, policy and tasks. Immutable; share it between episodes and threads.

    Args:
        name: Short lower-case name.
        image: The initial database.
        tools: All tools of both seats; `kb_search` and `kb_read` are added when there are documents.
        policy: The agent's system text; or a function that writes it for a task, where tasks differ in it.
        tasks: By split, one or several JSONL files, or tasks: read, references replayed, at first use.
        documents: Policy documents, or a knowledge base, which compiles them from facts.
        retriever: Ranks the documents: "bm25", "dense", "hybrid" (see `kb.retrievals`), or your own.
        first_speaker: The seat that opens.
        stop_tokens: Texts in a message that end the conversation and are never shown.
        max_steps: Budget of messages and calls of both seats.
        max_errors: Budget of failed calls of both seats.
        truncation_reward: After a budget ran out, grade the "state" or give "zero".
        attacks: For a task, named sequences of actions that must not score; None where one does not apply.
        undo: For a write that is about to run on a world, the call that takes it back, or None.
        search_tools: Whether `kb_search` and `kb_read` are added when there are documents.
        retrieval: How documents are found, for a run's manifest, where the domain brings other tools for it.
        procedures: Makes further tasks, for `make_tasks`.
        toolset_type: Makes the toolset of a seat from all tools.
        grader_type: Makes the grader from the domain.

    Raises:
        UsageError: A setting is not one of its values.
        ToolDefinitionError: Two tools of a seat share a name.

    Example:
        See `docs/write_a_domain.md` and `examples/custom_domain.py`.
    """

    def __init__(
        self,
        name: str,
        image: WorldImage,
        tools: Iterable[Tool],
        policy: str | Callable[[Task], str],
        tasks: Mapping[str, TaskSource],
        *,
        documents: Iterable[Document] | KnowledgeBase = (),
        retriever: Retriever | str = "bm25",
        first_speaker: Seat = "user",
        stop_tokens: Sequence[str] = ("###STOP###",),
        max_steps: int = 100,
        max_errors: int = 10,
        truncation_reward: TruncationReward = "state",
        attacks: Callable[[Task], Attacks] | None = None,
        undo: Callable[[World, Action], Action | None] | None = None,
        search_tools: bool = True,
        retrieval: str | None = None,
        procedures: Procedures | None = None,
        toolset_type: Callable[[Seat, Sequence[Tool]], Toolset] = Toolset,
        grader_type: Callable[[Domain], Grader] = Grader,
    ) -> None:
        tools = tuple(tools)
        _check_parts(name, image, tools, tasks)
        _check_keys(name, image, tools)
        _check_settings(name, first_speaker, stop_tokens, max_steps, max_errors, truncation_reward)
        self.name, self.image, self.policy = name, image, policy
        self.documents = tuple(documents)
        self.knowledge_base = documents if isinstance(documents, KnowledgeBase) else None
        self._retriever, self._search_tools, self._retrieval = retriever, search_tools, retrieval
        self.first_speaker: Seat = first_speaker
        self.stop_tokens = tuple(stop_tokens)
        self.max_steps, self.max_errors = max_steps, max_errors
        self.truncation_reward: TruncationReward = truncation_reward
        self._attacks, self._undo, self._procedures = attacks, undo, procedures
        everything = tools
        if self.documents and search_tools:
            everything += knowledge_tools(self.documents, lambda: self.retriever)
            if retriever != RETRIEVALS[0]:
                _ = self.retriever  # what is missing should be told here, not to a player at its first search
        self.toolsets: dict[Seat, Toolset] = {seat: toolset_type(seat, everything) for seat in SEATS}
        self.tasks = _Splits(self, tasks)
        self.grader = grader_type(self)
        self.rebuild: tuple[Any, ...] | None = None
        """Function and arguments by which another process gets this domain; set by `load_domain`."""

    @cached_property
    def retriever(self) -> Retriever:
        """What ranks the documents; the default is made at first use."""
        if not isinstance(self._retriever, str):
            if not callable(getattr(self._retriever, "search", None)):
                raise UsageError(
                    f"domain {self.name!r}: retriever is {self._retriever!r}; give one of "
                    f"{', '.join(RETRIEVALS)}, or an object with a method search(query, k)"
                )
            return self._retriever
        try:
            return make_retriever(self._retriever, self.documents)
        except (RetrieverUnavailable, ValueError) as error:
            raise UsageError(f"domain {self.name!r}: {error}") from error

    @property
    def retrieval(self) -> str | None:
        """Names what a search's results depend on beside the documents; None without search tools."""
        if self._retrieval is not None or not (self.documents and self._search_tools):
            return self._retrieval
        kind = type(self.retriever)
        return str(getattr(self.retriever, "name", f"{kind.__module__}.{kind.__qualname__}"))

    def toolset(self, seat: Seat) -> Toolset:
        """Return the tools of one seat."""
        return self.toolsets[seat]

    def task(self, task_id: str) -> Task:
        """Return a task by id, from whichever split has it, or raise `UnknownTask` saying what there is."""
        for tasks in self.tasks.values():
            if isinstance(task_id, str) and task_id in tasks:
                return tasks[task_id]
        splits = ", ".join(f"{split} ({len(tasks)} tasks)" for split, tasks in self.tasks.items())
        raise UnknownTask(
            f"domain {self.name!r} has no task {task_id!r}; its splits: {splits}; `gym-enterprise "
            f"tasks list` lists them; a file of tasks is named by a path that ends in .jsonl"
        )

    def view(self, task: Task, seat: Seat) -> View:
        """Return what a seat may know of a task."""
        tools = self.toolsets[seat].advertised(task)
        if seat == "agent":
            policy = self.policy if isinstance(self.policy, str) else self.policy(task)
            return View(seat, policy, tools, stop_tokens=self.stop_tokens)
        return View(seat, scenario_text(task.user), tools, task.user, self.stop_tokens)

    def admit(self, task: Task) -> Task:
        """Check a task against this domain and bind it: names exist, the reference works and has an effect.

        Args:
            task: A task of this domain.

        Returns:
            The same task.

        Raises:
            TaskError: Naming the task, the field and the rule.
        """
        if task._domain is not self:
            try:
                self._check_names(task)
                self.grader.targets(task)
            except TaskError as error:
                raise error.located(task._source) from error.__cause__
            task._domain = self
        return task

    def attacks(self, task: Task) -> Attacks:
        """Return this domain's own attacks on a task; None marks one that does not apply."""
        return self._attacks(task) if self._attacks else {}

    def undo(self, world: World, action: Action) -> Action | None:
        """Return the call that would take back a write that is about to run, or None."""
        return self._undo(world, action) if self._undo else None

    def make_tasks(self, seed: int, n: int, families: Sequence[str] = (), split: str = "train") -> list[Task]:
        """Make tasks by this domain's procedures; the same arguments give the same tasks.

        Args:
            seed: Of all that is drawn at random.
            n: How many.
            families: Of which families; empty stands for all.
            split: The split that they belong to.

        Returns:
            Tasks, checked against this domain.

        Raises:
            UsageError: The domain has no procedures, or they do not take these arguments.
        """
        if self._procedures is None:
            raise UsageError(
                f"domain {self.name!r} makes no tasks: give Domain(..., procedures=...) a function that does"
            )
        if split not in self.tasks:
            raise UsageError(
                f"domain {self.name!r} has no split {split!r}: use one of {', '.join(self.tasks)}"
            )
        if n < 1:
            raise UsageError(f"the number of tasks should be at least 1, got {n}")
        return [self.admit(task) for task in self._procedures(seed, n, families, split)]

    def _check_names(self, task: Task) -> None:
        if task.domain != self.name:
            raise TaskError(f"should be {self.name!r}, got {task.domain!r}", task_id=task.id, field="domain")
        for name in task.user.tools:
            if self.toolsets["user"].get(name) is None:
                known = ", ".join(tool.name for tool in self.toolsets["user"]) or "none"
                raise TaskError(
                    f"there is no user tool {name!r}; user tools: {known}",
                    task_id=task.id,
                    field="user.tools",
                )
        known_documents = self._document_ids
        for document in task.documents:
            if document not in known_documents:
                raise TaskError(f"there is no document {document!r}", task_id=task.id, field="documents")

    @cached_property
    def _document_ids(self) -> frozenset[str]:
        return frozenset(document.id for document in self.documents)

    def __repr__(self) -> str:
        return f"Domain({self.name!r})"

    def __copy__(self) -> Domain:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Domain:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.rebuild is None:
            raise TypeError(
                f"domain {self.name!r} was built by hand, so another process cannot rebuild it: register it "
                'with register_domain(name, "module:function") and get it from load_domain(name)'
            )
        return self.rebuild


class _Splits(Mapping[str, TaskSet]):
    """Tasks by split, read and admitted at first use."""

    def __init__(self, domain: Domain, sources: Mapping[str, TaskSource]) -> None:
        self._domain = domain
        self._sources = {split: _listed(source) for split, source in sources.items()}
        self._loaded: dict[str, TaskSet] = {}
        self._lock = threading.RLock()

    def __getitem__(self, split: str) -> TaskSet:
        if split not in self._sources:
            raise UnknownTask(
                f"domain {self._domain.name!r} has no split {split!r}; splits: {', '.join(self._sources)}"
            )
        with self._lock:
            if split not in self._loaded:
                found: list[Task] = []
                for source in self._sources[split]:
                    if isinstance(source, Task):
                        found.append(source)
                    else:
                        found += load_tasks(source, domain=self._domain.name, split=split)
                for task in found:
                    check_field(task, "split", split)
                    self._domain.admit(task)
                tasks = TaskSet(found, f"{self._domain.name}/{split}")
                self._refuse_doubles(split, tasks)
                self._loaded[split] = tasks
        return self._loaded[split]

    def _refuse_doubles(self, split: str, tasks: TaskSet) -> None:
        for other, loaded in self._loaded.items():
            for task_id in tasks:
                if task_id in loaded:
                    raise TaskError(
                        f"stands in the splits {other!r} and {split!r}; ids are unique in a domain",
                        task_id=task_id,
                        field="id",
                    )

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, split: object) -> bool:
        return split in self._sources


def _listed(source: TaskSource) -> list[Path | str | Task]:
    """Return the files and tasks that a split is made of."""
    if isinstance(source, Path | str):
        return [source]
    return list(source.values() if isinstance(source, Mapping) else source)


def _check_parts(
    name: str, image: WorldImage, tools: tuple[Tool, ...], tasks: Mapping[str, TaskSource]
) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"a domain's name should be lower-case letters, digits and underscores, got {name!r}"
        )
    if not isinstance(image, WorldImage):
        raise UsageError(f"domain {name!r}: image should be made by WorldImage.build(...), got {image!r:.80}")
    for item in tools:
        if not isinstance(item, Tool):
            raise UsageError(f"domain {name!r}: {item!r:.80} is no tool: put @tool() above the function")
    if not isinstance(tasks, Mapping):
        raise UsageError(f'domain {name!r}: tasks should be given by split, such as {{"train": [...]}}')


def _check_keys(name: str, image: WorldImage, tools: tuple[Tool, ...]) -> None:
    """Refuse an argument that is marked as the key of no row: admission would not find what it can name."""
    for item in tools:
        for argument, marked in item.keys.items():
            table, _, column = marked.partition(".")
            if table not in image.tables or column not in image.tables[table].columns:
                columns = ", ".join(image.tables[table].columns) if table in image.tables else ""
                there = (
                    f"the columns of {table!r}: {columns}"
                    if columns
                    else f"tables: {', '.join(image.tables)}"
                )
                raise UsageError(
                    f"domain {name!r}: tool {item.spec.name!r} marks {argument!r} with Key({marked!r}), "
                    f"which is no column; {there}"
                )


def _check_settings(
    name: str,
    first_speaker: str,
    stop_tokens: Sequence[str],
    max_steps: int,
    max_errors: int,
    truncation_reward: str,
) -> None:
    if first_speaker not in SEATS:
        raise UsageError(f"domain {name!r}: first_speaker should be one of {SEATS}, got {first_speaker!r}")
    if isinstance(stop_tokens, str) or not all(
        isinstance(token, str) and token.strip() for token in stop_tokens
    ):
        raise UsageError(
            f"domain {name!r}: stop_tokens should be a list of texts, none blank, got {stop_tokens!r}"
        )
    for setting, value in (("max_steps", max_steps), ("max_errors", max_errors)):
        if type(value) is not int or value < 1:
            raise UsageError(
                f"domain {name!r}: {setting} should be a whole number of at least 1, got {value!r}"
            )
    if truncation_reward not in ("state", "zero"):
        raise UsageError(
            f"domain {name!r}: truncation_reward should be 'state' or 'zero', got {truncation_reward!r}"
        )


def scenario_text(user: UserScenario) -> str:
    """Write a user's scenario as the first message of its history."""
    parts = ["You are the customer in this conversation.", user.persona, user.instructions]
    if user.script is not None:
        parts.append(f"You begin with: {user.script.opening}")
        facts = [f"- {name.replace('_', ' ')}: {fact.value}" for name, fact in user.script.facts.items()]
        parts.append("\n".join(["What you know:", *facts]) if facts else "")
        parts += [f"Later you also want: {want.say}" for want in user.script.later]
    return "\n\n".join(part for part in parts if part)
