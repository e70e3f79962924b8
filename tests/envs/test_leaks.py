"""B058 where environments meet players: the answer is in nothing that a player or a worker gets."""

import json
import pickle

import gymnasium

from gym_enterprise.envs import ChatFormat, SingleAgentEnv, TextAction, aec
from tests.envs.players import STOP, TALK, User, call, say
from tests.shop import make_domain, task


def planted_domain():
    """A shop whose only task has sentinels in reference, target, scenario, notes and an account's address."""
    secret = task(
        "secret",
        user={
            "persona": "SENTINEL-persona",
            "instructions": "SENTINEL-instructions",
            "script": {"opening": "Please change my address.", "facts": {"code": "SENTINEL-fact"}},
        },
        state={
            "update": {"accounts": [{"key": {"account_id": "A2"}, "set": {"owner": "SENTINEL-row"}}]},
        },
        reference=[
            {"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-target"}},
            {"name": "issue_credit", "arguments": {"account_id": "A2", "amount": 4321.98}},
        ],
        alternatives=[
            [{"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-alternative"}}]
        ],
        notes="SENTINEL-notes",
        meta={"knobs": {"hint": "SENTINEL-knob"}},
    )
    return make_domain(tasks={"train": [secret], "validation": [], "test": []}, max_errors=99)


PROBES = (
    call("kb_search", query="sentinel tasks address"),
    call("kb_read", document_id="../tasks.json"),
    call("kb_read", document_id="/etc/hostname"),
    call("kb_read", document_id="secret"),
    call("get_order", order_id="sentinel-target"),
    call("unlock_tool", name="rate_order_5"),
    call("nothing_like_this"),
    call("set_address", account_id="A1"),
    call("use_tool", name="confirm_order", arguments={}),
    {"type": "tool_call", "name": 7, "arguments": None},
)


def test_b058_the_agent_finds_nothing_of_the_answer_anywhere():
    env = SingleAgentEnv(planted_domain(), user=User(say("Hi"), say("Go on.")), strict=False, max_steps=99)
    observation, info = env.reset(seed=0)
    seen = [repr((observation, info, env.tools("agent"), env.action_space, env.observation_space))]
    for probe in (*PROBES, "not an action", say("What is my code?")):
        observation, _, _, _, info = env.step(probe)
        seen.append(repr((observation["messages"][-1], info)))
    observation, *_, info = env.step(dict(STOP))
    seen.append(repr(info))
    text = "\n".join(seen)
    assert "SENTINEL" not in text
    assert "4321" not in text
    errors = [m.result["error"]["code"] for m in observation["messages"] if m.result and not m.result["ok"]]
    assert errors.count("unknown_document") == 3


def test_b058_the_user_sees_no_results_of_the_agents_calls():
    env = aec.raw_env(planted_domain())
    env.reset(seed=0)
    env.step(say("Hi"))
    env.step({**call("set_address", account_id="A1", address="SENTINEL-held"), "content": "One moment."})
    env.step(call("list_orders", account_id="A2"))
    seen = repr((env.observe("user_0"), env.infos, env.tools("user_0")))
    assert seen.count("SENTINEL") == 3  # its own persona, instructions and fact
    assert "One moment" not in seen
    agent = repr(env.observe("agent_0"))
    assert agent.count("SENTINEL-held") == 3  # the call, the call beside its result, the result
    assert "SENTINEL-persona" not in agent


def test_b058_workers_are_sent_names_and_never_tasks(tmp_path):
    path = tmp_path / "tasks.jsonl"
    secret = planted_domain().tasks["train"]["secret"]
    path.write_text(secret.model_dump_json() + "\n")
    for env in (
        SingleAgentEnv("shop", tasks=str(path)),
        aec.env("shop", tasks=path),
        ChatFormat(TextAction(SingleAgentEnv("shop"))),
    ):
        assert b"SENTINEL" not in pickle.dumps(env)
    assert "SENTINEL" not in json.dumps(gymnasium.spec("Banking-v0").kwargs)


def test_b058_a_partners_failure_does_not_show_its_words():
    class Leaky:
        def act(self, observation):
            if observation["turn"]:
                raise RuntimeError("SENTINEL: the order is O1")
            return say("Hi")

    env = SingleAgentEnv("shop", user=Leaky())
    env.reset(seed=0)
    step = env.step(dict(TALK))
    assert step[3]
    assert "SENTINEL" not in repr(step)


def test_a_pickle_in_the_middle_holds_no_task_even_when_tasks_come_from_a_file(tmp_path):
    path = tmp_path / "tasks.jsonl"
    secret = task(
        "secret", notes="SENTINEL-notes", documents=["refunds"], meta={"knobs": {"x": "SENTINEL-knob"}}
    )
    path.write_text(secret.model_dump_json())
    env = SingleAgentEnv("shop", tasks=str(path), user=User(say("Hi")))
    env.reset(seed=0)
    env.step(call("get_order", order_id="O2"))
    saved = pickle.dumps(env)
    assert b"SENTINEL" not in saved
    again = pickle.loads(saved)
    assert again.episode.task.id == "secret"
    assert again.episode.observe("agent") == env.episode.observe("agent")
