"""`Toolset`: the tools of one seat, advertised and discoverable, with the three tools that open others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from gym_enterprise.errors import ToolDefinitionError
from gym_enterprise.messages import Seat
from gym_enterprise.tools import Tool, ToolSpec, tool

if TYPE_CHECKING:
    from gym_enterprise.tasks import Task

UNLOCK, USE, GIVE = "unlock_tool", "use_tool", "give_tool"


@tool()
def unlock_tool(world: Any, name: str) -> str:
    """Make a tool usable whose name stands in the knowledge base, and return its description.

    Args:
        name: The tool's exact name.
    """
    raise AssertionError("run by the dispatcher")


@tool()
def use_tool(world: Any, name: str, arguments: dict[str, Any]) -> str:
    """Call a tool that was unlocked or given.

    Args:
        name: The tool's exact name.
        arguments: Its arguments, as an object.
    """
    raise AssertionError("run by the dispatcher")


@tool()
def give_tool(world: Any, name: str) -> str:
    """Hand a tool to the user, who can call it from then on; tell the user when and how.

    Args:
        name: The tool's exact name, from the knowledge base.
    """
    raise AssertionError("run by the dispatcher")


class Toolset:
    """The tools that one seat of a domain can ever call; iterating yields them in declared order.

    Args:
        seat: Whose tools these are.
        tools: All tools of the domain.

    Raises:
        ToolDefinitionError: Two tools share a name, or one is named like a built-in.
    """

    def __init__(self, seat: Seat, tools: Iterable[Tool]) -> None:
        everything = list(tools)
        self.seat = seat
        self._tools: dict[str, Tool] = {}
        for item in everything:
            if item.name in (UNLOCK, USE, GIVE):
                raise ToolDefinitionError(f"tool {item.name!r} is named like a built-in tool: rename it")
            if item.seat == seat:
                if item.name in self._tools:
                    raise ToolDefinitionError(f"two tools of the {seat} are named {item.name!r}")
                self._tools[item.name] = item
        own = any(item.discoverable for item in self)
        others = any(item.discoverable and item.seat == "user" for item in everything)
        wanted = [unlock_tool, use_tool] if seat == "agent" else [use_tool]
        self._builtins = {item.name: item for item in (wanted if own else [])}
        if seat == "agent" and others:
            self._builtins[GIVE] = give_tool

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return a tool of this seat by name, discoverable or not; built-ins are not among them."""
        return self._tools.get(name)

    def builtin(self, name: str, task: Task) -> Tool | None:
        """Return a built-in tool by name when the seat has it in this task."""
        offered = (self.get(tool_name) for tool_name in task.user.tools)
        if self.seat == "user" and not any(item and item.discoverable for item in offered):
            return None
        return self._builtins.get(name)

    def advertised(self, task: Task) -> tuple[ToolSpec, ...]:
        """Return what the seat is told of at the start; constant during an episode.

        Args:
            task: The task; a user has the tools that it names.

        Returns:
            Listed tools in declared order, then the built-ins.
        """
        listed = [item for item in self if not item.discoverable]
        if self.seat == "user":
            listed = [item for item in listed if item.name in task.user.tools]
        builtins = [item for item in self._builtins.values() if self.builtin(item.name, task)]
        return tuple(item.spec for item in listed + builtins)

    @property
    def listed(self) -> tuple[ToolSpec, ...]:
        """All tools that any task advertises to this seat, built-ins included: the action space."""
        tools = [item for item in self if not item.discoverable]
        return tuple(item.spec for item in tools + list(self._builtins.values()))
