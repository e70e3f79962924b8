"""tau3_banking: the public τ³-Banking benchmark (release 1.0.1) on this package's core.

A customer of Rho-Bank talks to a service agent; most of what the agent can do is named only in 698 policy
documents. Data and tasks are the benchmark's own and stay outside this package.

| Fact              | Value                                                                             |
|-------------------|-----------------------------------------------------------------------------------|
| Creation          | `load_domain("tau3_banking", data_dir=...)`                                       |
| Agents            | `agent_0` (the service agent), `user_0` (the customer); the customer opens        |
| Database          | 23 tables of JSON records                                                         |
| Agent's tools     | 14 listed, 44 discoverable                                                        |
| Customer's tools  | 6 listed, of which a task offers none to three; 4 discoverable                    |
| Tasks             | all in the split `test`                                                           |

## Data

`data_dir=`, or the environment variable TAU3_BANKING_DATA, names a checkout of tau2-bench or a folder with
`db.json`, `tasks/`, `documents/` and `prompts/`.

## Tools

Discoverable tools are hidden, not those of the core's `unlock_tool`: the agent unlocks one with
`unlock_discoverable_agent_tool` and calls it with `call_discoverable_agent_tool`; the customer's are given
with `give_discoverable_user_tool` and called with `call_discoverable_user_tool`. Such calls leave graded
records, refused ones too. A refusal of a tool keeps its records and is no error (`Declined`).

## Arguments

- `data_dir`: where the data is.
- `retrieval`: how the agent reads the documents.

## Version history

- v0: first version.
"""

from __future__ import annotations

from pathlib import Path

from gym_enterprise.domain import Domain
from gym_enterprise.domains.tau3_banking.data import find_folder, read_database, read_documents, read_prompt
from gym_enterprise.domains.tau3_banking.grading import ReferenceGrader
from gym_enterprise.domains.tau3_banking.records import build_image, canonical_hash
from gym_enterprise.domains.tau3_banking.tasks import read_tasks
from gym_enterprise.domains.tau3_banking.toolkit import DeskToolset
from gym_enterprise.domains.tau3_banking.tools import TOOLS
from gym_enterprise.errors import UsageError

__all__ = ["canonical_hash", "make_domain"]

PROMPTS = {
    "no_knowledge": "no_knowledge",
    "full_kb": "full_kb",
    "golden_retrieval": "required_docs",
    "bm25": "classic_rag_bm25_no_grep",
    "bm25_grep": "classic_rag_bm25",
    "grep_only": "grep_only",
}
"""The template of the agent's policy for each way of retrieval."""

STOP_TOKENS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")


def make_domain(data_dir: str | Path | None = None, retrieval: str = "bm25_grep") -> Domain:
    """Make the benchmark's domain; use `gym_enterprise.load_domain("tau3_banking", ...)`, which does so once.

    Args:
        data_dir: A checkout of tau2-bench, or a folder of its layout; default: what TAU3_BANKING_DATA names.
        retrieval: How the agent reads the documents, a key of `PROMPTS`.

    Returns:
        The domain `tau3_banking`.

    Raises:
        UsageError: The data is not there, or there is no such way of retrieval.
        TaskError: A task file does not fit.
    """
    if retrieval not in PROMPTS:
        raise UsageError(f"there is no retrieval {retrieval!r}; there are {', '.join(PROMPTS)}")
    folder = find_folder(data_dir)
    database = read_database(folder)
    return Domain(
        "tau3_banking",
        build_image(database.tables, database.notes),
        TOOLS,
        read_prompt(folder, PROMPTS[retrieval]),
        {"test": read_tasks(folder, database)},
        documents=read_documents(folder),
        stop_tokens=STOP_TOKENS,
        max_steps=200,
        truncation_reward="zero",
        search_tools=False,
        toolset_type=DeskToolset,
        grader_type=ReferenceGrader,
    )
