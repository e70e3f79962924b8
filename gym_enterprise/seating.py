"""Who sits in a seat: players by name, class or instance, asked in a way that survives their faults."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import hashlib
import importlib
import inspect
import logging
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import simulators
from gym_enterprise.actions import id_of
from gym_enterprise.errors import InvalidAction, SimulatorError, UsageError
from gym_enterprise.messages import Seat
from simulators import (
    ContextOverflow,
    EngineError,
    LLMPlayer,
    OpenAIEngine,
    OraclePlayer,
    Player,
    ReplayUser,
    ScriptedUser,
)

if TYPE_CHECKING:
    from gym_enterprise.episode import Episode

ATTEMPTS = 3
"""How often a simulated user is asked for one turn before the episode is given up as unscored."""

_NAMED: dict[str, dict[Seat, type]] = {
    "scripted": {"user": ScriptedUser},
    "replay": {"user": ReplayUser},
    "oracle": {"agent": OraclePlayer},
}
_LOCAL = {"hf": "TransformersEngine", "vllm": "VLLMEngine"}
_SERVED = re.compile(r"openai:(?P<model>.+?)@(?P<url>https?://\S+)")
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
    elif not _is_player(spec):
        raise UsageError(
            f"a player has a method act(observation) -> action; got {spec!r}. Pass a name "
            f"({_names(seat)}), a class, a function of view and seed that makes one, or an instance"
        )


def seat_player(spec: Any, episode: Episode, seat: Seat, seed: int) -> Player:
    """Return the player for a seat of one episode.

    Args:
        spec: A name, a player class, a function that makes a player, or an instance. A class or function is
            called with the seat's view and a seed; one with `sees_task = True` (oracle and replay players)
            gets the whole task. "openai:MODEL@URL" is a language model behind an OpenAI-compatible server,
            "hf:PATH" and "vllm:PATH" one in this process, "module:NAME" whatever of these a module holds
            under that name.
        episode: The episode.
        seat: The seat.
        seed: The player's seed.

    Returns:
        The player.

    Raises:
        UsageError: The specification is none of these, or the player cannot play this task.
    """
    check_player(spec, seat)
    if isinstance(spec, str):
        spec = _named(spec, seat)
    if not isinstance(spec, type) and hasattr(spec, "act"):
        return spec  # type: ignore[no-any-return]
    sees = episode.task if getattr(spec, "sees_task", False) else episode.domain.view(episode.task, seat)
    try:
        return spec(sees, seed)  # type: ignore[no-any-return]
    except TypeError:
        _check_signature(spec, seat, sees, seed)
        raise
    except ValueError as error:  # such as a scripted customer without a script
        raise UsageError(
            f"task {episode.task.id!r} cannot be played by the {seat} {spec!r}: {error}"
        ) from error


def _check_signature(spec: Any, seat: Seat, *arguments: Any) -> None:
    try:
        inspect.signature(spec).bind(*arguments)
    except TypeError as error:
        name = getattr(spec, "__qualname__", repr(spec))
        raise UsageError(f"the {seat} player {name} should be made of (view, seed): {error}") from None


def take_turn(episode: Episode, seat: Seat, player: Player) -> None:
    """Let a player take one action.

    A user that gives nothing usable is asked again, `ATTEMPTS` times in all; an agent's unusable action is
    answered by an error that it can read. An agent whose model has no room for the conversation left ends the
    episode: truncated as "context_length", and graded by its state.

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
            _give_up(episode, seat, error)
            return
        if _settled(episode, seat, action, attempt):
            return


async def take_turn_async(episode: Episode, seat: Seat, player: Player) -> None:
    """Let a player take one action without blocking the event loop while it thinks; see `take_turn`.

    Args:
        episode: The episode; the seat has the turn.
        seat: The seat.
        player: Who sits in it; one without `aact` thinks in a thread, which begins at once and keeps neither
            the event loop nor the process from ending.

    Raises:
        SimulatorError: The user gave nothing usable, or a player raised. The caller ends the episode.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            observation = episode.observe(seat)
            if hasattr(player, "aact"):
                action = await player.aact(observation)
            else:
                action = await _in_a_thread(player.act, observation)
        except Exception as error:
            _give_up(episode, seat, error)
            return
        if _settled(episode, seat, action, attempt):
            return


async def _in_a_thread(act: Callable[[Any], Any], observation: Any) -> Any:
    """Call a player in a thread of its own.

    The threads of `asyncio.to_thread` are few, so that some that hang would keep everybody else waiting, and
    the process waits for them at its end.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def settle(action: Any, error: BaseException | None) -> None:
        if not done.done():  # the turn was not abandoned
            done.set_result((action, error))

    def think() -> None:
        action, error = None, None
        try:
            action = act(observation)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(settle, action, error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(think,), name="player", daemon=True).start()
    action, error = await done
    if error is not None:
        raise error
    return action


