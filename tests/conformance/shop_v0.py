"""The test shop as a registered environment, so that the suite runs before and beside the real domains."""

import gymnasium

import tests.shop  # noqa: F401 (registers the domain, in worker processes too)
from gym_enterprise.envs import SingleAgentEnv, make_thread_vector_env

__all__ = ["SingleAgentEnv", "make_thread_vector_env"]

if "Shop-v0" not in gymnasium.registry:
    gymnasium.register(
        id="Shop-v0",
        entry_point="tests.conformance.shop_v0:SingleAgentEnv",
        vector_entry_point="tests.conformance.shop_v0:make_thread_vector_env",
        kwargs={"domain": "shop"},
    )
