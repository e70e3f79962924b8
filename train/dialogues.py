"""Dialogues to imitate, as the model would have read and sampled them, whoever wrote them.

What it samples itself in rollouts goes through `train.batching.rows` instead.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from gym_enterprise import Domain, Record, Task
from gym_enterprise.errors import UsageError
from gym_enterprise.harness.histories import seat_history
from simulators import STOP_TOKEN, Completion, Format
from simulators.chat import Chat
from simulators.engines.engine import ChatMessage
from simulators.llm import chat_for
from simulators.template import ChatTemplate, Template, Tokens
from simulators.tokens import segments
from train.batching import Row, known


def dialogue(domain: Domain, task: Task, record: Record, format: Format, prompt: Path | None = None) -> Chat:
    """Return what the agent of a saved episode read and wrote, as a chat with a model that wrote it.

    Its reasoning, which no record has, is not in it. Where it ended the episode, its last turn ends with a
    stop token.

    Args:
        domain: The domain.
        task: The task.
        record: Of the episode.
        format: How calls are written: in the text, so not "openai".
        prompt: File of the system message; None is that of `LLMPlayer`.

    Raises:
        UsageError: The record is of another task, or not whole.
    """
    view = domain.view(task, "agent")
    chat = chat_for(view, seat_history(domain, task, record, "agent"), format, prompt)
    if record.reason == "agent_stop":
        said = f"{chat.pop()['content']} " if chat[-1]["role"] == "assistant" else ""
        chat.append({"role": "assistant", "content": said + (*view.stop_tokens, STOP_TOKEN)[0]})
    return chat


def read_dialogues(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the lines of a file such as sft.jsonl, each with the name of where it stands.

    Raises:
        UsageError: It cannot be read, or a line is no dialogue.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} cannot be read: {error}; data is what train.filter wrote, or runs"
        ) from None
    for number, entry in enumerate(text.split("\n"), start=1):  # only a line feed ends a line
        if entry.strip():
            yield f"{file}:{number}", _checked(entry, f"{file}:{number}")


def recorded_rows(
    template: Template,
    chat: Sequence[ChatMessage],
    tokens: Sequence[Mapping[str, Any]],
    rollout: Hashable,
    *,
    vocabulary: int,
) -> list[Row]:
    """Return the tokens that were recorded with a dialogue, if they are what this model would have read.

    They are when its template writes the chat before the first turn as exactly the tokens that were read
    there, so tokenizer, template, system message and format are the same; else there are no rows.

    Args:
        template: The model's.
        chat: The messages.
        tokens: The segments of the record.
        rollout: An id of the dialogue.
        vocabulary: How many tokens the model has.
    """
    lists = [(tuple(one["ids"]), tuple(one["sampled"]), tuple(one["logprobs"])) for one in tokens]
    made = [Row(*each, rollout, rollout) for each in lists if any(each[1])]
    first = next((place for place, message in enumerate(chat) if message["role"] == "assistant"), 0)
    if not made or made[0].ids[: made[0].sampled.index(1)] != template.prompt(chat[:first]):
        return []
    return [known(row, vocabulary) for row in made]


def sft_rows(
    template: ChatTemplate,
    chat: Sequence[ChatMessage],
    rollout: Hashable,
    *,
    vocabulary: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> list[Row]:
    """Return a dialogue that somebody wrote as the model would have read and sampled it.

    What counts are the words of the assistant, encoded as such, and the token that ends its turn. The
    template writes the rest; where it writes earlier turns otherwise than they stand, there are more rows.

    Args:
        template: The model's.
        chat: The messages, with calls written as text (`simulators.chat`).
        rollout: An id of the dialogue.
        vocabulary: How many tokens the model has.
        tools: Functions that the template writes, in OpenAI's format.

    Raises:
        UsageError: A turn of the assistant has no text or holds a token that ends turns, or the template ends
            turns with none.
    """
    end = _end_of_turn(template)
    told: list[Completion] = []
    prompt: Tokens = ()
    said: Tokens = ()
    last = 0
    for place, message in enumerate(chat):
        if message["role"] == "assistant":
            longer = template.extended(prompt, said, chat[:place], last, tools) if told else None
            prompt, last = longer or template.prompt(chat[:place], tools), place
            said = (*_encoded(template, message), end)
            told.append(Completion("", token_ids=said, prompt_token_ids=prompt, logprobs=(0.0,) * len(said)))
    made = [Row(one.ids, one.sampled, one.logprobs, rollout, rollout) for one in segments(told)]
    return [known(row, vocabulary) for row in made]


def _encoded(template: ChatTemplate, message: ChatMessage) -> Tokens:
    """Return the words of a turn as tokens."""
    words = message.get("content")
    if not words or message.get("tool_calls"):
        raise UsageError(f"a turn of the assistant is {dict(message)!r}: give it text, with its calls in it")
    ids = tuple(template.tokenizer.encode(words, add_special_tokens=False))
    if template.stop_token_ids.intersection(ids):
        raise UsageError(f"a turn of the assistant holds a token that ends turns: {words!r}; take that out")
    return ids


def _end_of_turn(template: ChatTemplate) -> int:
    """Return the token that the template ends a turn of the assistant with.

    It is the first one that ends turns in what follows the words, which is the same whatever these are.
    """
    asked = {"role": "user", "content": "?"}
    prompts = [template.prompt([asked, {"role": "assistant", "content": word}, asked]) for word in "xz"]
    backwards = zip(*map(reversed, prompts), strict=False)
    following = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], backwards)]
    ends: list[int] = [token for token in reversed(following) if token in template.stop_token_ids]
    if not ends:
        raise UsageError(f"{template!r} ends a turn of the assistant with no token: use another template")
    return ends[0]


def _checked(entry: str, name: str) -> dict[str, Any]:
    try:
        line = json.loads(entry)
    except ValueError as error:
        raise UsageError(f'{name} is no JSON object with a "chat" list: {error}') from None
    if not isinstance(line, dict) or not isinstance(line.get("chat"), list):
        raise UsageError(f'{name} is no JSON object with a "chat" list: {entry[:60]!r}')
    for message in line["chat"]:
        if not isinstance(message, dict) or not all(
            isinstance(message.get(key), str) for key in ("role", "content")
        ):
            raise UsageError(f"{name} has {message!r} in its chat: give each message a role and a content")
    if not isinstance(line.get("task_id", ""), str):
        raise UsageError(f"{name} has the task_id {line['task_id']!r}: give a text, or none")
    segments = line.get("segments", [])
    if not isinstance(segments, list) or not all(map(_is_segment, segments)):
        raise UsageError(
            f"{name} has segments that are no lists of ids, sampled and logprobs: leave them out"
        )
    return line


def _is_segment(one: Any) -> bool:
    lists = [one.get(name) for name in ("ids", "sampled", "logprobs")] if isinstance(one, dict) else [None]
    return all(isinstance(each, list) and all(isinstance(n, int | float) for n in each) for each in lists)
