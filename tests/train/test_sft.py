"""Supervised fine-tuning with a policy of nine tokens: what it learns from, how it goes on."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gym-enterprise[train]'")
pytest.importorskip("transformers", reason="needs transformers: pip install 'gym-enterprise[train]'")

import torch

from gym_enterprise import LLMPlayer, Sampling, evaluate, load_domain
from gym_enterprise.errors import UsageError
from simulators import TransformersEngine
from simulators.template import ChatTemplate
from tests.simulators.tiny_tokenizer import CHATML, tokenizer
from tests.train.tiny_policy import CANCEL, LOOK, Brief, Unwell, save_tiny_policy
from train import journal
from train.config import SftConfig, read
from train.dialogues import recorded_rows, sft_rows
from train.losses import sft_loss
from train.sft import Conversation, Decks, train

ROOT = Path(__file__).parents[2]
DOMAIN = "tests.train.tiny_policy:one_task"
SYSTEM = {"role": "system", "content": "Serve."}


def says(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def line(task: int, *answers: str, asked: str = "Hello.", **more: Any) -> str:
    """A dialogue of a task, as JSON."""
    turns = [one for text in answers for one in (says("user", asked), says("assistant", text))]
    return json.dumps({"task_id": f"t{task}", "chat": [SYSTEM, *turns], **more})


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration file; its `out` is to be overridden."""
    folder = tmp_path_factory.mktemp("sft")
    save_tiny_policy(folder / "policy")
    (folder / "prompt.md").write_text("Serve.")
    rng = random.Random(0)
    written = [line(n, *rng.choices([CANCEL, LOOK, "Hello."], k=rng.randint(1, 4))) for n in range(12)]
    (folder / "sft.jsonl").write_text("\n".join(written) + "\n")
    (folder / "run.toml").write_text(
        f"""
        out = "-"
        data = ["{folder}"]
        batch_size = 4
        steps = 6
        format = "json"
        prompt = "{folder / "prompt.md"}"
        model.path = "{folder / "policy"}"
        optim.lr = 5e-3
        checkpoint.every = 2
        """
    )
    return folder / "run.toml"


def go(config: Path, out: Path, *overrides: str) -> list[dict[str, Any]]:
    train(read(SftConfig, config, f"out={out}", *overrides))
    return journal.read(out)


