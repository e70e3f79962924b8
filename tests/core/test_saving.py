"""Snapshots, forks, pickles, resets, and the same bytes everywhere (docs/concepts.md, "Determinism")."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gym_enterprise import (
    Episode,
    OutOfTurn,
    SnapshotError,
    UsageError,
    World,
    WorldError,
    WorldImage,
    load_domain,
    replay_reference,
)
from gym_enterprise.messages import Seat
from tests.core.conversation import CANCEL, call, episode, heard, opened, play, say, stop
from tests.shop import make_domain, task

BOTH: tuple[Seat, Seat] = ("agent", "user")
SHOP = load_domain("shop")

# -- saving and restoring ---------------------------------------------------------------------------------


def middle(domain: Any = SHOP) -> Episode:
    """An episode under way: rows changed, a tool unlocked and one given, text held, an error made."""
    it = Episode(domain, domain.tasks["train"]["confirm"], max_steps=40, truncation_reward="zero")
    return play(
        it,
        ("user", say("hello")),
        ("agent", call("unlock_tool", name="expedite_order_77")),
        ("agent", call("give_tool", name="rate_order_5")),
        ("agent", call("issue_credit", "Crediting.", account_id="A1", amount=1.5)),
        ("agent", call("nothing")),
    )


def next_observations(it: Episode) -> Any:
    """What both sides see after some more of the same."""
    play(
        it,
        ("agent", call("expedite_order_77", order_id="O2")),
        ("agent", call("issue_credit", account_id="A1", amount=1.5)),
        ("agent", say("Please rate.")),
        ("user", call("rate_order_5", order_id="O1", stars=4)),
        ("user", say("done")),
    )
    grade = it.grade(audit=True).to_dict()
    return it.observe("agent"), it.observe("user"), it.world.changes().to_list(), grade, it.max_steps


EXPECTED = repr(next_observations(middle()))


def in_worker(it: Episode) -> bytes:
    """Play on in another process."""
    return pickle.dumps((it.observe("agent"), next_observations(it)))


def test_a_restored_episode_goes_on_as_the_saved_one() -> None:
    saved = middle()
    snapshot = pickle.loads(pickle.dumps(saved.snapshot()))
    other = Episode(SHOP, saved.task, max_steps=40, truncation_reward="zero")
    play(other, ("user", say("something else")), ("agent", CANCEL))
    other.restore(snapshot)
    assert other.observe("agent") == saved.observe("agent")
    assert other.observe("user") == saved.observe("user")
    assert repr(next_observations(other)) == EXPECTED
    assert repr(next_observations(saved)) == EXPECTED


def test_a_snapshot_can_be_restored_many_times_and_is_not_changed_by_play() -> None:
    it = middle()
    snapshot = it.snapshot()
    before, changes = copy.deepcopy(snapshot), it.world.changes()
    for _ in range(3):
        next_observations(it)
        it.restore(snapshot)
        assert it.snapshot().dialogue == before.dialogue
        assert it.world.changes() == changes
        assert snapshot == before


def test_a_snapshot_of_a_finished_episode_is_finished() -> None:
    it = play(opened(), ("agent", CANCEL), ("agent", stop("Bye.")))
    snapshot = it.snapshot()
    it.reset()
    it.restore(snapshot)
    assert (it.done, it.reason, it.grade().reward) == (True, "agent_stop", 1.0)


def test_a_snapshot_is_small() -> None:
    assert len(pickle.dumps(middle().snapshot())) < 6_000


def test_a_fork_goes_on_alone() -> None:
    it = middle()
    fork = it.fork()
    before = it.observe("agent"), it.world.changes().to_list()
    assert repr(next_observations(fork)) == EXPECTED
    assert (it.observe("agent"), it.world.changes().to_list()) == before
    assert repr(next_observations(it)) == EXPECTED


def test_a_fork_into_a_used_episode_takes_all_of_this_one() -> None:
    it = middle()
    slot = play(
        Episode(SHOP, SHOP.tasks["train"]["cancel"], max_steps=2), ("user", say("x")), ("agent", CANCEL)
    )
    assert it.fork(into=slot) is slot
    assert slot.task is it.task
    assert repr(next_observations(slot)) == EXPECTED


def test_a_fork_into_itself_or_another_domain_is_refused() -> None:
    it = middle()
    for other in (it, episode(domain=make_domain())):
        with pytest.raises(SnapshotError, match="another episode of the same domain"):
            it.fork(into=other)


def test_pickle_and_deepcopy_restore_the_same_point() -> None:
    for again in (pickle.loads(pickle.dumps(middle())), copy.deepcopy(middle()), copy.copy(middle())):
        assert repr(next_observations(again)) == EXPECTED
    assert pickle.loads(pickle.dumps(middle())).task is SHOP.tasks["train"]["confirm"]


def test_a_new_episode_and_one_of_a_task_outside_the_domain_survive_pickling() -> None:
    new = Episode(SHOP, SHOP.tasks["train"]["cancel"])
    assert pickle.loads(pickle.dumps(new)).observe("user") == new.observe("user")
    outside = play(Episode(SHOP, task("outside", seed=99)), ("user", say("x")), ("agent", CANCEL))
    again = pickle.loads(pickle.dumps(outside))
    assert again.observe("agent") == outside.observe("agent")
    assert again.grade().reward == 1.0


def test_pickling_an_episode_reads_no_split_but_its_own() -> None:
    domain = make_domain(tasks={"test": [task("broken", domain="bank")], "train": [task("a")]})
    domain.rebuild = (load_domain, ("shop",))
    it = Episode(domain, domain.tasks["train"]["a"])
    assert copy.deepcopy(it).observe("user") == it.observe("user")


def test_a_spawned_process_goes_on_with_the_same_observations() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        seen, ended = pickle.loads(pool.submit(in_worker, middle()).result(timeout=60))
    assert seen == middle().observe("agent")
    assert repr(ended) == EXPECTED


def test_a_snapshot_of_another_task_or_image_is_refused_and_nothing_changed() -> None:
    it, snapshot = middle(), middle().snapshot()
    other = play(Episode(SHOP, SHOP.tasks["train"]["cancel"]), ("user", say("x")), ("agent", CANCEL))
    before = other.snapshot()
    with pytest.raises(SnapshotError, match="another image or task than 'cancel'"):
        other.restore(snapshot)
    assert other.snapshot() == before
    assert it.grade()


def test_a_damaged_snapshot_is_refused_and_leaves_the_episode_at_its_start() -> None:
    saved = middle()
    wrong = dataclasses.replace(saved.snapshot(), changeset=b"not a changeset")
    with pytest.raises(SnapshotError):
        saved.restore(wrong)
    fresh = Episode(SHOP, saved.task)
    assert saved.observe("agent") == fresh.observe("agent")
    assert len(saved.world.changes()) == 0
    assert saved.dispatcher.unlocked == ()


def test_a_world_of_another_image_is_refused() -> None:
    other = World(WorldImage.build("CREATE TABLE pets (id TEXT PRIMARY KEY) STRICT"))
    with pytest.raises(UsageError, match="opened on another image than that of domain 'shop'"):
        episode(world=other)


# -- reset and determinism --------------------------------------------------------------------------------


def test_b033_after_reset_nothing_of_the_first_episode_is_left() -> None:
    it = middle()
    it.act("agent", call("kb_search", query="refund"))
    it.reset()
    fresh = Episode(SHOP, it.task)
    for seat in BOTH:
        assert it.observe(seat) == fresh.observe(seat)
    assert (it.step, it.errors, it.faults, it.transcript, it.reason) == (0, 0, {}, (), "")
    assert it.snapshot() == fresh.snapshot()
    assert it.dispatcher.tools("agent") == fresh.dispatcher.tools("agent")
    it.act("user", say("hello"))
    assert heard(it, "agent") == ["user: hello"]


def test_reset_to_another_task_is_that_task_in_the_same_world() -> None:
    it = middle()
    world = it.world
    it.reset(SHOP.tasks["train"]["cancel"])
    assert it.world is world
    assert "Please cancel an order" in it.observe("user")["messages"][0].content
    replay_reference(it)
    assert it.grade(audit=True).reward == 1.0


SCRIPT = """
import json, random, sys
from tests.core.test_saving import middle, next_observations
agent, user, changes, grade, _ = next_observations(middle())
texts = [[m.to_dict() for m in seen["messages"]] for seen in (agent, user)]
sys.stdout.write(json.dumps([texts, changes, grade]))
"""


def test_b006_other_processes_and_hash_seeds_see_the_same_bytes() -> None:
    outputs = set()
    for seed in ("0", "1", "12345"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            timeout=60,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1
    assert b"cr_" in outputs.pop()


def test_b006_a_rejected_create_consumes_no_id() -> None:
    plain = play(opened(), ("agent", call("issue_credit", account_id="A1", amount=5)))
    after = play(
        opened(),
        ("agent", call("issue_credit", account_id="nobody", amount=5)),
        ("agent", call("issue_credit", account_id="A1", amount=5.001)),
        ("agent", call("issue_credit", account_id="A1", amount=5)),
    )
    assert plain.world.changes() == after.world.changes()


def test_b032_the_process_wide_generators_are_not_touched() -> None:
    states = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    next_observations(middle())
    assert (random.getstate(), np.random.get_state()[1].tolist()) == states  # type: ignore[index]


def test_closing_twice_is_fine_and_a_closed_episode_says_so() -> None:
    it = Episode(SHOP, SHOP.tasks["train"]["cancel"])
    it.close()
    it.close()
    for use in (it.reset, it.grade, it.snapshot):
        with pytest.raises(WorldError, match="closed"):
            use()


def test_restore_takes_snapshots_only() -> None:
    with pytest.raises(SnapshotError, match="int"):
        Episode(SHOP, SHOP.tasks["train"]["cancel"]).restore(5)  # type: ignore[arg-type]


def test_a_closed_episode_takes_no_action() -> None:
    it = Episode(SHOP, SHOP.tasks["train"]["cancel"])
    it.close()
    with pytest.raises(OutOfTurn, match="closed"):
        it.act("user", say("hello"))
