"""A first episode: your policy is the agent, a scripted customer is the other side.

Run: python examples/first_episode.py

The policy here is a person's idea of a bad one: it searches the knowledge base for what the customer said,
then gives up. Put yours in its place: it maps an observation to an action.
"""

from typing import Any

import gymnasium as gym

import gym_enterprise  # registers the environments

gym.register_envs(gym_enterprise)


def policy(observation: dict[str, Any]) -> dict[str, Any]:
    """Search once for the customer's own words, then end the conversation."""
    last = observation["messages"][-1]
    if last.role == "user":
        return {
            "type": "tool_call",
            "name": "kb_search",
            "arguments": {"query": last.content[:200].strip(), "k": 3},
        }
    return {"type": "stop", "content": "I am sorry, I could not solve this."}


def main() -> float:
    env = gym.make("Banking-v0", render_mode="ansi")
    observation, info = env.reset(seed=7)
    print(f"task {info['task_id']}")
    terminated = truncated = False
    reward = 0.0
    while not (terminated or truncated):
        observation, step_reward, terminated, truncated, info = env.step(policy(observation))
        reward += float(step_reward)
    print(env.render())
    print(f"reward {reward}: {info['reason']}")
    env.close()
    return reward


if __name__ == "__main__":
    main()
