"""The words by which the scripted customer understands an agent: synonyms, and what phrases do."""

from __future__ import annotations

import re

_FLAT = {ord(mark): " " for mark in '*`_#>|()[]{}":,;!?.$@/\\-=<+~&%\u2013\u2014\u2026\u2022\u201c\u201d'} | {
    ord(mark): None for mark in "'\u2019\u2018"
}

# What people call one thing. Questions and the names of facts are both rewritten to the name on the left.
_NAMES = {
    "date-of-birth": (
        *("date of birth", "dob", "d o b", "birth date", "birthdate", "birthday", "birth day"),
        *("when you were born", "when were you born"),
    ),
    "email": ("e mail", "email address", "e mail address", "mail address"),
    "phone": (
        *("phone number", "telephone number", "mobile phone number", "mobile number", "cell phone number"),
        *("cell number", "cellphone number", "contact number", "callback number", "telephone"),
        *("mobile phone", "cell phone"),
    ),
    "full name": (
        *("full legal name", "legal name", "first and last name", "complete name", "name on the account"),
        *("name on your account", "name on file", "account holder name", "account holders name"),
        *("cardholder name", "customer name"),
    ),
    "your full name": ("your name",),
    "provide full name": ("provide name",),
    "following full name": ("following name",),
    "ssn": ("social security number", "social security"),
    "zip": ("zip code", "postal code", "postcode"),
    "last four": (
        "last 4",
        "last4",
        "last four digits",
        "last 4 digits",
        "last four numbers",
        "final four digits",
    ),
    "how amount": ("how much",),
    "why reason": ("why",),
    "which card": ("which credit card", "which debit card", "what card"),
    "and": ("as well as",),
}
_SYNONYMS = tuple(
    (f" {said} ", f" {meant} ")
    for meant, names in _NAMES.items()
    for said in sorted(names, key=len, reverse=True)
)
# "Last four digits of your debit card" becomes one word, so that it never passes for those of something else.
_LAST_FOUR_OF = re.compile(
    r" last four(?: digits| numbers)?(?: of| on| for| from)(?: your| the| that| this| my)?"
    r"(?: (?!card|ssn|phone|account)\w+)? (card|ssn|phone|account)(?: number)?(?= )"
    r"| (card|ssn|phone|account) last four(?: digits)?(?= )"
)


def plain_words(text: str) -> str:
    """Return text in the form in which phrases are compared: a blank at both ends, one between words.

    Example:
        >>> plain_words("What's your **DOB**, and the last 4 digits of your debit card?")
        ' whats your date-of-birth and the card-last-four '
    """
    words = f" {' '.join(text.lower().translate(_FLAT).split())} "
    for said, meant in _SYNONYMS:
        if said in words:
            words = words.replace(said, meant)
    if " last four " in words:
        words = _LAST_FOUR_OF.sub(lambda found: f" {found[1] or found[2]}-last-four", words)
    return " full name " if words == " name " else words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def _any_of(*phrases: str) -> re.Pattern[str]:
    return re.compile(f" (?:{'|'.join(phrases)}) ")


_QUESTION_WORDS = "what|whats|which|when|where|who|whose|how|why"
QUESTION_WORD = _any_of(_QUESTION_WORDS)
ASKS_TO_TELL = _any_of(
    _QUESTION_WORDS, "(?:may|can|could) (?:i|we) (?:have|get)|(?:give|tell) me|provide|share"
)
SECOND_PERSON = _any_of("your", "you")

REQUEST = re.compile(
    r" (?:please|kindly|provide|tell (?:me|us)|confirm|give (?:me|us)|share|require|required|verify|supply"
    r"|(?:i|ill|id|we|well|will|would|also|just|still|only|first|now) need|specify|enter|state|let me know"
    r"|send (?:me|us)|(?:like|help|good) to know|(?:could|can|would|will) you"
    r"|(?:may|can|could|shall|should) i|missing|do you|ask you|asking for|ask for|remind me) "
    r"|^ (?:and |also |so |first |then |now |next )?(?:what|whats|which|who) (?!i |we )"
)
"""Makes a sentence without a question mark ask for something."""

PROHIBITION = re.compile(
    r" (?:do not|dont|never|not need|neednt|no need|without)(?: \w+){0,3}"
    r" (?:provide|share|tell|give|send|need|enter|confirm|verify|providing|sharing|telling|disclose) "
)
"""Makes a sentence that looks like a request ask for nothing."""

NOT_A_REQUEST = re.compile(
    r" please (?:wait|hold|bear|stand|allow|note|be aware|be assured|remember|keep|rest assured|contact"
    r"|cancel|turn|reach|speak|talk|visit|get in touch|write|activate)"
    r"| (?:give|allow) me (?:a|one|just)(?= )"
    r"| (?:i|we|ill)(?: will| can| could| did| have| am able to| are able to| just| also| now| then| shall)*"
    r" (?:confirm|verify|send|share|provide|enter|state|supply|specify)(?= )"
    r"| (?:not )?enough to \w+(?= )| able to (?:confirm|verify)"
    r"| for (?:providing|sharing|confirming|verifying|giving|sending)"
    r"| let me (?:check|look|see|pull|verify|find|get|go|review|confirm|do|take|just|quickly|now|first"
    r"|send)(?= )"
)
"""Words of request that ask for nothing."""

