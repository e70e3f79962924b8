"""The reward of the benchmark's own tasks: what earns it, what does not, and what cannot happen here."""

from __future__ import annotations

import json
import math
from typing import Any

import gymnasium
import pytest

from gym_enterprise import Episode, Task, UsageError, regrade, replay_reference, run_episode
from gym_enterprise.domains.tau3_banking.grading import parts
from gym_enterprise.domains.tau3_banking.tools.catalogue import USERS
from tests.tau3.public_data import benchmark, fresh, needs_data, played, tasks

pytestmark = needs_data

JUDGED = "task_102"
UNREACHABLE = "task_083"
"""Its reference holds refused calls, so no call that works is like them."""
ALL = sorted(tasks()) if needs_data.args == (False,) else []


@pytest.mark.parametrize("task_id", ALL)
def test_the_reference_earns_1_replayed_and_in_conversation(task_id: str) -> None:
    task = tasks()[task_id]
    episode = fresh(task)
    replay_reference(episode)
    record = run_episode(Episode(benchmark(), task), "oracle", "replay", audit=True)
    for grade in (episode.grade(audit=True), record.grade, regrade(benchmark(), task, record)):
        assert (grade.reward, grade.checks["db"]) == (None if task_id == JUDGED else 1.0, True)
        assert grade.checks["action"]
        assert grade.checks["strict"] is {JUDGED: None, UNREACHABLE: False}.get(task_id, True)
    assert record.reason == "user_stop"


@pytest.mark.parametrize("task_id", ALL)
def test_doing_nothing_earns_nothing(task_id: str) -> None:
    episode = fresh(tasks()[task_id])
    episode.act("user", {"type": "stop"})
    grade = episode.grade(audit=True)
    assert grade.reward == (None if task_id == JUDGED else 0.0)
    assert not grade.checks["strict"]


def test_the_parts_of_the_65_tasks() -> None:
    counted: dict[tuple[str, ...], int] = {}
    for task in tasks().values():
        counted[tuple(parts(task))] = counted.get(tuple(parts(task)), 0) + 1
    assert counted == {("DB",): 59, ("ACTION",): 5, ("DB", "NL_ASSERTION"): 1}


# -- what the benchmark's own grading lets through --------------------------------------------------------


@pytest.mark.parametrize(("task_id", "calls"), [("task_034", 2), ("task_083", 3)])
def test_failing_calls_without_arguments_earn_1_as_there_and_not_strictly(task_id: str, calls: int) -> None:
    task = tasks()[task_id]
    names = dict.fromkeys(action.name for action in task.reference)
    assert len(names) == calls
    grade = played(task, *(("agent", name, {}) for name in names))
    assert (grade.reward, grade.checks["action"], grade.checks["strict"]) == (1.0, True, False)
    assert not any(made.ok for made in fresh(task).dispatcher.made)


def test_in_083_only_the_malformed_calls_of_the_reference_match() -> None:
    task = tasks()["task_083"]
    mended = []
    for action in task.reference:
        arguments: dict[str, Any] = dict(action.arguments)
        if "arguments" in arguments:
            inner = json.loads(arguments["arguments"]) | {"customer_max_liability_amount": 50}
            arguments["arguments"] = json.dumps(inner)
        mended.append((action.seat, action.name, arguments))
    assert played(task, *mended).reward == 0.0
    assert played(task, *((a.seat, a.name, a.arguments) for a in task.reference)).reward == 1.0


@pytest.mark.parametrize("requests", [1, 7, 8])
def test_in_034_strictly_each_of_the_eight_requests_has_to_be_made(requests: int) -> None:
    calls = [("user", "request_human_agent_transfer", {})] * requests
    transfer = ("agent", "transfer_to_human_agents", tasks()["task_034"].reference[-1].arguments)
    grade = played(tasks()["task_034"], *calls, transfer)
    assert (grade.reward, grade.checks["strict"]) == (1.0, requests == 8)


# -- what cannot happen here ------------------------------------------------------------------------------


def with_user_calls() -> list[Task]:
    return [task for task in tasks().values() if any(action.seat == "user" for action in task.reference)]


