"""Item 10 of the checklist: the suites again, through NumericView, the mask in the observation or not."""

import warnings

import numpy as np
import pettingzoo.test
import pytest
from gymnasium.utils.env_checker import data_equivalence

from gym_enterprise.envs.numeric.aec import NumericAEC, parallel_env


@pytest.fixture(params=[False, True], ids=["mask in info", "mask in obs"])
def make(request, make_aec):
    return lambda: NumericAEC(make_aec(), mask_in_obs=request.param)


def test_10_api_test_passes_and_warns_of_a_dictionary_at_most(env_id, make, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What it says about any observation that holds the mask, those of PettingZoo's own games included.
        warnings.filterwarnings("ignore", "Observation (space for each agent|is not a NumPy array)")
        pettingzoo.test.api_test(make(), num_cycles=1000)


def test_10_seed_test_passes(env_id, make):
    pettingzoo.test.seed_test(make, num_cycles=200)


def test_10_parallel_api_test_passes(env_id, make):
    pettingzoo.test.parallel_api_test(parallel_env(make()), num_cycles=1000)


def test_10_parallel_seed_test_passes(env_id, make):
    pettingzoo.test.parallel_seed_test(lambda: parallel_env(make()), num_cycles=200)


def test_10_whole_episodes_are_equal_for_equal_seeds(env_id, make):
    one, two = make(), make()
    for seed in range(2):
        rng = np.random.default_rng(seed)
        for env in (one, two):
            env.reset(seed=seed)
        while one.agents:
            assert data_equivalence(one.last(), two.last())
            over = one.terminations[one.agent_selection] or one.truncations[one.agent_selection]
            mask = one.infos[one.agent_selection]["action_mask"]
            number = None if over else int(rng.choice(np.flatnonzero(mask)))
            for env in (one, two):
                env.step(number)
        assert two.agents == []


def test_10_players_have_equal_spaces_and_the_one_to_move_has_open_entries(env_id, make):
    env = make()
    env.reset(seed=0)
    assert env.observation_space("agent_0") == env.observation_space("user_0")
    assert env.action_space("agent_0") == env.action_space("user_0")
    assert env.infos[env.agent_selection]["action_mask"][1:].any()
