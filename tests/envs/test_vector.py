"""`ThreadVectorEnv`: what differs from `SyncVectorEnv`, and what must not."""

import threading

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from gym_enterprise import InvalidAction, UnknownTask, UsageError
from gym_enterprise.envs import SingleAgentEnv, TextAction, ThreadVectorEnv, make_thread_vector_env
from tests.envs.players import STOP, TALK, User, call, say


class Meeting:
    """A user that answers only while as many others are being asked at the same time."""

    def __init__(self, parties):
        self.barrier = threading.Barrier(parties)

    def act(self, observation):
        self.barrier.wait(timeout=20)
        return say("Here.")


def test_partners_are_asked_at_the_same_time():
    envs = make_thread_vector_env(4, domain="shop", user=Meeting(4))
    envs.reset(seed=0)
    observations, _, _, truncated, _ = envs.step([dict(TALK)] * 4)
    assert observations["turn"].tolist() == [3, 3, 3, 3]
    assert not truncated.any()
    envs.close()


def test_a_same_step_reset_gives_the_last_observation_and_starts_again():
    envs = make_thread_vector_env(2, domain="shop", task_id="cancel", user=User(say("Hi")))
    envs.reset(seed=0)
    observations, rewards, terminated, _, infos = envs.step([dict(STOP), dict(TALK)])
    assert terminated.tolist() == [True, False]
    assert observations["turn"].tolist() == [1, 3]
    assert infos["final_obs"][0]["your_turn"] == 0
    assert infos["final_info"]["reason"].tolist() == ["agent_stop", None]
    assert infos["final_info"]["scored"].tolist() == [1, 0]
    assert infos["_final_info"].tolist() == [True, False]
    assert rewards.tolist() == [0.0, 0.0]


def test_a_failed_partner_gives_nan_for_its_environment_only():
    class Moody:
        def act(self, observation):
            if observation["messages"][-1].content == "fail":
                raise OSError("no model")
            return say("Hi")

    envs = make_thread_vector_env(2, domain="shop", user=Moody())
    envs.reset(seed=0)
    _, rewards, _, truncated, infos = envs.step([say("fail"), say("go on")])
    assert np.isnan(rewards).tolist() == truncated.tolist() == [True, False]
    assert infos["final_info"]["scored"].tolist() == [0, 0]
    assert infos["final_info"]["_scored"].tolist() == [True, False]


def test_the_first_error_is_raised_and_the_next_step_is_clean():
    envs = make_thread_vector_env(3, domain="shop", user=User(say("Hi")))
    envs.reset(seed=0)
    with pytest.raises(InvalidAction, match="not an action: 3"):
        envs.step([dict(TALK), 3, dict(TALK)])
    observations, *_ = envs.step([dict(TALK)] * 3)
    assert observations["turn"].tolist() == [3, 3, 3]
    with pytest.raises(UsageError, match="3 environments take 3 actions, got 2"):
        envs.step([dict(TALK)] * 2)
    with pytest.raises(UnknownTask):
        envs.reset(options={"task_id": "nope"})
    assert envs.reset(options={"task_id": "confirm"})[1]["task_id"].tolist() == ["confirm"] * 3


def test_disabled_autoreset_wants_a_mask_and_leaves_the_callers_options_alone():
    envs = make_thread_vector_env(2, domain="shop", autoreset_mode="Disabled", user=User(say("Hi")))
    envs.reset(seed=0)
    envs.step([dict(STOP), dict(TALK)])
    with pytest.raises(ResetNeeded, match=r"environments \[0\] are over"):
        envs.step([dict(TALK)] * 2)
    options = {"reset_mask": np.array([True, False]), "task_id": "confirm"}
    observations, infos = envs.reset(options=options)
    assert observations["turn"].tolist() == [1, 3]
    assert infos["task_id"].tolist() == ["confirm", None]
    assert set(options) == {"reset_mask", "task_id"}
    for mask, error in (
        ([True, False], TypeError),
        (np.array([True]), ValueError),
        (np.zeros(2, bool), ValueError),
    ):
        with pytest.raises(error, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(ValueError, match="length must match"):
        envs.reset(seed=[1, 2, 3])
    assert envs.step([dict(TALK)] * 2)[0]["turn"].tolist() == [3, 5]


def test_wrong_arguments_fail_at_construction():
    with pytest.raises(
        UsageError, match="autoreset_mode should be one of 'NextStep', 'SameStep', 'Disabled'"
    ):
        make_thread_vector_env(2, domain="shop", autoreset_mode="Sometimes")
    with pytest.raises(UsageError, match="num_envs should be at least 1"):
        make_thread_vector_env(0, domain="shop")
    with pytest.raises(UsageError, match="role"):
        make_thread_vector_env(2, domain="shop", role="boss")


def test_numpy_seeds_and_lists_of_seeds_mean_the_same():
    envs = make_thread_vector_env(3, domain="shop")
    expected = envs.reset(seed=5)[1]["task_id"].tolist()
    assert envs.reset(seed=np.int64(5))[1]["task_id"].tolist() == expected
    assert envs.reset(seed=[5, 6, 7])[1]["task_id"].tolist() == expected
    assert envs.np_random_seed == (5, 6, 7)


def test_sub_environments_can_be_called_and_wrapped():
    envs = ThreadVectorEnv([lambda: TextAction(SingleAgentEnv("shop", user=User(say("Hi"))))] * 2, "NextStep")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    envs.reset(seed=0)
    text = '<tool_call>{"name": "get_order", "arguments": {"order_id": "O1"}}</tool_call>'
    observations, *_ = envs.step([text, "###STOP###"])
    assert observations["turn"].tolist() == [2, 1]
    assert envs.call("tools")[0][0]["function"]["name"] == "get_order"
    assert isinstance(gymnasium.wrappers.vector.RecordEpisodeStatistics(envs).reset(seed=1), tuple)


def test_single_calls_on_a_sub_environment_go_through():
    envs = make_thread_vector_env(2, domain="shop", user=User(say("Hi")))
    envs.reset(seed=0)
    assert envs.envs[0].step(call("get_order", order_id="O1"))[0]["turn"] == 2
    assert envs.envs[1].reset(seed=3)[0]["turn"] == 1


@pytest.mark.parametrize("odd", [{"type": "nope"}, "hello", say(" "), [dict(STOP), dict(STOP)]])
def test_one_action_that_is_none_moves_no_environment(odd):
    envs = make_thread_vector_env(3, domain="shop", task_id="cancel", user=User(say("Hi")))
    envs.reset(seed=0)
    with pytest.raises(InvalidAction):
        envs.step([dict(STOP), odd, dict(TALK)])
    assert [env.unwrapped.episode.step for env in envs.envs] == [1, 1, 1]
    _, _, terminated, _, _ = envs.step([dict(STOP), dict(TALK), dict(TALK)])
    assert terminated.tolist() == [True, False, False]
