"""Many episodes at once: `rollout`, and `Batch`, which can be watched while it plays.

====================  =====================================================================================
what happens          what comes of it
====================  =====================================================================================
a player fails        its record is unscored (`agent_error`, `simulator_error`); the others go on
a turn or an episode  the record is unscored, reason `timeout`, with what had been said until then
takes too long
stragglers            `finish_after` of the episodes are done: the rest is cut, unscored, reason `straggler`
anything else breaks  the record is unscored, reason `harness_error`; the log has the traceback
the batch is          records that were handed over stay so; episodes under way are dropped and can be
cancelled             played again
====================  =====================================================================================

Everything runs on one event loop; only a player without `aact` has a thread for each turn. Each slot
reuses one database. What a record holds, its `timings` aside, does not depend on how many episodes run at
once. A model in this process keeps to that for what it says and for token ids; batches of another size round
otherwise, so that its log-probabilities may differ in their last digits.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_enterprise.domain import Domain
from gym_enterprise.episode import Episode
from gym_enterprise.errors import InfrastructureError, UsageError
from gym_enterprise.grading import Grade
from gym_enterprise.harness.rollout import Record, fail_turn, make_record, seat_players
from gym_enterprise.messages import Seat
from gym_enterprise.seating import check_player, take_turn_async
from gym_enterprise.tasks import Task
from simulators import OpenAIEngine, Player

_log = logging.getLogger("gym_enterprise")

TIMEOUT, STRAGGLER, BROKEN = "timeout", "straggler", "harness_error"
"""Reasons of records that the harness itself leaves unscored."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode to play."""

    task: Task
    trial: int = 0
    """Number of the trial; the players' seeds come from it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where a live episode waits."""

    task_id: str
    trial: int
    seat: Seat | None
    """Whose turn it is; None when the episode is not yet, or no longer, played."""
    step: int
    """Messages and calls so far."""
    seconds: float
    """How long this turn has taken."""


@dataclass(slots=True)
class _Slot:
    """A place where one episode after the other is played, in one database."""

    episode: Episode | None = None
    job: Job | None = None
    """What is played; None between episodes."""
    deadline: asyncio.Timeout | None = None
    """Of the episode, while it is played."""
    cut: bool = False
    """Whether the episode is a straggler, whose deadline was moved to now."""
    since: float = 0.0
    """When the turn began, or the episode."""

    def close(self) -> None:
        if self.episode is not None:
            self.episode.close()
        self.episode = self.job = None


