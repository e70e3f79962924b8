"""Environments over `Episode`: Gymnasium (`single`, `vector`, `wrappers`) and PettingZoo (`aec`)."""

from gym_enterprise.envs.numeric import NumericView
from gym_enterprise.envs.rendering import episode_text
from gym_enterprise.envs.single import SingleAgentEnv
from gym_enterprise.envs.vector import ThreadVectorEnv, make_thread_vector_env
from gym_enterprise.envs.wrappers import ChatFormat, TextAction

__all__ = [
    "ChatFormat",
    "NumericView",
    "SingleAgentEnv",
    "TextAction",
    "ThreadVectorEnv",
    "episode_text",
    "make_thread_vector_env",
]