def _give_up(episode: Episode, seat: Seat, error: Exception) -> None:
    if seat == "agent" and isinstance(error, ContextOverflow):
        episode.exhaust("context_length")
        return
    expected = isinstance(error, EngineError)  # it says what broke, and where; a traceback would add nothing
    said = (seat, episode.task.id, type(error).__name__, error)
    _log.error("the %s player failed in task %s: %s: %s", *said, exc_info=None if expected else error)
    raise SimulatorError(f"the {seat} player raised {type(error).__name__}: {error}") from error


def _settled(episode: Episode, seat: Seat, action: Any, attempt: int) -> bool:
    """Take an action and return True, or return False when the player is to be asked again."""
    try:
        episode.act(seat, action)
    except InvalidAction as error:
        if seat == "user":
            if attempt == ATTEMPTS:
                raise SimulatorError(f"{ATTEMPTS} unusable actions of the user, the last: {error}") from error
            return False
        episode.reject(seat, str(error), id_of(action))
    return True


def _is_player(spec: Any) -> bool:
    return callable(getattr(spec, "act", None)) or (callable(spec) and not isinstance(spec, type))


def _named(spec: str, seat: Seat) -> Any:
    name, colon, _ = spec.partition(":")
    if spec in _NAMED and seat in _NAMED[spec]:
        return _NAMED[spec][seat]
    if name == "openai":
        served = _SERVED.fullmatch(spec)
        if served is None:
            raise UsageError(f"{spec!r} is not openai:MODEL@URL, with a URL such as http://localhost:8000/v1")
        return functools.partial(LLMPlayer, engine=_engine(served["model"], served["url"]))
    if name in _LOCAL:
        return functools.partial(LLMPlayer, engine=_local(spec))
    if colon:
        return _imported(spec, seat)
    raise UsageError(f"there is no {seat} player {spec!r}; by name: {_names(seat)}")


def _imported(spec: str, seat: Seat) -> Any:
    """Return what "module:NAME" stands for."""
    module, _, name = spec.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise UsageError(f"there is no {seat} player {spec!r}; by name: {_names(seat)}")
    try:
        holder = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # a module that the player's own needs
        raise UsageError(
            f"the {seat} player {spec!r}: there is no module {module!r}; run where it can be imported, or "
            f"name another: {_names(seat)}"
        ) from None
    player = getattr(holder, name, None)
    if player is None:
        raise UsageError(f"the {seat} player {spec!r}: the module {module!r} holds no {name!r}")
    if not _is_player(player):
        raise UsageError(
            f"the {seat} player {spec!r} is {player!r:.80}, which is none: name a class or an instance with "
            "act(observation) -> action, or a function of view and seed that makes one"
        )
    return player


@functools.lru_cache(maxsize=32)
def _engine(model: str, url: str) -> OpenAIEngine:
    """Return the one engine for a model, so that all episodes of a process share its connections."""
    try:
        return OpenAIEngine(model, url)
    except ValueError as error:
        raise UsageError(str(error)) from None


@functools.lru_cache(maxsize=4)
def _local(spec: str) -> Any:
    """Return the one engine for a model in this process, loaded when it is first named."""
    kind, _, path = spec.partition(":")
    if not path:
        raise UsageError(
            f"{spec!r} names no model: {kind}:PATH has a folder, a name on the model hub, or a file"
        )
    try:
        return getattr(simulators, _LOCAL[kind]).load(path)
    except EngineError as error:
        raise UsageError(f"the player {spec!r}: {error}") from error


def _names(seat: Seat) -> str:
    names = [repr(name) for name, seats in _NAMED.items() if seat in seats]
    return ", ".join([*names, "'openai:MODEL@URL'", "'hf:PATH'", "'vllm:PATH'", "'module:NAME'"])