def test_an_agent_that_names_the_user_as_requestor_runs_nothing_of_the_users() -> None:
    assert len(with_user_calls()) == 36
    for task in with_user_calls():
        episode = Episode(benchmark(), task)
        episode.act("user", {"type": "message", "content": "Hello"})
        for action in task.reference:
            if episode.done or action.seat != "user":
                continue
            before = episode.world.changes()
            call = {"type": "tool_call", "name": action.name, "arguments": dict(action.arguments)}
            episode.act("agent", call | {"requestor": "user"})
            assert episode.observe("agent")["messages"][-1].result["error"]["code"] == "malformed_call"
            if not episode.done:
                episode.act("agent", call)
                assert episode.observe("agent")["messages"][-1].result["error"]["code"] == "unknown_tool"
            assert episode.world.changes() == before


@pytest.mark.parametrize("role", ["agent", "user"])
def test_no_info_or_observation_holds_a_reference_or_what_reviewers_wrote(role: str) -> None:
    env = gymnasium.make("Tau3Banking-v0", role=role, disable_env_checker=True)
    for task_id in ("task_005", "task_026", "task_081"):
        task = tasks()[task_id]
        observation, info = env.reset(options={"task_id": task_id})
        shown = repr((observation, info, env.unwrapped.tools()))  # type: ignore[attr-defined]
        assert info["task_id"] == task_id
        for action in task.reference:
            if "arguments" in action.arguments and action.seat == "agent":
                assert action.arguments["arguments"] not in shown
        assert not any(document in shown for document in task.documents)
        assert not task.notes or task.notes[:60] not in shown
        scenario = " ".join(shown.replace("\\n", " ").replace("\\'", "'").split())
        for sentence in " ".join(task.user.instructions.split()).split(". ")[:20]:
            assert (sentence in scenario) == (role == "user") or len(sentence) < 30
        _, _, _, _, info = env.step({"type": "stop"})
        assert set(info) == {"task_id", "action_mask", "reward", "reason", "scored", "user_faults"}


def test_a_user_tool_that_a_task_does_not_offer_is_unknown_to_its_user() -> None:
    listed = [tool.name for tool in benchmark().toolset("user") if tool.name not in USERS]
    refused = 0
    for task in tasks().values():
        episode = fresh(task)
        for name in {*listed} - {*task.user.tools}:
            outcome = episode.dispatcher.call("user", name, {}).to_dict()
            assert outcome["error"]["code"] == "unknown_tool"
            refused += 1
        assert not len(episode.world.changes())
    assert refused > 200


# -- through Gymnasium and PettingZoo ---------------------------------------------------------------------


def test_a_task_and_a_retrieval_are_chosen_by_name() -> None:
    env = gymnasium.make("Tau3Banking-v0", task_id="task_034", retrieval="grep_only")
    _, info = env.reset(seed=1)
    assert info["task_id"] == "task_034"
    names = [tool["function"]["name"] for tool in env.unwrapped.tools()]  # type: ignore[attr-defined]
    assert "grep" in names
    assert "KB_search" not in names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"retrieval": "magic"}, "magic.*bm25_grep"), ({"retrival": "bm25"}, "retrival.*data_dir.*retrieval")],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], message: str) -> None:
    from gym_enterprise import tau3_banking_v0

    for make in (lambda **given: gymnasium.make("Tau3Banking-v0", **given), tau3_banking_v0.env):
        with pytest.raises(UsageError, match=message):
            make(**arguments)


def test_the_judged_task_is_not_scored_in_an_environment_without_a_judge() -> None:
    env = gymnasium.make("Tau3Banking-v0", task_id=JUDGED, disable_env_checker=True)
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step({"type": "stop"})
    assert terminated
    assert math.isnan(float(reward))
    assert info["scored"] == 0
    env = gymnasium.make("Tau3Banking-v0", task_id=JUDGED, judge=says_yes, disable_env_checker=True)
    env.reset(seed=1)
    assert env.step({"type": "stop"})[1] == 0.0


def says_yes(transcript: Any, assertions: Any) -> bool:
    return True


def test_two_players_play_a_task_through_pettingzoo() -> None:
    from gym_enterprise import OraclePlayer, ReplayUser, tau3_banking_v0

    env = tau3_banking_v0.env(task_id="task_041", retrieval="no_knowledge")
    env.reset(seed=0)
    task = env.unwrapped.episode.task
    players: dict[str, Any] = {"agent_0": OraclePlayer(task, 0), "user_0": ReplayUser(task, 0)}
    rewards = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        rewards.append(reward)
        env.step(None if terminated or truncated else players[agent].act(observation))
    assert rewards[-1] == 1.0
    assert env.metadata["name"] == "tau3_banking_v0"
