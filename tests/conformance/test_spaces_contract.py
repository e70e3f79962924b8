"""Numbers 14 and 15 of the interface notes: what spaces promise, and what any action may do."""

import copy
import json
import os
import pickle
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_enterprise import InvalidAction
from gym_enterprise.messages import SEATS


@pytest.fixture(params=SEATS)
def env(env_id, domain, request):
    return gymnasium.make(env_id, role=request.param, disable_env_checker=True)


def test_14_spaces_pickle_copy_compare_and_print_by_value(env, env_id):
    other = gymnasium.make(env_id, role=env.unwrapped.role)
    for space, twin in (
        (env.action_space, other.action_space),
        (env.observation_space, other.observation_space),
    ):
        for clone in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space), twin):
            assert clone == space
            assert repr(clone) == repr(space)
            assert " at 0x" not in repr(space)
            space.seed(9)
            clone.seed(9)
            assert data_equivalence(space.sample(), clone.sample())
    assert env.action_space != env.observation_space
    assert not env.action_space.is_np_flattenable


def test_14_a_pickled_space_goes_on_where_it_was(env):
    env.action_space.seed(4)
    env.action_space.sample()
    clone = pickle.loads(pickle.dumps(env.action_space))
    assert [clone.sample() for _ in range(5)] == [env.action_space.sample() for _ in range(5)]


def test_14_samples_are_in_the_space_and_fit_their_tools_schema(env, domain):
    space = env.action_space
    space.seed(0)
    tools = domain.toolset(env.unwrapped.role)
    kinds = set()
    for _ in range(1000):
        action = space.sample()
        assert action in space
        assert json.loads(json.dumps(action)) == action
        kinds.add(action.get("name", action["type"]))
        tool = tools.get(action.get("name", ""))
        if tool is not None:
            tool.validate(action["arguments"])  # raises when they do not fit
    assert kinds == set(space.kinds)


def test_14_masks_are_respected(env):
    space = env.action_space
    for index, kind in enumerate(space.kinds):
        mask = np.zeros(len(space.kinds), dtype=np.int8)
        mask[index] = 1
        for _ in range(5):
            action = space.sample(mask)
            assert action.get("name", action["type"]) == kind
            assert space.sample(probability=mask.astype(float)).get("name", action["type"]) == kind


def test_14_samples_survive_json(env):
    for space in (env.action_space, env.observation_space):
        space.seed(2)
        samples = [space.sample() for _ in range(20)]
        written = json.loads(json.dumps(space.to_jsonable(samples), default=int))
        assert data_equivalence(
            [_plain(sample) for sample in space.from_jsonable(written)], [_plain(s) for s in samples]
        )


def _plain(sample):
    """Discrete samples come back from JSON as another integer type."""
    return {key: int(value) if isinstance(value, np.integer) else value for key, value in sample.items()}


SCRIPT = """
import gymnasium, gym_enterprise, tests.conformance.shop_v0
env = gymnasium.make({env_id!r})
env.action_space.seed(5)
env.observation_space.seed(5)
print(repr([env.action_space.sample() for _ in range(20)]), env.observation_space.sample())
print(env.reset(seed=3))
"""


def test_14_seeds_mean_the_same_in_another_process(env_id, domain):
    seen = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(env_id=env_id)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert len(seen.pop()) > 500


# -- 15: any value as an action ------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)  # NUL and lone surrogates included
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
JSON = st.recursive(SCALAR, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3))
ENVELOPE = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "tool_call", "stop", "other"])},
    optional={"content": JSON, "name": JSON, "arguments": JSON, "id": JSON, "requestor": JSON},
)
ANY_ACTION = ENVELOPE | JSON | st.lists(ENVELOPE, max_size=3)


class Listener:
    """A user that only says go on."""

    def act(self, observation):
        return {"type": "message", "content": "Go on."}


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(action=ANY_ACTION)
def test_15_any_json_value_is_answered_and_changes_nothing(env_id, domain, action):
    env = _listening(env_id)
    episode = env.unwrapped.episode
    before = len(episode.world.changes())
    observation, reward, *_ = env.step(action)
    assert observation in env.observation_space
    assert len(episode.world.changes()) == before == 0
    assert reward == 0.0
    json.dumps([message.to_dict() for message in observation["messages"]], ensure_ascii=True)
    pickle.dumps(env)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\0",
        "\ud800",
        "\u2028",
        "x" * 1_000_000,
        "<tool_call>",
        "###STOP###",
        "<think>",
        "[" * 100_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_15_any_text_anywhere_is_answered(env_id, domain, text):
    env = _listening(env_id)
    for action in (
        text,
        {"type": "message", "content": text},
        {"type": "stop", "content": text},
        {"type": "tool_call", "name": text, "arguments": {}},
        {"type": "tool_call", "name": "kb_read", "arguments": text},
        {"type": "tool_call", "name": "kb_read", "arguments": {text: text}},
        {"type": "tool_call", "name": "kb_read", "arguments": {}, "id": text, "content": text},
        {"type": text},
        {text: text},
    ):
        env.reset(seed=0)
        observation, *_ = env.step(action)
        assert observation in env.observation_space
        assert len(env.unwrapped.episode.world.changes()) == 0


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(action=ANY_ACTION)
def test_15_a_strict_environment_raises_invalid_action_and_nothing_else(env_id, domain, action):
    env = _listening(env_id)
    env.unwrapped.strict = True
    before = env.unwrapped.episode.transcript
    refused = False
    try:
        env.step(action)
    except InvalidAction:
        refused = True
    if refused:
        assert env.unwrapped.episode.transcript == before
    else:
        assert isinstance(action, list) or action in env.action_space


_made = {}


def _listening(env_id):
    if env_id not in _made:
        _made[env_id] = gymnasium.make(env_id, user=Listener(), disable_env_checker=True)
    _made[env_id].unwrapped.strict = False
    _made[env_id].reset(seed=0)
    return _made[env_id]
