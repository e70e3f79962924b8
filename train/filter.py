"""From runs on disk: dialogues to imitate, and tasks that are worth practising.

    python -m train.filter RUN [RUN ...] --out FOLDER [--format hermes] [--repeats 2] [...]
    python -m train.filter --help                        all options

===========  ==========================================================================================
in FOLDER    what it holds
===========  ==========================================================================================
sft.jsonl    one dialogue a line, for `train.sft`: its `chat` as the agent's model read and wrote it, calls
             as text; its `segments` of tokens, where the record has them; and what was played
tasks.json   the tasks that pass neither nearly always nor nearly never, each with its pass rate over
             the scored trials of all runs
filter.json  the options, and what was dropped, counted by reason
===========  ==========================================================================================

A dialogue is dropped for the first of these reasons that it has:

===========  ==========================================================================================
split        its task is not in the split: nothing of a test is ever learned
content      its task has another content now than when it was played
unscored     it has no reward
failed       its reward is below 1
truncated    a budget ran out
unreadable   a turn of the agent is blank, or does not read as the calls that were made: it was no call,
             or it is one with words beside it that this format cannot write
loop         a message of the agent (blanks aside), or a call with the same arguments and the same
             answer, stands in it more than `--repeats` times
steps        it has more messages and calls than `--max-steps`
tokens       it has more tokens than `--max-tokens`
duplicate    a dialogue before it is the same chat
===========  ==========================================================================================
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from gym_enterprise import Domain, Record, Run, Task, load_domain, read_run
from gym_enterprise.errors import GymEnterpriseError, UsageError
from gym_enterprise.harness.outcomes import outcomes, passed
from simulators import EngineError, Format, parse_turn
from simulators.chat import Chat
from simulators.renderer import template_for
from simulators.template import Template, load_tokenizer
from train.dialogues import dialogue

FORMATS = tuple(name for name in get_args(Format) if name != "openai")


@dataclass(frozen=True)
class Wanted:
    """Which dialogues are kept, and how they are written."""

    split: str = "train"
    format: Format = "hermes"
    prompt: Path | None = None
    """File of the system message; None is that of `LLMPlayer`."""
    repeats: int = 1
    """How often a message, or a call with the same answer, may stand in a dialogue."""
    max_steps: int | None = None
    max_tokens: int | None = None
    template: Template | None = None
    """What counts the tokens."""


def dialogues(
    runs: Sequence[Run], domain: Domain, wanted: Wanted
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the dialogues that are worth imitating, as lines of sft.jsonl, and why others are dropped."""
    kept: dict[str, dict[str, Any]] = {}
    dropped: Counter[str] = Counter()
    for run in runs:
        for record in run:
            chat = judged(domain, record, wanted)
            digest = hashlib.sha256(json.dumps(chat).encode()).hexdigest()
            if isinstance(chat, str) or digest in kept:
                dropped[chat if isinstance(chat, str) else "duplicate"] += 1
                continue
            kept[digest] = {
                "run": str(run.path),
                "domain": record.domain,
                "task_id": record.task_id,
                "task_hash": record.task_hash,
                "trial": record.trial,
                "seed": record.seed,
                "chat": chat,
                "segments": [dict(one) for one in record.segments],
            }
    return list(kept.values()), dropped


def judged(domain: Domain, record: Record, wanted: Wanted) -> Chat | str:
    """Return a dialogue as a chat, or why it is dropped; the reasons are at the top of this module."""
    task = domain.tasks[wanted.split].get(record.task_id)
    if task is None:
        return "split"
    if record.task_hash not in ("", task.hash):
        return "content"
    if not passed(record):
        return "unscored" if record.reward is None else "failed"
    if record.truncated:
        return "truncated"
    chat = dialogue(domain, task, record, wanted.format, wanted.prompt)
    if not reads_back(chat, record, wanted.format, domain.stop_tokens):
        return "unreadable"
    if most_repeated(record) > wanted.repeats:
        return "loop"
    if wanted.max_steps is not None and record.steps > wanted.max_steps:
        return "steps"
    if wanted.max_tokens is not None and wanted.template is not None:
        return "tokens" if len(wanted.template.prompt(chat)) > wanted.max_tokens else chat
    return chat


def reads_back(chat: Chat, record: Record, format: Format, stop_tokens: Sequence[str]) -> bool:
    """Say whether the agent's turns, as a chat has them, would be played as the calls that were made."""
    own = [message for seat, message in record.transcript if seat == "agent"]
    made = [message.call.name for message in own if message.call and message.role == "tool"]
    words = [message["content"] for message in chat if message["role"] == "assistant"]
    turns = [parse_turn(text, format, stop_tokens).actions for text in words]
    read = [action["name"] for turn in turns for action in turn if action["type"] == "tool_call"]
    return all(turns) and all(made) and read == made


def most_repeated(record: Record) -> int:
    """Return how often the agent said, or did with the same outcome, what it repeated most."""
    done: Counter[tuple[str, ...]] = Counter()
    for seat, message in record.transcript:
        if seat == "agent" and message.call is None:
            done["said", *message.content.split()] += 1
        elif seat == "agent" and message.call is not None and message.role == "tool":
            done["called", message.call.name, message.call.arguments_json, message.content] += 1
    return max(done.values(), default=0)


