"""Players by "module:NAME", and what the log says of one that fails."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from gym_enterprise import UsageError, run_episode
from simulators import ContentError, FatalError, Synchronous, TransientError
from tests.core.conversation import episode

MODULE = '''
"""Players of a user of this package."""

from functools import partial

from simulators import OraclePlayer, ScriptedUser


class Silent:
    def act(self, observation):
        return {"type": "stop"}


class NoPlayer:
    pass


def customer(view, seed):
    return ScriptedUser(view, seed)


clerk = partial(OraclePlayer)
clerk.sees_task = True
silent = Silent()
nothing = None
'''


@pytest.fixture
def players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in a folder that can be imported from."""
    (tmp_path / "players_of_mine.py").write_text(MODULE)
    (tmp_path / "players_in_need.py").write_text("import a_package_that_is_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "players_of_mine"


def test_a_class_a_function_and_an_instance_of_a_module_are_players(players: str) -> None:
    assert run_episode(episode(), f"{players}:clerk", f"{players}:customer").reward == 1.0
    record = run_episode(episode(), f"{players}:silent", "simulators.scripted:ScriptedUser")
    assert (record.reward, record.reason) == (0.0, "agent_stop")


def test_an_environment_takes_them_too(players: str) -> None:
    env = gymnasium.make("Banking-v0", user=f"{players}:customer", disable_env_checker=True)
    observation, _ = env.reset(seed=7)
    same, _ = gymnasium.make("Banking-v0", disable_env_checker=True).reset(seed=7)
    assert observation["messages"] == same["messages"]
    with pytest.raises(UsageError, match="holds no 'nobody'"):
        gymnasium.make("Banking-v0", user=f"{players}:nobody", disable_env_checker=True)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("no_such_module:Agent", "agent player 'no_such_module:Agent': there is no module 'no_such_module'"),
        ("players_of_mine.more:Agent", "there is no module 'players_of_mine.more'"),
        ("oracle:fast", "there is no module 'oracle'"),
        ("players_of_mine:Absent", "the module 'players_of_mine' holds no 'Absent'"),
        ("players_of_mine:nothing", "holds no 'nothing'"),
        ("players_of_mine:NoPlayer", "NoPlayer'>, which is none: name a class"),
        ("players_of_mine:__doc__", "which is none: name a class"),
        (
            "players_of_mine:Silent.act",
            "there is no agent player 'players_of_mine:Silent.act'; by name: 'orac",
        ),
        ("players_of_mine:", "there is no agent player 'players_of_mine:'"),
        (":Silent", "there is no agent player ':Silent'"),
        (".players_of_mine:Silent", "there is no agent player"),
        ("./players_of_mine.py:Silent", "there is no agent player"),
    ],
)
def test_what_a_module_does_not_hold_is_refused_with_what_is_wrong(
    players: str, spec: str, words: str
) -> None:
    it = episode()
    with pytest.raises(UsageError, match=words):
        run_episode(it, spec, "scripted")
    assert it.step == 0


def test_a_package_that_the_module_itself_needs_is_named_by_python(players: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_installed"):
        run_episode(episode(), "players_in_need:Agent", "scripted")


# -- the log ----------------------------------------------------------------------------------------------


class Fails(Synchronous):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def act(self, observation: Any) -> Any:
        raise self._error


@pytest.mark.parametrize("error", [TransientError, FatalError, ContentError])
def test_what_an_engine_says_of_its_failure_is_one_line_without_a_traceback(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="gym_enterprise"):
        run_episode(episode(), Fails(error("POST http://h/v1 broke off")), "scripted")
    (line,) = caplog.records
    assert line.exc_info is None
    assert line.getMessage() == (
        f"the agent player failed in task t: {error.__name__}: POST http://h/v1 broke off"
    )


def test_what_nobody_expected_has_a_traceback_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="gym_enterprise"):
        run_episode(episode(), Fails(KeyError("x")), "scripted")
    (line,) = caplog.records
    assert line.exc_info is not None
    assert line.exc_info[0] is KeyError
