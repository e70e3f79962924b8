"""The environments' ids, known to Gymnasium on import and to PettingZoo once that is loaded."""

from __future__ import annotations

import sys

import gymnasium

ENVIRONMENTS = {"Banking-v0": "banking"}
"""Domain of each environment id."""


def register_envs() -> None:
    """Register all environments; doing it again changes nothing and says nothing."""
    for env_id, domain in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="gym_enterprise.envs.single:SingleAgentEnv",
                vector_entry_point="gym_enterprise.envs.vector:make_thread_vector_env",
                kwargs={"domain": domain},
            )
    if "pettingzoo" in sys.modules:
        register_pettingzoo()


def register_pettingzoo() -> None:
    """Register all environments with PettingZoo as "gym_enterprise/<id>", where it has a registry."""
    import pettingzoo

    if not hasattr(pettingzoo, "register"):
        return
    for env_id, domain in ENVIRONMENTS.items():
        name = f"gym_enterprise/{env_id}"
        if name not in pettingzoo.aec_registry:
            entry_point = "gym_enterprise.envs.aec:env"
            pettingzoo.register("aec", name, entry_point=entry_point, kwargs={"domain": domain})
