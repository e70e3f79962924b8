"""A service desk to try the bank's tools at: one customer's records, and a call of each tool about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gym_enterprise.dispatch import Dispatcher
from gym_enterprise.domains.banking import make_domain
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import Action, State, Task, UserScenario
from gym_enterprise.world import World

BANK = make_domain()
WORLD = World(BANK.image)
USER_TOOLS = tuple(tool.name for tool in BANK.toolset("user") if tool.name.startswith("app_"))


class Desk:
    """Calls tools of both seats about one customer; all discoverable tools are open."""

    def __init__(self, customer: dict[str, Any], world: World = WORLD) -> None:
        self.customer_id: str = customer["customer_id"]
        self.customer = customer
        session = {"device": "phone", "customer_id": self.customer_id}
        task = Task(
            id="desk",
            domain="banking",
            split="train",
            family="desk",
            seed=1,
            now="2026-03-02T09:30:00",
            user=UserScenario(tools=USER_TOOLS),
            state=State(insert={"app_sessions": (session,)}),
            reference=(Action(name="none"),),
        )
        self.world = world
        self.world.begin(task.state, now=task.now, seed=task.seed)
        self.dispatcher = Dispatcher(BANK.toolsets, task, self.world)
        self.dispatcher.unlocked = tuple(tool.name for tool in BANK.toolset("agent") if tool.discoverable)
        self.dispatcher.given = tuple(tool.name for tool in BANK.toolset("user") if tool.discoverable)

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool of whichever seat has it and return its outcome."""
        seat = "user" if name.startswith("app_") else "agent"
        return self.dispatcher.call(seat, name, arguments).to_dict()

    def do(self, name: str, **arguments: Any) -> Any:
        """Call a tool that must work and return its result."""
        outcome = self.call(name, **arguments)
        assert outcome["ok"], outcome
        return outcome["result"]

    def refused(self, name: str, **arguments: Any) -> str:
        """Call a tool that must fail without a trace and return the error code."""
        before = self.world.changeset()
        outcome = self.call(name, **arguments)
        assert not outcome["ok"], outcome
        assert self.world.changeset() == before
        return str(outcome["error"]["code"])

    def verify(self, *, enhanced: bool = True) -> Desk:
        """Verify the customer with facts of the record."""
        facts = {"date_of_birth": self.customer["date_of_birth"], "phone": self.customer["phone"]}
        if enhanced:
            facts["card_last_four"] = self.card()["last_four"]
        self.do("verify_identity", customer_id=self.customer_id, **facts)
        return self

    def account(self, product: str) -> dict[str, Any]:
        """Return the customer's account of a product."""
        row = self.world.one(
            "SELECT * FROM accounts WHERE customer_id = ? AND product = ? ORDER BY account_id",
            self.customer_id,
            product,
        )
        assert row is not None
        return row

    def extra(self, product: str) -> str:
        """Return the id of an account of a product that the customer need not have had, with money in it."""
        credit = PRODUCTS[product].credit
        account_id = f"acc_extra_{product}"
        self.world.execute(
            "INSERT INTO accounts VALUES (?, ?, ?, 'open', ?, ?, '2025-01-02', NULL) ON CONFLICT DO NOTHING",
            account_id,
            self.customer_id,
            product,
            -5_000 if credit else 200_000,
            100_000 if credit else None,
        )
        if f"products.{product}.points_a_dollar" in FACTS:
            self.world.execute("INSERT INTO points VALUES (?, 3000) ON CONFLICT DO NOTHING", account_id)
        return account_id

    def card(self, product: str = "plus") -> dict[str, Any]:
        """Return a card of the customer."""
        row = self.world.one(
            "SELECT * FROM cards WHERE account_id = ? ORDER BY card_id", self.account(product)["account_id"]
        )
        assert row is not None
        return row

    def transaction(self, kind: str, product: str = "plus") -> dict[str, Any]:
        """Return a transaction of the customer."""
        row = self.world.one(
            "SELECT * FROM transactions WHERE account_id = ? AND kind = ? ORDER BY transaction_id",
            self.account(product)["account_id"],
            kind,
        )
        assert row is not None
        return row


