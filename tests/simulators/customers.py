"""A scripted customer with one script, for the tests of what it understands and how it conducts itself."""

from __future__ import annotations

from typing import Any

from simulators import ScriptedUser
from tests.simulators.fakes import Fact, Pushback, Scenario, Script, Seat, Spec, View, Want

NAME, BORN, PHONE, LAST4 = "Jane Doe", "1984-03-02", "555-0100-22", "4821"
CAFE = "I left it in a cafe."

SCRIPT = Script(
    opening="Hello, I lost my debit card and want it frozen.",
    facts={
        "full_name": Fact(NAME),
        "date_of_birth": Fact(BORN),
        "phone": Fact(PHONE),
        "card_last_four": Fact(LAST4),
        "reason": Fact("lost", ("how did you lose",)),
        "delivery": Fact("express", ("shipping",)),
        "where": Fact(CAFE, ("where did you", "what happened")),
    },
    wants=(Want("Please freeze my card.", ("freeze", "block card", "frozen")),),
    later=(Want("I would also like a replacement card.", ("replacement", "new card")),),
    pushback=(Pushback("But my neighbour got that last week!"),),
    declines=(Want("No insurance, please.", ("insurance", "protection")),),
)
CONFIRM = Spec(
    "confirm_in_app",
    {
        "type": "object",
        "properties": {"code": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["code"],
    },
)


def customer(
    script: Script = SCRIPT, tools: tuple[Spec, ...] = (CONFIRM,), seed: int = 0, **answer: Any
) -> Seat:
    """Return a customer that has said its opening."""
    seat = Seat(ScriptedUser(View(Scenario(script), tools), seed), "user", **answer)
    seat.turn()
    return seat


def reply(*lines: str, **options: Any) -> str:
    """Return what a customer says to the last of some agent lines."""
    seat = customer(**options)
    return [seat.hear(line) for line in lines][-1]


QUESTIONS = [
    ("Could you confirm the last four digits of your card?", {LAST4}),
    ("I'd be happy to help! First, to verify your identity, I need your full name and DOB.", {NAME, BORN}),
    (
        "I'm sorry to hear that. Please provide the following:\n\n- **Full name** on the account\n"
        "- **Date of birth**\n- **Phone number** on file\n\nOnce I have this, I can go on right away.",
        {NAME, BORN, PHONE},
    ),
    ("Sure thing! Can I get your name and birthdate please?", {NAME, BORN}),
    ("Before I proceed, may I have the last 4 digits of the debit card?", {LAST4}),
    ("What phone number do we have on file for you?", {PHONE}),
    ("Thanks, Jane. For security purposes, please verify your date of birth.", {BORN}),
    ("Would you mind sharing your birthday with me?", {BORN}),
    ("I'll need a few details:\n1. Your full name\n2. Last 4 of your card", {NAME, LAST4}),
    ("Got it. And your DOB?", {BORN}),
    ("Kindly share your registered mobile number.", {PHONE}),
    ("May I know your full name?", {NAME}),
    ("I'm unable to proceed without your date of birth.", {BORN}),
    ("Could you tell me a bit more about what happened?", {CAFE}),
    ("Where did you lose it?", {CAFE}),
    ("Why do you want to have it frozen?", {"The reason is lost."}),
    ("Let me check that for you. Meanwhile, what's your telephone number?", {PHONE}),
    ("For your security, never share your PIN with anyone. What is your date of birth?", {BORN}),
    ("Thank you for sharing that; next, please state your full legal name.", {NAME}),
    ("Is your phone number correct and what is your date of birth?", {BORN}),
    ("Please tell me your phone number or your e-mail address.", {PHONE}),
    ("What is your date of birth, and which delivery, standard or express?", {BORN, "express"}),
    ("Is that all right for you and how did you lose the card?", {"The reason is lost."}),
]
"""Questions as agents write them, with what exactly they ask for."""
