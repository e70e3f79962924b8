"""The scripted customer's own words. The seed picks among wordings that say the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_PERSONAL = (
    "date of birth",
    "name",
    "phone",
    "email",
    "address",
    "ssn",
    "zip",
    "card",
    "account",
    "customer",
    "member",
    "user",
)

UNSURE = (
    "What exactly would I agree to, and what does it cost?",
    "I would like to know first what it means for me, and what it costs.",
)
YES = (
    *("Yes, please.", "Yes, please go ahead.", "Yes, please do that.", "Yes, please do."),
    *("Yes, please, that would be good.", "Yes, please, go on."),
)
YES_IF = ("Yes, as long as it is about this:", "Yes, if it is about what I asked for:")
RIGHT = ("Yes, that is correct.", "Yes, that is right.", "Yes, that is it exactly.", "Yes, that is so.")
NOT_RIGHT = ("No, that is not right.", "No, that is wrong.")
NO = ("No, thank you.", "No, I do not want that.")
NOT_MINE = ("I did not ask for that.", "No, that is not what I asked for.")
NO_PREFERENCE = ("I have no preference there.", "I do not know; I have no preference.")
DO_NOT_KNOW = ("I am sorry, I do not know that.", "I am sorry, I do not have that information.")
NOT_UNDERSTOOD = ("I am sorry, I do not understand.", "I am not sure what you mean.")
OF_COURSE = ("Of course. What do you need to know?", "Sure. What exactly do you need to know?")
WAITING = ("All right.", "Okay, thank you.", "All right, thank you.")
ACCEPTED = (
    "All right, I understand.",
    "I see. Then I have to accept that.",
    "I understand. That is a pity.",
    "Then I have to accept it.",
)
STILL = ("I still need this:", "One thing that I asked for is still open:")
THANKS = (
    "Thank you, that is all. Goodbye.",
    "Thanks for your help. Goodbye.",
    "That is all, thank you. Goodbye.",
)
GIVE_UP = ("I do not think we are getting any further. Goodbye.", "I will try again another time. Goodbye.")
OUT_OF_TIME = ("I have to go now. Goodbye.",)


_FACT_LINES = (
    "{Owner} {name} is {value}.",
    "Sure, {owner} {name} is {value}.",
    "{Owner} {name}: {value}.",
    "{value} is {owner} {name}.",
    "That would be {value}, {owner} {name}.",
    "{Owner} {name}? It is {value}.",
)
_OUTCOMES = ("I used `{tool}`.", "I used `{tool}`.", "All right, I used `{tool}`.", "Done, I used `{tool}`.")


class Wording:
    """Picks among wordings: the same seed and place give the same words, and each seed has a manner.

    Args:
        seed: The seed; 0 has the plainest manner.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._picks = hashlib.sha256(f"wording:{seed}".encode()).digest()

    def pick(self, wordings: tuple[str, ...], place: int) -> str:
        """Return one of the wordings for the message with number `place`."""
        return wordings[self._picks[place % len(self._picks)] % len(wordings)]

    def fact_line(self, key: str, value: str) -> str:
        """Return the sentence that tells a fact; a value that is a sentence itself is said as it is.

        Example:
            >>> Wording(0).fact_line("date_of_birth", "1984-03-02")
            'My date of birth is 1984-03-02.'
        """
        if value.endswith((".", "!", "?")):
            return value
        name = key.replace("_", " ")
        if name.endswith((" on", " at", " in", " by", " to", " from")):
            return f"{name.capitalize()}: {value}."
        owner = "my" if any(word in name for word in _PERSONAL) else "the"
        line = _FACT_LINES[self._seed % len(_FACT_LINES)]
        return line.format(owner=owner, Owner=owner.capitalize(), name=name, value=value)

    def outcome_line(self, tool: str, outcome: dict[str, Any] | None) -> str:
        """Return the sentence that reports truthfully what a tool answered."""
        used = _OUTCOMES[self._seed % len(_OUTCOMES)].format(tool=tool)
        if outcome is None:
            return used
        if not outcome.get("ok"):
            error = outcome.get("error")
            reason = error.get("message") if isinstance(error, dict) else error
            return f"I tried to use `{tool}`, but it did not work: {reason or 'it gave no reason'}"
        said = _salient(outcome.get("result"))
        return f"{used} It says: {said}" if said else f"{used[:-1]} and it worked."


def which_question(keys: tuple[str, ...]) -> str:
    """Return the question which of several facts is meant."""
    names = [f"the {key.replace('_', ' ')}" for key in keys]
    return f"Do you mean {' or '.join(names)}?"


def missing_line(items: tuple[str, ...]) -> str:
    """Return the sentence that says that things asked for are not known."""
    named = [f"the {item}" for item in items]
    return f"I am sorry, I do not have {' or '.join(filter(None, (', '.join(named[:-1]), named[-1])))}."


def parameter_question(tool: str, parameter: str) -> str:
    """Return the question for an argument that a tool needs."""
    return f"To use `{tool}` I need to know what to enter for `{parameter}`. What should I enter?"


def _salient(result: Any) -> str:
    """Return what of a result a person would read out."""
    if result is None or result is True:
        return ""
    if isinstance(result, dict):
        flat = [
            f"{key.replace('_', ' ')}: {_plain(value)}"
            for key, value in result.items()
            if value not in (None, [], {})
        ]
        return "; ".join(flat) + "." if flat else ""
    return _plain(result)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
