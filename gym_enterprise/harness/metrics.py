"""`summarise`: what a run's records say, with intervals, coverage and definitions; pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from gym_enterprise.errors import UsageError
from gym_enterprise.harness.activity import Activity, PlayedEpisode, activity, tokens
from gym_enterprise.harness.comparison import Comparison, compare
from gym_enterprise.harness.estimators import (
    Interval,
    clustered_interval,
    over_tasks,
    pass_at_k,
    pass_hat_k,
)
from gym_enterprise.harness.evidence import LookBeforeAct, look_before_act, quiet_tools
from gym_enterprise.harness.outcomes import Outcomes, ScoredEpisode, outcomes
from gym_enterprise.tasks import Task
from gym_enterprise.toolset import Toolset

__all__ = [
    "Comparison",
    "EpisodeRecord",
    "Group",
    "Interval",
    "LookBeforeAct",
    "Summary",
    "compare",
    "pass_at_k",
    "pass_hat_k",
    "quiet_tools",
    "summarise",
]


class EpisodeRecord(ScoredEpisode, PlayedEpisode, Protocol):
    """What `summarise` reads of a record, such as `Record`."""

    @property
    def reason(self) -> str:
        """Why the episode ended."""
        ...

    @property
    def steps(self) -> int:
        """Messages and calls of both seats."""
        ...

    @property
    def error(self) -> str | None:
        """What broke, when something did."""
        ...

    @property
    def segments(self) -> Sequence[Mapping[str, Any]]:
        """Token streams of the trained seat."""
        ...

    @property
    def faults(self) -> Mapping[str, Mapping[str, int]]:
        """By seat, counts of what its model did wrong."""
        ...


@dataclass(frozen=True)
class Group:
    """Pass rate of some tasks: all, a family, or those that need a capability."""

    tasks: int
    """Tasks with a record."""
    attempted: int
    """Episodes with a record."""
    scored: int
    """Those that have a reward."""
    passed: int
    """Those whose reward is 1."""
    pass_at_1: float | None
    """Share of scored trials that passed, averaged over tasks; None when none is scored."""
    interval: Interval | None
    """Of pass@1, over tasks (see `clustered_interval`); None for fewer than two."""


@dataclass(frozen=True)
class Summary:
    """What a run's records say; `summarise` defines each number."""

    overall: Group
    """All episodes."""
    planned: int
    """Episodes that the run is meant to have."""
    pass_at_k: Mapping[int, float]
    """By k, the chance that one of k trials passes, averaged over tasks."""
    pass_hat_k: Mapping[int, float]
    """By k, the chance that all of k trials pass (pass^k), averaged over tasks."""
    by_family: Mapping[str, Group]
    by_capability: Mapping[str, Group]
    """A task counts under each of its capabilities."""
    terminations: Mapping[str, int]
    """Scored episodes by why they ended; most first."""
    unscored: Mapping[str, int]
    """Unscored episodes by why they ended; most first."""
    causes: Mapping[str, int]
    """Unscored episodes by what broke, in its own words; most first."""
    tool_errors: Mapping[str, Mapping[str, int]]
    """Failed calls by seat and code, over all episodes; most first."""
    averages: Mapping[str, float]
    """Of scored episodes: `steps`, and by seat `agent_turns`, `agent_calls`, `user_turns`, `user_calls`."""
    tokens_in: int | None
    """Tokens that the agent's model read, summed over its calls; None when unknown for a scored episode."""
    tokens_out: int | None
    """Tokens that it wrote; None when unknown for a scored episode."""
    tokens_per_passed: float | None
    """Tokens in and out of all episodes, failed ones too, for each passed episode: what one success costs.
    None when unknown, or nothing passed."""
    look_before_act: LookBeforeAct | None
    """What was read before the first change; None without the agent's toolset."""
    faults: Mapping[str, Mapping[str, int]]
    """What the language models did wrong, by seat and kind, over all episodes; see `Record.faults`."""
    drift: int | None
    """Prompts that did not extend the tokens before them, over all episodes: each begins another segment of a
    token stream. None when no episode has tokens."""

    @property
    def coverage(self) -> float:
        """Scored episodes as a share of those planned."""
        return self.overall.scored / self.planned if self.planned else 0.0

    @property
    def complete(self) -> bool:
        """Whether every planned episode is scored."""
        return self.overall.scored == self.planned > 0

    @property
    def headline(self) -> str:
        """One line for people; a pass rate never stands without its coverage."""
        scored, planned = self.overall.scored, self.planned
        if self.overall.pass_at_1 is None:
            return f"INCOMPLETE: 0 of {planned} episodes scored, so there is no pass rate"
        rate = f"pass@1 {self.overall.pass_at_1:.1%}"
        if (interval := self.overall.interval) is not None:
            rate += f" ({interval.level:.0%} interval {interval.low:.1%} to {interval.high:.1%})"
        counts = f"{self.overall.passed} of {scored} scored episodes passed"
        if self.complete:
            return f"{rate}; {counts}"
        return f"INCOMPLETE: only {scored} of {planned} episodes scored; of these {rate}; {counts}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value; the k of pass@k and pass^k are texts in it."""
        value = asdict(self)
        for name in ("pass_at_k", "pass_hat_k"):
            value[name] = {str(k): rate for k, rate in value[name].items()}
        return value | {
            "coverage": self.coverage,
            "complete": self.complete,
            "headline": self.headline,
        }


