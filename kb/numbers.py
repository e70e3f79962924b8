"""Numbers in prose: where they stand, in digits or spelled, and how a number is spelled."""

import re
from collections.abc import Iterator

# fmt: off
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}
_LARGE = (
    "hundred", "hundredth", "thousand", "thousandth", "million", "billion", "dozen",
    "fortnight", "couple of", "half", "halves", "quarter", "quarters", "twice", "thrice",
    "double", "triple",
)
_UNITS = (
    "day", "week", "fortnight", "month", "quarter", "year", "hour", "minute", "second", "dollar", "cent",
    "percent", r"per\s+cent",
)
# fmt: on
LARGEST_SPELLED = 99


def spelled(number: int) -> str:
    """Return a whole number in words.

    Args:
        number: From 0 to `LARGEST_SPELLED`.

    Raises:
        ValueError: It is outside that range.

    Example:
        >>> spelled(45)
        'forty-five'
    """
    if not 0 <= number <= LARGEST_SPELLED:
        raise ValueError(f"{number} is not spelled: words are for 0 to {LARGEST_SPELLED}, so show digits")
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")


def ordinal(number: int) -> str:
    """Return the place of something in a row, in words; as `spelled`, from 1.

    Example:
        >>> ordinal(21)
        'twenty-first'
    """
    if number < 1:
        raise ValueError(f"{number} has no ordinal: places count from 1")
    head, hyphen, last = spelled(number).rpartition("-")
    if last.endswith("y"):
        return f"{head}{hyphen}{last[:-1]}ieth"
    return f"{head}{hyphen}{_ORDINALS.get(last, last + 'th')}"


_PLACES = {ordinal(number) for number in (*range(2, 20), *range(20, 100, 10))}
_COUNTING = {*_ONES[2:], *_TENS[2:], *_PLACES}
_WORDS = "|".join(sorted({*_COUNTING, *_LARGE}, key=lambda word: (-len(word), word)))
_ONE_UNIT = rf"one\s+(?:(?:calendar|business|working|full)\s+)?(?:{'|'.join(_UNITS)})s?"
_NUMBER = re.compile(
    rf"[$€£]?\d[\d.,:/-]*\d|[$€£]?\d|[²³¹⁰⁴-⁹¼-¾⅐-ↈ①-⓿]"
    rf"|\b(?!third[ -]part)(?:{_WORDS})(?:s|ths|fold)?\b|\b{_ONE_UNIT}\b",
    re.IGNORECASE,
)


def numbers_in(text: str) -> Iterator[tuple[int, int, str]]:
    """Find every number of a text: digits, and words such as "two", "third", "half" or "one day".

    "One" counts before a unit only, since it is mostly a pronoun; "first" and "once" never do.

    Args:
        text: Prose of one or more lines.

    Yields:
        Start, end and text of each, in order.

    Example:
        >>> [found for _, _, found in numbers_in("Within two days, or 1.50 dollars on one of them.")]
        ['two', '1.50']
    """
    for match in _NUMBER.finditer(text):
        yield match.start(), match.end(), match.group()
