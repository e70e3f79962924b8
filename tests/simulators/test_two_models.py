"""Language models in both seats: whole episodes, served over HTTP or from a script.

The tests named after issue 3083 of NeMo Gym are what its users ask of a simulated user.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import pickle
from collections.abc import Iterator
from functools import partial
from typing import Any

import gymnasium
import pytest

from gym_enterprise import (
    Episode,
    OraclePlayer,
    SimulatorError,
    UsageError,
    load_domain,
    regrade,
    run_episode,
    seating,
    tool,
)
from gym_enterprise.seating import take_turn_async
from simulators import (
    Completion,
    ContextOverflow,
    FatalError,
    LLMPlayer,
    OpenAIEngine,
    Sampling,
    TransientError,
    Usage,
)
from simulators.engines.background import run
from tests.core.conversation import BOTH_TOOLS, CANCEL, DOMAIN, episode, heard, opened, play, say
from tests.engines.server import Asked, Reply, called, chat, choice, serving
from tests.shop import TOOLS, make_domain, task
from tests.simulators.models import Rule, Script, by_turn, calls

BANK = load_domain("banking")
CONTACT = next(one for one in BANK.tasks["train"].values() if one.user.persona.startswith("Busy and brief"))
WRITES = [action for action in CONTACT.reference if action.name == "update_contact"]


@pytest.fixture(autouse=True)
def _engines_are_closed() -> Iterator[None]:
    yield
    seating._engine.cache_clear()


def _turn(text: str = "", *actions: Any) -> dict[str, Any]:
    listed = [called(one.name, one.arguments, f"c{n}") for n, one in enumerate(actions, start=1)]
    return choice(text, tool_calls=listed) if listed else choice(text)


def _reference(*names: str) -> list[Any]:
    return [action for action in CONTACT.reference if action.name in names]


SCRIPT = {
    "agent": [
        _turn("Your full name, date of birth, postal code and the last four digits of a card, please?"),
        _turn("One moment.", *_reference("find_customer", "verify_identity")),
        _turn("", *_reference("get_customer"), WRITES[0]),
        _turn("<think>next</think>The phone number is changed. Is there anything else?"),
        _turn("", WRITES[1]),
        _turn("That is changed too."),
        _turn("Goodbye."),
    ],
    "user": [
        _turn("I have a new number."),
        _turn("Vera Ibarra, 1970-01-28, 30417, 5837."),
        _turn("My email has changed as well."),
        _turn("Thanks. ###STOP###"),
    ],
}


def bank_model(number: int, asked: Asked) -> Reply:
    """Answer for the model that is asked, by how often it has spoken in the chat."""
    spoken = sum(message["role"] == "assistant" for message in asked.body["messages"])
    return Reply(chat(SCRIPT[asked.body["model"]][spoken]))


def bank_episode(url: str, **settings: Any) -> Any:
    """Play the task with two engines; connections are given back."""
    engines = [OpenAIEngine(name, url, **settings) for name in ("agent", "user")]
    try:
        return run_episode(
            Episode(BANK, CONTACT), *(partial(LLMPlayer, engine=engine) for engine in engines), audit=True
        )
    finally:
        for engine in engines:
            engine.close()


def test_a_whole_banking_episode_is_played_by_models_in_both_seats() -> None:
    with serving(bank_model) as server:
        record = bank_episode(server.url)
    assert (record.reward, record.reason, record.error) == (1.0, "user_stop", None)
    assert [seat for seat, message in record.transcript if message.call is None] == ["user", "agent"] * 4
    assert "think" not in json.dumps(record.to_dict())
    for name in SCRIPT:
        chats = [asked.body["messages"] for asked in server.asked if asked.body["model"] == name]
        assert len(chats) == len(SCRIPT[name])
        for before, after in itertools.pairwise(chats):
            assert after[: len(before)] == before  # so that a server can use its cache, and tokens extend
    assert regrade(BANK, CONTACT, record).reward == 1.0


def test_a_server_that_fails_often_changes_nothing_of_the_episode() -> None:
    faults = [
        Reply(drop=True),
        Reply(status=429),
        Reply(status=500),
        Reply(b"garbage"),
        Reply(chat(), short=9),
    ]

    def faulty(number: int, asked: Asked) -> Reply:
        return bank_model(number, asked) if number % 2 else faults[number // 2 % len(faults)]

    async def at_once(seconds: float) -> None:
        pass

    with serving(bank_model) as server:
        good = bank_episode(server.url)
    with serving(faulty) as server:
        record = bank_episode(server.url, sleep=at_once)
    assert record.to_dict() == good.to_dict()
    assert len(server.asked) == 2 * (len(SCRIPT["agent"]) + len(SCRIPT["user"]))


def test_players_are_named_by_model_and_url_in_either_seat() -> None:
    with serving(bank_model) as server:
        record = run_episode(
            Episode(BANK, CONTACT), f"openai:agent@{server.url}", f"openai:user@{server.url}"
        )
        assert record.reward == 1.0
        for name in SCRIPT:
            engine = seating._engine(name, server.url)
            assert engine.totals.calls == len(SCRIPT[name])  # one engine for all that name it
            engine.close()


def test_a_name_with_a_password_in_its_url_is_refused() -> None:
    with pytest.raises(UsageError, match="has a password"):
        run_episode(episode(), "openai:m@http://user:secret@host/v1", "scripted")


def test_an_environment_takes_a_model_as_the_partner_and_travels_with_it() -> None:
    engine = by_turn("Please cancel O1.", "Thanks. ###STOP###")
    env = gymnasium.make(
        "Banking-v0", user=partial(LLMPlayer, engine=engine), task_id=CONTACT.id, disable_env_checker=True
    )
    observation, _ = env.reset(seed=3)
    assert observation["messages"][-1].content == "Please cancel O1."
    copied = copy.deepcopy(env)
    for one in (env, copied):
        observation, *_ = one.step({"type": "message", "content": "Done."})
        assert observation["messages"][-1].content == "Thanks."
    spec = partial(LLMPlayer, engine=OpenAIEngine("m", "http://x/v1"))
    assert pickle.loads(pickle.dumps(spec)).keywords["engine"].model == "m"


# -- faults of the engines --------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [TransientError("429, given up"), FatalError("404")])
@pytest.mark.parametrize(("seat", "reason"), [("agent", "agent_error"), ("user", "simulator_error")])
def test_b050_an_engine_that_fails_for_good_leaves_the_episode_unscored(
    error: Exception, seat: str, reason: str
) -> None:
    players: dict[str, Any] = {"agent": by_turn("Hello."), "user": by_turn("Hi.")}
    players[seat] = Script(error)
    it = episode()
    record = run_episode(it, *(partial(LLMPlayer, engine=players[name]) for name in ("agent", "user")))
    assert (record.reward, record.reason, record.truncated) == (None, reason, True)
    assert str(error) in str(record.error)


def overflowing(*answers: Any) -> Any:
    return partial(LLMPlayer, engine=Script(*answers, ContextOverflow("too long")))


@pytest.mark.parametrize(
    ("done", "reward"), [((calls(("cancel_order", '{"order_id": "O1"}')),), 1.0), ((), 0.0)]
)
def test_b054_an_agent_without_room_ends_truncated_and_is_graded_by_its_state(
    done: Any, reward: float
) -> None:
    it = episode()
    record = run_episode(it, overflowing(*done), partial(LLMPlayer, engine=by_turn("Cancel O1.")))
    assert (record.reason, record.truncated, record.terminated) == ("context_length", True, False)
    assert (record.reward, record.error) == (reward, None)
    assert regrade(DOMAIN, it.task, record).reward == reward


def test_b054_the_last_turn_after_the_users_stop_stays_the_users_stop() -> None:
    it = play(episode(), ("user", {"type": "stop", "content": "Bye."}))
    record = run_episode(it, overflowing(), "scripted")
    assert (record.reason, record.terminated, record.truncated) == ("user_stop", True, False)


def test_b054_a_customer_without_room_is_the_simulators_failure() -> None:
    record = run_episode(episode(), partial(LLMPlayer, engine=by_turn("Hello.")), overflowing("Hi."))
    assert (record.reward, record.reason) == (None, "simulator_error")


def test_b054_an_environment_reports_a_partner_without_room_as_truncated_with_a_reward() -> None:
    env = gymnasium.make(
        "Banking-v0", role="user", agent=overflowing(), task_id=CONTACT.id, disable_env_checker=True
    )
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step(say("Hello"))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["reason"], info["scored"]) == ("context_length", 1)


def test_turns_can_be_awaited_by_players_of_every_kind() -> None:
    class Plain:
        def act(self, observation: Any) -> Any:
            return CANCEL

    async def turns(it: Episode) -> None:
        await take_turn_async(it, "agent", Plain())  # type: ignore[arg-type]
        model = LLMPlayer(it.domain.view(it.task, "agent"), 0, Script("", "Done."))
        await take_turn_async(it, "agent", model)
        await take_turn_async(it, "agent", model)
        await take_turn_async(it, "user", LLMPlayer(it.domain.view(it.task, "user"), 0, Script("", "", "")))

    it = opened()
    with pytest.raises(SimulatorError, match="blank"):
        asyncio.run(turns(it))
    assert (it.errors, heard(it, "user")[-1], len(it.world.changes())) == (1, "agent: Done.", 1)


# -- NeMo Gym, issue 3083 ---------------------------------------------------------------------------------

CONFIRM = calls(("confirm_order", '{"order_id": "O1", "code": "XK-7"}'))


def two_models() -> tuple[Episode, LLMPlayer, LLMPlayer]:
    """An agent that looks, asks the customer to confirm, looks again; a customer that confirms."""
    it = episode(task(user={"instructions": "Confirm when told.", **BOTH_TOOLS}))
    agent = by_turn(
        calls(("get_order", '{"order_id": "O1"}')),
        "Please confirm O1 in your app.",
        calls(("get_order", '{"order_id": "O1"}')),
        Completion("Thank you.", token_ids=(7, 8), usage=Usage(5, 2)),
        "Goodbye.",
    )
    user = by_turn("My parcel came.", CONFIRM, "I did.", "Bye. ###STOP###")
    players = [
        LLMPlayer(it.domain.view(it.task, seat), 0, engine)
        for seat, engine in (("agent", agent), ("user", user))  # type: ignore[list-item]
    ]
    return it, players[0], players[1]


def test_3083_model_prompt_tools_and_ending_are_set_for_each_player_by_itself() -> None:
    agent, user = by_turn("Hello."), by_turn("Hi. [END]")
    it = episode(task(user={"instructions": "x", **BOTH_TOOLS}))
    run_episode(
        it,
        partial(LLMPlayer, engine=agent, prompt="AGENT $brief", sampling=Sampling(temperature=1.0)),
        partial(
            LLMPlayer,
            engine=user,
            prompt="USER $stop",
            sampling=Sampling(temperature=0.0),
            stop_tokens=["[END]"],
        ),
    )
    asked, answered = agent.requests[0], user.requests[0]
    assert asked.messages[0]["content"].startswith("AGENT You serve")
    assert answered.messages[0]["content"] == "USER [END]"
    assert (asked.sampling.temperature, answered.sampling.temperature) == (1.0, 0.0)
    assert not {t["function"]["name"] for t in asked.tools} & {"confirm_order"}
    assert it.reason == "user_stop"


def test_3083_what_a_user_tool_changed_is_there_for_the_next_turn_though_no_message_says_so() -> None:
    seen: list[Any] = []

    def look(request: Any) -> Any:
        if request.messages[-1]["role"] == "tool":
            seen.append(json.loads(request.messages[-1]["content"]))
            return "And now?"
        return calls(("confirmed", "{}"))

    def confirmed(world: Any) -> Any:
        """Say which orders are confirmed."""
        return world.query("SELECT order_id FROM confirmations ORDER BY order_id")

    domain = make_domain(tools=(*TOOLS, tool()(confirmed)))
    it = Episode(domain, task(user={"instructions": "x", **BOTH_TOOLS}))
    user = by_turn("Hi.", CONFIRM, "What is the weather?", "Bye. ###STOP###")
    run_episode(it, partial(LLMPlayer, engine=Rule(look)), partial(LLMPlayer, engine=user))
    assert [outcome["result"] for outcome in seen[:2]] == [[], [{"order_id": "O1"}]]
    assert "XK-7" not in "".join(heard(it, "agent"))


def test_3083_episodes_do_not_share_state() -> None:
    its = [two_models() for _ in range(2)]
    for it, agent, user in its[:1]:
        run_episode(it, agent, user)
    assert (len(its[0][0].world.changes()), len(its[1][0].world.changes())) == (1, 0)


def test_3083_messages_calls_results_and_the_ending_are_told_apart() -> None:
    it, agent, user = two_models()
    record = run_episode(it, agent, user)
    kinds = [
        (seat, "result" if m.role == "tool" else "call" if m.call else "message")
        for seat, m in record.transcript
    ]
    assert kinds == [
        ("user", "message"),
        ("agent", "call"),
        ("agent", "result"),
        ("agent", "message"),
        ("user", "call"),
        ("user", "result"),
        ("user", "message"),
        ("agent", "call"),
        ("agent", "result"),
        ("agent", "message"),
        ("user", "message"),
        ("agent", "message"),
    ]
    assert (record.reason, record.terminated) == ("user_stop", True)


def test_3083_each_player_has_its_own_trajectory_and_only_its_own_tokens() -> None:
    it, agent, user = two_models()
    run_episode(it, agent, user)
    assert [turn.completions[-1].token_ids for turn in agent.turns] == [None, None, None, (7, 8), None]
    assert [turn.completions[-1].text for turn in user.turns] == [
        "My parcel came.",
        "",
        "I did.",
        "Bye. ###STOP###",
    ]
    for player, seat, other in ((agent, "agent", "user"), (user, "user", "agent")):
        last = player.turns[-1].history
        assert last == it.observe(seat)["messages"][: len(last)]  # type: ignore[arg-type]
        assert all(message.role == seat for message in last if message.call and message.role != "tool")
        assert any(message.role == other and message.call is None for message in last)
    assert (agent.usage, user.usage) == (Usage(5, 2), Usage(0, 0))


def test_3083_a_model_plays_with_a_partner_that_is_none() -> None:
    it = Episode(DOMAIN, DOMAIN.tasks["train"]["cancel"])
    user = by_turn("Please cancel an order of mine.", "It is O1.", "Thanks. ###STOP###")
    record = run_episode(it, OraclePlayer, partial(LLMPlayer, engine=user))
    assert (record.reward, record.error) == (1.0, None)


def test_act_waits_for_aact() -> None:
    it = opened()
    player = LLMPlayer(it.domain.view(it.task, "agent"), 0, Script("Hello."))
    assert run(player.aact(it.observe("agent"))) == player.act(it.observe("agent")) == say("Hello.")
