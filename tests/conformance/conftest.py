"""Every test that asks for `env_id` runs for every registered environment: new ones join by registering."""

import gymnasium
import pytest

import gym_enterprise
import tests.conformance.shop_v0  # noqa: F401 (registers Shop-v0)


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
def make_aec(domain):
    """Make the PettingZoo environment of an id."""
    from gym_enterprise.envs import aec

    return lambda **arguments: aec.env(domain.name, **arguments)


@pytest.fixture
def make_parallel(domain):
    """Make its parallel view."""
    from gym_enterprise.envs import aec

    return lambda **arguments: aec.parallel_env(domain.name, **arguments)
