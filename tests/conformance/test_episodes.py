"""Properties of whole episodes that upstream has no test for; numbers as in the interface notes."""

import json
import socket

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from gym_enterprise import Episode, OraclePlayer, SimulatorError
from gym_enterprise.seating import take_turn

TALK = {"type": "message", "content": "And then?"}


class Chatter:
    """Says the same for ever."""

    def act(self, observation):
        return dict(TALK)


def play_aec(env, players, **reset):
    """Play an episode by PettingZoo's loop; return the rewards that each player collected."""
    env.reset(**reset)
    collected = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        collected[agent] += reward
        env.step(None if terminated or truncated else players[agent].act(observation))
    return collected


def first_task(domain):
    return next(task for tasks in domain.tasks.values() for task in tasks.values())


def test_11_budget_truncates_both_players_after_exactly_max_steps(env_id, make_aec):
    env = make_aec(max_steps=7)
    env.reset(seed=0)
    for step in range(7):
        assert not any(env.truncations.values()), step
        env.step(dict(TALK))
    assert env.truncations == {"agent_0": True, "user_0": True}
    assert env.terminations == {"agent_0": False, "user_0": False}
    assert env.unwrapped.episode.step == 7
    assert [info["reason"] for info in env.infos.values()] == ["max_steps", "max_steps"]


def test_11_budget_truncates_the_single_view(env_id, domain):
    env = gymnasium.make(env_id, max_steps=6, user=Chatter())
    env.reset(seed=0)
    flags = [env.step(dict(TALK))[2:4] for _ in range(3)]  # the user's opening, then talk in turns
    assert flags == [(False, False), (False, False), (False, True)]


def test_18_observing_is_pure_for_both_seats_at_all_times(env_id, make_raw):
    env = make_raw()
    env.reset(seed=3)
    rng = env._np_random.bit_generator.state
    space = env.action_space("agent_0")
    space.seed(1)
    for _ in range(12):
        before = (env.state(), [env.observe(agent) for agent in env.possible_agents])
        for _ in range(100):
            for agent in env.possible_agents:
                env.observe(agent)
        after = (env.state(), [env.observe(agent) for agent in env.possible_agents])
        assert data_equivalence(before, after)
        if not env.agents:
            break
        dead = env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
        env.step(None if dead else dict(TALK) if env.agent_selection == "user_0" else space.sample())
    assert env._np_random.bit_generator.state == rng


def test_19_both_players_collect_the_same_reward_dead_turns_included(env_id, make_aec, domain, customer):
    task = first_task(domain)
    players = {"agent_0": OraclePlayer(task, 0), "user_0": customer(task)}
    env = make_aec(task_id=task.id)
    assert play_aec(env, players, seed=1) == {"agent_0": 1.0, "user_0": 1.0}
    silent = {"agent_0": Chatter(), "user_0": Chatter()}
    assert play_aec(make_aec(max_steps=4), silent, seed=1) == {"agent_0": 0.0, "user_0": 0.0}


def test_20_all_views_give_the_same_transcript_database_and_reward(
    env_id, domain, make_aec, make_parallel, customer
):
    class SameUser:
        """A customer with one seed, so that all views have the same one."""

        sees_task = True

        def __init__(self, task, seed):
            self.player = customer(task, 5)

        def act(self, observation):
            return self.player.act(observation)

    outcomes = []
    single = gymnasium.make(env_id, user=SameUser)
    for seed in range(4):
        observation, info = single.reset(seed=seed)
        task = domain.task(info["task_id"])
        agent = OraclePlayer(task, 2)
        done = False
        while not done:
            observation, reward, terminated, truncated, info = single.step(agent.act(observation))
            done = terminated or truncated
        players = {"agent_0": agent, "user_0": SameUser(task, 0)}
        by_turns = make_aec()
        rewards = play_aec(by_turns, players, seed=seed)

        parallel = make_parallel()
        observations, _ = parallel.reset(seed=seed)
        last = {}
        while parallel.agents:
            actions = {agent: players[agent].act(observations[agent]) for agent in parallel.agents}
            observations, last, *_ = parallel.step(actions)

        outcomes.append(reward)
        assert rewards == last == {"agent_0": reward, "user_0": reward}
        episodes = [env.unwrapped.episode for env in (single, by_turns, parallel)]
        assert episodes[0].transcript == episodes[1].transcript == episodes[2].transcript
        changes = [episode.world.changes() for episode in episodes]
        assert changes[0] == changes[1] == changes[2]
    assert outcomes == [1.0] * 4


