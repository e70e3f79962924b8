"""Spaces and sampling: what is in them, what is drawn, what is refused."""

from typing import Annotated, Any, Literal

import numpy as np
import pydantic
import pytest
from pydantic import Field

from gym_enterprise import Call, Date, Message, Money, ToolDefinitionError, ToolSpec, load_domain, tool
from gym_enterprise.actions import MAX_TEXT
from gym_enterprise.sampling import check_schema, sample_value
from gym_enterprise.spaces import ActionSpace, MessageSpace, ToolCallSpace, TranscriptSpace, observation_space
from tests.envs.players import STOP, call, say


class Line(pydantic.BaseModel):
    """A part of an order."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)
    item: str
    count: Annotated[int, Field(ge=1, le=9)]
    price: Money | None = None


@tool()
def everything(
    world: Any,
    text: str,
    short: Annotated[str, Field(min_length=3, max_length=4)],
    long: Annotated[str, Field(min_length=20)],
    whole: int,
    small: Annotated[int, Field(gt=2, lt=4)],
    huge: Annotated[int, Field(ge=2**60)],
    negative: Annotated[int, Field(le=-5)],
    even: Annotated[int, Field(multiple_of=2, ge=1)],
    real: float,
    narrow: Annotated[float, Field(gt=0.001, lt=0.002)],
    amount: Money,
    day: Date,
    flag: bool,
    choice: Literal["a", "b", 3],
    lines: Annotated[list[Line], Field(min_length=1, max_length=3)],
    numbers: list[list[int]],
    code: Annotated[str, Field(pattern=r"^[A-Z]\d$", examples=["A1", "B2"])],
    note: str | None = None,
    free: dict[str, Any] | None = None,
):
    """Take one argument of each kind.

    Args:
        text: x
        short: x
        long: x
        whole: x
        small: x
        huge: x
        negative: x
        even: x
        real: x
        narrow: x
        amount: x
        day: x
        flag: x
        choice: x
        lines: x
        numbers: x
        code: x
        note: x
        free: x
    """


def test_samples_fit_every_type_that_a_tool_may_have():
    space = ToolCallSpace([everything.spec], seed=0)
    seen = [space.sample()["arguments"] for _ in range(300)]
    for arguments in seen:
        everything.validate(arguments)
    assert {arguments["small"] for arguments in seen} == {3}
    assert {arguments["choice"] for arguments in seen} == {"a", "b", 3}
    assert {"note" in arguments for arguments in seen} == {True, False}
    assert {arguments["flag"] for arguments in seen} == {True, False}
    assert {len(arguments["lines"]) for arguments in seen} == {1, 2, 3}
    assert len({arguments["amount"] for arguments in seen}) > 100


@pytest.mark.parametrize(
    ("schema", "what"),
    [
        ({"type": "string", "pattern": "^a$"}, "the keyword 'pattern'"),
        ({"type": "string", "format": "email"}, "the keyword 'format'"),
        ({"type": "array", "uniqueItems": True}, "the keyword 'uniqueItems'"),
        ({"type": ["string", "null"]}, r"the type \['string', 'null'\]"),
        ({"type": "file"}, "the type 'file'"),
        (
            {"type": "object", "properties": {"x": {"type": "object", "patternProperties": {}}}},
            "'patternProp",
        ),
        ({"anyOf": [{"type": "null"}, {"oneOf": []}]}, "the keyword 'oneOf'"),
        ({"type": "array", "items": {"not": {}}}, "the keyword 'not'"),
        ({"type": "integer", "minimum": 1, "maximum": 0}, "no number fits its bounds"),
        ({"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 4}, "no number fits its bounds"),
    ],
)
def test_a_schema_that_cannot_be_sampled_is_refused_when_the_space_is_built(schema, what):
    spec = ToolSpec("ping", "", {"type": "object", "properties": {"where": schema}})
    with pytest.raises(ToolDefinitionError, match=f"tool 'ping', 'where'.*{what}"):
        ActionSpace([spec])


@pytest.mark.parametrize(
    ("schema", "values"),
    [
        ({"const": 4}, {4}),
        ({"enum": [1, "x", None]}, {1, "x", None}),
        ({"type": "integer", "minimum": 2, "maximum": 4}, {2, 3, 4}),
        ({"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4}, {3}),
        ({"type": "number", "multipleOf": 0.01, "minimum": 0.295, "maximum": 0.31}, {0.3, 0.31}),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.02}, {0.01, 0.02}),
        ({"type": "boolean"}, {True, False}),
        ({"type": "null"}, {None}),
        ({"type": "string", "examples": ["only"]}, {"only"}),
    ],
)
def test_small_schemas_are_sampled_whole(schema, values):
    check_schema(schema, "here")
    rng = np.random.default_rng(0)
    assert {sample_value(rng, schema) for _ in range(100)} == values


def test_a_message_space_has_any_text_up_to_its_length():
    space = MessageSpace(5)
    assert [x in space for x in ("", "héllo", "hello!", 3, None)] == [True, True, False, False, False]
    assert len(MessageSpace(5, seed=0).sample()) == 5
    assert "x" * MAX_TEXT in MessageSpace()
    assert MessageSpace(5) != MessageSpace(6)
    with pytest.raises(ValueError, match="no parts to choose from"):
        space.sample(np.ones(2))


def test_the_action_space_has_what_an_episode_takes():
    space = ActionSpace(load_domain("shop").toolset("agent").listed)
    inside = [say("Hi"), STOP, {**STOP, "content": "Bye"}, call("get_order"), call("no such tool", x=[1])]
    inside += [{"type": "tool_call", "name": "get_order", "arguments": "{"}, {"type": "tool_call"}]
    outside = [None, "Hi", [], [say("Hi")], {"type": "message"}, {"type": "message", "content": 3}]
    outside += [{"type": "speak", "content": "Hi"}, {**say("Hi"), "to": "user"}, say("\ud800")]
    assert [action in space for action in inside] == [True] * len(inside)
    assert [action in space for action in outside] == [False] * len(outside)
    calls = ToolCallSpace(space.tools)
    assert [action in calls for action in (say("Hi"), STOP, call("get_order"))] == [False, False, True]


def test_the_mask_layout_is_message_stop_then_tools():
    tools = load_domain("shop").toolset("user").listed
    space = ActionSpace(tools, seed=1)
    assert space.kinds == ("message", "stop", "confirm_order", "use_tool")
    assert space.mask(["use_tool", "message"]).tolist() == [1, 0, 0, 1]
    drawn = {space.sample(np.array([1, 0, 0, 1], np.int8)).get("name", "message") for _ in range(50)}
    assert drawn == {"message", "use_tool"}
    assert space.sample(space.mask([]))["type"] == "message"
    weights = np.array([0.0, 0.25, 0.75, 0.0])
    drawn = [space.sample(probability=weights).get("name", "stop") for _ in range(400)]
    assert set(drawn) == {"stop", "confirm_order"}
    assert 250 < drawn.count("confirm_order") < 350  # 300 expected, standard deviation 8.7
    assert ToolCallSpace(tools).kinds == ("confirm_order", "use_tool")


def test_wrong_masks_are_refused():
    space = ActionSpace([], seed=0)
    for mask in (np.ones(3), np.array([2, 0]), np.array([-1, 1])):
        with pytest.raises(ValueError, match="entries"):
            space.sample(mask)
    with pytest.raises(ValueError, match="not both"):
        space.sample(np.ones(2), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="sum to 1"):
        space.sample(probability=np.array([0.5, 0.4]))
    with pytest.raises(ValueError, match="no tools to sample a call of"):
        ToolCallSpace([]).sample()


def test_a_transcript_space_has_tuples_of_messages():
    space = TranscriptSpace(seed=0)
    message = Message(0, "system", "x" * 1_000_000)
    called = Message(1, "agent", "", Call("call_1", "a", "{}"))
    inside, outside = [(), (message, called)], [[message], (message.to_dict(),), message, None, ((),)]
    assert [x in space for x in inside] == [True, True]
    assert [x in space for x in outside] == [False] * 5
    samples = [space.sample() for _ in range(30)]
    assert all(sample in space for sample in samples)
    assert space.from_jsonable(space.to_jsonable(samples)) == samples
    assert all([m.seq for m in sample] == list(range(len(sample))) for sample in samples)


def test_the_observation_space_is_one_for_all():
    space = observation_space()
    assert list(space.spaces) == ["messages", "turn", "your_turn"]
    assert {"messages": (), "turn": 3, "your_turn": 1} in space
    assert {"messages": (), "turn": -1, "your_turn": 1} not in space
    assert space == observation_space()
