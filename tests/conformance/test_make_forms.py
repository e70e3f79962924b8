"""Number 16 of the interface notes: every way to make an environment works, in a fresh process."""

import os
import subprocess
import sys

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec

FORMS = {
    "import": "import gym_enterprise; gymnasium.make({id!r}).reset(seed=0)",
    "module prefix": "gymnasium.make('gym_enterprise:{id}').reset(seed=0)",
    "namespace": (
        "import gym_enterprise; gymnasium.register_envs(gym_enterprise); gymnasium.make({id!r}).reset(seed=0)"
    ),
    "make_vec": "import gym_enterprise; gymnasium.make_vec({id!r}, num_envs=2).reset(seed=0)",
    "make_vec prefix": "gymnasium.make_vec('gym_enterprise:{id}', num_envs=2).reset(seed=0)",
    "make_vec sync": (
        "gymnasium.make_vec('gym_enterprise:{id}', num_envs=2, vectorization_mode='sync').reset(seed=0)"
    ),
    "pettingzoo": (
        "import pettingzoo, gym_enterprise; pettingzoo.make('aec', 'gym_enterprise/{id}').reset(seed=0)"
    ),
    "pettingzoo later": (
        "import gym_enterprise.envs.aec, pettingzoo; "
        "pettingzoo.make('aec', 'gym_enterprise/{id}').reset(seed=0)"
    ),
    "reload": (
        "import importlib, gym_enterprise; importlib.reload(gym_enterprise); gym_enterprise.register_envs(); "
        "gymnasium.make({id!r}).reset(seed=0)"
    ),
}


def own(env_id):
    return str(gymnasium.registry[env_id].entry_point).startswith("gym_enterprise")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_16_every_form_works_quietly_in_a_fresh_process(env_id, domain, form):
    if not own(env_id):
        pytest.skip(f"{env_id} belongs to the tests")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import gymnasium; " + FORMS[form].format(id=env_id)],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_16_a_spec_survives_json_and_makes_the_same_environment(env_id, domain):
    env = gymnasium.make(env_id, role="user", max_steps=9)
    spec = EnvSpec.from_json(env.spec.to_json())
    other = gymnasium.make(spec)
    assert other.unwrapped.role == "user"
    assert env.reset(seed=1)[0] == other.reset(seed=1)[0]
    assert other.unwrapped.episode.max_steps == 9
