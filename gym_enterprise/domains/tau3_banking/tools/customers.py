"""The agent's listed tools: records of customers, verification, the clock, and the hand-over to a person."""

from __future__ import annotations

from gym_enterprise.domains.tau3_banking import checks as check
from gym_enterprise.domains.tau3_banking import ids, records
from gym_enterprise.domains.tau3_banking.toolkit import listed
from gym_enterprise.domains.tau3_banking.vocabulary import TRANSFER_REASONS
from gym_enterprise.world import World


@listed(codes={"reason": TRANSFER_REASONS})
def transfer_to_human_agents(world: World, summary: str, reason: str = "other") -> str:
    """Hand the conversation over to a human colleague; it does not end here."""
    return f"The customer is being transferred to a human agent. Reason: {reason}."


@listed()
def get_current_time(world: World) -> str:
    """Tell the current date and time."""
    return f"The current time is {check.clock(world)}."


@listed()
def get_user_information_by_id(world: World, user_id: str) -> str:
    """Look up a customer by user id."""
    user = records.find(world, "users", user_id)
    return records.dump(world, "users", {user_id: user} if user else {})


@listed()
def get_user_information_by_name(world: World, customer_name: str) -> str:
    """Look up customers by full name, written exactly as on record."""
    return records.dump(world, "users", records.matching(world, "users", "name", customer_name))


@listed()
def get_user_information_by_email(world: World, email: str) -> str:
    """Look up customers by e-mail address, written exactly as on record."""
    return records.dump(world, "users", records.matching(world, "users", "email", email))


@listed()
def get_referrals_by_user(world: World, user_id: str) -> str:
    """List the referrals that a customer made."""
    return records.dump(world, "referrals", records.matching(world, "referrals", "referrer_id", user_id))


@listed()
def get_credit_card_transactions_by_user(world: World, user_id: str) -> str:
    """List a customer's credit card transactions."""
    table = "credit_card_transaction_history"
    return records.dump(world, table, records.matching(world, table, "user_id", user_id))


@listed()
def get_credit_card_accounts_by_user(world: World, user_id: str) -> str:
    """List a customer's credit card accounts."""
    return records.dump(
        world, "credit_card_accounts", records.matching(world, "credit_card_accounts", "user_id", user_id)
    )


@listed(writes=True)
def change_user_email(world: World, user_id: str, new_email: str) -> str:
    """Change the e-mail address of a customer."""
    user = check.existing(world, "users", user_id)
    before = user.get("email")
    records.change(world, "users", user_id, user, email=new_email)
    return f"The e-mail address was changed.\nUser: {user_id}\nFrom {before} to {new_email}"


@listed(writes=True)
def log_verification(
    world: World,
    name: str,
    user_id: str,
    address: str,
    email: str,
    phone_number: str,
    date_of_birth: str,
    time_verified: str,
) -> str:
    """Record that a customer's identity was verified, with the customer's data as on record."""
    verification = records.arguments_of(locals())
    if not isinstance(time_verified, str):
        raise check.WrongType("time_verified", "text")
    check.add(world, "verification_history", verification, ids.verification(user_id, time_verified))
    return f"The verification was logged.\nCustomer: {name} ({user_id})\nVerified at: {time_verified}"


TOOLS = (
    transfer_to_human_agents,
    get_current_time,
    get_user_information_by_id,
    get_user_information_by_name,
    get_user_information_by_email,
    get_referrals_by_user,
    get_credit_card_transactions_by_user,
    get_credit_card_accounts_by_user,
    change_user_email,
    log_verification,
)
