"""The bank as a whole: records, documents and tasks keep what they promise, and to each other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

import gym_enterprise.domains.banking as banking
from gym_enterprise import Episode, OraclePlayer, ScriptedUser, load_domain, run_episode
from gym_enterprise.admission import check_task
from gym_enterprise.domains.banking.knowledge import FACTS
from gym_enterprise.domains.banking.procedures import FAMILIES as PROCEDURES
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.tasks import parse_task
from gym_enterprise.tools import dollars
from gym_enterprise.world import World

BANK = load_domain("banking")
TASKS = [task for split in BANK.tasks.values() for task in split.values()]
DOCUMENTS = {document.id: document for document in BANK.documents}
FAMILIES = {"verify_then_change", "two_documents", "contradicted_claim", "confirm_in_app"}
WRITTEN = [task for task in TASKS if task.family in FAMILIES]
MADE = [task for task in TASKS if task.family not in FAMILIES]

each_task = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
each_task_in_play = pytest.mark.parametrize(
    "task",
    [*WRITTEN, *(pytest.param(task, marks=pytest.mark.slow) for task in MADE)],
    ids=lambda task: task.id,
)
each_document = pytest.mark.parametrize("document", BANK.documents, ids=lambda document: document.id)


@pytest.fixture(scope="module")
def world():
    opened = World(BANK.image)
    opened.begin(now="2026-03-02T00:00:00", seed=0)
    yield opened
    opened.close()


def count(world, sql):
    return world.one(f"SELECT count(*) AS n FROM {sql}")["n"]


# -- records ----------------------------------------------------------------------------------------------


def test_there_are_enough_customers_and_transactions(world):
    # Enough that finding the right one takes a search: at least 200 and 5,000 (issue 6).
    assert count(world, "customers") >= 200
    assert count(world, "transactions") >= 5000


def test_every_product_and_every_newer_table_has_rows(world):
    held = {row["product"] for row in world.query("SELECT DISTINCT product FROM accounts")}
    assert held == set(PRODUCTS)
    for table in ("points", "due_days", "withdrawal_notices"):
        assert count(world, table) >= 20, table


def test_some_customers_share_a_name_and_some_a_phone(world):
    for column in ("search_name", "phone_digits"):
        shared = f"(SELECT 1 FROM customers GROUP BY {column} HAVING count(*) > 1)"
        assert count(world, shared) >= 2


def test_many_customers_have_several_cards_so_that_the_right_one_must_be_found(world):
    several = (
        "(SELECT 1 FROM cards JOIN accounts USING (account_id) GROUP BY customer_id HAVING count(*) > 1)"
    )
    assert count(world, several) >= 30


def test_equal_purchases_on_one_account_are_not_rare(world):
    twins = (
        "(SELECT 1 FROM transactions WHERE kind = 'purchase' GROUP BY account_id, description, amount_cents"
    )
    assert count(world, f"{twins} HAVING count(*) > 1)") >= 50


def test_some_cards_of_one_account_differ_in_the_order_of_two_digits_only(world):
    pairs = world.query(
        "SELECT a.last_four AS one, b.last_four AS other FROM cards AS a JOIN cards AS b "
        "ON a.account_id = b.account_id AND a.card_id < b.card_id"
    )
    assert sum(sorted(row["one"]) == sorted(row["other"]) for row in pairs) >= 10


def test_no_record_is_as_young_as_the_earliest_task(world):
    earliest = min(task.now for task in TASKS)[:10]
    for name, table in BANK.image.tables.items():
        for column in table.columns:
            if column.endswith("_on") and column != "expires_on":  # pays_on: of notices that have ended
                youngest = world.one(f'SELECT max("{column}") AS day FROM "{name}"')["day"]
                assert youngest is None or youngest < min(earliest, "2026-03-01"), (name, column)


def test_new_cards_start_with_the_limits_of_their_product(world):
    rows = world.query(
        "SELECT product, purchase_limit_cents, cash_limit_cents FROM cards JOIN accounts USING (account_id)"
    )
    for row in rows:
        product = PRODUCTS[row["product"]]
        assert (row["purchase_limit_cents"], row["cash_limit_cents"]) == (
            product.purchase_limit,
            product.cash_limit,
        )


def test_the_image_is_the_same_in_every_process():
    code = "from gym_enterprise.domains.banking import make_image; print(make_image().digest)"
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == BANK.image.digest


def test_only_traces_and_own_words_are_ungraded():
    tables = BANK.image.tables
    whole = {name for name, table in tables.items() if not table.graded}
    parts = {f"{name}.{c}" for name, t in tables.items() if t.graded for c in t.columns if c not in t.graded}
    assert whole == {"verifications", "contact_log", "app_sessions"}
    # The two derived columns follow from graded ones.
    assert parts == {"handoffs.summary", "customers.search_name", "customers.phone_digits"}


# -- tools ------------------------------------------------------------------------------------------------


def test_there_are_enough_tools_of_each_kind():
    tools = {
        (seat, hidden): [tool.name for tool in BANK.toolset(seat) if tool.discoverable == hidden]
        for seat in ("agent", "user")
        for hidden in (False, True)
    }
    assert len(tools["agent", False]) >= 12
    assert len(tools["agent", True]) >= 12
    assert len(tools["user", False]) + len(tools["user", True]) == 4
    assert min(len(names) for names in tools.values()) >= 2


def test_names_of_hidden_tools_stand_in_documents_and_nowhere_else():
    told = BANK.policy + json.dumps(
        [spec.to_dict() for seat in ("agent", "user") for spec in BANK.toolset(seat).listed]
    )
    hidden = [tool.name for seat in ("agent", "user") for tool in BANK.toolset(seat) if tool.discoverable]
    for name in hidden:
        assert name not in told
        assert any(f"`{name}`" in document.content for document in BANK.documents), name


def test_the_page_of_the_environment_counts_right(world):
    page = banking.__doc__ or ""
    rows = {name: count(world, name) for name in ("customers", "accounts", "cards")}
    assert f"{len(BANK.image.tables)} tables; " in page
    assert "{customers} customers, {accounts} accounts, {cards} cards".format(**rows) in page
    assert count(world, "transactions") > 8400
    assert f"| {len(BANK.documents)}, in `kb/banking`" in page
    for seat, owner in (("agent", "Agent"), ("user", "Customer")):
        hidden = [tool.discoverable for tool in BANK.toolset(seat)]
        told = re.search(rf"{owner}'s tools +\| (\d+) listed, (\d+) discoverable", page)
        assert told is not None
        assert [int(number) for number in told.groups()] == [hidden.count(False), hidden.count(True)]
    sizes = ", ".join(f"{len(tasks)} {split}" for split, tasks in BANK.tasks.items())
    families = len({task.family for task in TASKS})
    assert f"{len(TASKS)} in {families} families: {sizes}" in page


# -- documents --------------------------------------------------------------------------------------------


def test_there_are_enough_documents():
    # Enough that the right ones must be searched for, and of several kinds.
    assert len(BANK.documents) >= 80
    kinds = Counter(document.meta["kind"] for document in BANK.documents)
    assert min(kinds.values()) >= 3
    assert len(kinds) >= 6


@each_document
def test_a_document_is_neither_a_stub_nor_a_book(document):
    assert 80 <= len(document.content.split()) <= 450


@each_document
def test_a_document_refers_to_documents_that_exist(document):
    text = " ".join(document.content.split())
    titles = {other.title for other in BANK.documents}
    for emphasised in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text):
        assert emphasised in titles


@each_document
def test_a_document_names_only_tools_and_words_that_exist(document):
    tools = {tool.name for seat in ("agent", "user") for tool in BANK.toolset(seat)}
    schemas = json.dumps([tool.parameters for seat in ("agent", "user") for tool in BANK.toolset(seat)])
    schema = (Path(banking.__file__).parent / "schema.sql").read_text()
    records = {*re.findall(r"'(\w+)'", schema), *re.findall(r"^    (\w+) [A-Z]", schema, re.MULTILINE)}
    for name in re.findall(r"`([^`]+)`", document.content):
        assert name in tools or name in records or f'"{name}"' in schemas, name


def test_a_superseded_document_says_so_and_names_its_successor():
    old = [document for document in BANK.documents if document.meta.get("status") == "superseded"]
    assert old
    for document in old:
        successor = DOCUMENTS[document.meta["superseded_by"]]
        assert document.content.startswith("**Superseded")
        assert successor.title in document.content.split("\n\n")[0].replace("\n", " ")


def test_limits_and_fees_in_documents_are_those_of_the_records():
    sheets = {d.meta["product"]: d for d in BANK.documents if "product" in d.meta}
    assert set(sheets) == set(FACTS.names("products")) > set(PRODUCTS)
    table = DOCUMENTS["daily-limits"].content
    for key, product in PRODUCTS.items():
        for amount in (product.purchase_limit, product.cash_limit):
            if amount:
                text = f"${int(dollars(amount)[:-3]):,}.00"
                assert text in sheets[key].content
                assert text in next(
                    line for line in table.split("\n") if line.startswith(f"| {product.name}")
                )
        for _, fee in product.fees:
            assert f"${dollars(fee)}" in sheets[key].content


# -- tasks ------------------------------------------------------------------------------------------------


def test_each_split_has_each_family():
    assert len(WRITTEN) == 16
    assert len(MADE) >= 60
    for tasks in BANK.tasks.values():
        assert {task.family for task in tasks.values()} == FAMILIES | set(PROCEDURES)


def test_tasks_are_long_enough():
    lengths = [len(task.reference) for task in MADE]
    assert sum(lengths) / len(lengths) >= 6
    assert sum(length >= 12 for length in lengths) >= 5


def test_splits_share_no_family_product_and_customer():
    triples = {
        split: {t for task in tasks.values() for t in triples_of(task)} for split, tasks in BANK.tasks.items()
    }
    assert all(len(found) >= 20 for found in triples.values())
    for one, other in combinations(triples.values(), 2):
        assert not one & other


def triples_of(task):
    """Family, product and customer of each account that a task's calls are about, or of no product."""
    episode = Episode(BANK, task)
    owners = (
        "SELECT product, customer_id FROM accounts WHERE account_id = ?1 UNION ALL "
        "SELECT product, customer_id FROM accounts JOIN cards USING (account_id) WHERE card_id = ?1 "
        "UNION ALL "
        "SELECT product, customer_id FROM accounts JOIN transactions USING (account_id) "
        "WHERE transaction_id = ?1 UNION ALL "
        "SELECT NULL, customer_id FROM customers WHERE customer_id = ?1"
    )
    named = {
        value for action in task.reference for value in action.arguments.values() if isinstance(value, str)
    }
    for value in sorted(named):
        for row in episode.world.query(owners, value):
            yield task.family, row["product"], row["customer_id"]


