"""Arguments of an environment that are the domain's: passed on, kept by copies, and named when wrong."""

import pickle

import gymnasium
import pytest

from gym_enterprise import Domain, UsageError, register_domain
from gym_enterprise.envs import SingleAgentEnv, aec
from tests.shop import make_domain

TALK = {"type": "message", "content": "Hello"}


def make_kind(policy="Be kind.") -> Domain:
    shop = make_domain()
    tasks = [task.model_copy(update={"domain": "kind"}) for task in shop.tasks["train"].values()]
    tools = {tool.name: tool for seat in ("agent", "user") for tool in shop.toolset(seat)}
    own = [tool for name, tool in tools.items() if not name.startswith("kb_")]
    return Domain("kind", shop.image, own, policy, {"train": tasks}, documents=shop.documents)


register_domain("kind", f"{__name__}:make_kind")
MAKERS = [SingleAgentEnv, aec.raw_env, aec.env, aec.parallel_env]


def policy(env):
    return env.unwrapped.episode.observe("agent")["messages"][0].content


@pytest.mark.parametrize("make", [SingleAgentEnv, aec.raw_env, aec.env])
def test_further_arguments_are_the_domains(make):
    for given, told in (({}, "Be kind."), ({"policy": "Be quick."}, "Be quick.")):
        env = make("kind", **given)
        env.reset(seed=0)
        assert policy(env) == told


@pytest.mark.parametrize("make", MAKERS)
def test_a_name_that_the_domain_does_not_take_is_an_error_that_says_what_it_takes(make):
    with pytest.raises(UsageError, match=r"'kind'.*polizy.*it takes policy"):
        make("kind", polizy="Be quick.")


@pytest.mark.parametrize("make", MAKERS)
def test_a_domain_that_is_made_takes_no_more_arguments(make):
    with pytest.raises(UsageError, match=r"'kind' is made already.*'policy'"):
        make(make_kind(), policy="Be quick.")


def test_a_pickled_environment_keeps_them():
    env = SingleAgentEnv("kind", policy="Be quick.")
    env.reset(seed=0)
    again = pickle.loads(pickle.dumps(env))
    assert again.domain is env.domain
    assert policy(again) == "Be quick."
    again.step(dict(TALK))


def test_gymnasium_passes_them_on_to_one_environment_and_to_many():
    gymnasium.register(
        "Kind-v0",
        "gym_enterprise.envs.single:SingleAgentEnv",
        vector_entry_point="gym_enterprise.envs.vector:make_thread_vector_env",
        kwargs={"domain": "kind"},
    )
    try:
        env = gymnasium.make("Kind-v0", policy="Be quick.")
        env.reset(seed=0)
        assert policy(env) == "Be quick."
        observations, _ = gymnasium.make_vec("Kind-v0", num_envs=2, policy="Be calm.").reset(seed=0)
        assert [seen[0].content for seen in observations["messages"]] == ["Be calm."] * 2
    finally:
        del gymnasium.registry["Kind-v0"]
