"""`TextAction` and `ChatFormat`."""

import json

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import tests.conformance.shop_v0  # noqa: F401 (registers Shop-v0)
from gym_enterprise import InvalidAction, Message, UsageError
from gym_enterprise.envs import ChatFormat, SingleAgentEnv, TextAction
from gym_enterprise.envs.wrappers import chat_messages
from tests.envs.players import STOP, User, call, say

LOOK = '<tool_call>{"name": "get_order", "arguments": {"order_id": "O1"}}</tool_call>'
CANCEL = '<tool_call>{"name": "cancel_order", "arguments": {"order_id": "O1"}}</tool_call>'


def text_env(**arguments):
    format = arguments.pop("format", "hermes")
    base = SingleAgentEnv("shop", task_id="cancel", user=User(say("Hi"), say("Thanks")), **arguments)
    env = TextAction(base, format=format)
    env.reset(seed=0)
    return env


def roles(observation):
    return [message.role for message in observation["messages"]][2:]


def test_text_is_a_message_and_reasoning_is_not_said():
    observation, *_ = text_env().step("<think>I should greet.</think>Hello!")
    assert [message.content for message in observation["messages"]][2:] == ["Hello!", "Thanks"]


def test_the_calls_of_one_turn_run_in_order_and_the_text_beside_them_is_held():
    env = text_env()
    observation, *_ = env.step(f"Let me see. {LOOK}\n{CANCEL}")
    assert roles(observation) == ["agent", "tool", "agent", "tool"]
    assert observation["your_turn"] == 1
    observation, *_ = env.step("It is cancelled.")
    assert [m.content for m in observation["messages"][-6:-1:2]] == ["Let me see.", "", "It is cancelled."]
    heard = env.unwrapped.episode.observe("user")["messages"]
    assert heard[-2].content == "Let me see.\n\nIt is cancelled."
    assert env.unwrapped.grade().reward == 1.0


def test_a_stop_token_ends_and_is_never_shown():
    env = text_env()
    observation, reward, terminated, *_ = env.step(f"{CANCEL} ###STOP###")
    assert (reward, terminated) == (1.0, True)
    assert "###STOP###" not in repr(observation)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('<tool_call>{"name": "get_order", "arguments": {"order_id": </tool_call>', "malformed_call"),
        ("<tool_call>cancel O1</tool_call>", "malformed_call"),
        ('<tool_call>{"name": "nothing", "arguments": {}}</tool_call>', "unknown_tool"),
        ("", "invalid_action"),
        ("<think>Hm.</think>", "invalid_action"),
        ("\ud800", "invalid_action"),
    ],
)
def test_what_cannot_be_used_is_answered_by_one_error_even_when_the_environment_was_strict(text, code):
    env = text_env(strict=True)
    observation, *_ = env.step(text)
    assert roles(observation) == ["agent", "tool"]
    assert observation["messages"][-1].result["error"]["code"] == code
    assert env.unwrapped.episode.errors == 1


def test_no_call_of_a_text_that_was_cut_is_run():
    env = text_env()
    observation, *_ = env.step(f"Let me see. {CANCEL}", finish_reason="length")
    assert observation["messages"][-1].result["error"]["code"] == "malformed_call"
    assert len(env.unwrapped.episode.world.changes()) == 0
    observation, *_ = env.step("It is canc", finish_reason="length")
    assert observation["messages"][-2].content == "It is canc"
    heard = env.unwrapped.episode.observe("user")["messages"]
    assert heard[-2].content == "Let me see.\n\nIt is canc"


def test_json_calls_are_read_on_request():
    env = text_env(format="json")
    observation, *_ = env.step('[{"name": "get_order", "arguments": {"order_id": "O1"}}]')
    assert observation["messages"][-1].result["ok"] is True


def test_wrappers_check_what_they_are_given():
    with pytest.raises(UsageError, match="format should be one of hermes, json, llama; got 'xml'"):
        TextAction(SingleAgentEnv("shop"), format="xml")
    for wrapper in (TextAction, ChatFormat):
        with pytest.raises(UsageError, match="for SingleAgentEnv, got CartPoleEnv"):
            wrapper(gymnasium.make("CartPole-v1"))
    with pytest.raises(InvalidAction, match="takes the text of a model turn, got dict"):
        text_env().step(say("Hello"))


def chat_env(**arguments):
    compact = arguments.pop("compact", False)
    return ChatFormat(SingleAgentEnv("shop", **arguments), compact=compact)


