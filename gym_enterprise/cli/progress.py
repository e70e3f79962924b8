"""`Progress` of a run on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from gym_enterprise.harness.batch import Batch
from gym_enterprise.harness.outcomes import passed
from gym_enterprise.harness.results import RunWriter
from gym_enterprise.harness.rollout import Record

QUIET = 60.0
"""Seconds without a finished episode after which it is told where the live ones wait."""
LINES = 10
"""About how many plain lines a run prints."""
FAILURES = 20
"""Most failures that are told one by one."""


class Progress:
    """Counts records as they come; an asynchronous context manager.

    Args:
        console: Where to print; by default standard error.
        quiet: Seconds without a finished episode after which waiting ones are named.
    """

    def __init__(self, console: Console | None = None, quiet: float = QUIET) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar = Bar(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._line = self._bar.add_task("", total=None)
        self._quiet = quiet
        self._batch: Batch | None = None
        self._total = self._scored = self._passed = self._unscored = 0

    def update(self, run: RunWriter, batch: Batch, record: Record | None) -> None:
        """Take in that a run begins (no record), or a record of it."""
        if record is None:
            self._begin(run, batch)
        elif record.reward is None:
            self._unscored += 1
            if self._unscored <= FAILURES:
                self._say(
                    f"not scored: {record.task_id} trial {record.trial}: {record.reason}: {record.error}"
                )
        else:
            self._scored += 1
            self._passed += passed(record)
        done = self._scored + self._unscored
        self._bar.update(self._line, completed=done, total=self._total, description=self._rates())
        if record is not None and not self._console.is_terminal and self._is_due(done):
            self._say(f"{done}/{self._total} {self._rates()}")

    async def __aenter__(self) -> Self:
        self._bar.start()
        self._watchdog = asyncio.create_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watchdog.cancel()
        self._bar.stop()

    def _begin(self, run: RunWriter, batch: Batch) -> None:
        self._batch, self._total = batch, len(run.missing())
        for note in run.notes:
            self._say(f"note: {note}")
        if run.resumed:
            self._say(f"resumed: {self._total} of {run.planned} episodes are to be played")

    def _rates(self) -> str:
        rate = f"{self._passed / self._scored:.1%} of scored passed" if self._scored else "none scored yet"
        return f"{rate}, {self._unscored} not scored"

    def _is_due(self, done: int) -> bool:
        return done == self._total or done * LINES // self._total > (done - 1) * LINES // self._total

    def _say(self, text: str) -> None:
        self._bar.console.print(text, markup=False)

    async def _watch(self) -> None:
        """Say where live episodes wait whenever nothing has finished for a while."""
        before = -1
        while True:
            await asyncio.sleep(self._quiet)
            done = self._batch.done if self._batch else 0
            if self._batch and done == before:
                for one in self._batch.waiting()[:5]:
                    self._say(
                        f"waiting: {one.task_id} trial {one.trial}, step {one.step}, "
                        f"{one.seat or 'harness'} for {one.seconds:.0f} s"
                    )
            before = done
