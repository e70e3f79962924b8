"""Both seats in one loop: the PettingZoo (AEC) view, with a player of your choice in each seat.

Run: python examples/two_players.py

Here the oracle, who knows the reference, plays the agent, and a scripted customer plays the user. Replace
either by anything with a method `act(observation) -> action`.
"""

from gym_enterprise import OraclePlayer, Player, ScriptedUser, banking_v0


def main() -> dict[str, float]:
    env = banking_v0.env(render_mode="ansi")
    env.reset(seed=3)
    task = env.unwrapped.episode.task  # the harness may look; players get what their seat may know
    players: dict[str, Player] = {
        "agent_0": OraclePlayer(task, seed=0),
        "user_0": ScriptedUser(task.view("user"), seed=0),
    }
    collected = dict.fromkeys(env.possible_agents, 0.0)
    for name in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        collected[name] += reward
        env.step(None if terminated or truncated else players[name].act(observation))
    print(env.render())
    print(f"task {task.id}: {collected}")
    return collected


if __name__ == "__main__":
    main()
