"""How discoverable tools are unlocked, given and called; each call that matters leaves a graded record.

An agent unlocks a tool, then calls it with its arguments as JSON text. A user's tool is given by the agent,
then called the same way. Whole numbers in that text are read as floats. A call by the agent is recorded
when the tool writes, or when the task records calls of this read; even a refused call is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from gym_enterprise.domains.tau3_banking import ids
from gym_enterprise.domains.tau3_banking.checks import Refused, WrongType, require
from gym_enterprise.domains.tau3_banking.records import dump, insert
from gym_enterprise.domains.tau3_banking.toolkit import BankTool, listed, why_not_recordable
from gym_enterprise.domains.tau3_banking.tools.catalogue import AGENTS, USERS
from gym_enterprise.lossless import ArgumentError
from gym_enterprise.tools import Declined, ToolError
from gym_enterprise.world import World


@listed()
def list_discoverable_agent_tools(world: World) -> str:
    """List the discoverable tools that were called in this conversation."""
    return dump(world, "agent_discoverable_tools")


@listed(seat="user")
def list_discoverable_user_tools(world: World) -> str:
    """List the tools that you were given in this conversation."""
    return dump(world, "user_discoverable_tools")


@listed(writes=True)
def give_discoverable_user_tool(world: World, discoverable_tool_name: str, arguments: str = "{}") -> str:
    """Hand a tool that the knowledge base names to the customer, who can call it from then on.

    Args:
        discoverable_tool_name: The exact name of the user's tool.
        arguments: Arguments to suggest to the customer, as the text of one JSON object.
    """
    item = _known(USERS, discoverable_tool_name)
    suggested = _read(arguments)
    unknown = [name for name in suggested if name not in item.model.model_fields]
    require(not unknown, "unknown_argument", f"{item.name} has no argument {', '.join(unknown)}.")
    record = {"tool_name": item.name, "status": "GIVEN"}
    insert(world, "user_discoverable_tools", record, ids.given_tool(item.name))
    return (
        f"The customer was given {item.name}: {item.description}\nArguments: {json.dumps(suggested)}\n"
        "The customer calls it with call_discoverable_user_tool."
    )


@listed(writes=True)
def unlock_discoverable_agent_tool(world: World, agent_tool_name: str) -> str:
    """Unlock a tool that the knowledge base names, and read what it does and takes."""
    item = _known(AGENTS, agent_tool_name)
    world.execute("INSERT INTO unlocked_tools VALUES (?) ON CONFLICT (name) DO NOTHING", item.name)
    return f"Unlocked {item.name}: {item.description}\n{_parameters(item)}"


@listed(writes=True)
def call_discoverable_agent_tool(world: World, agent_tool_name: str, arguments: str = "{}") -> str | Declined:
    """Call a tool that was unlocked."""
    item = _known(AGENTS, agent_tool_name)
    unlocked = world.one("SELECT 1 FROM unlocked_tools WHERE name = ?", item.name)
    require(unlocked, "locked", f"{item.name} is locked: unlock it first.")
    try:
        result = item(world, **item.validate(_read(arguments)))
    except ArgumentError as error:
        raise Refused("invalid_arguments", str(error)) from None
    except WrongType as error:
        raise Refused(error.code, error.message) from None
    if item.writes or world.one("SELECT 1 FROM recorded_reads WHERE name = ?", item.name):
        record = {"tool_name": item.name, "status": "CALLED"}
        insert(world, "agent_discoverable_tools", record, ids.agent_call(item.name))
    return result  # type: ignore[no-any-return]


@listed(writes=True, seat="user")
def call_discoverable_user_tool(
    world: World, discoverable_tool_name: str, arguments: str = "{}"
) -> str | Declined:
    """Call a tool that the agent gave you."""
    item = _known(USERS, discoverable_tool_name)
    try:
        return item(world, **item.validate(_read(arguments)))  # type: ignore[no-any-return]
    except ArgumentError as error:
        raise Refused("invalid_arguments", str(error)) from None


def _known(tools: Mapping[str, BankTool], name: Any) -> BankTool:
    item = tools.get(name) if isinstance(name, str) else None
    if item is None:
        raise Refused("unknown_tool", f"There is no such tool: {name!r}. Names stand in the knowledge base.")
    return item


def _read(arguments: Any) -> dict[str, Any]:
    """Read arguments from text; what is not text fails, what is not a JSON object is refused."""
    if not isinstance(arguments, str):
        raise ToolError("invalid_arguments", "`arguments` should be the text of a JSON object.")
    try:
        value = json.loads(arguments, parse_int=float, parse_constant=lambda text: math.nan)
    except (ValueError, RecursionError):
        raise Refused("invalid_json", "`arguments` is not JSON.") from None
    require(isinstance(value, dict), "invalid_json", "`arguments` should be a JSON object.")
    reason = why_not_recordable(value)
    require(not reason, "invalid_json", f"`arguments` cannot be recorded: {reason}.")
    return value  # type: ignore[no-any-return]


def _parameters(item: BankTool) -> str:
    schema = item.spec.to_dict()["function"]["parameters"]
    lines = []
    for name, field in schema["properties"].items():
        kind = field.get("type") or " or ".join(option["type"] for option in field["anyOf"])
        need = "required" if name in item.required else "optional"
        lines.append(f"- {name} ({kind}, {need}): {field['description']}")
    return "\n".join(lines) or "It takes no arguments."


AGENTS_TOOLS = (
    give_discoverable_user_tool,
    unlock_discoverable_agent_tool,
    call_discoverable_agent_tool,
    list_discoverable_agent_tools,
)
USERS_TOOLS = (call_discoverable_user_tool, list_discoverable_user_tools)
