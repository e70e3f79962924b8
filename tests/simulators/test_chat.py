"""Histories as chats: roles, several calls of one turn, calls that could not be read, other formats."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gym_enterprise import Call, Episode, Message
from simulators.chat import chat_messages
from simulators.turns import marked, place
from tests.core.conversation import CANCEL, call, opened, play, say


def written(history: Any, seat: str = "agent", format: Any = "openai") -> list[dict[str, Any]]:
    return chat_messages(history, seat, "SYSTEM", "OPEN", format)


def history(it: Episode, seat: Any = "agent") -> Any:
    return it.observe(seat)["messages"]


def test_the_agent_is_the_assistant_and_the_customer_the_user() -> None:
    it = play(opened(), ("agent", say("Which order?")), ("user", say("O1")))
    assert written(history(it)) == [
        {"role": "system", "content": "SYSTEM"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "Which order?"},
        {"role": "user", "content": "O1"},
    ]


def test_the_customer_reads_the_same_with_the_roles_flipped_and_an_opening_before_its_own() -> None:
    it = play(opened(), ("agent", say("Which order?")))
    assert written(history(it, "user"), "user") == [
        {"role": "system", "content": "SYSTEM"},
        {"role": "user", "content": "OPEN"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "Which order?"},
    ]


def test_a_call_and_its_answer_are_linked_by_their_id() -> None:
    it = play(opened(), ("agent", {**CANCEL, "id": "c1", "content": "One moment."}))
    *_, made, answered = written(history(it))
    assert made["content"] == "One moment."
    (structured,) = made["tool_calls"]
    assert structured["function"] == {"name": "cancel_order", "arguments": '{"order_id": "O1"}'}
    assert (structured["id"], answered["tool_call_id"]) == ("c1", "c1")
    assert json.loads(answered["content"]) == {"ok": True, "result": "cancelled"}


def test_b022_calls_of_one_turn_stand_in_one_message_with_their_own_ids() -> None:
    actions = marked([{**CANCEL, "id": "c1", "content": "Wait."}, {**CANCEL, "id": "c2"}, CANCEL], 2)
    it = play(opened(), *(("agent", action) for action in actions), ("agent", {**CANCEL, "id": "c4"}))
    *_, one, r1, r2, r3, other, r4 = written(history(it))
    assert [made["id"] for made in one["tool_calls"]] == ["c1", "c2", "call_2_3"]
    assert [answer["tool_call_id"] for answer in (r1, r2, r3)] == ["c1", "c2", "call_2_3"]
    assert (one["content"], other["content"]) == ("Wait.", "")
    assert (other["tool_calls"][0]["id"], r4["tool_call_id"]) == ("c4", "c4")


def test_servers_get_arguments_that_are_objects_and_names_that_they_take() -> None:
    unreadable = {"type": "tool_call", "name": "", "arguments": '{"name": "get'}
    it = play(opened(), ("agent", unreadable), ("agent", call("no such tool, sir!", a=1)))
    _, _, bad, _, odd, _ = written(history(it))
    function = bad["tool_calls"][0]["function"]
    assert function == {"name": "unreadable", "arguments": '{"unreadable": "{\\"name\\": \\"get"}'}
    assert odd["tool_calls"][0]["function"]["name"] == "no_such_tool__sir_"


def test_arguments_that_came_as_text_go_back_as_the_same_text() -> None:
    text = '{"order_id":   "O1"}'
    it = play(opened(), ("agent", {**CANCEL, "arguments": text}))
    assert written(history(it))[-2]["tool_calls"][0]["function"]["arguments"] == text


def test_text_formats_write_calls_into_the_text_and_answers_as_user_messages() -> None:
    it = play(opened(), ("agent", {**CANCEL, "content": "Wait."}), ("agent", say("Done.")))
    expected = {
        "hermes": '<tool_call>\n{"name": "cancel_order", "arguments": {"order_id": "O1"}}\n</tool_call>',
        "json": '{"name": "cancel_order", "arguments": {"order_id": "O1"}}',
        "llama": '{"name": "cancel_order", "parameters": {"order_id": "O1"}}',
    }
    answer = '<tool_response>\n{"ok": true, "result": "cancelled"}\n</tool_response>'
    for format, text in expected.items():
        assert written(history(it), format=format)[2:] == [
            {"role": "assistant", "content": f"Wait.\n{text}"},
            {"role": "user", "content": answer},
            {"role": "assistant", "content": "Done."},
        ]


def test_what_could_not_be_read_stands_in_the_text_as_the_model_wrote_it() -> None:
    it = opened()
    for raw in ("{oops", '<tool_call>{"name'):
        it.act("agent", {"type": "tool_call", "name": "", "arguments": raw})
    it.reject("agent", "the message is blank")
    said = [
        message["content"]
        for message in written(history(it), format="hermes")
        if message["role"] == "assistant"
    ]
    assert said == ["<tool_call>\n{oops\n</tool_call>", '<tool_call>{"name', ""]
    assert written(history(it))[-2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_notice_is_joined_to_the_message_that_follows_it() -> None:
    notice = Message(2, "system", "You were given a tool.")
    said = (Message(0, "system", "x"), Message(1, "user", "hi"), notice, Message(3, "agent", "Use it."))
    assert written(said, "user")[-1] == {"role": "user", "content": "[You were given a tool.]\n\nUse it."}


@given(st.lists(st.integers(1, 4), max_size=6), st.sampled_from(["openai", "hermes", "json", "llama"]))
def test_a_longer_history_extends_the_chat_and_tells_where_it_stands(turns: list[int], format: Any) -> None:
    """Turns of n calls each: the chat at each turn's start is a prefix of the next one's."""
    said = [Message(0, "system", "x"), Message(1, "user", "hi")]
    before: list[dict[str, Any]] = []
    for size in turns:
        start = len(said)
        assert place(said) is None
        chat = written(said, format=format)
        assert chat[: len(before)] == before
        before = chat
        for done, action in enumerate(marked([CANCEL] * size, start), start=1):
            made = Call(action.get("id", f"auto_{start}"), "cancel_order", '{"order_id": "O1"}')
            said.append(Message(len(said), "agent", "", made))
            said.append(Message(len(said), "tool", '{"ok": true, "result": 1}', made))
            assert place(said) == (None if done == size else (start, done, size))


def test_a_mark_of_the_server_itself_is_not_kept() -> None:
    (only,) = marked([{**CANCEL, "id": "x#1/2"}], 3)
    assert "id" not in only
    first, _ = marked([{**CANCEL, "id": "y" * 500}, {"type": "stop"}], 3)
    assert first["id"] == "call_3_1#1/2"
