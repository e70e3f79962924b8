"""What `checkup` finds: packages, the domain, players without a server."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gym_enterprise.episode import Episode
from gym_enterprise.harness.checkup import Finding, checkup, packages
from gym_enterprise.harness.checkup.domains import first_task
from gym_enterprise.harness.checkup.packages import EXTRAS, package_findings, requirements, within
from gym_enterprise.harness.checkup.prompts import first_prompt, window_finding
from gym_enterprise.registry import load_domain
from gym_enterprise.seating import seat_player
from tests.harness.checked import by_check

ROOT = Path(__file__).parents[2]
SHOP = "tests.shop:make_domain"
HERE = "tests.harness.checked"
STATUSES = {"ok", "warning", "failed"}


def found(*players: str, domain: str = SHOP, timeout: float = 30.0) -> dict[str, Finding]:
    return by_check(checkup(players, domain=domain, timeout=timeout))


def seated_at_the_bank(name: str) -> tuple[Any, Any, Any, Any]:
    """A player in the agent's seat at the first task."""
    bank = load_domain("banking")
    task = first_task(bank)
    return seat_player(name, Episode(bank, task), "agent", 0), "agent", bank, task


# -- packages --------------------------------------------------------------------------------------------


def test_every_optional_package_of_the_project_is_told_with_an_extra_that_installs_it() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {name: set(requirements(lines)[0]) for name, lines in extras.items() if name != "dev"}
    assert {extra.package for extra in EXTRAS} == set().union(*wanted.values())
    assert all(extra.package in wanted[extra.extra] for extra in EXTRAS)


def test_requirements_are_told_apart_by_their_extra() -> None:
    lines = ["numpy>=2.0", "rank-bm25<0.3,>=0.2.2", 'torch[cuda]>=2.8 ; extra == "hf"', "plain"]
    needed = {"numpy": ">=2.0", "rank-bm25": "<0.3,>=0.2.2", "plain": ""}
    assert requirements(lines) == (needed, {"torch": ">=2.8"})


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("2.10.1", ">=2.9", True),  # ten is more than nine
        ("2.8", ">=2.9", False),
        ("2", ">=2.0", True),
        ("2.13.0+cpu", ">=2.8", True),
        ("0.3.0", ">=0.2.2,<0.3", False),
        ("0.2.10", ">=0.2.2,<0.3", True),
        ("5.0.0rc1", ">=5.0", True),
        ("1.0", "", True),
    ],
)
def test_a_version_is_compared_with_the_bounds_of_a_range(version: str, wanted: str, fits: bool) -> None:
    assert within(version, wanted) is fits


def test_what_is_needed_and_missing_or_too_old_fails_and_what_is_optional_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        if name in ("numpy", "vllm", "renderers"):
            raise importlib.metadata.PackageNotFoundError(name)
        return {"apsw": "3.1", "torch": "1.9"}.get(name, "99")

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(packages, "find_spec", lambda name: name == "renderers" or None)
    lines = ["numpy>=2.0", "apsw>=3.50", "httpx>=0.27", 'torch>=2.8; extra == "hf"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: lines)
    told = by_check(package_findings(), "package ")
    assert told["numpy"] == Finding(
        "package numpy", "failed", "not installed, and needed", "pip install 'numpy>=2.0'"
    )
    assert (told["apsw"].status, told["apsw"].detail) == ("failed", "3.1, and >=3.50 is needed")
    assert (told["httpx"].status, told["httpx"].detail) == ("ok", "99")
    assert (told["torch"].status, told["torch"].cure) == ("warning", "pip install 'gym-enterprise[hf]'")
    assert (told["vllm"].status, told["vllm"].cure) == ("ok", "pip install 'gym-enterprise[vllm]'")
    assert (told["renderers"].status, told["renderers"].cure) == ("ok", "")
    assert told["vllm"].detail.startswith("not installed; for models in this process")


def test_a_checkup_imports_none_of_the_heavy_packages_and_never_the_network() -> None:
    heavy = ["torch", "transformers", "vllm", "sentence_transformers", "httpx"]
    code = (
        "import sys; from gym_enterprise.harness.checkup import checkup; "
        f"found = list(checkup(domain={SHOP!r})); "
        f"print(len(found) > 20, sorted(set({heavy}) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("True []", "")


# -- the gym ---------------------------------------------------------------------------------------------


def test_a_domain_that_works_is_told_with_its_content_rewards_and_times() -> None:
    told = by_check(checkup(domain=SHOP), f"domain {SHOP}")
    assert {name: one.status for name, one in told.items()} == dict.fromkeys(
        ["", "reference", "silence", "time"], "ok"
    )
    assert told[""].detail.startswith("3 tasks (train 3, validation 0, test 0), 3 documents, ")
    assert "6 tables in image " in told[""].detail
    assert told["reference"].detail == "reward 1.0 in task cancel, by both graders"
    assert told["silence"].detail == "reward 0.0 in task cancel, by both graders"
    assert "a reset 0." in told["time"].detail


def test_a_domain_that_rewards_silence_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from gym_enterprise import impostors
    from simulators import OraclePlayer

    monkeypatch.setattr(impostors, "Silent", OraclePlayer)
    finding = found()[f"domain {SHOP}: silence"]
    assert finding.status == "failed"
    assert finding.detail.startswith("reward 1.0 in task cancel, not 0.0: ")
    assert finding.cure == "gym-enterprise tasks check shop --task cancel"


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("casino", "there is no domain 'casino'"),
        ("tests.nowhere:make_domain", "no module"),
        ("tests.leaky:make_broken_domain", "insufficient_funds"),
    ],
)
def test_a_domain_that_cannot_be_loaded_fails_once_and_players_are_still_checked(
    domain: str, words: str
) -> None:
    told = found("scripted", domain=domain)
    failures = [one for one in told.values() if one.status == "failed"]
    assert [one.check for one in failures] == [f"domain {domain}"]
    assert words in failures[0].detail
    assert failures[0].cure
    assert told["scripted"].status == "ok"


