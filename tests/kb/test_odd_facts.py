"""Values and documents that a careless author writes: each is refused by name, or found by a check."""

from __future__ import annotations

from pathlib import Path

import pytest

from kb import (
    BM25Retriever,
    Document,
    DocumentError,
    FactError,
    HybridRetriever,
    check_knowledge_base,
    load_knowledge_base,
    make_retriever,
)
from kb.fact_files import load_facts
from kb.numbers import numbers_in


def facts(folder: Path, text: str | bytes) -> dict[str, object]:
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "fees.toml").write_bytes(data)
    return {key: fact.value for key, fact in load_facts(folder).items()}


@pytest.mark.parametrize(
    "value",
    [
        *("money = nan", "money = inf", "money = 1e400", "money = 1e999999999", "percent = nan"),
        *("percent = inf", "percent = 1e99", "count = 9999999999999999", f"count = {'9' * 5000}"),
        *('share = "٣/٤"', "time = 08:00:30", "money = 1, since = 0001-01-01, before = [{ money = 2 }]"),
    ],
)
def test_a_number_that_cannot_be_written_out_is_refused_with_its_file(value: str, tmp_path: Path) -> None:
    with pytest.raises(FactError, match=r"fees\.toml"):
        facts(tmp_path, f"x = {{ {value} }}")


def test_a_derived_day_after_the_end_of_the_calendar_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FactError, match=r"fees\.late"):
        facts(tmp_path, 'd = { days = 5 }\ny = { date = 9999-12-31 }\nlate = { derived = "fees.y + fees.d" }')


def test_facts_are_read_with_a_byte_order_mark_as_documents_are(tmp_path: Path) -> None:
    assert facts(tmp_path, b"\xef\xbb\xbfx = { money = 1 }\r\n") == {"fees.x": 100}


@pytest.mark.parametrize(
    "text", ["½ day", "within a fortnight", "a couple of days", "10²", "a hundredth", "billion", "Ⅳ"]
)
def test_numbers_are_found_in_signs_and_rare_words(text: str) -> None:
    assert list(numbers_in(text))


def base(folder: Path, **documents: str) -> list[tuple[str, str]]:
    (folder / "facts").mkdir()
    (folder / "facts" / "fees.toml").write_text("x = { money = 1 }")
    for name, text in documents.items():
        (folder / f"{name}.md").write_text(f'+++\nid = "{name}"\n{text}\n')
    return [(one.rule, one.place) for one in check_knowledge_base(load_knowledge_base(folder))]


def test_documents_that_replace_each_other_in_a_circle_are_found(tmp_path: Path) -> None:
    old = (
        'title = "{0}"\nstatus = "superseded"\nsuperseded_by = "{1}"\n+++\n**Superseded: {{{{ doc {1} }}}}.**'
    )
    found = base(tmp_path, a=old.format("A", "b"), b=old.format("B", "a"), c='title = "C"\n+++\n{{ fees.x }}')
    assert found == [("superseded", "a"), ("superseded", "b")]


def test_two_documents_of_one_title_are_found(tmp_path: Path) -> None:
    found = base(tmp_path, a='title = "Same"\n+++\n{{ fees.x }}', b='title = "Same"\n+++\nText.')
    assert found == [("reference", "b:0")]


@pytest.mark.parametrize("value", ['"three"', "[3]", "true"])
def test_exceptions_that_are_no_list_of_texts_are_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="uncounted"):
        base(tmp_path, a=f'title = "A"\nuncounted = {value}\n+++\nthree, {{{{ fees.x }}}}')


def test_a_retrieval_of_another_type_than_text_is_named() -> None:
    with pytest.raises(ValueError, match="choose one of bm25"):
        make_retriever(["bm25"], [])  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [1.5, True])
def test_a_depth_that_is_no_whole_number_is_refused(depth: float) -> None:
    with pytest.raises(TypeError):
        HybridRetriever([BM25Retriever([Document("a", "A", "a")])], depth=depth)  # type: ignore[arg-type]
