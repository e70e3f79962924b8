"""Credit card accounts: points that turn into money, and the day on which the bill is due."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import open_account
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.domains.banking.tools.fees import credit
from gym_enterprise.domains.banking.vocabulary import AccountId
from gym_enterprise.tools import Money, ToolError, dollars, tool
from gym_enterprise.world import World

_FIRST_DUE_DAY, _LAST_DUE_DAY = FACTS.count("service.due_day.first"), FACTS.count("service.due_day.last")
_POINTS = "SELECT points FROM points WHERE account_id = ?"
_DUE_DAY = "SELECT day FROM due_days WHERE account_id = ?"
_SET_DUE_DAY = (
    "INSERT INTO due_days (account_id, day, changed_on) VALUES (?, ?, ?) "
    "ON CONFLICT (account_id) DO UPDATE SET day = excluded.day, changed_on = excluded.changed_on"
)


@tool(writes=True, discoverable=True)
def redeem_points_5824(
    world: World, account_id: AccountId, points: Annotated[int, Field(ge=1)], amount: Money
) -> dict[str, Any]:
    """Turn points of a credit card account into money on that account.

    Args:
        account_id: The card account that collected the points, from list_accounts.
        points: How many points are redeemed.
        amount: What they are worth, in dollars.
    """
    account = open_account(world, account_id)
    row = world.one(_POINTS, account_id)
    if row is None:
        raise ToolError("no_points", f"Account {account_id} collects no points.")
    if points > row["points"]:
        raise ToolError("points", f"The account has {row['points']} points, not {points}.")
    if not 0 < amount <= points:
        raise ToolError("amount", f"{dollars(amount)} is not what {points} points can be worth.")
    world.execute("UPDATE points SET points = points - ? WHERE account_id = ?", points, account_id)
    credit(world, account_id, f"Points: {PRODUCTS[account['product']].name}", amount)
    return {"account_id": account_id, "points_left": row["points"] - points, "amount": dollars(amount)}


@tool(writes=True, discoverable=True)
def set_due_day_3316(
    world: World, account_id: AccountId, day: Annotated[int, Field(ge=_FIRST_DUE_DAY, le=_LAST_DUE_DAY)]
) -> dict[str, Any]:
    """Set the day of the month by which the minimum payment of a credit card account has to be there.

    Args:
        account_id: The card account, from list_accounts.
        day: Day of the month.
    """
    account = open_account(world, account_id)
    if not PRODUCTS[account["product"]].credit:
        raise ToolError("wrong_product", f"Account {account_id} is not a credit card account.")
    row = world.one(_DUE_DAY, account_id)
    if day == (row["day"] if row else _FIRST_DUE_DAY):
        raise ToolError("same_day", f"The bill is due on day {day} already.")
    world.execute(_SET_DUE_DAY, account_id, day, world.today)
    return {"account_id": account_id, "due_day": day, "due_day_changed_on": world.today}
