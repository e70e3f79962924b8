"""Issue 3083 of NeMo Gym: what its users ask of a simulated user, in rollouts with a model in each seat.

An agent corrects the address of a parcel's account and asks the customer to confirm the parcel in an app; it
looks for the confirmation before and after. The customer confirms, looks at the address, and says nothing of
either.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from gym_enterprise import Job, Record, Task, regrade, rollout, tool
from simulators import Completion, LLMPlayer, Sampling
from tests.shop import TOOLS, make_domain, task
from tests.simulators.models import calls

ORDERS = {"O1": "A1", "O2": "A1", "O3": "A2"}
"""By order, the account that it belongs to."""


def confirmed(world: Any) -> Any:
    """List the orders that were confirmed, by order id."""
    return world.query("SELECT order_id FROM confirmations ORDER BY order_id")


def addresses(world: Any) -> Any:
    """List the addresses of all accounts, by account id."""
    return [row["address"] for row in world.query("SELECT address FROM accounts ORDER BY account_id")]


def parcel(order: str) -> Task:
    code, street = f"XK-{order}", f"{order} Street"
    reference = [
        {"name": "set_address", "arguments": {"account_id": ORDERS[order], "address": street}},
        {"seat": "user", "name": "confirm_order", "arguments": {"order_id": order, "code": code}},
    ]
    user = {"instructions": f"Confirm {order} with {code}.", "tools": ["confirm_order", "addresses"]}
    return task(order, user=user, reference=reference)


SHOP = make_domain(
    tools=(*TOOLS, tool()(confirmed), tool(seat="user")(addresses)),
    tasks={"train": [parcel(order) for order in ORDERS], "validation": [], "test": []},
)


class Model:
    """A model that many episodes share: its answer depends on the chat only. Others play while it thinks."""

    def __init__(self, answers: Callable[[str], Sequence[str | Completion]]) -> None:
        self._answers = answers
        self.requests: list[Any] = []

    async def complete(self, request: Any) -> Completion:
        self.requests.append(request)
        await asyncio.sleep(0)
        chat = request.messages
        order = next(found[0] for message in chat if (found := re.search(r"O\d", message["content"])))
        answer = self._answers(order)[sum(message["role"] == "assistant" for message in chat)]
        return with_tokens(chat, Completion(answer) if isinstance(answer, str) else answer)


def clerk(order: str) -> list[str | Completion]:
    address = json.dumps({"account_id": ORDERS[order], "address": f"{order} Street"})
    return [
        calls(("confirmed", "{}")),
        calls(("set_address", address)),
        "Please confirm it in the app, and write [END] there.",
        calls(("confirmed", "{}")),
        "It was a pleasure.",
        "Goodbye.",
    ]


def customer(order: str) -> list[str | Completion]:
    confirm = json.dumps({"order_id": order, "code": f"XK-{order}"})
    return [
        f"My parcel {order} came.",
        calls(("confirm_order", confirm), ("addresses", "{}")),
        "What is the weather like?",
        "Thanks. [END]",
    ]


def play(*orders: str, concurrency: int = 1, **settings: Any) -> tuple[list[Record], Model, Model]:
    agent, user = Model(clerk), Model(customer)
    jobs = [Job(SHOP.task(order), trial) for trial, order in enumerate(orders)]
    players = (
        partial(
            LLMPlayer, engine=agent, prompt="CLERK. $brief", sampling=Sampling(temperature=1.0, max_tokens=9)
        ),
        partial(LLMPlayer, engine=user, prompt="CUSTOMER. $brief", stop_tokens=["[END]"]),
    )
    records = asyncio.run(rollout(SHOP, jobs, *players, concurrency=concurrency, **settings))
    assert [(record.error, record.reward) for record in records] == [(None, 1.0)] * len(orders)
    return records, agent, user


def results(record: Record, name: str) -> list[Any]:
    """What the calls of a tool returned, in order."""
    answers = [message for _, message in record.transcript if message.role == "tool"]
    return [one.result["result"] for one in answers if one.call and one.call.name == name]


def test_3083_model_prompt_tools_sampling_and_ending_are_set_for_each_player_by_itself() -> None:
    (record,), agent, user = play("O1")
    assert (len(agent.requests), len(user.requests)) == (6, 4)
    assert all(asked.messages[0]["content"].startswith("CLERK. You serve") for asked in agent.requests)
    assert all(asked.messages[0]["content"].startswith("CUSTOMER. ") for asked in user.requests)
    assert {asked.sampling.temperature for asked in agent.requests} == {1.0}
    assert {asked.sampling.temperature for asked in user.requests} == {None}
    offered = [{one["function"]["name"] for one in model.requests[0].tools} for model in (agent, user)]
    assert "set_address" in offered[0]
    assert offered[1] == {"confirm_order", "addresses"}
    assert not offered[0] & offered[1]
    said = [message.content for _, message in record.transcript if message.call is None]
    assert "Please confirm it in the app, and write [END] there." in said  # no ending of the agent's
    assert (record.reason, said[-2:]) == ("user_stop", ["Thanks.", "Goodbye."])


def test_3083_what_a_players_tool_changed_is_there_for_the_others_tools_though_no_message_says_so() -> None:
    (record,), agent, _ = play("O1")
    assert results(record, "confirmed") == [[], [{"order_id": "O1"}]]
    assert results(record, "addresses") == [["O1 Street", "2 Oak St"]]
    assert "XK-O1" not in json.dumps([asked.messages for asked in agent.requests])


def test_3083_both_players_share_one_state_and_episodes_at_once_do_not() -> None:
    orders = [*ORDERS] * 4
    records, *_ = play(*orders, concurrency=len(orders))
    for order, record in zip(orders, records, strict=True):
        assert results(record, "confirmed") == [[], [{"order_id": order}]]
        expected = ["1 Elm St", "2 Oak St"]
        expected[int(ORDERS[order][1]) - 1] = f"{order} Street"
        assert results(record, "addresses") == [expected]
        assert regrade(SHOP, SHOP.task(order), record).reward == 1.0
    alone, *_ = play(*orders, concurrency=1)
    assert [one.to_dict() | {"timings": 0} for one in alone] == [
        one.to_dict() | {"timings": 0} for one in records
    ]


Line = tuple[str, str, str]


def lines(record: Record, *seats: str) -> list[Line]:
    """The entries of some seats as (seat, kind, text or tool)."""
    kinds: list[Line] = []
    for seat, message in record.transcript:
        name = message.call.name if message.call else ""
        kind = "result" if message.role == "tool" else "call" if name else "message"
        kinds += [(seat, kind, name or message.content)] if seat in seats else []
    return kinds


EPISODE: list[Line] = [
    ("user", "message", "My parcel O2 came."),
    ("agent", "call", "confirmed"),
    ("agent", "result", "confirmed"),
    ("agent", "call", "set_address"),
    ("agent", "result", "set_address"),
    ("agent", "message", "Please confirm it in the app, and write [END] there."),
    ("user", "call", "confirm_order"),
    ("user", "result", "confirm_order"),
    ("user", "call", "addresses"),
    ("user", "result", "addresses"),
    ("user", "message", "What is the weather like?"),
    ("agent", "call", "confirmed"),
    ("agent", "result", "confirmed"),
    ("agent", "message", "It was a pleasure."),
    ("user", "message", "Thanks."),
    ("agent", "message", "Goodbye."),
]


def test_3083_the_record_tells_the_messages_of_both_their_calls_results_and_the_ending_apart() -> None:
    (record,), *_ = play("O2")
    read = Record.from_dict(json.loads(json.dumps(record.to_dict())))
    assert lines(read, "agent", "user") == EPISODE
    assert (read.reason, read.terminated, read.truncated) == ("user_stop", True, False)


HEARD = {
    "agent": ["My parcel O2 came.", "What is the weather like?", "Thanks."],
    "user": ["Please confirm it in the app, and write [END] there.", "It was a pleasure."],
}
"""By seat, what the other had said when its model was asked for the last time."""


@pytest.mark.parametrize("seat", ["agent", "user"])
def test_3083_each_players_own_trajectory_is_in_the_record_and_is_what_its_model_saw(seat: str) -> None:
    (record,), agent, user = play("O2")
    assert lines(record, seat) == [line for line in EPISODE if line[0] == seat]
    chat = (agent if seat == "agent" else user).requests[-1].messages
    heard = [message["content"] for message in chat if message["role"] == "user"]
    assert heard[-len(HEARD[seat]) :] == HEARD[seat]
    answers = [message["content"] for message in chat if message["role"] == "tool"]
    assert answers == [
        message.content for by, message in record.transcript if (by, message.role) == (seat, "tool")
    ]


# -- tokens -----------------------------------------------------------------------------------------------


def with_tokens(chat: Sequence[dict[str, Any]], said: Completion) -> Completion:
    """Add what a server tells of tokens, which are the bytes of the chat; logprobs count down from -1."""
    prompt = "".join(f"<{message['role']}>{words(message)}</>" for message in chat) + "<assistant>"
    sampled = words({"content": said.text, "tool_calls": said.tool_calls}) + "</>"
    return Completion(
        said.text,
        said.tool_calls,
        token_ids=tuple(sampled.encode()),
        prompt_token_ids=tuple(prompt.encode()),
        logprobs=tuple(-1.0 - place for place in range(len(sampled.encode()))),
        finish_reason=said.finish_reason,
    )


def words(message: dict[str, Any]) -> str:
    """What stands between the marks of a message."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return str(message["content"]) + "".join(f"{one['name']}({one['arguments']})" for one in functions)


@pytest.mark.parametrize(("seat", "script"), [("agent", clerk), ("user", customer)])
def test_3083_only_what_the_trained_seats_model_sampled_is_marked_for_training(
    seat: Any, script: Callable[[str], list[str | Completion]]
) -> None:
    (record,), *_ = play("O2", trained=seat)
    (stream,) = record.segments
    marked = [token for token, sampled in zip(stream["ids"], stream["sampled"], strict=True) if sampled]
    answers = [Completion(one) if isinstance(one, str) else one for one in script("O2")]
    written = [words({"content": one.text, "tool_calls": one.tool_calls}) for one in answers]
    assert bytes(marked).decode() == "".join(f"{one}</>" for one in written)
    for text in HEARD[seat]:
        assert text in bytes(stream["ids"]).decode()
    assert [bool(value) for value in stream["logprobs"]] == [bool(one) for one in stream["sampled"]]


def test_3083_where_nobody_is_trained_no_tokens_are_kept() -> None:
    (record,), *_ = play("O2", trained=None)
    assert record.segments == ()
