"""Model text to actions. Inputs and expected values are from the public reports or written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators import parse_turn, role_flip, split_stop, strict_json, strip_reasoning
from simulators.parsing import Format

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments}


def unreadable(raw: str) -> dict[str, Any]:
    return {"type": "tool_call", "name": "", "arguments": raw}


def hermes(*bodies: str) -> str:
    return "\n".join(f"<tool_call>{body}</tool_call>" for body in bodies)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>I play the customer...</think> Where is my refund?", "Where is my refund?"),
        ("Hello. <think>never closed, and a call <tool_call>", "Hello."),
        ("<think>only thoughts", ""),
        ("draft, the opening tag was in the prompt</think>Hello.", "Hello."),
        ("a<think>b</think>c<think>d</think>e", "ace"),
        ("Nothing to remove: 1 < 2 > 0.", "Nothing to remove: 1 < 2 > 0."),
        ("", ""),
    ],
)
def test_b014_reasoning_is_removed(text: str, expected: str) -> None:
    assert strip_reasoning(text) == expected


@pytest.mark.parametrize(
    "query", ["<think>", "a </think> b", "<think>x</think>", "</tool_call>", '\\"<think>']
)
@pytest.mark.parametrize("format", ["hermes", "json"])
def test_b018_tags_in_an_argument_are_kept_character_for_character(query: str, format: Any) -> None:
    body = json.dumps({"name": "search_kb", "arguments": {"query": query}})
    text = "<think>so</think>" + (hermes(body) if format == "hermes" else body)
    assert parse_turn(text, format).actions == (call("search_kb", query=query),)


CANCEL = '{"name":"cancel_order","arguments":{"order_id":"O1"}}'
REFUND = '{"name":"refund","arguments":{"order_id":"O2"}}'


@pytest.mark.parametrize(
    "text",
    [
        f"<think>maybe {hermes(CANCEL)}</think>{hermes(REFUND)}",
        f"maybe {hermes(CANCEL)}</think>{hermes(REFUND)}",
        f"maybe <tool_call>{CANCEL}, or not</think>{hermes(REFUND)}",
        f"<think>maybe <tool_call>{CANCEL}</think>{hermes(REFUND)}",
    ],
)
def test_b018_a_call_rehearsed_in_reasoning_does_not_run(text: str) -> None:
    assert parse_turn(text).actions == (call("refund", order_id="O2"),)


def test_b017_apostrophes_in_valid_json_are_kept() -> None:
    body = """{"name":"search_kb","arguments":{"query":"what's the customer's limit"}}"""
    assert parse_turn(hermes(body)).actions == (call("search_kb", query="what's the customer's limit"),)


@pytest.mark.parametrize(
    "body",
    [
        "{'name': 'get_order', 'arguments': {'order_id': 'O1'}}",
        '{"name": "get_order", "arguments": {"order_id": "O1",}}',
        '{"note": "Sent to the "boss", waiting"}',
        '{"name": "get_order", "arguments": {"n": NaN}}',
        '{"name": "get_order", "arguments": {"n": -Infinity}}',
        '{"name": "get_order", "arguments": {"a": 1, "a": 1}}',
        '{"name": "get_order", "name": "cancel", "arguments": {}}',
        '{"name": "get_order", "arguments": {}} and more',
        '{"name": "get_order", "arguments": ' + '{"a":' * 15_000,
    ],
)
@pytest.mark.parametrize("format", ["hermes", "json"])
def test_b017_what_is_not_strict_json_is_one_unreadable_call(body: str, format: Any) -> None:
    text = hermes(body) if format == "hermes" else body
    assert parse_turn(text, format).actions == (unreadable(body),)


def test_b020_arguments_encoded_as_text_stay_text_for_the_environment_to_decode() -> None:
    body = r'{"name": "get_order", "arguments": "{\"order_id\": \"O1\"}"}'
    expected = {"type": "tool_call", "name": "get_order", "arguments": '{"order_id": "O1"}'}
    assert parse_turn(hermes(body)).actions == (expected,)


@pytest.mark.parametrize("value", ["[1,2]", "42", "{oops}", '[{"sku": "S1"}]'])
def test_b020_text_that_looks_like_json_stays_text(value: str) -> None:
    body = json.dumps({"name": "note", "arguments": {"text": value}})
    assert parse_turn(hermes(body)).actions == (call("note", text=value),)


@pytest.mark.parametrize(
    "body",
    [
        '{"arguments":{"a":3}}',
        "{}",
        '{"name":"get_order"}',
        '{"name":"","arguments":{}}',
        '{"name":7,"arguments":{}}',
        '{"name":"get_order","arguments":[1]}',
        '{"name":"get_order","arguments":null}',
        '{"name":"get_order","arguments":{},"requestor":"user"}',
    ],
)
@pytest.mark.parametrize("format", ["hermes", "json"])
def test_b021_a_malformed_call_becomes_one_call_without_a_name(body: str, format: Any) -> None:
    text = hermes(body) if format == "hermes" else body
    assert parse_turn(text, format).actions == (unreadable(body),)


def test_b021_an_unknown_tool_is_passed_on_by_its_name() -> None:
    assert parse_turn(hermes('{"name":"refnd_order","arguments":{}}')).actions == (call("refnd_order"),)


@pytest.mark.parametrize("text", ['<tool_call>{"name":"get_order"', '{"name":"get_order"}</tool_call>'])
def test_b021_half_a_block_is_one_unreadable_call_and_never_speech(text: str) -> None:
    turn = parse_turn(text)
    assert [action["name"] for action in turn.actions] == [""]
    assert turn.content == ""


def test_b022_several_calls_keep_their_order_and_ids() -> None:
    bodies = [
        '{"id": "c1", "name": "get_order", "arguments": {"order_id": "O1"}}',
        '{"id": "c2", "name": "cancel_order", "arguments": {"order_id": bad}}',
        '{"id": "c3", "name": "cancel_order", "arguments": {"order_id": "O1"}}',
    ]
    assert parse_turn(f"One moment. {hermes(*bodies)} Done.").actions == (
        {**call("get_order", order_id="O1"), "id": "c1", "content": "One moment.\nDone."},
        unreadable(bodies[1]),
        {**call("cancel_order", order_id="O1"), "id": "c3"},
    )


def test_json_format_reads_lists_and_fenced_blocks() -> None:
    both = (call("cancel_order", order_id="O1"), call("refund", order_id="O2"))
    assert parse_turn(f"[{CANCEL}, {REFUND}]", "json").actions == both
    fenced = f"Let me see.\n```json\n{CANCEL}\n```\nand\n```\n{REFUND}\n```"
    assert parse_turn(fenced, "json").actions == ({**both[0], "content": "Let me see.\nand"}, both[1])


@pytest.mark.parametrize("text", ["[Note] I will check.", "It costs 5.", "```\nls -l\n```", "42", '"text"'])
def test_json_format_leaves_speech_alone(text: str) -> None:
    assert parse_turn(text, "json").actions == ({"type": "message", "content": text},)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ('<tool_call>{"name":"bulk_update","arguments":{"ids":["O1","O2"', "hermes"),
        (hermes(CANCEL), "hermes"),
        (f"{hermes(CANCEL)} and so <tool", "hermes"),
        ("<tool_ca", "hermes"),
        (CANCEL, "json"),
        (CANCEL[:20], "json"),
        ("[", "json"),
        (f"```json\n{CANCEL}\n```", "json"),
    ],
)
def test_b023_no_call_of_a_cut_turn_runs(text: str, format: Any) -> None:
    turn = parse_turn(text, format, finish_reason="length")
    assert turn.actions == (unreadable(text) | {"cut": True},)
    assert turn.cut


def test_b023_speech_before_a_cut_call_is_said_beside_it() -> None:
    turn = parse_turn('Let me check. <tool_call>{"name":', finish_reason="length")
    assert turn.actions == ({**unreadable('<tool_call>{"name":'), "cut": True, "content": "Let me check."},)


def test_b023_cut_speech_is_a_message_and_cut_reasoning_is_blank() -> None:
    assert parse_turn("I can see that", finish_reason="length").actions[0]["type"] == "message"
    assert parse_turn("<think>long thoughts", finish_reason="length").actions == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes, please cancel O1. ###STOP###", ("Yes, please cancel O1.", True)),
        ("  ###STOP###  ", ("", True)),
        ("Fine ###STOP### then.", ("Fine then.", True)),
        ("###ST###STOP###OP###", ("###ST OP###", True)),
        ("[END] bye", ("bye", True)),
        ("No token: ###STOP##", ("No token: ###STOP##", False)),
    ],
)
def test_b011_a_stop_token_is_cut_out_of_the_text(text: str, expected: tuple[str, bool]) -> None:
    assert split_stop(text, ("###STOP###", "[END]")) == expected


def test_a_blank_stop_token_is_refused() -> None:
    with pytest.raises(ValueError, match="blank"):
        split_stop("text", ("",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes. ###STOP###", ({"type": "stop", "content": "Yes."},)),
        ("###STOP###", ({"type": "stop"},)),
        (" \n", ()),
        (
            f"Bye. {hermes(CANCEL)} ###STOP###",
            ({**call("cancel_order", order_id="O1"), "content": "Bye."}, {"type": "stop"}),
        ),
        (
            hermes('{"name":"note","arguments":{"text":"###STOP###"}}'),
            (call("note", text="###STOP###"),),
        ),
    ],
)
def test_a_stop_token_becomes_a_stop_action_after_the_calls(text: str, expected: Any) -> None:
    assert parse_turn(text).actions == expected


def test_a_stop_token_after_bare_json_stops() -> None:
    assert parse_turn(f"{CANCEL} ###STOP###", "json").actions == (
        call("cancel_order", order_id="O1"),
        {"type": "stop"},
    )


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'xml'"):
        parse_turn("text", "xml")  # type: ignore[arg-type]


@given(arguments=st.dictionaries(st.text(), JSON, max_size=3), before=st.booleans())
def test_what_a_model_writes_properly_is_read_unchanged(arguments: dict[str, Any], before: bool) -> None:
    body = json.dumps({"name": "tool", "arguments": arguments}, ensure_ascii=False)
    text = ("<think>a</think>" if before else "") + hermes(body)
    assert parse_turn(text).actions == (call("tool", **{}) | {"arguments": arguments},)
    assert parse_turn(body, "json").actions == parse_turn(text).actions


@given(st.text(alphabet='<>/{}[]":,tool_calhink# \\n0') | st.text(), st.sampled_from(["hermes", "json"]))
def test_no_text_makes_the_parser_raise(text: str, format: Any) -> None:
    for reason in ("stop", "length"):
        for action in parse_turn(text, format, finish_reason=reason).actions:
            assert action["type"] in ("message", "tool_call", "stop")


@given(JSON)
def test_strict_json_agrees_with_the_standard_library_on_proper_json(value: Any) -> None:
    assert strict_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    "line",
    [
        "I have processed your refund. Anything else I can help with?",
        "I've successfully cancelled your order.",
        "Is there anything else I can help you with?",
        "How may I assist you today?",
        "Thank you for contacting Fernwick Bank.",
        "Before we start I need to verify your identity.",
        "I\u2019d be happy to assist you with that!",
        "We have now updated your mailing address.",
    ],
)
def test_b014_a_customer_that_speaks_as_the_agent_is_noticed(line: str) -> None:
    assert role_flip(line)


@pytest.mark.parametrize(
    "line",
    [
        "Can you help me with anything else?",
        "I have processed the form you sent.",
        "Is there anything else I can do to speed this up?",
        "You told me \u201cI have processed your refund\u201d, but nothing came.",
        "I have cancelled my order already.",
        "I need your help. Please check the account.",
        "Can you verify your identity? I do not trust this chat.",
        "Thank you for your patience with me.",
        "I'd be happy to send you the receipt.",
        "How can I pay this?",
    ],
)
def test_b014_an_ordinary_customer_line_is_not_accused(line: str) -> None:
    assert not role_flip(line)


@pytest.mark.parametrize(
    ("unit", "format"),
    [
        ("###STOP### a ", "hermes"),
        ("<tool_call>{", "hermes"),
        ("```json\n{", "json"),
        ("<|python_tag|>{", "llama"),
    ],
)
def test_an_endless_completion_is_read_as_one_that_was_cut(unit: str, format: Format) -> None:
    """A megabyte of half calls took a quarter of a minute to read."""
    turn = parse_turn(unit * 100_000, format)
    assert turn.cut
    assert len(turn.actions) == 1


def test_many_stop_tokens_leave_one_blank_each() -> None:
    assert split_stop("a ###STOP### ###STOP###b###STOP### c ###STOP###") == ("a b c", True)
