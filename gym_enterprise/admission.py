"""What a task must pass before it may train or judge anybody.

===========  ==========================================================================================
check        passes when
===========  ==========================================================================================
reference    all its calls work; it scores 1, replayed and in conversation; a second pass is consistent
attack       it scores 0, wherever the task's declared knobs say that it applies
inverse      another way to do the same still scores 1
===========  ==========================================================================================

Whether an attack applies is decided from `meta.knobs`, never from the reward. Every grade here is given by
both graders. The attacks of the core are *silent*, *claims*, *half_done* and *blanket*; a domain adds more.

====================  ==================================================================================
knob                  what it declares
====================  ==================================================================================
writes                number of actions that change the state; checked against the reference
siblings              rows that the writes could hit besides; needed when a write names a row by a `Key`
graded_state          false where calls are rewarded and the state is not; default true
needs_judge           true where a grade takes a judge; a check without a grade then does not apply
====================  ==================================================================================
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from gym_enterprise.dispatch import Dispatcher, Outcome
from gym_enterprise.domain import Domain
from gym_enterprise.episode import Episode
from gym_enterprise.errors import TaskError
from gym_enterprise.grading import Grade, Grader
from gym_enterprise.harness.rollout import run_episode
from gym_enterprise.impostors import Claims, Silent
from gym_enterprise.spelling import respell
from gym_enterprise.tasks import Action, Task

UNPLAYED = ("knobs", "calls")
"""Checks that look at a task without playing an episode, so that there is no reward."""

ORDERS = 5
"""Random orders of the reference that are tried."""


@dataclass(frozen=True)
class Check:
    """One check of one task."""

    task_id: str
    kind: Literal["reference", "attack", "inverse"]
    """What is tried."""
    name: str
    """Which one; the attack "domain" stands for attacks that could not be made."""
    applicable: bool
    reward: float | None = None
    """What it scored; None when it does not apply or is not scored."""
    ok: bool = True
    detail: str = ""
    """Why it failed, or what it did."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self)


def check_task(domain: Domain, task: Task) -> list[Check]:
    """Run every check on one task.

    Args:
        domain: The task's domain.
        task: The task.

    Returns:
        The checks, in a fixed order.
    """
    try:
        domain.admit(task)
    except TaskError as error:
        return [Check(task.id, "reference", "replay", True, None, False, str(error))]
    bench = _Bench(domain, task)
    checks = [
        bench.check_knobs(),
        bench.check_calls(),
        bench.check("reference", "replay", 1.0, lambda: bench.play(task.reference)),
        bench.check("reference", "conversation", 1.0, bench.converse),
        bench.check("reference", "consistency", 1.0, bench.replay_twice),
    ]
    try:
        attacks = bench.attacks()
    except Exception as error:  # the domain's own code, fed with the task's knobs
        checks.append(Check(task.id, "attack", "domain", True, None, False, _raised(error)))
        attacks = bench.core_attacks()
    for name, attack in attacks.items():
        checks.append(bench.check("attack", name, 0.0, attack))
    for name, inverse in bench.inverses().items():
        checks.append(bench.check("inverse", name, 1.0, inverse))
    return checks


