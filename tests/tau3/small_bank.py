"""A small bank of the benchmark's shape, invented for tests: it needs none of the benchmark's data."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from gym_enterprise.dispatch import Dispatcher
from gym_enterprise.domain import Domain
from gym_enterprise.domains.tau3_banking import canonical_hash, make_domain
from gym_enterprise.domains.tau3_banking.records import TABLES, change, find, rows
from gym_enterprise.domains.tau3_banking.tools.catalogue import AGENTS, USERS
from gym_enterprise.grading import begin
from gym_enterprise.tasks import Task
from gym_enterprise.world import World
from tests.tau3.good_calls import GOOD

Rows = dict[str, dict[str, Any]]

PROMPTS = {
    "no_knowledge": "You know it all.",
    "full_kb": "Read: {{full_knowledge_base}}",
    "required_docs": "Read: {{required_documents}}",
    "classic_rag_bm25": "Search.",
    "classic_rag_bm25_no_grep": "Search by words.",
    "grep_only": "Search by patterns.",
}
"""Templates of the agent's policy."""


def _accounts() -> Rows:
    accounts = {
        "chk1": ("u1", "checking", "Blue Account", "01/01/2024", "OPEN", "500.00"),
        "sav1": ("u1", "saving", "Silver Account", "01/01/2024", "ACTIVE", "80.00"),
        "chk2": ("u2", "checking", "Light Green Account", "11/10/2025", "OPEN", "$90.00"),
        "chk3": ("u3", "checking", "Evergreen Account", "01/01/2020", "OPEN", "0.00"),
        "biz3": ("u3", "business_checking", "Navy Blue", "01/01/2025", "OPEN", "40.00"),
        "old4": ("u4", "checking", "Blue Account", "01/01/2020", "CLOSED", "0.00"),
        "chk4": ("u4", "checking", "Evergreen Account", "10/01/2025", "OPEN", "50.00"),
        "chk5": ("u5", "checking", "Blue Account", "01/01/2024", "OPEN", "1,500.00"),
        "low5": ("u5", "checking", "Blue Account", "01/01/2024", "OPEN", "24.99"),
        "new5": ("u5", "checking", "Blue Account", "11/01/2025", "OPEN", "10.00"),
    }
    names = ("user_id", "class", "level", "date_opened", "status", "current_holdings")
    return {key: {"account_id": key, **dict(zip(names, row, strict=True))} for key, row in accounts.items()}


def _debit_cards() -> Rows:
    cards: Rows = {
        "active": {"account_id": "chk1", "status": "ACTIVE", "daily_purchase_limit": 1000},
        "bare": {"account_id": "chk2", "status": "ACTIVE"},
        "fresh": {"account_id": "new5", "status": "ACTIVE"},
        "stray": {"account_id": "none", "status": "ACTIVE"},
        "frozen": {"account_id": "chk1", "status": "FROZEN"},
        "icy": {"account_id": "old4", "status": "FROZEN"},
        "closed": {"account_id": "chk1", "status": "CLOSED", "closure_reason": "stolen"},
        "pending": {"account_id": "chk1", "status": "PENDING"},
        "for_lost": {"account_id": "chk1", "status": "PENDING", "issue_reason": "lost"},
        "for_expired": {"account_id": "chk1", "status": "PENDING", "issue_reason": "expired"},
        "on_closed": {"account_id": "old4", "status": "PENDING"},
        "alarmed": {"account_id": "biz3", "status": "ACTIVE", "fraud_alert_active": True},
        "by_bank": {
            "account_id": "biz3",
            "status": "ACTIVE",
            "fraud_alert_active": True,
            "alert_source": "bank_initiated",
        },
        "fast": {"account_id": "biz3", "status": "ACTIVE", "velocity_blocked": True},
    }
    common = {"user_id": "u1", "last_4_digits": "1234", "issue_date": "02/03/2024"}
    return {key: {"card_id": key, **row, **common} for key, row in cards.items()}


