"""The command line: what it prints, and how it fails."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gym_enterprise import UsageError, load_domain
from gym_enterprise.cli.app import make_app
from gym_enterprise.tasks import load_tasks
from kb import check_knowledge_base, load_knowledge_base

SHOP = "tests.shop:make_domain"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(make_app(), list(arguments))
    return result.exit_code, result.output


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from gym_enterprise.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "COLUMNS": "200"},
    )


def test_without_arguments_it_prints_help() -> None:
    _, output = run()
    assert "demo" in output
    assert "tasks" in output
    assert "kb" in output


def test_the_demo_shows_a_reward_of_1_and_one_of_0() -> None:
    code, output = run("demo")
    assert code == 0
    assert "reward 1.0" in output
    assert "reward 0.0" in output
    assert "Documents found" in output
    assert "missing:" in output


def test_the_demo_takes_a_domain_and_a_task() -> None:
    code, output = run("demo", "--domain", SHOP, "--task", "expedite")
    assert code == 0
    assert "expedite_order_77" in output


@pytest.mark.slow
def test_tasks_check_of_the_bank_passes_with_counts() -> None:
    code, output = run("tasks", "check", "banking", "--json")
    report = json.loads(output)
    rows = {(row["kind"], row["name"]): row for row in report["summary"]}
    assert code == 0
    assert report["tasks"] == 124
    assert report["failures"] == []
    assert rows["reference", "replay"]["reward_1"] == 124
    for (kind, name), row in rows.items():
        if name in ("knobs", "calls"):  # looked at, not played
            assert row["reward_1"] is None
            continue
        wanted = 0 if kind == "attack" else row["applicable"]
        assert row["reward_1"] == wanted, (kind, name)


def test_tasks_check_takes_one_split_or_one_task() -> None:
    assert json.loads(run("tasks", "check", SHOP, "--split", "train", "--json")[1])["tasks"] > 1
    assert json.loads(run("tasks", "check", SHOP, "--task", "cancel", "--json")[1])["tasks"] == 1


def test_tasks_check_of_a_task_set_with_a_leak_exits_with_1() -> None:
    """The shop's cancellation, declared as having siblings, with a domain attack that is the right answer."""
    code, output = run("tasks", "check", "tests.leaky:make_domain", "--json")
    assert code == 1
    assert [failure["name"] for failure in json.loads(output)["failures"]] == ["answer"]


def test_tasks_check_of_a_broken_task_exits_with_1_and_says_where() -> None:
    code, output = run("tasks", "check", "tests.leaky:make_broken_domain")
    assert code == 1
    assert "reference.0" in output
    assert "insufficient_funds" in output


def test_tasks_list_and_show() -> None:
    assert len(json.loads(run("tasks", "list", "banking", "--json")[1])) == 124
    shown = json.loads(run("tasks", "show", SHOP, "cancel")[1])
    assert shown["reference"][1]["name"] == "cancel_order"


def test_tasks_schema_is_a_json_schema_with_the_required_fields() -> None:
    schema = json.loads(run("tasks", "schema")[1])
    assert schema["required"] == ["id", "domain", "split", "family", "now", "reference"]