def test_the_made_tasks_are_what_the_program_makes():
    folder = Path(banking.__file__).parent / "tasks" / "made"
    for split in BANK.tasks:
        lines = (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        made = BANK.make_tasks(7, len(lines), split=split)
        assert [parse_task(line).hash for line in lines] == [task.hash for task in made]


def test_enough_tasks_raise_a_second_request_late():
    assert sum(bool(task.user.script.later) for task in WRITTEN) >= 4


def test_enough_tasks_need_amounts_and_have_rows_that_could_be_mistaken():
    assert sum(task.meta.knobs["numbers"] > 0 for task in WRITTEN) >= 4
    assert sum(task.meta.knobs["siblings"] > 0 for task in WRITTEN) > len(WRITTEN) / 2


def test_twins_open_alike_and_end_differently():
    twins = [task for task in TASKS if task.meta.twin_of]
    assert len(twins) >= 2
    for task in twins:
        other = BANK.task(task.meta.twin_of)
        assert task.user.script.opening == other.user.script.opening
        assert task.split == other.split
        (mine,), (theirs,) = BANK.grader.targets(task), BANK.grader.targets(other)
        assert mine != theirs


def test_a_claim_that_the_records_contradict_ends_in_a_recorded_refusal():
    contradicted = [task for task in TASKS if task.meta.knobs.get("contradicted")]
    assert {task.family for task in contradicted if task in WRITTEN} == {"contradicted_claim"}
    for task in contradicted:
        assert "record_refusal" in [action.name for action in task.reference]
        assert task.user.script.pushback


def test_a_user_side_task_needs_the_user_and_some_a_tool_that_is_given():
    tasks = [task for task in TASKS if task.family == "confirm_in_app"]
    assert all(any(action.seat == "user" for action in task.reference) for task in tasks)
    assert sum(any(action.name == "give_tool" for action in task.reference) for task in tasks) >= 1


@each_task
def test_the_documents_of_a_task_are_found_by_the_searches_of_its_reference(task):
    found: set[str] = set()
    read = []
    for action in task.reference:
        if action.name == "kb_search":
            found |= {
                hit.document_id
                for hit in BANK.retriever.search(action.arguments["query"], action.arguments["k"])
            }
        elif action.name == "kb_read":
            read.append(action.arguments["document_id"])
    assert set(read) <= found
    assert tuple(dict.fromkeys(read)) == task.documents


@each_task
def test_a_hidden_tool_is_unlocked_after_a_document_that_names_it_was_read(task):
    text = ""
    for action in task.reference:
        if action.name == "kb_read":
            text += DOCUMENTS[action.arguments["document_id"]].content
        if action.name in ("unlock_tool", "give_tool"):
            assert f"`{action.arguments['name']}`" in text


@each_task_in_play
def test_the_oracle_succeeds_with_the_scripted_customer_in_any_wording(task):
    end = "terminal_tool" if task.reference[-1].name == "transfer_to_human" else "user_stop"
    for seed in range(1, 6):
        record = run_episode(Episode(BANK, task), OraclePlayer, ScriptedUser, seed=seed)
        assert (record.reward, record.reason) == (1.0, end)


@each_task_in_play
def test_a_task_passes_admission(task):
    assert [check for check in check_task(BANK, task) if not check.ok] == []


def test_each_attack_of_the_bank_applies_somewhere():
    applicable = {
        name: sum(BANK.attacks(t)[name] is not None for t in TASKS) for name in BANK.attacks(TASKS[0])
    }
    named = ("first_search_hit", "obeys_claims", "stale_rule", "no_verification", "look_alike")
    assert min(applicable[name] for name in named) >= 5, applicable
    assert min(applicable.values()) >= 3, applicable


@each_task
def test_granting_a_claim_is_possible_so_that_only_the_rules_forbid_it(task):
    granted = BANK.attacks(task)["obeys_claims"]
    episode = Episode(BANK, task)
    for action in granted or ():
        assert episode.dispatcher.call(action.seat, action.name, action.arguments).ok
