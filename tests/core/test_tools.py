"""Schemas, signatures and docstrings of tools; expected JSON by hand from the OpenAI function format."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import Field

from gym_enterprise import Date, Key, Money, ToolDefinitionError, ToolError, ToolSpec, World, dollars, tool
from gym_enterprise.docstring import read_docstring
from gym_enterprise.lossless import ArgumentError
from gym_enterprise.toolset import Toolset
from tests.shop import TOOLS, task


class Line(pydantic.BaseModel):
    """One line of an order."""

    sku: str
    count: int = 1
    gift: Gift | None = None


class Gift(pydantic.BaseModel):
    text: str


class Chain(pydantic.BaseModel):
    next: list[Chain] = []


@tool(writes=True)
def everything(
    world: World,
    card_id: Annotated[str, Key("cards.card_id")],
    amount: Money,
    day: Date,
    reason: Literal["lost", "stolen"],
    stars: Literal[1, 2, 3],
    lines: list[Line],
    count: int = 3,
    express: bool = False,
    rate: float = 0.5,
    fee: Money = 1250,
    note: str | None = None,
    limit: Annotated[int, Field(ge=0, le=50)] = 5,
    other_card: Annotated[str, Key("cards.other_id")] | None = None,
) -> Any:
    """Do everything.

    It takes each kind of argument.

    Args:
        card_id: The card, as listed
            by list_cards.
        amount: Dollars.
        day: When.
        reason: Why.
        stars: How many.
        lines: The lines.
        count: How often.
        express: Whether fast.
        rate: A share.
        fee: A fee.
        note: A note.
        limit: A limit.
        other_card: Another card.

    Returns:
        Nothing.
    """


def test_the_schema_of_every_kind_of_argument_is_as_written_here() -> None:
    line = {
        "type": "object",
        "description": "One line of an order.",
        "additionalProperties": False,
        "properties": {
            "sku": {"type": "string"},
            "count": {"type": "integer", "default": 1},
            "gift": {
                "anyOf": [
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {"text": {"type": "string"}},
                        "required": ["text"],
                    },
                    {"type": "null"},
                ],
                "default": None,
            },
        },
        "required": ["sku"],
    }
    assert everything.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "card_id": {"type": "string", "description": "The card, as listed by list_cards."},
            "amount": {"type": "number", "format": "dollars", "description": "Dollars."},
            "day": {"type": "string", "format": "date", "description": "When."},
            "reason": {"type": "string", "enum": ["lost", "stolen"], "description": "Why."},
            "stars": {"type": "integer", "enum": [1, 2, 3], "description": "How many."},
            "lines": {"type": "array", "items": line, "description": "The lines."},
            "count": {"type": "integer", "default": 3, "description": "How often."},
            "express": {"type": "boolean", "default": False, "description": "Whether fast."},
            "rate": {"type": "number", "default": 0.5, "description": "A share."},
            "fee": {"type": "number", "format": "dollars", "default": 12.5, "description": "A fee."},
            "note": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "A note.",
            },
            "limit": {
                "type": "integer",
                "minimum": 0,
                "maximum": 50,
                "default": 5,
                "description": "A limit.",
            },
            "other_card": {
                "anyOf": [{"type": "string"}, {"type": "null"}],
                "default": None,
                "description": "Another card.",
            },
        },
        "required": ["card_id", "amount", "day", "reason", "stars", "lines"],
    }


def test_a_spec_is_written_in_the_openai_function_format() -> None:
    spec = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
    assert spec.to_dict() == {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


def test_changing_what_to_dict_returned_changes_no_tool() -> None:
    everything.spec.to_dict()["function"]["parameters"]["properties"].clear()
    assert "card_id" in everything.parameters["properties"]


def test_keys_are_read_from_annotations_also_of_optional_arguments() -> None:
    assert everything.keys == {"card_id": "cards.card_id", "other_card": "cards.other_id"}


def test_a_description_is_all_text_before_the_first_section() -> None:
    assert everything.description == "Do everything.\n\nIt takes each kind of argument."


def test_arguments_that_are_left_out_take_their_defaults_and_money_defaults_are_cents() -> None:
    given = {
        "card_id": "c1",
        "amount": 33,
        "day": "2024-02-29",
        "reason": "lost",
        "stars": 3,
        "lines": [{"sku": "S1", "gift": {"text": "hi"}}],
    }
    values = everything.validate(given)
    assert values == {
        "card_id": "c1",
        "amount": 3300,
        "day": "2024-02-29",
        "reason": "lost",
        "stars": 3,
        "lines": [Line(sku="S1", count=1, gift=Gift(text="hi"))],
        "count": 3,
        "express": False,
        "rate": 0.5,
        "fee": 1250,
        "note": None,
        "limit": 5,
        "other_card": None,
    }


def test_a_default_list_is_a_new_one_each_time() -> None:
    @tool()
    def collect(world: World, names: list[str] = []) -> Any:  # noqa: B006
        """Collect.

        Args:
            names: Names.
        """

    collect.validate({})["names"].append("left behind")
    assert collect.validate({})["names"] == []


def test_a_tool_with_only_a_world_takes_no_arguments() -> None:
    @tool()
    def ping(world: World) -> Any:
        """Ping."""

    assert ping.parameters == {"type": "object", "additionalProperties": False, "properties": {}}
    assert ping.validate({}) == {}
    with pytest.raises(ArgumentError, match="`x` is not a field of ping; it takes none"):
        ping.validate({"x": 1})


def no_world(amount: int) -> None:
    """Do it.

    Args:
        amount: How much.
    """


def no_docstring(world: World) -> None: ...


def untyped(world: World, amount) -> None:  # type: ignore[no-untyped-def]
    """Do it.

    Args:
        amount: How much.
    """


def undescribed(world: World, amount: int) -> None:
    """Do it."""


def described_twice(world: World, amount: int) -> None:
    """Do it.

    Args:
        amount: How much.
        amonut: How much.
    """


def starred(world: World, *amounts: int) -> None:
    """Do it.

    Args:
        amounts: How much.
    """


def two_starred(world: World, **amounts: int) -> None:
    """Do it.

    Args:
        amounts: How much.
    """


def unknown_type(world: World, amount: Nothing) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do it.

    Args:
        amount: How much.
    """


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_world, "first parameter must be `world`"),
        (no_docstring, "has no docstring"),
        (untyped, "parameter 'amount' has no type"),
        (undescribed, "'amount' is missing under `Args:`"),
        (described_twice, "`Args:` names 'amonut'"),
        (starred, "\\*args and \\*\\*kwargs are not allowed"),
        (two_starred, "\\*args and \\*\\*kwargs are not allowed"),
        (unknown_type, "unknown type in its signature"),
    ],
)
def test_a_function_that_breaks_a_rule_is_refused_by_name(function: Any, words: str) -> None:
    with pytest.raises(ToolDefinitionError, match=words) as caught:
        tool()(function)
    assert function.__name__ in str(caught.value)


