"""`Stage`: what all environments share: a domain, the tasks to draw from, and the episode under way."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded

from gym_enterprise.actions import id_of
from gym_enterprise.domain import Domain
from gym_enterprise.envs.rendering import episode_text, new_lines, show, title_text
from gym_enterprise.envs.selection import Selection, select_tasks
from gym_enterprise.episode import Episode
from gym_enterprise.errors import InvalidAction, UsageError
from gym_enterprise.grading import Grade
from gym_enterprise.messages import SEATS, Seat
from gym_enterprise.registry import load_domain
from gym_enterprise.spaces import ActionSpace, Mask
from gym_enterprise.tasks import Task

RENDER_MODES = ["ansi", "human"]

_OPTIONS = ("task_id",)
_log = logging.getLogger("gym_enterprise")


class Stage:
    """Where the episodes of one environment are played, one after the other.

    A pickle of it holds names, not tasks: what players may not know does not travel to workers.

    Args:
        domain: Name of a registered domain, or a domain.
        tasks: What to draw from; see `select_tasks`.
        task_id: The one task to play, from any split.
        max_steps: Budget of messages and calls; default: the task's, then the domain's.
        strict: Whether an unusable action raises `InvalidAction`, rather than being answered.
        render_mode: "ansi", "human" or None.
        arguments: Further ones are for the domain, as for `load_domain`.

    Raises:
        UsageError: An argument is not one of those.
        UnknownTask: There is no such task.
    """

    def __init__(
        self,
        domain: str | Domain,
        tasks: Selection = "train",
        task_id: str | None = None,
        max_steps: int | None = None,
        strict: bool = True,
        render_mode: str | None = None,
        **arguments: Any,
    ) -> None:
        if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
            raise UsageError(f"max_steps should be a whole number of at least 1, got {max_steps!r}")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UsageError(f"render_mode should be 'ansi', 'human' or None, got {render_mode!r}")
        self._arguments = (domain, tasks, task_id, max_steps, strict, render_mode), arguments
        self.domain = _loaded(domain, arguments)
        self.strict, self.render_mode = strict, render_mode
        self.episode: Episode | None = None
        """The episode under way, or over; None before the first reset and after `close`."""
        self.spaces = {seat: ActionSpace(self.domain.toolset(seat).listed) for seat in SEATS}
        """The action space of each seat, the same for every task."""
        self.max_steps = max_steps
        self._tasks = select_tasks(self.domain, tasks)
        self._fixed = None if task_id is None else self._find(task_id)
        self._masks: dict[Seat, Mask] = {}
        self._shown = 0

    # -- starting -------------------------------------------------------------------------------------

    def wanted(self, options: Mapping[str, Any] | None) -> Task | None:
        """Return the task that the options of a reset ask for; unknown options are logged and ignored."""
        unknown = [key for key in options or () if key not in _OPTIONS]
        if unknown:
            _log.warning("reset ignores the option %r; options: %s", unknown[0], ", ".join(_OPTIONS))
        task_id = (options or {}).get("task_id")
        return self._fixed if task_id is None else self._find(task_id)

    def begin(self, rng: np.random.Generator, task: Task | None) -> int:
        """Start an episode.

        Args:
            rng: The only source of chance; two numbers are drawn, whatever the arguments.
            task: The task; None draws one.

        Returns:
            The seed from which the players' seeds are derived.
        """
        index = int(rng.integers(len(self._tasks)))
        seed = int(rng.integers(2**63))
        task = task or self._tasks[index]
        if self.episode is None:
            self.episode = Episode(self.domain, task, max_steps=self.max_steps)
        else:
            self.episode.reset(task)
        self._open_masks()
        self._shown = 0
        if self.render_mode == "human":
            show(title_text(self.episode))
        return seed

    # -- playing --------------------------------------------------------------------------------------

    def running(self) -> Episode:
        """Return the episode, which may be over; raises `ResetNeeded` before the first reset."""
        if self.episode is None:
            raise ResetNeeded("there is no episode yet: call reset() first")
        return self.episode

    def act(self, seat: Seat, action: Any) -> None:
        """Take one action, or a list of them as one turn; all of the list or, when one is unusable, none.

        Args:
            seat: The seat; it has the turn.
            action: An action, or a list: calls, then at most one message or stop.

        Raises:
            InvalidAction: It is not an action, and the stage is strict. Nothing is changed.
        """
        episode = self.running()
        before = episode.snapshot() if isinstance(action, list) else None
        try:
            if before is None:
                episode.act(seat, action)
            else:
                episode.act_all(seat, action)
        except InvalidAction as error:
            if before is not None:
                episode.restore(before)
            if self.strict:
                raise
            episode.reject(seat, str(error), id_of(action))

    def check(self, seat: Seat, action: Any) -> None:
        """Raise what a strict `act` would raise for an action or the actions of a turn; none is taken."""
        if self.strict and not self.running().done:
            self.running().check(seat, action)

    def mask(self, seat: Seat) -> Mask:
        """Return a fresh action mask of a seat: all closed when it is not its turn."""
        opened = self.running().turn == seat
        return self._masks[seat].copy() if opened else np.zeros_like(self._masks[seat])

    def ending(self) -> dict[str, Any]:
        """Return what the last info of an episode holds: reward, reason, scored, user_faults."""
        episode = self.running()
        reward = episode.grade().reward
        return {
            "reward": math.nan if reward is None else float(reward),
            "reason": episode.reason,
            "scored": int(reward is not None),
            "user_faults": sum(episode.faults.values()),
        }

    def tools(self, seat: Seat) -> list[dict[str, Any]]:
        """Return the tools that a seat is told of, in OpenAI's function format; a fresh list.

        Before the first reset these are the tools that any task advertises.
        """
        toolset = self.domain.toolset(seat)
        specs = toolset.listed if self.episode is None else toolset.advertised(self.episode.task)
        return copy.deepcopy([spec.to_dict() for spec in specs])

    # -- showing --------------------------------------------------------------------------------------

    def render(self) -> str | None:
        """Return the episode as text ("ansi"), or print what is new of it ("human")."""
        episode = self.running()
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode, 'ansi' or 'human', given at creation")
        if self.render_mode == "ansi":
            return episode_text(episode)
        self.show_new()
        return None

    def show_new(self) -> None:
        """In mode "human", print what has not been printed yet."""
        episode = self.running()
        # The verdict counts as one entry, so that it is printed once.
        total = len(episode.transcript) + episode.done
        if self.render_mode == "human" and total > self._shown:
            show("\n".join(new_lines(episode, self._shown)))
            self._shown = total

    def close(self) -> None:
        """Give the database back."""
        if self.episode is not None:
            self.episode.world.close()
            self.episode = None

    # -- inside ---------------------------------------------------------------------------------------

    def _find(self, task_id: str) -> Task:
        for task in self._tasks:
            if task.id == task_id:
                return task
        return self.domain.task(task_id)

    def _open_masks(self) -> None:
        for seat, space in self.spaces.items():
            advertised = self.domain.toolset(seat).advertised(self.running().task)
            self._masks[seat] = space.mask(["message", "stop", *(spec.name for spec in advertised)])

    def __getstate__(self) -> dict[str, Any]:
        return {
            "arguments": self._arguments,
            "strict": self.strict,
            "episode": self.episode and (self.episode.task.id, self.episode.snapshot()),
            "spaces": self.spaces,
            "shown": self._shown,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        positional, keywords = state["arguments"]
        self.__init__(*positional, **keywords)  # type: ignore[misc]
        self.strict, self.spaces, self._shown = state["strict"], state["spaces"], state["shown"]
        if state["episode"] is not None:
            task_id, snapshot = state["episode"]
            self.episode = Episode(self.domain, self._find(task_id), max_steps=self.max_steps)
            self.episode.restore(snapshot)
            self._open_masks()


class Staged:
    """What an environment shows of its stage."""

    _stage: Stage

    def render(self) -> Any:
        """Return the conversation as text in mode "ansi"; print what is new of it in mode "human"."""
        return self._stage.render()

    def close(self) -> None:
        """Give the database back; `reset` opens it again."""
        self._stage.close()

    @property
    def episode(self) -> Episode:
        """The episode under way, or over; the next reset reuses the object."""
        return self._stage.running()

    @property
    def domain(self) -> Domain:
        """The domain."""
        return self._stage.domain

    @property
    def max_steps(self) -> int:
        """The budget of steps that players can know: the environment's or the domain's, not a task's."""
        return self._stage.max_steps or self._stage.domain.max_steps

    @property
    def strict(self) -> bool:
        """Whether an action that is not one raises `InvalidAction`."""
        return self._stage.strict

    @strict.setter
    def strict(self, strict: bool) -> None:
        self._stage.strict = strict

    def grade(self) -> Grade:
        """Grade the episode as it stands: reward, reason, diff; privileged."""
        return self.episode.grade()


def _loaded(domain: str | Domain, arguments: dict[str, Any]) -> Domain:
    if isinstance(domain, str):
        return load_domain(domain, **arguments)
    if arguments:
        raise UsageError(
            f"domain {domain.name!r} is made already, so it takes no {next(iter(arguments))!r}: give the "
            "domain's name, or make it with that argument"
        )
    return domain
