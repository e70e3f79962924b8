"""A seat's history as a chat: what a model is asked with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulators.calls import Format
from simulators.player import MessageRecord
from simulators.turns import mark, plain_id

Chat = list[dict[str, Any]]

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_TAGS = re.compile(r"<(/?(?:tool_call|tool_response|think)>)")


def chat_messages(
    history: Sequence[MessageRecord],
    seat: str,
    system: str,
    opening: str,
    format: Format = "openai",
    said: Mapping[int, str] | None = None,
) -> Chat:
    """Write a history as chat messages; the same history gives the same chat, and a longer one extends it.

    The seat's own words are the assistant's, the other seat's the user's. Calls that the model made in one
    turn stand in one message. In the format "openai" they are structured; in the others they are written as
    text, and their answers are user messages, so that any chat model can be asked. A notice of the
    environment is a user message in brackets.

    Args:
        history: The seat's messages; `system` stands in the place of the first one, the environment's.
        seat: Whose history it is.
        system: The system message.
        opening: The user message that stands first when the seat itself opens the conversation.
        format: How the model writes calls.
        said: The model's turns as it wrote them, by how long the history was before; a text format is meant.

    Returns:
        Fresh dictionaries; no two user messages stand together.
    """
    chat: Chat = [{"role": "system", "content": system}]
    said = said or {}
    for position, group in _grouped(history):
        first = group[0]
        if position in said:
            chat += [{"role": "assistant", "content": said[position]}, *_answers(group)]
        elif first.call is not None:
            chat += _called(group, format)
        elif first.role == seat:
            chat.append({"role": "assistant", "content": first.content})
        else:
            words = first.content if format == "openai" else _plain(first.content)
            chat.append({"role": "user", "content": f"[{words}]" if first.role == "system" else words})
    if len(chat) == 1 or chat[1]["role"] != "user":
        chat.insert(1, {"role": "user", "content": opening})
    return _merged(chat)


def written_calls(calls: Sequence[Any], format: Format) -> str:
    """Write calls of a history as a model writes them in a text format."""
    written = [_written(call, "parameters" if format == "llama" else "arguments") for call in calls]
    texts = [text for text in written if text]
    if format == "hermes":
        return "\n".join(
            text if text.startswith("<tool_call>") else f"<tool_call>\n{text}\n</tool_call>" for text in texts
        )
    if format == "llama":
        return "; ".join(texts)
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)


def _grouped(history: Sequence[MessageRecord]) -> Iterator[tuple[int, list[MessageRecord]]]:
    """Put the calls of one model turn and their answers together; everything else stands alone.

    Each group comes with the index of its first message; the first message of all, the environment's, is left
    out.
    """
    group: list[MessageRecord] = []
    for position, message in enumerate(history[1:], start=1):
        if message.call is not None and (message.role == "tool" or mark(message.call)[0] > 1) and group:
            group.append(message)
            continue
        if group:
            yield position - len(group), group
        group = [message] if message.call is not None else []
        if message.call is None:
            yield position, [message]
    if group:
        yield len(history) - len(group), group


def _called(group: list[MessageRecord], format: Format) -> Chat:
    said = "\n".join(message.content for message in group if message.role != "tool" and message.content)
    calls = [message.call for message in group if message.role != "tool"]
    if format == "openai":
        return [
            {"role": "assistant", "content": said, "tool_calls": [_structured(call) for call in calls]},
            *(
                {"role": "tool", "tool_call_id": plain_id(one.call), "content": one.content}
                for one in group
                if one.role == "tool"
            ),
        ]
    text = "\n".join(part for part in (said, written_calls(calls, format)) if part)
    return [{"role": "assistant", "content": text}, *_answers(group)]


def _answers(group: list[MessageRecord]) -> Chat:
    """Return the answers to the calls of one turn as a user message; nothing when there are none."""
    texts = [
        f"<tool_response>\n{_plain(one.content)}\n</tool_response>" for one in group if one.role == "tool"
    ]
    return [{"role": "user", "content": "\n".join(texts)}] if texts else []


def _plain(text: str) -> str:
    """Break the tags of the text formats in what others wrote, so that nobody can forge a tool's answer."""
    return _TAGS.sub(r"< \1", text)


def _structured(call: Any) -> dict[str, Any]:
    name = _NAME.sub("_", call.name)[:_LONGEST_NAME] or "unreadable"
    function = {"name": name, "arguments": _arguments(call)}
    return {"id": plain_id(call), "type": "function", "function": function}


def _arguments(call: Any) -> str:
    """Return arguments as the text of a JSON object, which servers insist on."""
    arguments = call.arguments
    if arguments is None:  # a turn that said nothing
        return "{}"
    if isinstance(arguments, dict):
        return str(call.arguments_json)
    text = arguments if isinstance(arguments, str) else call.arguments_json
    return text if _is_object(text) else json.dumps({"unreadable": text}, ensure_ascii=False)


def _written(call: Any, key: str) -> str:
    arguments = call.arguments
    if not call.name and isinstance(arguments, str | None):
        return arguments or ""  # what could not be read, as the model wrote it
    return json.dumps({"name": call.name, key: arguments}, ensure_ascii=False)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _merged(chat: Chat) -> Chat:
    merged: Chat = []
    for message in chat:
        if merged and message["role"] == merged[-1]["role"] == "user":
            merged[-1] = {**message, "content": f"{merged[-1]['content']}\n\n{message['content']}"}
        else:
            merged.append(message)
    return merged