@pytest.mark.parametrize(
    "kind",
    [
        Any,
        object,
        bytes,
        Decimal,
        set[str],
        tuple[int, int],
        dict,
        dict[str, int],
        int | str,
        list[Any],
        list,
        Chain,
        float | int | None,
        Literal[None, "a"],
    ],
)
def test_types_that_json_does_not_carry_exactly_are_refused_at_definition(kind: Any) -> None:
    def take(world: World, value: int) -> None:
        """Take it.

        Args:
            value: It.
        """

    take.__annotations__["value"] = kind
    with pytest.raises(
        ToolDefinitionError, match=r"tool 'take': parameter 'value' has the type .*allowed: str"
    ):
        tool()(take)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (str, None),
        (int, "3"),
        (int, True),
        (float, "x"),
        (bool, 1),
        (Literal["a"], "b"),
        (Money, 12.5),
        (Money, "1"),
        (list[str], ()),
        (list[int], ["a"]),
        (Date, "2026-02-30"),
        (Annotated[int, Field(ge=0)], -1),
        (str | None, 3),
    ],
)
def test_a_default_that_is_not_of_the_type_is_refused_at_definition(kind: Any, default: Any) -> None:
    def take(world: World, value: Any = default) -> None:
        """Take it.

        Args:
            value: It.
        """

    take.__annotations__["value"] = kind
    with pytest.raises(ToolDefinitionError, match="'value' has the default") as caught:
        tool()(take)
    assert repr(default) in str(caught.value)


