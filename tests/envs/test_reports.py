"""The public bug reports about environments (ENV), by number."""

import copy
import pickle
import random
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from gym_enterprise import OraclePlayer, load_domain
from gym_enterprise.envs import ChatFormat, SingleAgentEnv, TextAction, aec
from tests.envs.players import STOP, TALK, User, call, say
from tests.shop import make_domain

CANCEL = call("cancel_order", order_id="O1")
LOOK = call("get_order", order_id="O1")


def frozen(episode):
    """Everything of an episode that a forbidden step must not change."""
    return episode.snapshot(), episode.grade(), episode.terminated, episode.truncated


# -- B029 ----------------------------------------------------------------------------------------------------


def test_b029_a_finished_gymnasium_episode_refuses_steps_and_stays_as_it_is():
    env = gymnasium.wrappers.RecordEpisodeStatistics(SingleAgentEnv("shop", task_id="cancel"))
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step(dict(STOP))
    assert (reward, terminated) == (0.0, True)
    before = frozen(env.unwrapped.episode)
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"the episode is over \(agent_stop\): call reset\(\)"):
            env.unwrapped.step(CANCEL)
    assert frozen(env.unwrapped.episode) == before
    env.reset()
    assert env.step(CANCEL)[1:4] == (0.0, False, False)


def test_b029_a_finished_pettingzoo_episode_takes_none_only_and_stays_as_it_is():
    env = aec.env("shop", task_id="cancel")
    env.reset(seed=0)
    env.step(dict(STOP))
    before = frozen(env.unwrapped.episode)
    for _ in range(2):
        with pytest.raises(ValueError, match="dead"):
            env.step(CANCEL)
    while env.agents:
        env.step(None)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.unwrapped.step(CANCEL)
    assert frozen(env.unwrapped.episode) == before


def test_b029_a_step_before_the_first_reset_is_a_clear_error():
    for env in (SingleAgentEnv("shop"), aec.raw_env("shop")):
        for attempt in (lambda env=env: env.step(dict(TALK)), env.render, env.grade):
            with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
                attempt()
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        aec.env("shop").step(dict(TALK))


# -- B030 ----------------------------------------------------------------------------------------------------


def test_b030_dead_agents_take_none_show_their_reward_and_leave():
    env = aec.env("shop", task_id="cancel")
    env.reset(seed=0)
    for action in (say("Cancel O1."), LOOK, CANCEL, say("Done."), STOP):
        env.step(dict(action))
    assert env.agents == ["agent_0", "user_0"]
    with pytest.raises(ValueError, match="None"):
        env.step("hello")
    left = []
    while env.agents:
        agent = env.agent_selection
        observation, reward, terminated, truncated, info = env.last()
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert (info["reward"], info["reason"], info["scored"]) == (1.0, "user_stop", 1)
        assert observation["your_turn"] == 0
        env.step(None)
        left.append(agent)
        assert agent not in env.agents
    assert sorted(left) == env.possible_agents == ["agent_0", "user_0"]
    assert list(env.agent_iter()) == []


def test_b030_parallel_agents_are_empty_after_the_last_step():
    env = aec.parallel_env("shop", task_id="cancel")
    env.reset(seed=0)
    _, rewards, terminations, truncations, _ = env.step({"agent_0": TALK, "user_0": STOP})
    assert env.agents == []
    assert rewards == {"agent_0": 0.0, "user_0": 0.0}
    assert terminations == {"agent_0": True, "user_0": True}
    assert truncations == {"agent_0": False, "user_0": False}


# -- B031 ----------------------------------------------------------------------------------------------------


def statuses(env):
    return env.unwrapped.episode.world.query("SELECT order_id, status FROM orders ORDER BY order_id")


