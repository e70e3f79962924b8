"""From text to the words that retrieval compares."""

import re
import unicodedata

_WORD = re.compile(r"\w+")


def tokenize(text: str) -> list[str]:
    """Split text into folded words, in order, repeats kept.

    A word is a run of letters, digits and underscores of any script; everything else separates. So a tool
    name such as ``freeze_card_4471`` is one word, and ``customer's`` is two. Folding is Unicode's
    compatibility form (NFKC) and full case folding: ``ＦＥＥ``, ``Fee`` and ``fee`` are one word. There is no
    stemming and there are no stop words.

    Args:
        text: Any text.

    Returns:
        The words; an empty list for text without any.

    Example:
        >>> tokenize("The customer's fee: $12.50 (see block_card_12)")
        ['the', 'customer', 's', 'fee', '12', '50', 'see', 'block_card_12']
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(unicodedata.normalize("NFKC", folded))  # folding can leave the normal form
