"""Who sits in a seat: players by name, class or instance, asked in a way that survives their faults."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from gym_enterprise.errors import InvalidAction, SimulatorError, UsageError
from gym_enterprise.messages import Seat
from simulators import OraclePlayer, Player, ReplayUser, ScriptedUser

if TYPE_CHECKING:
    from gym_enterprise.episode import Episode

ATTEMPTS = 3
"""How often a simulated user is asked for one turn before the episode is given up as unscored."""

_NAMED: dict[str, dict[Seat, type]] = {
    "scripted": {"user": ScriptedUser},
    "replay": {"user": ReplayUser},
    "oracle": {"agent": OraclePlayer},
}
_log = logging.getLogger("gym_enterprise")


def derive_seed(run_seed: int, task_id: str, trial: int, seat: str) -> int:
    """Return the seed of one player in one trial: 63 bits of SHA-256 over the four values.

    Args:
        run_seed: Seed of the run.
        task_id: The task.
        trial: Number of the trial, from 0.
        seat: The seat.

    Returns:
        An integer of at least 0 and below 2**63.

    Example:
        >>> derive_seed(0, "t", 0, "user") != derive_seed(0, "t", 1, "user")
        True
    """
    text = f"{run_seed}\x1f{task_id}\x1f{trial}\x1f{seat}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def check_player(spec: Any, seat: Seat) -> None:
    """Raise `UsageError` when `seat_player` would not accept this specification."""
    if isinstance(spec, str):
        _named(spec, seat)
    elif not callable(getattr(spec, "act", None)):
        raise UsageError(
            f"a player has a method act(observation) -> action; got {spec!r}. Pass a name "
            f"({_names(seat)}), a class or an instance"
        )


def seat_player(spec: Any, episode: Episode, seat: Seat, seed: int) -> Player:
    """Return the player for a seat of one episode.

    Args:
        spec: A name, a player class or an instance. A class is built with the seat's view and a seed; one
            with `sees_task = True` (oracle and replay players) gets the whole task.
        episode: The episode.
        seat: The seat.
        seed: The player's seed.

    Returns:
        The player.

    Raises:
        UsageError: The specification is none of these.
    """
    check_player(spec, seat)
    if isinstance(spec, str):
        spec = _named(spec, seat)
    if not isinstance(spec, type):
        return spec  # type: ignore[no-any-return]
    sees = episode.task if getattr(spec, "sees_task", False) else episode.domain.view(episode.task, seat)
    return spec(sees, seed)  # type: ignore[no-any-return]


def take_turn(episode: Episode, seat: Seat, player: Player) -> None:
    """Let a player take one action.

    A user that gives nothing usable is asked again, `ATTEMPTS` times in all; an agent's unusable action is
    answered by an error that it can read.

    Args:
        episode: The episode; the seat has the turn.
        seat: The seat.
        player: Who sits in it.

    Raises:
        SimulatorError: The user gave nothing usable, or a player raised. The caller ends the episode.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            action = player.act(episode.observe(seat))
        except Exception as error:
            _log.exception("the %s player failed in task %s", seat, episode.task.id)
            raise SimulatorError(f"the {seat} player raised {type(error).__name__}: {error}") from error
        try:
            episode.act(seat, action)
            return
        except InvalidAction as error:
            if seat == "agent":
                episode.reject(seat, str(error))
                return
            if attempt == ATTEMPTS:
                raise SimulatorError(f"{ATTEMPTS} unusable actions of the user, the last: {error}") from error


def _named(spec: str, seat: Seat) -> type:
    name = spec.partition(":")[0]
    if name in _NAMED and seat in _NAMED[name]:
        return _NAMED[name][seat]
    if name in ("openai", "hf", "vllm"):
        raise UsageError(
            f"{spec!r}: players backed by a language model are not part of this version; pass a player class "
            f"or instance of your own, or one of: {_names(seat)}"
        )
    raise UsageError(f"there is no {seat} player {spec!r}; by name: {_names(seat)}")


def _names(seat: Seat) -> str:
    return ", ".join(repr(name) for name, seats in _NAMED.items() if seat in seats)