def data(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{one}\n" for one in lines))
    return f'data=["{path}"]'


def parameters(out: Path, step: int) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(out / "checkpoints" / f"step-{step:06d}" / "model.safetensors")


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def close(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.allclose(one[name], other[name], rtol=0, atol=1e-5) for name in one)


class Clerk:
    """An agent that does what is asked, and says a word."""

    def __init__(self, view: Any, seed: int) -> None:
        pass

    def act(self, observation: Any) -> dict[str, Any]:
        if observation["messages"][-1].role == "tool":
            return {"type": "message", "content": "Hello."}
        return {"type": "tool_call", "name": "cancel_order", "arguments": {"order_id": "O1"}}


def test_a_policy_that_is_taught_what_passes_then_passes_and_can_be_taught_by_its_own_tokens(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain = load_domain(DOMAIN)
    task = domain.tasks["train"]["cancel"]
    answer = '<tool_response>\n{"ok": true, "result": "cancelled"}\n</tool_response>'
    chat = [SYSTEM, says("user", "Please cancel O1."), says("assistant", CANCEL)]
    chat += [says("user", answer), says("assistant", "Hello.")]
    taught = data(tmp_path / "a.jsonl", json.dumps({"chat": chat}))
    figures = go(config, tmp_path / "run", taught, "steps=60", "checkpoint.every=60")
    assert figures[0]["nll"] > 2.0  # ln 9 is 2.2
    assert figures[-1]["nll"] < 0.05
    engine = TransformersEngine.load(tmp_path / "run" / "checkpoints" / "step-000060" / "model")
    agent = partial(
        LLMPlayer,
        engine=engine,
        format="json",
        prompt="Serve.",
        sampling=Sampling(temperature=0.0, max_tokens=4),
    )
    run = evaluate(tmp_path / "played", domain, [task], agent, Brief, configuration={"domain": DOMAIN})
    assert asyncio.run(run).overall.pass_at_1 == 1.0
    engine.close()
    capsys.readouterr()
    go(config, tmp_path / "again", f'data=["{tmp_path / "played"}"]', "steps=1")
    assert "1 conversations, 1 with the tokens as recorded" in capsys.readouterr().out


def test_a_run_leaves_its_configuration_its_figures_and_models_that_load(
    config: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    figures = go(config, tmp_path / "run")
    assert [one["step"] for one in figures] == list(range(6))
    assert figures[-1]["epoch"] == 2.0  # 6 steps of 4 of 12
    assert figures[0]["loss"] == pytest.approx(figures[0]["nll"])
    assert read(SftConfig, tmp_path / "run" / "config.toml").steps == 6
    model = tmp_path / "run" / "checkpoints" / "step-000006" / "model"
    AutoTokenizer.from_pretrained(model)
    saved = AutoModelForCausalLM.from_pretrained(model).state_dict()
    assert all(torch.equal(saved[name], one) for name, one in parameters(tmp_path / "run", 6).items())


def test_epochs_say_how_long_it_goes_on_when_steps_do_not(config: Path, tmp_path: Path) -> None:
    figures = go(config, tmp_path / "run", "steps=none", "epochs=1.5", "batch_size=5")
    assert len(figures) == 4  # 18 conversations in batches of 5


def test_b045_a_run_that_is_resumed_sees_the_same_data_and_ends_with_the_same_bits(
    config: Path, tmp_path: Path
) -> None:
    settings = ("seed=5", "batch_size=5", "optim.kind=muon", "holdout=0.25", "holdout_every=2")
    whole = go(config, tmp_path / "whole", *settings)
    go(config, tmp_path / "parts", *settings, "steps=2")
    parts = go(config, tmp_path / "parts", *settings, "checkpoint.resume=true")
    assert equal(parameters(tmp_path / "whole", 6), parameters(tmp_path / "parts", 6))
    for one, other in zip(whole, parts, strict=True):
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_the_seed_decides_what_is_drawn(config: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        go(config, tmp_path / name, f"seed={seed}")
    assert equal(parameters(tmp_path / "a", 6), parameters(tmp_path / "b", 6))
    assert not equal(parameters(tmp_path / "a", 6), parameters(tmp_path / "c", 6))


def test_data_that_has_changed_does_not_go_on(config: Path, tmp_path: Path) -> None:
    taught = data(tmp_path / "a.jsonl", line(1, CANCEL), line(2, LOOK))
    go(config, tmp_path / "run", taught, "steps=2")
    data(tmp_path / "a.jsonl", line(1, CANCEL), line(2, CANCEL))
    with pytest.raises(UsageError, match="the data has changed since the checkpoint"):
        go(config, tmp_path / "run", taught, "checkpoint.resume=true")


def test_b042_neither_the_loss_nor_the_weights_depend_on_the_size_of_a_pass(
    config: Path, tmp_path: Path
) -> None:
    for weight in ("0.0", "0.3"):
        runs = [tmp_path / f"{size}-{weight}" for size in (1, 100_000)]
        made = [
            go(
                config,
                out,
                "steps=2",
                f"optim.micro_batch_tokens={out.name.split('-')[0]}",
                f"context_weight={weight}",
            )
            for out in runs
        ]
        for one, other in zip(*made, strict=True):
            for name in ("loss", "nll", "tokens", "grad_norm"):
                assert one[name] == pytest.approx(other[name], rel=1e-4)
        assert close(parameters(runs[0], 2), parameters(runs[1], 2))


def test_b046_what_is_too_long_is_dropped_and_counted_and_nothing_left_is_an_error(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, short = line(1, CANCEL, asked="Hello. " * 60), line(2, CANCEL)
    figures = go(
        config, tmp_path / "run", data(tmp_path / "a.jsonl", *[long] * 4, *[short] * 4), "max_tokens=64"
    )
    assert "4 conversations" in (said := capsys.readouterr().out)
    assert "dropped: 4 of more than 64 tokens" in said
    assert all(math.isfinite(one["grad_norm"]) for one in figures)
    with pytest.raises(UsageError, match="all 4 rollouts have a row of more than 64 tokens"):
        go(config, tmp_path / "none", data(tmp_path / "b.jsonl", *[long] * 4), "max_tokens=64")
    assert not (tmp_path / "none").exists()


def test_nothing_to_learn_from_is_an_error_before_the_folder_is_made(config: Path, tmp_path: Path) -> None:
    silent = json.dumps({"chat": [SYSTEM, says("user", "Hello.")]})
    for lines in ([], [silent]):
        with pytest.raises(UsageError, match=r"a\.jsonl has no dialogue to learn from"):
            go(config, tmp_path / "run", data(tmp_path / "a.jsonl", *lines))
    with pytest.raises(UsageError, match=r"nowhere\.jsonl cannot be read"):
        go(config, tmp_path / "run", 'data=["nowhere.jsonl"]')
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("broken", ['{"chat": [', "[1]", '{"messages": []}', '{"chat": 1}'])
def test_a_line_that_is_no_dialogue_is_named(config: Path, tmp_path: Path, broken: str) -> None:
    with pytest.raises(UsageError, match=r'a\.jsonl:2 is no JSON object with a "chat" list'):
        go(config, tmp_path / "run", data(tmp_path / "a.jsonl", line(1, CANCEL), broken))


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        ({"chat": [1]}, "has 1 in its chat: give each message a role and a content"),
        (
            {"chat": [{"role": "user"}]},
            "has {'role': 'user'} in its chat: give each message a role and a content",
        ),
        ({"chat": [says("user", "a")], "task_id": 5}, "has the task_id 5: give a text, or none"),
        ({"chat": [says("user", "a")], "segments": [{"ids": [1]}]}, "has segments that are no lists of ids"),
        ({"chat": [says("user", "a")], "segments": None}, "has segments that are no lists of ids"),
    ],
)
def test_what_is_no_message_task_or_segment_is_named(
    config: Path, tmp_path: Path, broken: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UsageError, match=rf"a\.jsonl:2 {fault}"):
        go(config, tmp_path / "run", data(tmp_path / "a.jsonl", line(1, CANCEL), json.dumps(broken)))


def test_b046_what_is_longer_than_the_model_was_made_for_is_dropped(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tiny policy has a window of 512 tokens, of which "Hello." is one."""
    long = line(1, CANCEL, asked="Hello. " * 510)
    go(config, tmp_path / "run", data(tmp_path / "a.jsonl", long, line(2, CANCEL)), "max_tokens=4096")
    assert "dropped: 1 of more than 512 tokens" in capsys.readouterr().out


def test_b047_odd_separators_in_a_text_end_no_line(config: Path, tmp_path: Path) -> None:
    odd = json.dumps(
        {"chat": [says("user", "a\u2028b\u0085c\x0bd"), says("assistant", CANCEL)]}, ensure_ascii=False
    )
    assert go(config, tmp_path / "run", data(tmp_path / "a.jsonl", odd, line(1, LOOK)), "steps=1")


def test_tasks_that_are_held_out_are_measured_and_not_learned(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line(n, CANCEL if n % 2 else LOOK) for n in range(8) for _ in range(3)]
    figures = go(
        config, tmp_path / "run", data(tmp_path / "a.jsonl", *lines), "holdout=0.25", "holdout_every=4"
    )
    assert [one["step"] for one in figures if "holdout_nll" in one] == [3, 5]
    assert figures[-1]["epoch"] == 6 * 4 / 18  # 6 of 8 tasks
    # Where all tasks say the same, what is held out is learned with the rest.
    same = [line(n, CANCEL) for n in range(8)]
    figures = go(
        config,
        tmp_path / "same",
        data(tmp_path / "b.jsonl", *same),
        "holdout=0.5",
        "steps=60",
        "checkpoint.every=60",
    )
    assert figures[19]["holdout_nll"] > figures[-1]["holdout_nll"] < 0.05
    with pytest.raises(UsageError, match=r"holdout is 0\.1, 0 of 2 tasks: leave some on both sides"):
        go(
            config,
            tmp_path / "none",
            data(tmp_path / "c.jsonl", line(1, CANCEL), line(2, LOOK)),
            "holdout=0.1",
        )


def test_b037_a_folder_of_a_run_is_filtered_and_says_what_it_drops(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    domain = load_domain(DOMAIN)
    tasks = list(domain.tasks["train"].values())
    run = evaluate(
        tmp_path / "played", domain, tasks, Clerk, Unwell, trials=12, configuration={"domain": DOMAIN}
    )
    summary = asyncio.run(run)
    assert 0 < summary.overall.scored < 12
    # The clerk's words are not among the nine tokens, so they are taught as unknown.
    go(config, tmp_path / "run", f'data=["{tmp_path / "played"}"]', "steps=1")
    said = capsys.readouterr().out
    assert f"unscored {12 - summary.overall.scored}" in said
    assert "1 conversations, 0 with the tokens as recorded" in said


def test_b038_recorded_tokens_are_learned_as_they_were_if_they_are_this_models() -> None:
    template = ChatTemplate(tokenizer(CHATML, marks=["ab"]))
    chat = [says("user", "Hi."), says("assistant", "ab"), says("user", "And?"), says("assistant", "b")]
    encode = partial(template.tokenizer.encode, add_special_tokens=False)
    letters = [encode(letter)[0] for letter in "ab"]
    assert encode("ab") not in (letters, letters[:1])
    prompt = list(template.prompt(chat[:1]))
    ids = [*prompt, *letters, *encode("<|im_end|>")]
    segment = {
        "ids": ids,
        "sampled": [0] * len(prompt) + [1, 1, 1],
        "logprobs": [0.0] * len(prompt) + [-1.0, -2.0, -3.0],
    }
    silent = {"ids": prompt, "sampled": [0] * len(prompt), "logprobs": [0.0] * len(prompt)}
    [row] = recorded_rows(template, chat, [segment, silent], "d", vocabulary=300)
    assert (list(row.ids), list(row.sampled)) == (ids, segment["sampled"])
    # Another system message, another template, no tokens, no words of the agent.
    assert recorded_rows(template, [SYSTEM, *chat], [segment], "d", vocabulary=300) == []
    other = ChatTemplate(tokenizer(CHATML.replace("<|im_start|>", "<|im_start|> "), marks=["ab"]))
    assert recorded_rows(other, chat, [segment], "d", vocabulary=300) == []
    assert recorded_rows(template, chat, [], "d", vocabulary=300) == []
    assert recorded_rows(template, chat, [silent], "d", vocabulary=300) == []
    [encoded] = sft_rows(template, chat, "d", vocabulary=300)
    assert encoded.ids[: len(prompt) + 1] == (*prompt, encode("ab")[0])


def test_recorded_tokens_count_in_a_run(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from simulators.template import load_tokenizer

    template = ChatTemplate(load_tokenizer(config.parent / "policy"))
    chat = json.loads(line(1, CANCEL))["chat"]
    [row] = sft_rows(template, chat, 0, vocabulary=9)
    segment = {"ids": row.ids, "sampled": row.sampled, "logprobs": [0.0] * len(row.ids)}
    taught = data(tmp_path / "a.jsonl", line(1, CANCEL, segments=[segment]), line(2, LOOK))
    assert go(config, tmp_path / "run", taught, "steps=1", "batch_size=2")[0]["tokens"] == 4
    assert "2 conversations, 1 with the tokens as recorded" in capsys.readouterr().out


def test_entries_of_data_are_drawn_by_their_weights(config: Path, tmp_path: Path) -> None:
    data(tmp_path / "a.jsonl", *[line(n, CANCEL) for n in range(20)])
    data(tmp_path / "b.jsonl", line(1, LOOK))
    both = f'data=["{tmp_path / "a.jsonl"}", "{tmp_path / "b.jsonl"}"]'
    # Almost only the second entry, which has one dialogue, is learned from.
    figures = go(config, tmp_path / "run", both, "weights=[1e-9, 1.0]", "steps=40", "checkpoint.every=40")
    assert figures[-1]["nll"] < 0.1
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(UsageError, match=r"b\.jsonl has no dialogue to learn from"):
        go(config, tmp_path / "none", both, "weights=[1.0, 1.0]")


def test_a_deck_gives_every_conversation_once_before_any_again() -> None:
    found = [Conversation(place % 2, f"t{place}", ()) for place in range(6)]
    decks = Decks(found, (), random.Random(0))
    drawn = [decks.draw().task for _ in range(18)]
    assert all(len({*drawn[at : at + 6]}) == 6 for at in (0, 6, 12))
    assert drawn[:6] != drawn[6:12]
    weighed = Decks(found, (1.0, 3.0), random.Random(0))
    counts = Counter(weighed.draw().source for _ in range(4000))
    assert counts[1] / 4000 == pytest.approx(0.75, abs=0.03)  # four standard deviations


def test_tokens_of_others_count_by_their_weight() -> None:
    # (1 + 2 + 0.5 * 4) / (2 + 0.5), and the gradient of each.
    logp = torch.tensor([[-9.0, -4.0, -1.0, -2.0]], requires_grad=True)
    mask, context = torch.tensor([[0, 0, 1, 1]]), torch.tensor([[0, 1, 0, 0]])
    result = sft_loss(logp, mask, context=context, context_weight=0.5)
    assert result.loss.item() == pytest.approx(2.0)
    assert result.metrics["nll"].value == 1.5
    assert result.metrics["context_nll"].value == 4.0
    result.loss.backward()
    assert logp.grad.tolist() == [[0, pytest.approx(-0.2), pytest.approx(-0.4), pytest.approx(-0.4)]]
    with pytest.raises(UsageError, match="2 tokens are in mask and context"):
        sft_loss(logp, mask, context=mask, context_weight=0.5)


def test_what_others_wrote_teaches_only_where_it_has_a_weight(config: Path, tmp_path: Path) -> None:
    taught = data(tmp_path / "a.jsonl", line(1, CANCEL, asked="Hello."))
    settings = (taught, "steps=30", "checkpoint.every=30", "optim.lr=2e-3")
    without = go(config, tmp_path / "without", *settings)
    beside = go(config, tmp_path / "beside", *settings, "context_weight=0.3")
    assert "context_nll" not in without[-1]
    assert beside[-1]["context_nll"] < beside[0]["context_nll"] / 2


@pytest.mark.parametrize(
    "overrides",
    [
        ("model.lora.rank=2", "model.gradient_checkpointing=true"),
        ("optim.kind=muon", "optim.schedule=cosine", "optim.warmup_steps=2"),
        ("keep_history=false", "model.autocast=true"),
    ],
)
def test_every_kind_of_model_and_optimiser_runs(
    config: Path, tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    for one in go(config, tmp_path / "run", *overrides, "steps=3"):
        assert math.isfinite(one["nll"])
        assert one["skipped"] == 0


def command(config: Path, out: Path, *overrides: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "train.sft", str(config), f"out={out}", *overrides],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_sigterm_finishes_the_step_and_saves_and_the_rest_gives_the_same_bits(
    config: Path, tmp_path: Path
) -> None:
    settings = ("checkpoint.every=100000", "seed=3")
    running = command(config, tmp_path / "parts", *settings, "steps=100000")
    while len(journal.read(tmp_path / "parts")) < 3:
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=60)[0].decode()
    assert running.returncode == 0
    assert "checkpoint.resume=true goes on" in said
    done = len(journal.read(tmp_path / "parts"))
    assert (tmp_path / "parts" / "checkpoints" / f"step-{done:06d}").is_dir()
    steps = f"steps={done + 5}"
    go(config, tmp_path / "parts", *settings, steps, "checkpoint.resume=true")
    go(config, tmp_path / "whole", *settings, steps)
    assert equal(parameters(tmp_path / "whole", done + 5), parameters(tmp_path / "parts", done + 5))
