"""How long the first prompt of a domain is, and whether a model's window has room for it."""

from __future__ import annotations

import contextlib
import copy
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_enterprise.harness.checkup.finding import Finding, ok, warning
from simulators import LLMPlayer
from simulators.engines.engine import ChatRequest, Completion, Request
from simulators.engines.errors import EngineError
from simulators.template import ChatTemplate

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.messages import Seat
    from gym_enterprise.tasks import Task

CHARACTERS_A_TOKEN = 4
"""Of English text, about; for models whose tokenizer is not known here."""


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """What a model reads before it writes anything."""

    tokens: int
    measured: bool
    """Whether a template has counted the tokens; otherwise they are estimated by the characters."""
    source: str
    """Whose prompt it is."""

    def __str__(self) -> str:
        how = "" if self.measured else f" by an estimate of {CHARACTERS_A_TOKEN} characters a token"
        return f"{self.source} has {self.tokens} tokens{how}"


def first_prompt(
    player: LLMPlayer, seat: Seat, domain: Domain, task: Task, template: ChatTemplate | None
) -> FirstPrompt | None:
    """Return the first prompt of a player in a task.

    Args:
        player: The player; it is asked for its request, and its engine for nothing.
        seat: Where it sits.
        domain: What is played.
        task: The task.
        template: Counts the tokens of a chat; None estimates them.

    Returns:
        The prompt; None when the player's own template cannot write it.
    """
    from gym_enterprise.episode import Episode

    listener, asking = _Listener(), copy.copy(player)
    asking.engine = listener
    with contextlib.closing(Episode(domain, task)) as episode, contextlib.suppress(Exception):
        asking.act(episode.observe(seat))  # what it fails with is told where its engine is asked
    if listener.request is None:
        return None
    tokens, measured = _size(listener.request, template)
    return FirstPrompt(tokens, measured, f"the first prompt of the {seat} in task {task.id}")


def window_finding(check: str, told: str, window: int | None, prompt: FirstPrompt | None) -> Finding:
    """Return `ok` with what was told of a window; a warning when the first prompt leaves no room in it.

    Args:
        check: What the finding is called.
        told: What was found.
        window: Most tokens of prompt and completion together; None where that is not known.
        prompt: The first prompt, as far as it is known.
    """
    if window is None or prompt is None or prompt.tokens < window:
        return ok(check, told)
    return warning(
        check,
        f"{told}, and {prompt}",
        "give the model a longer window (vLLM: --max-model-len), or another model",
    )


def _size(request: Request, template: ChatTemplate | None) -> tuple[int, bool]:
    if not isinstance(request, ChatRequest):
        return len(request.prompt_token_ids), True
    if template is not None:
        with contextlib.suppress(EngineError):
            return len(template.prompt(request.messages, request.tools)), True
    written = json.dumps([*request.messages, *request.tools], ensure_ascii=False)
    return len(written) // CHARACTERS_A_TOKEN, False


class _Listener:
    """An engine that keeps what it is asked, and completes nothing."""

    def __init__(self) -> None:
        self.request: Request | None = None

    async def complete(self, request: Request) -> Completion:
        self.request = request
        raise EngineError("It only listens.")