def test_the_public_benchmarks_data_is_looked_for_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAU3_BANKING_DATA", raising=False)
    told = found()["tau3 data"]
    assert (told.status, told.cure) == (
        "ok",
        "set TAU3_BANKING_DATA to a clone of https://github.com/sierra-research/tau2-bench",
    )
    monkeypatch.setenv("TAU3_BANKING_DATA", str(tmp_path))
    told = found()["tau3 data"]
    assert told.status == "failed"
    assert str(tmp_path) in told.detail
    (tmp_path / "db.json").touch()
    (tmp_path / "tasks").mkdir()
    told = found()["tau3 data"]
    assert (told.status, told.detail) == ("ok", f"{tmp_path}, named by TAU3_BANKING_DATA")


# -- players ---------------------------------------------------------------------------------------------


def test_players_without_a_model_play_an_episode() -> None:
    told = found("scripted", "oracle", "replay", domain="banking")
    for name, seat in (("scripted", "user"), ("oracle", "agent"), ("replay", "user")):
        assert told[name].status == "ok"
        assert told[name].detail.startswith(f"plays the {seat} in task contact-change-101: reward 1.0 after ")


@pytest.mark.parametrize(
    ("player", "words"),
    [
        ("nosuch", "'oracle'"),
        ("nosuch", "'scripted'"),
        ("openai:qwen", "is not openai:MODEL@URL"),
        ("openai:qwen@http://user:pass@x/v1", "The URL of x has a password"),
        (f"{HERE}:nothing", "holds no 'nothing'"),
        (f"{HERE}:unmakeable", "there is no such weather"),
        ("hf:/nowhere/at-all", "/nowhere/at-all"),
    ],
)
def test_a_player_that_there_is_not_is_one_failure_with_a_cure_and_the_next_is_checked(
    player: str, words: str
) -> None:
    told = found(player, "scripted", domain="banking")
    failures = [one for one in told.values() if one.status == "failed"]
    assert len(failures) == 1
    assert words in failures[0].detail
    assert "\n" not in failures[0].detail
    assert failures[0].cure
    assert "pass" not in failures[0].check
    assert told["scripted"].status == "ok"


def test_a_model_that_tells_no_tokens_and_calls_no_tool_is_warned_of() -> None:
    told = by_check(checkup([f"{HERE}:talker"], domain=SHOP), f"{HERE}:talker")
    assert {name: one.status for name, one in told.items()} == {
        "answers": "ok",
        "tokens": "warning",
        "tools": "warning",
    }
    assert told["answers"].detail.endswith(" s, tokens not counted: 'Good morning.'")
    assert told["tokens"].detail == "the engine does not tell: sampled tokens, log-probabilities"
    assert told["tools"].detail == "the model did not call the tool: it wrote 'Good morning.'"


