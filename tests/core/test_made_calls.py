"""The calls that a dispatcher remembers, and an agent's policy that depends on the task."""

from __future__ import annotations

import pickle
from typing import Any

from gym_enterprise import Domain, Task
from tests.core.conversation import CANCEL, call, opened, play, say
from tests.shop import make_domain, task


def made(it: Any) -> list[tuple[str, str, Any, bool]]:
    return [(c.seat, c.name, c.arguments, c.ok) for c in it.dispatcher.made]


def test_every_call_that_can_be_read_is_remembered_with_what_came_of_it() -> None:
    it = play(
        opened(),
        ("agent", CANCEL),
        ("agent", CANCEL),
        ("agent", call("nothing", x=1)),
        ("agent", call("issue_credit", account_id="A1", amount="no")),
        ("agent", {"type": "tool_call", "name": "cancel_order", "arguments": '{"order_id": '}),
        ("agent", {"type": "tool_call", "arguments": {}}),
        ("agent", {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": float("nan")}}),
        ("agent", say("Done.")),
        ("user", call("nothing")),
    )
    cancel = CANCEL["arguments"]
    assert [entry[:3] for entry in made(it)] == [
        ("agent", "cancel_order", cancel),
        ("agent", "cancel_order", cancel),
        ("agent", "nothing", {"x": 1}),
        ("agent", "issue_credit", {"account_id": "A1", "amount": "no"}),
        ("user", "nothing", {}),
    ]
    assert made(it)[0][3]
    assert not any(ok for *_, ok in made(it)[2:])


def test_what_is_remembered_does_not_change_with_what_the_caller_keeps() -> None:
    it = opened()
    arguments = {"order_id": "O1"}
    it.act("agent", {"type": "tool_call", "name": "cancel_order", "arguments": arguments})
    arguments["order_id"] = "O2"
    it.dispatcher.made[0].arguments["order_id"] = "O3"
    assert made(it) == [("agent", "cancel_order", {"order_id": "O1"}, True)]


def test_calls_travel_with_snapshots_forks_and_pickles_and_end_with_a_reset() -> None:
    it = play(opened(), ("agent", CANCEL))
    before = it.snapshot()
    play(it, ("agent", call("nothing")))
    assert made(it.fork()) == made(it)
    assert len(made(it)) == 2
    it.restore(pickle.loads(pickle.dumps(before)))
    assert [name for _, name, _, _ in made(it)] == ["cancel_order"]
    it.reset()
    assert made(it) == []


def test_a_policy_can_be_written_for_each_task() -> None:
    def policy(played: Task) -> str:
        return f"This is about {played.family}."

    shop = make_domain(tasks={"train": []})
    tools = [tool for seat in ("agent", "user") for tool in shop.toolset(seat)]  # type: ignore[attr-defined]
    own = [tool for tool in tools if not tool.name.startswith("kb_")]
    domain = Domain("shop", shop.image, own, policy, {"train": []}, documents=shop.documents)
    it = opened(task(), domain)
    assert it.observe("agent")["messages"][0].content == f"This is about {task().family}."
    assert "This is about" not in it.observe("user")["messages"][0].content