def test_b031_environments_of_one_domain_do_not_see_each_other():
    domain = make_domain()
    image = domain.image.data
    a, b = (SingleAgentEnv(domain, task_id="cancel") for _ in range(2))
    for env in (a, b):
        env.reset(seed=0)
    a.step(CANCEL)
    c = SingleAgentEnv(domain, task_id="cancel")
    c.reset(seed=0)
    assert [row["status"] for row in statuses(a)] == ["cancelled", "open", "open"]
    assert statuses(b) == statuses(c)
    assert [row["status"] for row in statuses(c)] == ["open", "open", "open"]
    assert domain.image.data == image
    shared = [
        key for key, value in vars(a).items() if isinstance(value, list | dict) and value is vars(b)[key]
    ]
    assert shared == []


def test_b031_what_a_caller_gets_is_the_callers_own():
    env = SingleAgentEnv("shop", task_id="cancel")
    observation, info = env.reset(seed=0)
    tools = env.tools()
    tools[0]["function"]["parameters"].clear()
    observation.clear()
    info["action_mask"][:] = 0
    again, info, *_ = (lambda step: (step[0], step[4]))(env.step(LOOK))
    assert set(again) == {"messages", "turn", "your_turn"}
    assert info["action_mask"].all()
    assert env.tools()[0]["function"]["parameters"]["required"] == ["order_id"]


def write_a_hundred(seed, outcomes):
    env = SingleAgentEnv("shop", task_id="cancel", max_steps=1000)
    env.reset(seed=seed)
    for number in range(100):
        env.step(call("set_address", account_id="A1", address=f"{seed} Main St {number}"))
        env.step(call("issue_credit", account_id="A2", amount=seed + 1))
    outcomes[seed] = env.unwrapped.episode.transcript, env.unwrapped.episode.world.changes()


