"""Arguments lose nothing and nothing is guessed (docs/write_a_domain.md): reports B001, B019, B020."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import Annotated, Any, Literal

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from gym_enterprise import Date, Money, World, strict_json, tool
from gym_enterprise.lossless import ArgumentError


class Line(pydantic.BaseModel):
    sku: str
    count: int = 1


@tool()
def take(
    world: World,
    text: str = "",
    whole: int = 0,
    number: float = 0.0,
    flag: bool = False,
    amount: Money = 0,
    day: Date = "2026-01-01",
    stars: Literal[1, 2, 3] = 1,
    reason: Literal["lost", "stolen"] = "lost",
    note: str | None = None,
    names: list[str] = [],  # noqa: B006
    lines: list[Line] = [],  # noqa: B006
    line: Line | None = None,
    short: Annotated[str, Field(max_length=3)] = "",
    few: Annotated[list[int], Field(max_length=2)] = [],  # noqa: B006
    open_object: dict[str, Any] = {},  # noqa: B006
) -> Any:
    """Take anything.

    Args:
        text: A text.
        whole: An integer.
        number: A number.
        flag: A flag.
        amount: Dollars.
        day: A day.
        stars: Stars.
        reason: A reason.
        note: A note.
        names: Names.
        lines: Lines.
        line: A line.
        short: A short text.
        few: Few integers.
        open_object: Anything.
    """


def taken(field: str, value: Any) -> Any:
    return take.validate({field: value})[field]


def refused(arguments: Any) -> str:
    with pytest.raises(ArgumentError) as caught:
        take.validate(arguments)
    return str(caught.value)


# -- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["33", "33.0", "33.00", "3.3e1", "330e-1", "33e0"])
def test_b001_one_amount_has_one_value_in_every_spelling(spelling: str) -> None:
    assert taken("amount", strict_json.parse(spelling)) == 3300
    assert taken("whole", strict_json.parse(spelling)) == 33
    assert type(taken("whole", strict_json.parse(spelling))) is int
    assert repr(taken("number", strict_json.parse(spelling))) == "33.0"
    assert repr(taken("open_object", {"a": [strict_json.parse(spelling)]})) == "{'a': [33]}"


def test_b001_a_choice_of_integers_takes_an_integral_float() -> None:
    assert repr(taken("stars", 2.0)) == "2"


def test_minus_zero_is_zero() -> None:
    assert repr(taken("number", -0.0)) == "0.0"
    assert repr(taken("whole", -0.0)) == "0"
    assert taken("amount", -0.0) == 0


@pytest.mark.parametrize(
    ("dollars", "cents"),
    [
        (0.1, 10),
        (0.29, 29),
        (1.1, 110),
        (-12.3, -1230),
        (349.48, 34948),
        (999_999_999_999.99, 99999999999999),
    ],
)
def test_money_is_exact_cents(dollars: float, cents: int) -> None:
    assert taken("amount", dollars) == cents


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (33.015, "at most two decimals"),
        (0.001, "at most two decimals"),
        (1e12, "at most 999,999,999,999.99"),
        (-1e300, "at most 999,999,999,999.99"),
        ("33", "a number of dollars"),
        ("$1,000.00", "a number of dollars"),
        (None, "a number of dollars"),
        ([1], "a number of dollars"),
        (True, "a number"),
    ],
)
def test_what_is_no_amount_is_refused_by_name_rule_and_value(value: Any, rule: str) -> None:
    message = refused({"amount": value})
    assert message.startswith("`amount` should be") or message.startswith("`amount` should have")
    assert rule in message
    assert json.dumps(value)[:20] in message


@pytest.mark.parametrize(
    "value", ["140.0", "140.5", "2026-01-15", "abc", "140", "", True, False, None, 140.5, [1]]
)
def test_b019_what_is_no_integer_is_refused_by_name(value: Any) -> None:
    assert refused({"whole": value}) == f"`whole` should be an integer, got {json.dumps(value)}"


@pytest.mark.parametrize("value", ["100", "$1,000.00", True, None, {}, "NaN"])
def test_b019_what_is_no_number_is_refused_by_name(value: Any) -> None:
    assert refused({"number": value}) == f"`number` should be a number, got {json.dumps(value)}"


@pytest.mark.parametrize("value", [1, 0, "true", None, 1.0])
def test_a_flag_is_true_or_false_only(value: Any) -> None:
    assert refused({"flag": value}).startswith("`flag` should be true or false, got")


@pytest.mark.parametrize("value", [True, False])
def test_a_bool_is_not_one_of_a_choice_of_integers(value: bool) -> None:
    # Python's True == 1 must not make a call with `true` rate an order with 1 star.
    assert refused({"stars": value}).startswith("`stars` should be an integer, got")


@pytest.mark.parametrize("field", ["whole", "number", "amount", "stars", "open_object"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused_by_field(field: str, value: float) -> None:
    given = {"x": value} if field == "open_object" else value
    assert f"`{field}" in refused({field: given})
    assert "finite" in refused({field: given})


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "01", "+1", ".5", "1.", "0x1"]
)
def test_json_text_with_a_number_that_is_none_does_not_parse(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse(f'{{"a": {text}}}')


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**53 + 1])
def test_integers_within_64_bits_are_kept_exactly(value: int) -> None:
    assert taken("whole", value) == value
    assert take.validate(strict_json.parse(f'{{"whole": {value}}}'))["whole"] == value


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, 10**900])
def test_integers_beyond_64_bits_are_refused_by_field(value: int) -> None:
    assert "`whole` is beyond 64 bits" in refused({"whole": value})
    assert "`open_object.a" in refused({"open_object": {"a": [value]}})


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_too_long_for_python_to_write_is_refused_and_no_python_name_is_said(sign: int) -> None:
    message = refused({"whole": sign * 10**5000})
    assert "more than 1000 digits" in message
    assert "sys." not in message


def test_integers_with_a_decimal_point_are_refused_where_a_float_is_no_longer_exact() -> None:
    # 9007199254740993 = 2**53 + 1 has no float: 9007199254740993.0 would silently become ...992.
    assert "`whole` is too large to be exact" in refused({"whole": 9007199254740994.0})
    assert "`whole` is too large to be exact" in refused({"whole": 1e300})
    assert taken("whole", 9007199254740992.0) == 9007199254740992


def test_an_integer_that_a_float_cannot_hold_is_no_number() -> None:
    assert "more digits than a number keeps" in refused({"number": 2**53 + 1})
    assert taken("number", 2**53) == float(2**53)


# -- text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["[1,2]", "42", "{oops}", '{"a": 1}', "null", "true", "what's the customer's limit"]
)
def test_b020_a_text_field_keeps_text_that_looks_like_json(text: str) -> None:
    assert taken("text", text) == text
    assert taken("note", text) == text
    assert taken("names", [text]) == [text]


def test_b020_json_text_is_decoded_where_the_schema_wants_an_object_or_array() -> None:
    assert taken("lines", '[{"sku": "S1"}]') == [Line(sku="S1", count=1)]
    assert taken("line", '{"sku": "S1", "count": 2.0}') == Line(sku="S1", count=2)
    assert taken("lines", ['{"sku": "S1"}']) == [Line(sku="S1", count=1)]
    assert take.validate(json.dumps({"text": "[1]"}))["text"] == "[1]"  # type: ignore[arg-type]


def test_b020_json_text_that_does_not_parse_is_refused_by_field() -> None:
    assert refused({"lines": "[{'sku': 'S1'}]"}).startswith("`lines` should be JSON: ")
    assert refused({"names": ""}).startswith("`names` should be JSON: ")
    assert "duplicate key 'sku'" in refused({"line": '{"sku": "a", "sku": "b"}'})


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u00a0", "\u2003", "\u2028", "\u3000"])
def test_leading_and_trailing_blanks_are_refused_by_field(blank: str) -> None:
    for text in (f"{blank}a", f"a{blank}", blank):
        assert "`text` has leading or trailing blanks" in refused({"text": text})
        assert "`names.1` has leading or trailing blanks" in refused({"names": ["a", text]})
    assert taken("text", f"a{blank}b") == f"a{blank}b"


def test_text_arrives_in_nfc() -> None:
    assert taken("text", "Zu\u0308rich") == "Z\u00fcrich"
    assert taken("lines", [{"sku": "e\u0301"}])[0].sku == "\u00e9"
    assert taken("text", "\u2126") == "\u03a9"  # ohm sign to omega: canonical, not compatibility
    assert taken("text", "\ufb01") == "\ufb01"  # the ligature fi stays: NFC, not NFKC


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ude00\ud83d"])
def test_lone_surrogates_are_refused_by_field_in_words_that_can_be_encoded(text: str) -> None:
    for arguments in ({"text": text}, {"names": [text]}, {"open_object": {text: 1}}, {text: 1}):
        message = refused(arguments)
        assert "lone surrogate" in message
        message.encode()


def test_empty_text_and_unusual_characters_are_kept() -> None:
    for text in ("", "\U0001f600", "a\x00b", "a\u2028b\u0085c\x0bd", "\u200b"):
        assert taken("text", text) == text


@pytest.mark.parametrize("day", ["2026-02-28", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"])
def test_calendar_dates_are_kept(day: str) -> None:
    assert taken("day", day) == day


@pytest.mark.parametrize(
    "day",
    [
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-10",
        "2026-04-31",
        "0000-01-01",
        "2026-1-1",
        "20260101",
        "2026/01/01",
        "01-01-2026",
        "2026-01-01T00:00:00",
        "2026-01-0١",
        "tomorrow",
        "",
        "2026-W01-1",
    ],
)
def test_what_is_no_calendar_date_is_refused(day: str) -> None:
    assert "`day` should be a calendar date written YYYY-MM-DD, got" in refused({"day": day})


# -- objects ----------------------------------------------------------------------------------------------


def test_unknown_fields_are_refused_with_the_fields_that_there_are() -> None:
    assert refused({"txet": "a"}).startswith("`txet` is not a field of take; it takes text, whole, number")
    assert "`lines.0.skuu` is not a known field of `lines.0`; it has sku, count" in refused(
        {"lines": [{"sku": "a", "skuu": "b"}]}
    )
    assert "`line.world` is not a known field" in refused({"line": '{"sku": "a", "world": 1}'})


def test_missing_fields_are_refused_by_name() -> None:
    assert refused({"line": {}}) == "`line.sku` is required"
    assert refused({"lines": [{"sku": "a"}, {"count": 2}]}) == "`lines.1.sku` is required"


def test_nested_models_are_as_strict_as_the_tool() -> None:
    assert refused({"line": {"sku": "a", "count": "33"}}) == '`line.count` should be an integer, got "33"'
    assert refused({"line": {"sku": 33}}) == "`line.sku` should be text, got 33"
    assert refused({"line": {"sku": "a", "count": True}}) == "`line.count` should be an integer, got true"


def test_every_fault_is_named_at_once_up_to_ten() -> None:
    assert (
        refused({"text": 1, "whole": "a"})
        == '`text` should be text, got 1; `whole` should be an integer, got "a"'
    )
    message = refused({f"x{number}": 1 for number in range(50_000)})
    assert len(message) < 5_000
    assert message.endswith("and 49990 more")


def test_a_choice_is_refused_with_its_options() -> None:
    assert refused({"reason": "Lost"}) == "`reason` should be 'lost' or 'stolen', got \"Lost\""
    assert refused({"stars": 4}) == "`stars` should be 1, 2 or 3, got 4"


def test_bounds_are_refused_without_python_names() -> None:
    for arguments in ({"short": "four"}, {"few": [1, 2, 3]}):
        message = refused(arguments)
        assert "should have at most" in message
        assert not {"String", "List", "list"} & set(message.split())


@pytest.mark.parametrize("arguments", [None, 3, "text", [], [{}], True, "[]", '"{}"'])
def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    assert "the arguments should be" in refused(arguments)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), {1: 2}, 1j, range(3), {"a": {"b": b""}}])
def test_python_objects_that_are_no_json_are_refused(value: Any) -> None:
    assert refused({"open_object": value}).startswith("the arguments are not JSON: ")


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [70, 5_000, 50_000])
def test_deep_nesting_is_refused_and_does_not_exhaust_the_stack(levels: int) -> None:
    assert "nested deeper than 64 levels" in refused({"open_object": {"a": nested(levels)}})
    text = '{"names": ' + "[" * levels + "]" * levels + "}"
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        strict_json.parse(text)
    assert "nested deeper than 64 levels" in refused({"names": "[" * levels + "]" * levels})


def test_moderate_nesting_is_kept() -> None:
    assert taken("open_object", {"a": nested(60)}) == {"a": nested(60)}


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 1}', '{"a": {"b": 1, "b": 2}}', '[{"x": 0, "y": 1, "x": 2}]']
)
def test_duplicate_keys_do_not_parse_at_any_depth(text: str) -> None:
    with pytest.raises(ValueError, match=r"duplicate key '[abx]'"):
        strict_json.parse(text)


def test_a_duplicate_among_very_many_keys_is_found_quickly() -> None:
    keys = [f'"k{number}": 0' for number in range(200_000)]
    start = time.process_time()
    with pytest.raises(ValueError, match="duplicate key 'k199999'"):
        strict_json.parse("{" + ", ".join([*keys, '"k199999": 1']) + "}")
    assert time.process_time() - start < 10  # comparing each key with each would take minutes


@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a": 1,}', "{'a': 1}", "{} {}", '{"a": "x\ny"}', "\ufeff{}", "nul"]
)
def test_what_is_not_strict_json_does_not_parse(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse(text)


@pytest.mark.parametrize("text", ['{"a": 1' + "0" * 5_000 + "}", "-" + "9" * 100_000])
def test_a_number_of_thousands_of_digits_does_not_parse_and_no_python_name_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="more than 1000 digits") as caught:
        strict_json.parse(text)
    assert "sys." not in str(caught.value)


def test_canonical_text_has_sorted_keys_no_blanks_and_typed_numbers() -> None:
    assert strict_json.canonical({"b": [1, 1.0], "a": "é"}) == '{"a":"\\u00e9","b":[1,1.0]}'


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": [1, 2.5, None, "é"]}, {"a": [1, 2.5, None, "é"]}),
        ({"a": float("nan")}, '{"a": NaN}'),
        ({"a": -float("inf")}, '{"a": -Infinity}'),
        ({"a": "\ud800"}, '{"a": "\\ud800"}'),
        (None, None),
        ("{}", "{}"),
    ],
)
def test_what_a_player_passed_is_recorded_as_json_that_anybody_can_read(value: Any, kept: Any) -> None:
    text = strict_json.recorded(value)
    text.encode()
    assert json.loads(text, parse_constant=pytest.fail) == kept


# -- properties -------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=()), max_size=8)
numbers = st.integers() | st.floats() | st.sampled_from([10**400, 2**63, -(2**63), 1e22, 33.0, 0.1 + 0.2])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts | st.binary(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("sku"), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from([*take.parameters["properties"], "unknown", ""])


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(fields, values, max_size=4) | values)
def test_validation_raises_argument_error_or_nothing(arguments: Any) -> None:
    try:
        take.validate(arguments)
    except ArgumentError as error:
        assert str(error)  # noqa: PT017
        str(error).encode()


@settings(max_examples=200, deadline=None)
@given(texts)
def test_validation_never_alters_text_beyond_nfc(text: str) -> None:
    for make in (lambda t: {"text": t}, lambda t: {"names": [t]}, lambda t: {"open_object": {"a": t}}):
        try:
            values = take.validate(make(text))
        except ArgumentError:
            blank = text != text.strip()
            lone = any("\ud800" <= character <= "\udfff" for character in text)
            assert blank or lone
        else:
            assert unicodedata.normalize("NFC", text) in (
                values["text"],
                *values["names"],
                values["open_object"].get("a"),
            )


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**14) + 1, 10**14 - 1))
def test_every_amount_of_whole_cents_arrives_as_those_cents(cents: int) -> None:
    dollars = json.loads(f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}")
    assert taken("amount", dollars) == cents


@settings(max_examples=200, deadline=None)
@given(st.integers(-(2**53), 2**53))
def test_an_integer_and_its_float_are_one_value(value: int) -> None:
    assert taken("whole", float(value)) == taken("whole", value) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (33, "33.0"),
        (33.5, "3.35e1"),
        (-0.5, "-0.5e0"),
        ([1, {"a": 12.25}], '[1.0, {"a": 1.225e1}]'),
        ("7", '"7"'),
    ],
)
def test_a_respelt_number_is_the_same_number(value: Any, text: str) -> None:
    from gym_enterprise.spelling import respell

    assert respell(value) == text
    assert json.loads(text) == value
