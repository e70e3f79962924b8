"""`gym-enterprise eval`, `compare` and `regrade`, as a person uses them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gym_enterprise import RunExists, UsageError, load_domain, seating
from gym_enterprise.cli import main
from gym_enterprise.cli.app import make_app
from gym_enterprise.cli.progress import Progress
from gym_enterprise.harness import trajectories
from gym_enterprise.harness.evaluation import evaluate
from gym_enterprise.harness.results import read_run
from simulators import Completion, FatalError, TransientError
from tests.engines.server import Asked, Reply, chat, choice, serving

ROOT = Path(__file__).parents[2]
SHOP = "tests.shop:make_domain"
EVAL = [sys.executable, "-m", "gym_enterprise", "eval", SHOP, "--split", "train"]


def run(*arguments: Any) -> tuple[int, str, str]:
    result = CliRunner().invoke(make_app(), [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def shop(out: Path, *more: Any, agent: str = "oracle") -> tuple[int, str, str]:
    return run("eval", SHOP, "--agent", agent, "--split", "train", "--out", out, *more)


class Engine:
    """Fails at its third request; otherwise says goodbye."""

    def __init__(self, failure: Exception) -> None:
        self.failure, self.asked = failure, 0

    async def complete(self, request: Any) -> Completion:
        self.asked += 1
        if self.asked == 3:
            raise self.failure
        return Completion("Goodbye. ###STOP###")


def test_the_oracle_passes_every_episode_of_the_bank(tmp_path: Path) -> None:
    options = ["--agent", "oracle", "--split", "test", "--trials", "2", "--audit", "--json"]
    code, output, progress = run("eval", "banking", *options, "--out", tmp_path / "run")
    summary = json.loads(output)
    planned = 2 * len(load_domain("banking").tasks["test"])
    assert (code, summary["overall"]["pass_at_1"], summary["planned"]) == (0, 1.0, planned)
    assert progress.splitlines()[-1] == f"{planned}/{planned} 100.0% of scored passed, 0 not scored"
    assert len(read_run(tmp_path / "run")) == planned


def test_the_summary_is_for_people(tmp_path: Path) -> None:
    code, output, _ = shop(tmp_path / "run", "--trials", "2")
    assert code == 0
    assert "orders" in output
    assert "coverage 6/6 (100.0%)" in output
    # As in test_metrics: expedite and cancel change something, each after one read; kb_read opens a document
    # that no task names as its source.
    assert "look before act: 4 of 6 scored episodes changed something, after 1.0 reads on average" in output
    assert "documents of the reference: 0.0% opened before the first change, 0.0% at any time" in output
    assert "never opened: refunds 6" in output
    assert "pass@1 100.0% (95% interval 29.2% to 100.0%); 6 of 6 scored episodes passed" in output


def test_a_resumed_run_plays_exactly_what_is_missing(tmp_path: Path) -> None:
    shop(tmp_path / "run", "--trials", "4")
    file = tmp_path / "run" / "trajectories.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:7]) + lines[7][:100])
    with pytest.raises(
        RunExists, match=r"run holds a run: go on with it by --resume, or choose another --out"
    ):
        shop(tmp_path / "run", "--trials", "4")
    code, output, told = shop(tmp_path / "run", "--trials", "4", "--resume", "--concurrency", "2")
    assert (code, "12 of 12 scored episodes passed" in output) == (0, True)
    assert "resumed: 5 of 12 episodes are to be played" in told
    assert "dropped 100 bytes of a line cut short" in told
    assert file.read_bytes().splitlines(keepends=True)[:7] == lines[:7]
    assert len({(record.task_id, record.trial) for record in read_run(tmp_path / "run")}) == 12


def test_an_unscored_episode_is_told_and_the_exit_code_is_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seating, "_engine", lambda model, url: engine)
    engine = Engine(FatalError("401, wrong key"))
    arguments = (tmp_path / "run", "--concurrency", "1")
    code, output, told = shop(*arguments, agent="openai:m@http://localhost/v1")
    assert code == 3
    assert "INCOMPLETE: only 2 of 3 episodes scored" in output
    assert "not scored: agent_error 1" in output
    assert "not scored: confirm trial 0: agent_error: the agent player raised FatalError: 401" in told
    assert "  1 episode: the agent player raised FatalError: 401, wrong key" in output.splitlines()
    code, output, _ = shop(*arguments, "--resume", agent="openai:m@http://localhost/v1")
    assert (code, "0 of 3 scored episodes passed" in output) == (0, True)
    assert "look before act: the agent changed nothing" in output


def test_a_server_that_is_gone_is_named_once_with_how_many_episodes_it_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone:
        async def complete(self, request: Any) -> Completion:
            raise TransientError("POST http://h/v1 broke off. Is a server running there? " + "x" * 200)

    monkeypatch.setattr(seating, "_engine", lambda model, url: Gone())
    code, output, told = shop(tmp_path / "run", "--trials", "4", agent="openai:m@http://localhost/v1")
    assert code == 3
    assert output.count("Is a server running there?") == 1
    assert "  12 episodes: the agent player raised TransientError: POST http://h/v1 broke off." in output
    assert "Traceback" not in told + output


def test_the_three_causes_that_cost_most_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ill:
        asked = 0

        async def complete(self, request: Any) -> Completion:
            self.asked += 1
            raise TransientError(f"cause {self.asked if self.asked < 5 else 5}")

    ill = Ill()
    monkeypatch.setattr(seating, "_engine", lambda model, url: ill)
    _, output, _ = shop(tmp_path / "run", "--trials", "3", agent="openai:m@http://localhost/v1")
    causes = [line.strip() for line in output.splitlines() if line.startswith("  ") and "episode" in line]
    # Nine episodes: the first four have each their own cause, the other five share one.
    said = "the agent player raised TransientError: cause"
    assert causes == [f"5 episodes: {said} 5", f"1 episode: {said} 1", f"1 episode: {said} 2"]
    assert "  and 2 other causes" in output


def test_the_rest_is_cut_after_the_share_that_is_enough_and_played_by_resume(tmp_path: Path) -> None:
    arguments = (tmp_path / "run", "--trials", "4", "--concurrency", "1")
    code, output, _ = shop(*arguments, "--finish-after", "0.5")
    assert (code, "not scored: straggler 6" in output) == (3, True)
    code, output, _ = shop(*arguments, "--resume")
    assert (code, "12 of 12 scored episodes passed" in output) == (0, True)


def test_ctrl_c_keeps_what_is_done_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    def reply(number: int, asked: Asked) -> Reply:
        return Reply(chat(choice("Goodbye. ###STOP###")), stall=number == 2)

    file = tmp_path / "run" / "trajectories.jsonl"
    with serving(reply) as server:
        command = [
            *EVAL,
            "--agent",
            f"openai:m@{server.url}",
            "--concurrency",
            "1",
            "--out",
            str(file.parent),
        ]
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 60
        while len(server.asked) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, told = process.communicate(timeout=60)
        assert process.returncode == 3
        assert "interrupted: finished episodes are saved" in told
        assert "INCOMPLETE: only 2 of 3 episodes scored" in output
        done = subprocess.run([*command, "--resume"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "resumed: 1 of 3 episodes" in done.stderr) == (0, True)


def test_an_evaluation_ends_while_a_player_still_hangs_in_its_thread(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(
        "import threading\n\n\nclass Agent:\n    def __init__(self, view, seed): ...\n\n"
        "    def act(self, observation):\n        threading.Event().wait(600)\n"
    )
    command = [*EVAL, "--agent", "deaf:Agent", "--turn-deadline", "0.2", "--out", str(tmp_path / "run")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, "not scored: timeout 3" in done.stdout) == (3, True)
    assert "Traceback" not in done.stderr


def test_mistakes_are_told_before_a_folder_is_made(tmp_path: Path) -> None:
    for words, arguments in {
        "no agent player 'oracel'": ["--agent", "oracel"],
        "split 'test' of .* has no tasks": ["--agent", "oracle", "--split", "test"],
        "no split 'tset'": ["--agent", "oracle", "--split", "tset"],
        "The port of 'http://host:99999/v1' should be": ["--agent", "openai:m@http://host:99999/v1"],
        "there is no module 'mine'": ["--agent", "mine:Agent"],
    }.items():
        with pytest.raises(UsageError, match=words):
            run("eval", SHOP, "--split", "train", *arguments, "--out", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_progress_names_episodes_that_wait(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Waits:
        def __init__(self, view: Any, seed: int) -> None: ...

        def act(self, observation: Any) -> Any: ...

        async def aact(self, observation: Any) -> Any:
            await asyncio.sleep(0.1)
            return {"type": "stop"}

    async def play() -> None:
        domain = load_domain(SHOP)
        tasks = list(domain.tasks["train"].values())[:1]
        async with Progress(quiet=0.03) as progress:
            await evaluate(tmp_path / "run", domain, tasks, Waits, watch=progress.update)

    asyncio.run(play())
    assert "waiting: cancel trial 0, step 1, agent for 0 s" in capfd.readouterr().err


def told_by_main(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    monkeypatch.setattr(sys, "argv", ["gym-enterprise", *map(str, arguments)])
    monkeypatch.setattr(sys, "path", sys.path[:])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_what_the_system_refuses_is_one_line_with_file_and_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(out: Path, *more: str) -> list[Any]:
        return ["eval", SHOP, "--agent", "oracle", "--split", "train", "--out", out, *more]

    shop(tmp_path / "run")
    capsys.readouterr()
    (tmp_path / "file").write_text("")
    (tmp_path / "locked" / "lock").mkdir(parents=True)
    for line, arguments in {
        f"{tmp_path / 'file' / 'run'}: Not a directory: a file stands where a folder should be": command(
            tmp_path / "file" / "run"
        ),
        f"{tmp_path / 'locked' / 'lock'}: Is a directory: a folder stands where a file should be": command(
            tmp_path / "locked"
        ),
        f"{tmp_path / 'file'}: File exists: a file stands where a folder should be": [
            *("view", tmp_path / "run", "--out", tmp_path / "file" / "report.html")
        ],
    }.items():
        assert told_by_main(monkeypatch, *arguments) == 1
        told = capsys.readouterr().err
        assert told.startswith(f"error: {line}"), told
        assert told.count("\n") == 1


def test_a_full_disk_is_told_and_resume_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", SHOP, "--agent", "oracle", "--split", "train", "--out", tmp_path / "run"]
    written = trajectories._sync

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(trajectories, "_sync", full)
    assert told_by_main(monkeypatch, *command) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"error: {tmp_path / 'run' / 'trajectories.jsonl'}: No space left on device: make room; an "
        "evaluation then goes on with --resume"
    )
    assert (tmp_path / "run" / "trajectories.jsonl").read_bytes() == b""
    monkeypatch.setattr(trajectories, "_sync", written)
    assert told_by_main(monkeypatch, *command, "--resume") == 0


def test_two_runs_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seating, "_engine", lambda model, url: Engine(FatalError("")))
    shop(tmp_path / "a", "--limit", "2", "--concurrency", "1", agent="openai:m@http://localhost/v1")
    shop(tmp_path / "b")
    code, output, _ = run("compare", tmp_path / "a", tmp_path / "b")
    assert code == 0
    # Two tasks, both better: of four assignments of signs two are as far from 0.
    assert output.splitlines() == [
        "tasks scored in both: 2",
        "pass@1 of A 0.0%, of B 100.0%",
        "B minus A: +100.0 points (95% interval -68.4 to +100.0)",
        "B is better on 2 tasks, worse on 0, alike on 0",
        "p = 0.5 (two-sided sign-flip test, exact)",
        "left out: tasks scored only in A 0, only in B 1; episodes not scored in A 0, in B 0",
    ]
    code, output, _ = run("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert json.loads(output)["p_value"] == 0.5


def test_grading_again_finds_no_difference_and_finds_a_changed_reward(tmp_path: Path) -> None:
    shop(tmp_path / "run")
    assert run("regrade", tmp_path / "run")[:2] == (0, "3 episodes graded again, 0 differ\n")
    file = tmp_path / "run" / "trajectories.jsonl"
    file.write_text(file.read_text().replace('"reward":1.0', '"reward":0.0', 1))
    code, output, _ = run("regrade", tmp_path / "run", "--json")
    assert code == 1
    (difference,) = json.loads(output)["differences"]
    assert difference["what"] == "reward was 0.0, is 1.0"
    assert run("regrade", tmp_path / "run")[0] == 1


@pytest.mark.slow
def test_an_evaluation_killed_ten_times_has_each_of_its_200_episodes_once(tmp_path: Path) -> None:
    random_ = random.Random(8)
    file = tmp_path / "run" / "trajectories.jsonl"
    command = [
        *EVAL,
        "--agent",
        "oracle",
        "--limit",
        "2",
        "--trials",
        "100",
        "--out",
        str(tmp_path / "run"),
        "--resume",
    ]
    for _ in range(10):
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wanted = (file.stat().st_size if file.exists() else 0) + random_.randrange(40_000)
        deadline = time.monotonic() + 60
        while process.poll() is None and (not file.exists() or file.stat().st_size < wanted):
            assert time.monotonic() < deadline
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -9
    assert 0 < len(read_run(tmp_path / "run")) < 200
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == 0
    run_ = read_run(tmp_path / "run")
    assert run_.lines == len(run_) == 200
    assert {record.reward for record in run_} == {1.0}
