"""What tools check before they act, and the values they read: each rule stands here once.

The benchmark has two kinds of failure. A tool that *refuses* answers with an error text and keeps what it
wrote before, its own call record included; here that is `Refused`, which becomes `Declined`. A tool that
*fails* changes nothing and counts as an error; that is `ToolError`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import datetime
from typing import Any

from gym_enterprise.domains.tau3_banking.records import Record, find, insert
from gym_enterprise.tools import ToolError
from gym_enterprise.world import World

LIVE = ("OPEN", "ACTIVE")
"""States in which an account works."""

_NOUNS = {
    "users": "user",
    "accounts": "bank account",
    "debit_cards": "debit card",
    "credit_card_accounts": "credit card account",
    "credit_card_transaction_history": "credit card transaction",
    "bank_account_transaction_history": "bank transaction",
}


class Refused(Exception):
    """A refusal whose call still counts as made; see the module's text."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(code, message)


class WrongType(ToolError):
    """An argument of a type that the tool cannot work with; a discovered call of it leaves no record."""

    def __init__(self, name: str, rule: str) -> None:
        super().__init__("invalid_arguments", f"`{name}` should be {rule}.")


# -- presence and vocabulary ------------------------------------------------------------------------------


def require(condition: Any, code: str, message: str) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise Refused(code, message)


def present(**arguments: Any) -> None:
    """Refuse arguments that are empty, null or zero."""
    missing = [name for name, value in arguments.items() if not value]
    require(not missing, "missing_argument", f"Missing: {', '.join(missing)}.")


def not_null(**arguments: Any) -> None:
    """Refuse arguments that are null."""
    present(**{name: value is not None for name, value in arguments.items()})


def one_of(name: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse a value that is not one of a list."""
    fits = isinstance(value, str) and value in allowed
    require(fits, "invalid_value", f"`{name}` must be one of: {', '.join(allowed)}.")


# -- records ----------------------------------------------------------------------------------------------


def existing(world: World, table: str, record_id: Any) -> Record:
    """Return a record that has to exist."""
    record = find(world, table, record_id)
    if record is None:
        raise Refused("not_found", f"There is no {_NOUNS[table]} with the id {record_id!r}.")
    return record


def owned(record: Record, user_id: Any) -> None:
    """Refuse a record of another user."""
    require(record.get("user_id") == user_id, "not_the_owner", f"It does not belong to the user {user_id!r}.")


def in_status(record: Record, *allowed: str) -> None:
    """Refuse a record in another state."""
    status = record.get("status")
    require(status in allowed, "wrong_status", f"The status is {status}, not {' or '.join(allowed)}.")


def linked_account_open(world: World, card: Record) -> Record:
    """Return the account of a debit card, which has to exist and to be OPEN."""
    account = find(world, "accounts", card.get("account_id"))
    if account is None:
        raise Refused("not_found", "The account of this card does not exist.")
    in_status(account, "OPEN")
    return account


def class_is(account: Record, *classes: str) -> None:
    """Refuse an account of another class, however the class is capitalised."""
    found = str(account.get("class", "")).lower()
    require(
        found in classes, "wrong_class", f"This is for accounts of the class {' or '.join(classes)} only."
    )


def add(world: World, table: str, record: Record, record_id: str | None = None) -> None:
    """Add a record, and refuse a second one of its id; arguments are those of `records.insert`."""
    added = insert(world, table, record, record_id)
    require(added, "already_exists", f"Failed: this is on record already, in {table}.")


# -- numbers and money ------------------------------------------------------------------------------------


def as_float(name: str, value: Any) -> float:
    """Read a number, written as one or as text; refuse anything else, null included."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    require(math.isfinite(number), "invalid_number", f"`{name}` must be a number.")
    return number


def as_whole(name: str, value: Any) -> int:
    """Read a whole number; refuse a fraction."""
    number = as_float(name, value)
    require(number.is_integer(), "invalid_number", f"`{name}` must be a whole number.")
    return int(number)


def number(name: str, value: Any) -> float:
    """Return a number as it is; a text is of the wrong type."""
    if not isinstance(value, int | float):
        raise WrongType(name, "a number")
    try:
        float(value)
    except OverflowError:
        raise WrongType(name, "a number of usual size") from None
    return value


def positive(name: str, amount: float) -> float:
    """Refuse zero and less; return the amount."""
    require(amount > 0, "invalid_amount", f"`{name}` must be more than zero.")
    return amount


def parse_money(value: Any) -> float:
    """Read an amount of a record: a number, or text with or without `$` and thousands separators.

    Example:
        >>> parse_money("$15,000.00")
        15000.0
    """
    if isinstance(value, str):
        try:
            return float(value.replace("$", "").replace(",", ""))
        except ValueError:
            raise ToolError("unreadable_amount", f"The record's amount {value!r} is not a number.") from None
    return float(value) if isinstance(value, int | float) else 0.0


def balance(account: Record) -> float:
    """Return what a bank account holds."""
    return parse_money(account.get("current_holdings", account.get("balance", 0)))


def plain(amount: float) -> str:
    """Write an amount with two decimals and no sign of a currency."""
    return f"{amount:.2f}"


def dollars(amount: float) -> str:
    """Write an amount with `$` and two decimals."""
    return f"${amount:.2f}"


# -- digits -----------------------------------------------------------------------------------------------


def digits(length: int, **arguments: Any) -> None:
    """Refuse what is not text of exactly so many decimal digits."""
    for name, value in arguments.items():
        fits = isinstance(value, str) and len(value) == length and value.isdecimal()
        require(fits, "invalid_format", f"`{name}` must be exactly {length} digits.")


def good_pin(name: str, pin: Any) -> None:
    """Refuse a PIN that is not four digits, runs up or down, or repeats one digit."""
    digits(4, **{name: pin})
    easy = pin in "0123456789" or pin in "9876543210" or len(set(pin)) == 1
    require(not easy, "weak_pin", f"`{name}` must not be a run of digits or one digit four times.")


# -- dates ------------------------------------------------------------------------------------------------


def today(world: World) -> str:
    """Return the date of the episode's clock, MM/DD/YYYY."""
    return datetime.fromisoformat(world.now).strftime("%m/%d/%Y")


def clock(world: World) -> str:
    """Return the episode's clock as the agent sees it."""
    return f"{world.now.replace('T', ' ')} EST"


def parse_date(value: Any) -> datetime | None:
    """Read MM/DD/YYYY, with or without HH:MM:SS; None for anything else."""
    for form in ("%m/%d/%Y", "%m/%d/%Y %H:%M:%S"):
        try:
            return datetime.strptime(value, form)
        except (TypeError, ValueError):
            continue
    return None


def sortable_date(value: Any) -> datetime:
    """Return a date for sorting; one that cannot be read comes before all others."""
    return parse_date(value) or datetime.min


def age_in_days(world: World, opened: Any) -> int | None:
    """Return the whole days from a date to now; None when the date cannot be read."""
    date = parse_date(opened)
    return None if date is None else (datetime.fromisoformat(world.now) - date).days
