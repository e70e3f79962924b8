"""`SingleAgentEnv`: arguments, turns, ends."""

import json
import math

import gymnasium
import pytest
from gymnasium.error import ResetNeeded

from gym_enterprise import InvalidAction, OraclePlayer, UnknownDomain, UnknownTask, UsageError
from gym_enterprise.envs import SingleAgentEnv
from tests.envs.players import STOP, TALK, Agent, Broken, User, call, say
from tests.shop import make_domain, task


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"domain": "shoop"}, UnknownDomain, "no domain 'shoop'; domains: "),
        ({"role": "boss"}, UsageError, "role should be 'agent' or 'user', got 'boss'"),
        ({"tasks": "trian"}, UnknownTask, "no task 'trian'; its splits: train"),
        ({"tasks": ["cancel", "nope"]}, UnknownTask, "no task 'nope'"),
        ({"tasks": []}, UsageError, "selects no task"),
        ({"tasks": "validation"}, UsageError, "selects no task"),
        ({"tasks": {"cancel"}}, UsageError, "should be a split, an id, a list of ids"),
        ({"tasks": [3]}, UnknownTask, "no task 3"),
        ({"tasks": "nowhere.jsonl"}, Exception, "nowhere.jsonl: there is no such file"),
        ({"task_id": "nope"}, UnknownTask, "no task 'nope'"),
        ({"user": "bob"}, UsageError, "no user player 'bob'; by name: 'scripted', 'replay'"),
        ({"agent": "bob"}, UsageError, "no agent player 'bob'; by name: 'oracle'"),
        ({"user": 3}, UsageError, "a player has a method act"),
        ({"max_steps": 0}, UsageError, "max_steps should be a whole number of at least 1, got 0"),
        ({"max_steps": 2.5}, UsageError, "max_steps"),
        ({"render_mode": "rgb_array"}, UsageError, "render_mode should be 'ansi', 'human' or None"),
    ],
)
def test_wrong_arguments_fail_at_construction_and_say_what_would_do(arguments, error, match):
    with pytest.raises(error, match=match):
        SingleAgentEnv(**{"domain": "shop", **arguments})


def drawn(env, count=40):
    env.reset(seed=0)
    return {env.reset()[1]["task_id"] for _ in range(count)}


def test_tasks_are_drawn_from_a_split_an_id_ids_or_a_file(tmp_path):
    assert drawn(SingleAgentEnv("shop")) == {"cancel", "expedite", "confirm"}
    assert drawn(SingleAgentEnv("shop", tasks="confirm")) == {"confirm"}
    assert drawn(SingleAgentEnv("shop", tasks=["confirm", "cancel"])) == {"confirm", "cancel"}
    path = tmp_path / "mine"
    path.write_text("".join(f"{task(name).model_dump_json()}\n" for name in ("one", "two")))
    assert drawn(SingleAgentEnv("shop", tasks=path)) == {"one", "two"}
    assert drawn(SingleAgentEnv("shop", tasks=str(path), task_id="two")) == {"two"}


def test_a_task_can_be_asked_for_and_unknown_options_are_named_and_ignored(caplog):
    env = SingleAgentEnv("shop", tasks=["cancel"])
    assert env.reset(seed=0, options={"task_id": "expedite"})[1]["task_id"] == "expedite"
    assert env.reset(options={"taks_id": "expedite"})[1]["task_id"] == "cancel"
    assert "reset ignores the option 'taks_id'; options: task_id" in caplog.text


def test_an_unknown_task_at_reset_changes_nothing():
    env = SingleAgentEnv("shop", task_id="cancel")
    env.reset(seed=4)
    env.step(call("get_order", order_id="O1"))
    before = env.episode.snapshot(), env.np_random.bit_generator.state
    with pytest.raises(UnknownTask, match="'nope'"):
        env.reset(seed=9, options={"task_id": "nope"})
    assert (env.episode.snapshot(), env.np_random.bit_generator.state) == before


