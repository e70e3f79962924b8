"""`write_report` and `gym-enterprise view`: what stands in the file; `test_report_browser.py` looks at it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gym_enterprise import Call, Episode, Grade, Message, UsageError, run_episode
from gym_enterprise.cli.app import make_app
from gym_enterprise.harness.report import difference, page, source, write_report
from gym_enterprise.harness.results import open_run, read_run
from tests.harness.records import did, record, said, trials
from tests.harness.reports import played, saved, told, written
from tests.shop import make_domain

TRAP = "</script><img src=x onerror=alert(1)><!--<script>"


class Talker:
    """Says that it is done, and does nothing."""

    def __init__(self, view: Any, seed: int) -> None: ...

    def act(self, observation: Any) -> dict[str, Any]:
        return {"type": "stop", "content": "Done."}


def view(*arguments: Any) -> tuple[int, str, str]:
    result = CliRunner().invoke(make_app(), ["view", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


# -- what the page is given -------------------------------------------------------------------------------


def test_the_overview_has_the_numbers_of_the_summary(tmp_path: Path) -> None:
    found, report = written(played(tmp_path / "oracle", make_domain(), trials=2))
    overview = found["overview"]
    summary = overview["summary"]
    # Three tasks, all passed: 1 - 0.025^(1/3) = 0.708 (Clopper and Pearson).
    headline = "pass@1 100.0% (95% interval 29.2% to 100.0%); 6 of 6 scored episodes passed"
    assert summary["headline"] == headline
    assert summary["by_family"]["orders"]["scored"] == 6
    assert summary["pass_hat_k"] == {"1": 1.0, "2": 1.0}
    assert summary["look_before_act"]["episodes"] == 6
    assert overview["run"]["name"] == "oracle"
    assert overview["run"]["configuration"]["agent"] == "oracle"
    assert overview["ends"] == [{"reason": "user_stop", "passed": 6}]
    assert (overview["notes"], report.notes, overview["missing"]) == ([], (), 0)
    assert f'<noscript><p class="banner">{headline}.' in report.path.read_text()


def test_tasks_and_episodes_stand_in_the_order_of_the_run(tmp_path: Path) -> None:
    domain = make_domain()
    found, _ = written(played(tmp_path / "run", domain, trials=2, most=4))
    tasks = found["overview"]["tasks"]
    assert [task["id"] for task in tasks] == ["cancel", "expedite", "confirm"]
    assert [[one["trial"] for one in task["episodes"]] for task in tasks] == [[0, 1], [0], [0]]
    assert [task["unplayed"] for task in tasks] == [0, 1, 1]
    assert tasks[0]["hash"] == domain.task("cancel").hash
    for task in tasks:
        for episode in task["episodes"]:
            details = found[f"episode-{episode['number']}"]
            assert (details["task"], details["trial"]) == (task["id"], episode["trial"])


def test_a_run_that_is_not_finished_says_so_before_any_rate(tmp_path: Path) -> None:
    found, _ = written(played(tmp_path / "run", make_domain(), trials=2, most=4))
    assert found["overview"]["summary"]["headline"].startswith("INCOMPLETE: only 4 of 6 episodes scored; ")
    assert found["overview"]["missing"] == 2


def test_an_episode_has_what_was_said_and_called_in_order(tmp_path: Path) -> None:
    domain = make_domain()
    transcript = (
        *said("user", "Hello"),
        *did("get_order", order_id="O1"),
        *did("get_order", error="unknown_order", order_id="O9"),
        *said("agent", "Done."),
        *did("confirm_order", seat="user", code="X"),
    )
    run = saved(tmp_path / "run", record("cancel", transcript=transcript))
    details = written(run, domain=domain)[0]["episode-0"]
    assert [(one["seat"], one["at"]) for one in details["entries"]] == [
        ("user", 0),
        ("agent", 2),
        ("agent", 4),
        ("agent", 5),
        ("user", 7),
    ]
    hello, good, bad, _, users = details["entries"]
    assert hello["text"] == "Hello"
    assert (good["call"], good["arguments"], good["ok"]) == ("get_order", '{"order_id": "O1"}', True)
    assert good["result"] == '{"ok": true, "result": 1}'
    assert (bad["ok"], bad["code"]) == (False, "unknown_order")
    assert users["call"] == "confirm_order"


def test_a_call_shows_what_was_said_beside_it_the_tool_it_came_to_and_whether_it_has_an_outcome(
    tmp_path: Path,
) -> None:
    call = Call("c7", "get_order", '{"order_id": "O1"}')
    transcript = (
        *told("use_tool", "expedited", name="expedite_order_77", arguments={"order_id": "O2"}),
        ("agent", Message(0, "agent", "Let me look.", call)),
        ("agent", Message(0, "tool", '{"ok": true, "result": 1}', call)),
        ("agent", Message(0, "agent", "", call)),
    )
    run = saved(tmp_path / "run", record(transcript=transcript))
    inside, beside, unanswered = written(run)[0]["episode-0"]["entries"]
    assert (inside["call"], inside["inner"]) == ("use_tool", "expedite_order_77")
    assert (beside["said"], beside["id"], beside["at"]) == ("Let me look.", "c7", 3)
    assert "ok" not in unanswered
    assert unanswered["at"] == 4


def test_prompts_come_from_the_domain_and_are_kept_once(tmp_path: Path) -> None:
    domain = make_domain(policy="You serve the customers of a small shop. " + "Be kind. " * 50)
    found, _ = written(played(tmp_path / "run", domain, trials=2), domain=domain)
    prompts = [task["prompts"] for task in found["overview"]["tasks"]]
    assert len({prompt["agent"] for prompt in prompts}) == 1
    assert found["texts"][prompts[0]["agent"]] == domain.policy
    assert "Please cancel an order of mine." in found["texts"][prompts[0]["user"]]


def test_texts_that_episodes_share_stand_in_the_file_once(tmp_path: Path) -> None:
    long = "A long document. " * 600
    records = trials("t", "111", transcript=(*said("user", long), *did("kb_read", text=long)))
    found, report = written(saved(tmp_path / "run", *records, trials=3))
    text = report.path.read_text()
    assert text.count(long) == 2  # the message, and the same words inside of the arguments
    assert found["texts"][found["episode-2"]["entries"][0]["text"]] == long


def test_token_streams_are_counted_and_not_embedded(tmp_path: Path) -> None:
    segment = {"ids": [7654321, 2, 3], "sampled": [0, 1, 1], "logprobs": [0.0, -1.5, -2.5]}
    found, report = written(saved(tmp_path / "run", record(segments=(segment, segment))))
    assert found["episode-0"]["segments"] == {"segments": 2, "tokens": 6, "sampled": 4}
    assert found["overview"]["summary"]["drift"] == 1
    assert "7654321" not in report.path.read_text()


def test_usage_timings_seeds_and_faults_are_there(tmp_path: Path) -> None:
    made = record(
        seed=2**62 + 1,
        usage={"agent": {"tokens_in": 700, "tokens_out": 30}, "user": {"tokens_in": 5, "tokens_out": 1}},
        timings={"total": 1.5, "agent": 1.0},
        grade=Grade(1.0, "fine", {}, {"state": True, "user_faults": {"role_flip": 1}}),
        faults={"agent": {"cut": 2}, "user": {}},
    )
    found, _ = written(saved(tmp_path / "run", made))
    details = found["episode-0"]
    assert details["seed"] == "4611686018427387905"  # as text: a browser's numbers are not exact there
    assert details["usage"]["agent"] == {"tokens_in": 700, "tokens_out": 30}
    assert details["checks"] == {"state": "true", "user_faults": '{"role_flip": 1}'}
    assert details["faults"] == {"agent": {"cut": 2}}
    assert found["overview"]["summary"]["faults"]["agent"] == {"cut": 2}
    assert found["overview"]["usage"]["user"] == {"tokens_in": 5, "tokens_out": 1, "episodes": 1}
    assert found["overview"]["timings"] == {"total": 1.5, "agent": 1.0}
    assert found["overview"]["tasks"][0]["episodes"][0]["tokens"] == 730


# -- the difference of the databases ----------------------------------------------------------------------


def test_the_difference_shows_before_wanted_and_got_of_each_column() -> None:
    inserted = {"table": "credits", "key": {"id": "c1"}, "op": "insert", "values": {"id": "c1", "n": 5}}
    updated = {"table": "orders", "key": {"id": "O1"}, "op": "update"}
    diff = {
        "missing": [inserted],
        "extra": [updated | {"values": {"status": "open"}, "before": {"status": "shut"}}],
        "changed": [
            updated
            | {"values": {"n": 5.0, "a": 1}, "before": {"n": 4, "a": 0}}
            | {"wanted": updated | {"values": {"n": 5}, "before": {"n": 4}}}
        ],
    }
    missing, extra, changed = difference.rows(diff)
    assert (missing["kind"], missing["table"], missing["wanted"], missing["got"]) == (
        "missing",
        "credits",
        "insert",
        None,
    )
    assert missing["key"] == [["id", '"c1"']]
    assert missing["columns"] == [["id", None, '"c1"', None], ["n", None, "5", None]]
    assert extra["columns"] == [["status", '"shut"', '"shut"', '"open"']]
    assert changed["columns"] == [["n", "4", "5", "5.0"], ["a", "0", "0", "1"]]
    assert difference.tags(diff) == ["missing credits", "extra orders", "changed orders"]


def test_a_deleted_row_shows_what_it_held() -> None:
    row = {"table": "orders", "key": {"id": "O1"}, "op": "delete", "before": {"id": "O1", "n": 1}}
    assert difference.rows({"missing": [row]})[0]["columns"] == [
        ["id", '"O1"', None, '"O1"'],
        ["n", "1", None, "1"],
    ]


def test_what_else_a_grader_puts_into_its_difference_is_kept() -> None:
    assert difference.rows({"criteria": {"polite": False}, "missing": "three"}) == []
    assert difference.rest({"criteria": {"polite": False}, "missing": []}) == {
        "criteria": '{"polite": false}'
    }


def test_what_looks_like_rows_and_is_none_is_shown_as_it_is() -> None:
    odd: list[Any] = [5, {"key": "c1"}, {"key": {}, "values": None}, {"wanted": {"before": [1]}}]
    for row in odd:
        assert difference.rows({"changed": [row]}) == []
        assert difference.rest({"changed": [row]}) == {"changed": json.dumps([row])}
        assert difference.tags({"changed": [row]}) == []


def test_what_failed_episodes_got_wrong_is_counted_by_table(tmp_path: Path) -> None:
    found, _ = written(played(tmp_path / "run", make_domain(), agent=Talker))
    assert found["overview"]["wrong"] == {"missing orders": 2, "missing confirmations": 1}
    assert found["overview"]["tasks"][0]["episodes"][0]["wrong"] == ["missing orders"]
    (row,) = found["episode-0"]["diff"]
    assert row["columns"] == [["status", '"open"', '"cancelled"', '"open"']]


# -- documents --------------------------------------------------------------------------------------------


def documents_of(tmp_path: Path, *transcript: Any) -> dict[str, Any]:
    domain = make_domain()
    run = saved(tmp_path / "run", record("cancel", transcript=transcript))
    return written(run, domain=domain)[0]["episode-0"]


def test_documents_are_opened_by_reading_and_found_by_searching(tmp_path: Path) -> None:
    hit = {"document_id": "refunds", "title": "Refund policy", "snippet": "A refund is a credit."}
    whole = {"document_id": "ratings", "title": "Ratings", "content": "Give the customer ..."}
    details = documents_of(
        tmp_path, *told("kb_search", [hit], query="refund"), *told("kb_read", whole, document_id="ratings")
    )
    assert [(one["id"], one["opened"], one["entry"], one["tool"]) for one in details["documents"]] == [
        ("refunds", False, 1, "kb_search"),
        ("ratings", True, 3, "kb_read"),
    ]
    assert details["references"] == [{"id": "refunds", "title": "Refund policy", "state": "found"}]


def test_a_document_of_the_reference_is_opened_before_the_first_change_or_after_it(tmp_path: Path) -> None:
    whole = {"document_id": "refunds", "title": "Refund policy", "content": "A refund is a credit."}
    read, change = told("kb_read", whole, document_id="refunds"), did("cancel_order", order_id="O1")
    assert documents_of(tmp_path / "a", *read, *change)["references"][0]["state"] == "before"
    assert documents_of(tmp_path / "b", *change, *read)["references"][0]["state"] == "opened"
    assert documents_of(tmp_path / "c", *change)["references"][0]["state"] == "never"


def test_a_document_that_a_tool_returns_in_prose_is_opened(tmp_path: Path) -> None:
    content = next(one.content for one in make_domain().documents if one.id == "refunds")
    prose = (
        f"1. Refund policy (id: refunds, score: 3.1)\n{content}\n\n2. Expediting\nOrders can be sent today."
    )
    (one,) = documents_of(tmp_path, *told("KB_search", prose, query="refund"))["documents"]
    assert (one["id"], one["opened"], one["tool"]) == ("refunds", True, "KB_search")


# -- what is missing --------------------------------------------------------------------------------------


def test_a_run_of_an_unknown_domain_is_shown_from_its_records_alone(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["configuration"]["domain"] = "nowhere"
    (run / "manifest.json").write_text(json.dumps(manifest))
    found, report = written(run)
    (note,) = report.notes
    assert note.startswith("The domain 'nowhere' could not be loaded (UnknownDomain: ")
    assert "families" in note
    assert found["overview"]["summary"]["by_family"] == {}
    assert found["overview"]["summary"]["look_before_act"] is None
    assert found["overview"]["summary"]["overall"]["passed"] == 3
    assert found["episode-0"]["references"] is None


def test_a_domain_whose_module_fails_does_not_stop_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_domain.py").write_text("raise RuntimeError('no licence')")
    monkeypatch.syspath_prepend(tmp_path)
    run = saved(tmp_path / "run", record(), domain="broken_domain:make")
    assert "RuntimeError: no licence" in written(run)[1].notes[0]


def test_a_task_that_has_changed_is_named_and_the_others_are_shown_whole(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    manifest = (run / "manifest.json").read_text()
    digest = make_domain().task("cancel").hash
    (run / "manifest.json").write_text(manifest.replace(digest, "0" * 64))
    lines = (run / "trajectories.jsonl").read_text()
    (run / "trajectories.jsonl").write_text(lines.replace(digest, "0" * 64))
    found, report = written(run)
    assert report.notes == (
        "Tasks that have changed since they were played: cancel; their families, capabilities, system "
        "prompts and documents are not shown.",
    )
    assert sorted(found["overview"]["summary"]["by_family"]) == ["(not known)", "orders"]
    assert "prompts" not in found["overview"]["tasks"][0]
    assert "prompts" in found["overview"]["tasks"][1]


@pytest.mark.parametrize("edited", ["manifest.json", "trajectories.jsonl"])
def test_a_hash_that_differs_between_record_and_manifest_costs_only_that_tasks_parts(
    tmp_path: Path, edited: str
) -> None:
    run = played(tmp_path / "run", make_domain(), trials=2)
    digest = make_domain().task("cancel").hash
    text = (run / edited).read_text()
    (run / edited).write_text(text.replace(digest, "0" * 64, 1))  # of two records only one
    found, report = written(run)
    assert report.notes == (
        "Tasks whose content has another hash in a record than in the manifest or another record: cancel; "
        "their families, capabilities, system prompts and documents are not shown.",
    )
    assert found["overview"]["summary"]["overall"]["passed"] == 6
    assert ["prompts" in task for task in found["overview"]["tasks"]] == [False, True, True]


def test_tasks_that_are_gone_or_cannot_be_read_are_named(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    gone = make_domain(tasks={"train": [make_domain().task("confirm")]})
    assert written(run, domain=gone)[1].notes[0] == (
        "Tasks that the domain 'shop' does not have: cancel, expedite; their families, capabilities, system "
        "prompts and documents are not shown."
    )
    (tmp_path / "tasks.jsonl").write_text("no task\n")
    broken = make_domain(tasks={"train": tmp_path / "tasks.jsonl"})
    (note,) = written(run, domain=broken)[1].notes
    assert note.startswith("Tasks that could not be read (TaskError: ")
    assert "cancel, expedite, confirm" in note


def test_documents_that_have_changed_are_told(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    other = make_domain(documents=make_domain().documents[::-1])
    assert written(run, domain=other)[1].notes == (
        "The domain's documents are others now than when the run was made.",
    )


def test_a_line_that_is_still_being_written_is_left_out_and_told(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    with (run / "trajectories.jsonl").open("a") as file:
        file.write('{"domain": "shop", "task_id": "canc')
    found, report = written(run)
    assert report.notes[0].startswith("The last line of trajectories.jsonl is not finished")
    assert sum(name.startswith("episode-") for name in found) == 3


def test_attempts_that_were_played_again_are_told(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", record(reward=None), record(reward=1.0))
    assert "1 earlier attempts that broke, and were played again, are left out." in written(run)[1].notes


def test_an_empty_run_and_one_without_a_scored_episode_have_a_report(tmp_path: Path) -> None:
    found, _ = written(saved(tmp_path / "empty"))
    assert found["overview"]["tasks"] == found["texts"] == []
    assert "INCOMPLETE" in found["overview"]["summary"]["headline"]
    found, _ = written(saved(tmp_path / "broken", *trials("t", "---"), trials=3))
    assert found["overview"]["summary"]["headline"].startswith("INCOMPLETE: 0 of 3 episodes scored")
    assert found["overview"]["ends"] == [{"reason": "engine_error", "unscored": 3}]
    assert found["episode-0"]["error"] == "429, retries exhausted"


def test_what_broke_is_counted_by_its_beginning(tmp_path: Path) -> None:
    errors = ["503", "503", "x" * 300 + "1", "x" * 300 + "2"]
    records = [record("t", trial, None, error=error) for trial, error in enumerate(errors)]
    causes = written(saved(tmp_path / "run", *records, trials=4))[0]["overview"]["summary"]["causes"]
    assert causes == {"503": 2, "x" * 239 + "…": 2}


def test_references_that_cannot_be_played_cost_look_before_act_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no such table")

    run = played(tmp_path / "run", make_domain())
    monkeypatch.setattr(source, "quiet_tools", fails)
    found, report = written(run)
    assert report.notes == (
        "The references of the tasks cannot be played (RuntimeError: no such table): look-before-act is "
        "not shown.",
    )
    assert found["overview"]["summary"]["look_before_act"] is None
    assert found["overview"]["summary"]["by_family"]["orders"]["passed"] == 3


# -- the file ---------------------------------------------------------------------------------------------


def test_no_text_of_an_episode_ends_the_element_that_holds_it(tmp_path: Path) -> None:
    made = record(TRAP, transcript=(*said("user", TRAP), *did(TRAP, **{TRAP: TRAP})), reason=TRAP)
    folder = saved(tmp_path / "run", made, agent=TRAP)
    plain = saved(tmp_path / "plain", record())
    text = written(folder)[1].path.read_text()
    assert text.count("</script") == written(plain)[1].path.read_text().count("</script")
    assert "<img" not in text
    found = written(folder)[0]
    assert found["episode-0"]["entries"][0]["text"] == TRAP
    assert found["overview"]["tasks"][0]["id"] == TRAP


@pytest.mark.parametrize(
    ("name", "title"), [("<b>&", "&lt;b&gt;&amp;"), ("naïve", "na&#239;ve"), ("$title", "$title")]
)
def test_the_name_of_the_folder_is_text_in_the_title(tmp_path: Path, name: str, title: str) -> None:
    text = written(saved(tmp_path / name, record()))[1].path.read_text("ascii")
    assert f"<title>{title} - gym-enterprise</title>" in text


@pytest.mark.parametrize("odd", ["\ud800", "\u2028\u2029", "\x00\x07\x1b[31m", "😀\u202e", "\ufeff\uffff"])
def test_odd_characters_survive_in_an_ascii_file(tmp_path: Path, odd: str) -> None:
    found, report = written(saved(tmp_path / "run", record(transcript=said("user", f"a{odd}b"))))
    assert found["episode-0"]["entries"][0]["text"] == f"a{odd}b"
    assert report.path.read_bytes().isascii()


def test_the_page_allows_its_own_style_and_program_and_nothing_else(tmp_path: Path) -> None:
    text = written(saved(tmp_path / "run", record()))[1].path.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (program,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    for name, content in {"style-src": style, "script-src": program}.items():
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "innerHTML" not in program
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", text.replace(program, "")) == []
    assert re.findall(r"(?:url\(|@import)", style) == []


def test_the_table_is_drawn_before_the_episodes_are_read(tmp_path: Path) -> None:
    text = written(saved(tmp_path / "run", record()))[1].path.read_text()
    places = [text.index(part) for part in ('id="overview"', "<script>", 'id="episode-0"', 'id="texts"')]
    assert places == sorted(places)


def test_the_same_run_makes_the_same_bytes(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    first = write_report(run, tmp_path / "a.html").path.read_bytes()
    assert write_report(read_run(run), tmp_path / "b.html").path.read_bytes() == first


def test_a_report_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = played(tmp_path / "run", make_domain())
    report = write_report(run, run / "report.html")
    before = report.path.read_bytes()

    def full(*_: Any) -> Any:
        yield "<!doctype html>"
        raise OSError("no space left")

    monkeypatch.setattr(page, "page", full)
    with pytest.raises(OSError, match="no space left"):
        write_report(run, run / "report.html")
    assert report.path.read_bytes() == before
    assert sorted(one.name for one in run.iterdir()) == [
        "lock",
        "manifest.json",
        "report.html",
        "trajectories.jsonl",
    ]


def test_a_run_with_a_report_in_its_folder_can_be_resumed(tmp_path: Path) -> None:
    domain = make_domain()
    run = played(tmp_path / "run", domain, most=1)
    write_report(run, run / "report.html")
    tasks = domain.tasks["train"]
    configuration = read_run(run).manifest["configuration"]
    with open_run(run, configuration, resume=True, domain=domain, tasks=tasks.values()) as more:
        for task_id, trial in more.missing():
            more.append(run_episode(Episode(domain, tasks[task_id]), "oracle", trial=trial))
    assert written(run)[0]["overview"]["summary"]["complete"]


def test_numbers_that_json_does_not_know_are_left_out(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", record(timings={"total": 1.5}))
    file = run / "trajectories.jsonl"
    file.write_text(file.read_text().replace('"total":1.5', '"total":NaN'))
    assert written(run)[0]["episode-0"]["timings"] == {"total": None}


# -- the command ------------------------------------------------------------------------------------------


def test_view_writes_into_the_folder_of_the_run_and_says_where_and_how_large(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    code, output, told_ = view(run)
    file = run / "report.html"
    assert (code, told_) == (0, "")
    assert output == f"{file} ({round(file.stat().st_size / 1e3)} KB)\n"
    assert file.read_text().startswith("<!doctype html>")


def test_view_writes_elsewhere_and_tells_what_is_missing(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", dataclasses.replace(record(), domain="nowhere"))
    code, _, told_ = view(run, "--out", tmp_path / "new" / "a.html")
    assert code == 0
    assert told_.startswith("note: The domain 'nowhere' could not be loaded")
    assert (tmp_path / "new" / "a.html").exists()


def test_view_opens_the_browser_only_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    run = played(tmp_path / "run", make_domain())
    view(run)
    view(run, "--no-open")
    assert opened == []
    view(run, "--open")
    assert opened == [(run / "report.html").as_uri()]


def test_mistakes_name_what_is_wrong(tmp_path: Path) -> None:
    run = played(tmp_path / "run", make_domain())
    with pytest.raises(UsageError, match="is not a run"):
        view(tmp_path)
    with pytest.raises(UsageError, match="is a folder: name the file"):
        view(run, "--out", tmp_path)
    with pytest.raises(UsageError, match="run of the domain 'shop', not of 'banking'"):
        view(run, "--domain", "banking")
    with pytest.raises(UsageError, match="no domain 'nowhere'"):
        view(run, "--domain", "nowhere")
    assert not (run / "report.html").exists()