CONDITION = re.compile(
    r" (?:cannot|cant|unable|not able|only)(?: \w+){1,10} (?:until|unless|without|before|if|when|once)"
    r"(?: \w+)* your? "
)
"""A refusal that really asks for something ("I cannot go on without your date of birth")."""

HOLD = _any_of(
    "one moment|a moment|one second|a second|a minute|bear with|hold on|please wait|please hold"
    "|stand by|while i",
    "let me(?! know)",
    r"(?:ill|i will|i am going to|im going to|we will|i need to|i have to)(?: now| also| first| just| then)*"
    r" (?:check|look|see|pull|verify|find|get|go|review|do|take|proceed|start|process|make|order|freeze"
    r"|update|change|search|read|begin|continue|submit|file|open|close|cancel|send|have to|need to)",
    "(?:im|i am) (?:now )?(?:checking|looking|processing|working)",
    "next step|now ill",
)
"""Says that the agent is still at work."""

REFUSAL = _any_of(
    "cannot|cant|can not|unable|not able|wont be able|not eligible|ineligible|not possible|impossible"
    "|not allowed",
    "not permitted|not authori[sz]ed|declined?|declining|refused?|denied|deny|rejected|not qualify"
    "|not entitled",
    "(?:decision|answer) (?:has to |must )?(?:stands?|remains?|stays?)|answer is (?:still )?(?:a )?no",
    "no exceptions?|nothing (?:\\w+ ){0,2}(?:i|we) can do|(?:have|need) to refuse|(?:isnt|not) refundable",
    "isnt (?:eligible|possible|allowed)|arent (?:eligible|allowed)|no longer (?:possible|be)|too late",
    "outside the",
    "against (?:our|the) policy|(?:does not|doesnt|do not|dont) allow",
)

REPORT = _any_of(
    "done|completed?|completing|finished|has been|have been|was successfully|were successfully|is now"
    "|are now",
    "successfully|all set|in place|is active|taken care of|resolved|processed|went through",
    r"(?:ive|i have|weve|we have)(?: now| just| already| also)*"
    r" (?:\w+ed|\w*frozen|made|sent|set|put|given back|taken|begun|reset)",
    r"(?:i|we|is|are)(?: now| just| already| also)* (?:(?:un)?(?:frozen|blocked)|cancell?ed|ordered|activated"
    r"|updated|refunded|credited|lowered|set|transferred|closed|saved)",
    r"(?:i|we)(?: now| just| already| also)* (?:froze|replaced|reissued|changed|raised|increased|reduced"
    r"|moved|filed|submitted|recorded|removed|sent|corrected|opened)",
    "on (?:its|the) way|from now on|effective immediately|(?:usable|works?|working|ready) again",
)
"""Says that something was done."""

ONLY_CHECKED = _any_of(
    "verified|verification|identity|located|found|looked|received|checked|reviewed|(?:i|we) see"
)
"""What was done is only that the agent looked something up."""

REPORTS_ALL = _any_of("everything|all of (?:this|that|it|them|your)|all set|all done|both|all your")

CLOSING = _any_of(
    "(?<!before )anything else|something else|any(?:thing)? (?:other|further|more)(?! cards?| accounts?)",
    "further (?:assistance|help|questions)",
    r"any (?:\w+ )?questions|other questions|what else|else (?:i|we) can|nothing else",
    "let me know if (?:you (?:need|have)|there)|if you (?:need|have) any|feel free to|hesitate to",
)
"""Asks if there is anything else."""

GOODBYE = _any_of(
    r"goodbye|good bye|bye|have a (?:\w+ )?(?:day|evening|night|weekend|one|time)|take care(?! of)|farewell",
    "transfer(?:ring|red)? you|connect(?:ing|ed)? you",
)
"""Ends the conversation, or hands the customer over."""

OPEN_QUESTION = _any_of(
    r"how (?:can|may|could) (?:i|we) (?:\w+ )?(?:help|assist|be of)|what can (?:i|we) (?:do|help)",
    "help you with|assist you with|what (?:would|do) you (?:like|want|need)",
    "how would you like (?:me |us )?to",
    r"what (?:is|seems to be|brings|happened)(?: the| your| you)?(?: \w+)?"
    r" (?:problem|issue|request|question|concern|here|matter|today)",
    "(?:whats|what is) (?:wrong|going on|up)|describe|explain|clarify|elaborate|tell me more|more about",
    "more details?|the (?:issue|problem) (?:you|is|with)|what you (?:need|want|would like)",
    r"your (?:request|issue|problem|concern)|reason for (?:your )?(?:call|contact)\w*",
)
"""Asks what the customer wants."""

