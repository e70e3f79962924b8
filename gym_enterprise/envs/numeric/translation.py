"""`Translation`: between what a seat reads and does, and numbers; the same for all environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from gym_enterprise.domain import Domain
from gym_enterprise.envs.numeric.features import Features, Vector
from gym_enterprise.envs.numeric.menu import Entry, Menu
from gym_enterprise.envs.numeric.observed import Observed
from gym_enterprise.episode import Episode
from gym_enterprise.errors import InvalidAction, UsageError
from gym_enterprise.messages import SEATS, Seat
from gym_enterprise.spaces import Mask
from simulators.memory import Memory

Illegal = Literal["answer", "raise"]
"""What becomes of an entry that is closed: it is answered by an error to read, or raises `InvalidAction`."""

NUMBERS = ("reward", "scored", "user_faults")
"""What an info keeps of the environment's own at the end."""


class Translation:
    """Turns observations of both seats into vectors and masks, and numbers of entries into actions.

    What it shows of an episode is a function of the seat's own view and history, and of the environment's
    budgets.

    Args:
        domain: The domain.
        max_steps: The environment's budget of steps.
        mask_in_obs: Whether an observation is `{"observation": ..., "action_mask": ...}`.
        illegal: What becomes of an entry that is closed.
        asks: Further things for the agent to ask for.
        topics: What the agent can search for besides the user's words; by default the names of its tools.
        texts: Further values for arguments of tools, by the argument's name.

    Raises:
        UsageError: There is no such rule for closed entries.
    """

    def __init__(
        self,
        domain: Domain,
        max_steps: int,
        mask_in_obs: bool = False,
        illegal: Illegal = "answer",
        asks: Sequence[str] = (),
        topics: Sequence[str] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if illegal not in get_args(Illegal):
            raise UsageError(f"illegal should be one of {', '.join(get_args(Illegal))}; got {illegal!r}")
        self._mask_in_obs, self._illegal = mask_in_obs, illegal
        self.menus = {
            seat: Menu(seat, domain.toolset(seat).listed, asks if seat == "agent" else (), topics, texts)
            for seat in SEATS
        }
        self._features = {
            seat: Features(menu, max_steps, domain.max_errors) for seat, menu in self.menus.items()
        }
        self.entries = max(menu.size for menu in self.menus.values())
        self._length = max(len(features.names) for features in self._features.values())
        self._episode_of: Any = None
        self._memories: dict[Seat, Memory[Observed]] = {}

    # -- spaces ---------------------------------------------------------------------------------------

    @property
    def strict(self) -> bool:
        """Whether a closed entry raises."""
        return self._illegal == "raise"

    def observation_space(self) -> Box | Dict:
        """Return a new observation space, equal for both seats."""
        box = Box(0.0, 1.0, (self._length,), np.float32)
        mask = Box(0, 1, (self.entries,), np.int8)
        return Dict({"observation": box, "action_mask": mask}) if self._mask_in_obs else box

    def action_space(self) -> Discrete:
        """Return a new action space, equal for both seats."""
        return Discrete(self.entries)

    def feature_names(self, seat: Seat) -> tuple[str, ...]:
        """Return the names of a seat's features; "unused" ones make the vectors equally long."""
        names = self._features[seat].names
        return names + ("unused",) * (self._length - len(names))

    # -- an episode -----------------------------------------------------------------------------------

    def observed(self, episode: Episode, seat: Seat) -> Observed:
        """Return what a seat has seen of an episode; the caller must not change it."""
        if self._episode_of is not episode.task:
            self._episode_of, self._memories = episode.task, {}
        if seat not in self._memories:
            menu, view = self.menus[seat], episode.domain.view(episode.task, seat)
            self._memories[seat] = Memory(lambda: menu.begin(view), Observed.take_in)  # type: ignore[arg-type]
        return self._memories[seat].of(episode.observe(seat)["messages"])

    def observation(self, episode: Episode, seat: Seat) -> Vector | dict[str, Any]:
        """Return a seat's observation; a fresh array, or a dictionary of them."""
        seen: Vector | dict[str, Any] = self.both(episode, seat, {})[0]
        return seen

    def mask(self, episode: Episode, seat: Seat) -> Mask:
        """Return which entries of a seat's menu are open; a fresh array."""
        return self.menus[seat].mask(self.observed(episode, seat), self.entries, episode.turn == seat)

    def info(self, episode: Episode, seat: Seat, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return a seat's info: its mask, and at the end the numbers of the environment's own info."""
        return {"action_mask": self.mask(episode, seat)} | numbers_of(info)

    def both(self, episode: Episode, seat: Seat, info: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a seat's observation and info."""
        observed, to_move = self.observed(episode, seat), episode.turn == seat
        vector = self._features[seat].vector(observed, self._length, episode.step, to_move)
        mask = self.menus[seat].mask(observed, self.entries, to_move)
        seen = {"observation": vector, "action_mask": mask.copy()} if self._mask_in_obs else vector
        return seen, {"action_mask": mask} | numbers_of(info)

    def action(self, episode: Episode, seat: Seat, index: Any) -> dict[str, Any]:
        """Return the action that an entry stands for now.

        Args:
            episode: The episode.
            seat: Whose menu it is.
            index: Number of the entry.

        Returns:
            The action. For a closed entry: something that is no action, and says so.

        Raises:
            InvalidAction: The index is not one; or the entry is closed and the rule is to raise.
        """
        if isinstance(index, np.ndarray) and index.size == 1:
            index = index.item()
        if (
            isinstance(index, bool)
            or not isinstance(index, int | np.integer)
            or not 0 <= index < self.entries
        ):
            raise InvalidAction(f"an action is a number from 0 to {self.entries - 1}, got {index!r:.80}")
        if episode.done:
            return {"type": "stop"}  # the environment says that it is over, whatever the action
        menu, observed = self.menus[seat], self.observed(episode, seat)
        if index < menu.size and menu.mask(observed, menu.size, episode.turn == seat)[index]:
            action = menu.action(int(index), observed)
            if action is not None:
                return action
        why = f"entry {index} of the menu ({menu.label(int(index))}) is closed now"
        if self.strict:
            raise InvalidAction(f"{why}: take one whose entry in info['action_mask'] is 1; see menu()")
        return {"type": why}

    def menu(self, episode: Episode, seat: Seat, everything: bool = False) -> list[Entry]:
        """Return the entries of a seat's menu as they are now.

        Args:
            episode: The episode.
            seat: Whose menu it is.
            everything: Whether to return closed ones too.
        """
        menu, observed, mask = self.menus[seat], self.observed(episode, seat), self.mask(episode, seat)
        return [
            Entry(index, menu.label(index), bool(mask[index]), menu.action(index, observed))
            for index in range(self.entries)
            if everything or mask[index]
        ]

    def __getstate__(self) -> dict[str, Any]:
        # What was seen follows from the history, so it is read again; no task travels in a pickle.
        return {**self.__dict__, "_episode_of": None, "_memories": {}}


def numbers_of(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers that an environment's info has at the end."""
    return {name: info[name] for name in NUMBERS if name in info}