def summarise(
    records: Iterable[EpisodeRecord],
    tasks: Mapping[str, Task] | Iterable[Task],
    *,
    planned: int | None = None,
    toolset: Toolset | None = None,
    quiet: Collection[str] = (),
    level: float = 0.95,
    seed: int = 0,
) -> Summary:
    """Summarise a run.

    - An episode *passes* when its reward is 1. One without a reward is *unscored*: it lowers the coverage,
      and counts neither as passed nor as failed.
    - pass@1, pass@k and pass^k are averages over tasks, each with the same weight, of the estimates from its
      scored trials; tasks without any are left out. k goes up to the smallest number of scored trials that
      any of the others has, so that every k is about the same tasks.
    - Intervals are those of `clustered_interval`: drawn over tasks, or exact where these are few or equal.
    - Terminations, averages and look-before-act are about scored episodes; tool errors and tokens about all,
      and an unscored episode that does not know its tokens adds none.
    - A turn is a message to the other seat. Failed calls are calls whose outcome was not ok; calls after the
      end, which did not happen, are not among them.

    Args:
        records: Each (task, trial) once, as `Run.records` gives them.
        tasks: At least the tasks of the records.
        planned: Episodes that the run is meant to have (`Run.planned`); by default, one for each record.
        toolset: The agent's tools, for look-before-act: `domain.toolset("agent")`.
        quiet: Tools that write nothing graded: `quiet_tools(domain, tasks)`.
        level: Of the intervals.
        seed: Of the generator for the intervals.

    Returns:
        The summary: the same for the same arguments.

    Raises:
        UsageError: A record's task is not given or has another content, a (task, trial) stands twice, a
            reward is not a number, or there are more records than planned.

    Example:
        >>> run = read_run("runs/a")  # doctest: +SKIP
        >>> summarise(run.records(), domain.tasks["test"], planned=run.planned).headline  # doctest: +SKIP
        'pass@1 62.5% (95% interval 24.5% to 91.5%); 20 of 32 scored episodes passed'
    """
    records = list(records)
    by_id = _by_id(tasks)
    found = outcomes(records)
    _check(found, records, by_id, planned)
    scored = [record for record in records if record.reward is not None]
    broken = [record for record in records if record.reward is None]
    done = {id(record): activity(record) for record in records}
    spent = {kind: _tokens(records, kind) for kind in ("tokens_in", "tokens_out")}
    counts = list(found.scored.values())
    most = range(1, min((n for n, _ in counts), default=0) + 1)
    return Summary(
        overall=_group(records, level, seed),
        planned=len(records) if planned is None else planned,
        pass_at_k={k: over_tasks(pass_at_k, counts, k) for k in most},
        pass_hat_k={k: over_tasks(pass_hat_k, counts, k) for k in most},
        by_family=_groups(records, lambda record: [by_id[record.task_id].family], level, seed),
        by_capability=_groups(records, lambda record: by_id[record.task_id].capabilities, level, seed),
        terminations=_ranked(Counter(record.reason for record in scored)),
        unscored=_ranked(Counter(record.reason for record in broken)),
        causes=_ranked(Counter(record.error for record in broken if record.error)),
        tool_errors=_by_seat(episode.errors for episode in done.values()),
        averages=_averages([(record.steps, done[id(record)]) for record in scored]),
        tokens_in=spent["tokens_in"],
        tokens_out=spent["tokens_out"],
        tokens_per_passed=_each(spent.values(), found.passed),
        look_before_act=look_before_act(scored, by_id, toolset, quiet=quiet) if toolset is not None else None,
        faults=_by_seat(record.faults for record in records),
        drift=_drift(records),
    )


