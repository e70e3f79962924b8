"""The benchmark's tasks as ours: scenario, initial state, reference; the evaluator's side stays hidden.

What a task adds to the database is merged into it field by field: an object into an object, anything else
over what was there. Which reads a task records as calls follows from its reference: those that the
reference makes through `call_discoverable_agent_tool`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_enterprise.domains.tau3_banking.data import Database, read_json
from gym_enterprise.domains.tau3_banking.records import TABLES, Record
from gym_enterprise.domains.tau3_banking.tools.catalogue import USERS
from gym_enterprise.errors import TaskError
from gym_enterprise.messages import Seat
from gym_enterprise.tasks import Action, Meta, RowUpdate, State, Task, UserScenario

NOW = "2025-11-14T03:40:00"
"""The clock of every task."""

_SEATS: dict[str, Seat] = {"assistant": "agent", "user": "user"}


def read_tasks(folder: Path, database: Database) -> list[Task]:
    """Read all tasks of a data folder.

    Args:
        folder: With `tasks/task_*.json`.
        database: What their initial states start from.

    Returns:
        The tasks in order of their ids.

    Raises:
        TaskError: A file lacks something, or changes a table that there is not; the message names it.
    """
    tasks = []
    for path in sorted((folder / "tasks").glob("task_*.json")):
        try:
            tasks.append(_task(read_json(path), database))
        except (KeyError, TypeError, AttributeError) as error:
            raise TaskError(f"is not a task of the benchmark: {error!r}", source=str(path)) from error
        except TaskError as error:
            raise TaskError(error.rule, task_id=error.task_id, field=error.field, source=str(path)) from error
    if not tasks:
        raise TaskError("has no task_*.json", source=str(folder / "tasks"))
    return tasks


def _task(raw: Mapping[str, Any], database: Database) -> Task:
    criteria = raw["evaluation_criteria"]
    parts = _parts(raw["id"], criteria)
    initial = (raw.get("initial_state") or {}).get("initialization_data") or {}
    description = raw.get("description") or {}
    reference = tuple(
        Action(seat=_SEATS[action["requestor"]], name=action["name"], arguments=action["arguments"])
        for action in criteria["actions"]
    )
    return Task(
        id=raw["id"],
        domain="tau3_banking",
        split="test",
        family="banking_knowledge",
        now=NOW,
        user=UserScenario(
            persona=raw["user_scenario"].get("persona") or "",
            instructions=raw["user_scenario"]["instructions"],
            tools=_user_tools(raw.get("user_tools") or [], reference),
        ),
        state=_state(initial.get("agent_data") or {}, reference, database),
        reference=reference,
        documents=tuple(raw.get("required_documents") or ()),
        meta=Meta(
            knobs={
                "reward_basis": parts,
                "compare_args": [action.get("compare_args") for action in criteria["actions"]],
                "assertions": criteria.get("nl_assertions") or [],
                "offered_user_tools": raw.get("user_tools") or [],
                "ignored_data": sorted(set(initial) - {"agent_data", "user_data"}),
                "graded_state": "DB" in parts,
                "needs_judge": "NL_ASSERTION" in parts,
                "siblings": 0,
            }
        ),
        notes=description.get("notes") or "",
    )


def _parts(task_id: str, criteria: Mapping[str, Any]) -> list[str]:
    """Return the parts of the reward, or raise when one of them cannot be graded here."""
    parts = list(criteria.get("reward_basis") or ["DB", "COMMUNICATE"])
    unknown = set(parts) - {"DB", "ACTION", "NL_ASSERTION", "COMMUNICATE"}
    if "COMMUNICATE" in parts and criteria.get("communicate_info"):
        unknown.add("COMMUNICATE")
    if unknown:
        raise TaskError(
            f"has the part {min(unknown)!r}, which is not graded here: no task of release 1.0.1 uses it",
            task_id=task_id,
            field="evaluation_criteria.reward_basis",
        )
    return parts


def _user_tools(offered: list[str], reference: tuple[Action, ...]) -> tuple[str, ...]:
    """Return the tools the user has: those offered, those the reference needs, and what can be given."""
    needed = (action.name for action in reference if action.seat == "user")
    names = dict.fromkeys([*offered, *needed])
    if "call_discoverable_user_tool" in names:
        names |= dict.fromkeys(USERS)
    return tuple(names)


def _state(data: Mapping[str, Any], reference: tuple[Action, ...], database: Database) -> State:
    insert: dict[str, tuple[Record, ...]] = {
        "recorded_reads": tuple({"name": name} for name in _called(reference))
    }
    update: dict[str, tuple[RowUpdate, ...]] = {}
    for table, change in data.items():
        if table not in TABLES:
            raise TaskError(f"there is no table {table!r}", field="initial_state")
        known = database.tables[table]
        records = change.get("data") or {}
        update[table] = tuple(
            RowUpdate(key={"record_id": record_id}, set={"data": _text(merge(known[record_id], record))})
            for record_id, record in records.items()
            if record_id in known
        )
        new = ((record_id, record) for record_id, record in records.items() if record_id not in known)
        insert[table] = tuple(
            {"record_id": record_id, "position": position, "data": _text(record)}
            for position, (record_id, record) in enumerate(new, start=len(known))
        )
        if "notes" in change:
            noted = RowUpdate(key={"name": table}, set={"notes": change["notes"]})
            update["table_notes"] = (*update.get("table_notes", ()), noted)
    return State(insert=insert, update=update)


def _text(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False)


def merge(old: Any, new: Any) -> Any:
    """Merge an object into an object, key by key; anything else replaces what was there.

    Example:
        >>> merge({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": None})
        {'a': {'b': 1, 'c': 3}, 'd': None}
    """
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return old | {key: merge(old[key], value) if key in old else value for key, value in new.items()}


def _called(reference: tuple[Action, ...]) -> list[str]:
    names = (
        action.arguments.get("agent_tool_name")
        for action in reference
        if action.name == "call_discoverable_agent_tool"
    )
    return sorted({name for name in names if isinstance(name, str)})
