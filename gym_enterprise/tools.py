"""`@tool`: a typed function becomes a JSON schema, a validator, and a call that works or changes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints, overload

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, WithJsonSchema

from gym_enterprise import strict_json
from gym_enterprise.argument_types import ALLOWED, marks, why_not_allowed
from gym_enterprise.docstring import read_docstring
from gym_enterprise.errors import ToolDefinitionError
from gym_enterprise.frozen import freeze, thaw
from gym_enterprise.lossless import ArgumentError, explain, normalise
from gym_enterprise.messages import SEATS, Seat

if TYPE_CHECKING:
    from gym_enterprise.world import World


class ToolError(Exception):
    """Raised by a tool whose precondition does not hold: the call is rolled back and the caller sees this.

    Args:
        code: Short stable name such as "card_closed".
        message: What is wrong and what could be done, for the player.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(code, message)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True)
class Declined:
    """Returned by a tool that refuses but keeps its writes; for parity with an outside benchmark only."""

    code: str
    message: str


@dataclass(frozen=True)
class Key:
    """Marks an argument as the key of a row: `Annotated[str, Key("cards.card_id")]`."""

    column: str


# -- argument types ---------------------------------------------------------------------------------------

MAX_DOLLARS = 999_999_999_999.99
"""Largest amount of `Money`; below it every number of cents is exact as a JSON number."""


def _cents(value: Any) -> int:
    if type(value) not in (int, float):
        raise ValueError("should be a number of dollars")
    cents = Decimal(repr(value)) * 100
    if abs(value) > MAX_DOLLARS:
        raise ValueError(f"should be at most {MAX_DOLLARS:,.2f}")
    if cents != cents.to_integral_value():
        raise ValueError("should have at most two decimals")
    return int(cents)


def _date(value: str) -> str:
    parts = value.split("-")
    if [len(part) for part in parts] == [4, 2, 2] and value.replace("-", "").isascii():
        year, month, day = (int(part) if part.isdigit() else 0 for part in parts)
        lengths = [31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28, 31, 30, 31, 30]
        lengths += [31, 31, 30, 31, 30, 31]
        if year and 1 <= month <= 12 and 1 <= day <= lengths[month - 1]:
            return value
    raise ValueError("should be a calendar date written YYYY-MM-DD")


Money = Annotated[int, BeforeValidator(_cents), WithJsonSchema({"type": "number", "format": "dollars"})]
"""An amount: a JSON number of dollars with at most two decimals, whole cents (`int`) in the function."""

Date = Annotated[str, AfterValidator(_date), WithJsonSchema({"type": "string", "format": "date"})]
"""A calendar date as text, YYYY-MM-DD."""


def dollars(cents: int) -> str:
    """Write cents as dollars with two decimals.

    Example:
        >>> dollars(-1230)
        '-12.30'
    """
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