def database() -> dict[str, Rows]:
    """Return the bank's records by table."""
    names = {"u1": "Ada Quill", "u2": "Bo Reed", "u3": "Cy Stone", "u4": "Di Tern", "u5": "Ed Umber"}
    return {
        "users": {key: {"name": name, "user_id": key, "email": f"{key}@x"} for key, name in names.items()},
        "accounts": _accounts(),
        "debit_cards": _debit_cards(),
        "credit_card_accounts": {
            "cc1": {"account_id": "cc1", "user_id": "u1", "current_balance": "$100.00"},
            "cc2": {"account_id": "cc2", "user_id": "u2", "current_balance": "?", "account_status": "ok"},
            "cc3": {"account_id": "cc3", "user_id": "u3", "credit_limit": "$15,000.00"},
            "cc4": {"account_id": "cc4", "user_id": "u4", "account_status": "past_due"},
        },
        "credit_card_orders": {
            "o3": {"order_id": "o3", "credit_card_account_id": "cc3", "status": "SHIPPED"}
        },
        "transaction_disputes": {"d2": {"dispute_id": "d2", "user_id": "u2", "status": "UNDER_REVIEW"}},
        "credit_card_transaction_history": {
            "t1": {"transaction_id": "t1", "user_id": "u1", "rewards_earned": "1 points"}
        },
        "bank_account_transaction_history": {
            "b1": {"transaction_id": "b1", "account_id": "chk1", "date": "11/01/2025", "type": "bill_pay"},
            "b2": {"transaction_id": "b2", "account_id": "chk1", "date": "11/02/2025", "type": "atm_deposit"},
        },
        "payment_history": {
            f"p{n}": {
                "payment_id": f"p{n}",
                "credit_card_account_id": "cc1",
                "payment_date": f"0{n}/01/2025",
                "amount": "$5.00",
                "status": "LATE" if n == 1 else "ON_TIME",
            }
            for n in (1, 2, 3)
        },
    }


def raw_task(**changes: Any) -> dict[str, Any]:
    """Return a task as the benchmark writes it; keywords replace its parts."""
    offered = ["call_discoverable_user_tool", "submit_referral", "apply_for_credit_card"]
    return {
        "id": "task_001",
        "description": {"notes": "for reviewers"},
        "user_scenario": {"persona": None, "instructions": "You want a card."},
        "initial_state": None,
        "evaluation_criteria": {
            "actions": [
                {
                    "requestor": "assistant",
                    "name": f"{verb}_discoverable_agent_tool",
                    "arguments": {"agent_tool_name": "get_user_dispute_history_7291"} | arguments,
                }
                for verb, arguments in (("unlock", {}), ("call", {"arguments": '{"user_id": "u1"}'}))
            ],
            "reward_basis": ["DB"],
        },
        "user_tools": [*offered, "submit_transaction", "request_human_agent_transfer"],
        "required_documents": ["doc_1"],
    } | changes


def write_folder(folder: Path, *tasks: dict[str, Any], db: dict[str, Any] | None = None) -> Path:
    """Write a data folder of the benchmark's layout."""
    for name in ("tasks", "documents", "prompts/components"):
        (folder / name).mkdir(parents=True)
    content = {table: {"data": data, "notes": ""} for table, data in database().items()} if db is None else db
    (folder / "db.json").write_text(json.dumps(content))
    for task in tasks or (raw_task(),):
        (folder / "tasks" / f"{task['id']}.json").write_text(json.dumps(task))
    document = {"id": "doc_1", "title": "Cards", "content": "Cards are free."}
    (folder / "documents" / "doc_1.json").write_text(json.dumps(document))
    for template, text in PROMPTS.items():
        (folder / "prompts" / f"{template}.md").write_text(f"{{{{component:rules}}}} {text}\n")
    (folder / "prompts" / "components" / "rules.md").write_text("Be kind.\n")
    return folder


