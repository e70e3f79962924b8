"""Discoverable tools of the agent: debit cards ordered, and activated when they arrive."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import discoverable
from gym_enterprise.world import World

DELIVERY = {
    "STANDARD": "7-10 business days",
    "EXPEDITED": "3-5 business days",
    "RUSH": "1-2 business days",
}
DESIGNS = ("CLASSIC", "PREMIUM", "CUSTOM")
MINIMUM_HOLDINGS = 25
ACTIVATIONS = {
    "activate_debit_card_8291": ("new_account", "first_card"),
    "activate_debit_card_8292": ("lost", "stolen", "fraud"),
    "activate_debit_card_8293": ("expired", "damaged", "upgrade", "bank_reissue"),
}
"""Which tool activates a card, by the reason for which it was issued."""
_INHERITED = {"lost": "lost", "stolen": "stolen", "fraud": "fraud", "fraud_suspected": "fraud"}


@discoverable(writes=True, codes={"delivery_option": DELIVERY, "card_design": DESIGNS}, fold=str.upper)
def order_debit_card_5739(
    world: World,
    account_id: str,
    user_id: str,
    delivery_option: str,
    delivery_fee: float,
    card_design: str,
    design_fee: float,
    shipping_address: str,
    excess_replacement_fee: float = 0,
) -> str:
    """Order a debit card for a checking account; the fees are taken from the account."""
    arguments = records.arguments_of(locals())
    delivery = check.as_float("delivery_fee", delivery_fee)
    design = check.as_float("design_fee", design_fee)
    excess = _float_or_zero(excess_replacement_fee)
    total = check.as_float("total fee", delivery + design + excess)  # sum() rounds otherwise from 3.12 on
    fees = {"delivery_fee": delivery, "design_fee": design, "excess_replacement_fee": excess}
    account = check.existing(world, "accounts", account_id)
    held = _require_orderable(world, account_id, account, user_id)
    check.require(total <= held, "insufficient_funds", "The account holds less than the fees.")
    order = {
        "order_id": ids.debit_card_order(account_id, user_id, delivery_option),
        **arguments,
        **fees,
        "total_fee": total,
        "order_date": check.today(world),
        "expected_delivery": DELIVERY[delivery_option],
        "status": "PENDING",
    }
    check.add(world, "debit_card_orders", order)
    if total > 0:
        left = check.plain(held - total)
        records.change(world, "accounts", account_id, account, current_holdings=left)
        records.insert(world, "bank_account_transaction_history", _fee(world, order, **fees))
    card = _new_card(world, account_id, user_id, card_design)
    records.insert(world, "debit_cards", card)
    return f"Ordered ({order['order_id']}): the card {card['card_id']}, fees {check.plain(total)}."


def _float_or_zero(value: object) -> float:
    try:
        return check.as_float("excess_replacement_fee", value)
    except check.Refused:
        return 0.0


def _require_orderable(world: World, account_id: str, account: records.Record, user_id: str) -> float:
    """Refuse an account that cannot have a card now; return what it holds."""
    check.require(account.get("class") == "checking", "wrong_class", "Only checking accounts have cards.")
    check.in_status(account, "OPEN")
    check.owned(account, user_id)
    try:
        held = float(str(account.get("current_holdings", "0")).replace(",", ""))
    except ValueError:
        held = 0.0  # so the benchmark reads an amount with `$`
    check.require(held >= MINIMUM_HOLDINGS, "insufficient_funds", f"It must hold {MINIMUM_HOLDINGS} dollars.")
    for table, status in (("debit_card_orders", "PENDING"), ("debit_cards", "ACTIVE")):
        found = records.matching(world, table, "account_id", account_id).values()
        taken = any(row.get("status") == status for row in found)
        check.require(not taken, "already_exists", f"The account has a record that is {status} in {table}.")
    return held


def _fee(
    world: World,
    order: records.Record,
    *,
    delivery_fee: float,
    design_fee: float,
    excess_replacement_fee: float,
) -> records.Record:
    """Return the transaction of an order's fees, in which each fee is written its own way."""
    parts = [f"Delivery ${delivery_fee}"] if delivery_fee else []
    parts += [f"Design ${design_fee}"] if design_fee else []
    parts += [f"Excess Replacement ${excess_replacement_fee:.0f}"] if excess_replacement_fee else []
    return {
        "transaction_id": f"btxn_dcfee_{order['order_id'][-8:]}",
        "account_id": order["account_id"],
        "date": check.today(world),
        "description": f"DEBIT CARD ORDER FEE - {', '.join(parts)}",
        "amount": -order["total_fee"],
        "type": "debit_card_fee",
        "status": "posted",
    }


