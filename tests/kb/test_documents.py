"""Documents, their files, their words and their snippets."""

import copy
import dataclasses
import pickle
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb import Document, DocumentError, Snippet, load_documents, snippet, tokenize

GOOD = '+++\nid = "card-fees"\ntitle = "Card fees"\n+++\n\n# Fees\n\nA new card is free.\n'


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_becomes_a_document_whose_content_begins_at_its_first_line_with_text(tmp_path: Path) -> None:
    write(tmp_path, "fees.md", GOOD)
    (document,) = load_documents(tmp_path)
    assert document == Document("card-fees", "Card fees", "# Fees\n\nA new card is free.")


def test_documents_come_sorted_by_id_whatever_their_files_are_called(tmp_path: Path) -> None:
    write(tmp_path, "a.md", GOOD.replace("card-fees", "z-last"))
    write(tmp_path, "sub/b.md", GOOD.replace("card-fees", "m-middle"))
    write(tmp_path, "z.md", GOOD.replace("card-fees", "a-first"))
    assert [document.id for document in load_documents(str(tmp_path))] == ["a-first", "m-middle", "z-last"]


def test_other_keys_become_read_only_meta(tmp_path: Path) -> None:
    front = 'id = "x"\ntitle = "X"\ntags = ["a", "b"]\nsince = 2026-01-31\npages = 3\ninternal = true\n'
    write(tmp_path, "x.md", f"+++\n{front}+++\nText\n")
    (document,) = load_documents(tmp_path)
    assert document.meta == {"tags": ("a", "b"), "since": date(2026, 1, 31), "pages": 3, "internal": True}
    with pytest.raises(TypeError):
        document.meta["pages"] = 4  # type: ignore[index]


def test_windows_line_ends_a_byte_order_mark_and_a_later_fence_do_no_harm(tmp_path: Path) -> None:
    text = "\ufeff" + GOOD.replace("\n", "\r\n") + "+++\r\nmore\r\n"
    (tmp_path / "x.md").write_bytes(text.encode())
    assert load_documents(tmp_path)[0].content == "# Fees\n\nA new card is free.\n+++\nmore"


def test_a_folder_without_markdown_is_an_empty_knowledge_base(tmp_path: Path) -> None:
    write(tmp_path, "notes.txt", "not a document")
    assert load_documents(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("# Fees\n", ["line 1", "'# Fees'", "+++"]),
        ("", ["line 1", "''", "+++"]),
        ("\n" + GOOD, ["line 1", "+++"]),
        ('+++\nid = "x"\n', ["never ends", "+++"]),
        ('+++\nid = "x"\ntitle = oops\n+++\nText\n', ["not TOML", "line 3"]),
        ('+++\ntitle = "X"\n+++\nText\n', ["'id'", "missing"]),
        ('+++\nid = "x"\n+++\nText\n', ["'title'", "missing"]),
        ('+++\nid = 7\ntitle = "X"\n+++\nText\n', ["'id'", "7", "must be text"]),
        ('+++\nid = "x"\ntitle = "  "\n+++\nText\n', ["'title'", "not blank"]),
        ('+++\nid = "x"\ntitle = " X"\n+++\nText\n', ["title", "' X'", "one line"]),
        ('+++\nid = "x"\ntitle = "X\\nY"\n+++\nText\n', ["title", "one line"]),
        ('+++\nid = "Card_Fees"\ntitle = "X"\n+++\nText\n', ["'Card_Fees'", "lower-case"]),
        ('+++\nid = "-x"\ntitle = "X"\n+++\nText\n', ["'-x'", "begins with"]),
        ('+++\nid = "x\\n"\ntitle = "X"\n+++\nText\n', [r"'x\n'", "lower-case"]),
        ('+++\nid = "x"\ntitle = "X"\n+++\n \n\n', ["body is empty", "write"]),
        ('+++\nid = "x"\ntitle = "X"\n[a]\nb = 1\n+++\nText\n', ["'a'", "{'b': 1}", "flat list"]),
    ],
)
def test_a_broken_file_is_refused_by_name_with_the_rule(tmp_path: Path, text: str, named: list[str]) -> None:
    path = write(tmp_path, "broken.md", text)
    with pytest.raises(DocumentError) as caught:
        load_documents(tmp_path)
    for part in [str(path), *named]:
        assert part in str(caught.value)


def test_two_files_with_one_id_are_refused_naming_both(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a.md", GOOD), write(tmp_path, "b.md", GOOD)
    with pytest.raises(DocumentError, match="'card-fees' is taken") as caught:
        load_documents(tmp_path)
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes(b'+++\nid = "x"\ntitle = "Geb\xfchren"\n+++\nText\n')
    with pytest.raises(DocumentError, match=r"latin\.md: byte 25 is not UTF-8"):
        load_documents(tmp_path)


def test_a_missing_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="nowhere: no such folder"):
        load_documents(tmp_path / "nowhere")


