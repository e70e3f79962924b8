"""`Episode`: one conversation as a pure state machine; no environment library, no threads, no clock.

====================  =====================================================================================
rule                  meaning
====================  =====================================================================================
turns                 the user opens (or the domain's `first_speaker`); a message passes the turn, a tool
                      call runs and keeps it, a stop ends
text beside a call    stands in its caller's history at once; for the other seat it is held and put before
                      the next message; if that is blank, it is the message
user stop with text   the text is delivered; the agent may act until it next speaks, then `user_stop`
stop tokens           in a message make it a stop, beside a call they make this seat's next message one; they
                      are never shown; neither is `<think>` reasoning
step                  messages and calls of both seats; a call that is "not executed" is none
terminated            `user_stop`, `agent_stop`, `terminal_tool`
truncated             `max_steps`, `max_errors`, `context_length` (of the agent's model); or the name of an
                      infrastructure failure, then not scored
visibility            each seat sees both seats' messages, and only its own calls and results
====================  =====================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gym_enterprise.actions import Parsed, read_action, read_turn
from gym_enterprise.dialogue import Dialogue, Transcript
from gym_enterprise.dispatch import Dispatcher, Outcome, cut_short, schema_text
from gym_enterprise.domain import Domain, TruncationReward
from gym_enterprise.errors import OutOfTurn, SnapshotError, UsageError
from gym_enterprise.grading import Grade, begin
from gym_enterprise.messages import SEATS, Message, Observation, Seat
from gym_enterprise.snapshot import Snapshot
from gym_enterprise.tasks import Task
from gym_enterprise.world import World


class Episode:
    """One conversation about one task.

    Args:
        domain: The domain.
        task: A task of it.
        max_steps: Budget of messages and calls; default: the task's, then the domain's.
        max_errors: Budget of failed calls; default: the domain's.
        truncation_reward: "state" or "zero"; default: the domain's.
        world: A world of the domain's image to take over, which ends what was played in it; by default a new
            one is opened.

    Raises:
        TaskError: The task does not fit the domain, or its reference does not work.
        UsageError: A budget is not one, or the world is of another image.

    Example:
        >>> episode = Episode(domain, task)  # doctest: +SKIP
        >>> episode.act("user", {"type": "message", "content": "Hello"})  # doctest: +SKIP
        >>> episode.turn  # doctest: +SKIP
        'agent'
    """

    def __init__(
        self,
        domain: Domain,
        task: Task,
        *,
        max_steps: int | None = None,
        max_errors: int | None = None,
        truncation_reward: TruncationReward | None = None,
        world: World | None = None,
    ) -> None:
        domain.admit(task)
        if world is not None and world.image.digest != domain.image.digest:
            raise UsageError(f"the world was opened on another image than that of domain {domain.name!r}")
        self.domain = domain
        self.world = world or World(domain.image)
        self._limits = (max_steps, max_errors, truncation_reward)
        self._start(task)

    def _start(self, task: Task) -> None:
        max_steps, max_errors, truncation_reward = self._limits
        self.task = task
        self.max_steps = _budget("max_steps", max_steps, task.max_steps or self.domain.max_steps)
        self.max_errors = _budget("max_errors", max_errors, self.domain.max_errors)
        self.truncation_reward: TruncationReward = truncation_reward or self.domain.truncation_reward
        if self.truncation_reward not in ("state", "zero"):
            raise UsageError(f"truncation_reward should be 'state' or 'zero', got {self.truncation_reward!r}")
        begin(self.world, task)
        self.dispatcher = Dispatcher(self.domain.toolsets, task, self.world)
        self._dialogue = Dialogue(
            {seat: (Message(0, "system", self.domain.view(task, seat).prompt),) for seat in SEATS},
            self.domain.stop_tokens,
            self.domain.first_speaker,
        )

    # -- reading --------------------------------------------------------------------------------------

    @property
    def turn(self) -> Seat | None:
        """The seat to move; None when the episode is over."""
        return self._dialogue.turn

    @property
    def step(self) -> int:
        """Messages and calls of both seats so far."""
        return self._dialogue.step

    @property
    def errors(self) -> int:
        """Failed calls of both seats so far."""
        return self._dialogue.errors

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._dialogue.terminated or self._dialogue.truncated

    @property
    def terminated(self) -> bool:
        """Whether a player or a terminal tool ended it."""
        return self._dialogue.terminated

    @property
    def truncated(self) -> bool:
        """Whether a budget or an infrastructure failure ended it."""
        return self._dialogue.truncated

    @property
    def unscored(self) -> bool:
        """Whether the infrastructure failed, so that there is no reward."""
        return self._dialogue.unscored

    @property
    def reason(self) -> str:
        """Why it ended; empty while it runs."""
        return self._dialogue.reason

    @property
    def faults(self) -> dict[str, int]:
        """Faults of the user simulator by kind, such as "role_flip"."""
        return dict(self._dialogue.faults)

    @property
    def transcript(self) -> Transcript:
        """All messages and calls of both seats in order, as (seat, message): for the harness, no player."""
        return self._dialogue.transcript

    def observe(self, seat: Seat) -> Observation:
        """Return what a seat sees: its whole history. Pure, and valid at any time for either seat.

        Args:
            seat: "agent" or "user".

        Returns:
            `messages` (tuple of `Message`), `turn` (steps so far), `your_turn` (0 or 1).
        """
        return {
            "messages": self._dialogue.histories[_seat(seat)],
            "turn": self.step,
            "your_turn": int(self.turn == seat),
        }

    def grade(self, *, audit: bool = False) -> Grade:
        """Grade the state as it is now.

        Args:
            audit: Also run the second grader, which compares whole databases.
        """
        return self.domain.grader.grade(self, audit=audit)

    # -- acting ---------------------------------------------------------------------------------------

    def act(self, seat: Seat, action: Any) -> None:
        """Take one action.

        Args:
            seat: The seat that acts; it must have the turn.
            action: A message, tool call or stop (see `docs/environment-api.md`).

        Raises:
            OutOfTurn: The seat does not have the turn, or the episode is over. Nothing is changed.
            InvalidAction: The object is not an action, or a message is blank. Nothing is changed.
        """
        self._need_turn(seat)
        parsed = read_action(action)
        if parsed.type == "tool_call":
            self._call(seat, parsed)
        else:
            self._dialogue.say(seat, parsed)
        self._check_budgets()

    def check(self, seat: Seat, action: Any) -> None:
        """Raise what `act`, or `act_all` for a list, would raise for this action; it is not taken.

        Args:
            seat: The seat that would act.
            action: Anything; a list is the actions of one turn.

        Raises:
            OutOfTurn: The seat does not have the turn, or the episode is over.
            InvalidAction: The object is not an action, or a message is blank.
        """
        self._need_turn(seat)
        for parsed in read_turn(action) if isinstance(action, list) else [read_action(action)]:
            if parsed.type != "tool_call":
                self._dialogue.hear(seat, parsed)

    def act_all(self, seat: Seat, actions: list[Any]) -> None:
        """Take the actions of one model turn in order; calls after the end are answered "not executed".

        Args:
            seat: The seat that acts.
            actions: Tool calls and at most one message or stop; calls after it are not executed.

        Raises:
            OutOfTurn: The seat does not have the turn at the start. Nothing is changed.
            InvalidAction: There is none, one is not an action, or two are messages or stops; nothing is
                changed. Or the message is blank; then the calls before it have been made.
        """
        self._need_turn(seat)
        read_turn(actions)
        for action in actions:
            if self._dialogue.turn == seat:
                self.act(seat, action)
                continue
            parsed = read_action(action)
            if parsed.type == "tool_call":  # answered, but neither a step nor an error: it did not happen
                message = "not executed: the turn was over before this call"
                self._dialogue.record(seat, parsed, Outcome.error("not_executed", message, counts=False))

    def reject(self, seat: Seat, why: str, call_id: str | None = None) -> None:
        """Answer something that is not an action with an error to read; it counts and the turn is kept.

        Args:
            seat: The seat that acted; it must have the turn.
            why: The message for the player.
            call_id: The id of what it did, if it was a call.
        """
        self._need_turn(seat)
        self._dialogue.step += 1
        refused = Parsed("tool_call", id=call_id)
        self._dialogue.record(seat, refused, Outcome.error("invalid_action", why))
        self._check_budgets()

    def exhaust(self, reason: str) -> None:
        """End the episode because something around it ran out, as if it were a budget: graded by its state.

        Args:
            reason: What ran out, such as "context_length"; `user_stop` if the user had stopped already.
        """
        if self.done:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        self._dialogue.exhaust(reason)

    def fail(self, reason: str) -> None:
        """End the episode because the infrastructure failed: truncated, and not scored.

        Args:
            reason: Short name of the failure, such as "simulator_error".
        """
        if self.done:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        self._dialogue.end(reason, truncated=True, unscored=True)

    # -- saving ---------------------------------------------------------------------------------------

    def reset(self, task: Task | None = None) -> None:
        """Start again, with the same task or another one, in the same world."""
        self._start(self.domain.admit(task or self.task))

    def retrace(
        self,
        calls: Iterable[tuple[Seat, str, Any]],
        *,
        reason: str = "",
        truncated: bool = False,
        unscored: bool = False,
        transcript: Transcript = (),
    ) -> None:
        """Make the calls of a saved trajectory again, without turns, and end as it ended.

        Args:
            calls: (seat, tool name, arguments) in order, failed ones included; the episode is fresh.
            reason: Why the saved episode ended; empty leaves this one under way.
            truncated: Whether a budget or a failure ended it.
            unscored: Whether the infrastructure had failed.
            transcript: What was said, for a grader that reads it.
        """
        for seat, name, arguments in calls:
            self._dialogue.errors += self.dispatcher.call(seat, name, arguments).counts
        self._dialogue.transcript = tuple(transcript)
        if reason:
            self._dialogue.end(reason, truncated=truncated, unscored=unscored)

    def close(self) -> None:
        """Give the database back; the episode cannot be used afterwards."""
        self.world.close()

    def snapshot(self) -> Snapshot:
        """Save this point."""
        dialogue = self._dialogue.copy()
        dialogue.past = self.dispatcher.past
        return Snapshot(self.domain.image.digest, self.task.hash, self.world.changeset(), dialogue)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back, or forward, to a saved point of the same task.

        Raises:
            SnapshotError: It was taken of another image or task, and nothing is changed; or it is damaged,
                and the episode is at its start.
        """
        if not isinstance(snapshot, Snapshot):
            raise SnapshotError(f"restore takes what snapshot() returned, got {type(snapshot).__name__}")
        if (snapshot.image, snapshot.task) != (self.domain.image.digest, self.task.hash):
            raise SnapshotError(
                f"the snapshot was taken of another image or task than {self.task.id!r}: restore it into an "
                "episode of the same domain and task"
            )
        try:
            self.world.restore(snapshot.changeset, self.task.state, now=self.task.now, seed=self.task.seed)
        except SnapshotError:
            self._start(self.task)
            raise
        self._dialogue = snapshot.dialogue.copy()
        self.dispatcher.past = self._dialogue.past

    def fork(self, into: Episode | None = None) -> Episode:
        """Copy this point into another episode.

        Args:
            into: An episode of the same domain to reuse; by default a new one is opened.

        Returns:
            The other episode; neither sees what the other does from here on.
        """
        if into is None:
            into = _rebuild(self.domain, self.task, self._limits)
        elif into is self or into.domain is not self.domain:
            raise SnapshotError("fork(into=...) needs another episode of the same domain")
        else:
            into._limits = self._limits
            into._start(self.task)
        into.restore(self.snapshot())
        return into

    def __reduce__(self) -> tuple[Any, ...]:
        tasks = self.domain.tasks
        known = self.task.split in tasks and tasks[self.task.split].get(self.task.id) is self.task
        task = (self.task.split, self.task.id) if known else self.task
        return _rebuild, (self.domain, task, self._limits), self.snapshot()

    def __setstate__(self, snapshot: Snapshot) -> None:
        self.restore(snapshot)

    # -- inside ---------------------------------------------------------------------------------------

    def _need_turn(self, seat: Seat) -> None:
        turn = self._dialogue.turn
        if self.world.closed:
            raise OutOfTurn("the episode is closed: open another, Episode(domain, task)")
        if turn is None:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        if turn != _seat(seat):
            raise OutOfTurn(f"it is the {turn}'s turn, not the {seat}'s")

    def _call(self, seat: Seat, action: Parsed) -> None:
        called = (seat, action.name, action.arguments)
        outcome = cut_short(action.arguments) if action.cut else self.dispatcher.call(*called)
        self._dialogue.step += 1
        self._dialogue.record(seat, action, outcome)
        if outcome.given:
            self._dialogue.show(
                "user",
                "system",
                f"You were given the tool `{outcome.given.name}`.\n{schema_text(outcome.given)}",
            )
        if outcome.ends:
            self._dialogue.end("terminal_tool")

    def _check_budgets(self) -> None:
        for spent, budget, reason in (
            (self.step, self.max_steps, "max_steps"),
            (self.errors, self.max_errors, "max_errors"),
        ):
            if self.turn is not None and spent >= budget:
                self._dialogue.exhaust(reason)


def _rebuild(domain: Domain, task: Task | tuple[str, str], limits: tuple[Any, Any, Any]) -> Episode:
    max_steps, max_errors, truncation_reward = limits
    return Episode(
        domain,
        task if isinstance(task, Task) else domain.tasks[task[0]][task[1]],
        max_steps=max_steps,
        max_errors=max_errors,
        truncation_reward=truncation_reward,
    )


def _budget(name: str, given: int | None, default: int) -> int:
    value = default if given is None else given
    if type(value) is not int or value < 1:
        raise UsageError(f"{name} should be a whole number of at least 1, got {value!r}")
    return value


def _seat(seat: str) -> Seat:
    if seat not in SEATS:
        raise UsageError(f"there is no seat {seat!r}; seats: {', '.join(SEATS)}")
    return seat
