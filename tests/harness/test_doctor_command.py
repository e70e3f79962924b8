"""`gym-enterprise doctor`, as a person uses it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gym_enterprise.cli.app import make_app
from tests.engines.server import Reply, serving
from tests.harness.checked import FORBIDDEN, healthy

SHOP = "tests.shop:make_domain"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(make_app(), ["doctor", "--domain", SHOP, *arguments])
    return result.exit_code, result.output


def test_a_line_a_check_and_exit_0_when_nothing_failed() -> None:
    with serving(lambda number, asked: healthy(asked)) as server:
        code, output = run("scripted", f"openai:m@{server.url}")
    lines = output.splitlines()
    assert code == 0
    assert lines[0].startswith("ok       python: 3.")
    assert f"ok       openai:m@{server.url}: listed: a window of 4096 tokens" in lines
    assert all(line.startswith(("ok ", "warning ")) for line in lines[:-1])
    assert lines[-1].endswith(", 0 FAILED")


def test_failures_are_told_with_their_cure_and_exit_1() -> None:
    code, output = run("nosuch")
    assert code == 1
    failures = [line for line in output.splitlines() if line.startswith("FAILED")]
    assert len(failures) == 1
    assert failures[0].startswith("FAILED   nosuch: there is no agent player 'nosuch'; by name: ")
    assert " -> " in failures[0]
    assert output.splitlines()[-1].endswith(", 1 FAILED")


def test_a_server_gives_no_orders_to_the_terminal() -> None:
    with serving([Reply({"error": {"message": "bad \x1b[31mRED\x07"}}, status=500)]) as server:
        _, output = run(f"openai:m@{server.url}")
    assert r"bad \x1b[31mRED\x07" in output
    assert all(one.isprintable() for line in output.splitlines() for one in line)


def test_json_lists_the_findings_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1234")
    with serving([FORBIDDEN]) as server:
        code, output = run("--json", f"openai:m@{server.url}", "--timeout", "5")
    findings = json.loads(output)
    assert code == 1
    assert all(set(one) == {"check", "status", "detail", "cure"} for one in findings)
    assert [one["check"] for one in findings if one["status"] == "failed"] == [
        f"openai:m@{server.url}: answers"
    ]
    assert "sk-secret-1234" not in output