def test_asking_for_a_task_leaves_later_draws_as_they_were():
    one, two = SingleAgentEnv("shop"), SingleAgentEnv("shop")
    one.reset(seed=1, options={"task_id": "confirm"})
    two.reset(seed=1)
    assert [one.reset()[1]["task_id"] for _ in range(9)] == [two.reset()[1]["task_id"] for _ in range(9)]


def test_a_call_keeps_the_turn_and_a_message_lets_the_partner_answer():
    env = SingleAgentEnv("shop", user=User(say("Hi"), call("nothing"), say("Yes?")), task_id="cancel")
    observation, info = env.reset(seed=0)
    assert [message.content for message in observation["messages"]][1:] == ["Hi"]
    assert (observation["turn"], observation["your_turn"], info["task_id"]) == (1, 1, "cancel")
    observation, *_ = env.step(call("get_order", order_id="O1"))
    assert [message.role for message in observation["messages"]][2:] == ["agent", "tool"]
    observation, *_ = env.step(say("Hello"))
    assert [message.content for message in observation["messages"]][4:] == ["Hello", "Yes?"]
    assert observation["turn"] == 5  # the user's own call counts as well


def test_the_user_can_be_controlled_with_the_oracle_inside():
    env = SingleAgentEnv("shop", role="user", task_id="cancel")
    observation, _ = env.reset(seed=0)
    assert (observation["turn"], observation["your_turn"]) == (0, 1)
    observation, reward, terminated, *_ = env.step(say("Please cancel order O1."))
    assert (observation["your_turn"], reward, terminated) == (1, 0.0, False)
    *_, reward, terminated, truncated, info = env.step(dict(STOP))
    assert (terminated, truncated, info["reason"]) == (True, False, "user_stop")


def test_a_list_of_actions_is_one_turn():
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel")
    env.reset(seed=0)
    turn = [
        {**call("get_order", order_id="O1"), "content": "Let me see."},
        call("nothing"),
        call("cancel_order", order_id="O1"),
        say("Done."),
    ]
    observation, reward, terminated, _, _ = env.step(turn)
    roles = [message.role for message in observation["messages"]]
    assert roles[2:] == ["agent", "tool"] * 3 + ["agent", "user"]
    assert [observation["messages"][index].content for index in (2, 8)] == ["Let me see.", "Done."]
    assert env.grade().reward == 1.0
    assert (reward, terminated) == (0.0, False)


def test_calls_after_the_end_of_a_list_are_answered_as_not_executed():
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel")
    env.reset(seed=0)
    end = call("transfer_to_human", account_id="A1", reason="fraud")
    observation, _, terminated, _, info = env.step([end, call("cancel_order", order_id="O1")])
    assert (terminated, info["reason"]) == (True, "terminal_tool")
    assert observation["messages"][-1].result["error"]["code"] == "not_executed"


@pytest.mark.parametrize(
    "turn", [[], [call("cancel_order", order_id="O1"), "?"], [say("a"), {"type": "x"}], [[]]]
)
def test_an_unusable_list_is_refused_as_a_whole(turn):
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel")
    env.reset(seed=0)
    before = env.episode.snapshot()
    with pytest.raises(InvalidAction):
        env.step(turn)
    assert env.episode.snapshot() == before
    env.strict = False
    observation, *_ = env.step(turn)
    assert observation["messages"][-1].result["error"]["code"] == "invalid_action"
    assert (env.episode.errors, len(env.episode.world.changes())) == (1, 0)


def test_unusable_actions_count_until_the_budget_of_errors_is_used_up():
    env = SingleAgentEnv(make_domain(max_errors=3), user=User(say("Hi")), strict=False)
    env.reset(seed=0)
    flags = [env.step("nonsense")[2:4] for _ in range(3)]
    assert flags == [(False, False), (False, False), (False, True)]
    assert env.episode.reason == "max_errors"


