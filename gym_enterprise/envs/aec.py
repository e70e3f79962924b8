"""The two-player environment in PettingZoo's manner: `env`, `raw_env`, `parallel_env`.

====================  =====================================================================================
Import                `from gym_enterprise import banking_v0`, or `from gym_enterprise.envs import aec` for
                      any domain
Actions               a message, a tool call, or a stop, as a dictionary
Parallel API          turn by turn only (`parallel_env`)
Agents                `agents = ["agent_0", "user_0"]`
Observations          `Dict(messages: TranscriptSpace, turn: Discrete, your_turn: Discrete(2))`
State                 `env.state()`, privileged
====================  =====================================================================================

The domain's opening seat acts first. A message passes the turn, a tool call keeps it, a stop ends. Both
players get the same reward, in the same step, and then take `None`.
"""

from __future__ import annotations

import hashlib
from typing import Any

from gymnasium.error import ResetNeeded
from gymnasium.spaces import Dict, Discrete, Text
from gymnasium.utils import seeding
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import turn_based_aec_to_parallel
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gym_enterprise import strict_json
from gym_enterprise.domain import Domain
from gym_enterprise.envs.selection import Selection
from gym_enterprise.envs.stage import RENDER_MODES, Stage, Staged
from gym_enterprise.errors import UsageError
from gym_enterprise.messages import Seat
from gym_enterprise.registration import register_pettingzoo
from gym_enterprise.spaces import MANY, ActionSpace, observation_space

PLAYERS: dict[str, Seat] = {"agent_0": "agent", "user_0": "user"}
"""The seat of each PettingZoo agent."""

_NAMES: dict[Seat, str] = {seat: name for name, seat in PLAYERS.items()}