def test_a_document_is_immutable_and_equal_by_value() -> None:
    tags = ["a"]
    document = Document("x", "X", "text", {"tags": tags})
    tags.append("b")
    assert document == Document("x", "X", "text", {"tags": ("a",)})
    assert document != Document("x", "X", "text")
    with pytest.raises(dataclasses.FrozenInstanceError):
        document.title = "Y"  # type: ignore[misc]


def test_a_document_can_be_pickled_copied_and_hashed() -> None:
    document = Document("x", "X", "text", {"tags": ["a"]})
    assert pickle.loads(pickle.dumps(document)) == copy.deepcopy(document) == document
    assert len({document, copy.copy(document)}) == 1


@pytest.mark.parametrize(
    "arguments", [("", "X", "t"), (" ", "X", "t"), (1, "X", "t"), ("x", None, "t"), ("x", "X", b"t")]
)
def test_a_document_needs_an_id_and_text(arguments: tuple[str, str, str]) -> None:
    with pytest.raises(DocumentError):
        Document(*arguments)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" -- $!? ", []),
        ("Fee: 12.50", ["fee", "12", "50"]),
        ("call block_card_4471 now", ["call", "block_card_4471", "now"]),
        ("fee FEE Fee", ["fee", "fee", "fee"]),
        # Unicode: full case folding of sharp s, fullwidth letters, a composed and a decomposed e with acute.
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ＦＥＥ", ["fee"]),
        ("Café Cafe\u0301", ["caf\u00e9", "caf\u00e9"]),
        ("日本 手数料", ["日本", "手数料"]),
    ],
)
def test_words_are_folded_runs_of_word_characters(text: str, words: list[str]) -> None:
    assert tokenize(text) == words


@given(st.text())
def test_words_are_their_own_words(text: str) -> None:
    assert tokenize(" ".join(tokenize(text))) == tokenize(text)


CARDS = Document(
    "cards",
    "Replacing cards",
    "# Cards\n\nA new card is free.\n\n"
    "## Replacement\n\nA replacement card costs 10 dollars.\nIt takes 5 days.",
)


def test_a_snippet_is_the_line_with_most_distinct_query_words_and_the_one_after_it() -> None:
    # "replacement" is on lines 5 and 7, "costs" on line 7 only.
    assert snippet(CARDS, "replacement costs") == Snippet(
        7, "A replacement card costs 10 dollars.\nIt takes 5 days."
    )


def test_repeats_of_a_word_count_once_in_a_snippet() -> None:
    document = Document("x", "X", "card card card card\na card lost")
    assert snippet(document, "lost card card", lines=1) == Snippet(2, "a card lost")


def test_of_equal_lines_the_snippet_begins_with_the_first_and_a_heading_brings_what_it_heads() -> None:
    assert snippet(CARDS, "replacement") == Snippet(
        5, "## Replacement\n\nA replacement card costs 10 dollars."
    )


def test_a_snippet_for_words_of_the_title_only_is_the_beginning_of_the_text() -> None:
    assert snippet(CARDS, "replacing", lines=1) == snippet(CARDS, "", lines=1) == Snippet(1, "# Cards")


def test_a_snippet_longer_than_the_document_ends_with_it() -> None:
    assert snippet(CARDS, "days", lines=9) == Snippet(8, "It takes 5 days.")


@pytest.mark.parametrize("content", ["", " \n "])
def test_a_document_without_text_has_an_empty_snippet(content: str) -> None:
    assert snippet(Document("x", "X", content), "card") == Snippet(1, "")


def test_a_snippet_of_no_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="lines is 0"):
        snippet(CARDS, "card", lines=0)


def test_a_snippet_uses_the_words_of_the_given_tokenizer() -> None:
    document = Document("x", "X", "card. lost\ncard lost")
    assert snippet(document, "card lost", lines=1, tokenize=str.split).line == 2


@given(content=st.text(alphabet="ab \n"), query=st.text(alphabet="ab "), lines=st.integers(1, 4))
def test_a_snippet_stands_in_the_content_at_the_line_it_names(content: str, query: str, lines: int) -> None:
    found = snippet(Document("x", "X", content), query, lines=lines)
    shown = found.text.split("\n")
    if content.strip():
        assert content.split("\n")[found.line - 1 :][: len(shown)] == shown
        assert 1 <= sum(bool(line.strip()) for line in shown) <= lines
