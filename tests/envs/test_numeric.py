"""NumericView: what a seat has seen as numbers, and a menu made of what it has seen."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from pettingzoo.test.example_envs import generated_agents_env_v0

from gym_enterprise import InvalidAction, UsageError, banking_v0
from gym_enterprise.envs import ChatFormat, NumericView, SingleAgentEnv, aec
from gym_enterprise.envs.numeric.aec import NumericAEC, parallel_env
from tests.envs.players import Agent, User, call, say
from tests.shop import make_domain, task

BANK = {"task_id": "card-freeze-102"}


def shop(domain=None, user=None, **arguments):
    env = SingleAgentEnv(domain or "shop", user=user or User(say("Hi")), **arguments)
    return NumericView(env)


def entry(view, label):
    """Return the number of the entry with this label."""
    return next(number for number in range(view.action_space.n) if view.describe(number) == label)


def feature(view, observation, name):
    return float(observation[view.feature_names.index(name)])


def labels(view):
    return [item.label for item in view.menu()]


# -- spaces -----------------------------------------------------------------------------------------------


def test_spaces_are_a_box_and_a_menu_equal_for_both_roles_and_all_tasks():
    agent, user = (NumericView(SingleAgentEnv("banking", role=role)) for role in ("agent", "user"))
    assert isinstance(agent.observation_space, Box)
    assert isinstance(agent.action_space, Discrete)
    assert agent.observation_space == user.observation_space
    assert agent.action_space == user.action_space
    for view in (agent, user):
        observation, info = view.reset(seed=1)
        assert observation in view.observation_space
        assert info["action_mask"].shape == (view.action_space.n,)
        assert len(view.feature_names) == observation.size


def test_the_mask_can_stand_in_the_observation_too():
    view = NumericView(SingleAgentEnv("shop", user=User(say("Hi"))), mask_in_obs=True)
    observation, info = view.reset(seed=0)
    assert isinstance(view.observation_space, Dict)
    assert observation in view.observation_space
    assert np.array_equal(observation["action_mask"], info["action_mask"])
    assert observation["action_mask"] is not info["action_mask"]


@pytest.mark.parametrize("role", ["agent", "user"])
@pytest.mark.parametrize("mask_in_obs", [False, True])
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.filterwarnings("ignore:.*not able to test alternative render modes")
@pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")
def test_gymnasiums_checker_passes_for_both_roles(role, mask_in_obs):
    check_env(NumericView(SingleAgentEnv("shop", role=role, user=User(say("Hi"))), mask_in_obs=mask_in_obs))


def test_infos_hold_nothing_but_numbers():
    view = shop()
    _, info = view.reset(seed=0)
    assert set(info) == {"action_mask"}
    *_, info = view.step(entry(view, "goodbye"))
    assert {key: info[key] for key in ("reward", "scored", "user_faults")} == {
        "reward": 0.0,
        "scored": 1,
        "user_faults": 0,
    }
    assert set(info) == {"action_mask", "reward", "scored", "user_faults"}


def test_it_is_made_again_from_its_specification():
    env = gymnasium.make("Banking-v0")
    again = gymnasium.make(NumericView(env, asks=("new phone",)).spec)
    assert isinstance(again, NumericView)
    assert entry(again, "ask new_phone")


# -- the menu ---------------------------------------------------------------------------------------------


def test_a_call_is_open_once_its_values_were_observed():
    view = shop(user=User(say("My order id is O1.")))
    view.reset(seed=0)
    by_label = {item.label: item.action for item in view.menu()}
    assert by_label["call get_order values 0"] == call("get_order", order_id="O1")
    assert "call list_orders values 0" not in by_label  # no account was seen
    view.step(entry(view, "call get_order values 0"))
    by_label = {item.label: item.action for item in view.menu()}
    assert by_label["call list_orders values 0"] == call("list_orders", account_id="A1")
    assert "call get_order values 0" not in by_label  # the same call again would tell nothing new


def test_listed_choices_have_an_entry_each():
    view = shop(user=User(say("My account id is A1.")))
    view.reset(seed=0)
    actions = [item.action for item in view.menu() if item.label.startswith("call transfer_to_human")]
    assert actions == [
        call("transfer_to_human", account_id="A1", reason=reason) for reason in ("complaint", "fraud")
    ]


def test_what_is_known_or_was_asked_is_not_asked_again():
    view = shop(user=User(say("Hi"), say("I do not know.")))
    view.reset(seed=0)
    assert {"ask address", "ask item"} <= set(labels(view))
    view.step(entry(view, "ask item"))
    assert "ask item" not in labels(view)
    view = NumericView(
        SingleAgentEnv("shop", user=User(say("My address is 9 Fir St."))), asks=["new address"]
    )
    view.reset(seed=0)
    assert "ask address" not in labels(view)
    assert "ask new_address" in labels(view)  # is another thing


def test_documents_name_tools_that_can_be_unlocked_and_then_called():
    view = shop(user=User(say("My order id is O2. Please send it today.")))
    view.reset(seed=0)
    view.step(entry(view, "call kb_search values 0"))
    hits = [item for item in view.menu() if item.label.startswith("call kb_read")]
    assert hits[0].action["arguments"]["document_id"] == "expediting"
    view.step(hits[0].index)
    unlock = next(item for item in view.menu() if item.label.startswith("call unlock_tool"))
    assert unlock.action == call("unlock_tool", name="expedite_order_77")
    view.step(unlock.index)
    use = next(item for item in view.menu() if item.label.startswith("call opened tool 0"))
    assert use.action == call("use_tool", name="expedite_order_77", arguments={"order_id": "O2"})
    observation, *_ = view.step(use.index)
    assert view.unwrapped.episode.observe("agent")["messages"][-1].result["ok"]
    assert feature(view, observation, "opened") == 0.25


def test_a_user_tool_is_handed_over_with_values_and_the_user_can_call_it():
    domain = make_domain()
    env = NumericAEC(aec.env(domain, task_id="confirm"))
    env.reset(seed=0)

    def do(agent, start):
        found = next(item for item in env.menu(agent) if item.label.startswith(start))
        env.step(found.index)
        return found.action

    assert do("user_0", "open")["content"] == "My parcel came."
    do("agent_0", "call kb_search values 1")
    while not [item for item in env.menu("agent_0") if item.label.startswith("call give_tool")]:
        do("agent_0", "call kb_read")
    names = [i for i in env.menu("agent_0") if i.label.startswith("call give_tool")]
    give = next(item for item in names if item.action["arguments"]["name"] == "rate_order_5")
    env.step(give.index)
    assert "rate_order_5" in do("agent_0", "instruct 0")["content"]
    assert [item for item in env.menu("user_0") if item.action["type"] == "message"]


def test_a_user_tells_the_facts_of_its_own_script_and_nothing_else():
    view = NumericView(SingleAgentEnv("shop", role="user", agent=Agent(say("Your order id, please?"))))
    observation, _ = view.reset(seed=0, options={"task_id": "cancel"})
    assert [item.action["content"] for item in view.menu() if item.label != "goodbye"] == [
        "Please cancel an order of mine."
    ]
    observation, *_ = view.step(entry(view, "open"))
    told = [item.action["content"] for item in view.menu() if item.label.startswith("tell")]
    assert told == ["The order id is O1.", "My account id is A1."]
    assert feature(view, observation, "asked: 0") == 1.0
    assert feature(view, observation, "asked: 1") == 0.0


def test_a_user_can_bring_up_later_wants_and_changes_of_mind():
    script = {
        "opening": "Cancel order O1.",
        "facts": {"order_id": "O1"},
        "wants": [{"say": "Please cancel it."}],
        "later": [{"say": "And send O2 today."}],
        "changes": [{"say": "I meant O3.", "facts": {"order_id": "O3"}}],
    }
    domain = make_domain(tasks={"train": [task("wavering", user={"script": script})]})
    view = NumericView(SingleAgentEnv(domain, role="user", agent=Agent(say("Shall I?"))))
    view.reset(seed=0)
    view.step(entry(view, "open"))
    wants = [item.action["content"] for item in view.menu() if item.label.startswith("want")]
    assert wants == ["Please cancel it.", "And send O2 today.", "I meant O3."]


def test_hints_add_questions_topics_and_values():
    env = SingleAgentEnv("shop", user=User(say("My account id is A1.")))
    view = NumericView(env, asks=["shoe size"], topics=["refunds"], texts={"amount": [5]})
    view.reset(seed=0)
    actions = {item.label: item.action for item in view.menu()}
    assert actions["ask shoe_size"]["content"] == "Please tell me your shoe size."
    assert actions["call kb_search values 1"] == call("kb_search", query="refunds")
    assert "call kb_search values 2" not in actions
    assert actions["call issue_credit values 0"] == call("issue_credit", account_id="A1", amount=5)


def test_the_menu_and_features_are_the_same_in_every_process_and_order():
    one, two = shop(), shop()
    assert [one.describe(n) for n in range(one.action_space.n)] == [
        two.describe(n) for n in range(two.action_space.n)
    ]
    assert one.feature_names == two.feature_names


@pytest.mark.parametrize(
    "text", ["a" * 90_000, "a." * 45_000, "my a is " * 9_000, "9" * 90_000, "{" * 90_000]
)
def test_long_messages_are_read_in_no_time(text):
    view = shop(user=User(say(text), say(text)))
    _, info = view.reset(seed=0)
    assert info["action_mask"].sum() == len(view.menu())
    view.step(entry(view, "propose"))
    assert max(len(str(item.action)) for item in view.menu()) < 5_000


# -- closed entries ---------------------------------------------------------------------------------------


def test_a_closed_entry_is_answered_by_an_error_that_counts():
    view = shop()
    view.reset(seed=0)
    number = entry(view, "call get_order values 0")
    observation, reward, terminated, truncated, info = view.step(number)
    error = view.unwrapped.episode.observe("agent")["messages"][-1].result["error"]
    assert error["code"] == "invalid_action"
    assert f"entry {number} of the menu (call get_order values 0) is closed" in error["message"]
    assert (reward, terminated, truncated, view.unwrapped.episode.turn) == (0.0, False, False, "agent")
    assert feature(view, observation, "last: failed") == 1.0
    assert info["action_mask"].any()


def test_a_closed_entry_raises_where_that_is_wanted_and_changes_nothing():
    view = NumericView(SingleAgentEnv("shop", user=User(say("Hi"))), illegal="raise")
    view.reset(seed=0)
    before = view.unwrapped.episode.observe("agent")
    with pytest.raises(InvalidAction, match=r"entry 0 of the menu \(wait\) is closed now: take one whose"):
        view.step(0)
    assert view.unwrapped.episode.observe("agent") == before


@pytest.mark.parametrize("action", [-1, 10_000, 1.5, "ask", None, True])
def test_what_is_no_number_of_the_menu_raises(action):
    view = shop()
    view.reset(seed=0)
    with pytest.raises(InvalidAction, match="an action is a number from 0 to"):
        view.step(action)


def test_wrong_arguments_say_what_would_do():
    with pytest.raises(UsageError, match="illegal should be one of answer, raise; got 'ignore'"):
        NumericView(SingleAgentEnv("shop"), illegal="ignore")
    with pytest.raises(UsageError, match="NumericView is for SingleAgentEnv"):
        NumericView(gymnasium.make("CartPole-v1"))
    with pytest.raises(UsageError, match="NumericAEC is for environments of gym_enterprise"):
        NumericAEC(generated_agents_env_v0.env())
    env = NumericAEC(banking_v0.env())
    with pytest.raises(UsageError, match="there is no agent 'agent_7'"):
        env.action_space("agent_7")


def test_only_waiting_is_open_after_the_end():
    view = shop()
    view.reset(seed=0)
    *_, info = view.step(entry(view, "goodbye"))
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]
    with pytest.raises(gymnasium.error.ResetNeeded):
        view.step(0)


# -- both players -----------------------------------------------------------------------------------------


def test_both_players_have_equal_spaces_and_the_one_not_to_move_waits():
    env = NumericAEC(banking_v0.env(**BANK))
    env.reset(seed=3)
    assert env.observation_space("agent_0") == env.observation_space("user_0")
    assert env.action_space("agent_0") == env.action_space("user_0")
    assert env.agent_selection == "user_0"
    assert np.flatnonzero(env.infos["agent_0"]["action_mask"]).tolist() == [0]
    assert env.infos["user_0"]["action_mask"][0] == 0


def test_random_players_come_to_an_end_together():
    env = NumericAEC(banking_v0.env(max_steps=30))
    rng = np.random.default_rng(5)
    for seed in range(3):
        env.reset(seed=seed)
        for name in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            assert observation in env.observation_space(name)
            over = terminated or truncated
            env.step(None if over else rng.choice(np.flatnonzero(info["action_mask"])))
        assert env.agents == []


def test_the_parallel_view_plays_the_number_of_the_one_to_move():
    env = parallel_env(NumericAEC(banking_v0.env(**BANK)))
    observations, _ = env.reset(seed=0)
    opening = next(n for n in range(300) if env.unwrapped and env.aec_env.describe("user_0", n) == "open")
    assert set(observations) == {"agent_0", "user_0"}
    _, _, _, _, infos = env.step({"agent_0": 0, "user_0": opening})
    assert infos["agent_0"]["action_mask"][0] == 0
    assert np.flatnonzero(infos["user_0"]["action_mask"]).tolist() == [0]


def test_both_views_show_the_agent_the_same():
    single = NumericView(gymnasium.make("Banking-v0", **BANK))
    seen, info = single.reset(seed=0)
    both = NumericAEC(banking_v0.env(**BANK))
    both.reset(seed=0)
    both.env.step(
        {"type": "message", "content": single.unwrapped.episode.observe("agent")["messages"][1].content}
    )
    assert np.array_equal(both.observe("agent_0"), seen)
    assert single.menu() == both.menu("agent_0")
    assert info["action_mask"].sum() == len(single.menu())


# -- copies -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_the_middle_goes_on_from_the_same_state(copied):
    view = NumericView(gymnasium.make("Banking-v0", **BANK))
    view.reset(seed=0)
    view.step(entry(view, "ask phone"))
    again = copied(view)
    assert again.menu() == view.menu()
    one, two = (env.step(entry(env, "ask email")) for env in (view, again))
    assert np.array_equal(one[0], two[0])
    both = NumericAEC(banking_v0.env(**BANK))
    both.reset(seed=0)
    assert np.array_equal(copied(both).observe("user_0"), both.observe("user_0"))


def test_observing_changes_nothing():
    env = NumericAEC(banking_v0.env(**BANK))
    env.reset(seed=0)
    before = [env.observe(name) for name in env.agents for _ in range(50)]
    assert np.array_equal(before[0], before[49])
    assert before[0] is not before[1]
    assert env.menu("agent_0") == env.menu("agent_0")


def test_going_back_in_time_shows_the_past():
    view = NumericView(gymnasium.make("Banking-v0", **BANK))
    start, info = view.reset(seed=0)
    episode = view.unwrapped.episode
    saved = episode.snapshot()
    view.step(entry(view, "ask phone"))
    episode.restore(saved)
    translation = view._translation
    assert np.array_equal(translation.observation(episode, "agent"), start)
    assert np.array_equal(translation.mask(episode, "agent"), info["action_mask"])


@pytest.mark.slow
def test_processes_with_shared_memory_give_the_same_values():
    def make():
        return NumericView(gymnasium.make("Banking-v0", **BANK), mask_in_obs=True)

    vectors = SyncVectorEnv([make] * 2), AsyncVectorEnv([make] * 2)
    seen = [envs.reset(seed=3)[0] for envs in vectors]
    rng = np.random.default_rng(3)
    for _ in range(60):
        assert data_equivalence(*seen)
        numbers = [int(rng.choice(np.flatnonzero(mask))) for mask in seen[0]["action_mask"]]
        steps = [envs.step(numbers) for envs in vectors]
        assert data_equivalence(steps[0][1:4], steps[1][1:4])
        seen = [step[0] for step in steps]
    for envs in vectors:
        envs.close()


def test_other_wrappers_for_text_do_not_fit_on_top_and_say_so():
    view = NumericView(ChatFormat(SingleAgentEnv("shop", user=User(say("Hi")))))
    observation, _ = view.reset(seed=0)
    assert observation in view.observation_space


def test_a_task_without_a_script_gives_the_user_its_instructions():
    plain = task("plain", user={"instructions": "Cancel order O1."})
    env = NumericAEC(aec.env(make_domain(tasks={"train": [plain]})))
    env.reset(seed=0)
    assert [item.action["content"] for item in env.menu("user_0") if item.label == "open"] == [
        "Cancel order O1."
    ]