def test_the_reward_comes_at_the_end_and_the_diff_stays_privileged():
    env = SingleAgentEnv("shop", user=User(say("Hi"), STOP), task_id="cancel")
    env.reset(seed=0)
    assert env.step(call("cancel_order", order_id="O1"))[1] == 0.0
    _, reward, terminated, truncated, info = env.step(say("Done."))
    assert (reward, terminated, truncated) == (1.0, True, False)
    mask = info.pop("action_mask")
    assert not mask.any()
    assert info == {
        "task_id": "cancel",
        "reward": 1.0,
        "reason": "user_stop",
        "scored": 1,
        "user_faults": 0,
    }
    assert type(reward) is float
    assert json.loads(json.dumps(env.grade().to_dict()))["diff"] == {
        "missing": [],
        "extra": [],
        "changed": [],
    }


def test_a_users_slips_are_counted_in_the_last_info():
    slip = say("I have processed your refund. Is there anything else I can help you with?")
    env = SingleAgentEnv("shop", user=User(slip, STOP), task_id="cancel")
    env.reset(seed=0)
    assert env.step(dict(TALK))[4]["user_faults"] == 1


def test_a_partner_that_fails_within_reset_is_reported_by_the_first_step():
    env = SingleAgentEnv("shop", user=Broken())
    observation, info = env.reset(seed=0)
    assert (observation["your_turn"], info["action_mask"].any()) == (0, False)
    _, reward, terminated, truncated, info = env.step(dict(TALK))
    assert math.isnan(reward)
    assert (terminated, truncated, info["scored"], info["reason"]) == (False, True, 0, "simulator_error")
    assert env.grade().reward is None
    with pytest.raises(ResetNeeded):
        env.step(dict(TALK))


def test_a_partner_that_stops_within_reset_is_reported_by_the_first_step():
    env = SingleAgentEnv("shop", user=User(STOP))
    env.reset(seed=0)
    assert env.step("anything")[1:4] == (0.0, True, False)


def test_an_agent_partner_that_fails_is_not_scored_either():
    env = SingleAgentEnv("shop", role="user", agent=Broken())
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step(say("Hi"))
    assert (str(reward), truncated, info["scored"], info["reason"]) == ("nan", True, 0, "agent_error")


def test_a_user_that_gives_nothing_usable_is_not_scored():
    env = SingleAgentEnv("shop", user=User(say("Hi"), {"type": "message", "content": " "}))
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step(dict(TALK))
    assert (str(reward), truncated, info["scored"]) == ("nan", True, 0)


def test_players_are_given_by_name_class_or_instance():
    for user in ("scripted", "replay"):
        env = SingleAgentEnv("shop", user=user, task_id="confirm")
        observation, _ = env.reset(seed=0)
        agent, done = OraclePlayer(env.episode.task, 0), False
        while not done:
            observation, reward, done, truncated, _ = env.step(agent.act(observation))
        assert (reward, truncated) == (1.0, False)
    env = SingleAgentEnv("shop", role="user", agent=Agent(STOP))
    env.reset(seed=0)
    assert env.step(say("Hi"))[2]


def test_tools_are_those_of_the_seat_and_the_task():
    env = SingleAgentEnv("shop", tasks="confirm")

    def names(role):
        return [tool["function"]["name"] for tool in env.tools(role)]

    assert names("user") == ["confirm_order", "use_tool"]
    env.reset(seed=0)
    assert names("user") == ["confirm_order", "use_tool"]
    env.reset(options={"task_id": "cancel"})
    assert names("user") == []
    assert names(None)[:2] == ["get_order", "list_orders"]
    assert {"unlock_tool", "use_tool", "give_tool", "kb_search", "kb_read"} < set(names("agent"))
    assert not {"expedite_order_77", "rate_order_5"} & set(names("agent"))


def test_a_closed_environment_can_be_reset_and_closed_again():
    env = SingleAgentEnv("shop")
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(ResetNeeded):
        env.step(dict(TALK))
    env.reset(seed=0)


def test_a_time_limit_around_it_is_possible_but_leaves_the_reward_out():
    env = gymnasium.wrappers.TimeLimit(SingleAgentEnv("shop", user=User(say("Hi"))), 2)
    env.reset(seed=0)
    env.step(dict(TALK))
    _, reward, terminated, truncated, info = env.step(dict(TALK))
    assert (reward, terminated, truncated, "reward" in info) == (0.0, False, True, False)
