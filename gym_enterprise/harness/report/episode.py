"""What the page shows of one record: a line in the list, and the episode itself."""

from __future__ import annotations

import math
from typing import Any

from gym_enterprise.harness.activity import activity, called, error_code
from gym_enterprise.harness.outcomes import passed
from gym_enterprise.harness.report import difference
from gym_enterprise.harness.report.documents import readings, references
from gym_enterprise.harness.report.source import Source
from gym_enterprise.harness.report.texts import Texts
from gym_enterprise.harness.rollout import Record
from gym_enterprise.messages import Message

REASON = 240
"""Most characters of a reason in the list; the episode has it whole."""


def outcome(record: Record) -> str:
    """Say whether an episode "passed", "failed", or is "unscored"."""
    if record.reward is None:
        return "unscored"
    return "passed" if passed(record) else "failed"


def row(record: Record) -> dict[str, Any]:
    """Return what the list shows of an episode."""
    return {
        "trial": record.trial,
        "outcome": outcome(record),
        "ended": record.reason,
        "reason": shortened(record.error or record.grade.reason),
        "wrong": difference.tags(record.grade.diff) if outcome(record) == "failed" else [],
        "steps": record.steps,
        "errors": sum(sum(codes.values()) for codes in activity(record).errors.values()),
        "tokens": _tokens(record),
        "seconds": finite(record.timings.get("total")),
    }


def details(record: Record, source: Source, texts: Texts) -> dict[str, Any]:
    """Return what the page shows of an episode."""
    read = readings(record, source.library)
    grade = record.grade
    return {
        "task": record.task_id,
        "trial": record.trial,
        "seed": str(record.seed),
        "hash": record.task_hash,
        "domain": record.domain,
        "reward": None if grade.reward is None else difference.shown_value(grade.reward),
        "reason": grade.reason,
        "error": record.error,
        "checks": {name: difference.shown_value(value) for name, value in grade.checks.items()},
        "diff": difference.rows(grade.diff),
        "rest": difference.rest(grade.diff),
        "end": {
            "reason": record.reason,
            "terminated": record.terminated,
            "truncated": record.truncated,
            "steps": record.steps,
            "worth": record.truncation_reward,
        },
        "documents": [one.to_dict() for one in read],
        "references": references(record, source, read),
        "usage": {seat: dict(counts) for seat, counts in record.usage.items()},
        "timings": {name: finite(value) for name, value in record.timings.items()},
        "segments": _segments(record),
        "faults": {seat: dict(counts) for seat, counts in record.faults.items() if counts},
        "entries": _entries(record, texts),
    }


def shortened(reason: str) -> str:
    """Return a reason, or the beginning of a long one."""
    return reason if len(reason) <= REASON else f"{reason[: REASON - 1]}…"


def finite(value: Any) -> float | None:
    """Return a number that JSON can hold, or None."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _entries(record: Record, texts: Texts) -> list[dict[str, Any]]:
    """Return messages and calls in order; a call and its outcome are one entry.

    Each has `at`, the index in the transcript of its last message.
    """
    entries: list[dict[str, Any]] = []
    asked: Message | None = None
    for index, (seat, message) in enumerate(record.transcript):
        if message.role == "tool" and message.call:
            if asked is not None and asked.call == message.call:
                entries.pop()
            entries.append({"seat": seat, "at": index, **_call(message, asked, texts)})
        elif message.call:
            entries.append({"seat": seat, "at": index, **_call(message, message, texts)})
        else:
            text = texts.put(message.content)
            entries.append({"seat": seat, "at": index, "role": message.role, "text": text})
        asked = message if message.role != "tool" else None
    return entries


def _call(message: Message, asked: Message | None, texts: Texts) -> dict[str, Any]:
    assert message.call is not None
    call = message.call
    entry: dict[str, Any] = {"call": call.name, "id": call.id, "arguments": texts.put(call.arguments_json)}
    if asked is not None and asked.call == call and asked.content:
        entry["said"] = texts.put(asked.content)
    if message.role != "tool":
        return entry  # nothing came of it, as far as the record goes
    if (code := error_code(message)) is not None:
        error = str(message.result["error"].get("message", ""))
        return {**entry, "ok": False, "code": code, "error": error}
    if (inner := called(message)[0]) != call.name:
        entry["inner"] = inner
    return {**entry, "ok": True, "result": texts.put(message.content)}


def _tokens(record: Record) -> int | None:
    """Return the tokens in and out of the agent's model, or None when they are not known."""
    used = record.usage.get("agent", {})
    return sum(used.values()) if used else None


def _segments(record: Record) -> dict[str, int] | None:
    """Count the token streams, which are not part of a report."""
    if not record.segments:
        return None
    return {
        "segments": len(record.segments),
        "tokens": sum(len(segment.get("ids", ())) for segment in record.segments),
        "sampled": sum(sum(map(bool, segment.get("sampled", ()))) for segment in record.segments),
    }
