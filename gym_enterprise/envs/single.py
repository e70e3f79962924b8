"""`SingleAgentEnv`: one seat as a Gymnasium environment, with the partner inside."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.error import ResetNeeded

from gym_enterprise.domain import Domain
from gym_enterprise.envs.selection import Selection
from gym_enterprise.envs.stage import RENDER_MODES, Stage, Staged
from gym_enterprise.errors import SimulatorError, UsageError
from gym_enterprise.messages import SEATS, Seat
from gym_enterprise.seating import check_player, derive_seed, seat_player, take_turn
from gym_enterprise.spaces import observation_space
from simulators import Player

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]


class SingleAgentEnv(Staged, gymnasium.Env[dict[str, Any], Any]):
    """One seat of a two-player conversation; the other seat is played inside the environment.

    ==================  ===================================================================================
    Creation            `gymnasium.make("Banking-v0")`, after `import gym_enterprise`
    Observation space   `Dict(messages: TranscriptSpace, turn: Discrete, your_turn: Discrete(2))`
    Action space        `ActionSpace`: a message, a tool call, or a stop; also a list of them as one turn
    Reward              0.0 until the end; then 1.0 if the database is in the target state, else 0.0
    Ends                terminated: a stop or a terminal tool; truncated: a budget, or a failing partner
    ==================  ===================================================================================

    Between two observations the partner acts until it is the controlled seat's turn again. When the partner
    fails, the episode is truncated with reward nan and `info["scored"] == 0`. When it ends the episode within
    `reset`, the first `step` reports the end, whatever its action.

    `info` holds `task_id` and `action_mask` (int8, in the order of `action_space.kinds`); at the end also
    `reward`, `reason` (why the episode ended), `scored` (0 or 1) and `user_faults` (a count). The diff is in
    `env.unwrapped.grade()`; `env.unwrapped.episode` is the episode, which the next reset reuses.

    Args:
        domain: Name of a registered domain, or a domain.
        role: The controlled seat, "agent" or "user".
        tasks: What to draw from: a split, an id, a list of ids, or the path of a JSONL file.
        task_id: The one task to play, from any split; `reset(options={"task_id": ...})` goes before it.
        user: Who plays the user when the agent is controlled: a name ("scripted", "replay"), a class or an
            instance.
        agent: Who plays the agent when the user is controlled: a name ("oracle"), a class or an instance.
        max_steps: Budget of messages and calls of both seats; default: the task's, then the domain's.
        render_mode: "ansi": `render()` returns the conversation as text; "human": it is printed as it goes.
        strict: Whether an action that is not one raises `InvalidAction`; False: it is answered by an error to
            read, which counts as a failed call.
        arguments: Further ones are for the domain, as for `load_domain`.

    Raises:
        UsageError: An argument is not one of those, or not one of the domain's.
        UnknownTask: There is no such task.

    Example:
        >>> import gymnasium, gym_enterprise
        >>> env = gymnasium.make("Banking-v0")  # doctest: +SKIP
        >>> observation, info = env.reset(seed=7)  # doctest: +SKIP
        >>> step = env.step({"type": "message", "content": "How can I help?"})  # doctest: +SKIP
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 4}  # noqa: RUF012 (Gymnasium's way)

    def __init__(
        self,
        domain: str | Domain,
        role: Seat = "agent",
        tasks: Selection = "train",
        task_id: str | None = None,
        user: Any = "scripted",
        agent: Any = "oracle",
        max_steps: int | None = None,
        render_mode: str | None = None,
        strict: bool = True,
        **arguments: Any,
    ) -> None:
        if role not in SEATS:
            raise UsageError(f"role should be 'agent' or 'user', got {role!r}")
        check_player(user, "user")
        check_player(agent, "agent")
        self.role: Seat = role
        self.partner: Seat = "user" if role == "agent" else "agent"
        self.render_mode = render_mode
        self._stage = Stage(domain, tasks, task_id, max_steps, strict, render_mode, **arguments)
        self._player_spec = user if role == "agent" else agent
        self._player_seed = 0
        self._player: Player | None = None
        self._reported = False
        self.observation_space = observation_space()
        self.action_space = self._stage.spaces[role]

    # -- Gymnasium ------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new episode.

        Args:
            seed: Seed of everything random: the task that is drawn and the partner.
            options: `task_id` plays that task, from any split; others are ignored.

        Returns:
            The first observation and info.

        Raises:
            UnknownTask: There is no such task. Nothing is changed.
        """
        task = self._stage.wanted(options)
        super().reset(seed=seed)
        run_seed = self._stage.begin(self.np_random, task)
        self._player_seed = derive_seed(run_seed, self.episode.task.id, 0, self.partner)
        self._reported = False
        self._seat_partner()
        self._play_partner()
        self._stage.show_new()
        return self._observe(), self._info()

    def step(self, action: Any) -> Step:
        """Take an action of the controlled seat, then play the partner until it is its turn again.

        Args:
            action: An action, or a list of the actions of one turn: calls, then at most a message or stop.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            InvalidAction: It is not an action, and the environment is strict. Nothing is changed.
            ResetNeeded: There is no episode, or it is over.
        """
        episode = self._stage.running()
        if self._reported:
            raise ResetNeeded(f"the episode is over ({episode.reason}): call reset() to start a new one")
        if not episode.done:
            self._stage.act(self.role, action)
            self._play_partner()
            self._stage.show_new()
        self._reported = episode.done
        info = self._info()
        reward = 0.0
        if episode.done:
            info |= self._stage.ending()
            reward = info["reward"]
        return self._observe(), reward, episode.terminated, episode.truncated, info

    # -- beyond Gymnasium -----------------------------------------------------------------------------

    def check(self, action: Any) -> None:
        """Raise what `step` would raise for an action that is not one; it is not taken."""
        self._stage.check(self.role, action)

    def tools(self, role: Seat | None = None) -> list[dict[str, Any]]:
        """Return the tools that a seat is told of, in OpenAI's function format.

        Args:
            role: The seat; by default the controlled one.

        Returns:
            A fresh list; before the first reset, the tools that any task advertises.
        """
        return self._stage.tools(self.role if role is None else role)

    # -- inside ---------------------------------------------------------------------------------------

    def _seat_partner(self) -> None:
        self._player = seat_player(self._player_spec, self.episode, self.partner, self._player_seed)

    def _play_partner(self) -> None:
        episode, player = self.episode, self._player
        assert player is not None
        while episode.turn == self.partner:
            try:
                take_turn(episode, self.partner, player)
            except SimulatorError:
                episode.fail("simulator_error" if self.partner == "user" else "agent_error")

    def _observe(self) -> dict[str, Any]:
        return dict(self.episode.observe(self.role))

    def _info(self) -> dict[str, Any]:
        return {"task_id": self.episode.task.id, "action_mask": self._stage.mask(self.role)}

    def __getstate__(self) -> dict[str, Any]:
        # A player is a pure function of its seed and the observation, so it is made again rather than saved.
        return {**self.__dict__, "_player": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._stage.episode is not None:
            self._seat_partner()
