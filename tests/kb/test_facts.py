"""Facts: what a TOML file may say, what it means, and how it is written out."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from kb import Fact, FactError, Facts, Revision
from kb.fact_files import load_facts
from kb.formats import rendered
from kb.numbers import numbers_in, ordinal, spelled

FEES = """
[card]
new = { money = 12.5 }
window = { months = 12, since = 2026-01-15, before = [{ months = 6, since = 2025-07-01 }] }
"""


def facts_of(tmp_path: Path, text: str, name: str = "fees") -> Facts:
    (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    return load_facts(tmp_path)


def test_a_key_is_the_file_then_the_tables_then_the_entry(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, FEES)
    assert list(facts) == ["fees.card.new", "fees.card.window"]
    assert facts.names("") == ("fees",)
    assert facts.names("fees") == ("card",)
    assert facts.names("fees.card") == ("new", "window")
    assert facts["fees.card.new"].source == "fees.toml"


def test_each_kind_has_a_value_of_its_own(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        """
        money = { money = 12.5 }
        rate = { percent = 3.10 }
        wait = { days = 7 }
        window = { months = 12 }
        number = { count = 3 }
        part = { share = "1/2" }
        start = { date = 2026-01-15 }
        name = { text = "Harbor Card" }
        needed = { flag = false }
        opens = { time = 08:00:00 }
        """,
    )
    assert facts.money("fees.money") == 1250
    assert str(facts.percent("fees.rate")) == "3.10"  # exact, and as many decimals as were written
    assert facts.days("fees.wait") == facts.period("fees.wait", "days") == 7
    assert facts.months("fees.window") == 12
    assert facts.count("fees.number") == 3
    assert facts.share("fees.part") == Fraction(1, 2)
    assert facts.day("fees.start") == date(2026, 1, 15)
    assert facts.text("fees.name") == "Harbor Card"
    assert facts.flag("fees.needed") is False
    assert facts["fees.opens"].value == time(8)


def test_a_fact_asked_for_as_another_kind_is_refused_with_its_file(tmp_path: Path) -> None:
    with pytest.raises(FactError, match=r"fees\.toml: fees\.card\.window is of kind months, not days"):
        facts_of(tmp_path, FEES).days("fees.card.window")


def test_an_unknown_key_is_refused_with_its_neighbours() -> None:
    facts = Facts([Fact("fees.card.new", "money", (Revision(1250),))])
    with pytest.raises(FactError, match=r"no fact 'fees\.card\.old'; there are fees\.card\.new"):
        facts["fees.card.old"]
    assert "fees.card.old" not in facts


def test_a_value_holds_from_its_first_day_to_the_day_before_the_next(tmp_path: Path) -> None:
    window = facts_of(tmp_path, FEES)["fees.card.window"]
    assert window.revisions == (
        Revision(6, date(2025, 7, 1), date(2026, 1, 14)),
        Revision(12, date(2026, 1, 15), None),
    )
    assert window.value == 12
    assert [window.at(date(*day)).value for day in [(2025, 7, 1), (2026, 1, 14), (2026, 1, 15)]] == [6, 6, 12]
    assert window.at(None).value == 12
    with pytest.raises(FactError, match=r"fees\.card\.window begins on 2025-07-01"):
        window.at(date(2025, 6, 30))


def test_a_derived_fact_is_computed_from_the_left_and_exactly(tmp_path: Path) -> None:
    facts = facts_of(
        tmp_path,
        """
        ceiling = { money = 3000 }
        plus = { share = "1/2" }
        tax = { percent = 2.5 }
        wait = { days = 60 }
        start = { date = 2026-01-05 }
        raised = { derived = "fees.ceiling * fees.plus + fees.ceiling" }
        taxed = { derived = "fees.raised * fees.tax" }
        ends = { derived = "fees.start + fees.wait" }
        both = { derived = "fees.tax + fees.tax" }
        """,
    )
    assert facts.money("fees.raised") == 450_000  # half of 3,000 more
    assert facts.money("fees.taxed") == 11_250  # 2.5 % of 4,500
    assert facts.day("fees.ends") == date(2026, 3, 6)  # 26 days of January, 28 of February, 6 of March
    assert facts.percent("fees.both") == Decimal("5.0")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("card = 12", ["fees.card is 12", "table with a kind"]),
        ("card = { }", ["fees.card is {}", "table with a kind"]),
        ("card = { money = 1, days = 2 }", ["'money', 'days'", "one kind of"]),
        ("card = { money = 1, per = 2 }", ["'per'", "before, note, since"]),
        ("card = { note = 'x' }", ["no kind"]),
        ("Card = { money = 1 }", ["'Card'", "lower-case"]),
        ("card = { money = 1.005 }", ["money = 1.005", "two decimals"]),
        ("card = { money = -1 }", ["money = -1", "0 or more"]),
        ("card = { money = '1' }", ["money = '1'", "dollars"]),
        ("card = { days = 1.5 }", ["days = 1.5", "whole number"]),
        ("card = { count = true }", ["count = True", "whole number"]),
        ("card = { percent = '2 %' }", ["percent = '2 %'", "as in 2.5"]),
        ("card = { share = '1/0' }", ["share = '1/0'", "fraction"]),
        ("card = { share = 0.5 }", ["share = 0.5", "fraction"]),
        ("card = { date = 2026-01-15T00:00:00 }", ["date =", "a day"]),
        ("card = { time = '08:00' }", ["time = '08:00'", "time of day"]),
        ("card = { text = ' x' }", ["text = ' x'", "one line"]),
        ("card = { rule = '' }", ["rule = ''", "exact words"]),
        ("card = { flag = 'yes' }", ["flag = 'yes'", "true or false"]),
        ("card = { days = 1, note = 2 }", ["note 2", "text"]),
        ("card = { days = 1, since = '2026' }", ["since = '2026'", "write a day"]),
        ("card = { days = 1, before = [{ days = 2 }] }", ["from None to None", "`since`"]),
        ("card = { days = 1, since = 2026-01-01, before = { days = 2 } }", ["before =", "list of tables"]),
        (
            "card = { days = 1, since = 2026-01-01, before = [{ weeks = 2 }] }",
            ["kind days", "keeps its kind"],
        ),
        (
            "card = { days = 1, since = 2026-01-01, before = [{ days = 2, since = 2026-01-01 }] }",
            ["from 2026-01-01 to 2026-01-01", "oldest value first"],
        ),
        ("card = { derived = 'fees.none * fees.none' }", ["'fees.none'", "not there yet"]),
        ("a = { days = 1 }\ncard = { derived = 'fees.a' }", ["key * key"]),
        ("a = { days = 1 }\ncard = { derived = 'fees.a + fees.a', days = 3 }", ["no other entry"]),
        ("a = { days = 1 }\nb = { money = 1 }\ncard = { derived = 'fees.a + fees.b' }", ["days + money"]),
        (
            "a = { money = 0.01 }\nb = { share = '1/2' }\ncard = { derived = 'fees.a * fees.b' }",
            ["whole cents"],
        ),
        ("a = { text = 'x' }\nb = { count = 2 }\ncard = { derived = 'fees.a * fees.b' }", ["text * count"]),
        ("x = 1 2", ["not TOML", "line 1"]),
    ],
)
def test_a_broken_entry_is_refused_by_file_and_key_with_the_rule(
    tmp_path: Path, text: str, named: list[str]
) -> None:
    with pytest.raises(FactError) as caught:
        facts_of(tmp_path, text)
    for part in [str(tmp_path / "fees.toml"), *named]:
        assert part in str(caught.value)


def test_a_file_whose_name_cannot_begin_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FactError, match=r"Card-Fees\.toml: the name of a file begins its keys"):
        facts_of(tmp_path, FEES, "Card-Fees")


def test_a_folder_that_is_not_there_holds_no_facts(tmp_path: Path) -> None:
    assert len(load_facts(tmp_path / "none")) == 0


def fact(kind: str, value: object) -> Fact:
    return Fact("a.b", kind, (Revision(value, date(2026, 2, 1)),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "value", "formats", "text"),
    [
        ("money", 150_000, [], "$1,500.00"),
        ("money", 5, [], "$0.05"),
        ("money", 150_000, ["whole"], "$1,500"),
        ("money", 0, ["none"], "none"),
        ("money", 0, ["free"], "free"),
        ("money", 1_800, ["free"], "$18.00"),
        ("percent", Decimal("3.10"), [], "3.10 %"),
        ("percent", Decimal(0), ["none"], "none"),
        ("percent", Decimal("2.5"), ["number"], "2.5"),
        ("days", 60, [], "60 days"),
        ("days", 1, [], "1 day"),
        ("days", 90, ["hyphen"], "90-day"),
        ("business_days", 2, ["words"], "two business days"),
        ("business_days", 2, ["hyphen"], "2-business-day"),
        ("years", 18, ["number"], "18"),
        ("months", 12, ["words", "capital"], "Twelve months"),
        ("count", 1_000, [], "1,000"),
        ("count", 3, ["words"], "three"),
        ("count", 3, ["ordinal"], "third"),
        ("count", 3, ["next"], "fourth"),
        ("share", Fraction(1, 2), [], "half"),
        ("share", Fraction(1, 4), [], "a quarter"),
        ("date", date(2026, 1, 5), [], "2026-01-05"),
        ("date", date(2026, 1, 5), ["long"], "5 January 2026"),
        ("date", date(2026, 1, 5), ["month"], "January 2026"),
        ("date", date(2026, 1, 5), ["year"], "2026"),
        ("time", time(8), [], "08:00"),
        ("text", "Harbor Card", [], "Harbor Card"),
        ("days", 60, ["since"], "2026-02-01"),
        ("days", 60, ["since", "month"], "February 2026"),
    ],
)
def test_a_value_is_written_as_its_format_says(
    kind: str, value: object, formats: list[str], text: str
) -> None:
    one = fact(kind, value)
    assert rendered(one, one.revisions[0], formats) == text


@pytest.mark.parametrize(
    ("kind", "value", "formats", "named"),
    [
        ("flag", True, [], "no text of its own"),
        ("rule", "Be kind.", [], "no text of its own"),
        ("money", 1_850, ["whole"], "not whole dollars"),
        ("money", 1_850, ["words"], "'words' is for count, days"),
        ("days", 2, ["spelled"], "no format 'spelled'"),
        ("days", 2, ["words", "number"], "put it first"),
        ("days", 2, ["until"], "no day 'until'"),
        ("count", 100, ["words"], "100 is not spelled"),
        ("share", Fraction(3, 7), [], "3/7 has no word"),
    ],
)
def test_a_format_that_does_not_fit_is_refused(
    kind: str, value: object, formats: list[str], named: str
) -> None:
    one = fact(kind, value)
    with pytest.raises(FactError, match=named) as caught:
        rendered(one, one.revisions[0], formats)
    assert "a.b" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", []),
        ("The fee is $10.00, or 2.5 % of it.", ["$10.00", "2.5"]),
        ("On 2026-01-15 at 08:00.", ["2026-01-15", "08:00"]),
        ("Within two business days, or twenty-one.", ["two", "twenty"]),
        ("One of them, once, at first.", []),
        ("One day only, and one business day.", ["One day", "one business day"]),
        ("one\nmonth", ["one\nmonth"]),
        ("Half of it; a quarter; the third one; twice.", ["Half", "quarter", "third", "twice"]),
        ("A third party and a third-party caller.", []),
        ("Someone alone has done money.", []),  # words that hold a number word
        ("hundreds, tenfold, two thirds", ["hundreds", "tenfold", "two", "thirds"]),
    ],
)
def test_numbers_are_found_in_digits_and_in_words(text: str, numbers: list[str]) -> None:
    assert [number for _, _, number in numbers_in(text)] == numbers


def test_every_number_that_can_be_spelled_is_found_again() -> None:
    for number in range(2, 100):
        for word in (spelled(number), ordinal(number)):
            assert list(numbers_in(f"about {word} of them")), word
    assert (spelled(0), spelled(45), ordinal(12), ordinal(30)) == (
        "zero",
        "forty-five",
        "twelfth",
        "thirtieth",
    )
    for number in (-1, 100):
        with pytest.raises(ValueError, match="not spelled"):
            spelled(number)
    with pytest.raises(ValueError, match="no ordinal"):
        ordinal(0)
