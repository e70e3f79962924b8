"""Two players and one episode: reports B011 to B015, B052, and players that misbehave."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

import pytest

from gym_enterprise import (
    Episode,
    OraclePlayer,
    OutOfTurn,
    Record,
    ReplayUser,
    ScriptedUser,
    UsageError,
    derive_seed,
    grading,
    run_episode,
)
from gym_enterprise.seating import ATTEMPTS
from tests.core.conversation import BOTH_TOOLS, CANCEL, DOMAIN, call, episode, heard, say, stop
from tests.shop import task


class Lines:
    """Plays actions in order, whatever it sees; counts how often it was asked."""

    def __init__(self, actions: Iterable[Any]) -> None:
        self._actions = iter(actions)
        self.asked = 0

    def act(self, observation: Any) -> Any:
        self.asked += 1
        action = next(self._actions, stop())
        if isinstance(action, Exception):
            raise action
        return say(action) if isinstance(action, str) else action


def played(agent: Iterable[Any], user: Iterable[Any], /, **changes: Any) -> tuple[Record, Episode]:
    it = episode(task(**changes))
    return run_episode(it, Lines(agent), Lines(user)), it


# -- the normal way ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("task_id", ["cancel", "expedite", "confirm"])
@pytest.mark.parametrize("user", ["scripted", "replay", ScriptedUser, ReplayUser])
def test_the_oracle_earns_one_with_every_kind_of_user(task_id: str, user: Any) -> None:
    for agent in ("oracle", OraclePlayer):
        record = run_episode(Episode(DOMAIN, DOMAIN.tasks["train"][task_id]), agent, user, audit=True)
        assert (record.reward, record.terminated, record.truncated, record.error) == (1.0, True, False, None)


def test_a_record_is_json_and_says_how_it_went() -> None:
    record, it = played(["Hello.", CANCEL, stop("Bye.")], ["hi", "please"])
    value = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert (value["domain"], value["task_id"], value["steps"], value["reason"]) == (
        "shop",
        "t",
        5,
        "agent_stop",
    )
    assert [(m["seat"], m["role"]) for m in value["transcript"]] == [
        ("user", "user"),
        ("agent", "agent"),
        ("user", "user"),
        ("agent", "agent"),
        ("agent", "tool"),
        ("agent", "agent"),
    ]
    assert record.calls == [("agent", "cancel_order", {"order_id": "O1"})]
    assert it.grade() == record.grade


def test_an_episode_under_way_is_played_to_its_end() -> None:
    it = episode()
    it.act("user", say("hello"))
    assert run_episode(it, Lines([CANCEL]), Lines([])).reward == 1.0


def test_classes_get_the_seats_view_and_a_seed_of_their_own_or_the_task_if_they_may_see_it() -> None:
    built: list[Any] = []

    class Viewer(Lines):
        def __init__(self, view: Any, seed: int) -> None:
            built.append((view, seed))
            super().__init__([])

    class Seer(Viewer):
        sees_task = True

    it = episode()
    run_episode(it, Viewer, Seer, seed=3, trial=2)
    (view, agent_seed), (seen, user_seed) = built
    assert view == DOMAIN.view(it.task, "agent")
    assert seen is it.task
    assert agent_seed == derive_seed(3, "t", 2, "agent")
    assert user_seed == derive_seed(3, "t", 2, "user")


def test_derived_seeds_are_fixed_and_differ_in_every_part() -> None:
    # The first 16 hex digits of `printf '0\x1ft\x1f0\x1fuser' | sha256sum`, without the last bit.
    assert derive_seed(0, "t", 0, "user") == 0x6DFB89AF94F0A3AC >> 1
    parts = [
        (0, "t", 0, "user"),
        (1, "t", 0, "user"),
        (0, "u", 0, "user"),
        (0, "t", 1, "user"),
        (0, "t", 0, "agent"),
    ]
    seeds = {derive_seed(*part) for part in parts}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_the_same_seed_gives_the_same_record() -> None:
    records = [
        run_episode(
            Episode(DOMAIN, DOMAIN.tasks["train"]["cancel"]), "oracle", "scripted", seed=seed
        ).to_dict()
        for seed in (4, 4)
    ]
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("oracel", "there is no agent player 'oracel'; by name: 'oracle'"),
        ("scripted", "there is no agent player 'scripted'"),
        ("hf:", "'hf:' names no model: hf:PATH has a folder"),
        ("vllm:", "'vllm:' names no model: vllm:PATH has a folder"),
        ("openai:gpt", "is not openai:MODEL@URL"),
        ("openai:gpt@localhost:8000", "is not openai:MODEL@URL"),
        (
            "openai:gpt@http://localhost:99999/v1",
            "The port of 'http://localhost:99999/v1' should be a number",
        ),
        ("openai:gpt@http://a..b/v1", "The host of 'http://a..b/v1' should be a name or an address"),
        (dict, "a player has a method act"),
        (None, "a player has a method act"),
        (3, "a player has a method act"),
        (object(), "a player has a method act"),
    ],
)
def test_what_is_no_player_is_refused_before_anything_happens(spec: Any, words: str) -> None:
    it = episode()
    with pytest.raises(UsageError, match=words):
        run_episode(it, spec, "scripted")
    assert it.step == 0


# -- B011 to B015 -----------------------------------------------------------------------------------------


def test_b011_consent_with_a_stop_token_lets_the_agent_do_it() -> None:
    record, it = played(
        ["Shall I cancel O1?", CANCEL, "Done."], ["cancel O1", "Yes, please cancel O1. ###STOP###"]
    )
    assert (record.reward, record.reason, record.terminated) == (1.0, "user_stop", True)
    assert "user: Yes, please cancel O1." in heard(it, "agent")
    assert "###STOP###" not in json.dumps(record.to_dict())


def test_b012_text_with_a_call_and_then_nothing_is_delivered_once() -> None:
    confirm = call("confirm_order", "My order is O1", order_id="O1", code="x")
    record, it = played(["Thanks."], [confirm, "", "bye ###STOP###"], user=BOTH_TOOLS)
    assert record.error is None
    assert heard(it, "agent")[:2] == ["user: My order is O1", "agent: Thanks."]
    assert record.calls == [("user", "confirm_order", {"order_id": "O1", "code": "x"})]


def test_b013_blank_user_turns_are_asked_again_and_then_end_unscored() -> None:
    user = Lines(["I need help", "", "  \n", "\t", "bye ###STOP###"])
    it = episode()
    record = run_episode(it, Lines([CANCEL, "What is it?"]), user)
    assert user.asked == 1 + ATTEMPTS == 4
    assert (record.reward, record.reason, record.truncated, record.terminated) == (
        None,
        "simulator_error",
        True,
        False,
    )
    assert record.error is not None
    assert "3 unusable actions of the user" in record.error
    assert heard(it, "agent") == ["user: I need help", "agent: What is it?"]


def test_b013_a_user_that_finds_words_in_time_goes_on() -> None:
    record, it = played(["What is it?", CANCEL, stop("Done.")], ["I need help", "", "  ", "cancel O1"])
    assert record.reward == 1.0
    assert heard(it, "agent") == [
        "user: I need help",
        "agent: What is it?",
        "user: cancel O1",
        "agent: Done.",
    ]


def test_b014_reasoning_is_not_delivered_unclosed_reasoning_is_blank_and_role_flips_are_counted() -> None:
    record, it = played(
        ["Hello.", "I see."],
        [
            "<think>I play the customer...</think> Where is my refund?",
            "<think>unclosed",
            "I have processed your refund. Anything else I can help with?",
            stop(),
        ],
    )
    assert heard(it, "agent")[0] == "user: Where is my refund?"
    assert "think" not in repr(it.observe("agent"))
    assert record.grade.checks["user_faults"] == {"role_flip": 1}


def test_b015_a_failing_agent_costs_the_user_no_line() -> None:
    for _ in range(2):  # the harness tries the episode again: a fresh user is asked once and says the same
        user = Lines(["hello", "second"])
        it = episode()
        record = run_episode(it, Lines([ConnectionError("502")]), user)
        assert user.asked == 1
        assert [m.content for _, m in record.transcript] == ["hello"]
        assert (record.reward, record.reason) == (None, "agent_error")


# -- players that misbehave -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), KeyError("x"), RecursionError(), StopIteration(), TimeoutError()]
)
def test_b052_a_player_that_raises_leaves_an_unscored_record_and_the_log_has_the_traceback(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="gym_enterprise"):
        record, it = played([CANCEL], [error])
        other, _ = played([CANCEL, error], ["hi"])
    assert (record.reward, record.reason, record.truncated) == (None, "simulator_error", True)
    assert (other.reward, other.reason) == (None, "agent_error")
    assert type(error).__name__ in str(record.error)
    assert caplog.records[0].exc_info is not None
    assert type(error).__name__ not in repr(it.observe("agent")) + repr(it.observe("user"))


def test_b052_a_grader_that_raises_leaves_an_unscored_record(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(grading, "same_state", lambda a, b: True)
    record = run_episode(episode(), Lines([]), Lines(["hi"]), audit=True)
    assert record.reward is None
    assert record.error is not None
    assert record.error.startswith("grading raised GraderDisagreement: task 't'")
    assert (record.reason, len(record.transcript)) == ("agent_stop", 1)
    assert caplog.records[0].exc_info is not None
    assert run_episode(episode(), Lines([CANCEL]), Lines(["hi"])).reward == 1.0


def test_an_interrupt_is_not_swallowed() -> None:
    class Impatient:
        def act(self, observation: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_episode(episode(), Impatient(), Lines(["hi"]))


def test_an_agents_unusable_actions_are_errors_to_read_and_end_by_max_errors() -> None:
    odd: list[Any] = [
        None,
        "",
        {"type": "dance"},
        {"type": "message", "content": 3},
        [],
        3.5,
        {"type": 10**5000},
    ]
    record, it = played(odd + [object()] * 10, ["hi"])
    assert (record.reason, record.truncated, record.reward, record.error) == ("max_errors", True, 0.0, None)
    codes = {m.result["error"]["code"] for m in it.observe("agent")["messages"] if m.role == "tool"}
    assert codes == {"invalid_action"}
    json.dumps(record.to_dict(), allow_nan=False, ensure_ascii=False).encode()


def test_an_agent_that_recovers_from_an_unusable_action_can_still_earn_one() -> None:
    assert played(["", None, CANCEL, stop()], ["hi"])[0].reward == 1.0


def test_an_agent_cannot_make_its_own_episode_unscored_by_any_action() -> None:
    # An unscored episode is left out of averages: better than a 0, so no action may lead to one.
    hostile = [
        {"type": "tool_call", "name": "\ud800", "arguments": "\ud800", "id": "\ud800"},
        {"type": "tool_call", "name": "x" * 10**6, "arguments": {"a": 10**5000}},
        {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": float("nan")}},
        {"type": "tool_call", "name": "cancel_order", "arguments": '{"a": ' * 10**5},
        {
            "type": "tool_call",
            "name": "use_tool",
            "arguments": {"name": "use_tool", "arguments": {"name": "use_tool"}},
        },
        {"type": "message", "content": "<think>" * 10_000},
        {"type": "message", "content": "</think>" * 10_000 + "###STOP### " * 9_000 + "."},
    ]
    for action in hostile:
        record, it = played([action] * 12, ["hi", "and?"])
        assert (record.error, record.reward) == (None, 0.0)
        json.dumps(record.to_dict(), allow_nan=False, ensure_ascii=False).encode()
        assert it.done


def test_a_player_cannot_change_the_task_or_the_history_through_what_it_is_shown() -> None:
    class Vandal:
        def act(self, observation: Any) -> Any:
            observation["messages"] = ()
            observation["turn"] = 99
            return stop()

    it = episode()
    record = run_episode(it, Vandal(), Lines(["hi"]))
    assert record.steps == 1
    assert heard(it, "user") == ["user: hi"]


def test_an_episode_that_is_over_is_not_played_again_for_its_old_reward() -> None:
    it = Episode(DOMAIN, task())
    assert run_episode(it, "oracle", "scripted").reward == 1.0
    with pytest.raises(OutOfTurn, match="reset"):
        run_episode(it, "oracle", "scripted", seed=9)
    it.reset()
    assert run_episode(it, "oracle", "scripted", seed=9).reward == 1.0


def test_a_player_class_that_takes_no_view_and_seed_is_a_clear_error() -> None:
    class Bare:
        def act(self, observation: Any) -> dict[str, Any]:
            return stop()

    with pytest.raises(UsageError, match=r"\(view, seed\)"):
        run_episode(episode(), Bare, "scripted")


def test_a_scripted_user_without_a_script_is_a_clear_error_that_names_the_task() -> None:
    with pytest.raises(UsageError, match=r"'t'.*script"):
        run_episode(episode(task(user={})), "oracle", "scripted")
