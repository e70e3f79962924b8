"""Both seats as numbers, in PettingZoo's manner: `NumericAEC` and `parallel_env`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Discrete, Space
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import BaseWrapper

from gym_enterprise.envs.aec import PLAYERS, raw_env, seat_of
from gym_enterprise.envs.numeric.menu import Entry
from gym_enterprise.envs.numeric.translation import Illegal, Translation
from gym_enterprise.errors import UsageError


class NumericAEC(BaseWrapper[str, Any, Any]):  # type: ignore[misc]
    """Shows a conversation of two players as numbers, with a menu of candidate actions for each.

    Spaces, infos, menu and arguments are those of `NumericView`; both players have equal spaces. The player
    that is not to move has one open entry, 0, which waits.

    Args:
        env: An environment of `gym_enterprise.envs.aec` or `banking_v0`, wrapped or not.
        mask_in_obs: Whether to put the mask into the observation too.
        illegal: What becomes of a closed entry: "answer" or "raise".
        asks: Further things for the agent to ask for.
        topics: What to search for besides the partner's words; by default the names of the tools.
        texts: Further values for arguments of tools, by the argument's name.

    Raises:
        UsageError: The environment is another one, or an argument is not one of its values.

    Example:
        >>> env = NumericAEC(banking_v0.env())  # doctest: +SKIP
    """

    def __init__(
        self,
        env: AECEnv[str, Any, Any],
        mask_in_obs: bool = False,
        illegal: Illegal = "answer",
        asks: Sequence[str] = (),
        topics: Sequence[str] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(env)
        inner = env.unwrapped
        if not isinstance(inner, raw_env):
            raise UsageError(f"NumericAEC is for environments of gym_enterprise, got {type(inner).__name__}")
        self._translation = Translation(
            inner.domain, inner.max_steps, mask_in_obs, illegal, asks, topics, texts
        )
        inner.strict = self._translation.strict
        self.observation_spaces = {name: self._translation.observation_space() for name in PLAYERS}
        self.action_spaces = {name: self._translation.action_space() for name in PLAYERS}

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of a player, the same object every time."""
        seat_of(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        """Return the action space of a player, the same object every time."""
        seat_of(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new episode."""
        self.env.reset(seed=seed, options=options)
        self._publish()

    def step(self, action: Any) -> None:
        """Do what an entry of the menu of the player to move stands for; None for a player that is done.

        Raises:
            InvalidAction: It is no number of the menu; or the entry is closed, and closed entries raise.
        """
        if action is not None:
            inner = self.env.unwrapped
            action = self._translation.action(inner.episode, seat_of(inner.agent_selection), action)
        self.env.step(action)
        self._publish()

    def observe(self, agent: str) -> Any:
        """Return what a player sees, at any time."""
        return self._translation.observation(self.env.unwrapped.episode, seat_of(agent))

    def menu(self, agent: str, everything: bool = False) -> list[Entry]:
        """Return what the open entries of a player do now; with `everything` the closed ones too."""
        return self._translation.menu(self.env.unwrapped.episode, seat_of(agent), everything)

    def describe(self, agent: str, index: int) -> str:
        """Return what an entry of a player's menu stands for in every episode."""
        return self._translation.menus[seat_of(agent)].label(index)

    def feature_names(self, agent: str) -> tuple[str, ...]:
        """Return what each number of a player's observation is; see `Features`."""
        return self._translation.feature_names(seat_of(agent))

    def _publish(self) -> None:
        inner = self.env.unwrapped
        self.infos = {
            name: self._translation.info(inner.episode, PLAYERS[name], info)
            for name, info in inner.infos.items()
        }


def parallel_env(env: NumericAEC) -> ParallelEnv:
    """Make the parallel view: each step takes a number for every player and plays that of the one to move.

    Args:
        env: The environment.
    """
    return turn_based_aec_to_parallel(env)
