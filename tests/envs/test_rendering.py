"""What people see of an episode."""

import io
import sys

import pytest

from gym_enterprise.envs import SingleAgentEnv, aec
from gym_enterprise.envs.rendering import episode_text
from tests.envs.players import STOP, Broken, User, call, say

EXPECTED = """\
shop / cancel
user   Hi.
       I need help.
agent  > get_order(order_id="O1")
       < {"order_id": "O1", "account_id": "A1", "item": "lamp", "price": "21.10", "status": "open"}
agent  > cancel_order(order_id="O9")
       ! unknown_order: there is no order 'O9'
agent  > cancel_order(order_id="O1")
       < cancelled
agent  Done.
user   Bye."""


def played(render_mode):
    env = SingleAgentEnv(
        "shop",
        task_id="cancel",
        user=User(say("Hi.\nI need help."), {**STOP, "content": "Bye."}),
        render_mode=render_mode,
    )
    env.reset(seed=0)
    for action in (
        call("get_order", order_id="O1"),
        call("cancel_order", order_id="O9"),
        call("cancel_order", order_id="O1"),
        say("Done."),
    ):
        env.step(action)
    return env


def test_ansi_returns_the_conversation_and_at_the_end_the_reward():
    env = played("ansi")
    assert env.render() == EXPECTED
    env.step(dict(STOP))
    ending = "ended by user_stop after 6 steps: reward 1.0 (the final state equals the target)"
    assert env.render() == f"{EXPECTED}\n{ending}"


def test_human_prints_each_line_once_as_it_comes(capsys):
    env = played("human")
    assert env.render() is None
    env.step(dict(STOP))
    env.render()
    assert capsys.readouterr().out == (
        f"{EXPECTED}\nended by user_stop after 6 steps: reward 1.0 (the final state equals the target)\n"
    )


def test_pettingzoo_renders_the_same(capsys):
    env = aec.env("shop", task_id="cancel", render_mode="human")
    env.reset(seed=0)
    env.step(say("Hi"))
    env.step(dict(STOP))
    assert env.render() is None
    assert capsys.readouterr().out.splitlines()[:2] == ["shop / cancel", "user   Hi"]


def test_without_a_mode_rendering_says_what_to_do():
    env = SingleAgentEnv("shop")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="needs a render_mode, 'ansi' or 'human'"):
        assert env.render() is None


def test_long_results_are_shortened_and_say_so():
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel", render_mode="ansi")
    env.reset(seed=0)
    env.step(call("set_address", account_id="A1", address="x" * 5000))
    lines = env.render().splitlines()
    assert max(map(len, lines)) < 400
    assert lines[-1].endswith("x … [5015 characters]")
    assert "x" * 5000 in episode_text(env.episode, max_shown=10_000)


def test_control_characters_are_escaped_and_any_terminal_can_show_it(monkeypatch):
    env = SingleAgentEnv("shop", user=User(say("\x1b[2J\x07 ü")), task_id="cancel", render_mode="ansi")
    env.reset(seed=0)
    assert env.render().splitlines()[1] == "user   \\x1b[2J\\x07 ü"
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    env = SingleAgentEnv("shop", user=User(say("ü")), task_id="cancel", render_mode="human")
    env.reset(seed=0)
    assert out.buffer.getvalue() == b"shop / cancel\nuser   \\xfc\n"


def test_an_unscored_episode_says_so():
    env = SingleAgentEnv("shop", user=Broken(), task_id="cancel", render_mode="ansi")
    env.reset(seed=0)
    assert env.render().endswith("ended by simulator_error after 0 steps: not scored")


def test_a_call_that_could_not_be_read_is_shown_as_such():
    env = SingleAgentEnv("shop", user=User(say("Hi")), task_id="cancel", render_mode="ansi")
    env.reset(seed=0)
    env.step({"type": "tool_call", "name": "", "arguments": "what?"})
    assert 'agent  > (unreadable call)("what?")' in env.render()
