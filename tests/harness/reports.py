"""Runs made by hand, and their reports read back: what the tests of the report share."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gym_enterprise import Call, Domain, Episode, Message, Record, run_episode
from gym_enterprise.harness.report import Report, write_report
from gym_enterprise.harness.results import open_run

DATA = re.compile(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', re.DOTALL)


def saved(folder: Path, *records: Record, trials: int = 1, **configuration: Any) -> Path:
    """A run that names no tasks, with these records."""
    with open_run(folder, configuration, trials=trials) as run:
        for record in records:
            run.append(record)
    return folder


def played(
    folder: Path, domain: Domain, agent: Any = "oracle", trials: int = 1, most: int | None = None, **more: Any
) -> Path:
    """A run of the shop's training tasks; with `most`, stopped after so many episodes."""
    tasks = domain.tasks["train"]
    configuration = {"agent": str(agent), "user": "scripted", "domain": "tests.shop:make_domain", **more}
    with open_run(folder, configuration, trials=trials, domain=domain, tasks=tasks.values()) as run:
        for task_id, trial in run.missing()[:most]:
            run.append(run_episode(Episode(domain, tasks[task_id]), agent, trial=trial))
    return folder


def embedded(report: Report) -> dict[str, Any]:
    """What the page embeds, by name."""
    return {name: json.loads(text) for name, text in DATA.findall(report.path.read_text("ascii"))}


def written(run: Path, **arguments: Any) -> tuple[dict[str, Any], Report]:
    """What the report of a run embeds, and the report."""
    report = write_report(run, run / "report.html", **arguments)
    return embedded(report), report


def told(name: str, result: Any, /, **arguments: Any) -> list[tuple[str, Message]]:
    """A call of the agent that works, and its result."""
    call = Call("c", name, json.dumps(arguments))
    outcome = json.dumps({"ok": True, "result": result})
    return [("agent", Message(0, "agent", "", call)), ("agent", Message(0, "tool", outcome, call))]