class raw_env(Staged, AECEnv[str, dict[str, Any], Any]):  # type: ignore[misc]
    """Both seats of a conversation, one after the other.

    An action that is not one raises `InvalidAction` and changes nothing; so there is no wrapper that checks
    actions against the space. `infos[agent]` holds `action_mask` (int8, in the order of the action space's
    `kinds`, closed when it is not that agent's turn), and at the end `reward`, `reason`, `scored` and
    `user_faults`.

    Args:
        domain: Name of a registered domain, or a domain.
        tasks: What to draw from: a split, an id, a list of ids, or the path of a JSONL file.
        task_id: The one task to play, from any split; `reset(options={"task_id": ...})` goes before it.
        max_steps: Budget of messages and calls of both seats; default: the task's, then the domain's.
        render_mode: "ansi": `render()` returns the conversation as text; "human": it is printed as it goes.
        strict: Whether an action that is not one raises `InvalidAction`; False: it is answered by an error to
            read, which counts as a failed call.
        arguments: Further ones are for the domain, as for `load_domain`.

    Raises:
        UsageError: An argument is not one of those, or not one of the domain's.
        UnknownTask: There is no such task.
    """

    metadata = {  # noqa: RUF012 (PettingZoo's way)
        "name": "gym_enterprise_v0",
        "render_modes": RENDER_MODES,
        "render_fps": 4,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        domain: str | Domain,
        tasks: Selection = "train",
        task_id: str | None = None,
        max_steps: int | None = None,
        render_mode: str | None = None,
        strict: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__()
        self._stage = Stage(domain, tasks, task_id, max_steps, strict, render_mode, **arguments)
        self.metadata = {**type(self).metadata, "name": f"{self._stage.domain.name}_v0"}
        self.render_mode = render_mode
        self.possible_agents = list(PLAYERS)
        self.agents: list[str] = []
        self.action_spaces = {name: self._stage.spaces[seat] for name, seat in PLAYERS.items()}
        self.observation_spaces = {name: observation_space() for name in PLAYERS}
        self.state_space = _state_space()
        self._np_random, _ = seeding.np_random()

    # -- PettingZoo -----------------------------------------------------------------------------------

    def observation_space(self, agent: str) -> Dict:
        """Return the observation space of an agent, the same object every time."""
        seat_of(agent)
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        """Return the action space of an agent, the same object every time."""
        seat_of(agent)
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new episode.

        Args:
            seed: Seed of everything random: the task that is drawn.
            options: `task_id` plays that task, from any split; others are ignored.

        Raises:
            UnknownTask: There is no such task. Nothing is changed.
        """
        task = self._stage.wanted(options)
        if seed is not None:
            self._np_random, _ = seeding.np_random(seed)
        self._stage.begin(self._np_random, task)
        self.agents = list(self.possible_agents)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._skip_agent_selection = None
        self._publish()

    def step(self, action: Any) -> None:
        """Take an action of the agent to move.

        Args:
            action: An action, or a list of the actions of one turn; None for an agent that is done.

        Raises:
            InvalidAction: It is not an action, and the environment is strict. Nothing is changed.
            ValueError: The agent is dead and the action is not None.
            ResetNeeded: There is no episode, or both agents are gone.
        """
        self._stage.running()
        if not self.agents:
            raise ResetNeeded("the episode is over and both agents are gone: call reset() to start a new one")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._stage.act(PLAYERS[agent], action)
        self._cumulative_rewards[agent] = 0.0
        self._publish()
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, Any]:
        """Return what an agent sees, at any time: its whole history."""
        return dict(self.episode.observe(seat_of(agent)))

    def state(self) -> dict[str, Any]:
        """Return a digest of the whole situation, the database included; privileged, for central critics.

        Returns:
            `changes`: SHA-256 (hex) of the net changes of the database, equal exactly for equal states of one
            task; `solved`: whether they are the target (0 or 1); `turn` and `errors`: counts; `to_move`: 0
            for the agent, 1 for the user, 2 when the episode is over.
        """
        episode = self.episode
        changes = strict_json.canonical(episode.world.changes().to_list())
        return {
            "changes": hashlib.sha256(changes.encode()).hexdigest(),
            "errors": episode.errors,
            "solved": int(bool(episode.grade().checks.get("state"))),
            "to_move": 2 if episode.turn is None else list(PLAYERS.values()).index(episode.turn),
            "turn": episode.step,
        }

    # -- beyond PettingZoo ----------------------------------------------------------------------------

    def tools(self, agent: str) -> list[dict[str, Any]]:
        """Return the tools that an agent is told of, in OpenAI's function format; a fresh list."""
        return self._stage.tools(seat_of(agent))

    # -- inside ---------------------------------------------------------------------------------------

    def _publish(self) -> None:
        """Set what PettingZoo reads after a step, in fresh dictionaries."""
        episode = self.episode
        ending = self._stage.ending() if episode.done else {}
        self.rewards = dict.fromkeys(self.agents, ending.get("reward", 0.0))
        self.terminations = dict.fromkeys(self.agents, episode.terminated)
        self.truncations = dict.fromkeys(self.agents, episode.truncated)
        self.infos = {
            name: {"action_mask": self._stage.mask(PLAYERS[name]), **ending} for name in self.agents
        }
        if episode.turn is not None:
            self.agent_selection = _NAMES[episode.turn]
        self._stage.show_new()


def env(domain: str | Domain, **arguments: Any) -> OrderEnforcingWrapper:
    """Make the environment: `raw_env` that also refuses calls in the wrong order.

    Args:
        domain: Name of a registered domain, or a domain.
        arguments: As for `raw_env`.
    """
    return OrderEnforcingWrapper(raw_env(domain, **arguments))


def parallel_env(domain: str | Domain, **arguments: Any) -> ParallelEnv:
    """Make the parallel view: each step takes the actions of all agents and plays that of the one to move.

    Args:
        domain: Name of a registered domain, or a domain.
        arguments: As for `raw_env`.
    """
    return turn_based_aec_to_parallel(env(domain, **arguments))


def seat_of(agent: str) -> Seat:
    """Return the seat of a PettingZoo agent."""
    if agent not in PLAYERS:
        raise UsageError(f"there is no agent {agent!r}; agents: {', '.join(PLAYERS)}")
    return PLAYERS[agent]


def _state_space() -> Dict:
    return Dict(
        {
            "changes": Text(min_length=64, max_length=64, charset="0123456789abcdef"),
            "errors": Discrete(MANY),
            "solved": Discrete(2),
            "to_move": Discrete(3),
            "turn": Discrete(MANY),
        }
    )


register_pettingzoo()