def test_the_agent_reads_its_own_words_as_the_assistants():
    env = chat_env(task_id="cancel", user=User(say("Hi"), say("Thanks")))
    env.reset(seed=0)
    env.step({**call("get_order", order_id="O2"), "id": "abc"})
    observation, *_ = env.step(say("Hello"))
    assert observation["messages"] == [
        {"role": "system", "content": "You serve the customers of a small shop. Look before you act."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "abc",
                    "type": "function",
                    "function": {"name": "get_order", "arguments": '{"order_id": "O2"}'},
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "abc",
            "content": '{"ok": true, "result": {"order_id": "O2", "account_id": "A1", "item": "chair", '
            '"price": "50.00", "status": "open"}}',
        },
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Thanks"},
    ]


def test_the_user_reads_its_own_words_as_the_assistants():
    env = chat_env(role="user", task_id="confirm")
    env.reset(seed=0)
    observation, *_ = env.step(say("My parcel came."))
    assert [message["role"] for message in observation["messages"]][:3] == ["system", "assistant", "system"]
    assert "You were given the tool" in observation["messages"][2]["content"]
    assert [tool["function"]["name"] for tool in observation["tools"]] == ["confirm_order", "use_tool"]


def test_schemas_stand_under_tools_and_compact_leaves_them_out():
    observation, _ = chat_env().reset(seed=0)
    assert observation["tools"][0]["type"] == "function"
    assert observation["tools"][0]["function"]["parameters"]["required"] == ["order_id"]
    observation, _ = chat_env(compact=True).reset(seed=0)
    assert set(observation) == {"messages"}


def test_a_call_that_could_not_be_read_has_a_name_that_servers_take_and_its_raw_text():
    env = ChatFormat(TextAction(SingleAgentEnv("shop", user=User(say("Hi")))))
    env.reset(seed=0)
    observation, *_ = env.step("<tool_call>cancel O1</tool_call>", finish_reason="stop")
    function = observation["messages"][-2]["tool_calls"][0]["function"]
    assert function == {"name": "unreadable", "arguments": "cancel O1"}


def test_chats_are_json_in_utf8_whatever_was_written():
    env = ChatFormat(SingleAgentEnv("shop", user=User(say("Hi")), strict=False))
    env.reset(seed=0)
    for action in (
        call("\ud800"),
        {**call("get_order"), "arguments": "\ud800"},
        call("get_order", order_id="\ud800"),
    ):
        observation, *_ = env.step(action)
        json.dumps(observation, ensure_ascii=False).encode()


def test_observations_are_fresh_and_lie_in_their_space():
    env = chat_env(user=User(say("Hi")))
    first, _ = env.reset(seed=0)
    first["messages"][0]["content"] = "changed"
    first["tools"].clear()
    second, *_ = env.step(call("get_order", order_id="O1"))
    assert second in env.observation_space
    assert second["messages"][0]["content"].startswith("You serve")
    assert second["tools"]
    assert env.observation_space.sample() in env.observation_space


@pytest.mark.parametrize(
    "wrap", [TextAction, ChatFormat, lambda env: ChatFormat(TextAction(env), compact=True)]
)
def test_gymnasiums_checker_passes_around_the_wrappers(wrap):
    env = wrap(gymnasium.make("Shop-v0").unwrapped)
    with pytest.warns(UserWarning, match="is different from the unwrapped version"):
        check_env(env, skip_render_check=True)


def test_specs_with_wrappers_rebuild_from_json():
    env = ChatFormat(TextAction(gymnasium.make("Shop-v0", task_id="cancel"), format="json"), compact=True)
    other = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(other, ChatFormat)
    assert other.compact
    assert other.env.format == "json"
    assert other.reset(seed=0)[0] == env.reset(seed=0)[0]


def test_a_message_of_a_history_maps_by_seat():
    history = [Message(0, "system", "s"), Message(1, "user", "u"), Message(2, "agent", "a")]
    assert [message["role"] for message in chat_messages(history, "agent")] == ["system", "user", "assistant"]
    assert [message["role"] for message in chat_messages(history, "user")] == ["system", "assistant", "user"]


def test_text_and_chat_play_a_whole_episode():
    env = ChatFormat(TextAction(SingleAgentEnv("shop", task_id="cancel", user=User(say("Hi"), STOP))))
    env.reset(seed=0)
    env.step(CANCEL)
    assert env.step("Order O1 is cancelled.")[1:3] == (1.0, True)


def test_a_model_may_write_calls_as_llama_does():
    env = TextAction(SingleAgentEnv("shop", user=User(say("Hi"), say("Thanks")), task_id="cancel"), "llama")
    env.reset(seed=0)
    env.step('<|python_tag|>{"name": "cancel_order", "parameters": {"order_id": "O1"}}')
    assert env.unwrapped.grade().reward == 1.0
