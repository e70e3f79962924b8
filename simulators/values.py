"""Dates, addresses, numbers and other values in running text, in a form in which equal ones are equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from simulators.vocabulary import plain_words

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_VALUE = re.compile(
    r"(?P<iso>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<slashed>\b\d{1,2}/\d{1,2}/\d{4}\b)"
    rf"|(?P<month_first>\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}\b)"
    rf"|(?P<day_first>\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+\d{{4}}\b)"
    r"|(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<digits>\+?\(?\d[\d()]*(?:[ -]\(?\d[\d()]*)+|\b\d{7,}\b)"
    r"|(?P<number>(?<!last )\b\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)

_COUNTRIES = {
    **{
        "argentina": "AR",
        "australia": "AU",
        "austria": "AT",
        "belgium": "BE",
        "brazil": "BR",
        "canada": "CA",
    },
    **{"chile": "CL", "china": "CN", "croatia": "HR", "czechia": "CZ", "denmark": "DK", "egypt": "EG"},
    **{"finland": "FI", "france": "FR", "germany": "DE", "great britain": "GB", "greece": "GR"},
    **{"hungary": "HU", "iceland": "IS", "india": "IN", "ireland": "IE", "italy": "IT", "japan": "JP"},
    **{"mexico": "MX", "morocco": "MA", "netherlands": "NL", "new zealand": "NZ", "norway": "NO"},
    **{"poland": "PL", "portugal": "PT", "south africa": "ZA", "south korea": "KR", "spain": "ES"},
    **{"sweden": "SE", "switzerland": "CH", "thailand": "TH", "turkey": "TR", "united kingdom": "GB"},
}
_MAY_HOLD_VALUE = re.compile(r"[\d@]")

Value = tuple[str, str]
"""A kind (date, email, digits, number, text) and a spelling that all spellings of the value share."""


def values_in(text: str) -> tuple[Value, ...]:
    """Return the dates, e-mail addresses, digit groups and numbers in the text.

    Example:
        >>> values_in("Born March 2, 1984; limit $1,500.00")
        (('date', '1984-03-02'), ('number', '1500'))
    """
    if not _MAY_HOLD_VALUE.search(text):
        return ()
    return tuple(_canonical(found) for found in _VALUE.finditer(text))


def value_beside(text: str, phrases: Sequence[str], kind: str) -> Value | None:
    """Return the value of a kind that stands right after one of the phrases, at most three words on.

    Example:
        >>> value_beside("Your postal code is 31208, your card ends in 4711.", [" zip "], "number")
        ('number', '31208')
    """
    found: list[Value] = []

    def mark(match: re.Match[str]) -> str:
        found.append(_canonical(match))
        return f" valued{len(found) - 1} "

    words = plain_words(_VALUE.sub(mark, text)) if _MAY_HOLD_VALUE.search(text) else ""
    for phrase in phrases if found else ():
        place = words.find(phrase)
        after = words[place + len(phrase) :].split()[:4] if place >= 0 else []
        for word in after:
            if word.startswith("valued") and found[int(word[6:])][0] == kind:
                return found[int(word[6:])]
    return None


def value_of(text: str) -> Value:
    """Return the one value that the whole text is: a typed one, or else its plain words."""
    bare = text.strip().removeprefix("$")
    whole = _VALUE.fullmatch(bare)
    return _canonical(whole) if whole else ("text", plain_words(text))


def options_in(text: str, options: Sequence[str]) -> list[str]:
    """Return which of the options a text has, as they are written; a country stands for its two-letter code.

    Example:
        >>> options_in("Enter Portugal as the country.", ["PT", "ES"])
        ['PT']
    """
    found = [word for word in re.findall(r"\w+", text) if word in options]
    words = plain_words(text)
    return found or [code for name, code in _COUNTRIES.items() if code in options and f" {name} " in words]


def _canonical(found: re.Match[str]) -> Value:
    kind, text = found.lastgroup, found.group()
    if kind == "iso":
        return "date", text
    if kind == "slashed":
        month, day, year = text.split("/")
        return "date", f"{year}-{int(month):02}-{int(day):02}"
    if kind in ("month_first", "day_first"):
        return "date", _written_date(text)
    if kind == "email":
        return "email", text.lower().rstrip(".")
    if kind == "digits":
        return "digits", "".join(mark for mark in text if mark.isdigit())
    return "number", f"{Decimal(text.replace(',', '')).normalize():f}"


def _written_date(text: str) -> str:
    numbers = re.findall(r"\d+", text)
    name = re.search(_MONTH, text, re.IGNORECASE)
    month = _MONTHS.index(name.group()[:3].lower()) + 1 if name else 0
    return f"{numbers[1]}-{month:02}-{int(numbers[0]):02}"
