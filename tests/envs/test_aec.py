"""The PettingZoo side: turns, masks, state, errors."""

import json

import pettingzoo
import pytest

import gym_enterprise.envs.aec as aec
from gym_enterprise import InvalidAction, UnknownTask, UsageError, banking_v0
from tests.envs.players import STOP, TALK, call, say
from tests.shop import make_domain, task


@pytest.fixture
def env():
    env = aec.env("shop", task_id="cancel")
    env.reset(seed=0)
    return env


def test_a_message_passes_the_turn_and_a_call_keeps_it(env):
    moves = [env.agent_selection]
    for action in (say("Hi"), call("get_order", order_id="O1"), call("nothing"), say("So?"), say("Yes")):
        env.step(action)
        moves.append(env.agent_selection)
    assert moves == ["user_0", "agent_0", "agent_0", "agent_0", "user_0", "agent_0"]


def test_the_mask_is_open_for_the_agent_to_move_only(env):
    for _ in range(4):
        mover = env.agent_selection
        for agent in env.agents:
            mask = env.infos[agent]["action_mask"]
            assert len(mask) == len(env.action_space(agent).kinds)
            assert mask.any() == (agent == mover)
        env.step(dict(TALK))


def test_the_users_mask_has_the_tools_of_the_task():
    env = aec.env("shop", task_id="confirm")
    env.reset(seed=0)
    kinds = env.action_space("user_0").kinds
    opened = [k for k, bit in zip(kinds, env.infos["user_0"]["action_mask"], strict=True) if bit]
    assert opened == ["message", "stop", "confirm_order", "use_tool"]


@pytest.mark.parametrize("action", [None, 3, "hello", {}, {"type": "message"}, say(" "), [say("a"), 3]])
def test_an_action_that_is_not_one_raises_and_changes_nothing(env, action):
    before = env.state(), env.unwrapped.episode.snapshot(), env.agent_selection
    with pytest.raises(InvalidAction):
        env.step(action)
    assert (env.state(), env.unwrapped.episode.snapshot(), env.agent_selection) == before


def test_a_lenient_environment_answers_instead():
    env = aec.env("shop", strict=False)
    env.reset(seed=0)
    env.step("hello")
    error = env.observe("user_0")["messages"][-1].result["error"]
    assert error["code"] == "invalid_action"
    assert '"hello"' in error["message"]
    assert env.agent_selection == "user_0"


def test_state_tells_equal_databases_by_equal_digests(env):
    before = env.state()
    env.step(say("Hi"))
    digests = [env.state()["changes"]]
    for action in (
        call("get_order", order_id="O1"),  # logged, and the log is not graded
        call("cancel_order", order_id="O1"),
        call("reopen_order", order_id="O1"),
    ):
        env.step(action)
        digests.append(env.state()["changes"])
    assert before["changes"] == digests[0] == digests[1] == digests[3] != digests[2]
    state = env.state()
    assert (state["turn"], state["to_move"], state["solved"], state["errors"]) == (4, 0, 0, 0)
    env.step(call("cancel_order", order_id="O1"))
    assert env.state()["solved"] == 1
    env.step(dict(STOP))
    assert env.state()["to_move"] == 2
    assert env.state() in env.state_space


def test_agents_and_tasks_are_checked_by_name(env):
    for wrong in (env.observe, env.action_space, env.observation_space, env.unwrapped.tools):
        with pytest.raises(UsageError, match="no agent 'agent_1'; agents: agent_0, user_0"):
            wrong("agent_1")
    with pytest.raises(UnknownTask, match="'nope'"):
        env.reset(options={"task_id": "nope"})
    with pytest.raises(UsageError, match="max_steps"):
        aec.env("shop", max_steps=-1)
    assert [tool["function"]["name"] for tool in env.unwrapped.tools("user_0")] == []


def test_seeds_decide_the_task_and_resets_go_on_from_there():
    one, two = aec.raw_env("shop"), aec.raw_env("shop")
    drawn = []
    for env in (one, two):
        env.reset(seed=3)
        drawn.append([env.episode.task.id])
        for _ in range(8):
            env.reset()
            drawn[-1].append(env.episode.task.id)
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 3


def test_the_parallel_view_takes_one_turn_a_step_and_ignores_the_other_action():
    env = aec.parallel_env("shop", task_id="cancel")
    observations, infos = env.reset(seed=0)
    assert set(observations) == set(infos) == {"agent_0", "user_0"}
    observations, *_ = env.step({"agent_0": dict(STOP), "user_0": say("Hi")})
    assert [message.content for message in observations["agent_0"]["messages"]][1:] == ["Hi"]
    assert observations["agent_0"]["your_turn"] == 1


def test_a_domain_may_let_the_agent_open():
    env = aec.env(make_domain(first_speaker="agent"), task_id="cancel")
    env.reset(seed=0)
    assert env.agent_selection == "agent_0"


def test_budget_ends_are_graded_by_the_state():
    env = aec.env(make_domain(), task_id="cancel", max_steps=2)
    env.reset(seed=0)
    env.step(say("Hi"))
    env.step(call("cancel_order", order_id="O1"))
    assert env.rewards == {"agent_0": 1.0, "user_0": 1.0}
    assert env.truncations == {"agent_0": True, "user_0": True}


def test_tasks_may_come_from_a_file(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(task("mine").model_dump(mode="json")))
    env = aec.env("shop", tasks=path)
    env.reset(seed=0)
    assert env.unwrapped.episode.task.id == "mine"


def test_names_and_metadata_are_pettingzoos():
    env = banking_v0.env(render_mode="ansi")
    assert str(env.unwrapped) == "banking_v0"
    assert env.metadata["render_modes"] == ["ansi", "human"]
    assert env.metadata["is_parallelizable"] is False
    assert env.render_mode == "ansi"
    assert env.possible_agents == ["agent_0", "user_0"]
    assert isinstance(banking_v0.raw_env(), pettingzoo.AECEnv)
    assert isinstance(banking_v0.parallel_env(), pettingzoo.ParallelEnv)
    assert isinstance(pettingzoo.make("aec", "gym_enterprise/Banking-v0"), pettingzoo.AECEnv)
