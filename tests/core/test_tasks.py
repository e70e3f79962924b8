"""Task files and what is refused in them (docs/write_a_domain.md): reports B004, B047, B055, B058."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import (
    Domain,
    Task,
    TaskError,
    UnknownDomain,
    UnknownTask,
    UsageError,
    load_domain,
    load_tasks,
)
from gym_enterprise.registry import register_domain
from gym_enterprise.tasks import parse_task
from tests.shop import make_domain, task

PLAIN: dict[str, Any] = {
    "id": "cancel-1",
    "domain": "shop",
    "split": "train",
    "family": "orders",
    "now": "2026-03-02T09:30:00",
    "reference": [{"name": "cancel_order", "arguments": {"order_id": "O1"}}],
}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "train.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def refusal(path: Path, split: str | None = "train") -> TaskError:
    with pytest.raises(TaskError) as caught:
        load_tasks(path, domain="shop", split=split)
    return caught.value


# -- reading ----------------------------------------------------------------------------------------------


def test_a_small_task_has_these_defaults(tmp_path: Path) -> None:
    (read,) = load_tasks(written(tmp_path, PLAIN), domain="shop", split="train")
    assert (read.seed, read.max_steps, read.alternatives, read.documents, read.notes) == (0, None, (), (), "")
    assert read.user.script is None
    assert read.user.tools == ()
    assert read.reference[0].seat == "agent"
    assert read.reference[0].after is None
    assert read.meta.knobs == {}


def test_a_fact_may_be_a_bare_string_or_an_object(tmp_path: Path) -> None:
    script = {"opening": "Hi", "facts": {"zip": "1234", "name": {"value": "Ada", "asked": ["who you are"]}}}
    (read,) = load_tasks(written(tmp_path, {**PLAIN, "user": {"script": script}}), domain="shop")
    assert read.user.script is not None
    assert read.user.script.facts["zip"].value == "1234"
    assert read.user.script.facts["zip"].asked == ()
    assert read.user.script.facts["name"].value == "Ada"
    assert read.user.script.facts["name"].asked == ("who you are",)


def test_blank_lines_are_skipped_and_line_numbers_count_them(tmp_path: Path) -> None:
    path = written(tmp_path, "", PLAIN, "   ", {**PLAIN, "id": "cancel-2", "split": "test"})
    assert refusal(path).source == f"{path}:4"
    assert [read.id for read in load_tasks(path, domain="shop")] == ["cancel-1", "cancel-2"]


def test_b047_unicode_line_separators_do_not_break_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\x0bd\u2029e\x0cf"
    lines = [{**PLAIN, "id": f"t{number}", "notes": text} for number in range(3)]
    lines[0]["notes"] = text
    path = tmp_path / "train.jsonl"
    raw = [json.dumps(line, ensure_ascii=False).replace("\\u000b", "\\u000b") for line in lines]
    path.write_text("\n".join(raw), encoding="utf-8")
    assert [read.notes for read in load_tasks(path, domain="shop")] == [text] * 3


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(PLAIN).encode() + b"\r\n")
    assert [read.id for read in load_tasks(path, domain="shop")] == ["cancel-1"]


def test_an_empty_file_has_no_tasks(tmp_path: Path) -> None:
    assert load_tasks(written(tmp_path, ""), domain="shop") == []


def test_a_missing_file_and_a_folder_and_bytes_that_are_no_text_are_refused_by_name(tmp_path: Path) -> None:
    assert str(refusal(tmp_path / "nothing.jsonl")) == f"{tmp_path / 'nothing.jsonl'}: there is no such file"
    assert str(tmp_path) in str(refusal(tmp_path))
    (tmp_path / "bytes.jsonl").write_bytes(b"\xff\xfe{}")
    assert "UTF-8" in str(refusal(tmp_path / "bytes.jsonl"))


# -- broken lines -----------------------------------------------------------------------------------------


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in PLAIN.items() if key != name}


def with_reference(*actions: dict[str, Any]) -> dict[str, Any]:
    return {**PLAIN, "reference": list(actions)}


CALL = {"name": "cancel_order", "arguments": {"order_id": "O1"}}


@pytest.mark.parametrize(
    ("line", "field", "rule"),
    [
        (without("reference"), "reference", "is required"),
        (without("now"), "now", "is required"),
        ({**PLAIN, "refrence": []}, "refrence", "is not a field of a task; it takes id, domain"),
        ({**PLAIN, "user": {"persnoa": "x"}}, "user.persnoa", "is not a known field"),
        ({**PLAIN, "split": "dev"}, "split", "should be 'train', 'validation' or 'test', got \"dev\""),
        ({**PLAIN, "seed": "7"}, "seed", 'should be an integer, got "7"'),
        ({**PLAIN, "seed": 7.0}, "seed", "should be an integer"),
        ({**PLAIN, "seed": True}, "seed", "should be an integer, got true"),
        ({**PLAIN, "seed": -1}, "seed", "should be greater than or equal to 0, got -1"),
        ({**PLAIN, "seed": 2**63}, "seed", "should be less than 9223372036854775808"),
        ({**PLAIN, "max_steps": 0}, "max_steps", "should be greater than or equal to 1, got 0"),
        ({**PLAIN, "id": "a b"}, "id", "should match pattern"),
        ({**PLAIN, "id": ""}, "id", "should match pattern"),
        ({**PLAIN, "id": "../x"}, "id", "should match pattern"),
        ({**PLAIN, "id": 3}, "id", "should be text, got 3"),
        ({**PLAIN, "id": "x" * 129}, "id", "should have at most 128 characters"),
        ({**PLAIN, "domain": "bank"}, "domain", "should be 'shop' here, got 'bank'"),
        ({**PLAIN, "split": "test"}, "split", "should be 'train' here, got 'test'"),
        (with_reference(), "reference", "should have at least 1 item"),
        (with_reference({"name": ""}), "reference.0.name", "should have at least 1 character"),
        (with_reference({"name": "x", "seat": "bot"}), "reference.0.seat", "should be 'agent' or 'user'"),
        (with_reference({"name": "x", "arguments": "{}"}), "reference.0.arguments", "should be an object"),
        (with_reference({**CALL, "after": [0]}), "reference", "in 0.after only indices of earlier actions"),
        (with_reference(CALL, {**CALL, "after": [1]}), "reference", "in 1.after only indices of earlier"),
        (with_reference({**CALL, "after": [1]}, CALL), "reference", "in 0.after only indices of earlier"),
        (with_reference({**CALL, "after": [-1]}), "reference.0.after.0", "greater than or equal to 0"),
        ({**PLAIN, "alternatives": [[CALL], []]}, "alternatives.1", "should have at least 1 item"),
        ({**PLAIN, "alternatives": [[{**CALL, "after": [5]}]]}, "alternatives.0", "in 0.after only indices"),
        ({**PLAIN, "user": {"script": {"opening": " "}}}, "user.script.opening", "should match pattern"),
        ({**PLAIN, "user": {"script": {"opening": "x", "facts": {"a": 3}}}}, "user.script.facts.a", "object"),
        ({**PLAIN, "state": {"insert": {"orders": {"a": 1}}}}, "state.insert.orders", "should be an array"),
        (
            {**PLAIN, "state": {"update": {"orders": [{"key": {}, "set": {}}]}}},
            "state.update.orders.0.set",
            "1",
        ),
    ],
)
def test_a_broken_line_is_refused_with_file_line_task_field_and_rule(
    line: dict[str, Any], field: str, rule: str, tmp_path: Path
) -> None:
    path = written(tmp_path, {**PLAIN, "id": "first"}, line)
    error = refusal(path)
    assert error.source == f"{path}:2"
    assert error.task_id == str(line.get("id") or "?")
    assert error.field == field
    assert rule in error.rule
    for part in (f"{path}:2", f"task {error.task_id!r}", f"field {field!r}"):
        assert part in str(error)


@pytest.mark.parametrize(
    "now",
    [
        "2026-13-45T99:99:99",
        "2026-02-29T00:00:00",
        "20260-3-02T09:30:00",
        "2026-03-02T9:30:000",
        "2026-03-02",
        "2026-03-02 09:30:00",
        "2026-03-02T09:30",
        "2026-03-02T09:30:00Z",
        "2026-03-02T24:00:00",
        "now",
        "2026-03-02T09:30:00.000001",
        "2026-03-02T09:30:00+00:00",
    ],
)
def test_a_clock_that_is_no_time_of_the_calendar_is_refused(now: str, tmp_path: Path) -> None:
    error = refusal(written(tmp_path, {**PLAIN, "now": now}))
    assert error.field == "now"
    assert f'YYYY-MM-DDTHH:MM:SS, got "{now}"' in error.rule


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('{"id": "a", "id": "b"}', "duplicate key 'id'"),
        ('{"seed": NaN}', "NaN is not a JSON number"),
        ('{"id": "a",}', "line 1 column 12"),
        ("{'id': 'a'}", "line 1 column 2"),
        ('{"id": "a"', "line 1 column 11"),
        ('{"notes": ' + "[" * 5000 + "]" * 5000 + "}", "nested deeper"),
        ("{} {}", "line 1 column 4"),
    ],
)
def test_a_line_that_is_not_one_json_object_is_refused_with_file_and_line(
    line: str, rule: str, tmp_path: Path
) -> None:
    path = written(tmp_path, PLAIN, line)
    error = refusal(path)
    assert error.source == f"{path}:2"
    assert "is not one JSON object" in error.rule
    assert rule in error.rule


@pytest.mark.parametrize("line", ["[1, 2]", "3", '"text"', "null"])
def test_a_line_of_another_kind_is_refused_as_a_task(line: str, tmp_path: Path) -> None:
    assert refusal(written(tmp_path, line)).rule.startswith("the task should be an object, got")


def test_a_task_error_survives_pickling() -> None:
    error = TaskError("a rule", task_id="t", field="now", source="f:3")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "f:3: task 't': field 'now': a rule"
    assert (again.rule, again.task_id, again.field, again.source) == ("a rule", "t", "now", "f:3")


# -- the published schema ---------------------------------------------------------------------------------


def test_the_published_schema_refuses_unknown_keys_and_knows_bare_facts() -> None:
    schema = Task.model_json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"id", "domain", "split", "family", "now", "reference"}
    facts = schema["$defs"]["Script"]["properties"]["facts"]["additionalProperties"]
    assert {"type": "string"} in facts["anyOf"]


# -- hashes, copies, views --------------------------------------------------------------------------------


def test_the_hash_is_of_the_content_in_any_spelling_of_the_file() -> None:
    one = parse_task(json.dumps(PLAIN))
    two = parse_task(json.dumps(dict(reversed(PLAIN.items())), indent=1))
    assert one.hash == two.hash
    assert len(one.hash) == 64
    assert parse_task(json.dumps({**PLAIN, "seed": 1})).hash != one.hash


def test_a_changed_copy_has_a_hash_of_its_own_and_is_admitted_anew() -> None:
    domain = make_domain()
    original = domain.tasks["train"]["cancel"]
    assert original.hash
    changed = original.model_copy(update={"seed": 8})
    assert changed.hash != original.hash
    assert changed.hash == task("cancel", seed=8).hash
    broken = original.model_copy(update={"documents": ("nothing",)})
    with pytest.raises(TaskError, match="there is no document 'nothing'"):
        domain.admit(broken)
    assert original.model_copy(deep=True).hash == original.hash


def test_a_task_survives_pickling_and_copying_without_its_domain() -> None:
    original = make_domain().tasks["train"]["cancel"]
    for again in (pickle.loads(pickle.dumps(original)), copy.deepcopy(original)):
        assert again.hash == original.hash
        assert again.model_dump() == original.model_dump()
    with pytest.raises(TaskError, match="belongs to no loaded domain"):
        pickle.loads(pickle.dumps(original)).view("agent")


def test_predecessors_are_the_action_before_unless_after_says_otherwise() -> None:
    made = task(reference=[CALL, CALL, {**CALL, "after": []}, {**CALL, "after": [0, 1]}])
    assert [made.predecessors(index) for index in range(4)] == [(), (0,), (), (0, 1)]


def sentinel_task() -> Task:
    return task(
        "SENTINEL-id",
        family="SENTINEL-family",
        capabilities=["SENTINEL-capability"],
        notes="SENTINEL-notes",
        meta={"knobs": {"SENTINEL": "SENTINEL"}, "twin_of": "SENTINEL"},
        reference=[
            {"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-reference"}}
        ],
        alternatives=[
            [{"name": "set_address", "arguments": {"account_id": "A1", "address": "SENTINEL-alt"}}]
        ],
        state={"update": {"orders": [{"key": {"order_id": "O3"}, "set": {"item": "SENTINEL-state"}}]}},
        user={
            "persona": "user persona",
            "instructions": "user instructions",
            "script": {
                "opening": "user opening",
                "facts": {"secret": "user fact"},
                "pushback": [{"say": "user pushback"}],
                "declines": [{"say": "user decline"}],
            },
        },
    )


def test_b058_a_view_has_nothing_of_the_task_but_what_its_seat_may_know() -> None:
    domain = make_domain(tasks={"train": [sentinel_task()]})
    admitted = domain.tasks["train"]["SENTINEL-id"]
    agent, user = admitted.view("agent"), admitted.view("user")
    assert "SENTINEL" not in repr(agent)
    assert "SENTINEL" not in repr(user)
    assert "user " not in agent.prompt
    assert agent.scenario is None
    assert domain.policy not in repr(user)
    assert "user fact" in user.prompt
    assert not hasattr(agent, "task")
    assert b"SENTINEL" not in pickle.dumps(agent)
    assert b"SENTINEL" not in pickle.dumps(user)


def test_a_view_is_the_policy_for_the_agent_and_the_scenario_for_the_user() -> None:
    domain = make_domain()
    agent, user = (
        domain.tasks["train"]["confirm"].view("agent"),
        domain.tasks["train"]["confirm"].view("user"),
    )
    assert agent.prompt == "You serve the customers of a small shop. Look before you act."
    assert agent.seat == "agent"
    assert user.seat == "user"
    assert "You begin with: My parcel came." in user.prompt
    assert "- code: XK-7" in user.prompt
    assert [spec.name for spec in user.tools] == ["confirm_order", "use_tool"]


# -- admitting to a domain --------------------------------------------------------------------------------


def refused(**changes: Any) -> TaskError:
    with pytest.raises(TaskError) as caught:
        make_domain().admit(task("bad", **changes))
    assert caught.value.task_id == "bad"
    return caught.value


def test_names_that_do_not_exist_are_refused_by_field() -> None:
    assert refused(domain="bank").field == "domain"
    assert refused(documents=["refnds"]).field == "documents"
    tools = refused(user={"tools": ["confirm"]})
    assert tools.field == "user.tools"
    assert "user tools: confirm_order, rate_order_5" in tools.rule
    assert refused(user={"tools": ["cancel_order"]}).field == "user.tools"


@pytest.mark.parametrize(
    ("state", "field"),
    [
        ({"insert": {"ordres": [{"order_id": "O9"}]}}, "state.insert.ordres.0"),
        ({"insert": {"orders": [{"order": "O9"}]}}, "state.insert.orders.0"),
        ({"insert": {"orders": [{"order_id": "O1"}]}}, "state.insert.orders.0"),
        (
            {"update": {"orders": [{"key": {"order_id": "O9"}, "set": {"item": "x"}}]}},
            "state.update.orders.0",
        ),
        ({"update": {"orders": [{"key": {"item": "lamp"}, "set": {"item": "x"}}]}}, "state.update.orders.0"),
        (
            {"update": {"orders": [{"key": {"order_id": "O1"}, "set": {"price": -1}}]}},
            "state.update.orders.0",
        ),
        ({"delete": {"orders": [{"key": {"order_id": "O9"}}]}}, "state.delete.orders.0"),
        ({"delete": {"accounts": [{"key": {"account_id": "A1"}}]}}, "state.delete.accounts.0"),
    ],
)
def test_a_state_that_does_not_fit_the_schema_is_refused_by_field(state: Any, field: str) -> None:
    assert refused(state=state).field == field


def test_b004_a_reference_that_fails_is_refused_with_task_index_and_the_tools_words() -> None:
    exchange = {"name": "exchange_item", "arguments": {"order_id": "O1", "item": "sofa", "difference": 21.10}}
    error = refused(reference=[CALL, exchange])
    assert error.field == "reference.1"
    assert (
        "'exchange_item' fails (insufficient_funds): the balance does not cover the difference" in error.rule
    )
    other = refused(alternatives=[[CALL], [exchange]])
    assert other.field == "alternatives.1.0"


def test_b004_reset_and_grading_refuse_such_a_task_too() -> None:
    from gym_enterprise import Episode

    domain = make_domain()
    bad = task("bad", reference=[{"name": "cancel_order", "arguments": {"order_id": "O9"}}])
    with pytest.raises(TaskError, match=r"reference.0"):
        Episode(domain, bad)
    episode = Episode(domain, domain.tasks["train"]["cancel"])
    with pytest.raises(TaskError, match=r"reference.0"):
        episode.reset(bad)
    assert episode.task.id == "cancel"
    with pytest.raises(TaskError, match=r"reference.0"):
        domain.grader.targets(bad)


def test_b055_a_target_that_equals_the_initial_state_is_refused() -> None:
    error = refused(reference=[{"name": "list_orders", "arguments": {"account_id": "A1"}}])
    assert error.field == "reference"
    assert "doing nothing would be right" in error.rule
    undone = [CALL, {"name": "reopen_order", "arguments": {"order_id": "O1"}}]
    assert refused(alternatives=[undone]).field == "alternatives.0"
    ungraded_only = [{"name": "get_order", "arguments": {"order_id": "O1"}}]
    assert refused(reference=ungraded_only).field == "reference"


def test_a_reference_goes_on_after_no_terminal_call_and_uses_no_locked_tool() -> None:
    transfer = {"name": "transfer_to_human", "arguments": {"account_id": "A1", "reason": "fraud"}}
    assert "follows a call that ends" in refused(reference=[transfer, CALL]).rule
    expedite = {"name": "expedite_order_77", "arguments": {"order_id": "O2"}}
    assert "(locked)" in refused(reference=[expedite]).rule
    confirm = {"seat": "user", "name": "confirm_order", "arguments": {"order_id": "O1", "code": "x"}}
    assert "(unknown_tool)" in refused(reference=[confirm]).rule


# -- splits -----------------------------------------------------------------------------------------------


def test_splits_are_read_at_first_use_once(tmp_path: Path) -> None:
    path = written(tmp_path, PLAIN)
    domain = make_domain(tasks={"train": path, "test": tmp_path / "nothing.jsonl"})
    first = domain.tasks["train"]
    path.unlink()
    assert domain.tasks["train"] is first
    with pytest.raises(TaskError, match="there is no such file"):
        domain.tasks["test"]


def test_the_same_id_twice_is_refused_within_a_split_and_over_splits_every_time(tmp_path: Path) -> None:
    twice = make_domain(tasks={"train": written(tmp_path, PLAIN, PLAIN)})
    for _ in range(2):
        with pytest.raises(TaskError, match=r"'cancel-1'.*used twice"):
            twice.tasks["train"]
    over = make_domain(tasks={"train": [task("a")], "test": [task("a", split="test")]})
    assert list(over.tasks["train"]) == ["a"]
    for _ in range(2):
        with pytest.raises(TaskError, match=r"'a'.*stands in the splits 'train' and 'test'"):
            over.tasks["test"]


def test_tasks_given_as_a_generator_are_refused_every_time_not_lost() -> None:
    domain = make_domain(tasks={"train": (task(name, documents=["none"]) for name in "ab")})
    for _ in range(2):
        with pytest.raises(TaskError, match="there is no document"):
            domain.tasks["train"]


def test_the_tasks_of_one_domain_can_be_given_to_another() -> None:
    first = make_domain()
    second = make_domain(tasks=first.tasks)
    assert list(second.tasks["train"]) == ["cancel", "expedite", "confirm"]
    assert second.tasks["train"]["cancel"] is first.tasks["train"]["cancel"]


def test_tasks_given_under_another_split_than_their_own_are_refused() -> None:
    with pytest.raises(TaskError, match="field 'split': should be 'test' here, got 'train'"):
        make_domain(tasks={"test": [task("a")]}).tasks["test"]


def test_unknown_ids_splits_and_domains_are_refused_with_what_there_is() -> None:
    domain = make_domain()
    with pytest.raises(
        UnknownTask, match="no task 'cancle' in shop/train; it has 3: cancel, expedite, confirm"
    ):
        domain.tasks["train"]["cancle"]
    with pytest.raises(UnknownTask, match="'cancle'"):
        domain.task("cancle")
    with pytest.raises(UsageError, match="no split 'dev'; splits: train, validation, test"):
        domain.tasks["dev"]
    with pytest.raises(UnknownDomain, match="no domain 'shopp'; domains: banking"):
        load_domain("shopp")
    with pytest.raises(UnknownDomain, match=r"no module 'tests.nowhere'"):
        load_domain("tests.nowhere:make")
    with pytest.raises(UnknownDomain, match=r"module 'tests.shop' has no 'make_dom'"):
        load_domain("tests.shop:make_dom")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import json\n\ndef make(:\n", "SyntaxError: invalid syntax .*line 3"),
        ("import json\nfrom gym_enterprise import Dates\n", "ImportError: .*Dates.*line 2"),
        ("import nowhere_at_all\n", "ModuleNotFoundError: .*nowhere_at_all.*line 1"),
        ("\n\n1 / 0\n", "ZeroDivisionError: division by zero .*line 3"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_with_the_line_to_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    (tmp_path / "broken_domain.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(UsageError, match=rf"'broken_domain' cannot be imported: {told}"):
        load_domain("broken_domain:make")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("orders.id", "marks 'order_id' with Key.'orders.id'., .* columns of 'orders': order_id,"),
        ("order.order_id", "tables: "),
        ("order_id", "tables: "),
    ],
)
def test_a_key_of_no_column_is_refused(column: str, told: str) -> None:
    shop = make_domain()
    look = shop.toolset("agent").get("get_order")
    assert look is not None
    marked = replace(look, keys={"order_id": column})
    with pytest.raises(UsageError, match=told):
        Domain("shop", shop.image, [marked], "", {"train": []})


def test_tasks_and_splits_are_mappings_whose_get_has_a_default() -> None:
    domain = make_domain()
    assert domain.tasks["train"].get("nothing") is None
    assert domain.tasks.get("dev") is None
    assert domain.tasks["train"].get("cancel") is domain.task("cancel")
    assert str(UnknownTask("no such task")) == "no such task"


@pytest.mark.parametrize("odd", [None, 3, ["cancel"], {}, ("cancel",)])
def test_an_id_of_another_kind_is_an_unknown_task(odd: Any) -> None:
    domain = make_domain()
    with pytest.raises(UnknownTask):
        domain.tasks["train"][odd]
    with pytest.raises(UnknownTask):
        domain.task(odd)
    assert odd not in domain.tasks["train"]


def test_a_loaded_domain_is_one_object() -> None:
    assert load_domain("shop") is load_domain("shop")
    assert load_domain("tests.shop:make_domain") is load_domain("tests.shop:make_domain")
    assert pickle.loads(pickle.dumps(load_domain("shop"))) is load_domain("shop")
    assert copy.deepcopy(load_domain("shop")) is load_domain("shop")


def test_a_domain_built_by_hand_says_how_it_could_be_pickled() -> None:
    with pytest.raises(TypeError, match="register it with register_domain"):
        pickle.dumps(make_domain())


def test_a_name_is_registered_once() -> None:
    register_domain("shop", "tests.shop:make_domain")
    with pytest.raises(UsageError, match=r"'shop' is taken by 'tests.shop:make_domain'"):
        register_domain("shop", "elsewhere:make")
    with pytest.raises(UsageError, match="module:function"):
        register_domain("other", "elsewhere")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("stop_tokens", "###STOP###"),
        ("stop_tokens", [""]),
        ("stop_tokens", ["ok", " "]),
        ("stop_tokens", [3]),
        ("first_speaker", "bot"),
        ("max_steps", 0),
        ("max_steps", 1.5),
        ("max_steps", True),
        ("max_errors", -1),
        ("truncation_reward", "half"),
    ],
)
def test_a_setting_of_a_domain_that_is_none_is_refused_when_it_is_built(setting: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"domain 'shop': {setting} should be .*got") as caught:
        make_domain(**{setting: value})
    assert repr(value) in str(caught.value)


def test_domains_are_built_lazily_so_that_one_bad_split_spoils_no_other() -> None:
    domain: Domain = make_domain(tasks={"train": [task("good")], "test": [task("bad", domain="bank")]})
    assert list(domain.tasks["train"]) == ["good"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reference": [{"name": "nope", "arguments": {}}]}, "reference.0"),
        ({"documents": ["nope"]}, "documents"),
        ({"user": {"tools": ["nope"]}}, "user.tools"),
        ({"state": {"delete": {"orders": [{"key": {"order_id": "O9"}}]}}}, "state.delete"),
    ],
)
def test_what_is_wrong_with_a_task_for_its_domain_names_file_and_line(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    lines = [task("good").model_dump_json(), "", task("bad").model_copy(update={}).model_dump_json()]
    lines[2] = json.dumps(json.loads(lines[2]) | change)
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(TaskError, match=re.escape(f"{path}:3: task 'bad'")) as caught:
        make_domain(tasks={"train": path}).tasks["train"]
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"tools": [len]}, "@tool"), ({"tasks": []}, "by split")],
)
def test_a_domain_is_checked_when_it_is_built(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_domain(**changes)


def test_an_entry_point_that_returns_no_domain_is_named() -> None:
    with pytest.raises(UsageError, match="should return a Domain"):
        load_domain("os:getcwd")


def test_a_task_equals_another_of_the_same_content_wherever_it_came_from() -> None:
    loaded = load_domain("shop").tasks["train"]["cancel"]
    assert pickle.loads(pickle.dumps(loaded)) == loaded == Task.model_validate_json(loaded.model_dump_json())
    assert len({loaded, copy.copy(loaded), loaded.model_copy(update={"seed": 8})}) == 2


def test_an_id_used_twice_in_a_file_names_the_line_of_the_second(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text("\n".join([task("a").model_dump_json(), task("a").model_dump_json()]))
    with pytest.raises(TaskError, match=re.escape(f"{path}:2")):
        make_domain(tasks={"train": path}).tasks["train"]