def fee(desk: Desk) -> str:
    """Return an overdraft fee that was not refunded."""
    row = desk.world.one(
        "SELECT transaction_id FROM transactions AS t WHERE account_id = ? AND fee = 'overdraft' "
        "AND NOT EXISTS (SELECT 1 FROM fee_refunds AS r WHERE r.transaction_id = t.transaction_id)",
        desk.account("plus")["account_id"],
    )
    return str(row["transaction_id"])


Arguments = Callable[[Any], dict[str, Any]]

DATES = {"starts_on": "2026-04-01", "ends_on": "2026-04-09"}
"""A period that a travel notice can have."""

NEEDS_VERIFICATION: list[tuple[str, Arguments]] = [
    ("get_customer", lambda d: {"customer_id": d.customer_id}),
    ("add_note", lambda d: {"customer_id": d.customer_id, "note": "called"}),
    ("update_contact", lambda d: {"customer_id": d.customer_id, "field": "phone", "value": "5551234567"}),
    (
        "update_address",
        lambda d: {"customer_id": d.customer_id, "street": "1 A", "city": "B", "postal_code": "30417"},
    ),
    ("list_accounts", lambda d: {"customer_id": d.customer_id}),
    ("list_transactions", lambda d: {"account_id": d.account("plus")["account_id"], "since": "2026-01-01"}),
    ("list_cards", lambda d: {"customer_id": d.customer_id}),
    ("list_transfers", lambda d: {"account_id": d.account("plus")["account_id"]}),
    ("freeze_card", lambda d: {"card_id": d.card()["card_id"], "reason": "lost"}),
    ("unfreeze_card", lambda d: {"card_id": d.card()["card_id"]}),
    ("set_card_limit", lambda d: {"card_id": d.card()["card_id"], "limit": "cash", "amount": 10}),
    (
        "reissue_card_4417",
        lambda d: {"card_id": d.card()["card_id"], "reason": "damaged", "delivery": "standard", "fee": 0},
    ),
    ("cancel_card_4471", lambda d: {"card_id": d.card()["card_id"]}),
    ("redeem_points_5824", lambda d: {"account_id": d.extra("quay"), "points": 3000, "amount": 24}),
    ("set_due_day_3316", lambda d: {"account_id": d.account("harbor")["account_id"], "day": 12}),
    (
        "open_transfer_request_8864",
        lambda d: {
            "from_account_id": d.extra("notice"),
            "to_account_id": d.account("plus")["account_id"],
            "amount": 5,
            "pays_on": "2026-05-01",
        },
    ),
    ("list_fee_history_6150", lambda d: {"customer_id": d.customer_id, "since": "2026-01-01"}),
    ("refund_fee_7305", lambda d: {"transaction_id": fee(d), "amount": 1, "basis": "courtesy"}),
    ("list_disputes_1194", lambda d: {"customer_id": d.customer_id}),
    (
        "open_dispute_2846",
        lambda d: {
            "transaction_id": d.transaction("purchase")["transaction_id"],
            "reason": "duplicate",
            "provisional_credit": False,
        },
    ),
    (
        "transfer_between_accounts",
        lambda d: {
            "from_account_id": d.account("reserve")["account_id"],
            "to_account_id": d.account("plus")["account_id"],
            "amount": 5,
        },
    ),
    (
        "open_transfer_request_8846",
        lambda d: {
            "from_account_id": d.account("reserve")["account_id"],
            "to_account_id": d.account("plus")["account_id"],
            "amount": 5,
        },
    ),
    ("open_limit_request_3168", lambda d: {"card_id": d.card()["card_id"], "limit": "cash", "amount": 900}),
    ("close_account_5533", lambda d: {"account_id": d.account("plus")["account_id"]}),
    (
        "record_refusal",
        lambda d: {"customer_id": d.customer_id, "request": "dispute", "reason": "outside_time_limit"},
    ),
]
"""Every tool that needs a verified customer, with arguments that fit the desk's customer."""
