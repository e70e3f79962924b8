"""The bank's tools, by family; `TOOLS` lists them all, in the order in which they are advertised."""

from __future__ import annotations

from gym_enterprise.domains.banking.tools import (
    accounts,
    app,
    cards,
    clock,
    customers,
    disputes,
    endings,
    fees,
    identity,
    transfers,
)
from gym_enterprise.tools import Tool

TOOLS: tuple[Tool, ...] = (
    clock.current_date,
    identity.find_customer,
    identity.find_customer_by_phone,
    identity.verify_identity,
    customers.get_customer,
    customers.update_contact,
    customers.update_address,
    customers.add_note,
    accounts.list_accounts,
    accounts.list_transactions,
    accounts.close_account_5533,
    cards.list_cards,
    cards.freeze_card,
    cards.unfreeze_card,
    cards.set_card_limit,
    cards.reissue_card_4417,
    fees.list_fee_history_6150,
    fees.refund_fee_7305,
    disputes.list_disputes_1194,
    disputes.open_dispute_2846,
    transfers.list_transfers,
    transfers.transfer_between_accounts,
    app.open_limit_request_3168,
    app.open_transfer_request_8846,
    app.cancel_app_request,
    app.app_list_requests,
    app.app_confirm_request,
    app.app_activate_card_5512,
    app.app_travel_notice_2290,
    endings.record_refusal,
    endings.transfer_to_human,
)