def practice(
    runs: Sequence[Run], tasks: Mapping[str, Task], low: float, high: float
) -> tuple[dict[str, dict[str, Any]], Counter[str]]:
    """Return the tasks whose pass rate is from `low` to `high`, and why others are dropped."""
    counts = {task_id: (0, 0) for task_id in tasks}
    for run in runs:
        found = outcomes(run)
        for task_id, (scored, passes) in found.scored.items():
            if task_id in tasks and found.hashes.get(task_id, "") in ("", tasks[task_id].hash):
                counts[task_id] = counts[task_id][0] + scored, counts[task_id][1] + passes
    kept: dict[str, dict[str, Any]] = {}
    dropped: Counter[str] = Counter()
    for task_id, (scored, passes) in counts.items():
        if scored and low <= passes / scored <= high:
            kept[task_id] = {"pass_rate": passes / scored, "scored": scored, "passed": passes}
        else:
            dropped["unscored" if not scored else "too hard" if passes / scored < low else "too easy"] += 1
    return kept, dropped


def played_domain(runs: Sequence[Run], name: str | None = None) -> Domain:
    """Return the domain of this name, or the one that the manifests of runs name.

    Raises:
        UsageError: They do not name one.
    """
    named = {run.domain for run in runs}
    only = name or (next(iter(named)) if len(named) == 1 else None)
    if only is None:
        raise UsageError(
            f"the runs name the domains {sorted(map(str, named))}: give runs of one, or --domain"
        )
    return load_domain(only)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files of a folder; each is there whole, and those of before until all can be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.part").write_text(text, encoding="utf-8", newline="\n")
    for name in files:
        (folder / f"{name}.part").replace(folder / name)


def main(options: argparse.Namespace) -> None:
    """Filter runs into a folder, and say what was kept and dropped."""
    out: Path = options.out
    if (out / "filter.json").exists() and not options.force:
        raise UsageError(
            f"{out} holds what was filtered before: --force replaces it, or choose another --out"
        )
    if (options.max_tokens is None) != (options.tokenizer is None):
        raise UsageError("--max-tokens and --tokenizer, which counts them, go together: give both, or none")
    low, high = options.band
    if not 0 <= low <= high <= 1:
        raise UsageError(f"--band is {low} {high}: give two pass rates from 0 to 1, the lower one first")
    runs = [read_run(path) for path in options.runs]
    domain = played_domain(runs, options.domain)
    template = options.tokenizer and template_for(load_tokenizer(options.tokenizer), keep_history=True)
    limits = options.repeats, options.max_steps, options.max_tokens
    wanted = Wanted(options.split, options.format, options.prompt, *limits, template)
    lines, dropped = dialogues(runs, domain, wanted)
    tasks, others = practice(runs, domain.tasks[options.split], low, high)
    report = {
        "options": {name: value for name, value in vars(options).items() if name != "force"},
        "dialogues": {"kept": len(lines), "dropped": dict(dropped.most_common())},
        "tasks": {"kept": len(tasks), "dropped": dict(others.most_common())},
    }
    files = {
        "sft.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "tasks.json": json.dumps({"domain": domain.name, "split": options.split, "tasks": tasks}, indent=2)
        + "\n",
        "filter.json": json.dumps(report, indent=2, default=str) + "\n",
    }
    write(out, files)
    for name in ("dialogues", "tasks"):
        why = ", ".join(f"{reason} {count}" for reason, count in report[name]["dropped"].items()) or "none"
        print(f"{name}: {report[name]['kept']} kept; dropped: {why}")


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    made = argparse.ArgumentParser("train.filter", description="Filter runs; train/filter.py has the rules.")
    add = made.add_argument
    add("runs", nargs="+", type=Path, metavar="RUN", help="folder of a run")
    add("--out", type=Path, required=True, help="folder of the results")
    add("--domain", help="name of the domain, or module:function; default: as the runs say")
    add("--split", default="train", help="tasks to keep (%(default)s)")
    add("--format", choices=FORMATS, default="hermes", help="how calls are written (%(default)s)")
    add("--prompt", type=Path, help="file of the system message; default: that of LLMPlayer")
    add("--repeats", type=int, default=1, help="how often a message or call may stand (%(default)s)")
    add("--max-steps", type=int, help="most messages and calls of a dialogue")
    add("--max-tokens", type=int, help="most tokens of a dialogue")
    add("--tokenizer", help="model whose tokens --max-tokens counts")
    band: dict[str, Any] = {"default": (0.05, 0.95), "metavar": ("LOW", "HIGH")}
    add("--band", type=float, nargs=2, **band, help="pass rates (%(default)s)")
    add("--force", action="store_true", help="replace what is there")
    return made


if __name__ == "__main__":
    try:
        main(parser().parse_args(sys.argv[1:]))
    except (GymEnterpriseError, EngineError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
