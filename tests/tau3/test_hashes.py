"""The published states: initial and final hash of each task, from the table of the specification."""

from __future__ import annotations

import pytest

from gym_enterprise import replay_reference
from gym_enterprise.domains.tau3_banking import canonical_hash
from tests.tau3.public_data import fresh, needs_data, tasks

pytestmark = needs_data

BASE = "af324a7d72"
HASHES = """
002 af324a7d72 a1ecff00f7   005 af324a7d72 afeaae8ea9   010 af324a7d72 d34ce8cd01
012 af324a7d72 af324a7d72   016 af324a7d72 4224ac4a83   017 af324a7d72 5b79aebf02
018 af324a7d72 a02e372b5a   019 af324a7d72 063b8d0ec7   020 af324a7d72 6772e6316d
021 af324a7d72 52f9283220   023 af324a7d72 4c7ebeb42b   025 af324a7d72 8b7541b9e9
026 8cc675f848 d69ca14837   027 de21cccda8 e6920367dc   029 de21cccda8 be8ece273d
031 af324a7d72 d5c2ff6116   032 af324a7d72 4bc4909557   033 af324a7d72 70f729baf1
034 af324a7d72 e13e6fa49e   036 af324a7d72 7b836417fd   037 af324a7d72 5724e7acba
038 af324a7d72 077597a064   039 af324a7d72 50cedbe99d   040 b2a99526ce bee47fe8cb
041 9ff1ed94a8 654285dcf9   044 af324a7d72 86a13f480c   046 132ff8f1c2 1a6cce53ec
047 af324a7d72 e21018ce3b   048 af324a7d72 b94a0cf1ed   049 af324a7d72 cdef7f2c08
050 af324a7d72 1883a2c64e   051 6d0eee7044 077fed21ef   052 8ce3cdc347 9ee7697c4a
053 af324a7d72 e15eaf3b69   055 af324a7d72 826f4cf6fd   057 af324a7d72 7d417803c0
058 af324a7d72 3cf9bc8d7c   059 af324a7d72 e1d4fb4259   061 af324a7d72 fedb12b277
063 af324a7d72 4b3d0f442f   064 af324a7d72 5a83d2411c   065 af324a7d72 b8370ab839
066 af324a7d72 789561824c   069 af324a7d72 dddf6f8eb9   070 af324a7d72 918b6f0cd0
072 af324a7d72 cc450e76fd   074 af324a7d72 73376465f5   075 af324a7d72 0b8ed08855
076 af324a7d72 4d91413040   079 a26b13c33d d4984a97f7   081 0a268c188d ca4c8d3520
082 7d03dbf9a6 c9756605a8   083 b0690a31a3 f60f28fc4b   084 5f00853c23 c2c924dc84
085 e881e63861 8b5f563f87   088 3272b3d107 59d8593408   089 0821e69ebd 16904c56f1
090 a6f8b33616 fc6087d8a0   091 19e89e4112 ac10c8a831   093 eedd6a7412 8b5e5d55eb
094 71ab2dad59 8098e9643f   095 c96111e7dd b9b879be80   097 029627bfbb a635bb9a6c
099 c4a3066e33 a7490bd7ad   102 40cde8d149 61d1a00184
"""
"""Task, first ten digits of the initial hash, and of the hash after the reference; as published."""

_WORDS = HASHES.split()
PUBLISHED = list(zip(_WORDS[0::3], _WORDS[1::3], _WORDS[2::3], strict=True))

REFUSED_CALLS = {
    "task_051": {17: "already_exists"},  # the last limit request has the id of the one before
    "task_083": dict.fromkeys(range(6, 10), "invalid_arguments"),  # four disputes without the liability
}
"""The only calls of references that are refused, by their place."""


def test_there_are_sixty_five_published_states() -> None:
    assert len(PUBLISHED) == 65


@pytest.mark.parametrize(("task", "initial", "final"), PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_a_task_starts_and_ends_in_the_published_states(task: str, initial: str, final: str) -> None:
    task_id = f"task_{task}"
    if task_id not in tasks():
        pytest.skip(f"{task_id} is not in this folder")
    played = fresh(tasks()[task_id])
    assert canonical_hash(played.world)[:10] == initial
    refused = {}
    for index, action in enumerate(played.task.reference):
        outcome = played.dispatcher.call(action.seat, action.name, action.arguments).to_dict()
        if not outcome["ok"]:
            refused[index] = outcome["error"]["code"]
    assert canonical_hash(played.world)[:10] == final
    assert refused == REFUSED_CALLS.get(task_id, {})
    assert played.dispatcher.unlocked == played.dispatcher.given == ()


def test_the_untouched_database_has_the_published_hash() -> None:
    published = "af324a7d72aced5889daf6cc044e573ad94ffa3bfe7cf65114fd3cfed5daaa48"
    assert canonical_hash(fresh(tasks()["task_002"]).world) == published


@pytest.mark.parametrize("task", [row[0] for row in PUBLISHED])
def test_both_graders_find_the_target_and_only_a_published_change_is_one(task: str) -> None:
    played = fresh(tasks()[f"task_{task}"])
    unchanged = {row[0] for row in PUBLISHED if row[1] == row[2]}
    assert played.grade(audit=True).checks["db"] == (task in unchanged)
    replay_reference(played)
    assert played.grade(audit=True).checks["db"]
