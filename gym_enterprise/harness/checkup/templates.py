"""Whether a chat template can be trained with: system messages, stop tokens, prompts that extend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok, one_line, warning
from simulators.engines.errors import FatalError
from simulators.template import ChatTemplate, Tokens

NO_TOKENIZER = (
    "name a folder with a tokenizer that has a chat template, a .gguf file, or a name on the model hub"
)
KEEP = "keep what was sampled with ChatTemplate(..., keep_history=True), or expect one segment a turn"

SYSTEM = {"role": "system", "content": "You are the clerk of a small shop."}
ASKED = {"role": "user", "content": "Hello, I have a question about an order."}
_SHOWN = 30
"""Characters that are shown of a place where two texts differ."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A turn of a model, as it samples it, and what comes back."""

    what: str
    said: str
    answer: str
    reasoning: str = ""
    """What of it is reasoning."""


_CALL = '<tool_call>\n{"name": "find_order", "arguments": {"order_id": "17"}}\n</tool_call>'
_RESULT = '<tool_response>\n{"ok": true, "result": "sent"}\n</tool_response>'
_FIRST, _SECOND = "The customer means order 17.", "It was sent today, so it comes on Monday."

CONVERSATION = (
    Exchange("text", "Which order do you mean?", "Order 17."),
    Exchange("a tool call", _CALL, _RESULT),
    Exchange("text after a tool result", "Order 17 has been sent.", "Is that so?"),
    Exchange("reasoning before a call", f"<think>\n{_FIRST}\n</think>\n\n{_CALL}", _RESULT, _FIRST),
    Exchange(
        "reasoning before text", f"<think>\n{_SECOND}\n</think>\n\nIt has.", "When will it come?", _SECOND
    ),
    Exchange("text after reasoning", "On Monday.", "Thank you."),
)


def template_findings(check: str, template: ChatTemplate) -> Iterator[Finding]:
    """Check a chat template.

    Args:
        check: What the findings are called.
        template: The template; sampled turns are made with its own tokenizer.

    Yields:
        Whether it writes a system message, whether its text survives the tokens, its stop tokens, and for
        each turn of a conversation whether the next prompt extends the tokens or begins a new segment.
    """
    system = _system(f"{check}: system message", template)
    yield system
    chat = [ASKED] if system.status == "failed" else [SYSTEM, ASKED]
    try:
        yield _round_trip(f"{check}: special tokens", template, chat)
        yield _stop_tokens(f"{check}: stop tokens", template, chat)
        yield from _exchanges(check, template, chat)
    except FatalError as error:
        yield failure(f"{check}: conversation", error, "use another model or template")


def difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Return the index of the first token that differs, or that only one has; None when they are equal.

    Example:
        >>> difference((1, 2, 3), (1, 2)), difference((1,), (1,))
        (2, None)
    """
    pairs = zip_longest(ours, theirs)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), None)


def _system(check: str, template: ChatTemplate) -> Finding:
    cure = "every player's chat begins with one: use another model or template"
    try:
        written = template.text(template.prompt([SYSTEM, ASKED]))
    except FatalError as error:
        return failure(check, error, cure)
    if _unspaced(SYSTEM["content"]).lower() not in _unspaced(written).lower():
        return failed(check, "the template leaves it out", cure)
    return ok(check, "the template writes it")


def _round_trip(check: str, template: ChatTemplate, chat: list[dict[str, str]]) -> Finding:
    tokenizer = template.tokenizer
    whole = [*chat, {"role": "assistant", "content": _CALL}, {"role": "user", "content": _RESULT}]
    written = str(tokenizer.apply_chat_template(whole, tokenize=False, add_generation_prompt=True))
    ids = ChatTemplate(tokenizer).prompt(whole)  # without the variables of the template, as above
    read = str(tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
    if read == written:
        return ok(check, f"{len(ids)} tokens of a prompt decode to the text that was written")
    detail = f"the tokens of a prompt decode to other text: {_differing(read, written)}"
    if _unspaced(read) == _unspaced(written):
        return warning(check, detail, "only blanks differ, as with older tokenizers; use the fast tokenizer")
    return failed(check, detail, "the tokenizer does not belong to this chat template: use the model's own")


def _stop_tokens(check: str, template: ChatTemplate, chat: list[dict[str, str]]) -> Finding:
    named = ", ".join(f"{_named(template, token)} ({token})" for token in sorted(template.stop_token_ids))
    if _closing(template, chat) is None:
        return warning(
            check,
            f"{named}, and the template closes a turn with none of them",
            "use a tokenizer in which the mark that closes a turn is a special token",
        )
    return ok(check, named)


def _closing(template: ChatTemplate, chat: list[dict[str, str]]) -> int | None:
    """Return the stop token with which the template closes a turn of the model."""
    before = template.prompt(chat)
    whole = template.prompt([*chat, {"role": "assistant", "content": "Yes."}, ASKED])
    after = whole[difference(before, whole) or 0 :]
    return next((token for token in after if token in template.stop_token_ids), None)


def _exchanges(check: str, template: ChatTemplate, chat: list[dict[str, str]]) -> Iterator[Finding]:
    """Play the conversation as a player with a template does, and tell of each turn what becomes of it."""
    closing = _closing(template, chat)
    prompt, reasoning = template.prompt(chat), ""
    for turn in CONVERSATION:
        said = _after(template.text(prompt), turn.said)
        sampled = _encoded(template, said) + (() if closing is None else (closing,))
        own = {"role": "assistant", "content": template.text(sampled)}
        longer_chat = [*chat, own, {"role": "user", "content": turn.answer}]
        longer = template.extended(prompt, sampled, longer_chat, len(chat))
        written, reasoning = template.prompt(longer_chat), turn.reasoning or reasoning
        name = f"{check}: {turn.what}"
        if longer is not None and longer[: len(prompt) + len(sampled)] == prompt + sampled:
            yield ok(name, "the next prompt extends the tokens")
        else:
            why = _why(template, prompt + sampled, written, reasoning)
            yield warning(name, f"a new segment begins: {why}", KEEP)
        chat, prompt = longer_chat, longer or written


def _after(prompt: str, said: str) -> str:
    """Return what a model samples after a prompt, which may have opened its reasoning already."""
    if not prompt.rstrip().endswith("<think>"):
        return said
    return said.removeprefix("<think>\n") if said.startswith("<think>") else f"Plain.\n</think>\n\n{said}"


def _why(template: ChatTemplate, stood: Tokens, written: Tokens, reasoning: str) -> str:
    before, now = template.text(stood), template.text(written)
    if reasoning and reasoning in before and reasoning not in now:
        return "the template drops earlier reasoning"
    return f"the template writes earlier turns otherwise: {_differing(before, now)}"


def _differing(one: str, other: str) -> str:
    place = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    start = max(0, (min(len(one), len(other)) if place is None else place) - _SHOWN // 3)
    return f"{one[start : start + _SHOWN]!r} against {other[start : start + _SHOWN]!r}"


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _encoded(template: ChatTemplate, text: str) -> Tokens:
    return tuple(template.tokenizer.encode(text, add_special_tokens=False))


def _named(template: ChatTemplate, token: Any) -> str:
    return one_line(repr(template.tokenizer.decode([token], skip_special_tokens=False)))
