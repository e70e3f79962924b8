"""Whatever is done in an episode: the same few things hold. Properties, by hypothesis."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gym_enterprise import Episode, InvalidAction, load_domain
from gym_enterprise.messages import Seat

SHOP = load_domain("tests.shop:make_domain")
TASK = SHOP.tasks["train"]["confirm"]
SLOT = Episode(SHOP, TASK)
BOTH: tuple[Seat, Seat] = ("agent", "user")

words = st.sampled_from(
    [
        "hi",
        "",
        " ",
        "bye ###STOP###",
        "###STOP###",
        "<think>x",
        "<think>x</think>ok",
        "\ud800",
        "\u2028 é",
        "x" * 300,
    ]
)
keys = st.sampled_from(
    ["order_id", "account_id", "amount", "address", "name", "arguments", "code", "stars", "k"]
)
ids = st.sampled_from(
    ["O1", "O2", "A1", "A2", "rate_order_5", "expedite_order_77", "cancel_order", "use_tool"]
)
leaves = (
    ids | words | st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([10**400, 5, 5.5])
)
arguments = st.recursive(
    st.dictionaries(keys, leaves, max_size=3) | leaves,
    lambda inner: st.dictionaries(keys, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=6,
)
names = st.sampled_from(
    [
        *(tool.name for seat in BOTH for tool in SHOP.toolset(seat)),
        "unlock_tool",
        "use_tool",
        "give_tool",
        "nothing",
    ]
)
fitting = st.sampled_from(
    [
        ("cancel_order", {"order_id": "O1"}),
        ("issue_credit", {"account_id": "A1", "amount": 5}),
        ("issue_credit", {"account_id": "A2", "amount": 5.5}),
        ("unlock_tool", {"name": "expedite_order_77"}),
        ("use_tool", {"name": "expedite_order_77", "arguments": {"order_id": "O2"}}),
        ("give_tool", {"name": "rate_order_5"}),
        ("rate_order_5", {"order_id": "O2", "stars": 4}),
        ("confirm_order", {"order_id": "O1", "code": "XK-7"}),
        ("move_money", {"source": "A1", "target": "A9", "amount": 1}),
    ]
).map(lambda pair: {"type": "tool_call", "name": pair[0], "arguments": pair[1]})
calls = st.fixed_dictionaries(
    {"type": st.just("tool_call"), "name": names | leaves, "arguments": arguments},
    optional={"id": words, "content": words, "requestor": ids},
)
speech = st.fixed_dictionaries({"type": st.sampled_from(["message", "stop"])}, optional={"content": words})
actions = fitting | speech | calls | fitting | leaves | arguments


def same(one: Episode, other: Episode) -> bool:
    return all(one.observe(seat) == other.observe(seat) for seat in BOTH) and (
        one.world.changes() == other.world.changes()
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(actions, max_size=14), st.integers(0, 13))
def test_any_play_keeps_the_rules_and_can_be_saved_written_and_graded_again(
    plan: list[Any], when: int
) -> None:
    it = Episode(SHOP, TASK, max_steps=12, max_errors=5)
    for number, action in enumerate(plan):
        seat = it.turn
        if seat is None:
            break
        step, errors, before = it.step, it.errors, it.snapshot()
        try:
            it.act(seat, action)
        except InvalidAction as error:
            str(error).encode()
            assert it.snapshot() == before
            continue
        assert it.step - step in (0, 1)
        assert it.errors - errors in (0, 1)
        assert it.step <= 12
        assert not (it.terminated and it.truncated)
        assert it.done == (it.turn is None) == bool(it.reason)
        if number == when:
            assert same(it.fork(into=SLOT), it)
    for seat in BOTH:
        seen = it.observe(seat)["messages"]
        assert [message.seq for message in seen] == list(range(len(seen)))
        text = json.dumps([message.to_dict() for message in seen], ensure_ascii=False, allow_nan=False)
        text.encode()
        assert not any(word in text for word in ("Traceback", "pydantic", "apsw", "ValueError"))
        assert not any("###STOP###" in message.content for message in seen if message.call is None)
    grade = it.grade(audit=True)
    made = [(seat, m.call.name, m.call.arguments) for seat, m in it.transcript if m.call and m.role == "tool"]
    again = Episode(SHOP, TASK)
    again.retrace(made)
    assert again.grade(audit=True).reward == grade.reward
    assert json.loads(json.dumps(grade.to_dict(), allow_nan=False)) == grade.to_dict()
