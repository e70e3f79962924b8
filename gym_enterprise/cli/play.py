"""`gym-enterprise play`: a person in either seat."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gym_enterprise.cli.desk import Desk
    from gym_enterprise.domain import Domain
    from gym_enterprise.episode import Episode
    from gym_enterprise.messages import Seat
    from gym_enterprise.tasks import Task


def play(
    domain: str = typer.Argument("banking", help='A domain\'s name, or an entry point "module:function".'),
    role: str = typer.Option("agent", help='Your seat: "agent" or "user".'),
    task_id: str = typer.Option(None, "--task", help="The task; by default one of the training split."),
    seed: int = typer.Option(0, help="Of the task that is drawn, and of the other player."),
    partner: str = typer.Option(
        None, help='Who plays the other seat, such as "scripted", "oracle" or "openai:MODEL@URL".'
    ),
    retrieval: str = typer.Option(
        None, help="How searches rank, such as bm25, dense or hybrid; default: the domain's."
    ),
) -> None:
    """Play a task yourself: talk, call tools, read documents, and see the grade at the end.

    What you type is said; what begins with a slash is a tool or a command: /help lists them.
    """
    from gym_enterprise.cli.desk import Desk
    from gym_enterprise.episode import Episode
    from gym_enterprise.errors import UsageError
    from gym_enterprise.messages import SEATS
    from gym_enterprise.registry import load_domain

    seat = next((one for one in SEATS if one == role), None)
    if seat is None:
        raise UsageError(f"--role should be agent or user, got {role!r}")
    loaded = load_domain(domain, **({"retrieval": retrieval} if retrieval else {}))
    task = loaded.task(task_id) if task_id else _drawn(loaded, seed)
    episode = Episode(loaded, task)
    desk = Desk(episode, seat, domain)
    desk.open()
    if _played(episode, seat, desk, partner or _partner(task, seat), seed):
        desk.close()
    else:
        typer.echo("left before the end: nothing is graded")


def _drawn(domain: Domain, seed: int) -> Task:
    tasks = next(iter(domain.tasks.values()))
    return tasks[random.Random(seed).choice(sorted(tasks))]


def _partner(task: Task, seat: Seat) -> str:
    if seat == "user":
        return "oracle"
    return "scripted" if task.user.script else "replay"


def _played(episode: Episode, seat: Seat, desk: Desk, partner: Any, seed: int) -> bool:
    """Take turns until the end; say whether it was reached."""
    from gym_enterprise.errors import InvalidAction, SimulatorError
    from gym_enterprise.seating import derive_seed, seat_player, take_turn

    other: Seat = "user" if seat == "agent" else "agent"
    player = seat_player(partner, episode, other, derive_seed(seed, episode.task.id, 0, other))
    while not episode.done:
        if episode.turn == other:
            try:
                take_turn(episode, other, player)
            except SimulatorError as error:
                episode.fail("simulator_error" if other == "user" else "agent_error")
                typer.echo(f"the other player failed: {error}", err=True)
            continue
        desk.show_new()
        action = desk.ask()
        if action is None:
            return False
        try:
            episode.act(seat, action)
        except InvalidAction as error:
            desk.tell(str(error))
    desk.show_new()
    return True
