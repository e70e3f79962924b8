"""Banking: an agent of a retail bank and a customer, over the bank's records.

====================  =====================================================================================
Import                `from gym_enterprise import banking_v0`
Actions               a message, a tool call, or a stop, as a dictionary
Parallel API          turn by turn only (`parallel_env`)
Manual control        no
Agents                `agents = ["agent_0", "user_0"]`
Action shape          `ActionSpace`; one entry in the mask for message, stop and each tool
Observation shape     `Dict(messages: TranscriptSpace, turn: Discrete, your_turn: Discrete(2))`
State                 `env.state()`, privileged
Gymnasium             `gymnasium.make("Banking-v0")`, one seat with the other one inside
====================  =====================================================================================

A customer has a problem: a lost card, a fee, an account to be changed. The agent talks with them, searches
the bank's policy documents, and changes the records by tool calls. Some tools are named only in documents,
some are the customer's own. The documents say what the agent must check, may do, and has to refuse.

### Observation

`messages` is the player's whole history: its system text (`agent_0`: the bank's policy; `user_0`: its own
scenario), what both have said, and its own calls with their results. Neither player sees the other's calls.
`turn` counts messages and calls of both; `your_turn` is 1 for the player to move.

### Action

`{"type": "message", "content": text}` passes the turn; `{"type": "tool_call", "name": text, "arguments":
{...}}` keeps it; `{"type": "stop"}` ends the conversation. A call that cannot work is answered by an error to
read. An object that is not an action raises `InvalidAction`, or is answered too with `strict=False`.

### Rewards

0.0 until the end. Then both players get 1.0 if the bank's records are exactly as the task's reference would
have left them, and 0.0 otherwise. What was said does not count, and neither does the path.

### Episode end

Terminated when a player stops, or the agent hands the customer over to a person. Truncated when a budget of
steps or of failed calls is used up; the records are graded then too. Both players end in the same step and
then take `None`.

### Arguments

`env(tasks="train", task_id=None, max_steps=None, render_mode=None, strict=True, retrieval="bm25")`, and
`reset(seed=None, options={"task_id": ...})`. `retrieval` is how the agent's searches rank: "bm25", "dense" or
"hybrid". See `gym_enterprise.envs.aec.raw_env`.

### Version history

* v0: first version
"""

from __future__ import annotations

from typing import Any

from pettingzoo import ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gym_enterprise.envs import aec

__all__ = ["env", "parallel_env", "raw_env"]


def raw_env(**arguments: Any) -> aec.raw_env:
    """Make the bare environment.

    Args:
        arguments: `tasks`, `task_id`, `max_steps`, `render_mode`, `strict`, `retrieval`.
    """
    return aec.raw_env("banking", **arguments)


def env(**arguments: Any) -> OrderEnforcingWrapper:
    """Make the environment, which refuses calls in the wrong order.

    Args:
        arguments: `tasks`, `task_id`, `max_steps`, `render_mode`, `strict`, `retrieval`.
    """
    return aec.env("banking", **arguments)


def parallel_env(**arguments: Any) -> ParallelEnv:
    """Make the parallel view, in which the player to move is the one whose action counts.

    Args:
        arguments: `tasks`, `task_id`, `max_steps`, `render_mode`, `strict`, `retrieval`.
    """
    return aec.parallel_env("banking", **arguments)
