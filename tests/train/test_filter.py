"""What is kept of runs to learn from, and that everything that is dropped is counted with its reason."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

from gym_enterprise import Episode, Record, open_run, read_run, run_episode
from gym_enterprise.errors import UsageError
from tests.core.conversation import CANCEL, DOMAIN, call, say, stop
from tests.train.tiny_policy import save_tiny_policy
from train.filter import Wanted, dialogues, main, parser

ROOT = Path(__file__).parents[2]
SHOP = "tests.shop:make_domain"
LOOK = call("get_order", order_id="O1")
ASKS = [say("Please cancel O1.")]
DONE = [LOOK, CANCEL, say("It is cancelled.")]


class Plays:
    """A player that takes its actions in order, and stops after them."""

    def __init__(self, *actions: Any) -> None:
        self._actions = itertools.chain(actions, itertools.repeat(stop()))

    def act(self, observation: Any) -> Any:
        return next(self._actions)


def played(*agent: Any, user: Any = ASKS, trial: int = 0, **limits: Any) -> Record:
    it = Episode(DOMAIN, DOMAIN.tasks["train"]["cancel"], **limits)
    return run_episode(it, Plays(*agent), Plays(*user), trial=trial)


def saved(path: Path, *records: Record, domain: str = SHOP) -> Path:
    with open_run(path, {"domain": domain}, trials=100) as run:
        for record in records:
            run.append(record)
    return path


def judge(folder: Path, *records: Record, **wanted: Any) -> tuple[list[Any], dict[str, int]]:
    numbered = [replace(record, trial=trial) for trial, record in enumerate(records)]
    kept, dropped = dialogues([read_run(saved(folder / "run", *numbered))], DOMAIN, Wanted(**wanted))
    return kept, dict(dropped)


def go(*arguments: Any) -> None:
    main(parser().parse_args([str(argument) for argument in arguments]))


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "sft.jsonl").read_text().split("\n")[:-1]]


def test_a_dialogue_that_passed_is_kept_as_the_agents_model_would_have_had_it(tmp_path: Path) -> None:
    segment = {"ids": [5, 6], "sampled": [0, 1], "logprobs": [0.0, -0.5]}
    record = replace(played(*DONE), segments=(segment,))
    [line], dropped = judge(tmp_path, record)
    assert dropped == {}
    assert {name: line[name] for name in ("domain", "task_id", "trial", "seed", "segments")} == {
        "domain": "shop",
        "task_id": "cancel",
        "trial": 0,
        "seed": 0,
        "segments": [segment],
    }
    assert line["task_hash"] == DOMAIN.tasks["train"]["cancel"].hash
    system, *talk = line["chat"]
    assert system["role"] == "system"
    assert DOMAIN.policy in system["content"]
    assert '"name": "cancel_order"' in system["content"]  # the tools are described where the format is text
    assert [one["role"] for one in talk] == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert talk[0]["content"] == "Please cancel O1."
    assert talk[1]["content"] == (
        '<tool_call>\n{"name": "get_order", "arguments": {"order_id": "O1"}}\n</tool_call>'
    )
    assert talk[2]["content"].startswith('<tool_response>\n{"ok": true')
    assert talk[5]["content"] == "It is cancelled."


def test_calls_are_written_in_the_format_that_is_asked_for_and_the_prompt_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Serve.")
    [line], _ = judge(tmp_path, played(*DONE), format="json", prompt=tmp_path / "prompt.md")
    assert line["chat"][0]["content"] == "Serve."
    assert line["chat"][2]["content"] == '{"name": "get_order", "arguments": {"order_id": "O1"}}'


@pytest.mark.parametrize(
    ("actions", "last"),
    [
        ((CANCEL, stop("Goodbye.")), "Goodbye. ###STOP###"),
        ((CANCEL, stop()), "###STOP###"),
        ((CANCEL, say("Done.")), "Done."),
    ],
)
def test_an_end_that_the_agent_made_is_part_of_what_it_wrote(tmp_path: Path, actions: Any, last: str) -> None:
    [line], _ = judge(tmp_path, played(*actions))
    assert line["chat"][-1] == {"role": "assistant", "content": last}


TWICE = (say("Please cancel O1."), say("And?"), say("Really?"))


@pytest.mark.parametrize(
    ("reason", "make"),
    [
        ("failed", lambda: played(say("It is cancelled."))),
        ("unscored", lambda: played(*DONE, user=(say("Hi."), *[say("")] * 3))),
        ("truncated", lambda: played(*DONE, user=TWICE, max_steps=4)),
        ("split", lambda: replace(played(*DONE), task_id="elsewhere")),
        ("content", lambda: replace(played(*DONE), task_hash="other")),
        ("unreadable", lambda: played(say(""), *DONE)),
        ("unreadable", lambda: played({"type": "tool_call", "name": "", "arguments": "{oops"}, *DONE)),
        ("loop", lambda: played(LOOK, *DONE)),
        ("loop", lambda: played(say("One  moment."), *DONE[:2], say("One moment."), user=TWICE)),
        ("duplicate", lambda: played(*DONE)),
    ],
)
def test_each_reason_to_drop_a_dialogue_is_counted(tmp_path: Path, reason: str, make: Any) -> None:
    kept, dropped = judge(tmp_path, played(*DONE), make())
    assert (len(kept), dropped) == (1, {reason: 1})


def test_the_same_call_with_another_answer_is_no_loop_and_repeats_may_be_allowed(tmp_path: Path) -> None:
    prudent = played(LOOK, CANCEL, LOOK, say("It is cancelled."))
    assert judge(tmp_path / "prudent", prudent)[1] == {}
    twice = played(LOOK, *DONE)
    assert judge(tmp_path / "once", twice)[1] == {"loop": 1}
    assert judge(tmp_path / "twice", twice, repeats=2)[1] == {}


def test_words_beside_a_call_are_kept_only_where_the_format_can_write_them(tmp_path: Path) -> None:
    record = played({**LOOK, "content": "One moment."}, *DONE[1:])
    [line], _ = judge(tmp_path / "hermes", record)
    assert line["chat"][2]["content"].startswith("One moment.\n<tool_call>")
    for kind in ("json", "llama"):  # they would be read as plain words
        assert judge(tmp_path / kind, record, format=kind)[1] == {"unreadable": 1}


def test_long_dialogues_are_dropped_by_steps_and_by_tokens(tmp_path: Path) -> None:
    record = played(*DONE)
    assert record.steps == 4
    assert judge(tmp_path / "3", record, max_steps=3)[1] == {"steps": 1}
    assert judge(tmp_path / "4", record, max_steps=4)[1] == {}
    run = saved(tmp_path / "run", record)
    tokenizer = save_tiny_policy(tmp_path / "policy")
    for limit, kept in ((10, 0), (10_000, 1)):
        go(run, "--out", tmp_path / "set", "--force", "--max-tokens", limit, "--tokenizer", tokenizer)
        assert len(lines(tmp_path / "set")) == kept
    with pytest.raises(UsageError, match="--max-tokens and --tokenizer, which counts them, go together"):
        go(run, "--out", tmp_path / "set", "--force", "--max-tokens", 10)


def test_b037_tasks_are_kept_by_their_pass_rate_over_the_scored_trials_of_all_runs(tmp_path: Path) -> None:
    record = played(*DONE)

    def trials(task_id: str, rewards: str, first: int = 0) -> list[Record]:
        values = {"1": 1.0, "0": 0.0, "-": None}
        hash_ = DOMAIN.tasks["train"][task_id].hash
        return [
            replace(
                record,
                task_id=task_id,
                task_hash=hash_,
                trial=first + number,
                grade=replace(record.grade, reward=values[reward]),
                error=None if reward != "-" else "429",
            )
            for number, reward in enumerate(rewards)
        ]

    one = saved(tmp_path / "one", *trials("cancel", "1-"), *trials("confirm", "11"))
    two = saved(tmp_path / "two", *trials("cancel", "00-"), *trials("expedite", "--"))
    go(one, two, "--out", tmp_path / "set")
    found = json.loads((tmp_path / "set" / "tasks.json").read_text())
    # Not scored is not failed: 1 of 3, not 1 of 5.
    assert found["tasks"] == {"cancel": {"pass_rate": 1 / 3, "scored": 3, "passed": 1}}
    report = json.loads((tmp_path / "set" / "filter.json").read_text())
    assert report["tasks"] == {"kept": 1, "dropped": {"too easy": 1, "unscored": 1}}
    go(one, two, "--out", tmp_path / "set", "--force", "--band", 0.4, 1)
    report = json.loads((tmp_path / "set" / "filter.json").read_text())
    assert report["tasks"] == {"kept": 1, "dropped": {"too hard": 1, "unscored": 1}}


def test_the_command_says_what_was_dropped_and_leaves_it_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = saved(tmp_path / "run", played(*DONE), played(say("No."), trial=1), played(stop(), trial=2))
    go(run, "--out", tmp_path / "set")
    assert capsys.readouterr().out == (
        "dialogues: 1 kept; dropped: failed 2\ntasks: 1 kept; dropped: unscored 2\n"
    )
    report = json.loads((tmp_path / "set" / "filter.json").read_text())
    assert report["dialogues"] == {"kept": 1, "dropped": {"failed": 2}}
    assert report["options"]["runs"] == [str(run)]
    assert {path.name for path in (tmp_path / "set").iterdir()} == {"sft.jsonl", "tasks.json", "filter.json"}


def test_what_is_there_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", played(*DONE))
    go(run, "--out", tmp_path / "set")
    before = (tmp_path / "set" / "sft.jsonl").read_bytes()
    with pytest.raises(UsageError, match="set holds what was filtered before: --force replaces it"):
        go(run, "--out", tmp_path / "set", "--format", "json")
    assert (tmp_path / "set" / "sft.jsonl").read_bytes() == before
    go(run, "--out", tmp_path / "set", "--format", "json", "--force")
    assert (tmp_path / "set" / "sft.jsonl").read_bytes() != before


def test_b047_separators_within_a_text_tear_no_line_apart(tmp_path: Path) -> None:
    odd = "a\u2028b\u0085c\x0bd"
    run = saved(tmp_path / "run", played(*DONE, user=(say(odd),)))
    go(run, "--out", tmp_path / "set")
    assert len((tmp_path / "set" / "sft.jsonl").read_text().splitlines()) == 1
    assert lines(tmp_path / "set")[0]["chat"][1]["content"] == odd


def test_runs_of_several_domains_and_bands_that_are_none_are_refused(tmp_path: Path) -> None:
    one, two = saved(tmp_path / "one"), saved(tmp_path / "two", domain="banking")
    with pytest.raises(UsageError, match=r"the runs name the domains .*: give runs of one, or --domain"):
        go(one, two, "--out", tmp_path / "set")
    with pytest.raises(UsageError, match=r"--band is 0\.9 0\.1: give two pass rates from 0 to 1"):
        go(one, "--out", tmp_path / "set", "--band", 0.9, 0.1)
    go(one, two, "--out", tmp_path / "set", "--domain", SHOP)
    assert lines(tmp_path / "set") == []


def test_a_mistake_on_the_command_line_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "train.filter", str(tmp_path), "--out", str(tmp_path / "set")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == f"error: {tmp_path} is not a run: it has no manifest.json"
    command[3] = str(saved(tmp_path / "run", played(*DONE)))
    done = subprocess.run([*command, "--prompt", "no.md"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
