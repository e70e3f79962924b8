"""Many episodes at once: reports B050 to B054, deadlines, cancellation; no test waits longer than 0.1 s."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from gym_enterprise import (
    Domain,
    Episode,
    Grade,
    OraclePlayer,
    Record,
    ScriptedUser,
    UsageError,
    grading,
    load_domain,
    seating,
)
from gym_enterprise.harness import batch as batches
from gym_enterprise.harness.batch import Batch, Job, Waiting, rollout
from simulators import ContextOverflow, OpenAIEngine, Synchronous
from tests.core.conversation import CANCEL, say
from tests.shop import make_domain, task

SHOP = make_domain(tasks={"train": [task(f"t{n}") for n in range(16)], "validation": [], "test": []})
JOBS = [Job(one) for one in SHOP.tasks["train"].values()]


def play(jobs: list[Job], agent: Any = "oracle", user: Any = "scripted", **settings: Any) -> list[Record]:
    return asyncio.run(rollout(SHOP, jobs, agent, user, **settings))


def for_task(task_id: str, other: Any, usual: Any = OraclePlayer) -> Callable[[Any, int], Any]:
    """Return a player that is another one in one task."""

    def make(task: Any, seed: int) -> Any:
        return other if task.id == task_id else usual(task, seed)

    make.sees_task = True  # type: ignore[attr-defined]
    return make


class Hung:
    """Speaks once, and never again unless it is let go."""

    def __init__(self) -> None:
        self.free = asyncio.Event()

    def act(self, observation: Any) -> Any:
        raise AssertionError("aact is there")

    async def aact(self, observation: Any) -> Any:
        if len(observation["messages"]) > 2:
            await self.free.wait()
        return say("One moment, please.")


class Raises(Synchronous):
    def __init__(self, error: Exception, first: tuple[Any, ...] = ()) -> None:
        self._error, self._first = error, first

    def act(self, observation: Any) -> Any:
        done = sum(message.role == "tool" for message in observation["messages"])
        if done < len(self._first):
            return dict(self._first[done])
        raise self._error


# -- the normal way ---------------------------------------------------------------------------------------


def test_records_are_the_same_whatever_the_concurrency_and_in_the_order_of_the_jobs() -> None:
    bank = load_domain("banking")
    jobs = [Job(one, trial) for trial in range(4) for one in bank.tasks["train"].values()]

    def records(concurrency: int) -> list[dict[str, Any]]:
        done = asyncio.run(rollout(bank, jobs, "oracle", concurrency=concurrency, seed=5))
        assert all(set(record.timings) == {"total", "agent", "user"} for record in done)
        return [record.to_dict() | {"timings": None} for record in done]

    one, many = records(1), records(64)
    assert one == many
    assert [(record["task_id"], record["trial"]) for record in one] == [
        (job.task.id, job.trial) for job in jobs
    ]
    assert {record["grade"]["reward"] for record in one} == {1.0}


def test_no_more_episodes_run_at_once_than_allowed_and_each_slot_keeps_its_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live, most, opened = 0, 0, []

    class Slow(OraclePlayer):
        async def aact(self, observation: Any) -> Any:
            nonlocal live, most
            live += 1
            most = max(most, live)
            await asyncio.sleep(0)
            live -= 1
            return self.act(observation)

    def counted(domain: Domain, *arguments: Any, **limits: Any) -> Episode:
        opened.append(Episode(domain, *arguments, **limits))
        return opened[-1]

    monkeypatch.setattr(batches, "Episode", counted)
    assert [record.reward for record in play(JOBS, Slow, concurrency=3)] == [1.0] * 16
    assert (most, len(opened)) == (3, 3)


def test_a_player_that_never_waits_needs_no_thread_and_one_without_aact_has_one() -> None:
    threads: set[int] = set()

    class Plain:
        def __init__(self, view: Any, seed: int) -> None: ...

        def act(self, observation: Any) -> Any:
            threads.add(threading.get_ident())
            return {"type": "stop"}

    class Instant(Plain, Synchronous):
        pass

    play(JOBS[:2], Instant)
    assert threads == {threading.get_ident()}
    play(JOBS[:2], Plain)
    assert len(threads) > 1


@pytest.mark.parametrize(
    "settings",
    [
        {"concurrency": 0},
        {"finish_after": 0.0},
        {"finish_after": 2},
        {"turn_deadline": 0},
        {"user": "oracle"},
    ],
)
def test_what_cannot_be_played_is_refused_before_anything_happens(settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        play(JOBS[:1], **settings)


def test_no_jobs_give_no_records() -> None:
    assert play([]) == []


# -- what breaks ------------------------------------------------------------------------------------------


def test_b052_of_16_episodes_two_break_and_record_i_belongs_to_job_i(monkeypatch: pytest.MonkeyPatch) -> None:
    right = grading.Grader.grade

    def grade(self: Any, episode: Episode, *, audit: bool = False) -> Grade:
        if episode.task.id == "t5":
            raise RuntimeError("the grader broke")
        return right(self, episode, audit=audit)

    def customer(task: Any, seed: int) -> ScriptedUser:
        return ScriptedUser(task.view("user"), seed)

    monkeypatch.setattr(grading.Grader, "grade", grade)
    user = for_task("t9", Raises(ConnectionError("gone for good")), customer)
    records = play(JOBS, user=user, concurrency=4)
    assert [record.task_id for record in records] == [f"t{n}" for n in range(16)]
    assert [n for n, record in enumerate(records) if record.reward is None] == [5, 9]
    assert "the grader broke" in str(records[5].error)
    assert (records[9].reason, records[9].terminated) == ("simulator_error", False)
    assert [record.reward for record in records].count(1.0) == 14


def test_b052_a_player_that_cannot_be_made_and_a_task_that_does_not_fit_cost_only_their_own_record() -> None:
    class Picky(OraclePlayer):
        def __init__(self, task: Any, seed: int) -> None:
            if task.id == "t1":
                raise RuntimeError("no model")
            super().__init__(task, seed)

    broken = task("t2", reference=[{"name": "no_such_tool", "arguments": {}}])
    records = play([JOBS[0], JOBS[1], Job(broken), JOBS[3]], Picky, concurrency=1)
    assert [record.reward for record in records] == [1.0, None, None, 1.0]
    assert [record.reason for record in records[1:3]] == ["harness_error"] * 2
    assert "RuntimeError: no model" in str(records[1].error)
    assert "no_such_tool" in str(records[2].error)


@pytest.mark.parametrize("limit", ["turn_deadline", "episode_deadline"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_b053_one_episode_that_hangs_is_cut_unscored_with_its_partial_trace(
    limit: str, concurrency: int
) -> None:
    async def run() -> list[Record]:
        settings: dict[str, Any] = {limit: 0.05, "concurrency": concurrency}
        return await rollout(SHOP, JOBS[:8], for_task("t2", Hung()), **settings)

    records = asyncio.run(run())
    assert [record.reward for record in records] == [1.0, 1.0, None, 1.0, 1.0, 1.0, 1.0, 1.0]
    hung = records[2]
    assert (hung.reason, hung.truncated) == ("timeout", True)
    assert "0.05 s" in str(hung.error)
    assert [seat for seat, _ in hung.transcript] == ["user", "agent", "user"]


class Deaf:
    """A player without `aact` that does not come back before it is let go."""

    free = threading.Event()

    def act(self, observation: Any) -> Any:
        Deaf.free.wait(60)
        return {"type": "stop"}


class Threaded:
    """The oracle, without `aact`."""

    def __init__(self, task: Any, seed: int) -> None:
        self.oracle = OraclePlayer(task, seed)

    def act(self, observation: Any) -> Any:
        return self.oracle.act(observation)


def test_b053_players_that_hang_in_threads_cost_only_their_own_episodes() -> None:
    # More of them than asyncio.to_thread has threads for on any machine: min(32, cores + 4).
    jobs = [Job(JOBS[n % 16].task, n // 16) for n in range(48)]

    def agent(task: Any, seed: int) -> Any:
        return Threaded(task, seed) if task.id in ("t0", "t1") else Deaf()

    agent.sees_task = True  # type: ignore[attr-defined]
    # Over when the healthy ones are done; the deadline is only met if they never are.
    records = play(jobs, agent, concurrency=48, finish_after=6 / 48, episode_deadline=60)
    Deaf.free.set()
    healthy = [record for record in records if record.task_id in ("t0", "t1")]
    assert [record.reward for record in healthy] == [1.0] * 6
    assert {record.reason for record in records if record not in healthy} == {"straggler"}


def test_what_a_player_in_a_thread_raises_is_its_own_failure() -> None:
    class Ends:
        def act(self, observation: Any) -> Any:
            raise StopIteration("no more answers")

    records = play(JOBS[:3], for_task("t1", Ends(), Threaded), turn_deadline=9)
    assert [record.reward for record in records] == [1.0, None, 1.0]
    assert "StopIteration" in str(records[1].error)


def test_b054_a_context_overflow_is_graded_by_the_state_and_not_played_again() -> None:
    made = []

    def agent(view: Any, seed: int) -> Raises:
        made.append(seed)
        return Raises(ContextOverflow("600 tokens in a window of 512"), (CANCEL,))

    (record,) = play(JOBS[:1], agent)
    assert (record.reason, record.truncated, record.error, record.reward) == (
        "context_length",
        True,
        None,
        1.0,
    )
    assert len(made) == 1


def test_an_error_while_saving_stops_the_batch_and_reaches_the_caller() -> None:
    saved = []

    def save(index: int, record: Record) -> None:
        if len(saved) == 2:
            raise OSError("the disk is full")
        saved.append(index)

    with pytest.raises(OSError, match="disk is full"):
        asyncio.run(Batch(SHOP, JOBS, "oracle", concurrency=2).run(save))
    assert len(saved) == 2


def test_a_player_that_is_cancelled_by_something_else_costs_only_its_own_record() -> None:
    class Cancelled:
        def act(self, observation: Any) -> Any: ...

        async def aact(self, observation: Any) -> Any:
            raise asyncio.CancelledError

    records = play(JOBS[:3], for_task("t1", Cancelled()), concurrency=1, turn_deadline=9)
    assert [record.reward for record in records] == [1.0, None, 1.0]
    assert (records[1].reason, records[1].error) == ("agent_error", "something cancelled the agent player")


# -- ending early -----------------------------------------------------------------------------------------


def test_cancelling_keeps_what_is_done_and_ends_the_rest() -> None:
    records: dict[int, Record] = {}

    async def run() -> Batch:
        enough = asyncio.Event()
        batch = Batch(SHOP, JOBS[:6], for_task("t0", Hung()), concurrency=2)

        def save(index: int, record: Record) -> None:
            records[index] = record
            if len(records) == 5:
                enough.set()

        running = asyncio.create_task(batch.run(save))
        await enough.wait()
        assert [one.task_id for one in batch.waiting()] == ["t0"]
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return batch

    batch = asyncio.run(run())
    assert sorted(records) == [1, 2, 3, 4, 5]
    assert batch.waiting() == []


def test_after_the_share_that_is_enough_stragglers_are_cut_and_the_rest_is_not_begun() -> None:
    async def run() -> list[Record]:
        return await rollout(SHOP, JOBS[:8], for_task("t0", Hung()), concurrency=2, finish_after=0.75)

    records = asyncio.run(run())
    assert [record.reward for record in records] == [None, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, None]
    assert [records[n].reason for n in (0, 7)] == ["straggler"] * 2
    assert len(records[0].transcript) == 3
    assert records[7].transcript == ()
    assert all("6 of 8" in str(records[n].error) for n in (0, 7))


def test_the_share_that_is_enough_is_not_rounded_up_by_binary_fractions() -> None:
    jobs = [Job(one, trial) for trial in range(10) for one in SHOP.tasks["train"].values()][:100]
    records = play(jobs, concurrency=1, finish_after=0.55)  # 0.55 * 100 = 55.00000000000001
    assert [record.reward for record in records].count(1.0) == 55


def test_the_watchdog_tells_seat_step_and_seconds_of_each_live_episode() -> None:
    now = 100.0

    async def run() -> list[Waiting]:
        nonlocal now
        hung = Hung()
        batch = Batch(SHOP, JOBS[:1], lambda view, seed: hung, clock=lambda: now)
        running = asyncio.create_task(batch.run(lambda index, record: None))
        while not batch.waiting() or batch.waiting()[0].step < 3:
            await asyncio.sleep(0)
        now += 42
        seen = batch.waiting()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return seen

    assert asyncio.run(run()) == [Waiting("t0", 0, "agent", 3, 42.0)]


def test_engines_of_players_given_by_name_are_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine(OpenAIEngine):
        closed = 0

        async def complete(self, request: Any) -> Any:
            raise ContextOverflow("full")

        async def aclose(self) -> None:
            self.closed += 1

    engine = Engine("m", "http://localhost/v1")
    monkeypatch.setattr(seating, "_engine", lambda model, url: engine)
    (record,) = play(JOBS[:1], "openai:m@http://localhost/v1")
    assert (record.reason, engine.closed) == ("context_length", 1)
