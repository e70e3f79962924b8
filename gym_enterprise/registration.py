"""The environments' ids, known to Gymnasium on import and to PettingZoo once that is loaded."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import gymnasium

ENVIRONMENTS: Mapping[str, Mapping[str, Any]] = {
    "Banking-v0": {"domain": "banking"},
    "Tau3Banking-v0": {"domain": "tau3_banking", "tasks": "test"},
}
"""Arguments of each environment id."""

PARTNERS: Mapping[str, Mapping[str, Any]] = {"Tau3Banking-v0": {"user": "replay"}}
"""Further arguments where one seat is played inside the environment."""


def register_envs() -> None:
    """Register all environments; doing it again changes nothing and says nothing."""
    for env_id, arguments in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="gym_enterprise.envs.single:SingleAgentEnv",
                vector_entry_point="gym_enterprise.envs.vector:make_thread_vector_env",
                kwargs={**arguments, **PARTNERS.get(env_id, {})},
            )
    if "pettingzoo" in sys.modules:
        register_pettingzoo()


def register_pettingzoo() -> None:
    """Register all environments with PettingZoo as "gym_enterprise/<id>", where it has a registry."""
    import pettingzoo

    if not hasattr(pettingzoo, "register"):
        return
    for env_id, arguments in ENVIRONMENTS.items():
        name = f"gym_enterprise/{env_id}"
        if name not in pettingzoo.aec_registry:
            entry_point = "gym_enterprise.envs.aec:env"
            pettingzoo.register("aec", name, entry_point=entry_point, kwargs=dict(arguments))
