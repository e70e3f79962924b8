"""Which patterns grep runs: ordinary ones all, and none that could stop the process."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_enterprise.domains.tau3_banking.patterns import MAX_LENGTH, compiled, why_too_costly

TEXT = ("The annual fee of $95.00 is waived for the first year -- see card_fees. " * 4 + "\n") * 12
"""Lines of the usual length: about as much as one long document of the benchmark."""


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "fee",
        "annual fee|late fee",
        r"\bannual\s+fee\b",
        "late.*fee",
        r"fee.*(waive|refund).*month",
        "card.*(lost|stolen).*replac.*fee",
        r"\$\s*\d+(\.\d{2})?.*per month",
        "(?s)annual fee.*waived",
        "[A-Z]{2}[0-9]{4}",
        "apply_[a-z_]+_[0-9]{4}",
        "(ab)+",
        r"^#+ .*fee",
        "(?i)fee",
        r".{0,80}fee.{0,80}",
        "(?=.*annual)(?=.*fee)waive",
        "[",
        "(",
        "a{99999999999}",
    ],
)
def test_an_ordinary_pattern_is_run(pattern: str) -> None:
    assert why_too_costly(pattern) is None
    assert compiled(pattern).flags


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a*)*",
        "(?:a?){30}b",
        r"(\w+\s?)+$",
        "(a|ab)*c",
        "((a|b)c*)+",
        "(?:(?=a+)a)+",
        "(?>a+)*b",
        ".*.*x",
        ".*a.*b.*c.*d",
        "[^x]*e[^x]*x",
        "(?s).*e.*x",
        "(?s:.)*e(?s:.)*x",
        r"[\s\S]*e[\s\S]*x",
        ".{0,9}" * 20,
        "a?" * 60 + "b",
        "(a.*|b.*)e(c.*|d.*)e.*x",
        "(.*)e\\1e\\1",
        "(x)?(?(1)a.*|b.*)e.*e.*e.*y",
        "a" * (MAX_LENGTH + 1),
        # These took from five seconds to a minute over the benchmark's documents.
        r"\w*\w*\w*\w*\w*\w*!zq",
        r"(?=[^\0]*zq)|" * 10 + "q",
        "(?s)e.*?t.*?zq",
        "(?s)e.*e.*zq",
        "e(?s:..)*e(?s:..)*zq",
        "(?s)e.{0,999}e.{0,999}zq",
        "(?=[^~]*~)|" * 17 + "~",
        "(?s:.)*?e{1,50}~",
        "((?s:.)*?zq)",
        r"\S{3}[^z]*?\b(?s:.)~",
        "(?<![a-z]).*(?<!x).*zq",
        r"(?s)(.*)zq\1",
    ],
)
def test_a_pattern_that_could_run_away_is_not(pattern: str) -> None:
    assert why_too_costly(pattern)


def test_the_costliest_patterns_that_are_run_take_moments_on_a_page() -> None:
    # CPU time, and a thousand times what they take: a pattern that runs away takes years.
    start = time.process_time()
    for pattern in (
        "ee.*ee.*ee.*\0",
        ".*fe.*\0",
        r"\w+\s\w+\s\w+\s\w+\s\w+\0",
        r"\w*\w*\w*\0",
        "(?=.*a)(?=.*b)\0",
        "(?s)fe.*\0",
    ):
        assert why_too_costly(pattern) is None
        assert not compiled(pattern).search(TEXT)
    assert time.process_time() - start < 20


pieces = st.sampled_from(
    [
        "e",
        "fee",
        ".",
        ".*",
        ".+?",
        r"\s",
        r"\w+",
        r"\d*",
        "[a-z]*",
        "[^.]*",
        "a?",
        "(",
        ")",
        "(?:",
        "|",
        "{1,9}",
        "+",
        "*",
        "$",
    ]
)


@settings(deadline=None, max_examples=150)
@given(st.lists(pieces, max_size=9).map("".join))
def test_whatever_a_model_writes_is_judged_and_ends(pattern: str) -> None:
    reason: Any = why_too_costly(pattern)
    assert reason is None or isinstance(reason, str)
    if reason is None:
        assert sum(1 for _ in compiled(pattern).finditer(TEXT[:600])) >= 0
