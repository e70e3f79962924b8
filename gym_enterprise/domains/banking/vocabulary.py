"""Types of tool arguments: record ids and the words that the records use."""

from __future__ import annotations

from typing import Annotated, Literal

from gym_enterprise.tools import Key

CustomerId = Annotated[str, Key("customers.customer_id")]
AccountId = Annotated[str, Key("accounts.account_id")]
CardId = Annotated[str, Key("cards.card_id")]
TransactionId = Annotated[str, Key("transactions.transaction_id")]
RequestId = Annotated[str, Key("app_requests.request_id")]

ContactField = Literal["phone", "email"]
FreezeReason = Literal["misplaced", "lost", "stolen", "suspicious"]
CardLimit = Literal["purchases", "cash"]
ReissueReason = Literal["lost", "stolen", "damaged", "expiring"]
Delivery = Literal["standard", "express"]
RefundBasis = Literal["courtesy", "bank_error"]
DisputeReason = Literal["unauthorised", "duplicate", "not_received", "wrong_amount"]
Country = Literal["CA", "CH", "ES", "FR", "GB", "IS", "IT", "JP", "MX", "NO", "NZ", "PT"]
RefusedRequest = Literal[
    "fee_refund",
    "dispute",
    "limit_increase",
    "card_replacement",
    "contact_change",
    "transfer",
    "account_closure",
    "card_unfreeze",
    "points_redemption",
    "card_cancellation",
    "due_date_change",
]
RefusalReason = Literal[
    "courtesy_used_up",
    "outside_time_limit",
    "records_show_otherwise",
    "not_part_of_product",
    "waiting_period",
    "above_ceiling",
    "identity_not_verified",
]
HandoffReason = Literal["bereavement", "third_party", "legal", "complaint", "threat_of_harm", "out_of_scope"]
