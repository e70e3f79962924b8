"""tau3_banking: the public τ³-Banking benchmark (release 1.0.1) on this package's core.

A customer of Rho-Bank talks to a service agent; most of what the agent can do is named only in 698 policy
documents. Data and tasks are the benchmark's own and stay outside this package. `docs/tau3.md` says how to
run it, what is identical, and what differs and why.

| Fact              | Value                                                                             |
|-------------------|-----------------------------------------------------------------------------------|
| Creation          | `gymnasium.make("Tau3Banking-v0")`, `gym_enterprise.tau3_banking_v0.env()`, or    |
|                   | `load_domain("tau3_banking", data_dir=..., retrieval=...)`                        |
| Agents            | `agent_0` (the service agent), `user_0` (the customer); the customer opens        |
| Database          | 23 tables of JSON records                                                         |
| Agent's tools     | 14 listed and those of the retrieval, 44 discoverable                             |
| Customer's tools  | 6 listed, of which a task offers none to three; 4 discoverable                    |
| Tasks             | all in the split `test`                                                           |
| Customer          | "replay" by default; free-text instructions for a language model, no script       |
| Budgets           | 200 messages and calls of both, 10 failed calls                                   |

## Data

`data_dir=`, or the environment variable TAU3_BANKING_DATA, names a checkout of tau2-bench or a folder with
`db.json`, `tasks/`, `documents/` and `prompts/`.

## Tools

Discoverable tools are hidden, not those of the core's `unlock_tool`: the agent unlocks one with
`unlock_discoverable_agent_tool` and calls it with `call_discoverable_agent_tool`; the customer's are given
with `give_discoverable_user_tool` and called with `call_discoverable_user_tool`. Such calls leave graded
records, refused ones too. A refusal of a tool keeps its records and is no error (`Declined`).

## Rewards

The product of the parts that the task names: DB (the final state is the reference's), ACTION (the reference's
calls were made) and, in one task, a judged sentence; see `grading`. 0 unless a player stopped. A stricter
reading stands beside it in `Grade.checks["strict"]`.

## Arguments

- `data_dir`: where the data is.
- `retrieval`: how the agent reads the documents; see `retrieval`.
- `judge`: says whether a conversation bears out assertions; without it, tasks with any are not scored.

## Version history

- v0: first version.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from gym_enterprise.domain import Domain
from gym_enterprise.domains.tau3_banking.attacks import attacks
from gym_enterprise.domains.tau3_banking.data import find_folder, read_database, read_documents
from gym_enterprise.domains.tau3_banking.grading import BenchmarkGrader, Judge
from gym_enterprise.domains.tau3_banking.records import build_image, canonical_hash
from gym_enterprise.domains.tau3_banking.retrieval import RETRIEVALS, policy, search_tools
from gym_enterprise.domains.tau3_banking.tasks import read_tasks
from gym_enterprise.domains.tau3_banking.toolkit import DeskToolset
from gym_enterprise.domains.tau3_banking.tools import TOOLS

__all__ = ["RETRIEVALS", "canonical_hash", "make_domain"]

STOP_TOKENS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")


def make_domain(
    data_dir: str | Path | None = None, retrieval: str = "bm25_grep", judge: Judge | None = None
) -> Domain:
    """Make the benchmark's domain; use `gym_enterprise.load_domain("tau3_banking", ...)`, which does so once.

    Args:
        data_dir: A checkout of tau2-bench, or a folder of its layout; default: what TAU3_BANKING_DATA names.
        retrieval: How the agent reads the documents, a key of `RETRIEVALS`.
        judge: `judge(transcript, assertions)` says whether a conversation bears all of them out.

    Returns:
        The domain `tau3_banking`.

    Raises:
        DataNotFound: The data is not there.
        UsageError: A file does not fit, or there is no such way of retrieval.
        TaskError: A task file does not fit.
    """
    folder = find_folder(data_dir)
    database = read_database(folder)
    documents = read_documents(folder)
    text = policy(folder, retrieval, documents)
    return Domain(
        "tau3_banking",
        build_image(database.tables, database.notes),
        [*TOOLS, *search_tools(RETRIEVALS[retrieval].tools, documents)],
        text,
        {"test": read_tasks(folder, database)},
        documents=documents,
        stop_tokens=STOP_TOKENS,
        max_steps=200,
        truncation_reward="zero",
        attacks=attacks,
        search_tools=retrieval == "hybrid",
        retrieval=retrieval,
        toolset_type=DeskToolset,
        grader_type=partial(BenchmarkGrader, judge=judge),
    )


def _cache_key(data_dir: str | Path | None = None, **_: object) -> str:
    return str(find_folder(data_dir))


make_domain.cache_key = _cache_key  # type: ignore[attr-defined]
