"""Whether a served model answers, is known to its server, and is written to as its template writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from gym_enterprise.harness.checkup.engines import (
    ANSWER,
    WORDS,
    answer,
    answer_finding,
    call_finding,
    missing_tokens,
    within,
)
from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok, one_line, warning
from gym_enterprise.harness.checkup.prompts import FirstPrompt, window_finding
from gym_enterprise.harness.checkup.templates import ASKED, SYSTEM, difference
from simulators.engines.engine import ChatRequest, Completion, Sampling, TokenRequest
from simulators.engines.errors import EngineError, FatalError, TransientError
from simulators.engines.openai import KEY_VARIABLE, OpenAIEngine
from simulators.template import ChatTemplate, Tokens

_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""What servers call the window of a model."""
_MOST_LISTED = 5
_SHORT = Sampling(max_tokens=8, seed=0)
_PARSER = (
    "serve with a tool parser (vLLM: --enable-auto-tool-choice --tool-call-parser NAME), choose a model that "
    "calls tools, or play with LLMPlayer(..., format='hermes')"
)
_TELLS = "serve with vLLM 0.10.2 or newer"
_WRITTEN = [SYSTEM, ASKED, {"role": "assistant", "content": "Which order do you mean?"}, ASKED]
"""The chat that server and template both write."""


def server_findings(
    check: str,
    model: str,
    url: str,
    template: ChatTemplate | None,
    timeout: float,
    prompt: FirstPrompt | None = None,
) -> Iterator[Finding]:
    """Check a model behind an OpenAI-compatible server; one that does not answer is asked nothing more.

    Args:
        check: What the findings are called.
        model: Its name.
        url: Base URL.
        template: Its template as it is here, to compare with.
        timeout: Seconds for each request.
        prompt: What its window should have room for.
    """
    limits: dict[str, Any] = {"attempts": 1, "timeout": timeout, "deadline": timeout}
    engine, telling = OpenAIEngine(model, url, **limits), OpenAIEngine(model, url, token_ids=True, **limits)
    try:
        completion, seconds = answer(engine, None, timeout)
    except EngineError as error:
        yield _unanswered(f"{check}: answers", error, engine, timeout)
        return
    else:
        yield answer_finding(f"{check}: answers", completion, seconds)
        yield _listed(f"{check}: listed", engine, timeout, prompt)
        yield _calls(f"{check}: tools", engine, timeout)
        yield from _token_findings(check, telling, template, timeout)
    finally:
        engine.close()
        telling.close()


def _unanswered(check: str, error: EngineError, engine: OpenAIEngine, timeout: float) -> Finding:
    detail, _, advice = str(error).rpartition(". ")  # engines put the cure last
    return failed(check, one_line(detail or advice), _cure(error, engine, timeout) or advice)


def _cure(error: EngineError, engine: OpenAIEngine, timeout: float) -> str:
    """Return what to do about a request that failed; "" leaves it to the engine's own advice."""
    status = error.status
    if status is None and "was not answered within" in str(error):
        return "see whether the server is loading or stuck, or give it more time with --timeout"
    if status is None:
        return f"start the server, or correct the URL {engine.url}, which usually ends in /v1"
    if status in (401, 403):
        known = "does not open it: correct it" if os.environ.get(KEY_VARIABLE) else "is not set: set it"
        return f"{KEY_VARIABLE} {known} to a key of this server"
    if status in (404, 405):
        try:
            names = _names(_models(engine, timeout))
        except EngineError:
            return f"correct the URL {engine.url}, which usually ends in /v1, or the name of the model"
        return f"correct the name of the model; the server lists: {names}"
    return "see the server's log, or try again later" if isinstance(error, TransientError) else ""


def _names(models: dict[str, dict[str, Any]]) -> str:
    return one_line(", ".join(sorted(models)[:_MOST_LISTED]) or "none")


def _listed(check: str, engine: OpenAIEngine, timeout: float, prompt: FirstPrompt | None) -> Finding:
    try:
        models = _models(engine, timeout)
    except EngineError as error:
        return warning(check, str(error), "nothing, as the model answers")
    if engine.model not in models:
        told = f"the server does not list the model; it lists: {_names(models)}"
        return warning(check, told, "use a name that it lists")
    windows = [models[engine.model].get(name) for name in _WINDOWS]
    window = next((size for size in windows if type(size) is int and size > 0), None)
    told = "a window of " + (f"{window} tokens" if window else "unknown size")
    return window_finding(check, told, window, prompt)


def _models(engine: OpenAIEngine, timeout: float) -> dict[str, dict[str, Any]]:
    """Return what GET /models tells, by name of the model.

    Raises:
        FatalError: There is no such list.
    """
    where = f"{engine.url}/models"
    try:
        status, payload = within(timeout, _get(where))
    except Exception as error:  # of the network, or no JSON
        raise FatalError(f"GET {where} failed: {type(error).__name__} {error}") from error
    listed = payload.get("data") if isinstance(payload, dict) else None
    if status != 200 or not isinstance(listed, list):
        raise FatalError(f"GET {where} answered {status} and no list of models")
    return {str(model["id"]): model for model in listed if isinstance(model, dict) and "id" in model}


