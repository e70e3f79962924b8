"""`run_episode`: two players play one episode to its end; `regrade`: a saved one is graded again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gym_enterprise.dialogue import Transcript
from gym_enterprise.domain import Domain, TruncationReward
from gym_enterprise.episode import Episode
from gym_enterprise.errors import InfrastructureError, OutOfTurn, UsageError
from gym_enterprise.grading import Grade
from gym_enterprise.messages import Message, Seat
from gym_enterprise.seating import derive_seed, seat_player, take_turn
from gym_enterprise.tasks import Task
from simulators import Player, Usage

_log = logging.getLogger("gym_enterprise")


@dataclass(frozen=True)
class Record:
    """What is kept of one episode."""

    domain: str
    task_id: str
    seed: int
    """Seed of the run, from which the players' seeds were derived."""
    trial: int
    """Number of the trial."""
    grade: Grade
    """Reward, reason and diff."""
    transcript: Transcript = field(repr=False)
    """Messages and calls of both seats in order, as (seat, message)."""
    steps: int
    """Messages and calls of both seats."""
    reason: str
    """Why the episode ended."""
    terminated: bool
    truncated: bool
    truncation_reward: TruncationReward = "state"
    """What a budget that ran out earned."""
    error: str | None = None
    """What broke, when the episode is not scored."""
    task_hash: str = ""
    """Hash of the task's content; empty when unknown."""
    usage: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By seat, what the language model in it used, summed over its calls: `tokens_in`, `tokens_out`."""
    timings: Mapping[str, float] = field(default_factory=dict)
    """Seconds by name."""
    segments: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """Token streams of the seat that is trained, as JSON values: `ids`, `sampled`, `logprobs` of each;
    more than one when a prompt did not extend the tokens before it."""
    faults: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By seat, what its language model did wrong, counted by kind: see `simulators.faults`; and `role_flip`,
    for a user that spoke as the agent."""

    @property
    def reward(self) -> float | None:
        """1.0 or 0.0; None when the episode is not scored."""
        return self.grade.reward

    @property
    def calls(self) -> list[tuple[Seat, str, Any]]:
        """All calls that were run, in order, as (seat, name, arguments), for `Episode.retrace`."""
        return [
            (seat, message.call.name, message.call.arguments)
            for seat, message in self.transcript
            if message.role == "tool" and message.call and not _not_executed(message)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {
            "domain": self.domain,
            "task_id": self.task_id,
            "seed": self.seed,
            "trial": self.trial,
            "grade": self.grade.to_dict(),
            "transcript": [{"seat": seat, **message.to_dict()} for seat, message in self.transcript],
            "steps": self.steps,
            "reason": self.reason,
            "terminated": self.terminated,
            "truncated": self.truncated,
            "truncation_reward": self.truncation_reward,
            "error": self.error,
            "task_hash": self.task_hash,
            "usage": {seat: dict(counts) for seat, counts in self.usage.items()},
            "timings": dict(self.timings),
            "segments": [dict(segment) for segment in self.segments],
            "faults": {seat: dict(counts) for seat, counts in self.faults.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """Rebuild a record from `to_dict`."""
        transcript = tuple((entry["seat"], Message.from_dict(entry)) for entry in data["transcript"])
        changed = {
            "grade": Grade.from_dict(data["grade"]),
            "transcript": transcript,
            "segments": tuple(data.get("segments", ())),
        }
        return cls(**{**data, **changed})


def run_episode(
    episode: Episode,
    agent: Any,
    user: Any = "scripted",
    *,
    seed: int = 0,
    trial: int = 0,
    audit: bool = False,
    trained: Seat | None = "agent",
) -> Record:
    """Let two players play an episode to its end.

    Args:
        episode: The episode, fresh or under way.
        agent: Player of the agent's seat: a name ("oracle"), a class or an instance.
        user: Player of the user's seat: a name ("scripted", "replay"), a class or an instance.
        seed: Seed of the run.
        trial: Number of the trial.
        audit: Grade with both graders.
        trained: Whose tokens the record keeps, where its engine tells them; None keeps none.

    Returns:
        The record. A player that raises, a user without a usable action, or a grader that fails leaves it
        unscored, never 0.

    Raises:
        UsageError: A player specification is not one.
        OutOfTurn: The episode is over already: `reset` it.

    Example:
        >>> record = run_episode(Episode(domain, task), OraclePlayer, ScriptedUser)  # doctest: +SKIP
        >>> record.reward  # doctest: +SKIP
        1.0
    """
    if episode.done:
        raise OutOfTurn(f"the episode is over ({episode.reason}): reset() it before it is played again")
    players = seat_players(episode, agent, user, seed=seed, trial=trial)
    failure = None
    while (seat := episode.turn) is not None:
        try:
            take_turn(episode, seat, players[seat])
        except InfrastructureError as error:
            failure = fail_turn(episode, seat, error)
    return make_record(
        episode, players, seed=seed, trial=trial, audit=audit, trained=trained, failure=failure
    )


def seat_players(episode: Episode, agent: Any, user: Any, *, seed: int, trial: int) -> dict[Seat, Player]:
    """Return the players of both seats, each with its own seed of this trial."""
    given: dict[Seat, Any] = {"agent": agent, "user": user}
    return {
        seat: seat_player(spec, episode, seat, derive_seed(seed, episode.task.id, trial, seat))
        for seat, spec in given.items()
    }


def fail_turn(episode: Episode, seat: Seat, error: InfrastructureError) -> str:
    """End an episode, unscored, whose player failed; return what to say of it."""
    episode.fail("simulator_error" if seat == "user" else "agent_error")
    return str(error)


def make_record(
    episode: Episode,
    players: Mapping[Seat, Player],
    *,
    seed: int,
    trial: int,
    audit: bool = False,
    trained: Seat | None = "agent",
    failure: str | None = None,
    timings: Mapping[str, float] | None = None,
) -> Record:
    """Grade an episode that is over, and return its record.

    Args:
        episode: The episode.
        players: Who played it, for what their models used, read, sampled and did wrong.
        seed: Seed of the run.
        trial: Number of the trial.
        audit: Grade with both graders.
        trained: Whose tokens are kept.
        failure: What broke, when something did.
        timings: Seconds by name.

    Returns:
        The record; unscored when the grader fails, which is logged.
    """
    try:
        grade = episode.grade(audit=audit)
    except Exception as error:
        _log.exception("grading task %s failed", episode.task.id)
        failure = f"grading raised {type(error).__name__}: {error}"
        grade = Grade(None, f"not scored: {failure}")
    return Record(
        domain=episode.domain.name,
        task_id=episode.task.id,
        seed=seed,
        trial=trial,
        grade=grade,
        transcript=episode.transcript,
        steps=episode.step,
        reason=episode.reason,
        terminated=episode.terminated,
        truncated=episode.truncated,
        truncation_reward=episode.truncation_reward,
        error=failure,
        task_hash=episode.task.hash,
        usage=_usage(players),
        timings=timings or {},
        segments=() if trained is None else _segments(episode, players[trained], trained),
        faults=_faults(episode, players),
    )


def _usage(players: Mapping[Seat, Player]) -> dict[str, dict[str, int]]:
    """Return by seat what its player's model used; an instance that plays many episodes counts them all."""
    used = {seat: getattr(player, "usage", None) for seat, player in players.items()}
    return {
        seat: {"tokens_in": usage.prompt_tokens, "tokens_out": usage.completion_tokens}
        for seat, usage in used.items()
        if isinstance(usage, Usage)
    }


def _segments(episode: Episode, player: Player, seat: Seat) -> tuple[dict[str, Any], ...]:
    """Return the tokens that a player's model read and sampled in an episode; nothing for other players."""
    if not hasattr(player, "segments"):
        return ()
    return tuple(segment.to_dict() for segment in player.segments(episode.observe(seat)["messages"]))


def _faults(episode: Episode, players: Mapping[Seat, Player]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for seat, player in players.items():
        own = player.faults(episode.observe(seat)["messages"]) if hasattr(player, "faults") else {}
        found[seat] = own | (episode.faults if seat == "user" else {})
    return {seat: counts for seat, counts in found.items() if counts}


def regrade(domain: Domain, task: Task, record: Record, *, audit: bool = True) -> Grade:
    """Grade a saved trajectory again by making its calls once more, failed ones included.

    Args:
        domain: The domain.
        task: The task that was played.
        record: What `run_episode` returned, or `Record.from_dict` of what was saved.
        audit: Run both graders.

    Returns:
        The grade; an episode in which something broke stays unscored.

    Raises:
        UsageError: The record is of another task, or of another version of it.

    Example:
        >>> regrade(domain, task, run_episode(Episode(domain, task), "oracle")).reward  # doctest: +SKIP
        1.0
    """
    if (record.domain, record.task_id) != (domain.name, task.id):
        raise UsageError(
            f"the record is of task {record.task_id!r} of {record.domain!r}, not of {task.id!r} of "
            f"{domain.name!r}: take the task from load_domain(record.domain).task(record.task_id)"
        )
    if record.task_hash not in ("", task.hash):
        raise UsageError(f"task {task.id!r} has changed since the record was made: its hash is another")
    episode = Episode(domain, task, truncation_reward=record.truncation_reward)
    episode.retrace(
        record.calls,
        reason=record.reason,
        truncated=record.truncated,
        unscored=record.error is not None,
        transcript=record.transcript,
    )
    grade = episode.grade(audit=audit)
    episode.close()
    return grade


def _not_executed(answer: Message) -> bool:
    return answer.result.get("error", {}).get("code") == "not_executed"  # type: ignore[no-any-return]
