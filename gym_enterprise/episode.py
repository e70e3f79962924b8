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

from gym_enterprise import strict_json
from gym_enterprise.actions import Parsed, cut, read_action, read_turn
from gym_enterprise.dispatch import Dispatcher, Outcome, schema_text
from gym_enterprise.domain import Domain, TruncationReward
from gym_enterprise.errors import InvalidAction, OutOfTurn, SnapshotError, UsageError
from gym_enterprise.grading import Grade, begin
from gym_enterprise.messages import SEATS, Call, Message, Observation, Role, Seat
from gym_enterprise.snapshot import Progress, Snapshot, Transcript
from gym_enterprise.tasks import Task
from gym_enterprise.world import World
from simulators.parsing import split_stop, strip_reasoning
from simulators.role_flip import role_flip

_INVISIBLE = " \t\r\n\u200b\u200c\u200d\u2060\ufeff"
"""Characters of which a message cannot consist alone, besides blanks."""


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
        self._progress = Progress(
            {seat: (Message(0, "system", self.domain.view(task, seat).prompt),) for seat in SEATS},
            turn=self.domain.first_speaker,
        )

    # -- reading --------------------------------------------------------------------------------------

    @property
    def turn(self) -> Seat | None:
        """The seat to move; None when the episode is over."""
        return self._progress.turn

    @property
    def step(self) -> int:
        """Messages and calls of both seats so far."""
        return self._progress.step

    @property
    def errors(self) -> int:
        """Failed calls of both seats so far."""
        return self._progress.errors

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._progress.terminated or self._progress.truncated

    @property
    def terminated(self) -> bool:
        """Whether a player or a terminal tool ended it."""
        return self._progress.terminated

    @property
    def truncated(self) -> bool:
        """Whether a budget or an infrastructure failure ended it."""
        return self._progress.truncated

    @property
    def unscored(self) -> bool:
        """Whether the infrastructure failed, so that there is no reward."""
        return self._progress.unscored

    @property
    def reason(self) -> str:
        """Why it ended; empty while it runs."""
        return self._progress.reason

    @property
    def faults(self) -> dict[str, int]:
        """Faults of the user simulator by kind, such as "role_flip"."""
        return dict(self._progress.faults)

    @property
    def transcript(self) -> Transcript:
        """All messages and calls of both seats in order, as (seat, message): for the harness, no player."""
        return self._progress.transcript

    def observe(self, seat: Seat) -> Observation:
        """Return what a seat sees: its whole history. Pure, and valid at any time for either seat.

        Args:
            seat: "agent" or "user".

        Returns:
            `messages` (tuple of `Message`), `turn` (steps so far), `your_turn` (0 or 1).
        """
        progress = self._progress
        return {
            "messages": progress.histories[_seat(seat)],
            "turn": progress.step,
            "your_turn": int(progress.turn == seat),
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
            self._speak(seat, parsed)
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
                self._said(seat, parsed)

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
            if self._progress.turn == seat:
                self.act(seat, action)
                continue
            parsed = read_action(action)
            if parsed.type == "tool_call":  # answered, but neither a step nor an error: it did not happen
                message = "not executed: the turn was over before this call"
                self._record_call(seat, parsed, Outcome.error("not_executed", message, counts=False))

    def reject(self, seat: Seat, why: str) -> None:
        """Answer something that is not an action with an error to read; it counts and the turn is kept.

        Args:
            seat: The seat that acted; it must have the turn.
            why: The message for the player.
        """
        self._need_turn(seat)
        self._progress.step += 1
        self._record_call(seat, Parsed("tool_call"), Outcome.error("invalid_action", why))
        self._check_budgets()

    def exhaust(self, reason: str) -> None:
        """End the episode because something around it ran out, as if it were a budget: graded by its state.

        Args:
            reason: What ran out, such as "context_length"; `user_stop` if the user had stopped already.
        """
        if self.done:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        closing = self._progress.closing
        self._end("user_stop" if closing else reason, truncated=not closing)

    def fail(self, reason: str) -> None:
        """End the episode because the infrastructure failed: truncated, and not scored.

        Args:
            reason: Short name of the failure, such as "simulator_error".
        """
        if self.done:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        self._end(reason, truncated=True, unscored=True)

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
            self._progress.errors += self.dispatcher.call(seat, name, arguments).counts
        self._progress.transcript = tuple(transcript)
        if reason:
            self._end(reason, truncated=truncated, unscored=unscored)

    def close(self) -> None:
        """Give the database back; the episode cannot be used afterwards."""
        self.world.close()

    def snapshot(self) -> Snapshot:
        """Save this point."""
        progress = self._progress.copy()
        progress.past = self.dispatcher.past
        return Snapshot(self.domain.image.digest, self.task.hash, self.world.changeset(), progress)

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
        self._progress = snapshot.progress.copy()
        self.dispatcher.past = self._progress.past

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
        turn = self._progress.turn
        if turn is None:
            raise OutOfTurn(f"the episode is over ({self.reason}): reset() starts a new one")
        if turn != _seat(seat):
            raise OutOfTurn(f"it is the {turn}'s turn, not the {seat}'s")

    def _speak(self, seat: Seat, action: Parsed) -> None:
        progress = self._progress
        own, text, stops = self._said(seat, action)
        if _blank(text):
            self._end("user_stop" if progress.closing else f"{seat}_stop")
            return
        text = cut(text) if progress.held[seat] else text
        progress.held[seat] = ""
        progress.step += 1
        for reader in SEATS:
            self._append(reader, seat, text if reader != seat or _blank(own) else own)
        progress.transcript += ((seat, progress.histories[seat][-1]),)
        if seat == "user" and role_flip(text):
            progress.faults["role_flip"] = progress.faults.get("role_flip", 0) + 1
        if seat == "agent" and (progress.closing or stops):
            self._end("user_stop" if progress.closing else "agent_stop")
            return
        progress.closing = stops
        progress.turn = "agent" if seat == "user" else "user"

    def _said(self, seat: Seat, action: Parsed) -> tuple[str, str, bool]:
        """Return a message in its speaker's history, as it is delivered, and whether it stops."""
        own, _ = split_stop(_without_reasoning(action.content), self.domain.stop_tokens)
        text = _joined(self._progress.held[seat], _without_reasoning(action.content))
        text, stops = split_stop(text, self.domain.stop_tokens)
        stops = stops or action.type == "stop"
        if _blank(text) and not stops:
            raise InvalidAction("the message is blank: say something, call a tool, or stop")
        return own, text, stops

    def _call(self, seat: Seat, action: Parsed) -> None:
        outcome = self.dispatcher.call(seat, action.name, action.arguments)
        self._progress.step += 1
        self._record_call(seat, action, outcome)
        if outcome.given:
            self._append(
                "user",
                "system",
                f"You were given the tool `{outcome.given.name}`.\n{schema_text(outcome.given)}",
            )
        if outcome.ends:
            self._end("terminal_tool")

    def _record_call(self, seat: Seat, action: Parsed, outcome: Outcome) -> None:
        progress = self._progress
        progress.calls += 1
        progress.errors += outcome.counts
        said = _without_reasoning(action.content)
        # With its stop tokens: one that is said beside a call stops with this seat's next message.
        progress.held[seat] = cut(_joined(progress.held[seat], said))
        said, _ = split_stop(said, self.domain.stop_tokens)
        name = action.name if isinstance(action.name, str) else ""
        call = Call(action.id or f"call_{progress.calls}", name, strict_json.recorded(action.arguments))
        entries: tuple[tuple[Role, str], ...] = ((seat, said), ("tool", outcome.text))
        for role, text in entries:
            self._append(seat, role, text, call)
            progress.transcript += ((seat, progress.histories[seat][-1]),)

    def _append(self, reader: Seat, role: Role, text: str, call: Call | None = None) -> None:
        history = self._progress.histories[reader]
        self._progress.histories[reader] = (*history, Message(len(history), role, text, call))

    def _check_budgets(self) -> None:
        progress = self._progress
        if progress.turn is None:
            return
        for spent, budget, reason in (
            (progress.step, self.max_steps, "max_steps"),
            (progress.errors, self.max_errors, "max_errors"),
        ):
            if spent >= budget:
                self.exhaust(reason)
                return

    def _end(self, reason: str, *, truncated: bool = False, unscored: bool = False) -> None:
        progress = self._progress
        progress.turn, progress.reason, progress.unscored = None, reason, unscored
        progress.terminated, progress.truncated = not truncated, truncated


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


def _without_reasoning(text: str) -> str:
    return strip_reasoning(text) if "<think>" in text else text


def _blank(text: str) -> bool:
    return not text.strip(_INVISIBLE).strip()


def _joined(first: str, second: str) -> str:
    return "\n\n".join(part for part in (first, second) if not _blank(part))
