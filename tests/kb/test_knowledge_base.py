"""Documents compiled from facts, the index of what they state, and the checks of both."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kb import Citation, DocumentError, KnowledgeBase, check_knowledge_base, load_knowledge_base

FACTS = """
lost = { money = 10.00 }
wait = { days = 7, since = 2026-01-15, before = [{ days = 3, since = 2025-07-01 }] }
first = { rule = "Whoever comes first is served first." }
"""
GOOD = {
    "fees": (
        'title = "Fees"',
        "A lost card costs {{ fees.lost }}.\nWait {{ fees.wait | words }}. See {{ doc order }}.",
    ),
    "order": ('title = "Order of service"', "Nobody is preferred. {{ cite fees.first }}"),
    "old-wait": (
        'title = "Waiting until {{ fees.wait @ 2025-07-01 | until | year }}"\nstatus = "superseded"\n'
        'superseded_by = "fees"',
        "**Superseded by {{ doc fees }}.**\n\nThe wait is {{ fees.wait @ 2025-07-01 }}.",
    ),
}


def base(folder: Path, facts: str = FACTS, **documents: tuple[str, str]) -> KnowledgeBase:
    """Load a knowledge base of the good documents, some of them replaced or added."""
    (folder / "facts").mkdir(exist_ok=True)
    (folder / "facts" / "fees.toml").write_text(facts)
    for name, (front, body) in {**GOOD, **documents}.items():
        identifier = name.replace("_", "-")
        (folder / f"{identifier}.md").write_text(f'+++\nid = "{identifier}"\n{front}\n+++\n\n{body}\n')
    return load_knowledge_base(folder)


def found(folder: Path, facts: str = FACTS, **documents: tuple[str, str]) -> list[tuple[str, str]]:
    return [(one.rule, one.place) for one in check_knowledge_base(base(folder, facts, **documents))]


def test_placeholders_become_values_and_titles(tmp_path: Path) -> None:
    knowledge = base(tmp_path)
    texts = {document.id: (document.title, document.content) for document in knowledge}
    assert texts == {
        "fees": ("Fees", "A lost card costs $10.00.\nWait seven days. See *Order of service*."),
        "order": ("Order of service", "Nobody is preferred."),
        "old-wait": ("Waiting until 2026", "**Superseded by *Fees*.**\n\nThe wait is 3 days."),
    }


def test_the_index_says_which_line_states_what(tmp_path: Path) -> None:
    knowledge = base(tmp_path)
    day = date(2025, 7, 1)
    assert knowledge.stated_in("fees.wait") == (
        Citation("fees.wait", "fees", 2, "seven days", None, ("words",)),
        Citation("fees.wait", "old-wait", 0, "2026", day, ("until", "year")),
        Citation("fees.wait", "old-wait", 3, "3 days", day),
    )
    assert knowledge.cited_by("order") == (Citation("fees.first", "order", 1, ""),)
    assert knowledge.cited_by("nowhere") == ()


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    knowledge = base(tmp_path)
    for source, document in zip(knowledge.sources, knowledge.documents, strict=True):
        assert source.content.count("\n") == document.content.count("\n")
    for one in knowledge.citations:
        if one.line:
            (document,) = [document for document in knowledge if document.id == one.document]
            assert one.text in document.content.split("\n")[one.line - 1]


def test_a_folder_without_facts_or_placeholders_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text('+++\nid = "a"\ntitle = "A"\n+++\nText with { braces }.\n')
    knowledge = load_knowledge_base(tmp_path)
    assert knowledge.documents == knowledge.sources
    assert knowledge.citations == ()


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("x\n{{ fees.none }}", ["fees.md, line 2", "'fees.none'", "fees.lost"]),
        ("{{fees.lost}}", ["line 1", "no placeholder"]),
        ("costs {{ fees.lost", ["no placeholder"]),
        ("costs }} more", ["no placeholder"]),
        ("{{ fees.lost | loud }}", ["no format 'loud'", "fees.lost"]),
        ("{{ fees.lost |words }}", ["'fees.lost |words'", "key | format"]),
        ("{{ fees }}", ["'fees'", "key | format"]),
        ("{{ doc none }}", ["'none'", "not there"]),
        ("{{ fees.wait @ 2025-02-30 }}", ["'2025-02-30'"]),
        ("{{ fees.wait @ 2024-01-01 }}", ["fees.wait begins on 2025-07-01"]),
        ("{{ fees.first }}", ["kind rule", "cite"]),
        ("Text.\n{{ cite fees.first }}", ["line 2", "says nothing"]),
        ("Text. {{ cite fees.first | words }}", ["'fees.first | words'", "keys of facts"]),
        ("Text. {{ cite fees.first,fees.lost }}", ["comma and a blank"]),
    ],
)
def test_a_placeholder_that_is_none_is_refused_by_document_and_line(
    tmp_path: Path, body: str, named: list[str]
) -> None:
    with pytest.raises(DocumentError) as caught:
        base(tmp_path, fees=('title = "Fees"', body))
    for part in named:
        assert part in str(caught.value)


def test_a_sound_knowledge_base_passes_every_check(tmp_path: Path) -> None:
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("It is $12.00.", 1),
        ("It takes\ntwo business days.", 2),
        ("Wait one\nmonth.", 1),
        ("| a | 5 |", 1),
        ("In `3 days`.", 1),  # backticks excuse names, not amounts
        ("1. The 2. item", 1),
    ],
)
def test_a_number_that_no_fact_gives_is_found(tmp_path: Path, text: str, line: int) -> None:
    assert found(tmp_path, more=('title = "More"', text)) == [("bare-number", f"more:{line}")]


def test_a_number_in_a_title_and_in_the_words_of_a_rule_is_found(tmp_path: Path) -> None:
    more = ('title = "Rules of 2025"', "They are good.")
    facts = FACTS + 'second = { rule = "Two are a crowd." }\n'
    order = ('title = "Order of service"', "Nobody is preferred. {{ cite fees.first, fees.second }}")
    assert found(tmp_path, facts, more=more, order=order) == [
        ("bare-number", "more:0"),
        ("bare-number", "fees.second"),
    ]


def test_items_names_and_phrases_that_count_the_page_need_no_fact(tmp_path: Path) -> None:
    front = 'title = "More"\nuncounted = ["in two ways"]'
    text = "Ask `tool_4417` in two\nways:\n\n1. kindly\n2. again"
    assert found(tmp_path, more=(front, text)) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Wait {{ fees.wait }} days.", [1]),  # 7 days days
        ("Wait {{ fees.wait @ 2025-07-01 | until }}.\nIt was {{ fees.wait @ 2025-07-01 }}\n  days.", [2]),
        ("It costs {{ fees.lost }} dollars.", [1]),  # $10.00 dollars
        ("Wait {{ fees.wait }} and a day.", []),
        ("Wait {{ fees.wait | number }} days, {{ fees.wait | words }} daily.", []),
    ],
)
def test_a_unit_that_the_sentence_says_again_is_found(tmp_path: Path, text: str, lines: list[int]) -> None:
    places = found(tmp_path, more=('title = "More"', text))
    assert places == [("doubled-unit", f"more:{line}") for line in lines]


def test_an_exception_that_excuses_nothing_is_found(tmp_path: Path) -> None:
    for phrase in ("in three ways", "kindly"):
        front = f'title = "More"\nuncounted = ["{phrase}"]'
        assert found(tmp_path, more=(front, "Ask kindly.")) == [("needless-exception", "more")]


def test_a_fact_that_no_current_document_states_is_found(tmp_path: Path) -> None:
    silent = ('title = "Fees"', "See {{ doc order }}.")
    assert found(tmp_path, fees=silent) == [
        ("unstated-fact", "fees.lost"),
        ("unstated-fact", "fees.wait"),
    ]


def test_an_earlier_value_that_nobody_states_is_found(tmp_path: Path) -> None:
    silent = (GOOD["old-wait"][0], "**Superseded by {{ doc fees }}.**\n\nThe wait was shorter.")
    assert found(tmp_path, **{"old-wait": silent}) == [("unstated-fact", "fees.wait")]


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        ("Wait {{ fees.wait @ 2025-07-01 }}.", True),
        ("Wait {{ fees.wait @ 2025-07-01 }}.\n\nThat was until {{ fees.wait @ 2025-07-01 | until }}.", True),
        ("Wait {{ fees.wait @ 2025-07-01 }}, until {{ fees.wait @ 2025-07-01 | until }}.", False),
        ("Wait {{ fees.wait @ 2025-07-01 }}; since\n{{ fees.wait | since }} it is longer.", False),
        ("Since {{ fees.wait @ 2025-07-01 | since }} one has to wait.", False),
        ("Wait {{ fees.wait @ 2026-01-15 }}.", False),
    ],
)
def test_a_current_document_gives_an_earlier_value_only_with_its_end(
    tmp_path: Path, text: str, stale: bool
) -> None:
    assert found(tmp_path, more=('title = "More"', text)) == [("stale-value", "more:1")] * stale


@pytest.mark.parametrize(
    ("front", "text"),
    [
        ('status = "superseded"', "**Superseded by {{ doc fees }}.**"),
        ('superseded_by = "fees"', "**Superseded by {{ doc fees }}.**"),
        ('status = "old"\nsuperseded_by = "fees"', "**Superseded by {{ doc fees }}.**"),
        ('status = "superseded"\nsuperseded_by = "none"', "**Superseded by {{ doc fees }}.**"),
        ('status = "superseded"\nsuperseded_by = "more"', "**Superseded by {{ doc fees }}.**"),
        ('status = "superseded"\nsuperseded_by = "fees"', "Replaced by {{ doc fees }}."),
        ('status = "superseded"\nsuperseded_by = "fees"', "**Superseded.**\n\nSee {{ doc fees }}."),
        ('supersedes = "order"', "New."),
        ('supersedes = "none"', "New."),
    ],
)
def test_a_replaced_document_says_by_what_and_both_agree(tmp_path: Path, front: str, text: str) -> None:
    places = found(tmp_path, more=(f'title = "More"\n{front}', text))
    assert ("superseded", "more") in places
    assert {rule for rule, _ in places} == {"superseded"}


def test_the_successor_may_name_what_it_supersedes(tmp_path: Path) -> None:
    assert found(tmp_path, fees=('title = "Fees"\nsupersedes = "old-wait"', GOOD["fees"][1])) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("See *Order of\nservice*.", False),
        ("See *Order of things*.", True),
        ("Read **Order of things** and *order of things*.", False),
        ("See {{ doc old-wait }}.", True),
        ("This replaces {{ doc old-wait }}.", False),
    ],
)
def test_a_title_in_italics_is_that_of_a_document_in_force(tmp_path: Path, text: str, wrong: bool) -> None:
    assert found(tmp_path, more=('title = "More"', text)) == [("reference", "more:1")] * wrong
