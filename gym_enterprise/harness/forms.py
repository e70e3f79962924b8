"""The forms that a run's files have, and what is said of a file that has another."""

from __future__ import annotations

import json
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

Counts = dict[str, dict[str, int]]


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Open(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Content(_Open):
    domain: str | None
    image: str | None = None
    documents: str | None = None
    retrieval: str | None = None
    tasks: dict[str, str]
    players: dict[str, dict[str, str]] = {}


class _Resumed(_Open):
    versions: dict[str, str]
    notes: list[str] = []


class ManifestForm(_Open):
    """What every `manifest.json` has; others may add to it."""

    schema_version: int
    configuration: dict[str, Any]
    seed: int
    trials: int = Field(ge=1)
    content: _Content
    versions: dict[str, str]
    resumed: list[_Resumed]


class _Grade(_Form):
    reward: FiniteFloat | None
    reason: str
    diff: dict[str, Any]
    checks: dict[str, Any]


class _Call(_Form):
    id: str
    name: str
    arguments: Any


class _Entry(_Form):
    seat: Literal["agent", "user"]
    seq: int
    role: Literal["system", "agent", "user", "tool"]
    content: str
    call: _Call | None = None
    result: Any = None

    @model_validator(mode="after")
    def _has_an_outcome(self) -> Self:
        if self.role == "tool" and (self.call is None or not _is_outcome(json.loads(self.content))):
            raise ValueError(
                'a message of a tool should have its call, and as JSON text {"ok": true, ...} or '
                '{"ok": false, "error": {"code": ...}}'
            )
        return self


def _is_outcome(value: Any) -> bool:
    match value:
        case {"ok": True} | {"ok": False, "error": {"code": str()}}:
            return True
    return False


class RecordForm(_Form):
    """What a line of `trajectories.jsonl` has, and nothing else."""

    domain: str
    task_id: str
    seed: int
    trial: int = Field(ge=0)
    grade: _Grade
    transcript: list[_Entry]
    steps: int
    reason: str
    terminated: bool
    truncated: bool
    truncation_reward: Literal["state", "zero"] = "state"
    error: str | None = None
    task_hash: str = ""
    usage: Counts = {}
    timings: dict[str, float] = {}
    segments: list[dict[str, list[Any]]] = []
    faults: Counts = {}


def fault(error: ValidationError) -> str:
    """Say in one line which field is at fault, what it is, and what it should be.

    Example:
        >>> try:
        ...     ManifestForm(trials="four")
        ... except ValidationError as error:
        ...     fault(error)
        "the field 'schema_version' is missing"
    """
    first = error.errors(include_url=False)[0]
    name = ".".join(map(str, first["loc"]))
    what = f"the field {name!r}" if name else "it"
    if first["type"] == "missing":
        return f"{what} is missing"
    if first["type"] == "extra_forbidden":
        return f"{what} is none that a record has"
    given = repr(first["input"])
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    said = first["msg"].removeprefix("Input ").removeprefix("Value error, ")
    return f"{what} is {shown}: it {said}" if said.startswith("should") else f"{what} is {shown}: {said}"
