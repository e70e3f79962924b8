"""B058 for numbers: nothing of a task that a seat cannot see reaches its features or its menu."""

from __future__ import annotations

import numpy as np
import pytest

from gym_enterprise.envs import NumericView, SingleAgentEnv, aec
from gym_enterprise.envs.numeric.aec import NumericAEC
from tests.envs.players import Agent, User, say
from tests.shop import make_domain, task

SECRET = {
    "user": {
        "persona": "SENTINEL-persona",
        "instructions": "SENTINEL-instructions",
        "script": {
            "opening": "Please change my address. My order id is O3.",
            "facts": {"code": "SENTINEL-fact", "address": "SENTINEL-address"},
            "wants": [{"say": "SENTINEL-want", "about": ["sentinel-about"]}],
            "pushback": [{"say": "SENTINEL-pushback"}],
        },
        "tools": ["confirm_order"],
    },
    "state": {"update": {"accounts": [{"key": {"account_id": "A2"}, "set": {"owner": "SENTINEL-row"}}]}},
    "reference": [
        {"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-target"}},
        {"name": "issue_credit", "arguments": {"account_id": "A2", "amount": 4321.98}},
    ],
    "alternatives": [
        [{"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-alternative"}}]
    ],
    "notes": "SENTINEL-notes",
    "meta": {"knobs": {"hint": "SENTINEL-knob"}},
    "seed": 987654321,
}
HIDDEN_TOO = {
    "user": {
        **SECRET["user"],
        "persona": "another persona",
        "instructions": "other instructions",
        "script": {
            "opening": SECRET["user"]["script"]["opening"],
            "facts": {"code": "XK-1", "colour": "red", "address": "2 Fir St"},
            "later": [{"say": "And cancel it."}],
        },
    },
    "state": {"update": {"accounts": [{"key": {"account_id": "A2"}, "set": {"owner": "Zoe", "balance": 5}}]}},
    "reference": [{"name": "cancel_order", "arguments": {"order_id": "O1"}}],
    "alternatives": [],
    "documents": [],
    "notes": "other notes",
    "meta": {"knobs": {"writes": 9}},
    "seed": 1,
    "max_steps": 17,
}


def shown(view, *more):
    """Return all that a user of the view gets to read."""
    return repr(
        (view.menu(everything=True), view.feature_names, view.observation_space, view.action_space, more)
    )


def pick(view, rng):
    """Return the number of an open entry that does not end the episode."""
    going = [item.index for item in view.menu() if item.label != "goodbye" and "transfer" not in item.label]
    return int(rng.choice(going))


def test_b058_no_number_entry_or_name_shows_the_agent_what_it_has_not_seen():
    domain = make_domain(tasks={"train": [task("secret", **SECRET)]}, max_errors=999)
    for seed in range(4):
        view = NumericView(SingleAgentEnv(domain, user=User(say("Hi. My order id is O3.")), max_steps=60))
        _, info = view.reset(seed=seed)
        rng, over = np.random.default_rng(seed), False
        while not over:
            text = shown(view, info)
            assert "SENTINEL" not in text
            assert "4321" not in text
            _, _, terminated, truncated, info = view.step(pick(view, rng))
            over = terminated or truncated


def test_b058_the_user_gets_its_own_script_and_nothing_else():
    domain = make_domain(tasks={"train": [task("secret", **SECRET)]}, max_errors=999)
    view = NumericView(
        SingleAgentEnv(domain, role="user", agent=Agent(say("SENT is your code?")), max_steps=60)
    )
    view.reset(seed=0)
    rng, over, own = np.random.default_rng(0), False, ("fact", "address", "want", "pushback")
    while not over:
        text = shown(view)
        for word in own:
            text = text.replace(f"SENTINEL-{word}", "")
        assert "SENTINEL" not in text
        _, _, terminated, truncated, _ = view.step(pick(view, rng))
        over = terminated or truncated


@pytest.mark.parametrize("partner", [(say("Hi. My order id is O3."), say("Go on."))])
def test_b058_the_agent_cannot_tell_tasks_apart_that_differ_in_hidden_things_only(partner):
    domain = make_domain(tasks={"train": [task("one", **SECRET), task("two", **HIDDEN_TOO)]}, max_errors=999)
    one, two = (
        NumericView(SingleAgentEnv(domain, task_id=name, user=User(*partner))) for name in ("one", "two")
    )
    seen = [view.reset(seed=4) for view in (one, two)]
    rng, over = np.random.default_rng(4), False
    for _ in range(12):
        assert np.array_equal(seen[0][0], seen[1][0])
        assert np.array_equal(seen[0][-1]["action_mask"], seen[1][-1]["action_mask"])
        assert one.menu(everything=True) == two.menu(everything=True)
        if over:
            break
        number = pick(one, rng)
        seen = [view.step(number) for view in (one, two)]
        over = seen[0][2] or seen[0][3]


def test_b058_and_can_once_a_result_differs():
    changed = {"orders": [{"key": {"order_id": "O3"}, "set": {"status": "lost", "account_id": "A1"}}]}
    tasks = [task("one"), task("two", state={"update": changed})]
    domain = make_domain(tasks={"train": tasks})
    views = [
        NumericView(SingleAgentEnv(domain, task_id=name, user=User(say("My order id is O3."))))
        for name in ("one", "two")
    ]
    start = [view.reset(seed=0)[0] for view in views]
    assert np.array_equal(*start)
    look = next(item.index for item in views[0].menu() if item.label == "call get_order values 0")
    after = [view.step(look)[0] for view in views]
    assert not np.array_equal(*after)
    known = [[item.action for item in view.menu() if "list_orders" in item.label] for view in views]
    assert [actions[0]["arguments"]["account_id"] for actions in known] == ["A2", "A1"]


def test_b058_the_user_cannot_tell_tasks_apart_that_differ_beyond_its_scenario():
    other = {**HIDDEN_TOO, "user": SECRET["user"]}
    domain = make_domain(tasks={"train": [task("one", **SECRET), task("two", **other)]})
    envs = [NumericAEC(aec.env(domain, task_id=name)) for name in ("one", "two")]
    for env in envs:
        env.reset(seed=0)
        opening = next(item.index for item in env.menu("user_0") if item.label == "open")
        env.step(opening)
    for name in ("user_0", "agent_0"):
        assert np.array_equal(*(env.observe(name) for env in envs))
        assert envs[0].menu(name, everything=True) == envs[1].menu(name, everything=True)


def test_b058_one_player_sees_nothing_of_the_others_calls():
    envs = [NumericAEC(aec.env("shop", task_id="confirm")) for _ in range(2)]
    for env in envs:
        env.reset(seed=0)
        env.step(next(item.index for item in env.menu("user_0") if item.label == "open"))
    envs[0].step(next(item.index for item in envs[0].menu("agent_0") if "kb_search values 1" in item.label))
    one, two = (env.observe("user_0") for env in envs)
    names = envs[0].feature_names("user_0")
    differing = [name for name, a, b in zip(names, one, two, strict=True) if a != b]
    assert differing == ["steps_left"]
