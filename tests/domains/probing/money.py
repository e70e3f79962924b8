"""Requests about money: fees, charges, points, due days, notices, closing and emptying accounts."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.products import PRODUCTS
from tests.domains.probing.cards import confirmed
from tests.domains.probing.desk import Desk, Row, Steps, accounts_in, amounts_in, cents, dollars, money

_FEES = {"overdraft": "overdraft", "late": "late_payment", "monthly": "monthly", "every month": "monthly"}
CHECKING = tuple(key for key, product in PRODUCTS.items() if product.sort == "checking")
CREDIT = tuple(key for key, product in PRODUCTS.items() if product.credit)


# -- fees ---------------------------------------------------------------------------------------------


def fee(desk: Desk, said: str) -> Steps[None]:
    """Give a fee back, as an error of the bank or as a courtesy; or refuse."""
    said = f"{said} {yield from desk.ask('Which fee do you mean, and when were you charged?')}"
    history: list[Row] = yield from desk.hidden(
        "list_fee_history_6150", customer_id=desk.id, since=desk.days_ago(800)
    )
    named = {row["account_id"] for row in accounts_in(said, desk.accounts)}
    kind = next((kind for word, kind in _FEES.items() if word in said.lower()), "")
    day = re.search(r"\d{4}-\d\d-\d\d", said)
    fits = [
        row
        for row in history
        if row["refunded"] is None
        and (not kind or row["fee"] == kind)
        and (not named or row["account_id"] in named)
        and (not day or row["posted_on"] == day[0])
    ]
    meant = fits[-1]
    account = next(row for row in desk.accounts if row["account_id"] == meant["account_id"])
    yield from _settled(
        desk, said, meant, account, [row for row in history if row["fee"] == meant["fee"]], history
    )


def _settled(
    desk: Desk, said: str, meant: Row, account: Row, alike: list[Row], history: list[Row]
) -> Steps[None]:
    kind, key = meant["fee"], account["key"]
    if kind == "monthly":
        met = yield from _waived(desk, account, meant)
        if not met:
            yield from desk.refuse("fee_refund", "not_part_of_product", "the monthly fee was right.")
            return
        yield from _refund(desk, [meant], "bank_error")
    elif (kind == "overdraft" and key == "premier") or (
        kind == "foreign_purchase" and f"products.{key}.foreign_fee" in FACTS
    ):
        yield from _refund(desk, [meant], "bank_error")
    elif re.search(r"more often|too much|again and again", said):
        same = [
            row
            for row in alike
            if row["posted_on"] == meant["posted_on"] and row["account_id"] == meant["account_id"]
        ]
        over = sorted(row["transaction_id"] for row in same)[FACTS.count("fees.overdraft.per_day") :]
        if not over:
            yield from desk.refuse(
                "fee_refund", "records_show_otherwise", "it was charged no more than once."
            )
        else:
            yield from _refund(desk, [row for row in same if row["transaction_id"] in over], "bank_error")
    else:
        yield from _courtesy(desk, meant, history)


def _waived(desk: Desk, account: Row, meant: Row) -> Steps[bool]:
    needed = money(f"products.{account['key']}.monthly_waiver")
    if not needed:
        return False
    month = meant["posted_on"][:7]
    rows = yield from desk.call("list_transactions", account_id=account["account_id"], since=f"{month}-01")
    deposits = [row for row in rows if row["kind"] == "deposit" and row["posted_on"].startswith(month)]
    return sum(cents(row["amount"]) for row in deposits) >= needed


def _courtesy(desk: Desk, meant: Row, history: list[Row]) -> Steps[None]:
    level = desk.customer["membership"]
    since = desk.months_ago(FACTS.months("courtesy.window"))
    before = sum(row["basis"] == "courtesy" and row["refunded_on"] >= since for row in history)
    most = FACTS.count("courtesy.member_limit" if level == "member" else f"membership.{level}.courtesies")
    if before >= most:
        yield from desk.refuse("fee_refund", "courtesy_used_up", "no courtesy refund is left.")
        return
    if meant["posted_on"] < desk.days_ago(FACTS.days("courtesy.fee_age")):
        yield from desk.refuse("fee_refund", "outside_time_limit", "the fee is too old.")
        return
    amount = -cents(meant["amount"])
    if level == "member" and before:
        amount = int(amount * FACTS.share("courtesy.second_share"))
    if meant["fee"] == "late_payment" and level != "keystone":
        amount = min(amount, FACTS.money("courtesy.late_cap"))
    if (
        yield from desk.agrees(
            f"I can refund {amount / 100:.2f} dollars of the fee, if that is fine with you."
        )
    ):
        yield from _refund(desk, [meant], "courtesy", amount)


def _refund(desk: Desk, fees: list[Row], basis: str, amount: int | None = None) -> Steps[None]:
    for row in fees:
        given = -cents(row["amount"]) if amount is None else amount
        yield from desk.hidden(
            "refund_fee_7305", transaction_id=row["transaction_id"], amount=dollars(given), basis=basis
        )


# -- disputes -----------------------------------------------------------------------------------------


def dispute(desk: Desk, said: str) -> Steps[None]:
    """Open a dispute, or refuse one that the records do not bear out."""
    said += " " + (yield from desk.ask("Which shop was it, and how much was it?"))
    said += " " + (yield from desk.ask("How did you pay, and what happened?"))
    charges = yield from _charges(desk, said)
    meant = charges[-1]
    account = next(row for row in desk.accounts if row["account_id"] == meant["account_id"])
    disputes: list[Row] = yield from desk.hidden("list_disputes_1194", customer_id=desk.id)
    reason = _reason(said)
    window = "credit_window" if account["key"] in CREDIT else "debit_window"
    if meant["kind"] == "cash":
        window = "cash_window"
    if meant["posted_on"] < desk.days_ago(FACTS.days(f"disputes.{window}")):
        yield from desk.refuse("dispute", "outside_time_limit", "it was posted too long ago.")
        return
    if not _borne_out(meant, charges, reason):
        yield from desk.refuse("dispute", "records_show_otherwise", "the records show something else.")
        return
    card = next((row for row in desk.cards if row["card_id"] == meant["card_id"]), None)
    if reason == "unauthorised" and card and card["status"] == "active":
        yield from desk.call("freeze_card", card_id=card["card_id"], reason="suspicious")
    yield from desk.hidden(
        "open_dispute_2846",
        transaction_id=meant["transaction_id"],
        reason=reason,
        provisional_credit=_credited(desk, meant, reason, disputes),
    )


def _charges(desk: Desk, said: str) -> Steps[list[Row]]:
    """Return the purchases at the shop that was named, on the account that was named if any."""
    named = {row["account_id"] for row in accounts_in(said.replace(" card", ""), desk.accounts)}
    found: list[Row] = []
    for account in desk.accounts:
        if named and account["account_id"] not in named:
            continue
        rows: Any = yield from desk.call(
            "list_transactions", account_id=account["account_id"], since=desk.days_ago(300)
        )
        found += [
            row | {"account_id": account["account_id"]}
            for row in rows or ()
            if row["kind"] in ("purchase", "cash") and row["description"].lower() in said.lower()
        ]
    wanted = amounts_in(said)
    return [row for row in found if -cents(row["amount"]) in wanted] or found


def _reason(said: str) -> str:
    low = said.lower()
    if re.search(r"twice", low):
        return "duplicate"
    return (
        "not_received" if re.search(r"never came|never arrived|nothing has arrived", low) else "unauthorised"
    )


def _borne_out(meant: Row, charges: list[Row], reason: str) -> bool:
    ages = [_days(meant, row) for row in charges if row["transaction_id"] != meant["transaction_id"]]
    if reason == "duplicate":
        return any(age <= FACTS.days("disputes.duplicate_gap") for age in ages)
    if reason == "unauthorised":
        monthly = [row["posted_on"] for row in charges]
        gaps = [(date.fromisoformat(b) - date.fromisoformat(a)).days for a, b in pairwise(monthly)]
        return sum(25 <= gap <= 35 for gap in gaps) < FACTS.count("disputes.subscription_count")
    return True


def _days(later: Row, earlier: Row) -> int:
    return (date.fromisoformat(later["posted_on"]) - date.fromisoformat(earlier["posted_on"])).days


def _credited(desk: Desk, meant: Row, reason: str, disputes: list[Row]) -> bool:
    level = desk.customer["membership"]
    cap = FACTS.money("disputes.credit_cap" if level == "member" else f"membership.{level}.credit_cap")
    busy = any(row["status"] == "open" for row in disputes)
    return reason in ("unauthorised", "duplicate") and -cents(meant["amount"]) <= cap and not busy


# -- accounts -----------------------------------------------------------------------------------------


def close(desk: Desk, said: str) -> Steps[None]:
    """Empty an account, and close it if that is wanted."""
    account = yield from desk.account(said)
    wish = yield from desk.ask("Should the account be closed, or do you only want to move the money?")
    closing = re.search(r"clos", wish) is not None and not re.search(r"stay|not close|only want", wish)
    if closing and (account["key"] in ("goal", "term", "notice") or (yield from _disputed(desk, account))):
        yield from desk.refuse("account_closure", "not_part_of_product", "this account cannot be closed.")
        return
    target = yield from _target(desk, account)
    keep = 0 if closing else money(f"products.{account['key']}.minimum")
    amount = cents(account["balance"]) - keep
    ids = {"from_account_id": account["account_id"], "to_account_id": target["account_id"]}
    if amount <= FACTS.money("limits.direct_transfer"):
        yield from desk.call("transfer_between_accounts", **ids, amount=dollars(amount))
    else:
        request = yield from desk.hidden("open_transfer_request_8846", **ids, amount=dollars(amount))
        yield from confirmed(desk, request["request_id"])
    if closing:
        yield from desk.hidden("close_account_5533", account_id=account["account_id"])


def _target(desk: Desk, source: Row) -> Steps[Row]:
    others = [row for row in desk.accounts if row["status"] == "open" and row != source]
    reply = yield from desk.ask("Where should the money go, that is, which account is to receive it?")
    return (accounts_in(reply, others) or others)[0]


def _disputed(desk: Desk, account: Row) -> Steps[bool]:
    disputes = yield from desk.hidden("list_disputes_1194", customer_id=desk.id)
    rows = yield from desk.call(
        "list_transactions", account_id=account["account_id"], since=desk.days_ago(900)
    )
    own = {row["transaction_id"] for row in rows}
    return any(row["status"] == "open" and row["transaction_id"] in own for row in disputes)


def notice(desk: Desk, said: str) -> Steps[None]:
    """Give notice on a Notice Saver."""
    savers = [row for row in desk.accounts if row["key"] == "notice" and row["status"] == "open"]
    account = max(savers, key=_opened) if "newer" in said else min(savers, key=_opened)
    most = cents(account["balance"]) - FACTS.money("products.notice.minimum")
    wished = amounts_in(said)
    amount = wished[0] if wished else most
    if amount > most:
        offer = f"At most {most / 100:,.2f} dollars can be paid out. Would you like me to take that instead?"
        if not (yield from desk.agrees(offer)):
            yield from desk.refuse("transfer", "not_part_of_product", "a minimum has to stay.")
            return
        amount = most
    target = yield from _target(desk, account)
    old = date.fromisoformat(account["opened_on"]) < FACTS.day("products.notice.old_before")
    days = FACTS.days("products.notice.old_notice" if old else "products.notice.notice")
    yield from desk.hidden(
        "open_transfer_request_8864",
        from_account_id=account["account_id"],
        to_account_id=target["account_id"],
        amount=dollars(amount),
        pays_on=(desk.today + timedelta(days=days)).isoformat(),
    )


def _opened(account: Row) -> str:
    return str(account["opened_on"])


# -- credit cards -------------------------------------------------------------------------------------


def points(desk: Desk, said: str) -> Steps[None]:
    """Turn points into money."""
    keys = tuple(key for key in CREDIT if f"products.{key}.points_a_dollar" in FACTS)
    account = yield from desk.account(said, keys=keys)
    if not re.search(r"all the points|\d+ points", said):
        said = yield from desk.ask("How many points would you like to redeem?")
    named = re.search(r"(\d[\d,]*) points", said)
    wished = int(named[1].replace(",", "")) if named else account["points"]
    since = desk.days_ago(FACTS.days("points.late_wait"))
    history: list[Row] = yield from desk.hidden("list_fee_history_6150", customer_id=desk.id, since=since)
    if any(
        row["account_id"] == account["account_id"]
        and row["fee"] == "late_payment"
        and row["basis"] != "bank_error"
        for row in history
    ):
        yield from desk.refuse("points_redemption", "waiting_period", "a late payment fee makes points wait.")
        return
    blocks = wished // FACTS.count("points.block")
    whole, worth = blocks * FACTS.count("points.block"), blocks * FACTS.money("points.block_value")
    if (yield from desk.agrees(f"{whole} points are worth ${worth / 100:.2f}. Shall I redeem them?")):
        yield from desk.hidden(
            "redeem_points_5824", account_id=account["account_id"], points=whole, amount=dollars(worth)
        )


def due_day(desk: Desk, said: str) -> Steps[None]:
    """Move the day on which a bill is due."""
    account = yield from desk.account(said, keys=CREDIT)
    told = re.search(r"day (?:of .* to )?(\d+)\b|to (\d+)\b", said)
    if told is None:
        told = re.search(r"(\d+)", (yield from desk.ask("Which day of the month would you like?")))
    assert told
    day, last = int(told[1] or told[2]), FACTS.count("service.due_day.last")
    changed = account["due_day_changed_on"]
    if changed and changed >= desk.months_ago(FACTS.months("service.due_day.wait")):
        yield from desk.refuse("due_date_change", "waiting_period", "it was changed within the last year.")
        return
    if day > last:
        offer = f"The last day that is possible is day {last}. Would day {last} be all right?"
        if not (yield from desk.agrees(offer)):
            yield from desk.refuse("due_date_change", "not_part_of_product", "there is no later day.")
            return
        day = last
    yield from desk.hidden("set_due_day_3316", account_id=account["account_id"], day=day)
