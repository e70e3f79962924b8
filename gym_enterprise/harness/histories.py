"""`seat_history`: what a seat saw of a saved episode, rebuilt from what a record keeps."""

from __future__ import annotations

from gym_enterprise.actions import cut
from gym_enterprise.dispatch import schema_text
from gym_enterprise.domain import Domain
from gym_enterprise.errors import UsageError
from gym_enterprise.harness.activity import called
from gym_enterprise.harness.rollout import Record
from gym_enterprise.messages import Message, Seat
from gym_enterprise.tasks import Task
from gym_enterprise.tools import Tool
from gym_enterprise.toolset import GIVE


def seat_history(domain: Domain, task: Task, record: Record, seat: Seat) -> tuple[Message, ...]:
    """Return the messages that `Episode.observe(seat)` had when the episode was over.

    A record keeps what each seat said and did. What the other one read of that is what was said, after what
    had been said beside calls; a message that is just the latter was blank, and stands for its delivery.

    Args:
        domain: The domain.
        task: The task that was played.
        record: Of the episode.
        seat: Whose history.

    Raises:
        UsageError: The record is of another task, or its messages are not all of the episode.
    """
    if (record.task_id, record.task_hash or task.hash) != (task.id, task.hash):
        raise UsageError(f"the record is of task {record.task_id!r}, not of {task.id!r} as it is now")
    history = [Message(0, "system", domain.view(task, seat).prompt)]
    held, given = "", set[str]()
    for speaker, message in record.transcript:
        if speaker == seat:
            if message.seq != len(history):
                raise UsageError(
                    f"the record of task {task.id!r} trial {record.trial} lacks a message: one of the {seat} "
                    f"was number {message.seq} of its history, and here it comes as number {len(history)}"
                )
            history.append(message)
        elif message.call is None:
            alone = not held or message.content == held
            text = message.content if alone else cut(f"{held}\n\n{message.content}")
            history.append(Message(len(history), message.role, text))
            held = ""
        elif message.role != "tool":
            held = cut("\n\n".join(part for part in (held, message.content) if part.strip()))
        elif seat == "user" and (tool := _gift(domain, message)) is not None and tool.name not in given:
            given.add(tool.name)
            text = f"You were given the tool `{tool.name}`.\n{schema_text(tool)}"
            history.append(Message(len(history), "system", text))
    return tuple(history)


def _gift(domain: Domain, answer: Message) -> Tool | None:
    """Return the tool that the user was given by a call of the agent, if it may have been new to it."""
    if answer.call is None or answer.call.name != GIVE or not answer.result["ok"]:
        return None
    tool = domain.toolset("user").get(called(answer)[1]["name"])
    return tool if tool is not None and tool.discoverable else None
