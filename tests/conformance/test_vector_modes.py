"""Numbers 12 and 13 of the interface notes: every vector environment equals `SyncVectorEnv` by value."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from gym_enterprise.envs import SingleAgentEnv, ThreadVectorEnv

COUNT, STEPS = 3, 45


def make(env_id, kind, mode):
    if kind == "threads":
        return gymnasium.make_vec(env_id, num_envs=COUNT, autoreset_mode=mode)
    arguments = {"autoreset_mode": mode}
    if kind != "sync":
        arguments |= {"shared_memory": False, "context": kind}
    return gymnasium.make_vec(
        env_id,
        num_envs=COUNT,
        vectorization_mode="sync" if kind == "sync" else "async",
        vector_kwargs=arguments,
    )


def played(env_id, kind, mode, steps=STEPS):
    """Everything that a vector environment returns over some steps with sampled actions."""
    envs = make(env_id, kind, mode)
    space = envs.single_action_space
    space.seed(11)
    everything = [envs.reset(seed=3)]
    ended = 0
    for _ in range(steps):
        step = envs.step([space.sample() for _ in range(COUNT)])
        everything.append(step)
        over = step[2] | step[3]
        ended += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            everything.append(envs.reset(seed=[None, 4, 5], options={"reset_mask": over}))
    envs.close()
    assert envs.metadata["autoreset_mode"] == mode
    return everything, ended


@pytest.mark.parametrize("mode", AutoresetMode)
def test_12_threads_equal_sync_by_value(env_id, domain, mode):
    expected, ended = played(env_id, "sync", mode)
    assert ended >= 3
    assert data_equivalence(played(env_id, "threads", mode), (expected, ended), exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_12_processes_equal_sync_by_value(env_id, domain, context):
    for mode in AutoresetMode:
        expected = played(env_id, "sync", mode, steps=20)
        assert data_equivalence(played(env_id, context, mode, steps=20), expected, exact=True)


def test_13_shared_memory_fails_loudly_rather_than_returning_stale_text(env_id, domain):
    with pytest.raises(ValueError, match="shared_memory"):
        gymnasium.make_vec(env_id, num_envs=2, vectorization_mode="async")


def test_seeds_differ_between_copies_and_repeat(env_id, domain):
    envs = gymnasium.make_vec(env_id, num_envs=8)
    first = envs.reset(seed=0)[1]["task_id"].tolist()
    again = envs.reset(seed=0)[1]["task_id"].tolist()
    assert first == again
    assert len(set(first)) > 1
    envs.close()


def test_make_vec_gives_threads_and_says_so(env_id, domain):
    envs = gymnasium.make_vec(env_id, num_envs=2, role="user")
    assert isinstance(envs, ThreadVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert all(
        isinstance(env.unwrapped, SingleAgentEnv) and env.unwrapped.role == "user" for env in envs.envs
    )
    assert envs.num_envs == 2
    assert np.array_equal(envs.reset(seed=0)[0]["your_turn"], [1, 1])
    envs.close()
