"""Whether each player that is named can play."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gym_enterprise.errors import GymEnterpriseError, UsageError
from gym_enterprise.harness.checkup.domains import first_task, play
from gym_enterprise.harness.checkup.engines import engine_findings
from gym_enterprise.harness.checkup.finding import Finding, failed, failure, ok
from gym_enterprise.harness.checkup.packages import device_finding
from gym_enterprise.harness.checkup.prompts import first_prompt
from gym_enterprise.harness.checkup.servers import server_findings
from gym_enterprise.harness.checkup.templates import template_findings
from gym_enterprise.messages import Seat
from simulators import LLMPlayer
from simulators.template import ChatTemplate

if TYPE_CHECKING:
    from gym_enterprise.domain import Domain
    from gym_enterprise.tasks import Task

IN_PROCESS = ("hf", "vllm")
"""What the names of models in this process begin with."""
_CURES = {
    "openai": "write it like openai:qwen@http://localhost:8000/v1",
    "hf": "give the folder of a model with its tokenizer, a .gguf file, or a name on the model hub",
    "vllm": "give the folder of a model with its tokenizer, or a name on the model hub",
}
_NO_PLAYER = "give one of these names, or a player that takes this task; a domain is checked with --domain"


def player_findings(
    name: str, domain: str, template: ChatTemplate | None, timeout: float
) -> Iterator[Finding]:
    """Check one player: a language model by its engine, another one by letting it play.

    Args:
        name: Such as "openai:MODEL@URL", "hf:PATH", "scripted" or "module:NAME".
        domain: What is played; when it cannot be loaded, the bank.
        template: The template of served models, as far as it is known here.
        timeout: Seconds for one answer.
    """
    kind = name.partition(":")[0]
    if kind in IN_PROCESS and find_spec("torch"):
        yield device_finding(f"{name}: device")
    try:
        loaded, task = _table(domain)
        seat, player = _seated(name, loaded, task)
    except Exception as error:  # loading a model can fail in any way, and so can a player's own module
        yield failure(name, error, _CURES.get(kind, _NO_PLAYER))
        return
    if not isinstance(player, LLMPlayer):
        yield _plays(name, seat, loaded, task)
        return
    prompt = first_prompt(player, seat, loaded, task, template)
    if kind == "openai":
        served: Any = player.engine
        yield from server_findings(name, served.model, served.url, template, timeout, prompt)
    else:
        own = getattr(player.engine, "template", None)
        yield from engine_findings(name, player.engine, own, timeout, prompt)
        if own is not None:
            yield from template_findings(f"{name}: template", own)


def _table(name: str) -> tuple[Domain, Task]:
    """Return a domain and a task to seat players at; the bank's when that of this name cannot be loaded."""
    from gym_enterprise.registry import load_domain

    try:
        domain = load_domain(name)
        return domain, first_task(domain)
    except (GymEnterpriseError, ImportError):
        bank = load_domain("banking")
        return bank, first_task(bank)


def _seated(name: str, domain: Domain, task: Task) -> tuple[Seat, Any]:
    """Put a player into the seat that takes it.

    Raises:
        UsageError: Neither seat does.
    """
    from gym_enterprise.episode import Episode
    from gym_enterprise.seating import check_player, seat_player

    seat: Seat = "agent"
    try:
        check_player(name, seat)
    except UsageError as error:
        if ":" in name:  # what can sit in either seat
            raise
        seat = "user"
        try:
            check_player(name, seat)
        except UsageError as other:
            raise UsageError(f"{error}; {other}") from None
    return seat, seat_player(name, Episode(domain, task), seat, 0)


def _plays(name: str, seat: Seat, domain: Domain, task: Task) -> Finding:
    """Let a player play a task, with the oracle or the task's own user in the other seat."""
    record = play(domain, task, name) if seat == "agent" else play(domain, task, "oracle", name)
    if record.error is not None:
        return failed(name, record.error, "mend the player, or give it a task that it can play")
    return ok(name, f"plays the {seat} in task {task.id}: reward {record.reward} after {record.steps} steps")