def test_21_a_whole_episode_needs_no_network_and_no_key(env_id, domain, customer, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("an episode opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    for name in ("OPENAI_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    env = gymnasium.make(env_id, role="user")
    observation, info = env.reset(seed=0)
    user = customer(domain.task(info["task_id"]))
    done = False
    while not done:
        observation, reward, terminated, truncated, info = env.step(user.act(observation))
        done = terminated or truncated
    assert (reward, info["scored"]) == (1.0, 1)


def planted(domain, tmp_path):
    """Write the domain's first task with a sentinel wherever a player must not see it."""
    task = first_task(domain)
    data = task.model_dump(mode="json")
    data["user"]["persona"] += " SENTINEL-persona"
    data["user"]["instructions"] += " SENTINEL-instructions"
    data["notes"] = "SENTINEL-notes"
    data["meta"]["knobs"]["secret"] = "SENTINEL-knob"
    data["capabilities"] = ["SENTINEL-capability"]
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(data) + "\n")
    return path


def test_17_a_seat_never_sees_the_other_ones_scenario_or_the_task(
    env_id, domain, tmp_path, make_aec, customer
):
    path = planted(domain, tmp_path)
    env = make_aec(tasks=path)
    env.reset(seed=0)
    task = env.unwrapped.episode.task
    players = {"agent_0": OraclePlayer(task, 0), "user_0": customer(task)}
    known = {"agent_0": set(), "user_0": {"SENTINEL-persona", "SENTINEL-instructions"}}
    for agent in env.agent_iter():
        for reader in env.agents:
            seen = repr((env.observe(reader), env.infos[reader], env.unwrapped.tools(reader)))
            assert seen.count("SENTINEL") == len(known[reader])
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else players[agent].act(env.observe(agent)))


def test_17_tool_calls_and_results_are_seen_by_their_caller_only(env_id, domain, customer):
    for tasks in domain.tasks.values():
        for task in tasks.values():
            episode = Episode(domain, task)
            players = {"agent": OraclePlayer(task, 0), "user": customer(task)}
            made = {"agent": [], "user": []}
            while (seat := episode.turn) is not None:
                before = len(episode.transcript)
                take_turn(episode, seat, players[seat])
                made[seat] += [m for s, m in episode.transcript[before:] if m.call is not None]
                for reader in ("agent", "user"):
                    seen = [m for m in episode.observe(reader)["messages"] if m.call is not None]
                    assert [(m.role, m.call) for m in seen] == [(m.role, m.call) for m in made[reader]]


@pytest.mark.parametrize("role", ["agent", "user"])
def test_masks_name_what_is_open_and_close_when_it_is_over(env_id, domain, role):
    env = gymnasium.make(env_id, role=role, disable_env_checker=True)
    _, info = env.reset(seed=0)
    kinds = env.action_space.kinds
    advertised = [tool["function"]["name"] for tool in env.unwrapped.tools()]
    opened = [kind for kind, bit in zip(kinds, info["action_mask"], strict=True) if bit]
    assert opened == ["message", "stop", *advertised]
    assert info["action_mask"].dtype == np.int8
    info["action_mask"][:] = 0  # the caller's own copy
    _, _, terminated, _, info = env.step({"type": "stop"})
    assert terminated
    assert not info["action_mask"].any()


def test_a_failing_partner_is_not_scored(env_id, domain):
    class Broken:
        def act(self, observation):
            if observation["turn"] == 0:
                return {"type": "message", "content": "Hello"}
            raise ConnectionError("no route to host")

    env = gymnasium.make(env_id, user=Broken(), disable_env_checker=True)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(dict(TALK))
    assert (str(reward), terminated, truncated) == ("nan", False, True)
    assert (info["scored"], info["reason"]) == (0, "simulator_error")
    assert str(info["reward"]) == "nan"
    assert SimulatorError.__name__ not in repr(info)