def test_tasks_make_writes_a_file_a_split_the_same_each_time(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        code, output = run(
            "tasks", "make", "banking", "--seed", "5", "--n", "4", "--out", str(tmp_path / name)
        )
        assert code == 0, output
        files = sorted((tmp_path / name).iterdir())
        assert [file.name for file in files] == ["test.jsonl", "train.jsonl", "validation.jsonl"]
        texts.append([file.read_bytes() for file in files])
    assert texts[0] == texts[1]
    tasks = load_tasks(tmp_path / "one" / "test.jsonl", domain="banking", split="test")
    assert len(tasks) == 4
    assert load_domain("banking").admit(tasks[0]) is tasks[0]


def test_tasks_make_takes_families_and_a_split_and_replaces_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("old\n")
    common = ("--families", "due_day, freeze_card", "--split", "train", "--out", str(tmp_path))
    code, output = run("tasks", "make", "banking", "--seed", "5", "--n", "3", *common)
    assert (code, [file.name for file in tmp_path.iterdir()]) == (0, ["train.jsonl"])
    assert "3 tasks in 2 families" in " ".join(output.split())
    families = [task.family for task in load_tasks(tmp_path / "train.jsonl", domain="banking")]
    assert families == ["due_day", "freeze_card", "due_day"]


def test_kb_search_ranks_and_kb_read_prints() -> None:
    hits = json.loads(run("kb", "search", SHOP, "refund", "--json")[1])
    assert [hit["document_id"] for hit in hits] == ["refunds"]
    assert "A refund is a credit." in run("kb", "read", SHOP, "refunds")[1]
    assert "No document matches." in run("kb", "search", SHOP, "zebra")[1]


def test_kb_search_ranks_as_it_is_told_to_and_refuses_what_is_no_way() -> None:
    query = ("kb", "search", "banking", "lost card", "-k", "1")
    assert run(*query, "--retrieval", "bm25") == run(*query)
    with pytest.raises(UsageError, match="choose one of bm25, dense, hybrid"):
        CliRunner().invoke(make_app(), [*query, "--retrieval", "bm2"], catch_exceptions=False)


def test_the_demo_names_the_python_that_can_run_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setattr(sys, "executable", "/opt/env/bin/python")
    assert "Next: opt/env/bin/python examples/first_episode.py" in run("demo")[1]
    monkeypatch.chdir(tmp_path)
    assert "Next: /opt/env/bin/python examples/first_episode.py" in run("demo")[1]


def test_paragraphs_of_help_are_filled_whatever_the_lines_of_the_source() -> None:
    shown = run_process("kb", "eval", "--help").stdout
    assert "Of several searches of one reference, the one that ranks" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tasks", "list", "casino"], ["casino", "banking"]),
        (["tasks", "list", "banking", "--split", "dev"], ["dev", "validation"]),
        (["tasks", "show", "banking", "nope"], ["nope"]),
        (["tasks", "make", SHOP, "--seed", "1", "--n", "1", "--out", "x"], ["shop", "procedures"]),
        (
            ["tasks", "make", "banking", "--seed", "1", "--n", "1", "--families", "loans", "--out", "x"],
            ["loans", "freeze_card"],
        ),
        (
            ["tasks", "make", "banking", "--seed", "1", "--n", "1", "--split", "dev", "--out", "x"],
            ["dev", "validation"],
        ),
        (["kb", "read", "banking", "../tasks"], ["../tasks", "search"]),
        (["demo", "--task", "nope"], ["nope"]),
    ],
    ids=" ".join,
)
def test_a_wrong_name_is_one_line_on_standard_error_and_exit_code_2(
    arguments: list[str], words: list[str]
) -> None:
    done = run_process(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in done.stderr


def test_an_entry_point_is_looked_up_in_the_current_folder(tmp_path: Path) -> None:
    """The command is installed elsewhere, so the folder is not on its path by itself."""
    (tmp_path / "corner.py").write_text("from tests.shop import make_domain\n")
    program = "import sys; sys.path.remove(''); from gym_enterprise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "tasks", "list", "corner:make_domain", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 3


def test_a_terminal_without_unicode_gets_escapes_rather_than_a_crash() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gym_enterprise", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert "reward 1.0" in done.stdout


def test_kb_facts_tells_values_days_and_places() -> None:
    output = run("kb", "facts", "banking", "fees.delivery.express")[1]
    assert "fees.delivery.express (money): $15.00 (since 2024-03-01 until 2025-10-31); $18.00" in output
    assert "delivery-of-cards:6" in output
    (row,) = json.loads(run("kb", "facts", "banking", "rules.fees.once", "--json")[1])
    assert row["values"] == ["One fee is given back once."]
    assert "No fact begins with 'none'" in run("kb", "facts", "banking", "none")[1]


def test_kb_check_passes_on_the_bank_and_names_the_places_of_what_it_finds(tmp_path: Path) -> None:
    code, output = run("kb", "check", "banking")
    assert (code, "all checks passed" in output) == (0, True)
    (tmp_path / "a.md").write_text('+++\nid = "a"\ntitle = "A"\n+++\nIt costs 5 dollars.\n')
    broken = load_knowledge_base(tmp_path)
    (finding,) = check_knowledge_base(broken)
    domain = load_domain("banking")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domain, "knowledge_base", broken)
        code, output = run("kb", "check", "banking")
        assert code == 1
        assert f"a:1: bare-number: {finding.detail}" in output
        code, output = run("kb", "check", "banking", "--json")
        assert code == 1
        assert json.loads(output) == {
            "documents": 1,
            "facts": 0,
            "citations": 0,
            "findings": [{"rule": "bare-number", "place": "a:1", "detail": finding.detail}],
        }


def test_kb_check_of_a_domain_without_facts_says_how_to_have_them() -> None:
    result = run_process("kb", "check", SHOP)
    assert result.returncode == 2
    assert "load_knowledge_base(folder)" in result.stderr
