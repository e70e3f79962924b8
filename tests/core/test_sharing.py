"""Many episodes on one domain, in turn and in threads: report B031, and what is kept in memory."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import random
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from gym_enterprise import Episode, load_domain, run_episode
from tests.core.conversation import CANCEL, call, opened, play, say, stop
from tests.shop import make_domain, task

SHOP = load_domain("shop")

THREADS, EPISODES = 8, 50


def batch(domain_seed: int) -> list[str]:
    """What one worker's episodes look like from the outside, to the last byte."""
    domain = load_domain("shop")
    draw = random.Random(domain_seed)
    tasks = list(domain.tasks["train"].values())
    it = Episode(domain, tasks[0])
    seen = []
    for number in range(EPISODES):
        # A task of its own now and then, so that targets are built while others grade.
        own = task(f"own-{domain_seed}-{number}", seed=number)
        played = own if number % 3 == 0 else draw.choice(tasks)
        it.reset(played)
        record = run_episode(it, "oracle", "scripted", seed=domain_seed, trial=number, audit=number % 5 == 0)
        it.reset(played)
        play(it, ("user", say("x")), ("agent", call("issue_credit", account_id="A1", amount=number)))
        play(it, ("agent", call("kb_search", query=draw.choice(["refund", "rate", "today"]))))
        fork = it.fork()
        play(fork, ("agent", CANCEL), ("agent", stop()))
        seen.append(repr((record.to_dict(), it.observe("agent"), fork.grade().to_dict(), it.world.changes())))
    return seen


def test_b031_threads_sharing_one_domain_get_what_serial_runs_get() -> None:
    serial = [batch(number) for number in range(THREADS)]
    load_domain("shop").grader._targets.clear()
    with ThreadPoolExecutor(THREADS) as pool:
        threaded = list(pool.map(batch, range(THREADS)))
    assert threaded == serial
    assert {reward for lines in serial for line in lines for reward in [line.split("'reward': ")[1][:3]]} == {
        "1.0"
    }


def test_b031_one_episode_does_not_see_what_another_does() -> None:
    one, two = opened(), opened()
    one.act("agent", CANCEL)
    two.act("agent", call("get_order", order_id="O1"))
    assert two.observe("agent")["messages"][-1].result["result"]["status"] == "open"
    assert one.observe("agent")["messages"] != two.observe("agent")["messages"]
    three = opened()
    assert len(three.world.changes()) == 0
    assert one.faults is not two.faults


def test_splits_read_by_many_threads_at_once_are_read_once() -> None:
    domain = make_domain(tasks={"train": (task(f"t{number}") for number in range(30))})
    start, found = threading.Barrier(THREADS), []

    def read() -> None:
        start.wait()
        found.append(domain.tasks["train"])

    workers = [threading.Thread(target=read) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len({id(tasks) for tasks in found}) == 1
    assert len(found[0]) == 30


def test_an_episode_that_is_let_go_is_freed_with_its_world() -> None:
    it = play(opened(), ("agent", CANCEL))
    fork = it.fork()
    watched: list[weakref.ref[object]] = [weakref.ref(it), weakref.ref(it.world), weakref.ref(fork.world)]
    del it, fork
    gc.collect()
    assert [one() for one in watched] == [None, None, None]


def test_resetting_keeps_nothing_of_earlier_episodes() -> None:
    it = opened()
    first = weakref.ref(it.dispatcher)
    for _ in range(3):
        it.reset()
    gc.collect()
    assert first() is None


def test_what_a_player_is_handed_cannot_be_changed_for_others() -> None:
    """B031: parameters of a tool, facts of a scenario and a task's own dicts are shared by all episodes."""
    played = SHOP.tasks["train"]["confirm"]
    view = played.view("user")
    assert view.scenario is not None
    assert view.scenario.script is not None
    for change in (
        lambda: view.tools[0].parameters["properties"].clear(),
        lambda: view.tools[0].parameters["required"].append("x"),
        lambda: view.scenario.script.facts.pop("code"),
        lambda: played.reference[0].arguments.update(name="other"),
        lambda: played.meta.knobs.setdefault("writes", 9),
        lambda: played.state.insert.update(log=[]),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()


def test_a_read_only_schema_is_json_equal_to_plain_and_copied_by_to_dict() -> None:
    spec = SHOP.tasks["train"]["confirm"].view("user").tools[0]
    plain = json.loads(json.dumps(spec.parameters))
    assert spec.parameters == plain
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec
    mine = spec.to_dict()
    mine["function"]["parameters"]["properties"].clear()
    assert spec.parameters == plain
