"""Notice on a Notice Saver: money that leaves on a later day."""

from __future__ import annotations

from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.preconditions import Row
from gym_enterprise.domains.banking.tools.transfers import check_transfer
from gym_enterprise.domains.banking.vocabulary import AccountId
from gym_enterprise.tools import Date, Money, ToolError, dollars, tool
from gym_enterprise.world import World

_MOST = FACTS.count("products.notice.waiting_limit")
_WAITING = (
    "SELECT to_account_id, amount_cents, pays_on FROM withdrawal_notices "
    "WHERE from_account_id = ? AND pays_on >= ? ORDER BY pays_on, notice_id"
)


@tool(writes=True, discoverable=True)
def open_transfer_request_8864(
    world: World, from_account_id: AccountId, to_account_id: AccountId, amount: Money, pays_on: Date
) -> dict[str, Any]:
    """Give notice on a Notice Saver: the money moves on a later day, without confirmation by the customer.

    Args:
        from_account_id: The Notice Saver.
        to_account_id: The account of the same customer that the money goes to.
        amount: Dollars.
        pays_on: The day on which the notice ends and the money moves, YYYY-MM-DD.
    """
    account = check_transfer(world, from_account_id, to_account_id, amount, "enhanced")
    if account["product"] != "notice":
        raise ToolError("wrong_product", f"Account {from_account_id} is not a Notice Saver.")
    if pays_on <= world.today:
        raise ToolError("bad_day", f"A notice ends after today; {pays_on} does not.")
    waiting = world.query(_WAITING, from_account_id, world.today)
    row: Row = {"to_account_id": to_account_id, "amount_cents": amount, "pays_on": pays_on}
    if row in waiting:
        raise ToolError("already_waiting", "The same notice is already waiting.")
    if len(waiting) >= _MOST:
        raise ToolError("too_many", f"{_MOST} notices are waiting on this account, and no more can.")
    if amount + sum(other["amount_cents"] for other in waiting) > account["balance_cents"]:
        raise ToolError("funds", f"{dollars(amount)} is more than the balance less what is under notice.")
    made = world.insert("withdrawal_notices", from_account_id=from_account_id, **row, given_on=world.today)
    return {"notice_id": made, "amount": dollars(amount), "pays_on": pays_on}
