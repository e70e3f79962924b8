"""The customer agrees to what it wants, not to its being left undone or done to something else."""

from __future__ import annotations

import pytest

from gym_enterprise import Episode, ScriptedUser, load_domain
from gym_enterprise.domains.banking.procedures import tasks

BANK = load_domain("banking")


def answer(proposal):
    (task,) = tasks(5, 1, ["freeze_card"], research=False)
    episode, user = Episode(BANK, task), ScriptedUser(BANK.view(task, "user"), 0)
    episode.act("user", user.act(episode.observe("user")))
    episode.act("agent", {"type": "message", "content": proposal})
    return user.act(episode.observe("user"))["content"]


@pytest.mark.parametrize(
    "proposal",
    [
        "I will not freeze it, is that fine?",
        "I won't freeze your card, okay?",
        "Shall I not freeze the card?",
        "I'd rather not freeze it. Do you agree?",
        "Is it okay if I don't freeze your card?",
        "Shall I freeze all of your cards?",
        "Shall I freeze your other card?",
    ],
)
def test_leaving_it_undone_or_doing_it_to_others_gets_no_yes(proposal):
    said = answer(proposal)
    assert said.startswith("No")
    assert "freeze the card ending in" in said


@pytest.mark.parametrize(
    "proposal",
    [
        "Shall I freeze the card?",
        "I do not want to freeze the wrong one. Shall I freeze the card that was taken?",
        "I will not charge you for it. May I freeze the card now?",
    ],
)
def test_a_negation_about_something_else_changes_nothing(proposal):
    assert answer(proposal).startswith("Yes")