class Batch:
    """Plays episodes, many at once.

    Args:
        domain: The domain.
        jobs: What to play.
        agent: Player of the agent's seat: a name, a class, a function of view and seed, or an instance.
        user: Player of the user's seat.
        concurrency: Most episodes at once.
        seed: Seed of the run.
        max_steps: Budget of an episode; by default the task's, then the domain's.
        audit: Grade with both graders.
        trained: Whose tokens the records keep, where its engine tells them; None keeps none.
        turn_deadline: Seconds for one turn. What never waits, such as a scripted player, cannot be cut; the
            thread of a player without `aact` goes on, but the process does not wait for it.
        episode_deadline: Seconds for one episode, from when it begins.
        finish_after: Share of the jobs after which the rest is cut, above 0; 1 waits for all.
        clock: Gives seconds.

    Raises:
        UsageError: An argument is not one of these.

    Example:
        >>> batch = Batch(domain, [Job(task)], "oracle")  # doctest: +SKIP
        >>> asyncio.run(batch.run(lambda index, record: print(record.reward)))  # doctest: +SKIP
        1.0
    """

    def __init__(
        self,
        domain: Domain,
        jobs: Sequence[Job],
        agent: Any,
        user: Any = "scripted",
        *,
        concurrency: int = 16,
        seed: int = 0,
        max_steps: int | None = None,
        audit: bool = False,
        trained: Seat | None = "agent",
        turn_deadline: float | None = None,
        episode_deadline: float | None = None,
        finish_after: float = 1.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        deadlines = {"turn_deadline": turn_deadline, "episode_deadline": episode_deadline}
        _check(concurrency, finish_after, **deadlines)
        check_player(agent, "agent")
        check_player(user, "user")
        self._domain, self._jobs, self._agent, self._user = domain, jobs, agent, user
        self._seed, self._max_steps, self._audit, self._clock = seed, max_steps, audit, clock
        self._trained = trained
        self._turn_deadline, self._episode_deadline = turn_deadline, episode_deadline
        self._enough = max(1, math.ceil(round(finish_after * len(jobs), 6)))  # 0.55 of 100 is 55
        self._slots = [_Slot() for _ in range(min(concurrency, len(jobs)))]
        self._engines: dict[int, Any] = {}
        self.done = 0
        """Episodes that have a record."""

    async def run(self, on_record: Callable[[int, Record], object]) -> None:
        """Play all jobs.

        Args:
            on_record: Called with each record as soon as there is one, and the index of its job. When it
                raises, nothing further is played and the error goes on to the caller.
        """
        self.done = 0
        jobs = enumerate(self._jobs)
        workers = [asyncio.create_task(self._work(slot, jobs, on_record)) for slot in self._slots]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            for slot in self._slots:
                slot.close()
            await self._close_engines()

    def waiting(self) -> list[Waiting]:
        """Tell where each live episode waits, longest first."""
        now = self._clock()
        live = [
            Waiting(
                slot.job.task.id,
                slot.job.trial,
                slot.episode.turn if slot.episode else None,
                slot.episode.step if slot.episode else 0,
                now - slot.since,
            )
            for slot in self._slots
            if slot.job is not None
        ]
        return sorted(live, key=lambda one: -one.seconds)

    # -- inside ---------------------------------------------------------------------------------------

    async def _work(
        self, slot: _Slot, jobs: Iterator[tuple[int, Job]], on_record: Callable[[int, Record], object]
    ) -> None:
        for index, job in jobs:
            await asyncio.sleep(0)  # players that never wait leave the loop to the others here
            slot.job, slot.cut, slot.since = job, False, self._clock()
            try:
                record = self._left_out(job) if self._over else await self._play(slot, job)
            except Exception as error:
                _log.exception("task %s trial %d broke", job.task.id, job.trial)
                slot.close()
                record = self._unplayed(job, BROKEN, f"{type(error).__name__}: {error}")
            slot.job = None
            self.done += 1
            on_record(index, record)
            if self._over:
                self._cut_stragglers()

    async def _play(self, slot: _Slot, job: Job) -> Record:
        episode = self._fresh(slot, job)
        players = seat_players(episode, self._agent, self._user, seed=self._seed, trial=job.trial)
        self._note_engines(players)
        began = self._clock()
        timings = {"total": 0.0, "agent": 0.0, "user": 0.0}
        failure = None
        try:
            async with asyncio.timeout(self._episode_deadline) as slot.deadline:
                while (seat := episode.turn) is not None:
                    failure = await self._turn(slot, episode, seat, players[seat], timings)
        except TimeoutError:
            failure = self._too_late(slot, episode)
        finally:
            slot.deadline = None
        timings["total"] = self._clock() - began
        return make_record(
            episode,
            players,
            seed=self._seed,
            trial=job.trial,
            audit=self._audit,
            trained=self._trained,
            failure=failure,
            timings=timings,
        )

    def _fresh(self, slot: _Slot, job: Job) -> Episode:
        if slot.episode is None:
            slot.episode = Episode(self._domain, job.task, max_steps=self._max_steps)
        else:
            slot.episode.reset(job.task)
        return slot.episode

    async def _turn(
        self, slot: _Slot, episode: Episode, seat: Seat, player: Player, timings: dict[str, float]
    ) -> str | None:
        """Play one turn; return what broke, if something did, and then the episode is over."""
        slot.since = self._clock()
        try:
            async with asyncio.timeout(self._turn_deadline):
                await take_turn_async(episode, seat, player)
        except InfrastructureError as error:
            return fail_turn(episode, seat, error)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # by a deadline, or from outside
                raise
            return fail_turn(episode, seat, InfrastructureError(f"something cancelled the {seat} player"))
        except TimeoutError:
            episode.fail(TIMEOUT)
            return f"the {seat} took longer than {self._turn_deadline:g} s for a turn, at step {episode.step}"
        finally:
            timings[seat] += self._clock() - slot.since
        return None

    def _too_late(self, slot: _Slot, episode: Episode) -> str:
        where = f"at step {episode.step}, while the {episode.turn} had the turn"
        episode.fail(STRAGGLER if slot.cut else TIMEOUT)
        if slot.cut:
            return f"cut {where}: {self._enough} of {len(self._jobs)} episodes were done"
        return f"the episode took longer than {self._episode_deadline:g} s: {where}"

    @property
    def _over(self) -> bool:
        return self.done >= self._enough

    def _cut_stragglers(self) -> None:
        now = asyncio.get_running_loop().time()
        for slot in self._slots:
            if slot.deadline is not None and not slot.cut and not slot.deadline.expired():
                slot.cut = True
                slot.deadline.reschedule(now)

    def _left_out(self, job: Job) -> Record:
        done = f"{self._enough} of {len(self._jobs)} episodes were done"
        return self._unplayed(job, STRAGGLER, f"not begun: {done}")

    def _unplayed(self, job: Job, reason: str, failure: str) -> Record:
        return Record(
            domain=self._domain.name,
            task_id=job.task.id,
            seed=self._seed,
            trial=job.trial,
            grade=Grade(None, f"not scored: {failure}"),
            transcript=(),
            steps=0,
            reason=reason,
            terminated=False,
            truncated=True,
            error=failure,
            task_hash=job.task.hash,
        )

    def _note_engines(self, players: Mapping[Seat, Player]) -> None:
        """Keep the engines of players given by name whose connections nobody else closes."""
        given = {"agent": self._agent, "user": self._user}
        for seat, player in players.items():
            engine = getattr(player, "engine", None)
            if isinstance(given[seat], str) and isinstance(engine, OpenAIEngine):
                self._engines[id(engine)] = engine

    async def _close_engines(self) -> None:
        while self._engines:
            await self._engines.popitem()[1].aclose()


async def rollout(
    domain: Domain, jobs: Sequence[Job], agent: Any, user: Any = "scripted", **settings: Any
) -> list[Record]:
    """Play episodes, many at once, and return their records.

    Args:
        domain: The domain.
        jobs: What to play.
        agent: Player of the agent's seat.
        user: Player of the user's seat.
        settings: Further arguments of `Batch`, such as `concurrency`.

    Returns:
        The records: number i is that of job i, whatever broke.

    Raises:
        UsageError: An argument of `Batch` is not one.

    Example:
        >>> jobs = [Job(task, trial) for trial in range(8)]  # doctest: +SKIP
        >>> records = asyncio.run(rollout(domain, jobs, "oracle", concurrency=8))  # doctest: +SKIP
    """
    records: dict[int, Record] = {}
    await Batch(domain, jobs, agent, user, **settings).run(records.__setitem__)
    return [records[index] for index in range(len(jobs))]


def _check(concurrency: int, finish_after: float, **deadlines: float | None) -> None:
    if type(concurrency) is not int or concurrency < 1:
        raise UsageError(f"concurrency should be a whole number of at least 1, got {concurrency!r}")
    if not 0 < finish_after <= 1:
        raise UsageError(f"finish_after should be a share above 0 and at most 1, got {finish_after!r}")
    for name, seconds in deadlines.items():
        if seconds is not None and not seconds > 0:
            raise UsageError(f"{name} should be seconds above 0, or None, got {seconds!r}")
