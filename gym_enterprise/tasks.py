"""`Task`: one scenario with its initial state and reference actions; loading, checking, content hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, Field

from gym_enterprise import strict_json
from gym_enterprise.errors import TaskError, UnknownTask
from gym_enterprise.frozen import FrozenDict, freeze
from gym_enterprise.lossless import explain
from gym_enterprise.messages import Seat
from gym_enterprise.tools import ToolSpec

Row = Annotated[dict[str, Any], AfterValidator(freeze)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)]


def _timestamp(value: str) -> str:
    try:
        written = datetime.fromisoformat(value).isoformat(timespec="seconds")
    except ValueError:
        written = ""
    if written != value or len(value) != len("YYYY-MM-DDTHH:MM:SS"):
        raise ValueError("should be a time of the calendar written YYYY-MM-DDTHH:MM:SS")
    return value


def _as_tuple(value: Any) -> Any:
    """A list is a tuple here: what `_as_fact` lets through is no longer JSON to a strict validator."""
    return tuple(value) if isinstance(value, list) else value


class Model(pydantic.BaseModel):
    """Base of the parts of a task: frozen, and unknown keys are errors."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Fact(Model):
    """Something that the user knows and tells only when asked."""

    value: str
    """What it says."""
    asked: Annotated[tuple[str, ...], BeforeValidator(_as_tuple)] = ()
    """Phrases that ask for it, besides its own name."""


class Want(Model):
    """Something that the user wants, or declines."""

    say: str = ""
    """How it says so."""
    about: tuple[str, ...] = ()
    """Phrases by which a proposal about it is recognised."""
    consent: tuple[str, ...] = ()
    """Phrases one of which it must have heard before it agrees, such as the price; "$" is any amount."""
    unsure: str = ""
    """What it says to a proposal until then; by default that it wants to know exactly what it agrees to."""


class Pushback(Model):
    """A line with which the user insists, used once."""

    say: str
    """The line."""
    when: tuple[str, ...] = ()
    """Phrases that call it up; by default any refusal does."""


class Change(Model):
    """A change of mind, once the user has agreed to something or heard that it is done."""

    say: str
    """How it says so; the words name the new wish."""
    facts: Annotated[dict[str, str], AfterValidator(freeze)] = Field(default_factory=FrozenDict)
    """New values of facts, by name."""
    early: bool = False
    """Whether it says so with its yes, or in place of using a tool; by default a turn after it agreed."""


class Vague(Model):
    """How a user stays vague about what it wants."""

    say: str
    """What it says to open questions."""
    until: tuple[str, ...] = ()
    """Facts: asked for one of them, or offered something that it wants, it says plainly what it wants."""


def _as_fact(value: Any) -> Any:
    return {"value": value} if isinstance(value, str) else value


class Script(Model):
    """What a scripted user says; see `simulators.ScriptedUser`."""

    opening: str = Field(pattern=r"\S")
    """Its first message."""
    facts: Annotated[
        dict[str, Annotated[Fact, BeforeValidator(_as_fact, json_schema_input_type=str | Fact)]],
        AfterValidator(freeze),
    ] = Field(default_factory=FrozenDict)
    """Private facts by name; a bare string is the value."""
    wants: tuple[Want, ...] = ()
    """What the opening asks for: proposals about it are agreed to."""
    later: tuple[Want, ...] = ()
    """Wants raised one at a time, once the earlier ones are reported done."""
    pushback: tuple[Pushback, ...] = ()
    """How it insists when refused."""
    declines: tuple[Want, ...] = ()
    """Proposals that it says no to."""
    changes: tuple[Change, ...] = ()
    """Changes of mind, each once, in order, once it has agreed (see `Change.early`) or work is reported."""
    vague: Vague | None = None
    """How it stays vague until asked the right thing; by default it says what it wants when asked."""

    @pydantic.model_validator(mode="after")
    def _known_facts(self) -> Self:
        named = [name for change in self.changes for name in change.facts]
        for name in (*named, *(self.vague.until if self.vague else ())):
            if name not in self.facts:
                raise ValueError(f"should name in changes and vague only its own facts, and {name!r} is none")
        return self


