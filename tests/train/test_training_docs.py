"""The page on training cannot drift: keys, figures, options, reasons and example files are the programs'.

python -m tests.train.test_training_docs      writes the tables of keys into the page
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import train.filter
from tests.train.tiny_policy import save_tiny_policy
from train import grpo, journal, sft
from train.config import GrpoConfig, SftConfig, describe, read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "training.md"
CONFIGS = sorted((ROOT / "train" / "configs").glob("*.toml"))


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(cls: Any) -> str:
    rows = [
        f"| `{key.name}` | {cell(key.type)} | `{key.default}` | {cell(key.doc)} |" for key in describe(cls)
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def with_tables(page: str) -> str:
    for cls in (GrpoConfig, SftConfig):
        found = re.compile(rf"(<!-- keys of {cls.__name__} -->\n).*?(<!-- end -->)", re.DOTALL)
        page, count = found.subn(lambda match, cls=cls: f"{match[1]}{table(cls)}\n{match[2]}", page)
        assert count == 1
    return page


def test_every_key_of_both_programs_stands_in_its_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "run: python -m tests.train.test_training_docs"


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_example_is_read_says_how_it_is_run_and_is_on_the_page(path: Path) -> None:
    program = path.name.partition("_")[0]
    read({"grpo": GrpoConfig, "sft": SftConfig}[program], path)
    assert f"-m train.{program} train/configs/{path.name}" in path.read_text()
    assert f"`{path.name}`" in PAGE.read_text()


def test_every_option_and_reason_of_the_filter_is_known_to_the_page_or_to_its_help() -> None:
    page, about = PAGE.read_text(), train.filter.__doc__ or ""
    for action in train.filter.parser()._actions:
        assert action.help, action.dest
    reasons = re.findall(r"^(\w+) {2,}\S", about.partition("A dialogue is dropped")[2], re.MULTILINE)
    assert len(reasons) == 10
    source = Path(train.filter.__file__).read_text().partition('"""\n')[2]
    for reason in reasons:
        assert f"`{reason}`" in page
        assert f'"{reason}"' in source


def test_every_program_says_how_it_is_run() -> None:
    for name in ("filter", "sft", "grpo", "plot"):
        assert f"python -m train.{name} " in PAGE.read_text()
        assert f"python -m train.{name} " in (ROOT / "train" / f"{name}.py").read_text()
        assert f"python -m train.{name} " in (ROOT / "README.md").read_text()


def test_every_figure_that_a_run_writes_is_on_the_page(tmp_path: Path) -> None:
    policy = save_tiny_policy(tmp_path / "policy")
    chat = '{"task_id": "%d", "chat": [{"role": "user", "content": "Hello."}, %s]}\n'
    said = '{"role": "assistant", "content": "Hello."}'
    (tmp_path / "data.jsonl").write_text(chat % (1, said) + chat % (2, said))
    (tmp_path / "prompt.md").write_text("Serve.")
    (tmp_path / "sft.toml").write_text(
        f'out = "-"\ndata = ["{tmp_path}/data.jsonl"]\nmodel.path = "{policy}"'
    )
    (tmp_path / "grpo.toml").write_text(
        f'out = "-"\ndomain = "tests.train.tiny_policy:one_task"\nmodel.path = "{policy}"\n'
        f'[rollout]\nuser = "tests.train.tiny_policy:Brief"\nformat = "json"\n'
        f'prompt = "{tmp_path}/prompt.md"\nmax_tokens = 4\nmax_steps = 6\nmax_segment_tokens = 256\n'
    )
    out = tmp_path / "sft"
    sft.train(read(SftConfig, tmp_path / "sft.toml", f"out={out}", "context_weight=0.1", "holdout=0.5"))
    names = set().union(*journal.read(out))
    out = tmp_path / "grpo"
    settings = ("steps=1", "evaluate.split=train", "loss.kl_weight=0.1", "loss.filter_zero_variance=false")
    grpo.train(read(GrpoConfig, tmp_path / "grpo.toml", f"out={out}", *settings))
    names |= set().union(*journal.read(out))
    assert {"nll", "holdout_nll", "context_nll", "reward", "pass@1", "kl", "dropped"} <= names
    known = set(re.findall(r"`([^`]+)`", PAGE.read_text().partition("## Watching a run")[2]))
    families = {name for name in names if name.startswith("pass@1/")}
    assert names - families - known == {"step"}


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
