"""`LLMPlayer`: a language model in either seat."""

from __future__ import annotations

import asyncio
import copy
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template as Text
from typing import Any
from weakref import WeakKeyDictionary

from simulators.calls import READERS, Format, unreadable
from simulators.chat import Chat, chat_messages
from simulators.engines.background import run
from simulators.engines.engine import ChatRequest, Completion, Engine, Request, Sampling, TokenRequest, Usage
from simulators.engines.errors import ContentError, FatalError
from simulators.faults import faults
from simulators.lineage import continues, led_to
from simulators.parsing import STOP_TOKEN, Turn, parse_turn
from simulators.player import Action, MessageRecord, Observation
from simulators.scenario import scenario_text
from simulators.template import Template
from simulators.tokens import Segment, segments
from simulators.turns import marked, place, spoken

History = tuple[MessageRecord, ...]

MAX_TOKENS = 2048
"""Tokens that a model may write in one turn, unless the player is told otherwise."""
_OPENINGS = {
    "agent": "[A customer has opened the chat. Write your first message.]",
    "user": "[The chat is open. Write your first message to the agent.]",
}
_NOTHING: tuple[Action, ...] = ({"type": "message", "content": ""},)
_PROMPTS = Path(__file__).parent / "prompts"


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One turn of a model: asked once, played as one or more actions."""

    history: History
    """What the seat had seen when the model was asked."""
    completions: tuple[Completion, ...]
    """What the model answered; more than one when answers were blank, of which the last one counts."""
    actions: tuple[Action, ...]
    """What it comes to, in order."""
    chat_length: int
    """How many messages the chat had that the model was asked with."""


class LLMPlayer:
    """A language model in the agent's or the user's seat.

    The model is asked for one turn; of several calls in it, each `act` returns the next. What it writes is
    read by `parse_turn`: reasoning is removed, a stop token stops, a call that cannot be read and all calls
    of a turn that was cut by the token limit become one unreadable call, which the environment answers with
    an error.

    A blank turn of a user is asked again with another seed, `attempts` times in all; if it stays blank, a
    blank message is returned, which ends the episode as `simulator_error`. A blank turn of an agent is
    returned at once, for the environment to answer with an error. After text beside a call, a blank turn is
    right: the text is the message.

    It is a pure function of view, seed and observation as far as its engine is one of the request: the
    sampling seed depends on its seed, on the turn and on the attempt only. What the model answered is kept,
    so that the same observation gives the same action from any engine.

    With a `template`, the model is asked with tokens: each prompt begins with all tokens read and sampled
    before, as they were, and `segments` gives them for training. A player that did not ask for the earlier
    turns itself, such as one built in the middle of an episode, begins with the conversation written out.

    Args:
        view: The view of its seat.
        seed: Its seed.
        engine: What completes its chats.
        prompt: Template of the system message, as text or a file; by default that of the seat in
            `simulators/prompts`. It may use `$brief` (policy, or the customer's scenario), `$hints` (on the
            use of the tools), `$calls` (how to write calls, empty for "openai") and `$stop`.
        template: How chats are written as tokens; by default the engine's own, if it has one, and otherwise
            the engine is asked with chats.
        format: How the model writes calls: "openai" when the server reads them, otherwise "hermes", "json" or
            "llama"; then the tools are described in the system message. By default "hermes" with a template
            and "openai" without.
        sampling: How to sample; its seed is not used.
        stop_tokens: Texts that end the conversation; by default those of the view.
        attempts: How often a user is asked for one turn, until it is not blank.

    Raises:
        ValueError: The format is unknown, or "openai" with a template; attempts is below 1; or the prompt
            uses another name.

    Example:
        >>> from functools import partial
        >>> from simulators.engines import OpenAIEngine
        >>> engine = OpenAIEngine("qwen", "http://localhost:8000/v1")
        >>> agent = partial(LLMPlayer, engine=engine)  # a player, wherever one is asked for
    """

    sees_task = False

    def __init__(
        self,
        view: Any,
        seed: int,
        engine: Engine,
        *,
        prompt: str | Path | None = None,
        template: Template | None = None,
        format: Format | None = None,
        sampling: Sampling | None = None,
        stop_tokens: Sequence[str] | None = None,
        attempts: int = 3,
    ) -> None:
        self._template = getattr(engine, "template", None) if template is None else template
        format = format or ("openai" if self._template is None else "hermes")
        if format not in READERS:
            raise ValueError(f"Unknown call format {format!r}: use one of {sorted(READERS)}.")
        if format == "openai" and self._template is not None:
            raise ValueError(
                "A model that is asked with tokens writes calls in its text: hermes, json or llama."
            )
        if attempts < 1:
            raise ValueError(f"A user is asked at least once for a turn; attempts is {attempts}.")
        self.seat: str = view.seat
        """The seat that it plays."""
        self.seed, self.engine = seed, engine
        self._format: Format = format
        self._sampling = sampling or Sampling(max_tokens=MAX_TOKENS)
        self._stop_tokens = tuple(stop_tokens or view.stop_tokens or (STOP_TOKEN,))
        self._removed = (*self._stop_tokens, *view.stop_tokens)  # from what stands in a history
        self._attempts = attempts if self.seat == "user" else 1
        schemas = tuple(spec.to_dict() for spec in view.tools)
        self._tools = schemas if format == "openai" else ()
        self._system = _system_text(view, prompt, format, schemas, self._stop_tokens[0])
        self._turns: dict[int, list[ModelTurn]] = {}
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @property
    def turns(self) -> tuple[ModelTurn, ...]:
        """The turns that the model was asked for, by how long the history was; branches after one another."""
        return tuple(turn for position in sorted(self._turns) for turn in self._turns[position])

    @property
    def usage(self) -> Usage:
        """Tokens that all its turns took, blank ones included."""
        used = [completion.usage for turn in self.turns for completion in turn.completions]
        return Usage(sum(one.prompt_tokens for one in used), sum(one.completion_tokens for one in used))

    def segments(self, history: Sequence[MessageRecord]) -> tuple[Segment, ...]:
        """Return the tokens that its model read and sampled along a history.

        Args:
            history: The seat's messages, at the end of an episode or before.

        Returns:
            See `simulators.tokens.segments`; empty when its engine does not tell tokens.
        """
        return segments(turn.completions[-1] for turn in self._along(tuple(history)))

    def faults(self, history: Sequence[MessageRecord]) -> dict[str, int]:
        """Return what its model did wrong along a history, as counts by kind; see `simulators.faults`."""
        seen = tuple(history)
        unplayed = [turn for turn in self._turns.get(len(seen), ()) if turn.history == seen]
        blank = [turn for turn in unplayed if turn.actions == _NOTHING]
        return faults([*self._along(seen), *blank], self.seat)

    def act(self, observation: Observation) -> Action:
        """Return the next action; waits for the model."""
        return run(self.aact(observation))

    async def aact(self, observation: Observation) -> Action:
        """Return the next action.

        Args:
            observation: What the seat sees.

        Returns:
            A fresh action.

        Raises:
            EngineError: The engine failed for good.
        """
        history: History = tuple(observation["messages"])
        lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        async with lock:  # a second request for the same turn waits for the first one's answer
            under_way = place(history)
            if under_way is not None:
                turn = await self._turn(history[: under_way.start])
                if continues(history, under_way, turn.actions):
                    return copy.deepcopy(turn.actions[under_way.done])
            return copy.deepcopy((await self._turn(history)).actions[0])

    async def _turn(self, history: History) -> ModelTurn:
        asked = self._turns.setdefault(len(history), [])
        for turn in asked:
            if turn.history == history:
                return turn
        asked.append(await self._ask(history))
        return next(turn for turn in asked if turn.history == history)  # another loop may have been first

    def _along(self, history: History) -> list[ModelTurn]:
        """Return the model's turns that a history has come from."""
        return [turn for turn in self.turns if led_to(history, turn, self._removed)]

    async def _ask(self, history: History) -> ModelTurn:
        request, chat_length = self._request(history)
        completions: list[Completion] = []
        actions: tuple[Action, ...] = ()
        while not actions and len(completions) < self._attempts:
            seed = sampling_seed(self.seed, len(history), len(completions))
            sampling = replace(self._sampling, seed=seed)
            try:
                completion = self._completed(
                    await self.engine.complete(replace(request, sampling=sampling)), request
                )
                actions = self._read(completion).actions
            except ContentError as error:
                completion = Completion(error.text, finish_reason="content_error")
                actions = (unreadable(error.text),)
            completions.append(completion)
            if spoken(history, self.seat):
                break
        actions = actions or _NOTHING
        return ModelTurn(history, tuple(completions), marked(actions, len(history)), chat_length)

    def _request(self, history: History) -> tuple[Request, int]:
        """Return what to ask the engine, without how to sample, and how long the chat is."""
        opening = _OPENINGS[self.seat]
        if self._template is None:
            chat = chat_messages(history, self.seat, self._system, opening, self._format)
            return ChatRequest(tuple(chat), self._tools), len(chat)
        turns = self._along(history)
        said = {len(turn.history): turn.completions[-1].text for turn in turns}
        chat = chat_messages(history, self.seat, self._system, opening, self._format, said)
        last = turns[-1] if turns else None
        prompt = None if last is None else _extended(self._template, last, chat)
        return TokenRequest(prompt or self._template.prompt(chat)), len(chat)

    def _completed(self, completion: Completion, request: Request) -> Completion:
        """Return a completion with the tokens that were read, and its text as the template reads it."""
        if self._template is None or isinstance(request, ChatRequest):
            return completion
        if completion.token_ids is None or completion.logprobs is None:
            raise FatalError(
                f"{self.engine!r} returned no token ids or log-probabilities, which a player with a template "
                "needs: use vLLM 0.10.2 or newer with OpenAIEngine(..., token_ids=True), or no template"
            )
        text = self._template.text(completion.token_ids)
        for stop in self._sampling.stop:
            text = text.partition(stop)[0]
        return replace(completion, text=text, prompt_token_ids=request.prompt_token_ids)

    def _read(self, completion: Completion) -> Turn:
        return parse_turn(
            completion.text, self._format, self._stop_tokens, completion.finish_reason, completion.tool_calls
        )

    def __repr__(self) -> str:
        return f"LLMPlayer({self.seat!r}, seed={self.seed}, engine={self.engine!r})"