class UserScenario(Model):
    """The user's side of a task: seen by the user's seat only."""

    persona: str = ""
    """Who the user is and how it talks."""
    instructions: str = ""
    """What an LLM in this seat is told."""
    script: Script | None = None
    """What a scripted user goes by."""
    tools: tuple[str, ...] = ()
    """The user tools that this task offers; discoverable ones only after the agent gave them."""


class RowUpdate(Model):
    """Values to set in one existing row of the image."""

    key: Row
    set: Row = Field(min_length=1)


class RowDelete(Model):
    """One existing row of the image to remove."""

    key: Row


class State(Model):
    """What the task changes in the domain's image before the episode starts."""

    insert: Annotated[dict[str, tuple[Row, ...]], AfterValidator(freeze)] = Field(default_factory=FrozenDict)
    update: Annotated[dict[str, tuple[RowUpdate, ...]], AfterValidator(freeze)] = Field(
        default_factory=FrozenDict
    )
    delete: Annotated[dict[str, tuple[RowDelete, ...]], AfterValidator(freeze)] = Field(
        default_factory=FrozenDict
    )


class Action(Model):
    """One reference call."""

    seat: Seat = "agent"
    """Who makes it."""
    name: str = Field(min_length=1)
    """The tool."""
    arguments: Row = Field(default_factory=FrozenDict)
    """Its arguments, with literal ids."""
    after: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Indices of the actions it must follow; absent: the one before."""


def _in_order(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    for index, action in enumerate(actions):
        if any(before >= index for before in action.after or ()):
            raise ValueError(f"should have in {index}.after only indices of earlier actions, below {index}")
    return actions


Actions = Annotated[tuple[Action, ...], Field(min_length=1), AfterValidator(_in_order)]


class Meta(Model):
    """What is declared about a task for checks and analysis."""

    knobs: Row = Field(default_factory=FrozenDict)
    """Declared properties, by which attacks decide whether they apply."""
    twin_of: str | None = None
    """Id of the task that this one resembles, with another right end."""


class Task(Model):
    """One task: `q = (user scenario, initial state, reference actions)`.

    Example:
        >>> task = Task(
        ...     id="pet-1", domain="pets", split="train", family="rename", now="2026-03-02T09:30:00",
        ...     reference=[{"name": "rename_pet", "arguments": {"pet_id": "p1", "name": "Rex"}}],
        ... )
        >>> task.predecessors(0)
        ()
    """

    id: Name
    """Unique within the domain."""
    domain: Name
    """The domain it belongs to."""
    split: Literal["train", "validation", "test"]
    """The split it belongs to."""
    family: Name
    """Tasks of one family share their shape."""
    capabilities: tuple[str, ...] = ()
    """What it takes to solve it."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Seed of ids made during the episode."""
    now: Annotated[str, AfterValidator(_timestamp)]
    """The episode's clock, YYYY-MM-DDTHH:MM:SS."""
    user: UserScenario = UserScenario()
    """The user's side."""
    state: State = State()
    """What differs from the domain's image at the start."""
    reference: Actions
    """Calls that lead to the target state."""
    alternatives: tuple[Actions, ...] = ()
    """Other complete sequences, whose end states are right as well."""
    documents: tuple[str, ...] = ()
    """Documents that the reference relies on."""
    max_steps: Annotated[int, Field(ge=1)] | None = None
    """Budget of steps, in place of the domain's."""
    meta: Meta = Meta()
    """Declared properties."""
    notes: str = ""
    """For reviewers; seen by no player."""

    _domain: Any = pydantic.PrivateAttr(default=None)
    _source: str | None = pydantic.PrivateAttr(default=None)

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) over the task's content."""
        return hashlib.sha256(strict_json.canonical(self.model_dump(mode="json")).encode()).hexdigest()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy the task; the copy has a hash of its own and belongs to no domain until one admits it."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("hash", None)
        copied._domain = None
        return copied

    def __getstate__(self) -> dict[Any, Any]:
        return super().__getstate__() | {"__pydantic_private__": {"_domain": None, "_source": self._source}}

    def __eq__(self, other: object) -> bool:
        return self.hash == other.hash if isinstance(other, Task) else NotImplemented

    def __hash__(self) -> int:
        return int(self.hash[:15], 16)

    def predecessors(self, index: int) -> tuple[int, ...]:
        """Return the indices of the reference actions that action `index` must follow directly."""
        after = self.reference[index].after
        if after is not None:
            return after
        return (index - 1,) if index else ()

    def view(self, seat: Seat) -> View:
        """Return what a seat may know of this task: nothing else of it is reachable by a player.

        Args:
            seat: "agent" (policy text and tools) or "user" (its scenario and tools).

        Raises:
            TaskError: The task does not belong to a loaded domain yet.
        """
        if self._domain is None:
            raise TaskError("belongs to no loaded domain: take it from Domain.tasks", task_id=self.id)
        view: View = self._domain.view(self, seat)
        return view


