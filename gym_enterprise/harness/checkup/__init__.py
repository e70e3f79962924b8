"""What a run will need, looked at before it begins: packages, the domain, players, chat templates.

`checkup` is what `gym-enterprise doctor` prints. Each check comes to one `Finding`; a check that breaks is a
finding too, so that the others still run. What may be missing is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gym_enterprise.harness.checkup.domains import domain_findings, tau3_finding
from gym_enterprise.harness.checkup.finding import Finding, Status, failure
from gym_enterprise.harness.checkup.packages import package_findings
from gym_enterprise.harness.checkup.players import player_findings
from gym_enterprise.harness.checkup.templates import NO_TOKENIZER, template_findings
from simulators.template import ChatTemplate

__all__ = ["Finding", "Status", "checkup"]


def checkup(
    players: Iterable[str] = (),
    *,
    domain: str = "banking",
    template: str | None = None,
    timeout: float = 60.0,
) -> Iterator[Finding]:
    """Check what is installed, that the gym works here, and each player; findings come as they are made.

    Args:
        players: Names of players, such as "openai:MODEL@URL", "hf:PATH" or "scripted".
        domain: The domain's name, or an entry point "module:function".
        template: Folder, hub name or .gguf file with the tokenizer of the model that a server runs; its chat
            template is checked, and compared with the server's.
        timeout: Seconds that a server, or a model in this process, may take for one answer.

    Yields:
        The findings, without keys and passwords.

    Example:
        >>> [one.check for one in checkup() if one.status == "failed"]  # doctest: +SKIP
        []
    """
    for finding in _findings(players, domain, template, timeout):
        yield finding.redacted()


def _findings(players: Iterable[str], domain: str, template: str | None, timeout: float) -> Iterator[Finding]:
    yield from _guarded("packages", package_findings())
    yield from _guarded(f"domain {domain}", domain_findings(domain))
    yield from _guarded("tau3 data", tau3_finding())
    written = None
    if template is not None:
        check = f"template {template}"
        try:
            written = ChatTemplate.load(template)
        except Exception as error:
            yield failure(check, error, NO_TOKENIZER)
        else:
            yield from _guarded(check, template_findings(check, written))
    for name in players:
        yield from _guarded(name, player_findings(name, domain, written, timeout))


def _guarded(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Pass findings on; one more, and the end, when making them raises."""
    try:
        yield from findings
    except Exception as error:
        told = RuntimeError(f"the check itself broke: {type(error).__name__}: {error}")
        yield failure(check, told, "mend what the message names, or report it as a fault of this command")
