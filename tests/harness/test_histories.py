"""What a seat saw, rebuilt from a record: the very messages that it had, whoever played it."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from gym_enterprise import Completion, Episode, LLMPlayer, Record, load_domain, run_episode
from gym_enterprise.errors import InvalidAction, OutOfTurn, UsageError
from gym_enterprise.harness.histories import seat_history
from gym_enterprise.harness.rollout import make_record
from gym_enterprise.messages import SEATS
from simulators import Format
from simulators.llm import chat_for
from tests.core.conversation import CANCEL, DOMAIN, call, episode, play, say, stop
from tests.shop import task

GET = '{"name": "get_order", "arguments": {"order_id": "O1"}}'
DO = '{"name": "cancel_order", "arguments": {"order_id": "O1"}}'
CONFIRM = DOMAIN.tasks["train"]["confirm"]
BANK = load_domain("banking")


def saved(it: Episode) -> Record:
    """The record of an episode, as it comes back from disk."""
    record = make_record(it, {}, seed=0, trial=0, trained=None)
    return Record.from_dict(json.loads(json.dumps(record.to_dict())))


def check(it: Episode) -> None:
    for seat in SEATS:
        assert seat_history(it.domain, it.task, saved(it), seat) == it.observe(seat)["messages"]


@pytest.mark.parametrize("task_id", BANK.tasks["train"])
def test_episodes_of_the_oracle_are_as_both_seats_saw_them(task_id: str) -> None:
    it = Episode(BANK, BANK.tasks["train"][task_id])
    assert run_episode(it, "oracle", "scripted").reward == 1.0
    check(it)


def test_what_is_said_beside_calls_comes_with_the_next_message_and_gifts_are_told_once() -> None:
    it = episode(CONFIRM)
    play(
        it,
        ("user", say("hello")),
        ("agent", call("give_tool", "One moment.", name="rate_order_5")),
        ("agent", call("give_tool", name="confirm_order")),  # it has that from the start
        ("agent", {"type": "tool_call", "name": "give_tool", "arguments": '{"name": "rate_order_5"}'}),
        ("agent", call("give_tool", name="nothing")),
        ("agent", say("Please rate it.")),
        ("user", call("rate_order_5", "Let me see.", order_id="O1", stars=5)),
        ("user", call("confirm_order", "Oh.", order_id="O1", code="x")),
        ("user", say("")),
        ("agent", call("get_order", "x" * 99_990, order_id="O1")),
        ("agent", say("y" * 20)),
        ("user", stop("Bye.")),
        ("agent", CANCEL),
        ("agent", say("Bye.")),
    )
    gifts = [one.content for one in it.observe("user")["messages"] if one.role == "system"][1:]
    assert [text.split("\n")[0] for text in gifts] == ["You were given the tool `rate_order_5`."]
    check(it)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_done_both_histories_come_back(seed: int) -> None:
    rng, number = random.Random(seed), itertools.count()
    it = episode(CONFIRM, max_steps=30, max_errors=50)
    while (seat := it.turn) is not None:
        beside = rng.choice([None, None, f"beside {next(number)}"])
        action = rng.choice(
            [
                say(f"said {next(number)}"),
                say(""),
                say(f"<think>hm</think> thought {next(number)}"),
                call("get_order", beside, order_id=rng.choice(["O1", "O9"])),
                call("give_tool", beside, name=rng.choice(["rate_order_5", "confirm_order", "none"])),
                call("rate_order_5", beside, order_id="O2", stars=rng.randint(1, 6)),
                {"type": "tool_call", "name": "", "arguments": "broken", "cut": rng.random() < 0.5},
                *([stop(f"bye {next(number)}")] if rng.random() < 0.2 else []),
            ]
        )
        try:
            it.act(seat, action)
        except InvalidAction as error:
            it.reject(seat, str(error))
    with pytest.raises(OutOfTurn):
        it.act("agent", say("late"))
    check(it)


def test_a_record_that_is_not_whole_or_of_another_task_is_refused() -> None:
    it = play(episode(), ("user", say("hello")), ("agent", CANCEL), ("agent", say("Done.")), ("user", stop()))
    record = saved(it)
    partly = replace(record, transcript=record.transcript[1:])
    with pytest.raises(UsageError, match=r"lacks a message: one of the agent was number 2 .* number 1"):
        seat_history(DOMAIN, it.task, partly, "agent")
    with pytest.raises(UsageError, match="the record is of task 't', not of 'other' as it is now"):
        seat_history(DOMAIN, task("other"), record, "agent")
    with pytest.raises(UsageError, match="as it is now"):
        seat_history(DOMAIN, task(seed=8), record, "agent")


class Says:
    """An engine that answers from a script, and keeps the chats it was asked with."""

    def __init__(self, *answers: str) -> None:
        self._answers = iter(answers)
        self.asked: list[list[Any]] = []

    async def complete(self, request: Any) -> Completion:
        self.asked.append(list(request.messages))
        return Completion(next(self._answers))


def hermes(*calls: str) -> str:
    return "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in calls)


SCRIPTS: dict[Format, list[str]] = {
    "hermes": [f"One moment.\n{hermes(GET, DO)}", hermes(GET), "It is done.", "Anything else?", "Bye."],
    "json": [GET, f"[{GET}, {DO}]", "It is done.", "Anything else?", "Bye."],
    "llama": [
        GET.replace("arguments", "parameters"),
        DO.replace("arguments", "parameters"),
        "Done.",
        "Anything else?",
        "Bye.",
    ],
}


@pytest.mark.parametrize("kind", SCRIPTS)
def test_the_chat_is_message_for_message_what_a_model_was_asked_with(kind: Format) -> None:
    agent, user = Says(*SCRIPTS[kind]), Says("Please cancel O1.", "And?", "Thanks. ###STOP###")
    it = episode()
    record = run_episode(
        it, partial(LLMPlayer, engine=agent, format=kind), partial(LLMPlayer, engine=user, format=kind)
    )
    assert (record.reward, record.reason) == (1.0, "user_stop")
    for seat, engine in (("agent", agent), ("user", user)):
        history = seat_history(DOMAIN, it.task, saved(it), seat)  # type: ignore[arg-type]
        chat = chat_for(DOMAIN.view(it.task, seat), history, kind)  # type: ignore[arg-type]
        assert len(engine.asked) >= 3
        for asked in engine.asked:
            assert chat[: len(asked)] == asked
        words = [one["content"] for one in chat if one["role"] == "assistant"]
        assert words == (SCRIPTS[kind] if seat == "agent" else ["Please cancel O1.", "And?", "Thanks."])
