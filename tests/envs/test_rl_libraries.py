"""Libraries that know boxes and discrete actions play 1,000 steps through NumericView, unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from gym_enterprise import banking_v0
from gym_enterprise.envs import NumericView
from gym_enterprise.envs.numeric.aec import NumericAEC, parallel_env

PAGE = Path(__file__).parents[2] / "docs" / "rl_libraries.md"
STEPS = 1_000
NO_RAY = "RLlib pins an older Gymnasium, so no extra installs it: see docs/rl_libraries.md"

pytestmark = [
    pytest.mark.slow,
    # What these libraries say at import and about themselves is not ours to judge.
    pytest.mark.filterwarnings("ignore"),
]


def both(**arguments):
    return NumericAEC(banking_v0.env(max_steps=40), **arguments)


@pytest.mark.parametrize("mask_in_obs", [False, True])
def test_torchrl_plays_both_players_in_turn(mask_in_obs):
    torchrl = pytest.importorskip("torchrl.envs.libs.pettingzoo")
    env = torchrl.PettingZooWrapper(both(mask_in_obs=mask_in_obs), use_mask=True, seed=0)
    played = 0
    while played < STEPS:
        data = env.rollout(200)
        played += len(data)
        for player in ("agent_0", "user_0"):
            assert data[player, "action_mask"].any(-1).all()
    env.close()


def test_torchrl_plays_the_parallel_view():
    torchrl = pytest.importorskip("torchrl.envs.libs.pettingzoo")
    env = torchrl.PettingZooWrapper(parallel_env(both()), seed=0)
    played = 0
    while played < STEPS:
        played += len(env.rollout(200))
    env.close()


def test_torchrl_plays_one_seat():
    gym = pytest.importorskip("torchrl.envs.libs.gym")
    transforms = pytest.importorskip("torchrl.envs")
    inner = NumericView(gymnasium.make("Banking-v0", max_steps=40), mask_in_obs=True)
    env = transforms.TransformedEnv(gym.GymWrapper(inner), transforms.ActionMask())
    data = env.rollout(STEPS, break_when_any_done=False)
    assert len(data) == STEPS
    chosen = data["action"].bool()
    assert bool((data["action_mask"].bool() & chosen).any(-1).all())  # only open entries were taken


def test_supersuit_makes_a_vector_environment_of_both_players():
    supersuit = pytest.importorskip("supersuit")
    env = supersuit.pettingzoo_env_to_vec_env_v1(parallel_env(both()))
    envs = supersuit.concat_vec_envs_v1(env, 2, num_cpus=0, base_class="gymnasium")
    observations, _ = envs.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(STEPS // envs.num_envs):
        assert observations.shape == (4, *envs.observation_space.shape)
        observations, *_ = envs.step(rng.integers(envs.action_space.n, size=4))
    envs.close()


@pytest.mark.parametrize(
    "wrap", ["pad_observations_v0", "agent_indicator_v0", "flatten_v0", "black_death_v3"]
)
def test_supersuits_wrappers_take_it(wrap):
    supersuit = pytest.importorskip("supersuit")
    inner = both() if wrap != "black_death_v3" else parallel_env(both())
    env = getattr(supersuit, wrap)(inner)
    env.reset(seed=0)
    assert env.observation_space("agent_0").contains(
        env.observe("agent_0") if hasattr(env, "observe") else env.reset(seed=0)[0]["agent_0"]
    )


def test_rllib_plays_both_players_in_turn():
    rllib = pytest.importorskip("ray.rllib.env.wrappers.pettingzoo_env", reason=NO_RAY)
    env = rllib.PettingZooEnv(both(mask_in_obs=True))
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    for _ in range(STEPS):
        (name,) = observations
        number = rng.choice(np.flatnonzero(observations[name]["action_mask"]))
        observations, rewards, terminated, truncated, _ = env.step({name: number})
        assert set(rewards) <= {"agent_0", "user_0"}
        if terminated["__all__"] or truncated["__all__"]:
            observations, _ = env.reset()


def test_rllib_plays_the_parallel_view():
    rllib = pytest.importorskip("ray.rllib.env.wrappers.pettingzoo_env", reason=NO_RAY)
    env = rllib.ParallelPettingZooEnv(parallel_env(both(mask_in_obs=True)))
    rng = np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    for _ in range(STEPS):
        numbers = {
            name: rng.choice(np.flatnonzero(seen["action_mask"])) for name, seen in observations.items()
        }
        observations, _, terminated, truncated, _ = env.step(numbers)
        if terminated["__all__"] or truncated["__all__"]:
            observations, _ = env.reset()


def test_tianshou_plays_both_players_in_turn():
    tianshou = pytest.importorskip("tianshou.env")
    env = tianshou.PettingZooEnv(both(mask_in_obs=True))
    rng = np.random.default_rng(0)
    seen, _ = env.reset(seed=0)
    for _ in range(STEPS):
        assert seen["agent_id"] in ("agent_0", "user_0")
        seen, rewards, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(seen["mask"]))))
        assert len(rewards) == 2
        if terminated or truncated:
            seen, _ = env.reset()
    envs = tianshou.DummyVectorEnv([lambda: tianshou.PettingZooEnv(both(mask_in_obs=True))] * 2)
    assert len(envs.reset()[0]) == 2


@pytest.mark.parametrize("library", ["torchrl", "supersuit", "ray.rllib.env", "tianshou"])
def test_the_pages_example_of_a_library_runs(library, capsys):
    pytest.importorskip(library, reason=NO_RAY if library.startswith("ray") else None)
    text = PAGE.read_text()
    shared = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    own = [block for block in blocks if re.search(rf"^(import|from) {library}", block, re.MULTILINE)]
    assert len(own) == 1
    namespace = {"__name__": "documentation"}
    for block in (*shared, *own):
        exec(compile(block, f"{PAGE.name}, {library}", "exec"), namespace)
