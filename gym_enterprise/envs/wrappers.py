"""Wrappers for language models: text in (`TextAction`), chat messages out (`ChatFormat`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import gymnasium
from gymnasium.spaces import Dict
from gymnasium.utils import RecordConstructorArgs

from gym_enterprise.envs.single import SingleAgentEnv, Step
from gym_enterprise.errors import InvalidAction, UsageError
from gym_enterprise.messages import Message, Seat
from gym_enterprise.sampling import sample_text
from gym_enterprise.spaces import MessageSpace, NonNumericSpace
from simulators.parsing import parse_turn

Chat = list[dict[str, Any]]
TextFormat = Literal["hermes", "json", "llama"]


class TextAction(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Takes model text as the action: what it says and what it calls.

    ==================  ===================================================================================
    Action space        `MessageSpace`: the text of one model turn; longer messages are cut by the episode
    Observation space   that of the environment
    ==================  ===================================================================================

    Reasoning is removed. The calls of a turn run in order; text beside calls is held and put before the next
    message; a stop token ends the conversation. Whatever a model writes is answered, never raised: a call
    that cannot be read, and a turn that says nothing, get an error to read. So the environment becomes
    lenient (`strict=False`).

    Args:
        env: A `SingleAgentEnv`, wrapped or not.
        format: How the model writes calls: "hermes" (`<tool_call>` blocks), "json" (an object, or fenced) or
            "llama" (JSON after a python tag).

    Raises:
        UsageError: The environment is another one, or there is no such format.

    Example:
        >>> env = TextAction(gymnasium.make("Banking-v0"))  # doctest: +SKIP
        >>> env.step('<tool_call>{"name": "kb_search", "arguments": {"query": "lost card"}}</tool_call>')
        ... # doctest: +SKIP
    """

    def __init__(self, env: gymnasium.Env[Any, Any], format: TextFormat = "hermes") -> None:
        RecordConstructorArgs.__init__(self, format=format)
        gymnasium.Wrapper.__init__(self, env)
        if format not in get_args(TextFormat):
            raise UsageError(f"format should be one of {', '.join(get_args(TextFormat))}; got {format!r}")
        self.format = format
        self.action_space = MessageSpace()
        _single(env).strict = False

    def step(self, action: str, *, finish_reason: str | None = "stop") -> Step:
        """Take one model turn.

        Args:
            action: The text of the turn, as decoded.
            finish_reason: Why the engine stopped; "length": the text was cut, and no call of it runs.

        Raises:
            InvalidAction: The action is not text.
        """
        if not isinstance(action, str):
            raise InvalidAction(f"TextAction takes the text of a model turn, got {type(action).__name__}")
        stop_tokens = _single(self.env).domain.stop_tokens
        turn = parse_turn(action, self.format, stop_tokens, finish_reason)
        actions = list(turn.actions)
        observation, reward, *rest = self.env.step(actions[0] if len(actions) == 1 else actions)
        return observation, float(reward), *rest


class ChatFormat(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Gives observations as chat messages, as an OpenAI-compatible server takes them.

    ==================  ===================================================================================
    Observation space   `Dict(messages: ChatSpace, tools: ChatSpace)`; without `tools` when compact
    Action space        that of the environment
    ==================  ===================================================================================

    The controlled seat is the "assistant", the other one the "user". A call is an assistant message with
    `tool_calls`, followed by its "tool" message with the same id. `tools` has the function schemas.

    Args:
        env: A `SingleAgentEnv`, wrapped or not.
        compact: Whether to leave the schemas out, for models with a short context.

    Raises:
        UsageError: The environment is another one.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], compact: bool = False) -> None:
        RecordConstructorArgs.__init__(self, compact=compact)
        gymnasium.Wrapper.__init__(self, env)
        self.compact = compact
        self._seat = _single(env).role
        parts = ("messages",) if compact else ("messages", "tools")
        self.observation_space = Dict({part: ChatSpace() for part in parts})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._formatted(observation), info

    def step(self, action: Any, **arguments: Any) -> Step:
        """Take an action; further arguments are for a wrapper inside, such as `TextAction`."""
        observation, reward, terminated, truncated, info = self.env.step(action, **arguments)
        return self._formatted(observation), float(reward), terminated, truncated, info

    def _formatted(self, observation: dict[str, Any]) -> dict[str, Any]:
        chat = {"messages": chat_messages(observation["messages"], self._seat)}
        return chat if self.compact else {**chat, "tools": _single(self.env).tools()}


class ChatSpace(NonNumericSpace[Chat]):
    """Lists of JSON objects: chat messages, or tool schemas.

    Args:
        seed: Seed of `sample`, which gives one message.
    """

    def contains(self, x: Any) -> bool:
        """Return whether it is a list of objects; what they hold is not looked at."""
        return isinstance(x, list) and set(map(type, x)) <= {dict}

    def sample(self, mask: Any = None, probability: Any = None) -> Chat:
        """Return one user message; there is nothing to mask."""
        self._whole(mask, probability)
        return [{"role": "user", "content": sample_text(self.np_random)}]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChatSpace)

    def __repr__(self) -> str:
        return "ChatSpace()"


def chat_messages(messages: Iterable[Message], seat: Seat) -> Chat:
    """Write a seat's history as chat messages.

    Args:
        messages: The history.
        seat: Whose history it is: its own words are the assistant's.

    Returns:
        Fresh dictionaries with the keys role and content, and `tool_calls` or `tool_call_id`.

    Example:
        >>> chat_messages([Message(0, "system", "Be kind."), Message(1, "user", "Hello")], "agent")
        [{'role': 'system', 'content': 'Be kind.'}, {'role': 'user', 'content': 'Hello'}]
    """
    return [_chat_message(message, seat) for message in messages]


def _chat_message(message: Message, seat: Seat) -> dict[str, Any]:
    call = message.call
    if message.role == "system":
        return {"role": "system", "content": message.content}
    if message.role == "tool" and call is not None:
        return {"role": "tool", "tool_call_id": call.id, "content": message.content}
    role = "assistant" if message.role == seat else "user"
    chat: dict[str, Any] = {"role": role, "content": message.content}
    if call is not None:
        arguments = call.arguments
        # A call that could not be read keeps its raw text; servers want a name all the same.
        text = arguments if isinstance(arguments, str) else call.arguments_json
        function = {"name": call.name or "unreadable", "arguments": text}
        chat["tool_calls"] = [{"id": call.id, "type": "function", "function": function}]
    return chat


def _single(env: gymnasium.Env[Any, Any]) -> SingleAgentEnv:
    inner = env.unwrapped
    if not isinstance(inner, SingleAgentEnv):
        raise UsageError(f"this wrapper is for SingleAgentEnv, got {type(inner).__name__}")
    return inner
