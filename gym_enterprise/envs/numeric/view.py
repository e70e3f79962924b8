"""`NumericView`: one seat as a Gymnasium environment of boxes and discrete actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from gym_enterprise.envs.numeric.menu import Entry
from gym_enterprise.envs.numeric.translation import Illegal, Translation
from gym_enterprise.envs.single import SingleAgentEnv
from gym_enterprise.errors import UsageError


class NumericView(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows a conversation as numbers, and offers a menu of candidate actions.

    ==================  ===================================================================================
    Observation space   `Box(0, 1, (features,), float32)`, the same for both roles and all tasks of a domain;
                        with `mask_in_obs` `Dict(observation: Box, action_mask: Box)`
    Action space        `Discrete(entries)`: a number of the menu
    Info                `action_mask`, int8, 1 where an entry is open; at the end `reward`, `scored` and
                        `user_faults`; nothing but numbers
    ==================  ===================================================================================

    The menu is made anew each turn from what the seat has observed: things to ask for and to say, and calls
    of its tools with values that it has seen. An entry has the same meaning in every episode; what it does
    now is in `menu()`. Entry 0 waits: it is open exactly when no other is, so that no mask is all zeros.

    Nothing that a seat cannot see reaches features or menu: both are functions of its view of the task (its
    tools; for the user, its own scenario), its history, and the environment's budgets.

    Args:
        env: A `SingleAgentEnv`, wrapped or not.
        mask_in_obs: Whether to put the mask into the observation too.
        illegal: What becomes of an entry that is closed: "answer" answers it with an error to read, which
            counts as a failed call, and keeps the turn; "raise" raises `InvalidAction` and changes nothing.
        asks: Further things for the agent to ask for, such as "new phone"; in any case those that its tools'
            arguments name.
        topics: What to search for besides the partner's words; by default the names of the tools.
        texts: Further values for arguments of tools, by the argument's name.

    Raises:
        UsageError: The environment is another one, or an argument is not one of its values.

    Example:
        >>> env = NumericView(gymnasium.make("Banking-v0"))  # doctest: +SKIP
        >>> observation, info = env.reset(seed=7)  # doctest: +SKIP
        >>> env.step(env.action_space.sample(info["action_mask"]))  # doctest: +SKIP
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        mask_in_obs: bool = False,
        illegal: Illegal = "answer",
        asks: Sequence[str] = (),
        topics: Sequence[str] | None = None,
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, mask_in_obs=mask_in_obs, illegal=illegal, asks=asks, topics=topics, texts=texts
        )
        gymnasium.Wrapper.__init__(self, env)
        inner = env.unwrapped
        if not isinstance(inner, SingleAgentEnv):
            raise UsageError(
                f"NumericView is for SingleAgentEnv, got {type(inner).__name__}; for PettingZoo there is "
                "gym_enterprise.envs.numeric.aec"
            )
        self._inner = inner
        self._translation = Translation(
            inner.domain, inner.max_steps, mask_in_obs, illegal, asks, topics, texts
        )
        inner.strict = self._translation.strict
        self.observation_space = self._translation.observation_space()
        self.action_space = self._translation.action_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode."""
        _, info = self.env.reset(seed=seed, options=options)
        return self._seen(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do what an entry of the menu stands for.

        Args:
            action: Its number.

        Raises:
            InvalidAction: It is no number of the menu; or the entry is closed, and closed entries raise.
        """
        wanted = self._translation.action(self._inner.episode, self._inner.role, action)
        _, reward, terminated, truncated, info = self.env.step(wanted)
        observation, info = self._seen(info)
        return observation, float(reward), terminated, truncated, info

    def menu(self, everything: bool = False) -> list[Entry]:
        """Return what the open entries do now; with `everything` the closed ones too."""
        return self._translation.menu(self._inner.episode, self._inner.role, everything)

    def describe(self, index: int) -> str:
        """Return what an entry of the menu stands for in every episode."""
        return self._translation.menus[self._inner.role].label(index)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each number of an observation is; see `Features`."""
        return self._translation.feature_names(self._inner.role)

    def _seen(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return self._translation.both(self._inner.episode, self._inner.role, info)
