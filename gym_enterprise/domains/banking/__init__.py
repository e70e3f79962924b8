"""Banking-v0: the service desk of Fernwick Bank, a fictional bank.

A customer opens a chat with a problem. The agent finds and verifies the customer, reads the bank's
documents, unlocks the tools that they name, changes a relational database, and refuses what the rules or
the records forbid. Some things only the customer can do, in the app.

| Fact              | Value                                                                             |
|-------------------|-----------------------------------------------------------------------------------|
| Creation          | `gym.make("Banking-v0")`, `banking_v0.env()`, or `load_domain("banking")`         |
| Agents            | `agent_0` (the service agent), `user_0` (the customer); the customer opens        |
| Action space      | `ActionSpace`: a message, a tool call, or a stop                                  |
| Observation space | `TranscriptSpace`: the acting seat's whole history                                |
| Reward            | 1.0 or 0.0, at the end                                                            |
| Database          | 18 tables; 220 customers, 612 accounts, 594 cards, over 8,400 transactions        |
| Documents         | 101, in `kb/banking`, compiled from the facts in `kb/banking/facts`               |
| Agent's tools     | 21 listed, 12 discoverable                                                        |
| Customer's tools  | 2 listed, 2 discoverable                                                          |
| Tasks             | 124 in 22 families: 44 train, 40 validation, 40 test                              |

## Observation

`{"messages": (Message, ...), "turn": int, "your_turn": 0 | 1}`. Message 0 is the system text:
`policy.md` for the agent, its own scenario for the customer. Each seat sees what both said, and only its
own calls and results.

## Action

`{"type": "message", "content": str}`, `{"type": "tool_call", "name": str, "arguments": {...}}` or
`{"type": "stop"}`. Discoverable tools are unlocked with `unlock_tool` and called with `use_tool`;
functions of the customer's app are handed over with `give_tool`. Amounts are JSON numbers of dollars,
dates are `YYYY-MM-DD`.

## Rewards

1.0 exactly when the graded rows equal those that the task's reference produces, else 0.0. Not graded:
which facts were used for verification, notes in the contact log, the summary of a hand-over, reads. A
refusal is right only when it is recorded, for the right request with the right reason.

## Episode end

Terminated when either side stops or the agent hands over with `transfer_to_human`. Truncated after 100
messages and calls of both sides, or 10 failed calls; the state is graded as it is then.

## Families

Four are written by hand; each of their tasks combines several difficulties:

- `verify_then_change`: contact data, an address, a freeze or a limit, for the right one of several records.
- `two_documents`: a fee, a charge or a provisional credit that no single document settles.
- `contradicted_claim`: the records contradict the customer, who insists; the right end is a recorded refusal.
- `confirm_in_app`: the customer has to finish the matter in the app.

Eighteen are made by procedures (`gym_enterprise.domains.banking.procedures`), most of them in pairs that open
alike and end differently: `freeze_card`, `change_contact`, `lower_limit`, `unfreeze_card`, `courtesy_refund`,
`bank_error_refund`, `replace_card`, `raise_limit`, `dispute_charge`, `empty_and_close`, `give_notice`,
`redeem_points`, `travel_notice`, `contact_and_limit`, `cancel_card`, `due_day`, `hand_over`,
`unverified_caller`. `gym-enterprise tasks make banking` makes more of them; `docs/banking.md` says what each
is about.

## Arguments

- `retrieval`: how `kb_search` ranks: "bm25" (default), "dense" or "hybrid"; the last two need the extra
  `retrieval`.

Those of the environments (`role`, `tasks`, `task_id`, `user`, `max_steps`) are described with
`gym_enterprise.envs`.

## Version history

- v0: first version.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gym_enterprise.domain import Domain
from gym_enterprise.domains.banking.attacks import attacks
from gym_enterprise.domains.banking.data import ID_PREFIXES, generate
from gym_enterprise.domains.banking.knowledge import KNOWLEDGE
from gym_enterprise.domains.banking.tools import TOOLS
from gym_enterprise.domains.banking.undo import undo
from gym_enterprise.tasks import Task
from gym_enterprise.world import WorldImage

__all__ = ["make_domain", "make_image"]

_HERE = Path(__file__).parent
_UNGRADED = (
    "verifications",
    "contact_log",
    "app_sessions",
    "handoffs.summary",
    "customers.search_name",
    "customers.phone_digits",
)
_SPLITS = ("train", "validation", "test")
_FOLDERS = ("tasks", "tasks/made")
"""Written by hand, and made by `gym-enterprise tasks make banking --seed 7 --n 36`."""


def make_image() -> WorldImage:
    """Build the bank's database as it is before any task.

    Returns:
        The image; the same bytes in every process.
    """
    return WorldImage.build(
        (_HERE / "schema.sql").read_text(encoding="utf-8"),
        generate(),
        ungraded=_UNGRADED,
        id_prefixes=ID_PREFIXES,
    )


def make_domain(retrieval: str = "bm25") -> Domain:
    """Make the bank; use `gym_enterprise.load_domain("banking")`, which does so once.

    Args:
        retrieval: How the documents are ranked, one of `kb.RETRIEVALS`.

    Returns:
        The domain `banking`.

    Raises:
        UsageError: There is no such way of retrieval, or what it needs is not installed.

    Example:
        >>> from gym_enterprise import load_domain
        >>> load_domain("banking").image.tables["cards"].key
        ('card_id',)
    """
    return Domain(
        "banking",
        make_image(),
        TOOLS,
        (_HERE / "policy.md").read_text(encoding="utf-8"),
        {split: [_HERE / folder / f"{split}.jsonl" for folder in _FOLDERS] for split in _SPLITS},
        documents=KNOWLEDGE,
        retriever=retrieval,
        attacks=attacks,
        undo=undo,
        procedures=_make_tasks,
    )


def _make_tasks(seed: int, n: int, families: Sequence[str], split: str) -> list[Task]:
    from gym_enterprise.domains.banking import procedures  # they draw on all the records

    return procedures.tasks(seed, n, families, split=procedures.split_named(split), customers="everybody")
