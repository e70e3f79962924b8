"""The suites of Gymnasium and PettingZoo; the numbers are those of the checklist in the interface notes."""

import warnings

import gymnasium
import pettingzoo.test
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence

UNAVOIDABLE = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box",
    "Action space for each agent probably should be gymnasium.spaces.box",
)
"""What PettingZoo says about any environment whose observations are text."""


@pytest.fixture
def caught():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


@pytest.mark.parametrize("role", ["agent", "user"])
def test_1_and_2_gymnasium_checker_passes_without_warnings_for_both_seats(env_id, domain, role, capsys):
    check_env(gymnasium.make(env_id, role=role).unwrapped)


@pytest.mark.parametrize("maker", ["make_aec", "make_raw"])
def test_3_api_test_passes_with_the_unavoidable_warnings_only(env_id, maker, caught, request):
    make = request.getfixturevalue(maker)
    caught.clear()
    pettingzoo.test.api_test(make(), num_cycles=1000)
    said = {str(warning.message) for warning in caught}
    assert {text for text in said if not text.startswith(UNAVOIDABLE)} == set()
    assert len(said) == len(UNAVOIDABLE)


def test_4_seed_test_passes(env_id, make_aec):
    pettingzoo.test.seed_test(make_aec, num_cycles=200)


def test_5_parallel_api_test_passes(env_id, make_parallel):
    pettingzoo.test.parallel_api_test(make_parallel(), num_cycles=1000)


def test_6_parallel_seed_test_passes(env_id, make_parallel):
    pettingzoo.test.parallel_seed_test(make_parallel, num_cycles=200)


def test_6_whole_parallel_episodes_are_equal_for_equal_seeds(env_id, make_parallel):
    # The upstream test stops after one step in PettingZoo 1.27.0.
    one, two = make_parallel(), make_parallel()
    for episode in range(3):
        starts = [env.reset(seed=7 if episode == 0 else None) for env in (one, two)]
        assert data_equivalence(*starts)
        for env in (one, two):
            for number, agent in enumerate(env.agents):
                env.action_space(agent).seed(episode + number)
        while one.agents:
            actions = [
                {agent: env.action_space(agent).sample() for agent in env.agents} for env in (one, two)
            ]
            assert data_equivalence(*actions)
            assert data_equivalence(one.step(actions[0]), two.step(actions[1]))
        assert two.agents == []


def test_7_render_test_passes(env_id, make_aec, capsys):
    pettingzoo.test.render_test(lambda render_mode=None: make_aec(render_mode=render_mode))


def test_8_state_test_passes(env_id, make_aec, make_parallel, caught):
    pettingzoo.test.state_test(make_aec(), make_parallel(), num_cycles=10)
    assert {str(warning.message) for warning in caught} == {
        "State space for each environment probably should be gymnasium.spaces.box or "
        "gymnasium.spaces.discrete",
        "State is not NumPy array",
    }


@pytest.mark.slow
def test_9_performance_benchmark_runs(env_id, make_raw, capsys):
    pettingzoo.test.performance_benchmark(make_raw())
    assert "turns per second" in capsys.readouterr().out
