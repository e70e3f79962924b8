"""The picture of a run: what it shows, what it leaves out, and that it can be read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'gym-enterprise[train]'")

from gym_enterprise.errors import UsageError
from train.plot import figure, main, points, smooth

ROOT = Path(__file__).parents[2]
GRPO = [
    {"step": 0, "reward": 0.25, "entropy": 2.0, "logp_error": 1e-6, "dropped": 0.5, "invalid": 0.0}
    | {"pass@1": 0.5, "pass@1_low": 0.4, "pass@1_high": 0.6, "tokens_per_passed": 900.0},
    {"step": 1, "reward": None, "entropy": 1.5, "logp_error": 0.0, "dropped": 0.0, "invalid": 1.0},
    {"step": 2, "reward": 0.75, "entropy": 1.0, "logp_error": 1e-5, "dropped": 0.0, "invalid": 0.0},
    {"step": 3, "pass@1": 0.7, "pass@1_low": 0.6, "pass@1_high": 0.8, "tokens_per_passed": None},
]
SFT = [{"step": 0, "nll": 2.0, "loss": 2.0}, {"step": 1, "nll": 1.0, "loss": 1.0, "holdout_nll": 1.5}]


def titles(made: Any) -> list[str]:
    return [axes.get_title() for axes in made.axes]


def drawn(axes: Any) -> list[list[tuple[float, float]]]:
    """The points of each line that has some."""
    lines = (list(zip(*line.get_data(), strict=True)) for line in axes.get_lines())
    return [line for line in lines if line]


def save(folder: Path, lines: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_canary_of_rollouts_that_are_behind_is_drawn_beside_how_far_the_policy_has_moved() -> None:
    made = figure({"a": [{"step": 0, "logp_error": 0.2, "canary": 1e-7}]})
    assert drawn(made.axes[0]) == [[(0, 0.2)], [(0, 1e-7)]]
    names = [text.get_text() for text in made.axes[0].get_legend().get_texts()]
    assert names == ["weights that learn", "weights that sampled"]


def test_each_figure_of_a_grpo_run_has_its_axes_and_null_is_no_point() -> None:
    made = figure({"a": GRPO})
    assert titles(made) == [
        "Reward in training",
        "Held-out pass@1",
        "Tokens for each pass, held out",
        "Entropy of a token",
        "Canary: |log p, engine − trainer|",
        "Rollouts left out",
    ]
    reward, passes, tokens, entropy, canary, left_out = made.axes
    assert drawn(reward) == [[(0, 0.25), (2, 0.75)]]
    assert drawn(passes) == [[(0, 0.5), (3, 0.7)]]
    assert drawn(tokens) == [[(0, 900.0)]]
    assert drawn(entropy) == [[(0, 2.0), (1, 1.5), (2, 1.0)]]
    assert drawn(canary) == [[(0, 1e-6), (2, 1e-5)]]  # a logarithm has no 0
    assert canary.get_yscale() == "log"
    assert drawn(left_out) == [[(0, 0.5), (1, 0.0), (2, 0.0)], [(0, 0.0), (1, 1.0), (2, 0.0)]]


def test_the_interval_of_the_pass_rate_is_a_band() -> None:
    [band] = figure({"a": GRPO}).axes[1].collections
    corners = {(float(x), float(y)) for x, y in band.get_paths()[0].vertices}
    assert {(0.0, 0.4), (0.0, 0.6), (3.0, 0.6), (3.0, 0.8)} <= corners


def test_an_sft_run_shows_what_it_learned_from_and_what_was_held_out() -> None:
    made = figure({"a": SFT})
    assert titles(made) == ["−log p of a token of the agent"]
    assert drawn(made.axes[0]) == [[(0, 2.0), (1, 1.0)], [(1, 1.5)]]


def test_several_runs_are_told_apart_by_their_names_and_colours() -> None:
    made = figure({"a": GRPO, "b": GRPO[:3]})
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["a", "b"]
    lines = [line for line in made.axes[0].get_lines() if len(line.get_xdata())]
    assert [line.get_color() for line in lines] == [one.get_color() for one in made.legends[0].get_lines()]
    assert lines[0].get_color() != lines[1].get_color()


def test_a_long_line_has_its_running_mean_over_it() -> None:
    assert smooth([0.0, 0.0, 3.0] * 20)[30] == 6.0 / 7.0  # of the seven around it, two are 3
    made = figure({"a": [{"step": step, "reward": float(step % 2)} for step in range(60)]})
    raw, mean = drawn(made.axes[0])
    assert {value for _, value in raw} == {0.0, 1.0}
    assert all(0.4 < value < 0.6 for _, value in mean[5:-5])


def test_points_are_those_that_were_measured() -> None:
    assert points([{"step": 0, "a": 1.0}, {"step": 1, "a": None}, {"step": 2}], "a") == {0: 1.0}


def test_the_picture_is_a_file_beside_the_run_or_where_it_is_wanted(tmp_path: Path) -> None:
    run, other = save(tmp_path / "x" / "run", GRPO), save(tmp_path / "y" / "run", SFT)
    main([str(run), str(other)])
    assert (run / "plot.png").read_bytes().startswith(b"\x89PNG")
    main([str(run), "--out", str(tmp_path / "new" / "a.png")])
    assert (tmp_path / "new" / "a.png").stat().st_size > 10_000


def test_a_run_without_a_line_or_anything_to_draw_is_an_error(tmp_path: Path) -> None:
    run, empty = save(tmp_path / "run", GRPO), save(tmp_path / "empty", [])
    with pytest.raises(UsageError, match=r"the run empty has no line in its metrics\.jsonl"):
        main([str(run), str(empty)])
    with pytest.raises(UsageError, match="the run nowhere has no line"):
        main([str(tmp_path / "nowhere")])
    with pytest.raises(UsageError, match="nothing was measured in bare that could be drawn"):
        main([str(save(tmp_path / "bare", [{"step": 0, "nll": None}]))])
    assert not (run / "plot.png").exists()


def test_a_mistake_on_the_command_line_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "train.plot", str(tmp_path / "run")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: the run run has no line in its metrics.jsonl: give the folder")