def test_b031_threads_give_what_serial_runs_give():
    serial, threaded = {}, {}
    for seed in range(4):
        write_a_hundred(seed, serial)
    threads = [threading.Thread(target=write_a_hundred, args=(seed, threaded)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert threaded == serial


# -- B032 ----------------------------------------------------------------------------------------------------


def test_b032_a_seed_decides_everything_and_global_generators_are_left_alone():
    states = random.getstate(), copy.deepcopy(np.random.get_state()[1])
    stop = threading.Event()

    def others():
        env = SingleAgentEnv("shop")
        while not stop.is_set():
            env.reset(seed=random.SystemRandom().randrange(1000))

    thread = threading.Thread(target=others)
    thread.start()
    try:
        seen = []
        for _ in range(2):
            env = SingleAgentEnv("shop")
            starts = [env.reset(seed=7), env.reset(), env.reset()]
            env.step(call("issue_credit", account_id="A1", amount=3))
            seen.append((repr(starts), env._player_seed, env.episode.transcript))
    finally:
        stop.set()
        thread.join()
    assert seen[0] == seen[1]
    assert random.getstate() == states[0]
    assert np.array_equal(np.random.get_state()[1], states[1])


def test_b032_seeds_differ_and_no_seed_works():
    env = SingleAgentEnv("shop")
    players = set()
    for seed in range(20):
        env.reset(seed=seed)
        players.add(env._player_seed)
    assert len(players) == 20
    assert SingleAgentEnv("shop").reset()[0]["turn"] == 1
    aec.raw_env("shop").reset()


# -- B033 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda env: env, ChatFormat])
def test_b033_nothing_of_an_episode_survives_reset(wrap):
    used, new = wrap(SingleAgentEnv("shop")), wrap(SingleAgentEnv("shop"))
    used.reset(seed=1)
    for action in (LOOK, call("nothing"), TALK, call("get_order"), call("kb_search", query="refund")):
        used.step(dict(action))
    assert used.unwrapped.episode.errors == 2
    first, second = used.reset(seed=3), new.reset(seed=3)
    assert first[0] == second[0]
    assert first[1]["task_id"] == second[1]["task_id"]
    episode = used.unwrapped.episode
    assert (episode.errors, len(episode.world.changes()), episode.faults) == (0, 0, {})
    assert episode.snapshot() == new.unwrapped.episode.snapshot()


# -- B034 ----------------------------------------------------------------------------------------------------


def wrapped(**arguments):
    return ChatFormat(TextAction(gymnasium.wrappers.TimeLimit(SingleAgentEnv(**arguments), 50)))


@pytest.mark.parametrize("make", [SingleAgentEnv, aec.raw_env, aec.env, wrapped])
def test_b034_an_environment_pickles_before_reset(make):
    clone = pickle.loads(pickle.dumps(make(domain="shop", task_id="cancel")))
    env = make(domain="shop", task_id="cancel")
    assert repr(clone.reset(seed=5)) == repr(env.reset(seed=5))


@pytest.mark.parametrize("duplicate", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
def test_b034_a_gymnasium_episode_goes_on_after_a_pickle(duplicate):
    env = SingleAgentEnv("shop", user="scripted")
    env.reset(seed=5)
    agent = OraclePlayer(env.episode.task, 0)
    steps = []
    for _ in range(3):
        clone = duplicate(env)
        assert clone.episode.snapshot() == env.episode.snapshot()
        action = agent.act(env.episode.observe("agent"))
        steps.append((env.step(action), clone.step(action)))
        assert repr(steps[-1][0]) == repr(steps[-1][1])
        env = clone
    while not steps[-1][0][2]:
        steps.append((env.step(agent.act(steps[-1][0][0])),))
    assert steps[-1][0][1] == 1.0
    clone = duplicate(env)
    assert clone.reset(seed=None)[1]["task_id"] == env.reset(seed=None)[1]["task_id"]


@pytest.mark.parametrize("duplicate", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
@pytest.mark.parametrize("make", [aec.env, aec.raw_env, aec.parallel_env])
def test_b034_a_pettingzoo_episode_goes_on_after_a_pickle(make, duplicate):
    env = make("shop", task_id="cancel")
    env.reset(seed=5)
    parallel = make is aec.parallel_env
    for action in (say("Cancel O1."), LOOK, CANCEL, say("Done."), STOP):
        env = duplicate(env)
        env.step({"agent_0": action, "user_0": action} if parallel else action)
    assert env.unwrapped.grade().reward == 1.0
    clone = duplicate(env)
    assert clone.agents == env.agents
    assert clone.state() == env.state()


def test_b034_a_domain_built_by_hand_says_why_it_does_not_pickle():
    with pytest.raises(TypeError, match="register it with register_domain"):
        pickle.dumps(SingleAgentEnv(make_domain()))


@pytest.mark.slow
def test_b034_three_environments_in_spawned_workers():
    import tests.conformance.shop_v0  # noqa: F401 (registers Shop-v0)

    envs = gymnasium.make_vec(
        "Shop-v0",
        num_envs=3,
        vectorization_mode="async",
        vector_kwargs={"shared_memory": False, "context": "spawn"},
    )
    envs.reset(seed=1)
    envs.step([dict(LOOK)] * 3)
    assert len(set(envs.get_attr("np_random_seed"))) == 3
    envs.close()


# -- B035 ----------------------------------------------------------------------------------------------------

TEXTS = ["🙂 привет\n\t世界", "a\u2028b\u0085c", "\0", "###STOP##", "x" * 99_999, "x" * 200_000]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_b035_observations_with_any_text_lie_in_their_space(text):
    env = SingleAgentEnv("shop", user=User(say("Hi"), say(text)), task_id="cancel")
    env.reset(seed=0)
    for action in (say(text), call("set_address", account_id="A1", address=("y" + text)[:50_000] + "z")):
        assert action in env.action_space
        observation, *_ = env.step(action)
        assert observation in env.observation_space
        assert all(isinstance(message.content, str) for message in observation["messages"])
    said = [message.content for message in observation["messages"] if message.role in ("agent", "user")]
    assert said[1].startswith(text[:90_000])


def test_b035_over_long_text_is_cut_and_says_so():
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel")
    env.reset(seed=0)
    observation, *_ = env.step(say("x" * 150_000))
    assert observation["messages"][2].content == "x" * 100_000 + " … [cut at 100000 of 150000 characters]"


def test_the_shared_domain_is_loaded_once():
    assert SingleAgentEnv("shop").domain is load_domain("shop")