def test_a_tool_belongs_to_a_seat_and_only_an_agents_tool_ends_the_episode() -> None:
    def finish(world: World) -> None:
        """Finish."""

    with pytest.raises(ToolDefinitionError, match="no seat 'bot'; seats: agent, user"):
        tool(seat="bot")(finish)  # type: ignore[arg-type]
    with pytest.raises(ToolDefinitionError, match="only an agent's tool ends"):
        tool(seat="user", terminal=True)(finish)


def test_a_tool_can_be_called_as_python_with_cents() -> None:
    @tool()
    def double(world: World, amount: Money) -> Any:
        """Double it.

        Args:
            amount: Dollars.
        """
        return 2 * amount

    assert double(None, amount=1250) == 2500  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cents", "text"),
    [
        (0, "0.00"),
        (5, "0.05"),
        (1230, "12.30"),
        (-1230, "-12.30"),
        (-5, "-0.05"),
        (10**14, "1000000000000.00"),
    ],
)
def test_dollars_has_two_decimals_always(cents: int, text: str) -> None:
    assert dollars(cents) == text


def test_specs_and_tool_errors_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(everything.spec)) == everything.spec
    error = pickle.loads(pickle.dumps(ToolError("card_closed", "the card is closed")))
    assert (error.code, error.message, str(error)) == (
        "card_closed",
        "the card is closed",
        "card_closed: the card is closed",
    )


# -- docstrings -------------------------------------------------------------------------------------------


def test_read_docstring_joins_continued_lines_and_skips_other_sections() -> None:
    text = """Freeze a card
    for good.

    It cannot be undone.

    Args:
        card_id: The card,
            as listed: exactly.
        reason:
            Why.

    Returns:
        reason: not an argument.
    """
    assert read_docstring(text) == (
        "Freeze a card for good.\n\nIt cannot be undone.",
        {"card_id": "The card, as listed: exactly.", "reason": "Why."},
    )


def test_read_docstring_of_nothing_is_nothing() -> None:
    assert read_docstring("") == ("", {})


# -- toolsets ---------------------------------------------------------------------------------------------


def names(toolset: Toolset, **changes: Any) -> list[str]:
    return [spec.name for spec in toolset.advertised(task(**changes))]


def test_the_agent_is_told_of_listed_tools_then_of_those_that_open_others() -> None:
    assert names(Toolset("agent", TOOLS)) == [
        "get_order",
        "list_orders",
        "cancel_order",
        "reopen_order",
        "set_address",
        "issue_credit",
        "move_money",
        "exchange_item",
        "transfer_to_human",
        "unlock_tool",
        "use_tool",
        "give_tool",
    ]


def test_the_user_is_told_of_its_tasks_listed_tools_and_of_use_tool_only_when_it_can_be_given_one() -> None:
    toolset = Toolset("user", TOOLS)
    assert names(toolset) == []
    assert names(toolset, user={"tools": ["confirm_order"]}) == ["confirm_order"]
    assert names(toolset, user={"tools": ["rate_order_5"]}) == ["use_tool"]
    assert names(toolset, user={"tools": ["rate_order_5", "confirm_order"]}) == ["confirm_order", "use_tool"]


def test_without_discoverable_tools_nothing_opens_tools() -> None:
    plain = [item for item in TOOLS if not item.discoverable]
    assert not {"unlock_tool", "use_tool", "give_tool"} & set(names(Toolset("agent", plain)))


def test_two_tools_of_a_seat_cannot_share_a_name_but_two_seats_can() -> None:
    def look(world: World) -> None:
        """Look."""

    agents, users = tool()(look), tool(seat="user")(look)
    assert len(Toolset("agent", [agents, users])) == 1
    with pytest.raises(ToolDefinitionError, match="two tools of the agent are named 'look'"):
        Toolset("agent", [agents, agents])


def test_a_tool_cannot_be_named_like_a_built_in() -> None:
    def use_tool(world: World) -> None:
        """Look."""

    with pytest.raises(ToolDefinitionError, match="'use_tool' is named like a built-in"):
        Toolset("agent", [tool()(use_tool)])


def test_a_tool_without_settings_needs_no_parentheses() -> None:
    @tool
    def wave(world: Any) -> str:
        """Wave."""
        return "waved"

    assert (wave.name, wave.writes, wave.description) == ("wave", False, "Wave.")


def test_an_async_tool_is_refused() -> None:
    async def wave(world: Any) -> str:
        """Wave."""
        return "waved"

    with pytest.raises(ToolDefinitionError, match="async"):
        tool()(wave)
