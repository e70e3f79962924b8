"""Whether an engine answers, tells tokens, and lets its model call tools."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok, one_line, warning
from gym_enterprise.harness.checkup.prompts import FirstPrompt, window_finding
from gym_enterprise.messages import Message, Observation
from simulators import LLMPlayer
from simulators.engines.background import run
from simulators.engines.engine import (
    ChatRequest,
    Completion,
    Engine,
    Request,
    Sampling,
    TokenRequest,
    sampled_logprob,
)
from simulators.engines.errors import EngineError, TransientError
from simulators.template import ChatTemplate

Result = TypeVar("Result")

CHAT = (
    {"role": "system", "content": "You are the clerk of a small shop, and brief."},
    {"role": "user", "content": "Good morning! Please greet me in one short sentence."},
)
ANSWER = Sampling(max_tokens=128, seed=0)
"""Short, so that a slow model has an answer in time."""
WORDS = 60
"""Characters of an answer that are shown."""
TOOL = "tell_time"


def engine_findings(
    check: str,
    engine: Engine,
    template: ChatTemplate | None,
    timeout: float,
    prompt: FirstPrompt | None = None,
) -> Iterator[Finding]:
    """Check an engine as a player uses it; one that does not answer is asked nothing more.

    Args:
        check: What the findings are called.
        engine: The engine.
        template: Its template, if it has one; then it is asked with tokens.
        timeout: Seconds for each answer.
        prompt: What its window should have room for.
    """
    name = f"{check}: answers"
    try:
        completion, seconds = answer(engine, template, timeout)
        yield answer_finding(name, completion, seconds)
        yield _tokens(f"{check}: tokens", engine, completion, template, prompt)
        name = f"{check}: tools"
        yield call_finding(name, engine, timeout, "choose a model that calls tools, or train it to")
    except EngineError as error:
        yield failure(name, error, "do what the message says, or give it more time with --timeout")


def within(seconds: float, asked: Coroutine[Any, Any, Result]) -> Result:
    """Wait so long for what is asked of an engine.

    Raises:
        TransientError: It takes longer.
    """
    try:
        return run(asyncio.wait_for(asked, seconds))
    except TimeoutError:
        raise TransientError(f"It was not answered within {seconds:g} s") from None


def answer(engine: Engine, template: ChatTemplate | None, timeout: float) -> tuple[Completion, float]:
    """Ask an engine for a greeting, with tokens when there is a template; return its answer and the seconds.

    Raises:
        EngineError: The engine raised it, or took too long.
    """
    request: Request = ChatRequest(CHAT, (), ANSWER)
    if template is not None:
        request = TokenRequest(template.prompt(CHAT), ANSWER)
    began = perf_counter()
    completion = within(timeout, engine.complete(request))
    return completion, perf_counter() - began


def answer_finding(check: str, completion: Completion, seconds: float) -> Finding:
    """Say what an engine answered, and at what cost."""
    read, written = completion.usage.prompt_tokens, completion.usage.completion_tokens
    cost = f"{seconds:.2f} s, {read} tokens read, {written} written"
    if not read and not written:
        cost = f"{seconds:.2f} s, tokens not counted"
    if completion.text.strip():
        return ok(check, f"{cost}: {one_line(completion.text, WORDS)!r}")
    return warning(
        check,
        f"{cost}, and a blank text (finish reason {completion.finish_reason!r})",
        "give a model that reasons at length more tokens, with Sampling(max_tokens=...)",
    )


def missing_tokens(completion: Completion, prompt: bool) -> str:
    """Return what of the tokens a completion does not tell, as words; "" when it tells all."""
    told = {
        "sampled tokens": completion.token_ids,
        "log-probabilities": completion.logprobs,
        "tokens of the prompt": completion.prompt_token_ids if prompt else (),
    }
    return ", ".join(name for name, value in told.items() if value is None)


def call_finding(check: str, engine: Engine, timeout: float, cure: str) -> Finding:
    """Ask a model for a tool call as an agent is asked in an episode; one that does not call is a warning.

    Args:
        check: What the finding is called.
        engine: The engine; one with a template is asked with tokens, and its model's text is read.
        timeout: Seconds.
        cure: What to do when there is no call.

    Raises:
        EngineError: The engine raised it, or took too long.
    """
    agent = LLMPlayer(_View(), 0, engine, sampling=ANSWER)
    action = within(timeout, agent.aact(_ASKED))
    said = one_line(agent.turns[-1].completions[-1].text, WORDS)
    if action["type"] != "tool_call":
        return warning(check, f"the model did not call the tool: it wrote {said!r}", cure)
    if action["name"] != TOOL:
        return warning(check, f"the model's call cannot be read, or has another name: {said!r}", cure)
    return ok(check, f"the model called {TOOL} with {one_line(str(action['arguments']), WORDS)}")


def _tokens(
    check: str,
    engine: Engine,
    completion: Completion,
    template: ChatTemplate | None,
    prompt: FirstPrompt | None,
) -> Finding:
    lacks = missing_tokens(completion, prompt=False)
    if not lacks:
        fault = _impossible(completion.token_ids or (), completion.logprobs or ())
        if fault:
            return failed(check, fault, "mend the engine: nothing can be trained on with these")
        window = getattr(engine, "window", None)
        room = f"; a window of {window} tokens" if window else ""
        told = f"the engine tells sampled tokens and log-probabilities{room}"
        return window_finding(check, told, window, prompt)
    found = warning if template is None else failed
    cure = "training needs them; evaluation without a template does not"
    return found(check, f"the engine does not tell: {lacks}", cure)


def _impossible(ids: Sequence[int], logprobs: Sequence[float]) -> str:
    """Return what is wrong with the log-probabilities of a completion, or ""."""
    if len(ids) != len(logprobs):
        return f"there are {len(ids)} tokens and {len(logprobs)} logprobs"
    try:
        for one in logprobs:
            sampled_logprob(one)
    except ValueError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool as players see it."""

    name: str = TOOL

    def to_dict(self) -> dict[str, Any]:
        parameters = {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city."}},
            "required": ["city"],
        }
        description = "Return the local time of a city."
        function = {"name": self.name, "description": description, "parameters": parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class _View:
    """What an agent knows of a task, without a domain."""

    seat: str = "agent"
    prompt: str = "You tell people what time it is, and look it up with your tool each time."
    tools: tuple[_Tool, ...] = (_Tool(),)
    scenario: None = None
    stop_tokens: tuple[str, ...] = ()


_ASKED = Observation(
    messages=(Message(0, "system", _View().prompt), Message(1, "user", "What time is it in Oslo?")),
    turn=1,
    your_turn=1,
)
