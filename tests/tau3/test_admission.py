"""What `tasks check` says of the benchmark: it runs over every task and hides no fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.admission import Check, check_task
from gym_enterprise.domains.tau3_banking import make_domain
from tests.tau3.public_data import DATA, benchmark, needs_data, tasks
from tests.tau3.small_bank import raw_task, write_folder
from tests.tau3.test_grading import REFER, action, bank, judged

ROOT = Path(__file__).parents[2]


def checks(domain: Any) -> dict[str, Check]:
    return {check.name: check for check in check_task(domain, domain.tasks["test"]["task_001"])}


def test_a_sound_task_passes_every_check(tmp_path: Path) -> None:
    found = checks(make_domain(write_folder(tmp_path / "bank", raw_task())))
    assert [check for check in found.values() if not check.ok] == []
    assert found["calls"].applicable
    assert not found["empty_calls"].applicable


def test_a_refused_call_of_a_reference_is_a_fault_though_the_reference_scores(tmp_path: Path) -> None:
    twice = [action("submit_referral", REFER, "user")] * 2
    found = checks(bank(tmp_path, *twice, reward_basis=["DB"]))
    assert found["replay"].reward == found["conversation"].reward == 1.0
    assert not found["calls"].ok
    assert found["calls"].detail.startswith("call 1 of 'submit_referral' is refused: Failed")


def test_where_calls_are_rewarded_other_attacks_apply(tmp_path: Path) -> None:
    calls = [action("submit_referral", REFER, "user"), action("get_current_time", {})]
    found = checks(bank(tmp_path, *calls, reward_basis=["ACTION"]))
    assert {name for name, check in found.items() if not check.ok} == {"empty_calls", "wrong_party"}
    assert (found["empty_calls"].reward, found["half_acted"].reward, found["silent"].reward) == (
        1.0,
        0.0,
        0.0,
    )
    assert not found["half_done"].applicable


def test_a_judged_task_is_checked_only_with_a_judge(tmp_path: Path) -> None:
    found = checks(judged(tmp_path, None))
    graded = [check for name, check in found.items() if name not in ("knobs", "calls")]
    assert not any(check.applicable for check in graded)
    assert "judge" in found["silent"].detail
    assert found["calls"].applicable


KNOWN = {
    ("task_002", "claims"),
    ("task_025", "claims"),
    ("task_034", "empty_calls"),
    ("task_034", "wrong_party"),
    ("task_051", "calls"),
    ("task_083", "calls"),
    ("task_083", "empty_calls"),
    ("task_097", "half_done"),
}
"""What fails, and is explained in docs/tau3.md."""


@needs_data
@pytest.mark.slow
def test_exactly_the_documented_checks_fail() -> None:
    failed = {
        (check.task_id, check.name)
        for task in tasks().values()
        for check in check_task(benchmark(), task)
        if not check.ok
    }
    assert failed == KNOWN
    page = (ROOT / "docs" / "tau3.md").read_text()
    assert all(task_id.removeprefix("task_") in page and f"{name}" in page for task_id, name in KNOWN)


@needs_data
@pytest.mark.slow
def test_the_published_directions_of_sensitivity_are_ours() -> None:
    script = [sys.executable, "benchmarks/tau3_sensitivity.py", "--data", str(DATA)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "directions that differ: none (over 60 tasks)" in done.stdout
