"""A customer's scenario in words, for a model that plays it."""

from __future__ import annotations

from typing import Any


def scenario_text(scenario: Any) -> str:
    """Write a scenario as the description of a part.

    Args:
        scenario: `persona`, `instructions` and `script` of a task's user.

    Returns:
        Paragraphs; what the scenario leaves out is left out.
    """
    paragraphs = [scenario.persona, scenario.instructions]
    script = scenario.script
    if script is not None:
        paragraphs += [
            f"You begin with this, or the same in other words: {script.opening}",
            _listed("What you know:", [f"{_name(key)}: {fact.value}" for key, fact in script.facts.items()]),
            _listed("What you want:", [want.say for want in script.wants]),
            _listed("What you bring up later, one at a time:", [want.say for want in script.later]),
            _listed("What you say if you are refused, once each:", [line.say for line in script.pushback]),
            _listed("What you say when offered what you do not want:", [no.say for no in script.declines]),
            _listed(
                "What you must have heard before you agree:",
                [f"{want.say} ({_alternatives(want.consent)})" for want in script.wants if want.consent],
            ),
            _listed(
                "What you say once you have agreed, as you changed your mind:",
                [c.say for c in script.changes],
            ),
            f"Until you are asked precisely, you only say: {script.vague.say}" if script.vague else "",
        ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _listed(title: str, lines: list[str]) -> str:
    lines = [f"- {line}" for line in lines if line]
    return "\n".join([title, *lines]) if lines else ""


def _alternatives(phrases: tuple[str, ...]) -> str:
    return " or ".join("an amount of money" if phrase == "$" else phrase for phrase in phrases)


def _name(key: str) -> str:
    return key.replace("_", " ")
