"""The examples run as a newcomer runs them, and come to the reward that their text says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLES.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_episode_ends_without_a_reward() -> None:
    output = run("first_episode.py")
    assert "kb_search" in output
    assert "reward 0.0: agent_stop" in output


def test_two_players_earn_the_shared_reward() -> None:
    assert "{'agent_0': 1.0, 'user_0': 1.0}" in run("two_players.py")


def test_the_custom_domain_passes_admission_and_earns_its_reward() -> None:
    output = run("custom_domain.py")
    assert output.count("passed") == 14
    assert "reward 1.0" in output


def test_the_custom_domain_stays_under_120_lines() -> None:
    assert len((EXAMPLES / "custom_domain.py").read_text().splitlines()) < 120


def test_branches_differ_by_the_last_step_only() -> None:
    output = run("branching.py")
    assert "does the last step: reward 1.0" in output
    assert "stops before it: reward 0.0" in output


def test_an_evaluation_tells_an_agent_that_only_talks_from_the_oracle() -> None:
    output = run("evaluate_a_model.py")
    assert "talks: pass@1 0.0%" in output
    assert "oracle: pass@1 100.0%" in output
    assert "graded again: 0 differ" in output


@pytest.mark.slow
def test_ppo_learns_for_a_moment_goes_on_when_started_again_and_draws_its_curve(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    runs = str(tmp_path / "runs")
    first = run("ppo_numeric.py", "--steps", "2000", "--out", runs)
    assert "held out: freeze_card 0.0%, lower_limit 0.0%" in first  # nothing is learned yet
    assert "goes on after update 1," in run("ppo_numeric.py", "--steps", "4000", "--out", runs)
    table = run("ppo_numeric.py", "--plot", str(tmp_path / "curve.png"), "--out", runs)
    assert table.splitlines()[-1].startswith("| 1 | 0.0 % |")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text()
    assert all(f'"{path.name}"' in tested for path in EXAMPLES.glob("*.py"))
