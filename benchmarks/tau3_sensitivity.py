"""What changes of the reference the benchmark's reward notices: ours beside the published counts.

Run: python benchmarks/tau3_sensitivity.py [--data DIR]

Needs the benchmark's data, see docs/tau3.md. Each task with a DB part is replayed with one change, and its
final state compared with the target. The published counts are over the 88 such tasks of the whole benchmark;
a folder may hold fewer. Exits with 1 when a direction differs: all, none, or the greater part of the tasks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from gym_enterprise import Action, Domain, Episode, Task, UsageError, load_domain
from gym_enterprise.domains.tau3_banking import canonical_hash
from gym_enterprise.domains.tau3_banking.grading import parts
from gym_enterprise.domains.tau3_banking.tools.catalogue import AGENTS, USERS

CALL, UNLOCK = "call_discoverable_agent_tool", "unlock_discoverable_agent_tool"
GIVE = "give_discoverable_user_tool"
Change = Callable[[Task], Sequence[Action]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="the benchmark's data; default: what TAU3_BANKING_DATA names")
    options = parser.parse_args()
    try:
        domain = load_domain("tau3_banking", data_dir=options.data)
    except UsageError as error:
        print(f"skipped: {error}")
        return
    rows = table(domain)
    count = rows[0][1] + rows[0][2]
    print(f"{'change of the reference':34} {'still matches':>14} {'breaks':>8}   published of 88")
    for name, same, breaks, published in rows:
        print(f"{name:34} {same:14} {breaks:8}   {published[0]:3} {published[1]:3}")
    wrong = [name for name, same, _, published in rows if not same_direction(same, count, published[0])]
    print(f"directions that differ: {', '.join(wrong) or 'none'} (over {count} tasks)")
    sys.exit(bool(wrong))


Row = tuple[str, int, int, tuple[int, int]]


def table(domain: Domain) -> list[Row]:
    """Return for each change how many tasks still match and how many break, here and as published."""
    tasks = [task for task in domain.tasks["test"].values() if "DB" in parts(task)]
    rows: list[Row] = []
    for name, (change, published) in CHANGES.items():
        same = sum(unchanged(domain, task, change(task)) for task in tasks)
        rows.append((name, same, len(tasks) - same, published))
    free = sum(no_read_is_recorded(domain, task) for task in tasks)
    rows.append(("no read is recorded on either side", free, len(tasks) - free, (37, 51)))
    return rows


def unchanged(domain: Domain, task: Task, actions: Sequence[Action]) -> bool:
    episode = Episode(domain, task)
    for action in actions:
        episode.dispatcher.call(action.seat, action.name, action.arguments)
    same = bool(episode.grade().checks["db"])
    episode.close()
    return same


def no_read_is_recorded(domain: Domain, task: Task) -> bool:
    """Say whether the target stays the same when the task records no reads."""
    state = task.state.model_copy(update={"insert": {**task.state.insert, "recorded_reads": ()}})
    hashes = []
    for played in (task, task.model_copy(update={"state": state})):
        episode = Episode(domain, played)
        for action in task.reference:
            episode.dispatcher.call(action.seat, action.name, action.arguments)
        hashes.append(canonical_hash(episode.world))
        episode.close()
    return hashes[0] == hashes[1]


def same_direction(same: int, count: int, published: int) -> bool:
    """Say whether all, none, or else the greater part of the tasks still match, as published."""
    if published in (0, 88):
        return same == (count if published else 0)
    return (2 * same > count) == (2 * published > 88)


def without(drop: Callable[[Action], bool]) -> Change:
    return lambda task: [action for action in task.reference if not drop(action)]


def is_read(action: Action) -> bool:
    return action.name == CALL and not AGENTS[action.arguments["agent_tool_name"]].writes


def is_base_read(action: Action) -> bool:
    reads = ("get_referrals_by_user", "get_credit_card_accounts_by_user", "transfer_to_human_agents")
    return action.name in reads


def named(task: Task, key: str) -> set[str]:
    return {str(action.arguments.get(key)) for action in task.reference}


def failing_write(task: Task) -> list[Action]:
    """A write that the reference does not use is unlocked, and refused for a bad argument."""
    unused = next(
        name
        for name, item in AGENTS.items()
        if item.writes and item.required and name not in named(task, "agent_tool_name")
    )
    blanks = "{" + ", ".join(f'"{name}": ""' for name in AGENTS[unused].required) + "}"
    call = {"agent_tool_name": unused, "arguments": blanks}
    unlock = Action(name=UNLOCK, arguments={"agent_tool_name": unused})
    return [*task.reference, unlock, Action(name=CALL, arguments=call)]


def extra_unlock(task: Task) -> list[Action]:
    unused = next(name for name in AGENTS if name not in named(task, "agent_tool_name"))
    return [*task.reference, Action(name=UNLOCK, arguments={"agent_tool_name": unused})]


def extra_give(task: Task) -> list[Action]:
    unused = [name for name in USERS if name not in named(task, "discoverable_tool_name")]
    give = [Action(name=GIVE, arguments={"discoverable_tool_name": name}) for name in unused[:1]]
    return [*task.reference, *give]


CHANGES: dict[str, tuple[Change, tuple[int, int]]] = {
    "no discoverable reads": (without(is_read), (37, 51)),
    "no log_verification": (without(lambda action: action.name == "log_verification"), (8, 80)),
    "no calls of the user": (without(lambda action: action.seat == "user"), (40, 48)),
    "no listed reads, no hand-over": (without(is_base_read), (88, 0)),
    "no unlocks": (without(lambda action: action.name == UNLOCK), (23, 65)),
    "the reference twice": (lambda task: [*task.reference, *task.reference], (75, 13)),
    "one more write, refused": (failing_write, (0, 88)),
    "one more unlock": (extra_unlock, (88, 0)),
    "one more give, not needed": (extra_give, (1, 87)),
}
"""Changes, with how many of 88 tasks still match and break as published."""


if __name__ == "__main__":
    main()