def _by_id(tasks: Mapping[str, Task] | Iterable[Task]) -> Mapping[str, Task]:
    return tasks if isinstance(tasks, Mapping) else {task.id: task for task in tasks}


def _check(
    found: Outcomes, records: Sequence[EpisodeRecord], tasks: Mapping[str, Task], planned: int | None
) -> None:
    for task_id in dict.fromkeys(record.task_id for record in records):
        if task_id not in tasks:
            raise UsageError(f"there is a record of task {task_id!r}, but no such task is given: give it too")
        if found.hashes.get(task_id, tasks[task_id].hash) != tasks[task_id].hash:
            raise UsageError(
                f"task {task_id!r} is not the one that was played: its content has another hash now; give "
                "the tasks of that time"
            )
    if planned is not None and planned < len(records):
        raise UsageError(f"planned should be at least the number of records, {len(records)}, got {planned}")


def _group(records: Sequence[EpisodeRecord], level: float, seed: int) -> Group:
    found = outcomes(records)
    rates = found.rates
    return Group(
        tasks=len({record.task_id for record in records}),
        attempted=found.attempted,
        scored=found.episodes,
        passed=found.passed,
        pass_at_1=sum(rates) / len(rates) if rates else None,
        interval=clustered_interval(rates, level=level, seed=seed),
    )


def _groups(
    records: Sequence[EpisodeRecord],
    names: Callable[[EpisodeRecord], Sequence[str]],
    level: float,
    seed: int,
) -> dict[str, Group]:
    members: dict[str, list[EpisodeRecord]] = {}
    for record in records:
        for name in dict.fromkeys(names(record)):
            members.setdefault(name, []).append(record)
    return {name: _group(members[name], level, seed) for name in sorted(members)}


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _by_seat(counted: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    totals: dict[str, Counter[str]] = {"agent": Counter(), "user": Counter()}
    for episode in counted:
        for seat, counts in episode.items():
            totals[seat].update(counts)
    return {seat: _ranked(counts) for seat, counts in totals.items()}


def _drift(records: Sequence[EpisodeRecord]) -> int | None:
    pieces = [len(record.segments) for record in records if record.segments]
    return sum(pieces) - len(pieces) if pieces else None


def _averages(episodes: Sequence[tuple[int, Activity]]) -> dict[str, float]:
    if not episodes:
        return {}
    totals = {"steps": sum(steps for steps, _ in episodes)}
    for seat in ("agent", "user"):
        totals[f"{seat}_turns"] = sum(done.messages[seat] for _, done in episodes)
        totals[f"{seat}_calls"] = sum(done.calls[seat] for _, done in episodes)
    return {name: total / len(episodes) for name, total in totals.items()}


def _tokens(records: Sequence[EpisodeRecord], kind: str) -> int | None:
    if any(tokens(record, "agent", kind) is None for record in records if record.reward is not None):
        return None
    known = [count for record in records if (count := tokens(record, "agent", kind)) is not None]
    return sum(known) if known else None


def _each(spent: Iterable[int | None], passes: int) -> float | None:
    known = list(spent)
    total = sum(count for count in known if count is not None)
    return total / passes if passes and None not in known else None
