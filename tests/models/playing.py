"""What a real model has to show in both seats of the bank: every outcome is explained by what is saved."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from gym_enterprise import Record, load_domain
from gym_enterprise.harness.evaluation import evaluate
from gym_enterprise.harness.metrics import Summary
from gym_enterprise.harness.regrading import regrade_run
from gym_enterprise.harness.report import write_report
from gym_enterprise.harness.results import read_run
from simulators import LLMPlayer, OpenAIEngine, Sampling

BANK = load_domain("banking")
_TASKS = [task for split in ("train", "validation", "test") for task in BANK.tasks[split].values()]
_MOST_WORDS, _MOST_STEPS = 32, 6


def played(
    out: Path, agent: Any, user: Any, tasks: int, trained: str, connected: OpenAIEngine | None = None
) -> tuple[Summary, list[Record]]:
    """Play, save, read back, grade again and write the report, as the command line does."""

    async def play() -> Summary:
        settings = {"max_steps": _MOST_STEPS, "concurrency": tasks, "trained": trained}
        try:
            return await evaluate(out, BANK, _TASKS[:tasks], agent, user, **settings)
        finally:
            if connected is not None:
                await connected.aclose()

    summary = asyncio.run(play())
    run = read_run(out)
    records = list(run.records())
    assert len(records) == tasks
    assert not regrade_run(run).differences
    write_report(run, out / "report.html")
    page = (out / "report.html").read_text(encoding="utf-8")
    for record in records:
        assert record.task_id in page
    return summary, records


def model(engine: Any, template: Any = None) -> Any:
    """A player that is this model, in either seat."""
    sampling = Sampling(temperature=1.0, max_tokens=_MOST_WORDS)
    return partial(LLMPlayer, engine=engine, template=template, format="hermes", sampling=sampling)


def check(records: list[Record], seat: str) -> None:
    """Every outcome is explained, and every token of the model is there once, with its log-probability."""
    for record in records:
        assert record.reward in (0.0, 1.0) or record.error
        assert record.grade.reason
        assert record.reason in ("user_stop", "agent_stop", "max_steps", "max_errors", "simulator_error")
        (stream,) = record.segments  # prompts extend: no drift
        sampled = sum(stream["sampled"])
        assert 0 < sampled <= record.usage[seat]["tokens_out"]
        if not record.faults.get(seat, {}).get("blank"):  # blank answers of a customer are asked for again
            assert sampled == record.usage[seat]["tokens_out"]
        for token, made, logprob in zip(stream["ids"], stream["sampled"], stream["logprobs"], strict=True):
            assert token >= 0
            assert logprob <= 0.0
            assert made or logprob == 0.0


def told(records: list[Record]) -> str:
    """What happened, in one line."""
    ends = Counter(f"{record.reason} ({record.reward})" for record in records)
    return ", ".join(f"{end}: {count}" for end, count in ends.most_common())