@cache
def small_bank() -> Domain:
    """Make the small bank once."""
    with tempfile.TemporaryDirectory() as folder:
        return make_domain(write_folder(Path(folder) / "bank"))


@cache
def _world() -> World:
    return World(small_bank().image)


class Desk:
    """A fresh episode of the small bank, with every discoverable tool unlocked or given."""

    def __init__(self, task: Task | None = None, *, opened: bool = True) -> None:
        bank = small_bank()
        task = task or bank.tasks["test"]["task_001"]
        self.world = _world()
        begin(self.world, task)
        self.dispatcher = Dispatcher(bank.toolsets, task, self.world)
        for name in AGENTS if opened else ():
            self.listed("unlock_discoverable_agent_tool", agent_tool_name=name)
        for name in USERS if opened else ():
            self.listed("give_discoverable_user_tool", discoverable_tool_name=name)

    def listed(self, name: str, seat: str = "", /, **arguments: Any) -> dict[str, Any]:
        """Call a tool by name, from the seat that has it."""
        of_user = small_bank().toolset("user").get(name) is not None
        seat = seat or ("user" if of_user else "agent")
        return self.dispatcher.call(seat, name, arguments).to_dict()

    def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a discoverable tool the way that the benchmark has for it, and any other by name."""
        text = json.dumps(arguments)
        if name in AGENTS:
            return self.listed("call_discoverable_agent_tool", agent_tool_name=name, arguments=text)
        if name in USERS:
            return self.listed("call_discoverable_user_tool", discoverable_tool_name=name, arguments=text)
        return self.listed(name, **arguments)

    def do(self, name: str, /, **arguments: Any) -> str:
        """Call a tool that has to work."""
        outcome = self.call(name, **arguments)
        assert outcome["ok"], outcome
        return str(outcome["result"])

    def code(self, name: str, /, **arguments: Any) -> str:
        """Call a tool that has to be refused, and return the error's code."""
        outcome = self.call(name, **arguments)
        assert not outcome["ok"], outcome
        return str(outcome["error"]["code"])

    def added(self, name: str, table: str, /, **arguments: Any) -> dict[str, Any]:
        """Make a good call of a tool and return the one record that it adds to a table."""
        before = self.state()[table]
        self.do(name, **GOOD[name] | arguments)
        ((record_id, record),) = (row for row in self.state()[table].items() if row[0] not in before)
        assert next(iter(record.values())) == record_id
        return dict(record)

    def changed(self, name: str, table: str, record_id: str, /, **arguments: Any) -> dict[str, Any]:
        """Make a good call of a tool and return the fields of a record that are other than before."""
        before = self.record(table, record_id)
        self.do(name, **GOOD[name] | arguments)
        after = self.record(table, record_id)
        return {key: value for key, value in after.items() if key not in before or before[key] != value}

    def state(self) -> dict[str, dict[str, Any]]:
        """Return all records but those of calls and gifts."""
        logs = ("agent_discoverable_tools", "user_discoverable_tools", "user_discoverable_tool_calls")
        return {table: rows(self.world, table) for table in TABLES if table not in logs}

    def record(self, table: str, record_id: str) -> dict[str, Any]:
        """Return a record that has to exist."""
        found = find(self.world, table, record_id)
        assert found is not None, (table, list(rows(self.world, table)))
        return found

    def set(self, table: str, record_id: str, **fields: Any) -> None:
        """Change a record behind the tools' back."""
        change(self.world, table, record_id, self.record(table, record_id), **fields)

    def called(self) -> set[str]:
        """Return which discoverable tools of the agent are on record as called."""
        return {row["tool_name"] for row in rows(self.world, "agent_discoverable_tools").values()}

    def hash(self) -> str:
        """Return the canonical hash of the state."""
        return canonical_hash(self.world)