ABOUT_NEW = _any_of(
    "(?:should|shall) (?:i|we) (?:put|enter|save|note)|from now on|(?:you )?use now|going forward|instead",
    "(?:chang|updat)(?:e|ed|ing) (?:it |that |this )?to|replaced? (?:it )?(?:with|by)|going to be",
    "to what|to which",
)
"""Asks for the new value of something that is to be changed."""

_SURE = "(?:ok|okay|alright|all right|correct|right|fine|(?<!for )good|acceptable|accurate|agreeable|true)"
OFFER = re.compile(
    r" (?:i|we|id|ill|well)(?= )(?: \w+)*? (?:"
    rf"if (?:that|this|it)(?:s| is| would be| sounds| seems|)(?: \w+)? {_SURE}"
    r"|if (?:that|this) (?:suits|works)|if you (?:agree|like|wish|want|approve|consent)"
    r"|if you (?:would like|are happy|say so)"
    r"|if you (?:dont mind|have no objections?|do not mind)|unless you (?:object|mind)"
    r"|with your (?:ok|okay|permission|consent|approval|agreement)|if youd like|if youre happy) "
    r"|^ (?:if (?:that|this|it)(?:s| is) \w+|if you (?:agree|like|wish|want|approve|are happy)|with your \w+)"
    r"(?: with (?:you|that|this))? (?:i|we|id|ill|well) "
)
"""Proposes something without asking ("I can do that for you if that is fine")."""

PROPOSAL = re.compile(
    _any_of(
        "shall (?:i|we)|should (?:i|we)|do you (?:agree|consent|confirm|approve|accept|authori[sz]e|wish)",
        r"(?:would|do|did) you(?: \w+)? (?:like|want|wish|prefer)",
        "you(?: would|d)? (?:like|want|wish)(?: me| us)? to",
        r"(?:may|can|could) (?:i|we) (?!(?:now|also|then|please|just|have|get|ask|know|help|assist|speak|call"
        r"|confirm|verify|see|take|be|reach) )\w+",
        rf"(?:is|are|sounds?|does|would|if)(?: \w+){{0,5}} {_SURE}",
        rf"{_SURE} (?:with you|to proceed|to go ahead|if i|for you)|does (?:that|this) work",
        "(?:reply|answer|say|type|respond)(?: with)? yes|yes or no|yes no",
        "confirm (?:that|whether|if) (?:i|we) (?:should|may|can|shall)",
        "your (?:consent|approval|permission|authori[sz]ation|go ahead)",
        "are you (?:sure|happy|ready|comfortable|certain)|how does that sound|ready (?:for me )?to",
    ).pattern
    + rf"| (?:proceed|go ahead|{_SURE}) $|{OFFER.pattern}"
)
"""Wants a yes or a no."""

CONSENT_WORDS = word_set(
    "accurate acceptable agree ahead all alright and apply are arrange be can confirm consent continue"
    " correct do does everything fine for go good happy how i if is it like may me make no now ok okay"
    " open or please proceed process ready reply request right send set shall should so sound start"
    " still submit sure that then this to want we wish with work would yes you your"
)
"""A proposal of nothing but these names nothing: "Shall I go ahead?"."""

_NOT = (
    r"(?:i|we) (?:will|would|shall|should|do|am|are) not|(?:i|we) (?:wont|dont|wouldnt|shouldnt)|im not"
    r"|(?:will|would|shall|should|may|could|if) (?:i|we) (?:not|never|do not|dont)|(?:i|we) (?:\w+ )?never"
    r"|(?:ill|id|well|(?:i|we) (?:will|would))(?: rather| better| just)? not"
)
_ALL = r"your other|(?:all|both)(?: of)?(?: your| the)?|every(?: one of your)?|each(?: of your)?"
NOT_DOING = re.compile(
    rf" (?:{_NOT})(?! (?:able|see|know|have|find|think|only) )(?: \w+){{1,4}}(?= )"
    r"| (?:instead of|rather than)(?: \w+){1,4}(?= )"
    rf"| (?:shall|should|may|can|could) (?:i|we) (?:\w+ ){{1,2}}(?:{_ALL}) cards?(?= )"
)
"""What is left undone, or done to other cards: a yes to it is no yes to doing it to the right one."""

READBACK = _any_of(
    "correct|right|accurate|confirm|verify|is that|is this|is it|so thats|on file|change|update|set"
)
"""States something for the customer to check."""

STATUS_QUESTION = _any_of(
    "did (?:it|that|this|you)|have you|were you able|has (?:it|that|this)|does it|is it (?:done|working)",
    "let me know (?:once|when|if|what|how)|what (?:does|did) (?:it|the app|the tool)",
)
"""Asks how something went that the customer was to do."""