def _new_card(world: World, account_id: str, user_id: str, design: str) -> records.Record:
    card_id = ids.debit_card(account_id, user_id, check.today(world))
    user = records.find(world, "users", user_id) or {}
    return {
        "card_id": card_id,
        "account_id": account_id,
        "user_id": user_id,
        "cardholder_name": str(user.get("name", "CARDHOLDER")).upper(),
        "last_4_digits": ids.decimal_digits(4, "card_details", card_id, "last4", of=8).rjust(4, "0"),
        "cvv": ids.decimal_digits(3, "card_details", card_id, "cvv", of=6).rjust(3, "0"),
        "status": "PENDING",
        "issue_date": check.today(world),
        "expiration_date": "11/30/2029",
        "card_design": design,
        "issue_reason": _issue_reason(world, account_id),
    }


def _issue_reason(world: World, account_id: str) -> str:
    cards = records.matching(world, "debit_cards", "account_id", account_id).values()
    for card in cards:
        if card.get("status") == "CLOSED":
            return _INHERITED.get(str(card.get("closure_reason")), "first_card")
    return "first_card" if cards else "new_account"


# -- activation -------------------------------------------------------------------------------------------


@discoverable(writes=True)
def activate_debit_card_8291(
    world: World, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    """Activate the first debit card of an account; others of the account are switched off."""
    card = _issued(world, "activate_debit_card_8291", card_id, last_4_digits, cvv, pin)
    return _activate(world, card_id, card, "DEACTIVATED", "deactivated_date", "New card activated")


@discoverable(writes=True)
def activate_debit_card_8292(
    world: World, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    """Activate the replacement of a lost, stolen or misused debit card; others are switched off."""
    card = _issued(world, "activate_debit_card_8292", card_id, last_4_digits, cvv, pin)
    why = f"Replacement card activated ({card['issue_reason']})"
    return _activate(world, card_id, card, "DEACTIVATED", "deactivated_date", why)


@discoverable(writes=True)
def activate_debit_card_8293(
    world: World, card_id: str, last_4_digits: str, expiration_date: str, cvv: str, pin: str
) -> str:
    """Activate the successor of an expired, broken or exchanged debit card; others work until today's end."""
    card = _issued(world, "activate_debit_card_8293", card_id, last_4_digits, cvv, pin)
    why = f"Reissued card activated ({card['issue_reason']})"
    return _activate(world, card_id, card, "GRACE_PERIOD", "grace_period_ends", why)


def _issued(
    world: World, tool_name: str, card_id: str, last_4_digits: str, cvv: str, pin: str
) -> records.Record:
    """Return a card that waits to be activated with this tool."""
    check.good_pin("pin", pin)
    check.digits(3, cvv=cvv)
    check.digits(4, last_4_digits=last_4_digits)
    card = check.existing(world, "debit_cards", card_id)
    reason = card.get("issue_reason", "new_account")
    right = [name for name, reasons in ACTIVATIONS.items() if reason in reasons]
    message = f"For a card issued as {reason}, use {' or '.join(right) or 'none'}."
    check.require(tool_name in right, "wrong_tool", message)
    check.in_status(card, "PENDING")
    check.require(card.get("last_4_digits") == last_4_digits, "mismatch", "The last digits do not match.")
    account = records.find(world, "accounts", card.get("account_id"))
    if account is not None:
        check.in_status(account, "OPEN")
    return card


def _activate(world: World, card_id: str, card: records.Record, others: str, dated: str, why: str) -> str:
    """Make a card active, and give the other active cards of its account another state from today."""
    records.change(world, "debit_cards", card_id, card, status="ACTIVE", activated_date=check.today(world))
    retired = {"status": others, dated: check.today(world), "deactivation_reason": why}
    for other_id, other in records.matching(
        world, "debit_cards", "account_id", card.get("account_id")
    ).items():
        if other.get("status") == "ACTIVE" and other_id != card_id:
            records.change(world, "debit_cards", other_id, other, **retired)
    return f"The debit card {card_id} is active."


TOOLS = (
    order_debit_card_5739,
    activate_debit_card_8291,
    activate_debit_card_8292,
    activate_debit_card_8293,
)
