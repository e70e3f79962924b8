"""What service agents ask for, and how: by the name of a fact, the phrases of questions that ask for it.

These come after a script's own phrases, and never take a phrase from another fact that has it as its own.
"""

from __future__ import annotations

_DATE = """
    when, the date, what date, which date, the day, what day, which day, how long ago, roughly when,
    recall the day, remember the day
"""
_PURPOSE = """
    for what reason, the reason, why, what makes you
"""
_AMOUNT = """
    how much, what amount, which amount, the amount, exact amount, what sum, which sum, the sum, how
    many dollars, how large, how big, what figure, which figure, dollar amount, how high, what value
"""
_LIMIT_AMOUNT = """
    what limit, new limit, limit should, limit would you, limit do you, how low, set it to, set the
    limit to, raise it to, raise the limit to, lower it to, lower the limit to, limit you have in mind,
    amount you have in mind, limit are you, to what, how far
"""
_WHICH_ACCOUNT = """
    which account, what account, which of your accounts, account is it, account is this, account is
    affected, account are we, account do you mean, account concerned, account in question, name of the
    account, account was charged, account was it, which product, what product, kind of account, type of
    account, tell me the account, account it is about, account this is about, account it concerns,
    account you mean, account that you mean
"""
_WHICH_CARD = """
    which card, what card, which of your cards, card is it, card are we, card do you mean, card you
    mean, card is this about, card it is about, card in question, card concerned, which one of your
    cards, name of the card, card it concerns, card that you mean, kind of card, type of card, card is
    affected
"""
_TARGET = """
    where should, where shall, where would you like, where do you want, where to, to which account,
    which account should, which account shall, which account do you want, which account would you,
    receiving account, destination account, target account, account should receive, account to receive,
    account is to receive, receives the money, receive the money, money go, money to go, pay it into,
    paid into, move it to, send it to, transferred to, put the money, into which, which of your
    accounts, which account, what account, where the money, place the money
"""
_SHOP = """
    which shop, what shop, which store, what store, merchant, which company, what company, who charged,
    name of the shop, name of the store, name of the company, name of the seller, seller, retailer,
    business, where did you buy, where did you shop, where was the purchase, where did you order, who
    took the money, name appears, shop is it, shop was it, name on the statement, whose charge, bought
    it from, order it from, ordered from
"""
_STORY = (
    """
    what happened, happen, what went wrong, what is wrong, whats wrong, the matter, what exactly is,
    what has happened, whats the story, how did, how come, lost or stolen, the circumstances,
    circumstances, tell me more, more about it, bit more about, walk me through, explain what, describe
    what, describe, the background, the matter with it, matter with it, situation, the story
"""
    + ", "
    + _PURPOSE
)
_TOPICS = {
    "full_name": """
        who am i speaking, who am i talking, who am i chatting, who do i have, who is this, who are you,
        how should i address you, what should i call you, what are you called, how may i address you,
        your first name, spell your name, surname, name please, name is on, what name, which name, whom
        am i, family name, your complete name, whom do i have, pleasure of speaking
    """,
    "date_of_birth": """
        born, birth, your birth, day of birth, year of birth, day month and year, were you born, your
        age
    """,
    "postal_code": """
        zip, zipcode, post code, postal, code of your address, code of the town, mailing code, code of
        your town, five digit code, code for your address
    """,
    "card_last_four": """
        last four, four digits, 4 digits, final four, last digits, final digits, card end in, card ends
        in, card end with, card ends with, card ending, digits on your card, digits of your card, end of
        your card number, card finish, ending of your card, numbers on your card, digits of a card,
        digits printed on your card, end of the card number
    """,
    "phone": """
        mobile, cell, phone, number on record, number on file, number we have, reach you, call you, ring
        you, number you gave us, tel, number do we have
    """,
    "email": """
        electronic address, inbox, address for messages, get our messages
    """,
    "what_happened": _STORY,
    "city": """
        which town, what town, which city, what city, town, where do you live, live in
    """,
    "town": """
        which town, what town, which city, what city, town, city, where do you live, where you live,
        live in, hometown, place of residence, where are you based, part of the country, home town,
        place do you live, residence
    """,
    "street": """
        street, house number, street address, road, live now, address line, mailing address
    """,
    "new_phone": """
        new one, replaced with, changed to, updated to, new number, number is it now, change it to,
        replace it with, update it to, number should i put, number shall i put, number should we, number
        do you have now, reach you on from now, number from now on, number would you like, number to
        put, what is the number, whats the number, number going forward, which number should, which
        number shall, number be changed to, number going to be, number you use now
    """,
    "new_email": """
        new one, replaced with, changed to, updated to, new address, change it to, replace it with,
        update it to, address should i put, address shall i put, address should we, mail from now on,
        email from now on, email would you like, email to put, which email should, which email shall,
        email be changed to, email going forward, email you use now, address from now on, email do you
        have now, email should i, email is it now
    """,
    "which_fee": """
        what fee, which fee, kind of fee, fee is it, fee was it, sort of fee, type of fee, fee do you
        mean, fee are we, fee you mean, fee in question, fee are you, fee is this, fee exactly, fee it
        is about, charged for, name of the fee, fee concerned, fee would you like, fee did we, about the
        fee, describe the fee, identify the fee
    """
    + ", "
    + _DATE,
    "account_meant": _WHICH_ACCOUNT,
    "which_account": _WHICH_ACCOUNT + ", " + _WHICH_CARD,
    "fee_day": """
        which of the fees, which one, which of them
    """
    + ", "
    + _DATE,
    "earlier_refunds": """
        refund before, refunds before, refunded before, earlier refund, previous refund, earlier
        refunds, previous refunds, in the past, refund you, refunded in the past, past refunds, given
        back before, given a fee back, fees back before, already had a refund, already had a fee,
        received a refund, refunds lately, refunds recently, a refund recently, refund lately, last
        refund, courtesy before, refunded already, any refunds, refunds have you, refund this year, back
        this year, had a refund, fee back before
    """,
    "wished_limit": _LIMIT_AMOUNT + ", " + _AMOUNT,
    "new_limit": _LIMIT_AMOUNT + ", " + _AMOUNT,
    "which_limit": """
        purchases or cash, cash or purchases, purchase or cash, cash or purchase, which limit, which of
        the limits, which of the two limits, kind of limit, type of limit, sort of limit, limit do you
        mean, limit you mean, limit is it, limit are we, limit in question, limit for purchases, limit
        for cash, purchase limit or, cash limit or, shopping or, withdrawals or, purchases or
        withdrawals, which of the two, limit it is about, limit this is about, limit concerned, limit is
        this
    """,
    "wished_amount": """
        how much money, take out, withdraw, need from it
    """
    + ", "
    + _AMOUNT,
    "target_account": _TARGET,
    "shop": _SHOP,
    "merchant": _SHOP,
    "amount": """
        the price, what price, cost, what was charged
    """
    + ", "
    + _AMOUNT,
    "card_used": """
        card you used, card did you use, card was used, paid with, how did you pay, pay with, debit or
        credit, credit or debit, card used, paid by, means of payment, method of payment, payment
        method, card was charged, card that was charged, card did you pay, how you paid, using which,
        how was it paid, card the charge, card was it
    """
    + ", "
    + _WHICH_ACCOUNT
    + ", "
    + _WHICH_CARD,
    "which_charge": """
        which charge, which of the charges, which of the two, which one, which of them, charge do you
        mean, charge is it, charge you mean, charge in question, which transaction, which purchase,
        which payment, charge are you, transaction do you, which entry
    """
    + ", "
    + _DATE,
    "country": """
        which country, what country, country, where are you going, where are you travelling, where are
        you traveling, where will you, where do you, where to, destination, where is the trip, where is
        your trip, heading, where are you off, countries, journey going, travel to, travelling to,
        traveling to, flying, where does your, where you are going, where you will, where you are
        travelling, place are you visiting
    """,
    "travel_days": """
        from when, how long, dates, first day, last day, when do you, when are you, when will you, which
        days, what days, travel date, leave, return, depart, come back, be back, be away, be abroad,
        until when, start and end, begin and end, period, when is your trip, when is the trip, when
        does, when you leave, back home
    """
    + ", "
    + _DATE,
    "travelling_cards": """
        which cards, what cards, cards will you, cards do you, cards are you, cards would you, take with
        you, taking with you, bring with you, bringing, cards you, cards come, which of your cards,
        which card, cards should, cards travel, cards go with you, cards shall, which ones will you,
        cards to take, use abroad, carry
    """,
    "state_of_cards": """
        do they work, do they all work, do all of them work, is the card frozen, did you find, are they
        working, is any of them, are any of them, any of them frozen, cards working, cards are working,
        all working, cards in order, still frozen, is one of them, cards active, all active, them
        blocked, cards usable, cards blocked, card blocked, problem with any, wrong with any, state of
        your cards, state of the cards, status of your cards, found it again, found the card, misplaced,
        have all of them, state are
    """,
    "delivery": """
        standard or express, express or standard, how fast, how quickly, how soon, how urgent, which
        delivery, what delivery, kind of delivery, type of delivery, delivery method, delivery option,
        which shipping, what shipping, shipping option, shipping method, delivery would you, delivery do
        you, delivery should, shipping would you, how should we send, how should it be sent, how would
        you like it sent, how shall we send, by express, standard delivery or, express delivery or,
        regular or express, express mail, delivered, fine or do you, or by express, how should i send,
        how shall i send, when do you need it, in a hurry, rush
    """,
    "moved": """
        address correct, address still correct, address right, address still right, same address,
        address on record right, address on record correct, address on file right, address on file
        correct, address still the right, address still current, address we have right, address we have
        correct, still live, have you moved, did you move, moved house, moved recently, address current,
        address up to date, address on record, address on file, address changed, address the same,
        living at, address we have, new address, moved lately, changed address, address valid, live at
        the address, live at your address, reach you at your address, still the right address, still at
        the address, moved since, moved
    """,
    "wished_day": """
        which day, what day, day would you, day do you, day should, day of the month, due on, what date,
        which date, date would you, date do you, day you, when should, when would you, new due day, new
        due date, due day would, day suits, date suits, new day, new date, preferred day, preferred
        date, move it to, when do you want, day works, to when
    """,
    "which_points": """
        how many, how many points, all of them, all of your points, all your points, all points, number
        of points, points would you, points do you, points should, points shall, every point, redeemed
        or, or only a part, or only some, or some, or a part, or all of, amount of points, points you,
        all the points, quantity, some of them, part of them, points are you, which points, share of
        your points, what number
    """,
    "which_card": """
        points of which, whose points
    """
    + ", "
    + _WHICH_ACCOUNT
    + ", "
    + _WHICH_CARD,
    "wish": """
        what would you like, what do you want, closed or, close the account, what exactly, close it,
        move the money, closed for good, empty it, keep it open, account closed, stay open, what should
        happen, what shall happen, what should i do with, to be closed, closing it, do with it, do with
        the account, do with the money, what is it you, in mind, account to stay, want closed, like to
        do, keep the account, what it is you, or closed
    """,
    "account_holder": """
        whose account, account holder, whose name, name of the account holder, full name, whom is it,
        who is the customer, whose cards, who holds, who owns, name of your, who is it about, name of
        the person, whom are you calling, who are you calling, persons name, name is on, on whose
        behalf, for whom, name of the customer, owner, what is the name, which customer, calling about,
        their name, her name, his name, who this is about, account is it
    """,
    "other_card": """
        another card, other card, remaining card, second card, further card, else do you pay, other
        cards, card left, card is left, left to pay, without it, pay with instead, use instead, still
        have a card, pay from now on, more cards, one more card, backup card, alternative card, how will
        you pay, any card that remains, keep using
    """,
}
_PHRASES = {
    name: tuple(dict.fromkeys(" ".join(phrase.split()) for phrase in text.split(",")))
    for name, text in _TOPICS.items()
}


def phrases_for(key: str) -> tuple[str, ...]:
    """Return the phrases that ask for a fact of this name; empty for a name that is not known.

    Args:
        key: Name of a fact.

    Example:
        >>> phrases_for("postal_code")[:2]
        ('zip', 'zipcode')
    """
    return _PHRASES.get(key, ())