def sampling_seed(seed: int, position: int, attempt: int) -> int:
    """Return the seed for sampling one turn: 31 bits of SHA-256 over the three numbers.

    Args:
        seed: The player's seed.
        position: Which turn: how long the history is.
        attempt: Which attempt at it, from 0.

    Returns:
        An integer of at least 0 and below 2**31, which every server takes.

    Example:
        >>> len({sampling_seed(7, 1, 0), sampling_seed(7, 1, 1), sampling_seed(7, 3, 0)})
        3
    """
    text = f"{seed}\x1f{position}\x1f{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


def chat_for(
    view: Any, history: Sequence[MessageRecord], format: Format, prompt: str | Path | None = None
) -> Chat:
    """Return a history as an `LLMPlayer` would write it to ask its model, whoever played the seat.

    Args:
        view: The view of the seat.
        history: The seat's messages.
        format: How calls are written.
        prompt: As for `LLMPlayer`.

    Returns:
        The chat. A player with a template asks with it too where its model wrote its turns in just this way.
    """
    schemas = tuple(spec.to_dict() for spec in view.tools)
    system = _system_text(view, prompt, format, schemas, (*view.stop_tokens, STOP_TOKEN)[0])
    return chat_messages(history, view.seat, system, _OPENINGS[view.seat], format)


