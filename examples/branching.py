"""Branching: stop in the middle of an episode, try two continuations, compare what each would be worth.

Run: python examples/branching.py

A fork costs as much as what has changed so far, so tree search and "what if" analysis are cheap.
"""

from gym_enterprise import Action, Episode, load_domain


def call(episode: Episode, action: Action) -> None:
    """Make one reference call without a conversation."""
    episode.dispatcher.call(action.seat, action.name, action.arguments)


def main() -> tuple[float | None, float | None]:
    domain = load_domain("banking")
    task = next(task for task in domain.tasks["train"].values() if len(task.reference) > 3)
    episode = Episode(domain, task)
    *first, last = task.reference
    for action in first:
        call(episode, action)

    finished, stopped = episode.fork(), episode.fork()
    call(finished, last)

    for name, branch in (("does the last step", finished), ("stops before it", stopped)):
        grade = branch.grade()
        print(f"{name}: reward {grade.reward}, {grade.reason}")
        for kind, rows in grade.diff.items():
            for row in rows:
                print(f"    {kind}: {row['op']} {row['table']} {row['key']}")
    return finished.grade().reward, stopped.grade().reward


if __name__ == "__main__":
    main()