def test_a_blank_answer_is_warned_of() -> None:
    told = found(f"{HERE}:silent")[f"{HERE}:silent: answers"]
    assert told.status == "warning"
    assert "a blank text (finish reason 'length')" in told.detail


def test_an_engine_that_fails_or_takes_too_long_is_asked_once() -> None:
    told = found(f"{HERE}:broken", f"{HERE}:stuck", timeout=0.05)
    assert {name for name in told if name.startswith(HERE)} == {
        f"{HERE}:broken: answers",
        f"{HERE}:stuck: answers",
    }
    assert told[f"{HERE}:broken: answers"].detail == "The model is on fire. Put it out."
    assert told[f"{HERE}:stuck: answers"].detail == "It was not answered within 0.05 s"
    assert all(told[f"{HERE}:{name}: answers"].status == "failed" for name in ("broken", "stuck"))


def test_a_model_with_a_template_is_asked_with_tokens_and_its_template_is_checked() -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")
    told = by_check(checkup([f"{HERE}:tokened"], domain=SHOP), f"{HERE}:tokened")
    assert {one.status for one in told.values()} == {"ok"}
    assert told["tokens"].detail == "the engine tells sampled tokens and log-probabilities"
    assert told["tools"].detail == """the model called tell_time with {'city': 'Oslo'}"""
    assert "template: reasoning before text" in told


def test_findings_are_json_values_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1234")
    one = Finding("x of sk-secret-1234", "failed", "http://u:p@h/v1?key=k&more", "none").redacted()
    assert one.to_dict() == {
        "check": "x of ***",
        "status": "failed",
        "detail": "http://***@h/v1?***",
        "cure": "none",
    }


def test_findings_give_no_orders_to_a_terminal() -> None:
    one = Finding("a\x07", "failed", "bad \x1b[31mRED\x1b[0m, \u202eevil", "say\n顧客").redacted()
    assert one == Finding(r"a\x07", "failed", r"bad \x1b[31mRED\x1b[0m, \u202eevil", r"say\n顧客")


@pytest.mark.parametrize(
    ("player", "words"),
    [
        ("lying", "a logprob is 5.0: that of a token that was sampled is finite, and at most 0"),
        ("short", "there are 2 tokens and 1 logprobs"),
    ],
)
def test_log_probabilities_of_an_engine_that_cannot_be_are_a_failure(player: str, words: str) -> None:
    told = found(f"{HERE}:{player}")[f"{HERE}:{player}: tokens"]
    assert (told.status, told.detail) == ("failed", words)


@pytest.mark.parametrize(("room", "status"), [(-10, "warning"), (0, "warning"), (1, "ok"), (None, "ok")])
def test_a_window_is_compared_with_the_first_prompt_of_the_domain(room: int | None, status: str) -> None:
    """The bank's is about 15,000 characters long: its policy, and its tools as the player sends them."""
    player, seat, domain, task = seated_at_the_bank(f"{HERE}:talker")
    prompt = first_prompt(player, seat, domain, task, None)
    assert prompt is not None
    assert prompt.tokens > len(domain.view(task, seat).prompt) / 4
    assert 2000 < prompt.tokens < 8000
    told = window_finding("w", "a window", None if room is None else prompt.tokens + room, prompt)
    assert told.status == status
    if status == "warning":
        assert told.detail == (
            f"a window, and the first prompt of the agent in task {task.id} has {prompt.tokens} tokens by an "
            "estimate of 4 characters a token"
        )


def test_a_template_counts_the_first_prompt_and_one_that_cannot_write_it_leaves_an_estimate() -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[hf]'")
    from simulators.template import ChatTemplate
    from tests.simulators.tiny_tokenizer import CHATML, tokenizer

    player, seat, domain, task = seated_at_the_bank(f"{HERE}:tokened")
    own = first_prompt(player, seat, domain, task, None)
    assert own is not None
    assert own.measured
    assert own.tokens > len(domain.view(task, seat).prompt.encode())  # a byte a token
    player, seat, domain, task = seated_at_the_bank(f"{HERE}:talker")
    no_system = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    for kind, measured in ((CHATML, True), (no_system + CHATML, False)):
        prompt = first_prompt(player, seat, domain, task, ChatTemplate(tokenizer(kind)))
        assert prompt is not None
        assert prompt.measured is measured
