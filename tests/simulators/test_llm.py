"""Players that are language models: what they ask, what they make of the answers, and that they are pure."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import Episode, Record, run_episode
from gym_enterprise.messages import Seat
from gym_enterprise.seating import take_turn
from simulators import Completion, ContentError, LLMPlayer, Sampling, TransientError
from simulators.llm import sampling_seed
from tests.core.conversation import BOTH_TOOLS, CANCEL, DOMAIN, episode, heard, last_error, opened, play, say
from tests.shop import task
from tests.simulators.models import Rule, Script, by_turn, calls

GET = ("get_order", '{"order_id": "O1"}')
CUT = ("cancel_order", '{"order_id": "O1"}')


def seated(it: Episode, seat: Seat, engine: Any, seed: int = 0, **settings: Any) -> LLMPlayer:
    return LLMPlayer(it.domain.view(it.task, seat), seed, engine, **settings)


def act(player: LLMPlayer, it: Episode) -> dict[str, Any]:
    action = player.act(it.observe(player.seat))  # type: ignore[arg-type]
    return action


def played(agent: Any, user: Any, /, **changes: Any) -> tuple[Record, Episode]:
    it = episode(task(**changes))
    return run_episode(it, partial(LLMPlayer, engine=agent), partial(LLMPlayer, engine=user)), it


# -- what a model is asked --------------------------------------------------------------------------------


def test_an_agent_is_asked_with_its_policy_its_tools_and_the_customers_words() -> None:
    engine = Script("Hello.")
    it = opened()
    assert act(seated(it, "agent", engine), it) == say("Hello.")
    (request,) = engine.requests
    system, first = request.messages
    assert "Look before you act." in system["content"]
    assert "kb_search" in system["content"]
    assert first == {"role": "user", "content": "hello"}
    named = [tool["function"]["name"] for tool in request.tools]
    assert named == [spec.name for spec in DOMAIN.view(it.task, "agent").tools]


def test_a_customer_is_asked_with_guidelines_persona_instructions_facts_and_nothing_of_the_agents() -> None:
    user = {
        "persona": "Terse.",
        "instructions": "You are Ada.",
        "script": {
            "opening": "My lamp!",
            "facts": {"order_id": "O1"},
            "later": [{"say": "And my chair."}],
            "pushback": [{"say": "But I am a good customer."}],
            "declines": [{"about": ["credit"], "say": "No credit."}],
        },
    }
    engine = Script("My lamp!")
    it = episode(task(user=user))
    act(seated(it, "user", engine), it)
    (request,) = engine.requests
    system = request.messages[0]["content"]
    expected = [
        "Terse.",
        "You are Ada.",
        "My lamp!",
        "order id: O1",
        "And my chair.",
        "good customer",
        "No credit.",
    ]
    for part in [*expected, "###STOP###", "never the agent"]:
        assert part in system
    assert "Look before you act." not in system
    assert "$" not in system
    assert request.tools == ()


def test_a_customer_with_tools_is_told_when_to_use_them() -> None:
    engine = Script("hi")
    it = episode(task(user={"instructions": "x", **BOTH_TOOLS}))
    act(seated(it, "user", engine), it)
    (request,) = engine.requests
    assert "Use one only when the agent asks you to" in request.messages[0]["content"]
    assert [tool["function"]["name"] for tool in request.tools] == ["confirm_order", "use_tool"]


@pytest.mark.parametrize("format", ["hermes", "json", "llama"])
def test_for_other_formats_the_tools_stand_in_the_prompt(format: Any) -> None:
    engine = Script("Hello.")
    it = opened()
    act(seated(it, "agent", engine, format=format), it)
    (request,) = engine.requests
    assert request.tools == ()
    assert '"name": "cancel_order"' in request.messages[0]["content"]


def test_a_prompt_of_ones_own_is_text_or_a_file_with_four_names(tmp_path: Path) -> None:
    path = tmp_path / "prompt.md"
    path.write_text("For $$1: $brief", encoding="utf-8")
    it = opened()
    for prompt in ("For $$1: $brief", path):
        engine = Script("Hello.")
        act(seated(it, "agent", engine, prompt=prompt), it)
        assert engine.requests[0].messages[0]["content"].startswith("For $1: You serve the customers")


def test_mistakes_are_refused_when_the_player_is_made() -> None:
    it = opened()
    with pytest.raises(ValueError, match=r"uses 'policy', none of \$brief"):
        seated(it, "agent", Script(), prompt="$policy")
    with pytest.raises(ValueError, match="'xml'"):
        seated(it, "agent", Script(), format="xml")
    with pytest.raises(ValueError, match="attempts is 0"):
        seated(it, "user", Script(), attempts=0)


def test_every_turn_attempt_and_trial_has_a_sampling_seed_of_its_own() -> None:
    engine = by_turn("one", "two")
    for seed in (5, 6):
        it = opened()
        player = seated(it, "agent", engine, seed, sampling=Sampling(temperature=0.7, max_tokens=9))
        play(it, ("agent", act(player, it)), ("user", say("go on")))
        act(player, it)
    seeds = [request.sampling.seed for request in engine.requests]
    assert seeds == [
        sampling_seed(5, 2, 0),
        sampling_seed(5, 4, 0),
        sampling_seed(6, 2, 0),
        sampling_seed(6, 4, 0),
    ]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert engine.requests[0].sampling.temperature == 0.7


# -- what comes of the answers ----------------------------------------------------------------------------


def test_b022_several_calls_are_played_one_at_a_time_and_then_the_model_is_asked_again() -> None:
    engine = Script(calls(GET, ("cancel_order", '{"order_id": "bad"}'), CUT, text="Let me see."), "Done.")
    it = opened()
    player = seated(it, "agent", engine)
    for _ in range(3):
        it.act("agent", act(player, it))
    results = [
        (m.call.id, m.result["ok"]) for m in it.observe("agent")["messages"] if m.role == "tool" and m.call
    ]
    assert results == [("c1#1/3", True), ("c2#2/3", False), ("c3#3/3", True)]
    assert len(engine.requests) == 1
    it.act("agent", act(player, it))
    assert len(engine.requests) == 2
    assert heard(it, "user")[-1] == "agent: Let me see.\n\nDone."
    asked = engine.requests[1].messages[-4:]
    assert [call["id"] for call in asked[0]["tool_calls"]] == ["c1", "c2", "c3"]
    assert [message["tool_call_id"] for message in asked[1:]] == ["c1", "c2", "c3"]


def test_b011_a_stop_token_beside_words_delivers_the_words() -> None:
    record, it = played(
        by_turn("Shall I cancel O1?", calls(CUT), "Done."), by_turn("Cancel O1", "Yes. ###STOP###")
    )
    assert (record.reward, record.reason) == (1.0, "user_stop")
    assert "user: Yes." in heard(it, "agent")


def test_b012_words_beside_a_call_are_the_message_when_nothing_follows() -> None:
    confirm = calls(("confirm_order", '{"order_id": "O1", "code": "X"}'), text="My order is O1.")
    user = Script(confirm, "")
    it = episode(task(user={"instructions": "x", **BOTH_TOOLS}))
    player = seated(it, "user", user)
    it.act("user", act(player, it))
    it.act("user", act(player, it))
    assert heard(it, "agent") == ["user: My order is O1."]
    assert (it.turn, it.errors, len(user.requests)) == ("agent", 0, 2)


def test_b013_a_blank_user_turn_is_asked_again_with_other_seeds() -> None:
    user = Script("", "  \n", "I need help")
    it = episode()
    player = seated(it, "user", user)
    assert act(player, it) == say("I need help")
    assert len({request.sampling.seed for request in user.requests}) == 3
    assert [completion.text for completion in player.turns[0].completions] == ["", "  \n", "I need help"]


def test_b013_a_user_that_stays_blank_is_a_simulator_error_without_a_reward() -> None:
    user = Script("", "", "")
    record, it = played(Script(), user)
    assert (record.reward, record.reason) == (None, "simulator_error")
    assert len(user.requests) == 3
    assert heard(it, "agent") == []


def test_b013_a_blank_agent_turn_is_answered_by_an_error() -> None:
    it = opened()
    player = seated(it, "agent", Script("", "Hello."))
    take_turn(it, "agent", player)
    assert last_error(it, "agent") == "invalid_action"
    assert act(player, it) == say("Hello.")


def test_b014_only_what_is_said_is_heard_and_a_flipped_role_is_counted() -> None:
    user = by_turn(
        "<think>I play the customer...</think> Where is my refund?",
        "I have processed your refund. Anything else I can help with?",
        "###STOP###",
    )
    record, it = played(by_turn("Which order?", "Pardon?"), user)
    assert heard(it, "agent")[0] == "user: Where is my refund?"
    assert record.grade.checks["user_faults"] == {"role_flip": 1}


def test_b014_unclosed_reasoning_of_a_user_is_blank() -> None:
    user = Script("<think>I should ask", "Where is my refund?")
    it = episode()
    assert act(seated(it, "user", user), it) == say("Where is my refund?")


def test_b015_a_failed_and_a_doubled_request_do_not_advance_the_player() -> None:
    engine = Script(TransientError("502"), "hello", "second")
    it = episode()
    player = seated(it, "user", engine)
    with pytest.raises(TransientError):
        act(player, it)

    async def twice() -> list[Any]:
        seen = it.observe("user")
        return await asyncio.gather(player.aact(seen), player.aact(seen))

    assert asyncio.run(twice()) == [say("hello"), say("hello")]
    assert engine.requests[0] == engine.requests[1]
    assert len(engine.requests) == 2


def test_b016_endless_goodbyes_end_with_the_budget() -> None:
    it = Episode(DOMAIN, task(), max_steps=6)
    goodbye = partial(LLMPlayer, engine=by_turn("Thanks, goodbye!"))
    record = run_episode(it, goodbye, goodbye)
    assert (record.steps, record.truncated, record.terminated, record.reason) == (6, True, False, "max_steps")
    assert record.reward == 0.0


def test_b018_a_rehearsed_call_does_not_run() -> None:
    draft = '<tool_call>{"name": "reopen_order", "arguments": {"order_id": "O1"}}</tool_call>'
    real = '<tool_call>{"name": "cancel_order", "arguments": {"order_id": "O1"}}</tool_call>'
    it = opened()
    player = seated(it, "agent", Script(f"maybe {draft}</think>{real}"), format="hermes")
    assert act(player, it) == CANCEL


@pytest.mark.parametrize("finish", ["length", "tool_calls"])
def test_b023_no_call_of_a_cut_turn_runs(finish: str) -> None:
    it = opened()
    player = seated(it, "agent", Script(calls(GET, CUT, finish=finish), "Sorry."))
    it.act("agent", act(player, it))
    if finish == "length":
        assert last_error(it, "agent") == "malformed_call"
        assert "cut at the token limit" in it.observe("agent")["messages"][-1].content
        assert it.step == 2
    it.act("agent", act(player, it))
    assert len(it.world.changes()) == (0 if finish == "length" else 1)


def test_output_that_the_server_could_not_read_is_an_error_for_the_model() -> None:
    it = opened()
    player = seated(it, "agent", Script(ContentError("400", text="<function=get>"), "Sorry."))
    it.act("agent", act(player, it))
    assert last_error(it, "agent") == "malformed_call"
    assert act(player, it) == say("Sorry.")


# -- purity -----------------------------------------------------------------------------------------------

TURNS: Sequence[Any] = (
    calls(GET, CUT, text="Let me see."),
    calls(GET),
    Completion("Done. ###STOP###", calls(GET).tool_calls),
)


def transcript(observe: Any, remake: bool) -> list[Any]:
    """Play the agent's turns; made anew before each action, or not."""
    it = opened()
    engine = by_turn(*TURNS)
    player = seated(it, "agent", engine)
    actions = []
    while it.turn == "agent":
        player = seated(it, "agent", engine) if remake else player
        action = act(player, it)
        assert act(player, it) == action
        actions.append(action)
        it.act("agent", action)
        it = observe(it)
    return actions


