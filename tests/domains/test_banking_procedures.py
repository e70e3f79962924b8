"""Tasks made by the bank's procedures: sound, told apart by split, and playable to the end."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from itertools import pairwise
from random import Random

import pytest

from gym_enterprise import Episode, OraclePlayer, ScriptedUser, load_domain, run_episode
from gym_enterprise.admission import check_task
from gym_enterprise.domains.banking.procedures import (
    FAMILIES,
    courtesy_refund,
    raise_limit,
    replace_card,
    tasks,
)
from gym_enterprise.domains.banking.procedures.people import (
    SPLITS,
    count_of_customers,
    newcomer,
    residents,
    split_of,
)
from gym_enterprise.domains.banking.procedures.records import months_before
from gym_enterprise.errors import UsageError
from gym_enterprise.world import World

BANK = load_domain("banking")


def owner(task):
    return task.meta.knobs["customer"]


def name(task):
    facts = task.user.script.facts
    return facts.get("full_name", facts.get("account_holder")).value


@pytest.mark.parametrize("customers", ["newcomers", "residents"])
@pytest.mark.parametrize("research", [True, False])
def test_the_oracle_solves_every_task_with_the_scripted_customer(customers, research):
    for task in tasks(2, 4 * len(FAMILIES), customers=customers, research=research):
        BANK.admit(task)
        record = run_episode(Episode(BANK, task), OraclePlayer, ScriptedUser)
        end = "terminal_tool" if task.reference[-1].name == "transfer_to_human" else "user_stop"
        assert (record.reward, record.reason) == (1.0, end), task.id


@pytest.mark.slow
@pytest.mark.parametrize("customers", ["newcomers", "residents"])
def test_every_task_passes_admission(customers):
    failed = [
        check
        for task in tasks(3, 2 * len(FAMILIES), customers=customers)
        for check in check_task(BANK, task)
        if not check.ok
    ]
    assert failed == []


def test_families_take_turns_and_ids_are_unique_over_splits_seeds_and_customers():
    first = tasks(1, 2 * len(FAMILIES))
    assert [task.family for task in first] == 2 * list(FAMILIES)
    made = [
        task
        for split in SPLITS
        for customers in ("newcomers", "residents")
        for seed in (1, 2)
        for task in tasks(seed, 36, split=split, customers=customers)
    ]
    assert len({task.id for task in made}) == len(made)


def test_more_tasks_begin_with_the_same_ones():
    assert tasks(5, 30)[:12] == tasks(5, 12)


def test_tasks_are_the_same_in_every_process():
    code = (
        "from gym_enterprise.domains.banking.procedures import tasks; "
        "print([task.hash for who in ('newcomers', 'residents') for task in tasks(4, 36, customers=who)])"
    )
    found = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("customers", ["newcomers", "residents"])
def test_splits_share_no_customer_and_families_give_each_one_task_and_its_twins(customers):
    seen: dict[str, str] = {}
    for split in SPLITS:
        amount = 90 if customers == "newcomers" else 54
        made = tasks(6, amount, split=split, customers=customers)
        for task in made:
            assert task.split == split == split_of(name(task))
            assert seen.setdefault(owner(task), split) == split
        roots = [(task.family, owner(task)) for task in made if task.meta.twin_of is None]
        assert len(set(roots)) == len(roots)


def test_newcomers_are_nobody_in_the_records():
    world = World(BANK.image)
    world.begin(now="2026-03-02T09:30:00", seed=0)
    for task in tasks(7, 40):
        assert world.query("SELECT 1 FROM customers WHERE full_name = ?", name(task)) == []
        assert world.query("SELECT 1 FROM customers WHERE customer_id = ?", owner(task)) == []
    world.close()


def test_residents_are_the_customers_of_the_records_each_in_one_split():
    people = [customer for split in SPLITS for customer in residents(split)]
    world = World(BANK.image)
    world.begin(now="2026-03-02T09:30:00", seed=0)
    ids = [row["customer_id"] for row in world.query("SELECT customer_id FROM customers")]
    assert sorted(customer.id for customer in people) == sorted(ids)
    assert len(ids) == count_of_customers()
    for customer in people:
        query = "SELECT count(*) AS n FROM cards JOIN accounts USING (account_id) WHERE customer_id = ?"
        assert world.one(query, customer.id) == {"n": len(customer.cards)}
    world.close()


@pytest.mark.parametrize(
    "family",
    [
        "unfreeze_card",
        "courtesy_refund",
        "dispute_charge",
        "redeem_points",
        "contact_and_limit",
        "cancel_card",
    ],
)
def test_twins_open_alike_and_one_of_them_is_refused(family):
    made = {task.id: task for task in tasks(8, 12, [family])}
    pairs = [(made[task.meta.twin_of], task) for task in made.values() if task.meta.twin_of]
    assert len(pairs) >= 3
    for root, twin in pairs:
        assert root.user.script.opening == twin.user.script.opening
        ends = {any(action.name == "record_refusal" for action in task.reference) for task in (root, twin)}
        assert ends == {True, False}
        assert root.state != twin.state


def test_twins_differ_in_the_record_and_the_right_end_and_in_no_word():
    made = tasks(8, 20, ["unfreeze_card"])
    for contradicted, allowed in pairwise(made):
        if allowed.meta.twin_of != contradicted.id:
            continue
        assert contradicted.user.script == allowed.user.script
        assert contradicted.reference[-1].name == "record_refusal"
        assert allowed.reference[-1].name == "unfreeze_card"
    assert sum(task.meta.twin_of is not None for task in made) == 10


def test_a_card_of_a_resident_is_frozen_by_the_state_alone():
    task = tasks(8, 1, ["unfreeze_card"], customers="residents")[0]
    (update,) = task.state.update["cards"]
    assert update.set["status"] == "frozen"
    assert not task.state.insert


def test_without_research_the_reference_searches_nothing():
    calls = {action.name for task in tasks(9, 8, research=False) for action in task.reference}
    assert not calls & {"kb_search", "kb_read"}
    assert {"kb_search", "kb_read"} <= {action.name for task in tasks(9, 8) for action in task.reference}


def test_an_unknown_family_is_named():
    with pytest.raises(UsageError, match="no family 'open_account': use some of freeze_card"):
        tasks(1, 1, ["open_account"])


def test_everybody_begins_with_the_residents_and_goes_on_with_newcomers():
    known = len(residents("validation"))
    made = tasks(1, known + 3, ["freeze_card"], split="validation", customers="everybody")
    assert [bool(task.state.insert) for task in made] == [False] * known + [True] * 3


def test_a_month_before_the_last_day_is_the_last_day_of_a_shorter_month():
    # From the document "Days, business days and months".
    assert months_before(date(2026, 3, 31), 1) == date(2026, 2, 28)
    assert months_before(date(2026, 3, 2), 12) == date(2025, 3, 2)
    assert months_before(date(2026, 1, 15), 1) == date(2025, 12, 15)
    assert months_before(date(2024, 3, 30), 1) == date(2024, 2, 29)


@pytest.mark.parametrize(
    ("level", "kind", "fee", "so_far", "back"),
    [
        ("member", "overdraft", 1800, 0, 1800),
        ("member", "overdraft", 1800, 1, 900),
        ("member", "late_payment", 2900, 0, 2500),  # the cap
        ("member", "late_payment", 2900, 1, 1450),  # the cap after the share
        ("steady", "late_payment", 3500, 1, 2500),
        ("keystone", "late_payment", 3500, 2, 3500),
    ],
)
def test_amounts_of_courtesies_are_those_of_the_documents(level, kind, fee, so_far, back):
    customer = newcomer("train", Random(1))
    customer = customer.with_values("customers", customer.id, membership=level)
    assert courtesy_refund.amount(customer, kind, fee, so_far) == back


@pytest.mark.parametrize(
    ("level", "product", "reason", "delivery", "cents"),
    [
        ("member", "everyday", "lost", "standard", 1000),
        ("member", "everyday", "lost", "express", 2800),
        ("keystone", "everyday", "lost", "express", 1000),
        ("member", "premier", "lost", "express", 0),
        ("member", "plus", "lost", "express", 1800),
        ("member", "summit", "lost", "express", 5800),  # "the dearest case" of a bulletin
        ("member", "summit", "stolen", "express", 1800),
        ("member", "meridian", "lost", "express", 1800),
    ],
)
def test_prices_of_new_cards_are_those_of_the_documents(level, product, reason, delivery, cents):
    customer = newcomer("train", Random(1))
    customer = customer.with_values("customers", customer.id, membership=level)
    assert replace_card.price(customer, product, reason, delivery) == cents


def test_a_keystone_ceiling_is_higher_by_half_where_anything_is_raised_at_all():
    customer = newcomer("train", Random(1))
    customer = customer.with_values("customers", customer.id, membership="keystone")
    assert raise_limit.ceiling(customer, "everyday", "purchases") == 450_000  # the example of the document
    assert raise_limit.ceiling(customer, "campus", "purchases") == 80_000


def test_residents_run_out_with_a_message():
    with pytest.raises(UsageError, match="no more customers for freeze_card in 'validation'"):
        tasks(1, 100, ["freeze_card"], split="validation", customers="residents")


def test_values_of_newcomers_keep_the_rules_of_the_records():
    for number in range(200):
        customer = newcomer("test", Random(number))
        digits = [card["last_four"] for card in customer.cards]
        assert len(set(digits)) == len(digits) in (1, 2)
        assert all("2023-01-01" <= card["issued_on"] <= "2025-06-30" for card in customer.cards)
        assert customer.data["joined_on"] <= min(row["opened_on"] for row in customer.rows["accounts"])


def test_who_wants_an_account_closed_does_not_ask_for_the_money_as_a_request_of_its_own():
    closing = [
        task
        for task in tasks(3, 12, ["empty_and_close"])
        if "close_account_5533" in _names(task) or "record_refusal" in _names(task)
    ]
    wishes = {task.user.script.facts["wish"].value for task in closing}
    assert wishes == {"I want it closed for good."}  # a refusal leaves nothing of it to be done


def test_to_dispute_what_a_subscription_shows_is_possible_so_that_only_the_rules_forbid_it():
    refused = [task for task in tasks(3, 40, ["dispute_charge"]) if task.id.endswith("subscription")]
    assert refused
    for task in refused:
        episode = Episode(BANK, task)
        for action in BANK.attacks(task)["obeys_claims"]:
            assert episode.dispatcher.call(action.seat, action.name, action.arguments).ok
        assert episode.grade().reward == 0.0


def _names(task):
    return {action.name for action in task.reference}
