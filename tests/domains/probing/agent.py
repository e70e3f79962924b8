"""An agent that has never seen a script: it knows the bank's rules and what is said, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from simulators.player import Action, Observation, Synchronous
from tests.domains.probing import cards, money
from tests.domains.probing.desk import ACCEPTS, ADDS, Desk, Family, Steps, parts
from tests.domains.probing.identity import THIRD_PARTY, complaint, identify, third_party

_STOP: Action = {"type": "stop", "content": "Thank you for getting in touch. Goodbye."}


def contact(desk: Desk, said: str) -> Steps[None]:
    """Put a new phone number or email address on record."""
    field = "email" if re.search(r"e-?mail", said, re.IGNORECASE) else "phone"
    name = "email address" if field == "email" else "phone number"
    if not desk.verified:
        yield from desk.refuse(
            "contact_change", "identity_not_verified", "the facts do not match our records."
        )
        return
    reply = yield from desk.ask(f"What is your new {name}?")
    value = re.search(r"[\w.+-]+@[\w.-]+\w" if field == "email" else r"\(\d{3}\) \d{3}-\d{4}", reply)
    assert value, reply
    yield from desk.call("update_contact", customer_id=desk.id, field=field, value=value[0])


FAMILIES: tuple[tuple[str, Family], ...] = (
    (r"limit.*raised|higher .*limit|raise .*limit|too small|highest .*limit", cards.raise_limit),
    (r"lower .*limit|limit of only|set (?:the|its) (?:daily )?\w+ limit", cards.lower_limit),
    (r"going away|journey|abroad|holiday|travel", cards.travel),
    (r"notice saver", money.notice),
    (r"points", money.points),
    (r"due day|be due|due date", money.due_day),
    (r"cancel it|get rid of my card|cancel the card", cards.cancel),
    (r"new card|send me the next one|send me a new one", cards.replace),
    (r"unfreeze|work again", cards.unfreeze),
    (r"brand new|want my new card to work", cards.activate),
    (r"freeze|block|can't find one of my cards", cards.freeze),
    (r"twice|charge of|charge on my account|never came|never arrived|not received", money.dispute),
    (r"\bfee\b|charge me every month|charged me", money.fee),
    (r"everything from my|done with my|do not want my|say goodbye to my", money.close),
    (r"new (?:phone )?number|phone number|e-?mail", contact),
    (r"have moved|new address|my address", cards.address),
)
"""What tells that a request is about a family, and the family; of several that fit, the first."""


class ProbingAgent(Synchronous):
    """Talks to customers by the bank's rules: it sees the agent's history, and never the task."""

    sees_task = False

    def __init__(self, view: Any, seed: int) -> None:
        self._seen: tuple[Any, ...] = ()
        self._steps: Iterator[Action] | None = None
        self._next: Action = _STOP

    def act(self, observation: Observation) -> Action:
        """Return the next message, tool call or stop."""
        history = observation["messages"]
        if history[: len(self._seen)] != self._seen:
            self._seen, self._steps = (), None
        for message in history[len(self._seen) :]:
            if message.role == "user":
                self._take_in(message.content)
            elif message.role == "tool":
                self._take_in(message.result)
        self._seen = history
        return self._next

    def _take_in(self, heard: Any) -> None:
        try:
            if self._steps is None:
                steps = self._steps = serve(Desk(heard))
                self._next = next(steps)
            else:
                self._next = self._steps.send(heard)  # type: ignore[attr-defined]
        except StopIteration:
            self._next = _STOP


def serve(desk: Desk) -> Steps[None]:
    """Serve one customer from the opening to the end."""
    request = desk.heard[0]
    if THIRD_PARTY.search(request):
        yield from third_party(desk)
        return
    yield from identify(desk)
    for _ in range(5):
        families = families_in(request)
        if not families:
            request = yield from desk.ask("What would you like me to do?")
            families = families_in(request)
        for family in families:
            yield from family(desk, request)
        request = desk.heard[-1]
        if (ACCEPTS.search(request) or ADDS.search(request)) and families_in(request):
            continue
        if "complaint" not in request and not parts(request):
            request = yield from desk.ask(
                "Everything is taken care of. Is there anything else I can do for you?"
            )
        if re.search(r"formal complaint", request):
            yield from complaint(desk)
            return
        if parts(request):
            return
        yield from desk.look_up()


def families_in(said: str) -> list[Family]:
    """Return the families that a request is about: one, or a higher limit and contact data."""
    found = [family for pattern, family in FAMILIES if re.search(pattern, said, re.IGNORECASE)]
    if found[:1] == [cards.raise_limit] and contact in found:
        return [cards.raise_limit, contact]
    return found[:1]
