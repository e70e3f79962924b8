"""Who is talking: found by name, verified by facts that the customer gives; or somebody else, who is not."""

from __future__ import annotations

import re
from datetime import date

from tests.domains.probing.desk import Desk, Row, Steps

_NAME = re.compile(r"\b([A-Z][a-z]+ (?:de |van )?[A-Z][\w'-]+)\b")
_PHONE = r"(\(\d{3}\) \d{3}-\d{4})"
_KIN = r"mother|father|sister|brother|aunt|uncle|wife|husband|son|daughter"
THIRD_PARTY = re.compile(rf"\bmy (?:{_KIN})(?:'s account| banks)|\bcards of my (?:{_KIN})", re.IGNORECASE)


def identify(desk: Desk) -> Steps[bool]:
    """Find and verify the customer; asks once more when the facts do not match."""
    found = yield from find(desk, "I am glad to help. Could you first tell me your full name, please?")
    if len(found) > 1:
        found = yield from _told_apart(desk, found)
    desk.customer = found[0]
    desk.today = date.fromisoformat((yield from desk.call("current_date"))["today"])
    desk.verified = yield from _verified(
        desk,
        "Thank you. To verify you, I need your date of birth, the postal code on record and the last four "
        "digits of one of your cards.",
    )
    if not desk.verified:
        desk.verified = yield from _verified(
            desk,
            "Not all of that matches our records. Would you please check and give me your date of birth, "
            "your postal code and the last four digits of your card once more?",
        )
    if desk.verified:
        yield from desk.look_up()
    return desk.verified


def _told_apart(desk: Desk, found: list[Row]) -> Steps[list[Row]]:
    """Return which of several namesakes is meant: by the town, or else by the phone number."""
    town = yield from desk.ask("There are several customers of that name. Which town do you live in?")
    if there := [row for row in found if row["city"] in town]:
        return there
    reply = yield from desk.ask("Then please tell me the phone number that we have on record for you.")
    phone = re.search(_PHONE, reply)
    rows: list[Row] = (yield from desk.call("find_customer_by_phone", phone=phone[1])) if phone else []
    ids = {row["customer_id"] for row in rows or ()}
    return [row for row in found if row["customer_id"] in ids] or found


def find(desk: Desk, question: str) -> Steps[list[Row]]:
    """Ask for a name and return the customers who have it."""
    reply = yield from desk.ask(question)
    for name in _NAME.findall(reply):
        if rows := (yield from desk.call("find_customer", full_name=name)):
            return list(rows)
    raise AssertionError(f"no customer is named in {reply!r}")


def _verified(desk: Desk, question: str) -> Steps[bool]:
    facts = _facts_in((yield from desk.ask(question)))
    if len(facts) < 3:
        more = yield from desk.ask(
            "And could I have the phone number and the email address that we have on file?"
        )
        facts = _facts_in(more) | facts
    return (yield from desk.call("verify_identity", customer_id=desk.id, **facts)) is not None


def _facts_in(said: str) -> dict[str, str]:
    patterns = {
        "date_of_birth": r"\b(\d{4}-\d\d-\d\d)\b",
        "postal_code": r"(?<![\d-])(\d{5})\b",
        "card_last_four": r"(?<![\d-])(\d{4})(?![\d-])",
        "phone": _PHONE,
        "email": r"([\w.+-]+@[\w.-]+\w)",
    }
    found = {name: re.search(pattern, said) for name, pattern in patterns.items()}
    return {name: match[1] for name, match in found.items() if match}


def third_party(desk: Desk) -> Steps[None]:
    """Hand over: somebody acts for the account holder, or reports a death."""
    found = yield from find(desk, "I see. May I ask for the full name of the account holder?")
    story = yield from desk.ask("And what has happened? Are there papers?")
    died = re.search(r"died|passed away|death|funeral", story)
    known = {"customer_id": found[0]["customer_id"]} if len(found) == 1 else {}
    reason = "bereavement" if died else "third_party"
    yield from desk.call("transfer_to_human", reason=reason, summary=story, **known)


def complaint(desk: Desk) -> Steps[None]:
    """Hand over a formal complaint."""
    summary = "Formal complaint after a refusal."
    yield from desk.call("transfer_to_human", reason="complaint", summary=summary, customer_id=desk.id)