@dataclass(frozen=True)
class View:
    """What one seat may know of a task."""

    seat: Seat
    """Whose view it is."""
    prompt: str
    """The first message of its history: policy text (agent) or scenario as text (user)."""
    tools: tuple[ToolSpec, ...]
    """The tools it is told of."""
    scenario: UserScenario | None = None
    """The user's scenario; None for the agent."""
    stop_tokens: tuple[str, ...] = ()
    """Texts that end the conversation when the seat says them."""


class TaskSet(Mapping[str, Task]):
    """The tasks of one split, by id, in file order.

    Args:
        tasks: The tasks.
        name: What they are called in error messages.
    """

    def __init__(self, tasks: list[Task], name: str) -> None:
        self._name = name
        self._tasks: dict[str, Task] = {}
        for task in tasks:
            if task.id in self._tasks:
                source = task._source or name
                raise TaskError(
                    "the id is used twice; ids are unique", task_id=task.id, field="id", source=source
                )
            self._tasks[task.id] = task

    def __getitem__(self, task_id: str) -> Task:
        try:
            return self._tasks[task_id]
        except (KeyError, TypeError):
            raise UnknownTask(
                f"there is no task {task_id!r} in {self._name}; it has {len(self)}: {_some(self._tasks)}"
            ) from None

    def __contains__(self, task_id: object) -> bool:
        return isinstance(task_id, str) and task_id in self._tasks

    def __iter__(self) -> Iterator[str]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        return f"TaskSet({self._name!r}, {len(self)} tasks)"


def load_tasks(path: Path | str, *, domain: str, split: str | None = None) -> list[Task]:
    """Read tasks from a JSONL file.

    Args:
        path: The file: one JSON object a line, UTF-8; blank lines are skipped.
        domain: The domain that the tasks must name.
        split: The split that they must name; None takes any.

    Returns:
        The tasks in file order.

    Raises:
        TaskError: With file and line, task id, field and rule of the first fault.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TaskError("there is no such file", source=str(path)) from None
    except (UnicodeDecodeError, OSError) as error:
        raise TaskError(f"is not a readable text file in UTF-8 ({error})", source=str(path)) from None
    tasks = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            tasks.append(parse_task(line, source=f"{path}:{number}"))
            check_field(tasks[-1], "domain", domain, f"{path}:{number}")
            if split is not None:
                check_field(tasks[-1], "split", split, f"{path}:{number}")
    return tasks


def parse_task(text: str, *, source: str | None = None) -> Task:
    """Read one task from JSON text; raises `TaskError` naming source, task id, field and rule."""
    try:
        data = strict_json.parse(text)
    except ValueError as error:
        raise TaskError(f"is not one JSON object: {error}", source=source) from None
    task_id = data.get("id") if isinstance(data, dict) else None
    try:
        task = Task.model_validate_json(text, strict=True)
    except pydantic.ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"]) or None
        rule = explain(error, "a task", list(Task.model_fields), "the task")
        raise TaskError(rule, task_id=str(task_id or "?"), field=field, source=source) from None
    task._source = source
    return task


def check_field(task: Task, field: str, value: str, source: str | None = None) -> None:
    """Raise `TaskError` unless a field of a task has the value that it has to have where the task stands."""
    found = getattr(task, field)
    if found != value:
        raise TaskError(
            f"should be {value!r} here, got {found!r}", task_id=task.id, field=field, source=source
        )


def _some(names: Mapping[str, Any], limit: int = 8) -> str:
    shown = ", ".join(list(names)[:limit])
    return f"{shown}, …" if len(names) > limit else shown
