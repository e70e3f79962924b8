"""A small shop: the domain that tests of the core play with; small enough to check by hand.

Customers Ada (A1, 17.00 on her account) and Bob (A2); orders O1 and O2 of Ada, O3 of Bob.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from gym_enterprise import (
    Document,
    Domain,
    Key,
    Money,
    Task,
    ToolError,
    World,
    WorldImage,
    dollars,
    register_domain,
    tool,
)

SCHEMA = """
CREATE TABLE accounts (
    account_id TEXT PRIMARY KEY, owner TEXT NOT NULL, address TEXT NOT NULL, balance INTEGER NOT NULL,
    last_viewed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE orders (
    order_id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts, item TEXT NOT NULL,
    price INTEGER NOT NULL CHECK (price >= 0), status TEXT NOT NULL
) STRICT;
CREATE INDEX orders_by_account ON orders (account_id, order_id);
CREATE TABLE credits (
    credit_id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts, amount INTEGER NOT NULL
) STRICT;
CREATE TABLE confirmations (order_id TEXT PRIMARY KEY REFERENCES orders, code TEXT NOT NULL) STRICT;
CREATE TABLE transfers (account_id TEXT PRIMARY KEY REFERENCES accounts, reason TEXT NOT NULL) STRICT;
CREATE TABLE log (n INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
"""

ROWS: dict[str, list[dict[str, Any]]] = {
    "accounts": [
        {"account_id": "A1", "owner": "Ada", "address": "1 Elm St", "balance": 1700},
        {"account_id": "A2", "owner": "Bob", "address": "2 Oak St", "balance": 9000},
    ],
    "orders": [
        {"order_id": "O1", "account_id": "A1", "item": "lamp", "price": 2110, "status": "open"},
        {"order_id": "O2", "account_id": "A1", "item": "chair", "price": 5000, "status": "open"},
        {"order_id": "O3", "account_id": "A2", "item": "table", "price": 9900, "status": "open"},
    ],
}

AccountId = Annotated[str, Key("accounts.account_id")]
OrderId = Annotated[str, Key("orders.order_id")]


def _order(world: World, order_id: str) -> dict[str, Any]:
    order = world.one("SELECT * FROM orders WHERE order_id = ?", order_id)
    if order is None:
        raise ToolError("unknown_order", f"there is no order {order_id!r}")
    return order


@tool(writes=True)
def get_order(world: World, order_id: OrderId) -> Any:
    """Look an order up; every look is logged, and the log is not graded.

    Args:
        order_id: The order.
    """
    order = _order(world, order_id)
    world.execute("INSERT INTO log (entry) VALUES (?)", f"looked at {order_id}")
    world.execute(
        "UPDATE accounts SET last_viewed = last_viewed + 1 WHERE account_id = ?", order["account_id"]
    )
    return {**order, "price": dollars(order["price"])}


@tool()
def list_orders(world: World, account_id: AccountId) -> Any:
    """List an account's orders by order id.

    Args:
        account_id: The account.
    """
    rows = world.query(
        "SELECT order_id, item, status FROM orders WHERE account_id = ? ORDER BY order_id", account_id
    )
    return rows


@tool(writes=True)
def cancel_order(world: World, order_id: OrderId) -> Any:
    """Cancel an order.

    Args:
        order_id: The order.
    """
    if _order(world, order_id)["status"] == "cancelled":
        return "already cancelled"
    world.execute("UPDATE orders SET status = 'cancelled' WHERE order_id = ?", order_id)
    return "cancelled"


@tool(writes=True)
def reopen_order(world: World, order_id: OrderId) -> Any:
    """Open a cancelled order again.

    Args:
        order_id: The order.
    """
    if _order(world, order_id)["status"] != "cancelled":
        raise ToolError("not_cancelled", f"order {order_id} is not cancelled")
    world.execute("UPDATE orders SET status = 'open' WHERE order_id = ?", order_id)
    return "open"


@tool(writes=True)
def set_address(world: World, account_id: AccountId, address: str) -> Any:
    """Change where an account's parcels go.

    Args:
        account_id: The account.
        address: The new address.
    """
    if not world.execute("UPDATE accounts SET address = ? WHERE account_id = ?", address, account_id):
        raise ToolError("unknown_account", f"there is no account {account_id!r}")
    return {"address": address}


@tool(writes=True)
def issue_credit(world: World, account_id: AccountId, amount: Money) -> Any:
    """Credit an account.

    Args:
        account_id: The account.
        amount: How much, in dollars.
    """
    credit_id = world.insert("credits", account_id=account_id, amount=amount)
    world.execute("UPDATE accounts SET balance = balance + ? WHERE account_id = ?", amount, account_id)
    return {"credit_id": credit_id, "amount": dollars(amount)}


@tool(writes=True)
def move_money(world: World, source: AccountId, target: AccountId, amount: Money) -> Any:
    """Move money between accounts.

    Args:
        source: The account that pays.
        target: The account that is paid.
        amount: How much, in dollars.
    """
    world.execute("UPDATE accounts SET balance = balance - ? WHERE account_id = ?", amount, source)
    if not world.execute("UPDATE accounts SET balance = balance + ? WHERE account_id = ?", amount, target):
        raise ToolError("unknown_account", f"there is no account {target!r}")
    return "moved"


@tool(writes=True)
def exchange_item(world: World, order_id: OrderId, item: str, difference: Money) -> Any:
    """Exchange an order's item; the price difference is paid from the account.

    Args:
        order_id: The order.
        item: The new item.
        difference: What the new item costs more, in dollars.
    """
    order = _order(world, order_id)
    account = world.one("SELECT balance FROM accounts WHERE account_id = ?", order["account_id"])
    if account is None or account["balance"] < difference:
        raise ToolError("insufficient_funds", "the balance does not cover the difference")
    world.execute(
        "UPDATE orders SET item = ?, price = price + ? WHERE order_id = ?", item, difference, order_id
    )
    return "exchanged"


@tool(writes=True, discoverable=True)
def expedite_order_77(world: World, order_id: OrderId) -> Any:
    """Send an order today.

    Args:
        order_id: The order.
    """
    _order(world, order_id)
    world.execute("UPDATE orders SET status = 'expedited' WHERE order_id = ?", order_id)
    return "expedited"


@tool(writes=True, terminal=True)
def transfer_to_human(world: World, account_id: AccountId, reason: Literal["complaint", "fraud"]) -> Any:
    """Hand the customer over to a person; this ends the conversation.

    Args:
        account_id: The customer's account.
        reason: Why.
    """
    world.insert("transfers", account_id=account_id, reason=reason)
    return "transferred"


@tool(writes=True, seat="user")
def confirm_order(world: World, order_id: OrderId, code: str) -> Any:
    """Confirm an order with the code from the parcel.

    Args:
        order_id: The order.
        code: The code.
    """
    _order(world, order_id)
    world.insert("confirmations", order_id=order_id, code=code)
    return "confirmed"


@tool(writes=True, seat="user", discoverable=True)
def rate_order_5(world: World, order_id: OrderId, stars: Literal[1, 2, 3, 4, 5]) -> Any:
    """Rate an order.

    Args:
        order_id: The order.
        stars: From 1 to 5.
    """
    world.insert("confirmations", order_id=order_id, code=f"{stars} stars")
    return {"stars": stars}


TOOLS = (
    get_order,
    list_orders,
    cancel_order,
    reopen_order,
    set_address,
    issue_credit,
    move_money,
    exchange_item,
    expedite_order_77,
    transfer_to_human,
    confirm_order,
    rate_order_5,
)

DOCUMENTS = (
    Document("expediting", "Expediting", "Orders can be sent today.\nThe tool is expedite_order_77."),
    Document("ratings", "Ratings", "Give the customer rate_order_5 to rate an order."),
    Document("refunds", "Refund policy", "A refund is a credit.\nCancelled orders are refunded."),
)


def task(task_id: str = "t", **changes: Any) -> Task:
    """Make a task; by default: cancel O1 for Ada."""
    fields: dict[str, Any] = {
        "id": task_id,
        "domain": "shop",
        "split": "train",
        "family": "orders",
        "seed": 7,
        "now": "2026-03-02T09:30:00",
        "user": {
            "script": {
                "opening": "Please cancel an order of mine.",
                "facts": {"order_id": "O1", "account_id": "A1"},
                "wants": [{"about": ["cancel"]}],
            }
        },
        "reference": [
            {"name": "get_order", "arguments": {"order_id": "O1"}},
            {"name": "cancel_order", "arguments": {"order_id": "O1"}},
        ],
        "documents": ["refunds"],
        "meta": {"knobs": {"writes": 1, "siblings": 2}},
    }
    return Task.model_validate(fields | changes)


def make_domain(**changes: Any) -> Domain:
    """Build the shop; keyword arguments replace those of `Domain`."""
    image = WorldImage.build(
        SCHEMA, ROWS, ungraded=["log", "accounts.last_viewed"], id_prefixes={"credits": "cr_"}
    )
    expedite = {
        "reference": [
            {"name": "kb_read", "arguments": {"document_id": "expediting"}},
            {"name": "unlock_tool", "arguments": {"name": "expedite_order_77"}},
            {"name": "expedite_order_77", "arguments": {"order_id": "O2"}},
        ],
        "user": {"script": {"opening": "I need my chair today.", "facts": {"order_id": "O2"}}},
    }
    confirm = {
        "reference": [
            {"name": "give_tool", "arguments": {"name": "rate_order_5"}},
            {"seat": "user", "name": "confirm_order", "arguments": {"order_id": "O1", "code": "XK-7"}},
            {"seat": "user", "name": "rate_order_5", "arguments": {"order_id": "O2", "stars": 4}},
        ],
        "user": {
            "script": {"opening": "My parcel came.", "facts": {"code": "XK-7"}},
            "tools": ["confirm_order", "rate_order_5"],
        },
        "meta": {"knobs": {"writes": 2, "siblings": 2}},
    }
    arguments: dict[str, Any] = {
        "tools": TOOLS,
        "policy": "You serve the customers of a small shop. Look before you act.",
        "tasks": {
            "train": [task("cancel"), task("expedite", **expedite), task("confirm", **confirm)],
            "validation": [],
            "test": [],
        },
        "documents": DOCUMENTS,
    }
    return Domain("shop", image, **(arguments | changes))


register_domain("shop", "tests.shop:make_domain")
