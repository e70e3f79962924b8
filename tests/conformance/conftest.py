"""Every test that asks for `env_id` runs for every registered environment: new ones join by registering."""

import gymnasium
import pytest

import gym_enterprise
import tests.conformance.shop_v0  # noqa: F401 (registers Shop-v0)
from gym_enterprise import ReplayUser, ScriptedUser


def registered_ids():
    return [
        env_id
        for env_id, spec in gymnasium.registry.items()
        if str(spec.entry_point).startswith("gym_enterprise") or env_id == "Shop-v0"
    ]


def pytest_generate_tests(metafunc):
    if "env_id" in metafunc.fixturenames:
        metafunc.parametrize("env_id", registered_ids())


@pytest.fixture
def domain(env_id):
    """The domain of an id; the test is skipped when its data is not there."""
    name = gymnasium.registry[env_id].kwargs["domain"]
    try:
        return gym_enterprise.load_domain(name)
    except FileNotFoundError as error:
        pytest.skip(f"the data of {env_id} is absent: {error}")


@pytest.fixture
def arguments(env_id, domain):
    """What the registration of an id says for both players' environments."""
    kwargs = gymnasium.registry[env_id].kwargs
    return {key: value for key, value in kwargs.items() if key not in ("user", "agent")}


@pytest.fixture
def make_aec(arguments):
    """Make the PettingZoo environment of an id."""
    from gym_enterprise.envs import aec

    return lambda **given: aec.env(**{**arguments, **given})


@pytest.fixture
def make_raw(arguments):
    """Make it bare."""
    from gym_enterprise.envs import aec

    return lambda **given: aec.raw_env(**{**arguments, **given})


@pytest.fixture
def make_parallel(arguments):
    """Make its parallel view."""
    from gym_enterprise.envs import aec

    return lambda **given: aec.parallel_env(**{**arguments, **given})


@pytest.fixture
def customer(domain):
    """Make a good customer for a task: the scripted one, or one that replays where there is no script."""

    def make(task, seed=0):
        scripted = task.user.script is not None
        return ScriptedUser(domain.view(task, "user"), seed) if scripted else ReplayUser(task, seed)

    return make
