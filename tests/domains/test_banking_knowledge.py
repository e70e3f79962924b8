"""The bank's facts and documents: complete, in agreement with each other and with the bank's code."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

import kb
from gym_enterprise.domains.banking.knowledge import FACTS, KNOWLEDGE
from gym_enterprise.domains.banking.procedures import FAMILIES
from gym_enterprise.domains.banking.products import PRODUCTS
from gym_enterprise.domains.banking.tools.transfers import DIRECT_LIMIT
from tests.domains.bank_desk import BANK

TEXTS = {document.id: " ".join(document.content.split()) for document in KNOWLEDGE}


@pytest.mark.parametrize("rule", kb.checks.RULES)
def test_the_knowledge_base_passes_each_check(rule):
    assert list(kb.checks.RULES[rule](KNOWLEDGE)) == []


def test_there_are_enough_products_documents_and_revisions():
    assert len(FACTS.names("products")) >= 20
    assert len(KNOWLEDGE.documents) >= 80
    assert sum(len(fact.revisions) > 1 for fact in FACTS.values()) >= 6
    assert sum("superseded_by" in document.meta for document in KNOWLEDGE) >= 4


@pytest.mark.parametrize(
    ("document", "text"),
    [
        # What a customer would be told, worked out by hand from the price lists.
        ("delivery-of-cards", "| express | 2 business days | $18.00 |"),
        ("late-payment-fees", "a full courtesy for a Harbor fee is $25.00, half of it is $14.50."),
        ("membership-levels", "A ceiling of $3,000.00 becomes $4,500.00."),
        (
            "membership-levels",
            "first *two* courtesies within the window are given in full. There is no third.",
        ),
        (
            "dispute-time-limits",
            "posted on 2026-01-05 can be disputed until 2026-03-06, which is 60 days later.",
        ),
        (
            "overdraft-fees",
            "More than two overdraft fees on one account on one day: the third and every further",
        ),
        ("bulletin-2025-07-courtesies", "From 2025-07-01 until 2026-01-14 the following was in force."),
        ("bulletin-2025-07-courtesies", "second one half of it, and every further one a quarter."),
        (
            "redeeming-points",
            "Of 2,740 points that is five blocks: 2,500 points for $20.00, and 240 points remain.",
        ),
        ("bulletin-2026-02-points", "Until 2026-01-31 it was $5.00."),
        ("giving-notice", "the 60-day notice ends on 2026-05-03, with the 90-day notice on 2026-06-02."),
        ("interest-rates", "**2.20 %**, in months without a withdrawal **3.50 %**"),
    ],
)
def test_documents_say_what_the_facts_come_to(document, text):
    assert text in TEXTS[document]


def test_products_have_the_constants_that_the_records_were_made_with():
    assert {key: (p.purchase_limit, p.cash_limit, p.fees) for key, p in PRODUCTS.items()}.items() >= {
        "everyday": (150_000, 50_000, (("overdraft", 1_800),)),
        "plus": (300_000, 80_000, (("overdraft", 1_200), ("monthly", 700))),
        "premier": (600_000, 150_000, (("monthly", 2_200),)),
        "reserve": (0, 0, ()),
        "harbor": (250_000, 30_000, (("late_payment", 2_900),)),
        "summit": (500_000, 50_000, (("late_payment", 3_500),)),
    }.items()
    assert "cushion" not in PRODUCTS  # a service, which has no account
    assert DIRECT_LIMIT == 100_000
    assert "1,000.00 dollars" in BANK.toolset("agent").get("transfer_between_accounts").description


def test_dated_rules_changed_on_the_days_that_the_bulletins_name():
    window = FACTS["courtesy.window"]
    assert [window.at(date(2026, 1, day)).value for day in (14, 15)] == [6, 12]
    express = FACTS["fees.delivery.express"]
    assert [express.at(day).value for day in (date(2025, 10, 31), date(2025, 11, 1))] == [1_500, 1_800]


def test_the_index_finds_the_documents_that_justify_a_rule():
    assert {one.document for one in KNOWLEDGE.stated_in("rules.cards.unfreeze")} == {
        "freezing-a-card",
        "questions-about-cards",
    }
    (price,) = [
        one for one in KNOWLEDGE.stated_in("fees.replacement.lost") if one.document == "card-replacement-fees"
    ]
    (document,) = [document for document in KNOWLEDGE if document.id == "card-replacement-fees"]
    assert document.content.split("\n")[price.line - 1] == "| lost | $10.00 |"


def test_what_the_procedures_search_for_is_found():
    for family in FAMILIES.values():
        for query, document in family.__globals__["DOCUMENTS"].items():
            assert document in [hit.document_id for hit in BANK.retriever.search(query, 5)], query


def test_openings_do_not_find_everything_at_once():
    """No task is solved by its first search, but for the shortest ones, which two documents settle."""
    tasks = [task for split in BANK.tasks.values() for task in split.values() if len(task.documents) > 2]
    assert len(tasks) > 100
    found = [
        {hit.document_id for hit in BANK.retriever.search(task.user.script.opening, 5)} >= set(task.documents)
        for task in tasks
    ]
    assert sum(found) == 0


def test_documents_differ_in_shape():
    """No two documents have the same headings, but for those that have none."""
    headings = [tuple(re.findall(r"^#+ .*", document.content, re.MULTILINE)) for document in KNOWLEDGE]
    shaped = [heading for heading in headings if len(heading) > 1]
    assert len(set(shaped)) == len(shaped) > 40


def test_loading_again_gives_the_same():
    again = kb.load_knowledge_base(Path(kb.__file__).parent / "banking")
    assert again.documents == KNOWLEDGE.documents == BANK.documents
    assert again.citations == KNOWLEDGE.citations