def test_a_player_made_anew_at_any_point_of_a_turn_plays_the_same() -> None:
    plain = transcript(lambda it: it, remake=False)
    assert [action.get("id") for action in plain] == ["c1#1/2", "c2#2/2", "c1", "c1#1/2", None]
    assert transcript(lambda it: it, remake=True) == plain
    assert transcript(lambda it: it.fork(), remake=True) == plain


def test_a_turn_goes_on_after_the_episode_was_restored_within_it() -> None:
    engine = Script(calls(GET, CUT), "Done.")
    it = opened()
    player = seated(it, "agent", engine)
    it.act("agent", act(player, it))
    saved = it.snapshot()
    rest = []
    for _ in range(2):
        it.restore(saved)
        rest.append(act(player, it))
    assert rest[0] == rest[1]
    assert rest[0]["name"] == "cancel_order"
    assert len(engine.requests) == 1


def test_branches_of_one_episode_do_not_mix() -> None:
    engine = Rule(lambda request: f"You said: {request.messages[-1]['content']}")
    it = opened()
    player = seated(it, "agent", engine)
    it.act("agent", act(player, it))
    branches = [it.fork(), it.fork()]
    for branch, word in zip(branches, ("left", "right"), strict=True):
        branch.act("user", say(word))
    answers = [act(player, branch)["content"] for branch in (*branches, *branches)]
    assert answers == ["You said: left", "You said: right"] * 2
    assert len(engine.requests) == 3


def test_a_turn_that_another_model_would_have_taken_otherwise_is_not_continued_by_it() -> None:
    it = opened()
    it.act("agent", act(seated(it, "agent", Script(calls(GET, CUT))), it))
    other = Script(calls(("list_orders", "{}"), GET), "What now?")
    assert act(seated(it, "agent", other), it) == say("What now?")


def test_an_action_can_be_changed_by_whoever_gets_it() -> None:
    it = opened()
    player = seated(it, "agent", Script(json_call := calls(GET)))
    first = act(player, it)
    expected = copy.deepcopy(first)
    first["name"] = "forged"
    assert act(player, it) == expected
    assert json.loads(json_call.tool_calls[0]["function"]["arguments"]) == {"order_id": "O1"}
