"""Whether a customer speaks as the agent."""

from __future__ import annotations

import re

_DONE_BY_ME = (
    r"\b(?:i|we)(?:'ve|\s+have)?\s+(?:(?:now|just|already|successfully)\s+)*"
    r"(?:processed|issued|refunded|cancell?ed|updated|frozen|unfrozen|blocked|unblocked|reset|approved"
    r"|verified|located"
    r"|escalated|submitted|reversed|credited|waived|closed|activated)\s+your\s+(?:\w+\s+){0,2}"
    r"(?:refund|account|order|card|address|reservation|booking|payment|request|transfer|claim|dispute"
    r"|profile|identity|fee)\b"
)
_SERVICE_LINES = (
    r"\b(?:can|may|could)\s+(?:i|we)\s+(?:help|assist)\s+you\b",
    r"\banything\s+else\s+(?:that\s+)?(?:i|we)\s+(?:can|could|may)\s+(?:help|assist)\b",
    r"\bthank(?:s|\s+you)\s+for\s+(?:contacting|calling|reaching\s+out\s+to|choosing|banking\s+with)\b",
    r"\b(?:i|we)(?:'ll|\s+will)?\s+(?:need|have)\s+to\s+verify\s+your\s+identity\b",
    r"\bhappy\s+to\s+assist\s+you\b",
    _DONE_BY_ME,
)
_AGENT_LINE = re.compile("|".join(_SERVICE_LINES), re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"")


def role_flip(text: str) -> bool:
    """Return whether a line supposedly said by the customer speaks as the service agent.

    It knows a few lines that only an agent says, and prefers missing a flip to accusing a customer: offers of
    help ("How may I assist you", "anything else I can help with"), "thank you for contacting", "I need to
    verify your identity", "happy to assist you", and work done on *your* refund, account, card and so on.
    Quoted words do not count.

    Example:
        >>> role_flip("I have processed your refund. Anything else I can help with?")
        True
        >>> role_flip("I have processed the form you sent. Can you help me with anything else?")
        False
    """
    plain = text.replace("\u2019", "'").replace("\u201c", '"').replace("\u201d", '"')
    return _AGENT_LINE.search(_QUOTED.sub(" ", plain)) is not None
