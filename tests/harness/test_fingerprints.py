"""What a player is made of, and that a run is not resumed with another one."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise import RunChanged, read_run
from gym_enterprise.harness.evaluation import evaluate
from gym_enterprise.harness.fingerprints import PIECE, PIECES, fingerprint
from tests.shop import make_domain

AGENT = """
class Agent:
    def __init__(self, view, seed): ...

    def act(self, observation):
        return {"type": "stop"}
"""
INSIDE = "from functools import partial\n\nfrom {}.inside import Agent\n\nagent = partial(Agent)\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a module of players, as it is when a new process begins."""

    def write(name: str, text: str = AGENT) -> str:
        file = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        importlib.invalidate_caches()
        for known in [known for known in sys.modules if known.split(".")[0] == name.split(".")[0]]:
            monkeypatch.delitem(sys.modules, known)
        return hashlib.sha256(text.encode()).hexdigest()

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return write


def test_a_module_is_its_source(module: Any) -> None:
    digest = module("clerks")
    assert fingerprint("clerks:Agent") == {"clerks": digest}


def test_a_module_that_takes_its_player_from_its_package_is_both_files(module: Any) -> None:
    outer, inner = module("clerks.__init__", INSIDE.format("clerks")), module("clerks.inside")
    assert fingerprint("clerks:Agent") == {"clerks": outer, "clerks.inside": inner}
    assert fingerprint("clerks:agent") == {"clerks": outer, "clerks.inside": inner}


@pytest.mark.parametrize(
    "player", ["oracle", "openai:m@http://localhost/v1", "hf:some/name", object(), "sys:exit"]
)
def test_what_cannot_be_read_has_no_fingerprint(player: Any) -> None:
    assert fingerprint(player) == {}


def test_a_model_is_its_files_by_name_size_and_content(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("")
    (tmp_path / "README.md").write_text("not what is run")
    (tmp_path / "model.safetensors").mkdir()
    # sha256sum of "{}" and of nothing.
    assert fingerprint(f"hf:{tmp_path}") == {
        "chat_template.jinja": "0 bytes, e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "config.json": "2 bytes, 44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    }
    assert fingerprint(f"vllm:{tmp_path / 'config.json'}").keys() == {"config.json"}


@pytest.mark.parametrize("at", [0, PIECE - 1, 20 * PIECE, 42 * PIECE - 1])
def test_of_a_large_file_pieces_from_its_first_to_its_last_are_read(tmp_path: Path, at: int) -> None:
    file = tmp_path / "model.gguf"
    with file.open("wb") as made:
        made.truncate(42 * PIECE)
    before = fingerprint(f"hf:{file}")
    assert before["model.gguf"].startswith("44040192 bytes, ")
    assert before["model.gguf"].endswith(hashlib.sha256(bytes(PIECE * PIECES)).hexdigest())
    with file.open("r+b") as made:
        made.seek(at)
        made.write(b"x")
    assert fingerprint(f"hf:{file}") != before


def test_a_run_is_not_resumed_with_an_agent_whose_source_has_changed(module: Any, tmp_path: Path) -> None:
    domain = make_domain()
    tasks = domain.tasks["train"].values()

    def play(**settings: Any) -> Any:
        return asyncio.run(evaluate(tmp_path / "run", domain, tasks, "clerks:Agent", resume=True, **settings))

    digest = module("clerks")
    play(finish_after=0.5)
    changed = module("clerks", AGENT.replace("stop", "message"))
    with pytest.raises(RunChanged) as caught:
        play()
    assert str(caught.value).splitlines()[1:] == [
        f'  content.players.agent.clerks: "{digest}" -> "{changed}"'
    ]
    module("clerks")
    assert play().complete


def test_a_run_of_before_there_were_fingerprints_is_resumed(module: Any, tmp_path: Path) -> None:
    module("clerks")
    domain = make_domain()
    tasks = list(domain.tasks["train"].values())
    asyncio.run(evaluate(tmp_path / "run", domain, tasks, "clerks:Agent", finish_after=0.5))
    file = tmp_path / "run" / "manifest.json"
    manifest = json.loads(file.read_text())
    assert manifest["content"].pop("players")["user"] == {}
    file.write_text(json.dumps(manifest))
    asyncio.run(evaluate(tmp_path / "run", domain, tasks, "clerks:Agent", resume=True))
    assert read_run(tmp_path / "run").missing() == []