async def _get(url: str) -> tuple[int, Any]:
    import httpx

    address = urlsplit(url)
    local = address.hostname in ("localhost", "127.0.0.1", "::1")  # as the engine: no proxy to this machine
    key = os.environ.get(KEY_VARIABLE)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(
        verify=address.scheme == "https", trust_env=not local, timeout=None
    ) as client:
        got = await client.get(url, headers=headers)
    return got.status_code, got.json() if got.status_code == 200 else None


def _calls(check: str, engine: OpenAIEngine, timeout: float) -> Finding:
    try:
        return call_finding(check, engine, timeout, _PARSER)
    except TransientError as error:
        return failure(check, error, _cure(error, engine, timeout))
    except EngineError as error:
        return failure(check, error, _PARSER)


def _token_findings(
    check: str, engine: OpenAIEngine, template: ChatTemplate | None, timeout: float
) -> Iterator[Finding]:
    """Check what training needs and evaluation does not: without a template what lacks is a warning."""
    name = f"{check}: tokens"
    fault = failed if template is not None else warning
    cure = f"{_TELLS} to train with the tokens" + ("" if template else "; evaluation needs none")
    try:
        completion = within(timeout, engine.complete(ChatRequest(tuple(_WRITTEN), (), _SHORT)))
    except EngineError as error:
        said = one_line(str(error).rpartition(". ")[0] or str(error))
        if error.status == 200:  # an answer that cannot be
            yield failed(name, said, cure)
        else:
            yield fault(name, f"refused: {said}", cure)
        return
    lacks = missing_tokens(completion, prompt=True)
    if lacks:
        yield fault(name, f"the server does not tell: {lacks}", cure)
    else:
        yield ok(name, "the server tells the tokens of prompt and answer, and log-probabilities")
    if template is None:
        return
    try:
        ours = template.prompt(_WRITTEN)
    except FatalError as error:
        yield failure(f"{check}: prompt", error, "give --template the served model's own")
        return
    if completion.prompt_token_ids is not None:
        yield _same_prompt(f"{check}: prompt", ours, completion.prompt_token_ids, template)
    yield _continues(f"{check}: continues", engine, ours, template, timeout)


def _same_prompt(check: str, ours: Tokens, theirs: Tokens, template: ChatTemplate) -> Finding:
    """Compare the tokens of one chat as the template here and as the server write them."""
    place = difference(ours, theirs)
    if place is None:
        return ok(check, f"the {len(ours)} tokens of a chat are the template's")
    return failed(
        check,
        f"of {len(theirs)} tokens at the server and {len(ours)} here, token {place} is the first to differ: "
        f"{_shown(template, theirs[place:])} there, {_shown(template, ours[place:])} here",
        "give --template the served model's own, or serve with this one (vLLM: --chat-template)",
    )


def _shown(template: ChatTemplate, ids: Tokens) -> str:
    if not ids:
        return "the end"
    try:
        text = template.tokenizer.decode(list(ids[:4]), skip_special_tokens=False)
    except Exception:  # a token that this tokenizer does not have
        text = "?"
    return f"{ids[0]} ({text!r})"


def _continues(
    check: str, engine: OpenAIEngine, prompt: Tokens, template: ChatTemplate, timeout: float
) -> Finding:
    """Ask with tokens, as a player with a template does."""
    try:
        completion = within(timeout, engine.complete(TokenRequest(prompt, ANSWER)))
    except EngineError as error:
        return failure(check, error, f"{_TELLS}, which continues tokens at POST /completions")
    lacks = missing_tokens(completion, prompt=False)
    if lacks:
        return failed(check, f"asked with tokens, the server does not tell: {lacks}", _TELLS)
    other = _other_text(completion, template)
    if other:
        cure = "give --template the served model's own: a player with it reads the text of the tokens"
        return warning(check, f"asked with tokens, {other}", cure)
    said = template.text(completion.token_ids or ())
    return ok(check, f"asked with tokens, it goes on: {one_line(said, WORDS)!r}")


def _other_text(completion: Completion, template: ChatTemplate) -> str:
    """Return how the text of a completion and that of its tokens disagree, as words; "" when they agree.

    Servers may leave special tokens out of a text, and what was cut within a character.
    """
    ids = completion.token_ids or ()
    if max(ids, default=0) >= len(template.tokenizer):
        return f"the server samples token {max(ids)}, and the template has {len(template.tokenizer)}"
    said, plain = template.text(ids), template.tokenizer.decode(list(ids), skip_special_tokens=True)
    if _words(completion.text) in (_words(said), _words(plain)):
        return ""
    return f"the text is {one_line(completion.text, WORDS)!r}, and its tokens say {one_line(said, WORDS)!r}"


def _words(text: str) -> str:
    return "".join(text.split()).rstrip("\ufffd")
