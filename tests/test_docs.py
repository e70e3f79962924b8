"""The documentation cannot drift: its code runs, and it names every command and public name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer

import gym_enterprise
from gym_enterprise.cli.app import make_app
from gym_enterprise.tasks import Task

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if CODE.search(page.read_text())], ids=lambda p: p.name
)
def test_every_python_block_of_a_page_runs_in_order(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": "documentation"}
    for number, block in enumerate(CODE.findall(page.read_text()), start=1):
        try:
            exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)
        except gym_enterprise.DataNotFound as error:
            pytest.skip(f"{page.name} needs data that is not here: {error}")


def test_the_readme_and_pages_link_to_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_report_that_a_test_names_is_on_the_page_of_reports_and_is_tested_where_it_says() -> None:
    rows = re.findall(
        r"^\| (B\d{3}) \|.*\| ([^|]+) \|$", (ROOT / "docs" / "reports.md").read_text(), re.MULTILINE
    )
    named = {number for path in (ROOT / "tests").rglob("test_*.py") for number in reports(path)}
    assert [number for number, _ in rows] == sorted({number for number, _ in rows})
    assert named <= {number for number, _ in rows}
    for number, files in rows:
        for file in re.findall(r"`([^`]+)`", files):
            assert number in reports(ROOT / "tests" / file), f"{file} does not name {number}"


def reports(path: Path) -> set[str]:
    """Return the numbers of reports that a file of tests names, which look like those of ruff's rules."""
    text = re.sub(r"# noqa.*", "", path.read_text())
    return {number.upper() for number in re.findall(r"(?<![a-zA-Z0-9])[bB]0\d\d(?!\d)", text)}


def test_every_public_name_is_in_the_reference_page() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    missing = [
        name for name in gym_enterprise.__all__ if not name.startswith("__") and f"`{name}`" not in text
    ]
    assert missing == []


def test_every_public_name_exists_and_has_a_docstring() -> None:
    for name in gym_enterprise.__all__:
        if not name.startswith("__") and name not in ("Money", "Date"):
            assert getattr(gym_enterprise, name).__doc__, name


def commands(command: Any, path: str = "gym-enterprise") -> list[tuple[str, Any]]:
    if children := getattr(command, "commands", None):
        return [item for name, child in children.items() for item in commands(child, f"{path} {name}")]
    return [(path, command)]


COMMANDS = commands(typer.main.get_command(make_app()))


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_every_command_and_option_has_help_and_is_in_the_readme(path: str, command: Any) -> None:
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None) or parameter.name == "help", f"{path} {parameter.name}"
    assert path in (ROOT / "README.md").read_text()


def test_the_published_task_schema_is_the_programs() -> None:
    published = json.loads((ROOT / "docs" / "task.schema.json").read_text())
    assert published == Task.model_json_schema()