def summarise(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Count checks by kind and name: applicable, reward 1 (None where nothing is played), n/a, failed."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for check in checks:
        row = rows.setdefault(
            (check.kind, check.name),
            {
                "kind": check.kind,
                "name": check.name,
                "applicable": 0,
                "reward_1": None if check.name in UNPLAYED else 0,
                "not_applicable": 0,
                "failed": 0,
            },
        )
        row["applicable" if check.applicable else "not_applicable"] += 1
        if check.reward == 1.0:
            row["reward_1"] += 1
        row["failed"] += not check.ok
    return list(rows.values())


Trial = Callable[[], Grade | None]
"""Plays something and returns its grade; None when it does not apply."""


class _Bench:
    """Plays one task in many ways, in one episode that is reset each time."""

    def __init__(self, domain: Domain, task: Task) -> None:
        self._domain, self._task = domain, task
        self._episode = Episode(domain, task, max_steps=10_000, max_errors=10_000)
        self._effective = self._find_effective()
        self._user = "scripted" if task.user.script else "replay"
        self._by_state = bool(task.meta.knobs.get("graded_state", True))

    def check(
        self, kind: Literal["reference", "attack", "inverse"], name: str, wanted: float, trial: Trial
    ) -> Check:
        try:
            grade = trial()
        except Exception as error:  # one broken check must not hide what the others find
            return Check(self._task.id, kind, name, True, None, False, _raised(error))
        if grade is None:
            return Check(self._task.id, kind, name, False)
        if grade.reward is None and self._task.meta.knobs.get("needs_judge"):
            return Check(self._task.id, kind, name, False, detail=grade.reason)
        ok = grade.reward == wanted
        differs = f"; {json.dumps(grade.diff)}" if grade.reward == 0.0 else ""
        detail = "" if ok else f"reward {grade.reward}: {grade.reason}{differs}"
        return Check(self._task.id, kind, name, True, grade.reward, ok, detail)

    def check_knobs(self) -> Check:
        """The declared knobs are of their types and true, since they decide which attacks apply."""
        knobs = self._task.meta.knobs
        faults = [
            f"{name} should be a whole number of at least 0, got {knobs[name]!r}"
            for name in ("writes", "siblings")
            if name in knobs and (type(knobs[name]) is not int or knobs[name] < 0)
        ]
        changing = len(self._effective)
        if not faults and knobs.get("writes", changing) != changing:
            faults.append(
                f"writes says {knobs['writes']}, but {changing} actions of the reference change the state"
            )
        if knobs.get("graded_state", True) is not True and type(self._domain.grader) is Grader:
            faults.append("graded_state is declared, but this domain's grader rewards the state alone")
        keyed = any(self._keys(self._task.reference[index]) for index in self._effective)
        if "siblings" not in knobs and keyed:
            faults.append(
                "siblings is not declared: say how many other rows the writes could hit, 0 for none"
            )
        elif knobs.get("siblings") == 0 and keyed and self._overdo():
            faults.append("siblings says 0, but a write of the reference works on other rows: count them")
        return Check(self._task.id, "reference", "knobs", True, None, not faults, "; ".join(faults))

    def check_calls(self) -> Check:
        """Every call of the reference works: not even a refusal that keeps its records is right in one."""
        dispatcher = self._fresh()
        refused = []
        for index, action in enumerate(self._task.reference):
            outcome = _run(dispatcher, action)
            if not outcome.ok:
                refused.append(f"call {index} of {action.name!r} is refused: {_message(outcome)}")
        return Check(self._task.id, "reference", "calls", True, None, not refused, "; ".join(refused))

    def play(self, actions: Sequence[Action]) -> Grade:
        """Run calls without turns; what fails is passed over, as an agent might."""
        dispatcher = self._fresh()
        for action in actions:
            if _run(dispatcher, action).ends:
                break
        return self._episode.grade(audit=True)

    def converse(self) -> Grade:
        episode = Episode(self._domain, self._task, world=self._episode.world)
        return run_episode(episode, "oracle", self._user, audit=True).grade

    def replay_twice(self) -> Grade:
        """A second pass keeps reward 1 exactly when it changed no graded row, or where calls are rewarded."""
        first = self.play(self._task.reference)
        before = self._episode.world.changes()
        for action in self._task.reference:
            _run(self._episode.dispatcher, action)
        second = self._episode.grade(audit=True)
        same = self._episode.world.changes() == before
        if first.reward == 1.0 and second.reward != float(same or not self._by_state):
            did = "changed nothing" if same else "did work again"
            raise _StepFailed(f"the second pass {did}, and scores {second.reward}")
        return first

    # -- attacks --------------------------------------------------------------------------------------

    def attacks(self) -> dict[str, Trial]:
        own = {
            name: (lambda actions=actions: None if actions is None else self.play(actions))
            for name, actions in self._domain.attacks(self._task).items()
        }
        return self.core_attacks() | own

    def core_attacks(self) -> dict[str, Trial]:
        return {
            "silent": lambda: self._talk(Silent),
            "claims": lambda: self._talk(Claims),
            "half_done": self._half_done,
            "blanket": self._blanket,
        }

    def _talk(self, player: type) -> Grade:
        episode = Episode(self._domain, self._task, world=self._episode.world)
        return run_episode(episode, player, self._user, audit=True).grade

    def _half_done(self) -> Grade | None:
        writes = self._task.meta.knobs.get("writes", len(self._effective))
        if not self._by_state or type(writes) is not int or writes < 2 or not self._effective:
            return None
        last = self._effective[-1]
        return self.play([a for index, a in enumerate(self._task.reference) if index != last])

    def _blanket(self) -> Grade | None:
        """Do each write to every row that it could be done to."""
        if not self._task.meta.knobs.get("siblings", 0):
            return None
        if not self._overdo():
            raise _StepFailed(
                "no write of the reference works on another row: declare the knob `siblings` as 0"
            )
        return self._episode.grade(audit=True)

    def _overdo(self) -> bool:
        """Play the reference, each write done to every other row too; say whether that changed anything."""
        dispatcher = self._fresh()
        changed = False
        for index, action in enumerate(self._task.reference):
            if _run(dispatcher, action).ends:
                break
            before = self._episode.world.changes()
            for sibling in self._siblings(action) if index in self._effective else ():
                _run(dispatcher, sibling)
            changed |= self._episode.world.changes() != before
        return changed

    def _keys(self, action: Action) -> Mapping[str, str]:
        tool = self._domain.toolsets[action.seat].get(action.name)
        return tool.keys if tool else {}

    def _siblings(self, action: Action) -> Iterator[Action]:
        for argument, column in self._keys(action).items():
            table, _, name = column.partition(".")
            rows = self._episode.world.query(f'SELECT DISTINCT "{name}" AS key FROM "{table}" ORDER BY 1')
            for row in rows:
                if row["key"] != action.arguments.get(argument):
                    arguments = {**action.arguments, argument: row["key"]}
                    yield action.model_copy(update={"arguments": arguments})

    # -- inverses -------------------------------------------------------------------------------------

    def inverses(self) -> dict[str, Trial]:
        return {
            "reordered": self._reordered,
            "extra_reads": self._extra_reads,
            "spellings": self._spellings,
            "undo_redo": self._undo_redo,
            "chatter": self._chatter,
        }

    def _reordered(self) -> Grade | None:
        draw = random.Random(self._task.hash)
        orders = {self._random_order(draw): None for _ in range(ORDERS)}
        orders.pop(tuple(range(len(self._task.reference))), None)
        grades = [self.play([self._task.reference[index] for index in order]) for order in orders]
        return next((grade for grade in grades if grade.reward != 1.0), grades[0]) if grades else None

    def _random_order(self, draw: random.Random) -> tuple[int, ...]:
        order: list[int] = []
        waiting = list(range(len(self._task.reference)))
        while waiting:
            ready = [i for i in waiting if all(before in order for before in self._task.predecessors(i))]
            order.append(draw.choice(ready))
            waiting.remove(order[-1])
        return tuple(order)

    def _extra_reads(self) -> Grade:
        """After each action, repeat all earlier ones that change nothing graded, and search besides."""
        dispatcher = self._fresh()
        for index, action in enumerate(self._task.reference):
            if self._do(dispatcher, action).ends:
                break
            for earlier in range(index + 1):
                if earlier not in self._effective:
                    _run(dispatcher, self._task.reference[earlier])
            if self._domain.documents:
                dispatcher.call("agent", "kb_search", {"query": self._domain.documents[0].title})
        return self._episode.grade(audit=True)

    def _spellings(self) -> Grade | None:
        """Write every number another way: 33 as 33.0, 33.5 as 3.35e1."""
        plain = [json.dumps(action.arguments) for action in self._task.reference]
        spelt = [respell(action.arguments) for action in self._task.reference]
        if plain == spelt:
            return None
        dispatcher = self._fresh()
        for action, text in zip(self._task.reference, spelt, strict=True):
            outcome = dispatcher.call(action.seat, action.name, text)
            _must_work(outcome, action)
        return self._episode.grade(audit=True)

    def _undo_redo(self) -> Grade | None:
        dispatcher = self._fresh()
        undone = False
        for index, action in enumerate(self._task.reference):
            inverse = self._domain.undo(self._episode.world, action) if index in self._effective else None
            self._do(dispatcher, action)
            if inverse is not None:
                undone = True
                self._do(dispatcher, inverse)
                self._do(dispatcher, action)
        return self._episode.grade(audit=True) if undone else None

    def _chatter(self) -> Grade:
        """Talk before every action, in turns."""
        self._episode.reset()
        for action in self._task.reference:
            for _ in range(4):
                seat = self._episode.turn
                assert seat is not None
                self._episode.act(seat, {"type": "message", "content": "One moment, please."})
            if self._episode.turn != action.seat:
                assert self._episode.turn is not None
                self._episode.act(self._episode.turn, {"type": "message", "content": "Go on."})
            call = {"type": "tool_call", "name": action.name, "arguments": action.arguments}
            self._episode.act(action.seat, call)
        return self._episode.grade(audit=True)

    # -- inside ---------------------------------------------------------------------------------------

    def _fresh(self) -> Dispatcher:
        self._episode.reset()
        return self._episode.dispatcher

    def _find_effective(self) -> list[int]:
        """Return the indices of the reference actions that change graded rows."""
        dispatcher = self._fresh()
        effective = []
        before = self._episode.world.changes()
        for index, action in enumerate(self._task.reference):
            self._do(dispatcher, action)
            after = self._episode.world.changes()
            if after != before:
                effective.append(index)
            before = after
        return effective

    def _do(self, dispatcher: Dispatcher, action: Action) -> Outcome:
        outcome = _run(dispatcher, action)
        _must_work(outcome, action)
        return outcome


class _StepFailed(Exception):
    """Something that should work did not."""


def _run(dispatcher: Dispatcher, action: Action) -> Outcome:
    return dispatcher.call(action.seat, action.name, action.arguments)


def _raised(error: Exception) -> str:
    known = isinstance(error, TaskError | _StepFailed)
    return str(error) if known else f"raised {type(error).__name__}: {error}"


def _must_work(outcome: Outcome, action: Action) -> None:
    if outcome.counts:
        raise _StepFailed(f"the call of {action.name!r} fails: {_message(outcome)}")


def _message(outcome: Outcome) -> str:
    return str(outcome.to_dict()["error"]["message"])
