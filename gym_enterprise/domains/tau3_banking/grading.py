"""The benchmark's reward: a product of parts, on the live state and the calls that were made.

====================  =====================================================================================
part                  1 when
====================  =====================================================================================
DB                    the final state equals the one that the reference leads to
ACTION                each action of the reference has a call like it (`matched`)
NL_ASSERTION          a judge finds that the conversation bears the task's assertions out
COMMUNICATE           always: no task of the benchmark has anything to communicate
====================  =====================================================================================

The task names its parts. An episode that ended otherwise than by a player's stop earns 0; one that is still
under way, such as a reference replayed without turns, is graded as if a player stopped now. A task with an
NL_ASSERTION is scored only when there is a judge and the episode is over.

`Grade.checks` holds `db` and `action` for every task, whatever its parts; `strict`, whether the reward would
be 1 if ACTION were matched as in `strictly_matched`; and `judged`, what the judge said, None if not asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gym_enterprise.changes import ChangeSet
from gym_enterprise.dialogue import Transcript
from gym_enterprise.dispatch import MadeCall
from gym_enterprise.grading import Grade, Grader
from gym_enterprise.messages import Seat
from gym_enterprise.tasks import Action, Task

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.episode import Episode

Judge = Callable[[Transcript, Sequence[str]], bool]
"""Says whether a conversation bears out all of some assertions."""

STOPS = ("user_stop", "agent_stop")
"""How an episode has to end to earn anything."""


class BenchmarkGrader(Grader):
    """Grades as the benchmark does, and beside it more strictly.

    Args:
        domain: The domain.
        judge: For tasks with assertions, which are not scored without one; asked at each grading of an
            episode that is over and whose other parts are right.
    """

    def __init__(self, domain: Domain, judge: Judge | None = None) -> None:
        super().__init__(domain)
        self._judge = judge

    def grade(self, episode: Episode, *, audit: bool = False) -> Grade:
        """Grade an episode as it stands; see the module's text, and `Grader.grade`."""
        state = super().grade(episode, audit=audit)
        if episode.unscored:
            return state
        task, calls = episode.task, episode.dispatcher.made
        found = {"DB": bool(state.checks["state"]), "ACTION": matched(task, calls)}
        faults = {
            "DB": state.reason,
            "ACTION": "an action of the reference has no call like it",
            "NL_ASSERTION": "the judge does not find the assertions borne out",
        }
        failed = [faults[part] for part in parts(task) if not found.get(part, True)]
        if not _stopped(episode):
            failed.insert(0, f"ended by {episode.reason}, which earns 0 here")
        checks = {
            **state.checks,
            "db": found["DB"],
            "action": found["ACTION"],
            "strict": None,
            "judged": None,
        }
        if "NL_ASSERTION" in parts(task):
            if self._judge is None or not episode.done:
                return Grade(None, "not scored: it needs a judge, and an end", state.diff, checks)
            if not failed:
                checks["judged"] = bool(self._judge(episode.transcript, task.meta.knobs["assertions"]))
                failed += [] if checks["judged"] else [faults["NL_ASSERTION"]]
        checks["strict"] = not failed and ("ACTION" not in parts(task) or strictly_matched(task, calls))
        reason = "; ".join(failed) or f"as in the reference: {', '.join(parts(task))}"
        return Grade(float(not failed), reason, state.diff, checks)

    def _target(self, task: Task, name: str, actions: Sequence[Action]) -> ChangeSet:
        # Where calls are rewarded, doing nothing is not right even if the reference changes nothing.
        if "ACTION" in parts(task):
            return self._replayed(task, name, actions).changes()
        return super()._target(task, name, actions)


def parts(task: Task) -> Sequence[str]:
    """Return the parts of a task's reward."""
    return task.meta.knobs.get("reward_basis", ("DB",))  # type: ignore[no-any-return]


def matched(task: Task, calls: Sequence[MadeCall]) -> bool:
    """Say whether each action of the reference has a call like it, as the benchmark means it.

    Alike are a call and an action of one name, with equal values for the arguments that the task compares or,
    where it names none, for those that the *call* has. Who made it, whether it worked, the order, and whether
    two actions share one call make no difference.

    Args:
        task: The task.
        calls: All calls of both seats.
    """
    made = [(call.name, call.arguments) for call in calls]

    def alike(action: Action, keys: Sequence[str] | None, name: str, given: dict[str, Any]) -> bool:
        return name == action.name and _only(given, keys, given) == _only(action.arguments, keys, given)

    return all(any(alike(action, keys, *call) for call in made) for action, keys in _compared(task))


def strictly_matched(task: Task, calls: Sequence[MadeCall]) -> bool:
    """Say whether each action of the reference has a call of its own that did the same.

    Such a call worked, was made by the action's seat, and has equal values for the arguments that the task
    compares or, where it names none, for those that the *action* has. Text that holds a JSON object or array
    counts as what it holds.

    Args:
        task: The task.
        calls: All calls of both seats.
    """
    made = [(call.seat, call.name, call.arguments) for call in calls if call.ok]

    def alike(
        action: Action, keys: Sequence[str] | None, seat: Seat, name: str, given: dict[str, Any]
    ) -> bool:
        wanted = action.arguments
        same_tool = (seat, name) == (action.seat, action.name)
        return same_tool and _same(_only(given, keys, wanted), _only(wanted, keys, wanted))

    return _all_placed(
        [
            [number for number, call in enumerate(made) if alike(action, keys, *call)]
            for action, keys in _compared(task)
        ]
    )


def _compared(task: Task) -> list[tuple[Action, Sequence[str] | None]]:
    """Return the reference, each action with the arguments that the task compares (None: it names none)."""
    keys = task.meta.knobs.get("compare_args") or [None] * len(task.reference)
    return list(zip(task.reference, keys, strict=True))


def _only(arguments: dict[str, Any], keys: Sequence[str] | None, default: dict[str, Any]) -> dict[str, Any]:
    wanted = default if keys is None else keys
    return {key: value for key, value in arguments.items() if key in wanted}


def _same(left: Any, right: Any) -> bool:
    left, right = _opened(left), _opened(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _opened(value: Any) -> Any:
    """Return what text holds when that is a JSON object or array, and anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _all_placed(choices: Sequence[Sequence[int]]) -> bool:
    """Say whether each item can have a number of its own out of its choices (a bipartite matching)."""
    holders: dict[int, int] = {}

    def place(item: int, tried: set[int]) -> bool:
        for number in choices[item]:
            if number not in tried:
                tried.add(number)
                if number not in holders or place(holders[number], tried):
                    holders[number] = item
                    return True
        return False

    return all(place(item, set()) for item in range(len(choices)))


def _stopped(episode: Episode) -> bool:
    """Say whether an episode ended in a way that can earn something, or has not ended."""
    by_state = episode.truncated and episode.truncation_reward == "state"
    return not episode.done or episode.reason in STOPS or by_state
