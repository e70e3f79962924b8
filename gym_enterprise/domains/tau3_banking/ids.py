"""Ids of new records: hexadecimal digits of SHA-256 over what the record is about, joined with colons.

The same event gets the same id, so a repeated one collides with the first; that is the benchmark's rule.
Numbers and flags enter as Python writes them (`85000.0`, `False`), money where marked with two decimals.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def hex_digits(length: int, *parts: Any) -> str:
    """Return the first digits of the hash over the parts, joined with colons.

    Example:
        >>> hex_digits(8, "referral", "u1", "Blue Account")
        'c337584b'
    """
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()[:length]


def decimal_digits(length: int, *parts: Any, of: int = 64) -> str:
    """Return the first decimal digits among the first `of` hexadecimal ones; there may be fewer."""
    return "".join(digit for digit in hex_digits(of, *parts) if digit.isdecimal())[:length]


def verification(user_id: Any, time_verified: str) -> str:
    """Return the id of a logged verification: the user, and the time without its punctuation."""
    return f"{user_id}_{time_verified.replace(' ', '_').replace(':', '').replace('-', '')}"


def card_transaction(user_id: Any, card_type: Any, merchant: Any, amount: float, category: Any) -> str:
    """Return the id of a credit card transaction."""
    parts = ("transaction", user_id, card_type, merchant, f"{amount:.2f}", category)
    return f"txn_{hex_digits(12, *parts)}"


def statement_credit(user_id: Any, reason: str, amount: float) -> str:
    """Return the id of a statement credit; the card is no part of it."""
    return card_transaction(user_id, "STATEMENT_CREDIT", reason, amount, "Statement Credit")


def referral(user_id: Any, account_type: Any) -> str:
    """Return the id of a submitted referral."""
    return hex_digits(16, "referral", user_id, account_type)


def referral_link(user_id: Any, card_name: Any) -> str:
    """Return the id of a referral made by link."""
    return hex_digits(16, "referral_link", user_id, card_name)


def card_application(card_type: str, name: Any, income: float, subscription: Any) -> str:
    """Return the id of a credit card application."""
    return hex_digits(16, "credit_card", card_type, name, income, subscription)


def dispute(user_id: Any, transaction_id: Any) -> str:
    """Return the id of a dispute of any kind."""
    return f"dsp_{hex_digits(12, 'dispute', user_id, transaction_id)}"


def given_tool(name: str) -> str:
    """Return the id under which a tool given to the user is recorded."""
    return hex_digits(16, "user_discoverable_tool", name)


def user_call(name: str, arguments: dict[str, Any]) -> str:
    """Return the id under which a user's call is recorded; its arguments are part of it."""
    return hex_digits(16, "user_discoverable_tool_call", name, json.dumps(arguments, sort_keys=True))


def agent_call(name: str) -> str:
    """Return the id under which an agent's calls of a tool are recorded; there is one for all of them."""
    return hex_digits(16, "agent_discoverable_tool", name)


def credit_card_order(account_id: Any, user_id: Any, reason: str) -> str:
    """Return the id of an order for a replacement credit card."""
    return f"ccord_{hex_digits(12, 'credit_card_order', account_id, user_id, reason)}"


def closure_reason(account_id: Any, user_id: Any) -> str:
    """Return the id of a logged closure reason."""
    return f"clsr_{hex_digits(12, 'closure_reason', account_id, user_id)}"


def account_flag(account_id: Any, flag_type: str, expiration: Any) -> str:
    """Return the id of a flag on a credit card account."""
    return f"ccflag_{hex_digits(12, 'account_flag', account_id, flag_type, expiration)}"


def limit_request(account_id: Any, user_id: Any, amount: float) -> str:
    """Return the id of a credit limit request, or of the decision on it."""
    return f"cli_{hex_digits(12, 'cli_request', account_id, user_id, f'{amount:.2f}')}"


def bank_account(user_id: Any, account_type: str, account_class: Any) -> str:
    """Return the id of a new bank account."""
    return hex_digits(16, "account", user_id, account_type, account_class)


def account_credit(kind: str, account_id: Any, credit_type: str, amount: float, today: str) -> str:
    """Return the id of the transaction of a credit; `kind` is "checking" or "savings"."""
    return f"txn_{hex_digits(16, f'{kind}_credit', account_id, credit_type, amount, today)}"


def debit_card_order(account_id: Any, user_id: Any, delivery: str) -> str:
    """Return the id of a debit card order."""
    return f"dcord_{hex_digits(12, 'debit_card_order', account_id, user_id, delivery)}"


def debit_card(account_id: Any, user_id: Any, today: str) -> str:
    """Return the id of a new debit card."""
    return f"dbc_{hex_digits(12, 'debit_card', account_id, user_id, today)}"
