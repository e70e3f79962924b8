"""`gym-enterprise show`: everything about a task, for its author."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from gym_enterprise.cli.app import make_app


def show(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(make_app(), ["show", *arguments])
    return result.exit_code, result.output


def test_each_call_is_shown_with_what_it_changes_itself() -> None:
    """The task changes phone, then email, of one customer: the second call has not changed the phone."""
    found = json.loads(show("contact-change-101", "--json")[1])
    phone, email = [step for step in found["reference"] if step["changes"]]
    assert phone["changes"][0]["values"] == {
        "phone": "(555) 377-4102",
        "contact_changed_on": "2026-03-02",
    }
    assert email["changes"][0]["values"] == {"email": "vera.ibarra@newpost.example"}
    assert email["changes"][0]["before"] == {"email": "vera.ibarra4@mailbox.example"}
    assert all(step["ok"] for step in found["reference"])


def test_the_page_has_story_documents_with_cited_lines_knobs_and_attacks() -> None:
    code, output = show("contact-change-101")
    assert code == 0
    for words in (
        "opens: Hello, I have a new number",
        "later wants: My email has changed as well.",
        "contact-data-changes: Changing phone, email or address",
        "[limits.contact_wait]",
        "siblings: 0",
        "attack    look_alike           reward 0.0",
        "attack    blanket              does not apply",
        "admitted: all checks passed",
    ):
        assert words in output, words


def test_a_task_that_is_not_admitted_exits_with_1_and_says_why() -> None:
    code, output = show("t", "--domain", "tests.leaky:make_domain")
    assert code == 1
    assert "FAILS: reward 1.0" in output
    assert "not admitted: 1 of" in output


def test_a_domain_without_facts_has_documents_without_cited_lines() -> None:
    code, output = show("cancel", "--domain", "tests.shop:make_domain")
    assert (code, "refunds: Refund policy" in output) == (0, True)
