"""One table for all call formats: what a model writes in any of them comes to the same actions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators import Format, Turn, parse_turn, read_openai
from simulators.calls import FIRST_CALL, READERS

FORMATS = get_args(Format)
CANCEL = ("cancel_order", {"order_id": "O1"})
REFUND = ("refund", {"order_id": "O2"})


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments}


def _openai(*calls: tuple[str, Any]) -> tuple[str, list[Any]]:
    return "", [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]


def _text(key: str, join: Callable[[list[str]], str]) -> Callable[..., tuple[str, list[Any]]]:
    def write(*calls: tuple[str, Any]) -> tuple[str, list[Any]]:
        return join([json.dumps({"name": name, key: value}) for name, value in calls]), []

    return write


WRITERS: dict[str, Callable[..., tuple[str, list[Any]]]] = {
    "openai": _openai,
    "hermes": _text("arguments", lambda bodies: "".join(f"<tool_call>{b}</tool_call>" for b in bodies)),
    "json": _text("arguments", lambda bodies: bodies[0] if len(bodies) == 1 else f"[{', '.join(bodies)}]"),
    "llama": _text("parameters", "; ".join),
}


def read(format: Any, *calls: tuple[str, Any], before: str = "", after: str = "", **how: Any) -> Turn:
    text, structured = WRITERS[format](*calls)
    return parse_turn(before + text + after, format, tool_calls=structured, **how)


def test_every_format_has_a_reader_a_writer_here_and_a_place_where_calls_begin() -> None:
    assert set(FORMATS) == set(READERS) == set(FIRST_CALL) == set(WRITERS)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "query",
    [
        "what's the customer's limit",
        "<think>",
        "a </think> b",
        "</tool_call>",
        "<|python_tag|>",
        '\\"',
        "; {",
    ],
)
def test_b017_b018_text_in_an_argument_is_kept_character_for_character(format: str, query: str) -> None:
    for before in ("", "<think>so</think>"):
        assert read(format, ("kb", {"q": query}), before=before).actions == (call("kb", q=query),)


@pytest.mark.parametrize("format", FORMATS)
def test_b018_a_call_rehearsed_in_reasoning_does_not_run(format: str) -> None:
    draft, _ = WRITERS["hermes" if format == "openai" else format](CANCEL)
    for before in (f"<think>maybe {draft}</think>", f"maybe {draft}</think>"):
        assert read(format, REFUND, before=before).actions == (call("refund", order_id="O2"),)


@pytest.mark.parametrize("format", FORMATS)
def test_b020_arguments_encoded_as_text_stay_text(format: str) -> None:
    arguments = '{"order_id": "O1"}'
    expected = {"type": "tool_call", "name": "get_order", "arguments": arguments}
    assert read(format, ("get_order", arguments)).actions == (expected,)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("name", "arguments"), [("", {}), (" ", {}), (7, {}), ("get", [1]), ("get", None)])
def test_b021_a_malformed_call_becomes_one_call_without_a_name(
    format: str, name: Any, arguments: Any
) -> None:
    (action,) = read(format, (name, arguments)).actions
    assert (action["type"], action["name"]) == ("tool_call", "")
    assert isinstance(action["arguments"], str)


@pytest.mark.parametrize("format", FORMATS)
def test_b021_an_unknown_tool_is_passed_on_by_its_name(format: str) -> None:
    assert read(format, ("refnd_order", {})).actions == (call("refnd_order"),)


@pytest.mark.parametrize("format", FORMATS)
def test_b022_several_calls_keep_their_order(format: str) -> None:
    expected = (call("cancel_order", order_id="O1"), call("refund", order_id="O2"))
    assert read(format, CANCEL, REFUND).actions == expected


@pytest.mark.parametrize("format", FORMATS)
def test_b023_no_call_of_a_cut_turn_runs(format: str) -> None:
    turn = read(format, CANCEL, REFUND, finish_reason="length")
    (action,) = turn.actions
    assert turn.cut
    assert (action["type"], action["name"], action["cut"]) == ("tool_call", "", True)
    assert "cancel_order" in action["arguments"]


@pytest.mark.parametrize("format", FORMATS)
def test_speech_alone_is_a_message_and_a_stop_token_a_stop(format: Any) -> None:
    for text in ("Hello.", "It costs {1} or [2].", "1; 2"):
        assert parse_turn(text, format).actions == ({"type": "message", "content": text},)
    assert parse_turn("Bye. ###STOP###", format).actions == ({"type": "stop", "content": "Bye."},)
    assert parse_turn("###STOP###", format).actions == ({"type": "stop"},)
    assert parse_turn(" \n", format).actions == ()


@pytest.mark.parametrize("format", FORMATS)
def test_a_stop_token_after_a_call_stops_after_it(format: str) -> None:
    expected = (call("cancel_order", order_id="O1"), {"type": "stop"})
    assert read(format, CANCEL, after=" ###STOP###").actions == expected


@given(
    st.text(alphabet='<>|/{}[]":;,python_tag# \\n0') | st.text(),
    st.sampled_from(FORMATS),
    st.sampled_from(["stop", "length"]),
)
def test_no_text_makes_a_reader_raise(text: str, format: Any, reason: str) -> None:
    for action in parse_turn(text, format, finish_reason=reason).actions:
        assert action["type"] in ("message", "tool_call", "stop")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(JSON | st.dictionaries(st.text(), JSON, max_size=3), max_size=3))
def test_no_structured_call_makes_the_reader_raise(raw: list[Any]) -> None:
    assert len(read_openai(raw)) == len(raw)
    assert len(read_openai([{"function": item} for item in raw])) == len(raw)


@given(
    st.lists(st.dictionaries(st.text(), JSON, max_size=3), min_size=1, max_size=3), st.sampled_from(FORMATS)
)
def test_what_is_written_properly_is_read_unchanged(arguments: list[dict[str, Any]], format: Any) -> None:
    turn = read(format, *(("tool", one) for one in arguments))
    assert [action["arguments"] for action in turn.actions] == arguments


# -- only Llama -------------------------------------------------------------------------------------------

ONE = '{"name": "cancel_order", "parameters": {"order_id": "O1"}}'


@pytest.mark.parametrize(
    ("text", "speech", "names"),
    [
        (f"<|python_tag|>{ONE}", "", ["cancel_order"]),
        (f"One moment. <|python_tag|>{ONE}<|eom_id|>", "One moment.", ["cancel_order"]),
        (f"{ONE}<|eot_id|>", "", ["cancel_order"]),
        (f"{ONE}\n{ONE}", "", ["cancel_order"] * 2),
        (f"<|python_tag|>{ONE}; <|python_tag|>{ONE};", "", ["cancel_order"] * 2),
        ('{"type": "function", "name": "a", "parameters": {}}', "", ["a"]),
        ('{"name": "a", "arguments": {}}', "", ["a"]),
        ('<|python_tag|>search.call(query="x")', "", [""]),
        ("<|python_tag|>", "", [""]),
        ('{"name": "a", "parameters": {}, "arguments": {}}', "", [""]),
        (f"{ONE} and more", "", [""]),
        (f"{ONE}; {{bad}}", "", [""]),
        (f"Speech with {ONE} in it is speech.", f"Speech with {ONE} in it is speech.", []),
    ],
)
def test_llama_writes_calls_bare_or_after_its_tag(text: str, speech: str, names: list[str]) -> None:
    turn = parse_turn(text, "llama")
    assert turn.content == speech
    assert [action["name"] for action in turn.actions if action["type"] == "tool_call"] == names


@pytest.mark.parametrize(
    "text", ["Wait. <|python", f"Wait. <|python_tag|>{ONE}", f"Wait. <|python_tag|>{ONE[:9]}"]
)
def test_b023_a_cut_llama_call_does_not_run(text: str) -> None:
    (action,) = parse_turn(text, "llama", finish_reason="length").actions
    assert (action["name"], action["content"]) == ("", "Wait.")


# -- only structured calls --------------------------------------------------------------------------------


def test_b022_structured_calls_keep_their_ids() -> None:
    raw = [{"id": f"c{n}", "function": {"name": "get", "arguments": "{}"}} for n in (1, 2, 3)]
    turn = parse_turn("Let me look.", "openai", tool_calls=raw)
    assert [action["id"] for action in turn.actions] == ["c1", "c2", "c3"]
    assert [action.get("content") for action in turn.actions] == ["Let me look.", None, None]


def test_structured_arguments_stay_the_text_that_the_model_wrote() -> None:
    raw = [{"function": {"name": "get", "arguments": '{"a":1,  "a":2'}}]
    assert parse_turn("", "openai", tool_calls=raw).actions[0]["arguments"] == '{"a":1,  "a":2'


def test_markup_of_another_format_is_speech_in_the_structured_one() -> None:
    text = "Write <tool_call> like this."
    assert parse_turn(text, "openai").actions == ({"type": "message", "content": text},)
