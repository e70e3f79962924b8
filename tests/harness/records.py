"""Records made by hand: what metrics and results are tested with."""

from __future__ import annotations

import json
from typing import Any

from gym_enterprise import Call, Grade, Message, Record

Step = tuple[str, str, str, dict[str, Any], Any]


def said(seat: str, text: str) -> list[tuple[str, Message]]:
    """A message of a seat."""
    return [(seat, Message(0, seat, text))]  # type: ignore[arg-type]


def did(name: str, /, seat: str = "agent", error: str = "", **arguments: Any) -> list[tuple[str, Message]]:
    """A call of a seat and its outcome: ok, or an error of that code."""
    call = Call("c", name, json.dumps(arguments))
    outcome = {"ok": False, "error": {"code": error, "message": ""}} if error else {"ok": True, "result": 1}
    return [(seat, Message(0, seat, "", call)), (seat, Message(0, "tool", json.dumps(outcome), call))]  # type: ignore[arg-type]


def record(task_id: str = "t", trial: int = 0, reward: float | None = 1.0, **changes: Any) -> Record:
    """A record; one without a reward has an error."""
    fields: dict[str, Any] = {
        "domain": "shop",
        "task_id": task_id,
        "seed": 0,
        "trial": trial,
        "grade": Grade(reward, "by hand"),
        "transcript": (),
        "steps": 3,
        "reason": "user_stop" if reward is not None else "engine_error",
        "terminated": reward is not None,
        "truncated": reward is None,
        "error": None if reward is not None else "429, retries exhausted",
    }
    return Record(**(fields | changes))


def trials(task_id: str, rewards: str, **changes: Any) -> list[Record]:
    """Records of one task, one for each letter: 1 passed, 0 failed, - unscored."""
    values = {"1": 1.0, "0": 0.0, "-": None}
    return [record(task_id, trial, values[letter], **changes) for trial, letter in enumerate(rewards)]
