"""The catalogue of discoverable tools: those that only the knowledge base names."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking.toolkit import BankTool
from gym_enterprise.domains.tau3_banking.tools import (
    account_money,
    bank_accounts,
    card_accounts,
    card_transactions,
    credit_limits,
    debit_card_orders,
    debit_cards,
    debit_disputes,
    handover,
    user_app,
)

DISCOVERABLE: tuple[BankTool, ...] = (
    *handover.TOOLS,
    *card_transactions.TOOLS,
    *card_accounts.TOOLS,
    *credit_limits.TOOLS,
    *bank_accounts.TOOLS,
    *account_money.TOOLS,
    *debit_cards.TOOLS,
    *debit_card_orders.TOOLS,
    *debit_disputes.TOOLS,
    *user_app.TOOLS,
)
"""All of them, the agent's first."""

AGENTS = {item.name: item for item in DISCOVERABLE if item.seat == "agent"}
"""The agent's, by name: unlocked and called."""

USERS = {item.name: item for item in DISCOVERABLE if item.seat == "user"}
"""The user's, by name: given by the agent, called by the user."""
