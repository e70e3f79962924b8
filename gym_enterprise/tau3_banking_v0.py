"""Tau3 Banking: the public τ³-Banking benchmark, a service agent of Rho-Bank and a customer.

====================  =====================================================================================
Import                `from gym_enterprise import tau3_banking_v0`
Actions               a message, a tool call, or a stop, as a dictionary
Parallel API          turn by turn only (`parallel_env`)
Manual control        no
Agents                `agents = ["agent_0", "user_0"]`
Action shape          `ActionSpace`; one entry in the mask for message, stop and each listed tool
Observation shape     `Dict(messages: TranscriptSpace, turn: Discrete, your_turn: Discrete(2))`
State                 `env.state()`, privileged
Gymnasium             `gymnasium.make("Tau3Banking-v0")`, one seat with the other one inside
====================  =====================================================================================

A customer wants something of a bank whose procedures stand in 698 documents, most of its tools included. The
benchmark's data and tasks do not come with this package: `data_dir=`, or the environment variable
TAU3_BANKING_DATA, names a checkout of tau2-bench. See `docs/tau3.md`.

### Observation

`messages` is the player's whole history: its system text (`agent_0`: the bank's policy; `user_0`: its own
scenario), what both have said, and its own calls with their results. Neither player sees the other's calls.
`turn` counts messages and calls of both; `your_turn` is 1 for the player to move.

### Action

`{"type": "message", "content": text}` passes the turn; `{"type": "tool_call", "name": text, "arguments":
{...}}` keeps it; `{"type": "stop"}` ends the conversation. Tools that only documents name are called through
`call_discoverable_agent_tool` and `call_discoverable_user_tool`.

### Rewards

0.0 until the end. Then both players get what the benchmark gives: 1.0 if the parts that the task names are as
its reference has them (the bank's records, calls that were made, or both), and 0.0 otherwise. One task has a
judged sentence, and is not scored (nan) without a judge.

### Episode end

Terminated when a player stops. Truncated, with reward 0.0, when a budget of steps or of failed calls is used
up. Both players end in the same step and then take `None`.

### Arguments

`env(data_dir=None, retrieval="bm25_grep", judge=None, tasks="test", task_id=None, max_steps=None,
render_mode=None, strict=True)`, and `reset(seed=None, options={"task_id": ...})`. The first three are the
domain's (`gym_enterprise.domains.tau3_banking`), the others those of `gym_enterprise.envs.aec.raw_env`.

### Version history

* v0: first version
"""

from __future__ import annotations

from typing import Any

from pettingzoo import ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from gym_enterprise.envs import aec
from gym_enterprise.registration import ENVIRONMENTS

__all__ = ["env", "parallel_env", "raw_env"]

_DEFAULTS = ENVIRONMENTS["Tau3Banking-v0"]


def raw_env(**arguments: Any) -> aec.raw_env:
    """Make the bare environment.

    Args:
        arguments: See the module's text.
    """
    return aec.raw_env(**{**_DEFAULTS, **arguments})


def env(**arguments: Any) -> OrderEnforcingWrapper:
    """Make the environment, which refuses calls in the wrong order.

    Args:
        arguments: See the module's text.
    """
    return aec.env(**{**_DEFAULTS, **arguments})


def parallel_env(**arguments: Any) -> ParallelEnv:
    """Make the parallel view, in which the player to move is the one whose action counts.

    Args:
        arguments: See the module's text.
    """
    return aec.parallel_env(**{**_DEFAULTS, **arguments})
