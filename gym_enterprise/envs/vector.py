"""`ThreadVectorEnv`: several environments stepped at once in threads, for partners that wait on a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gym_enterprise.envs.single import SingleAgentEnv
from gym_enterprise.errors import UsageError


class ThreadVectorEnv(SyncVectorEnv[Any, Any]):
    """A `SyncVectorEnv` whose environments are stepped and reset at the same time, one thread each.

    Results, spaces and options are those of `SyncVectorEnv`, by value, in all three autoreset modes. What is
    no action is found before any environment is stepped. Where a step raises all the same, the first error
    is raised after all have been stepped.

    Args:
        env_fns: Makers of the environments.
        autoreset_mode: When a finished environment is reset: "SameStep" (within the step that ended it; the
            last observation and info are `final_obs` and `final_info`), "NextStep" (the next step resets it
            and ignores its action) or "Disabled" (`reset(options={"reset_mask": array})` does it).

    Raises:
        UsageError: There is no such mode, or no environment.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gymnasium.Env[Any, Any]]],
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
    ) -> None:
        if not env_fns:
            raise UsageError("num_envs should be at least 1")
        try:
            mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(repr(item.value) for item in AutoresetMode)
            raise UsageError(f"autoreset_mode should be one of {modes}, got {autoreset_mode!r}") from None
        super().__init__(env_fns, autoreset_mode=mode)
        self._ahead = [_Ahead(env) for env in self.envs]
        self.envs = list(self._ahead)
        self._pool = ThreadPoolExecutor(self.num_envs, thread_name_prefix="vector-env")

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those of `options["reset_mask"]`, as `SyncVectorEnv` does."""
        seeds: list[int | None]
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + number for number in range(self.num_envs)]
        else:
            seeds = list(seed)
        others = dict(options or {})
        mask = others.pop("reset_mask", np.ones(self.num_envs, np.bool_))
        well_formed = isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and len(mask) == self.num_envs
        if well_formed and len(seeds) == self.num_envs:  # otherwise the parent class says what is wrong
            self._run(
                partial(env.reset_ahead, seed=one, options=others)
                for env, one, chosen in zip(self._ahead, seeds, mask, strict=True)
                if chosen
            )
        return super().reset(seed=seeds, options=None if options is None else dict(options))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all environments, as `SyncVectorEnv` does.

        Args:
            actions: One action an environment.

        Raises:
            InvalidAction: One of them is not an action; none is taken. (Where an environment is wrapped, that
                is only found out by its own step.)
        """
        actions = list(actions)
        if len(actions) != self.num_envs:
            raise UsageError(f"{self.num_envs} environments take {self.num_envs} actions, got {len(actions)}")
        over = self._autoreset_envs
        if self.autoreset_mode == AutoresetMode.DISABLED and over.any():
            which = np.flatnonzero(over).tolist()
            raise ResetNeeded(f'environments {which} are over: call reset(options={{"reset_mask": ...}})')
        next_step = self.autoreset_mode == AutoresetMode.NEXT_STEP
        same_step = self.autoreset_mode == AutoresetMode.SAME_STEP
        for env, action, ended in zip(self._ahead, actions, over, strict=True):
            if isinstance(env.env, SingleAgentEnv) and not (next_step and ended):
                env.env.check(action)
        self._run(
            env.reset_ahead if next_step and over[number] else partial(env.step_ahead, action, same_step)
            for number, (env, action) in enumerate(zip(self._ahead, actions, strict=True))
        )
        return super().step(actions)

    def close_extras(self, **kwargs: Any) -> None:
        """Stop the threads and close the environments."""
        if hasattr(self, "_pool"):
            self._pool.shutdown()
        super().close_extras(**kwargs)

    def _run(self, jobs: Iterable[Callable[[], None]]) -> None:
        """Run jobs in threads and wait for all; when some fail, raise the first one's error."""
        futures = [self._pool.submit(job) for job in jobs]
        errors = [error for future in futures if (error := future.exception()) is not None]
        if errors:
            for env in self._ahead:
                env.ready.clear()
            raise errors[0]


class _Ahead(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Steps or resets its environment in a thread, before the vector environment asks for the result."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.ready: list[Any] = []

    def step_ahead(self, action: Any, then_reset: bool) -> None:
        result = self.env.step(action)
        self.ready.append(result)
        if then_reset and (result[2] or result[3]):
            self.ready.append(self.env.reset())

    def reset_ahead(self, **arguments: Any) -> None:
        self.ready.append(self.env.reset(**arguments))

    def step(self, action: Any) -> Any:
        return self.ready.pop(0) if self.ready else self.env.step(action)

    def reset(self, **arguments: Any) -> Any:
        return self.ready.pop(0) if self.ready else self.env.reset(**arguments)


def make_thread_vector_env(
    num_envs: int, *, autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP, **arguments: Any
) -> ThreadVectorEnv:
    """Make several `SingleAgentEnv`s in one `ThreadVectorEnv`; `gymnasium.make_vec("Banking-v0")` calls this.

    Args:
        num_envs: How many.
        autoreset_mode: "SameStep", "NextStep" or "Disabled". The default is not Gymnasium's "NextStep", in
            which a policy's answer to each last observation is thrown away: dear for a language model.
        arguments: As for `SingleAgentEnv`.

    Returns:
        The vector environment.

    Example:
        >>> envs = gymnasium.make_vec("Banking-v0", num_envs=8, autoreset_mode="Disabled")  # doctest: +SKIP
    """
    return ThreadVectorEnv([partial(SingleAgentEnv, **arguments)] * num_envs, autoreset_mode)