# -- tools ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ToolSpec:
    """What a player is told of a tool."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments (an object), read-only: `to_dict` gives a copy."""

    def to_dict(self) -> dict[str, Any]:
        """Return the tool in OpenAI's function format, as a fresh value that the caller may change."""
        parameters = thaw(self.parameters)
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class Tool:
    """A function that a seat may call; made by `@tool`."""

    spec: ToolSpec
    function: Callable[..., Any]
    """The function itself: `function(world, **arguments)`."""
    model: type[pydantic.BaseModel]
    """The arguments as a pydantic model."""
    writes: bool = False
    """Whether it may change the database; one that does without saying so is rolled back as a bug."""
    discoverable: bool = False
    """Not advertised: the agent unlocks it by name, the user is given it."""
    terminal: bool = False
    """A successful call ends the episode."""
    seat: Seat = "agent"
    """Who may call it."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Arguments that name a row: {argument: "table.column"}."""

    @property
    def name(self) -> str:
        """The tool's name, by which it is called."""
        return self.spec.name

    @property
    def description(self) -> str:
        """What it does, for the player."""
        return self.spec.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of its arguments."""
        return self.spec.parameters

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check arguments without guessing and without losing anything.

        Args:
            arguments: A JSON object.

        Returns:
            Keyword arguments for the function.

        Raises:
            ArgumentError: Something does not fit; the message names each field and the rule.
        """
        if reason := strict_json.why_not_json(arguments):
            raise ArgumentError(f"the arguments are not JSON: {reason}")
        plain = normalise(arguments, self.parameters, "")
        try:
            model = self.model.model_validate(plain, strict=True)  # strict in nested models too
        except pydantic.ValidationError as error:
            raise ArgumentError(explain(error, self.name, list(self.model.model_fields))) from None
        return {name: getattr(model, name) for name in self.model.model_fields}

    def __call__(self, world: World, /, **arguments: Any) -> Any:
        """Call the function directly, as Python, without validation."""
        return self.function(world, **arguments)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, writes: bool = ..., discoverable: bool = ..., terminal: bool = ..., seat: Seat = ...
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    writes: bool = False,
    discoverable: bool = False,
    terminal: bool = False,
    seat: Seat = "agent",
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Turn a typed function with a docstring into a `Tool`; written `@tool` or `@tool(...)`.

    Args:
        function: The function, when there are no settings.
        writes: Whether it may change the database.
        discoverable: Whether it is hidden until unlocked (agent) or given (user).
        terminal: Whether a successful call ends the episode.
        seat: Who may call it.

    Returns:
        A decorator; or the tool, when the function is given.

    Raises:
        ToolDefinitionError: A parameter has no type or no line under `Args:`, a type or default is not
            allowed, or a user's tool is terminal.

    Example:
        >>> @tool(writes=True)
        ... def rename(world, name: str):
        ...     '''Give the shop another name.
        ...
        ...     Args:
        ...         name: The new name.
        ...     '''
        >>> rename.parameters["required"]
        ['name']
    """

    def decorate(function: Callable[..., Any]) -> Tool:
        name = getattr(function, "__name__", repr(function))
        if seat not in SEATS:
            raise ToolDefinitionError(f"tool {name!r}: there is no seat {seat!r}; seats: {', '.join(SEATS)}")
        if inspect.iscoroutinefunction(function):
            raise ToolDefinitionError(
                f"tool {name!r} is async: a call runs to its end, so write a plain function"
            )
        if terminal and seat != "agent":
            raise ToolDefinitionError(
                f"tool {name!r}: only an agent's tool ends the episode; a user stops in words"
            )
        return _make(function, writes=writes, discoverable=discoverable, terminal=terminal, seat=seat)

    return decorate if function is None else decorate(function)


def _make(function: Callable[..., Any], **flags: Any) -> Tool:
    name = function.__name__
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].name != "world":
        raise ToolDefinitionError(f"tool {name!r}: the first parameter must be `world`")
    description, described = read_docstring(function.__doc__ or "")
    if not description:
        raise ToolDefinitionError(
            f"tool {name!r} has no docstring: the text before `Args:` is what players read"
        )
    hints = _hints(function)
    fields: dict[str, Any] = {}
    for parameter in parameters[1:]:
        _check_parameter(name, parameter, hints, described)
        default = ... if parameter.default is parameter.empty else parameter.default
        info = pydantic.Field(default=default, description=described.pop(parameter.name))
        fields[parameter.name] = (hints[parameter.name], info)
    if described:
        raise ToolDefinitionError(f"tool {name!r}: `Args:` names {next(iter(described))!r}, not a parameter")
    try:
        model = pydantic.create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)
        schema = flat_schema(model.model_json_schema())
    except (pydantic.errors.PydanticUserError, TypeError, NameError) as error:
        raise ToolDefinitionError(f"tool {name!r}: a parameter's type is not allowed: {error}") from error
    for argument, (annotation, info) in fields.items():
        if type(info.default) is int and _is_money(annotation):
            schema["properties"][argument]["default"] = info.default / 100
    keys = {
        argument: mark.column
        for argument, (annotation, _) in fields.items()
        for mark in marks(annotation)
        if isinstance(mark, Key)
    }
    return Tool(ToolSpec(name, description, freeze(schema)), function, model, keys=keys, **flags)


def _check_parameter(
    tool_name: str, parameter: inspect.Parameter, hints: Mapping[str, Any], described: Mapping[str, str]
) -> None:
    where = f"tool {tool_name!r}: parameter {parameter.name!r}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ToolDefinitionError(f"tool {tool_name!r}: *args and **kwargs are not allowed")
    if parameter.name not in hints:
        raise ToolDefinitionError(f"{where} has no type annotation")
    if parameter.name not in described:
        raise ToolDefinitionError(f"tool {tool_name!r}: {parameter.name!r} is missing under `Args:`")
    annotation = hints[parameter.name]
    if part := why_not_allowed(annotation):
        raise ToolDefinitionError(
            f"{where} has the type {part}, which a JSON argument does not carry exactly; allowed: {ALLOWED}"
        )
    if parameter.default is parameter.empty:
        return
    kind: Any = annotation
    if _is_money(annotation):  # its default is cents, as the function takes it, not what a caller would write
        kind = int if get_origin(annotation) is Annotated else int | None
    try:
        pydantic.TypeAdapter(kind).validate_python(parameter.default, strict=True)
    except pydantic.ValidationError:
        raise ToolDefinitionError(
            f"{where} has the default {parameter.default!r}, which is not of its type"
        ) from None


def _is_money(annotation: Any) -> bool:
    return any(getattr(mark, "func", None) is _cents for mark in marks(annotation))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Resolve annotations; `world` may stay unresolved, since its import is often for type checkers only."""
    annotations = dict(function.__annotations__)
    annotations.pop("world", None)
    annotations.pop("return", None)
    bare = type("bare", (), {"__annotations__": annotations})
    try:
        return get_type_hints(bare, globalns=function.__globals__, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            f"tool {function.__name__!r}: unknown type in its signature: {error}"
        ) from None


def flat_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a pydantic JSON schema without titles, references and definitions; objects name all fields."""
    definitions = schema.pop("$defs", {})

    def flatten(node: Any, inside_properties: bool = False) -> Any:
        if isinstance(node, list):
            return [flatten(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = definitions[node["$ref"].rsplit("/", 1)[1]]
            return flatten({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        if "properties" in node and not inside_properties:
            node = {"additionalProperties": False, **node}
        return {
            key: flatten(value, key == "properties" and not inside_properties)
            for key, value in node.items()
            if inside_properties or key != "title"
        }

    flat: dict[str, Any] = flatten(schema)
    flat.setdefault("properties", {})
    return {key: value for key, value in flat.items() if key != "description"}