def _extended(
    template: Template, last: ModelTurn, chat: Sequence[Mapping[str, Any]]
) -> tuple[int, ...] | None:
    """Return the prompt that a chat is when it goes on from a turn; None when the template rewrites that."""
    completion = last.completions[-1]
    if completion.prompt_token_ids is None or completion.token_ids is None:
        return None
    return template.extended(completion.prompt_token_ids, completion.token_ids, chat, last.chat_length)


def _system_text(
    view: Any, prompt: str | Path | None, format: Format, schemas: Sequence[dict[str, Any]], stop: str
) -> str:
    if isinstance(prompt, str):
        template = prompt
    else:
        template = prompt.read_text(encoding="utf-8") if prompt else _prompt(view.seat)
    scenario = getattr(view, "scenario", None)
    parts = {
        "brief": view.prompt if scenario is None else scenario_text(scenario),
        "hints": _hints(view),
        "calls": _calls(format, schemas),
        "stop": stop,
    }
    try:
        return Text(template).substitute(parts).strip()
    except (KeyError, ValueError) as error:
        names = ", ".join(f"${name}" for name in parts)
        raise ValueError(
            f"The prompt of the {view.seat} uses {error}, none of {names}: write $$ for a dollar sign."
        ) from None


def _hints(view: Any) -> str:
    names = {spec.name for spec in view.tools}
    if view.seat == "user":
        return _prompt("user_tools") if names else ""
    return _prompt("agent_search") if "kb_search" in names else ""


def _calls(format: Format, schemas: Sequence[dict[str, Any]]) -> str:
    if format == "openai" or not schemas:
        return ""
    lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return Text(_prompt(f"calls_{format}")).substitute(tools=lines)


@functools.cache
def _prompt(name: str) -> str:
    return (_PROMPTS / f"{name}.md").read_text(encoding="utf-8")
