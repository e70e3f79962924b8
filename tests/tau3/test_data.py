"""Finding and reading the benchmark's folder, and turning its tasks into ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import DataNotFound, Episode, load_domain
from gym_enterprise.domains.tau3_banking import make_domain
from gym_enterprise.domains.tau3_banking.data import find_folder
from gym_enterprise.domains.tau3_banking.records import find, rows
from gym_enterprise.domains.tau3_banking.tasks import merge
from gym_enterprise.domains.tau3_banking.tools.catalogue import USERS
from gym_enterprise.errors import TaskError, UsageError
from gym_enterprise.tasks import Task
from tests.tau3.small_bank import raw_task, write_folder

CHECKOUT = Path("data/tau2/domains/banking_knowledge")


@pytest.mark.parametrize("below", [".", *map(str, [CHECKOUT, *CHECKOUT.parents])])
def test_a_checkout_or_any_folder_down_to_the_data_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    data = write_folder(tmp_path / CHECKOUT)
    assert find_folder(tmp_path) == data
    assert find_folder(tmp_path / below) == data
    monkeypatch.setenv("TAU3_BANKING_DATA", str(tmp_path / below))
    assert find_folder() == data


def test_without_data_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAU3_BANKING_DATA", raising=False)
    for data_dir in (None, tmp_path):
        with pytest.raises(UsageError, match=r"tau2-bench.*TAU3_BANKING_DATA"):
            make_domain(data_dir)


def test_an_unknown_retrieval_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'magic'.*bm25_grep"):
        make_domain(write_folder(tmp_path / "bank"), retrieval="magic")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("db.json", "{"),
        ("db.json", '{"secrets": {"data": {}}}'),
        ("documents/doc_1.json", '{"id": "doc_1"}'),
        ("tasks/task_001.json", "[]"),
        ("tasks/task_001.json", '{"id": "task_001"}'),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, path: str, content: str) -> None:
    folder = write_folder(tmp_path / "bank")
    (folder / path).write_text(content)
    with pytest.raises((UsageError, TaskError), match=Path(path).name):
        make_domain(folder)


def test_a_task_may_not_add_a_table(tmp_path: Path) -> None:
    bad = raw_task(initial_state={"initialization_data": {"agent_data": {"secrets": {"data": {}}}}})
    with pytest.raises(TaskError, match=r"task_001\.json.*secrets"):
        make_domain(write_folder(tmp_path / "bank", bad))


def _task(tmp_path: Path, **changes: Any) -> tuple[Episode, Task]:
    bank = make_domain(write_folder(tmp_path / "bank", raw_task(**changes)))
    task = bank.tasks["test"]["task_001"]
    return Episode(bank, task), task


def test_initial_data_is_merged_field_by_field(tmp_path: Path) -> None:
    tables = {
        "users": {"data": {"u1": {"email": "new", "extra": {"a": 1}}, "u8": {"name": "Fay"}}},
        "task_config": {"data": {"dispute_settings": {"auto_resolve_disputes": True}}, "notes": "n"},
        "referrals": {"data": {}},
    }
    played, _ = _task(
        tmp_path, initial_state={"initialization_data": {"agent_data": tables, "user_data": None}}
    )
    user = find(played.world, "users", "u1")
    assert user == {"name": "Ada Quill", "user_id": "u1", "email": "new", "extra": {"a": 1}}
    assert list(user) == ["name", "user_id", "email", "extra"]
    assert list(rows(played.world, "users")) == ["u1", "u2", "u3", "u4", "u5", "u8"]
    assert played.world.one("SELECT notes FROM table_notes WHERE name = 'task_config'") == {"notes": "n"}
    give = {"discoverable_tool_name": "submit_cash_back_dispute_0589"}
    played.dispatcher.call("agent", "give_discoverable_user_tool", give)
    played.dispatcher.call("user", "submit_cash_back_dispute_0589", {"user_id": "u1", "transaction_id": "t1"})
    (dispute,) = rows(played.world, "cash_back_disputes").values()
    assert (dispute["status"], dispute["resolution"]) == ("RESOLVED", "APPROVED")


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {}, {"a": 1}),
    ],
)
def test_objects_merge_and_anything_else_replaces(old: Any, new: Any, merged: Any) -> None:
    before = json.dumps(old)
    assert merge(old, new) == merged
    assert json.dumps(old) == before


def test_data_outside_the_agents_is_ignored_and_said_so(tmp_path: Path) -> None:
    played, task = _task(tmp_path, initial_state={"initialization_data": {"users": {"u8": {"name": "Fay"}}}})
    assert find(played.world, "users", "u8") is None
    assert task.meta.knobs["ignored_data"] == ["users"]


def test_players_see_the_scenario_and_nothing_of_the_evaluator(tmp_path: Path) -> None:
    criteria = raw_task()["evaluation_criteria"] | {"nl_assertions": ["The agent is polite."]}
    criteria["actions"][0]["compare_args"] = ["agent_tool_name"]
    _, task = _task(tmp_path, evaluation_criteria=criteria)
    assert task.meta.knobs == {
        "reward_basis": ["DB"],
        "compare_args": [["agent_tool_name"], None],
        "assertions": ["The agent is polite."],
        "offered_user_tools": raw_task()["user_tools"],
        "ignored_data": [],
        "graded_state": True,
        "needs_judge": False,
        "siblings": 0,
    }
    assert (task.notes, task.documents, task.now) == ("for reviewers", ("doc_1",), "2025-11-14T03:40:00")
    agent, user = (task.view(seat) for seat in ("agent", "user"))
    assert agent.prompt == "Be kind. Search."
    assert "You want a card." in user.prompt
    assert "You want a card." not in repr(agent)
    for view in (agent, user):
        for hidden in ("polite", "for reviewers", "doc_1", "freeze_debit_card_3892"):
            assert hidden not in view.prompt
            assert hidden not in repr([spec.to_dict() for spec in view.tools])


def test_the_user_has_what_the_task_offers_and_what_can_be_given(tmp_path: Path) -> None:
    _, task = _task(tmp_path, user_tools=["call_discoverable_user_tool"])
    assert task.user.tools == ("call_discoverable_user_tool", *USERS)


def test_a_tool_that_the_task_does_not_offer_is_unknown_to_the_user(tmp_path: Path) -> None:
    played, task = _task(tmp_path, user_tools=["submit_referral"])
    assert task.user.tools == ("submit_referral",)
    for name in ("call_discoverable_user_tool", "get_referral_link", "request_human_agent_transfer"):
        outcome = played.dispatcher.call("user", name, {})
        assert outcome.to_dict()["error"]["code"] == "unknown_tool"


def test_no_party_can_call_for_the_other(tmp_path: Path) -> None:
    played, _ = _task(tmp_path)
    call = {"user_id": "u1", "account_type": "X"}
    assert not played.dispatcher.call("agent", "submit_referral", call).ok
    assert not played.dispatcher.call("agent", "submit_referral", call | {"requestor": "user"}).ok
    assert not played.dispatcher.call("user", "get_current_time", {}).ok


def test_another_folder_in_the_environment_is_another_domain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAU3_BANKING_DATA", str(write_folder(tmp_path / "bank")))
    first = load_domain("tau3_banking")
    assert load_domain("tau3_banking") is first
    monkeypatch.setenv("TAU3_BANKING_DATA", str(write_folder(tmp_path / "other")))
    assert load_domain("tau3_banking") is not first
    monkeypatch.setenv("TAU3_BANKING_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataNotFound):
        load_domain("tau3_banking")


def test_arguments_of_a_wrong_type_are_named() -> None:
    with pytest.raises(UsageError, match="data_dir should be a path"):
        load_domain("tau3_banking", data_dir=5)
