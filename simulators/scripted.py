"""The offline default customer: deterministic, with private facts, wants that can come later, own tools."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from simulators import wording
from simulators.listener import Heard, Listener, Proposal
from simulators.memory import Memory
from simulators.player import Action, MessageRecord, Observation, Synchronous
from simulators.user_tools import Use, UserTool, complete, given_tool, listed_tools, read_uses
from simulators.wording import Wording


@dataclass(slots=True)
class _Conversation:
    """Where the customer stands; computed from its history alone."""

    tools: dict[str, UserTool]
    texts: tuple[str, ...] = ()
    """What the agent said since the customer last acted."""
    queue: tuple[Use, ...] = ()
    """Calls still to make before speaking."""
    pending: Use | None = None
    """A call that waits for an argument."""
    outcomes: tuple[str, ...] = ()
    last_outcome: str = ""
    parts: tuple[str, ...] = ()
    """What to say once the calls are made."""
    ending: bool = False
    spoken: int = 0
    raised: int = 0
    """How many later wants were brought up."""
    pushed: int = 0
    """How many pushbacks were used."""
    lost: int = 0
    """Messages in a row that were not understood."""
    waited: int = 0
    """Acknowledgements in a row."""
    resolved: frozenset[int] = frozenset()
    """Wants that the agent reported done, or refused for good."""
    reminded: frozenset[int] = frozenset()
    agreed: bool = False
    """Whether it said yes to something that it wants, or heard that it is done."""
    changed: int = 0
    """How many changes of mind it has told."""
    plain: bool = False
    """Whether it was asked the right thing, so that it says plainly what it wants."""
    allowed: frozenset[int] = frozenset()
    """Wants to which it can agree, from what it has heard so far."""
    decision: tuple[_Conversation, Action] | None = field(default=None, repr=False, compare=False)


class ScriptedUser(Synchronous):
    """A customer that follows its scenario's script and its own few rules of conversation.

    It opens with its opening; tells a fact only when asked for it; answers proposals by its wants; picks from
    choices by its facts; uses its tools when told to and reports what they answer; pushes back when refused,
    as often as its script says; brings up later wants one at a time as work is reported; says so when it does
    not know or understand; and ends with thanks when everything was raised and reported, or politely when the
    conversation gets nowhere. As far as its script says so it withholds consent until it has heard what it
    must, changes its mind once it has agreed, and stays vague until it is asked the right thing.

    Args:
        view: The user's view of a task: its `scenario.script` and `tools` are used.
        seed: Chooses among wordings that say the same.

    Raises:
        ValueError: When the scenario has no script, or a script without an opening.
    """

    sees_task = False
    max_messages = 24
    """It ends the conversation with its message of this number."""
    max_lost = 3
    """It says this often in a row that it does not understand, then ends the conversation."""
    max_waits = 2
    """It acknowledges this many messages in a row that ask nothing and report nothing."""

    def __init__(self, view: Any, seed: int) -> None:
        script = getattr(view.scenario, "script", None)
        if script is None or not script.opening.strip():
            lacking = "no script" if script is None else "a script without an opening"
            raise ValueError(
                f"The user's scenario has {lacking}, so a scripted customer has nothing to say: write "
                "`user.script` with an `opening` in the task, or let a language model or ReplayUser play."
            )
        self._script = script
        self._wants = (*script.wants, *script.later)
        self._first = len(script.wants)
        facts = {key: fact.value for key, fact in script.facts.items()}
        self._stages = [(facts, Listener(script, facts))]
        self._wording = Wording(seed)
        self._tools = listed_tools(view.tools)
        self._memory = Memory(lambda: _Conversation(self._tools), self._take_in)

    def act(self, observation: Observation) -> Action:
        """Return the customer's next message, tool call or stop."""
        action = self._decide(self._memory.of(observation["messages"]))[1]
        return {**action, "arguments": dict(action["arguments"])} if "arguments" in action else dict(action)

    def _stage(self, now: _Conversation) -> tuple[dict[str, str], Listener]:
        """Return the facts after the changes of mind so far, and who listens with them in mind."""
        while len(self._stages) <= now.changed:
            facts = self._stages[-1][0] | dict(self._script.changes[len(self._stages) - 1].facts)
            self._stages.append((facts, Listener(self._script, facts)))
        return self._stages[now.changed]

    def _take_in(self, now: _Conversation, message: MessageRecord) -> _Conversation:
        if message.role == "user":  # the customer's own action: what it decided has happened
            return self._decide(now)[0]
        now.decision = None
        if message.role == "agent":
            now.texts = (*now.texts, message.content)
        elif message.role == "tool" and message.call is not None and message.call.name:
            now.outcomes = (*now.outcomes, self._wording.outcome_line(message.call.name, message.result))
        elif message.role == "system" and (tool := given_tool(message.content)):
            now.tools = {**now.tools, tool.name: tool}
        return now

    def _decide(self, now: _Conversation) -> tuple[_Conversation, Action]:
        if now.decision is None:
            after = replace(now)
            now.decision = (after, self._next_action(after))
        return now.decision

    def _next_action(self, now: _Conversation) -> Action:
        if now.spoken == 0:
            now.parts = (self._script.opening,)
        elif now.texts:
            self._respond(now, "\n".join(now.texts))
        now.texts = ()
        if now.queue:
            use, *rest = now.queue
            now.queue = tuple(rest)
            return {"type": "tool_call", "name": use.tool.name, "arguments": use.arguments}
        return self._speak(now)

    def _speak(self, now: _Conversation) -> Action:
        parts = (*now.outcomes, *now.parts) or (self._pick(now, wording.WAITING),)
        now.last_outcome = " ".join(now.outcomes) or now.last_outcome
        if now.spoken + 1 >= self.max_messages and not now.ending:
            now.ending = True
            parts = (*parts, self._pick(now, wording.OUT_OF_TIME))
        now.outcomes, now.parts = (), ()
        now.spoken += 1
        return {"type": "stop" if now.ending else "message", "content": " ".join(parts)}

    def _respond(self, now: _Conversation, text: str) -> None:
        """Fill the queue of calls and the parts of the next message."""
        facts, listener = self._stage(now)
        uses, rest = read_uses(text, now.tools, facts)
        if now.pending and not uses and (use := complete(now.pending, text)) != now.pending:
            uses = [use]
        now.queue = tuple(use for use in uses if not use.missing)
        open_uses = [use for use in uses if use.missing]
        if uses:
            now.pending = open_uses[0] if open_uses else None
        heard = listener.hear(rest)
        now.allowed |= heard.allowed
        if self._script.vague and not now.plain:
            now.plain = any(key in self._script.vague.until for key in {**heard.asked, **heard.chosen})
        agreed = now.agreed or bool(uses)
        if heard.mood.reports:
            now.resolved |= self._named(now, heard)
        gibberish = not any(mark.isalnum() for mark in text)
        parts = [wording.parameter_question(use.tool.name, use.missing[0]) for use in open_uses]
        parts += self._answers(now, heard)
        if pushback := self._pushback(now, heard, busy=bool(uses)):
            parts.insert(0, pushback)
        if change := self._change(now, agreed or (heard.mood.reports and not heard.mood.holds)):
            parts.append(change)
        if parts or uses:
            now.lost = now.waited = 0
        else:
            parts = [self._not_understood(now) if gibberish else self._carry_on(now, heard)]
        now.parts = tuple(dict.fromkeys(parts))

    def _change(self, now: _Conversation, committed: bool) -> str:
        """Return the next change of mind if it is time for it: all that was done is open again then."""
        if not committed or now.changed >= len(self._script.changes):
            return ""
        now.changed += 1
        now.agreed, now.resolved = False, frozenset()
        return str(self._script.changes[now.changed - 1].say)

    def _answers(self, now: _Conversation, heard: Heard) -> list[str]:
        parts: list[str] = []
        if heard.corrected:
            parts.append(self._pick(now, wording.NOT_RIGHT))
        elif heard.confirmed:
            parts.append(self._pick(now, wording.RIGHT))
        for key in {**heard.corrected, **heard.asked, **heard.chosen}:
            parts.append(self._wording.fact_line(key, self._stage(now)[0][key]))
        parts += [wording.which_question(keys) for keys in heard.ambiguous]
        if heard.missing:
            parts.append(wording.missing_line(tuple(heard.missing)))
        if heard.undecided and not parts:
            parts.append(self._pick(now, wording.NO_PREFERENCE))
        if not heard.corrected:
            parts += [self._answer_proposal(now, proposal) for proposal in heard.proposals]
        return parts

    def _answer_proposal(self, now: _Conversation, proposal: Proposal) -> str:
        known = self._first + now.raised
        wanted = [number for number in proposal.wants if number < known]
        said = str(self._wants[wanted[0]].say) if wanted else ""
        if proposal.declines:
            declined = self._script.declines[proposal.declines[0]].say or self._pick(now, wording.NO)
            return f"{declined} {said}".strip()
        if wanted and wanted[0] in proposal.undone:
            return f"{self._pick(now, wording.NO)} {said}".strip()
        if said and proposal.alternatives:
            return said
        if wanted:
            now.plain = True
            return self._consent(now, wanted)
        if known in proposal.wants:  # what it would have brought up next
            now.raised += 1
            return f"Yes. {self._wants[known].say}".strip()
        lead = wording.YES_IF if proposal.bare else wording.NOT_MINE
        return f"{self._pick(now, lead)} {self._request(now)}"

    def _consent(self, now: _Conversation, wanted: list[int]) -> str:
        """Return yes, or what it has to know first."""
        for number in wanted:
            if number not in now.allowed:
                return str(self._wants[number].unsure) or self._pick(now, wording.UNSURE)
        now.agreed = True
        return self._pick(now, wording.YES)

    def _pushback(self, now: _Conversation, heard: Heard, busy: bool) -> str:
        """Return the next pushback if the message calls for it, and count it as used."""
        if now.pushed >= len(self._script.pushback):
            return ""
        asks = busy or heard.informed or heard.open or heard.vague or heard.status or heard.unknown
        if now.pushed in heard.pushed or (heard.mood.refuses and not asks):
            now.pushed += 1
            return str(self._script.pushback[now.pushed - 1].say)
        return ""

    def _carry_on(self, now: _Conversation, heard: Heard) -> str:
        """Return what to say to a message that asks for no fact, consent or tool."""
        mood = heard.mood
        if mood.closes or mood.parts:
            return self._go_on(now, heard)
        if heard.open:
            return self._request(now)
        if heard.status and not mood.holds:
            return now.last_outcome or self._not_understood(now)
        if heard.unknown and not mood.holds:
            return self._pick(now, wording.DO_NOT_KNOW)
        if mood.refuses:
            raised = frozenset(range(self._first + now.raised))
            if raised <= now.resolved:
                return self._go_on(now, heard)
            now.resolved |= self._named(now, heard) or raised
            accepted = self._pick(now, wording.ACCEPTED)
            return f"{accepted} {later}" if (later := self._raise_later(now)) else self._wait(now, accepted)
        if mood.reports and not mood.holds and not heard.unclear:
            return self._go_on(now, heard)
        if mood.reports:
            self._resolve(now, heard)
        if heard.vague:
            return self._wait(now, self._pick(now, wording.OF_COURSE))
        if heard.unclear and not mood.holds:
            return self._not_understood(now)
        return self._wait(now, self._pick(now, wording.WAITING))

    def _go_on(self, now: _Conversation, heard: Heard) -> str:
        """Return the next thing the customer wants, or its thanks when there is none."""
        now.lost = now.waited = 0
        if heard.mood.reports or heard.mood.refuses:
            self._resolve(now, heard)
        for number in range(self._first + now.raised):
            say = self._wants[number].say
            if say and number not in now.resolved | now.reminded:
                now.reminded |= {number}
                return f"{self._pick(now, wording.STILL)} {say}"
        if later := self._raise_later(now):
            return later
        now.ending = True
        return self._pick(now, wording.THANKS)

    def _resolve(self, now: _Conversation, heard: Heard) -> None:
        """Note what a report or a refusal is about: all, if it says so; what it names; or the last want."""
        raised = frozenset(range(self._first + now.raised))
        named = self._named(now, heard) or frozenset(sorted(raised)[-1:])
        now.resolved |= raised if heard.mood.reports_all else named

    def _named(self, now: _Conversation, heard: Heard) -> frozenset[int]:
        """Return which of the wants that were raised a message tells something about."""
        return frozenset(number for number in heard.mentioned if number < self._first + now.raised)

    def _raise_later(self, now: _Conversation) -> str:
        number = self._first + now.raised
        if number >= len(self._wants):
            return ""
        now.raised += 1
        return str(self._wants[number].say)

    def _wait(self, now: _Conversation, words: str) -> str:
        if now.waited >= self.max_waits:
            return self._not_understood(now)
        now.waited += 1
        return words

    def _not_understood(self, now: _Conversation) -> str:
        if now.lost >= self.max_lost:
            now.ending = True
            return self._pick(now, wording.GIVE_UP)
        now.lost += 1
        return f"{self._pick(now, wording.NOT_UNDERSTOOD)} {self._request(now)}"

    def _request(self, now: _Conversation) -> str:
        """Return what the customer still wants, in its own words."""
        if self._script.vague and not now.plain:
            return str(self._script.vague.say)
        if now.changed:
            return str(self._script.changes[now.changed - 1].say)
        says = [self._wants[n].say for n in range(self._first + now.raised) if n not in now.resolved]
        return " ".join(filter(None, says)) or str(self._script.opening)

    def _pick(self, now: _Conversation, wordings: tuple[str, ...]) -> str:
        return self._wording.pick(wordings, now.spoken)
