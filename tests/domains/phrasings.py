"""How agents ask for what a customer of the bank knows, by family and fact: one question a line, by hand."""

from __future__ import annotations

_TABLE: dict[tuple[str, str], str] = {
    ("freeze_card", "full_name"): """
        What is your full name?
        May I have your name, please?
        Who am I speaking with today?
        Could you tell me your first and last name?
        Please state your full legal name.
        Whom do I have the pleasure of speaking with?
        Before anything else, I need your name.
        And your name is?
        Would you mind giving me your complete name?
        Under which name is the account held?
        How should I address you?
        Kindly provide the name on the account.
        Let me start with your name, if I may: what are you called?
        Sure, I can help. Who is this, please?
        Can I get the cardholder name?
        I'd need to know your name first.
    """,
    ("freeze_card", "date_of_birth"): """
        What is your date of birth?
        Could you give me your DOB?
        When were you born?
        May I ask for your birthday?
        Please confirm your birth date for me.
        I also need your D.O.B.
        On what day were you born?
        For security, kindly state your date of birth (YYYY-MM-DD).
        Can you tell me when you were born?
        Would you share your birthdate with me?
        To verify you, I'd need the day, month and year of your birth.
        And your birthday?
        I cannot go on without your date of birth.
        What birth date do we have for you?
        Next, please enter your date of birth.
    """,
    ("freeze_card", "postal_code"): """
        What is your postal code?
        Could I have your ZIP code, please?
        Please tell me the postcode of your address.
        And your zip?
        Which postal code belongs to your address?
        Would you give me the post code of the place where you live?
        I need the zipcode on record.
        May I have the ZIP of your billing address?
        Can you confirm your postal code for me?
        To verify you, please provide your postcode.
        What ZIP code do we have on file?
        Kindly share the postal code of your home.
        Do you know your zip code by heart?
        Last thing: your postal code, please?
        I'd also need the five-digit code for your address.
    """,
    ("freeze_card", "card_last_four"): """
        What are the last four digits of your card?
        Can you read me the last 4 of the card?
        Which card is it about?
        What does your card end in?
        Please give me the final four digits on the card.
        Could you tell me the digits your card ends with?
        May I have the last four numbers of your card?
        I need to know the four digits at the end of your card number.
        Which of your cards do you mean?
        Kindly provide the last four of one of your cards.
        What are the last digits printed on your card?
        And the last four?
        Would you tell me which card this is about?
        To find it I need the last 4 digits of your debit card.
        Can I have the ending of your card?
    """,
    ("freeze_card", "phone"): """
        What is your phone number?
        Can I have the phone number on record?
        Please tell me your mobile number.
        Which telephone number did you register with us?
        May I have a contact number?
        Could you give me your cell number?
        I need your current phone number.
        What number do we have on file for you?
        And your phone?
        Kindly share your registered mobile.
        On what number can I reach you?
        Would you tell me the number on record?
        To find your file, I'd need your phone number.
        What's the best number to call you at?
        Please enter your telephone number.
    """,
    ("freeze_card", "email"): """
        What is your email address?
        Can I have your e-mail?
        Please tell me the email on record.
        Which email did you register with us?
        May I have your mail address?
        What e-mail address do we have on file?
        Could you spell out your email for me?
        And your email?
        I need the email address that you use with us.
        Kindly provide your e-mail address.
        Would you share your current email?
        To verify you, please state your email.
        What's your email, please?
        Do you have an email address on file with us?
        At which e-mail address do you get our messages?
    """,
    ("freeze_card", "what_happened"): """
        What happened to it?
        Was it lost or stolen?
        How did you lose it?
        Can you tell me what happened?
        Why do you want it frozen?
        For what reason should it be blocked?
        Do you think it may turn up again?
        Could you describe what went wrong?
        Has it been stolen, or is it gone for good?
        What are the circumstances?
        Please tell me more about it.
        May I ask how this came about, and what has happened to it?
        What's the reason for blocking it?
        How come it has to be frozen?
        Would you walk me through what happened?
        I need to know if the card was lost or stolen.
    """,
    ("change_contact", "new_contact"): """
        What is the new one?
        Could you tell me your new {name}?
        Which {name} should I put on record?
        What would you like to change it to?
        Please give me the new {name}.
        What's your {name} going to be from now on?
        And the new {name} is?
        To what should I change your {name}?
        May I have the {name} you use now?
        Which {name} shall I put there instead?
        I need to know your new {name}.
        Kindly provide the {name} that we should update it to.
        Would you read me the new {name}, please?
        What should it be replaced with?
        Can I get the new {name} for our records?
    """,
    ("lower_limit", "new_limit"): """
        What limit would you like?
        How much should it be?
        To which amount shall I lower it?
        What should the new limit be?
        How low would you like it to be?
        Please tell me the amount you have in mind.
        Which figure shall I enter?
        Could you give me the exact amount?
        And the new limit?
        What sum do you want per day?
        To what should I set it?
        I need to know how much you want to allow.
        How high may it be?
        What's the dollar amount?
        Kindly name the new limit.
    """,
    ("courtesy_refund", "which_fee"): """
        Which fee do you mean?
        What kind of fee is it?
        What fee are you asking about?
        Could you describe the fee?
        Please tell me which fee it is about.
        What type of fee was it?
        What were you charged for?
        Can you identify the fee for me?
        What sort of fee was charged?
        Which fee would you like to have back?
        What exactly is the name of the fee?
        May I ask what fee we are talking about?
        The fee in question is which one?
        And what fee is this?
        I need to know which fee you mean.
    """,
    ("courtesy_refund", "fee_day"): """
        When were you charged?
        On what day was it?
        Which day was the fee posted?
        When was that?
        What's the date of the fee?
        Do you remember the day?
        How long ago was it charged?
        Could you tell me the date?
        And when was it?
        Please give me the date on which it was charged.
        What date does it have?
        If there are several, which of the fees do you mean?
        Roughly when did we charge it?
        May I know when it was posted?
        I need the day of the charge: which date was it?
    """,
    ("courtesy_refund", "earlier_refunds"): """
        Have you had a refund before?
        Were there any earlier refunds?
        Did we refund you a fee in the past?
        Have you had any refunds in the past?
        Do you remember previous refunds?
        When was your last refund?
        Have you ever had a fee given back before?
        Did you have a fee back before this one?
        Could you tell me about earlier refunds?
        Have you already had a refund this year?
        Any refunds recently that you know of?
        How many refunds have you had?
        Did you get a refund lately?
        Was a fee refunded before, as far as you know?
        Please tell me if you had a previous refund.
    """,
    ("bank_error_refund", "account_meant"): """
        Which account is it about?
        On what account was the fee charged?
        Which of your accounts do you mean?
        What account is affected?
        Could you tell me the account in question?
        Please name the account it concerns.
        Which account was charged?
        What kind of account is it?
        Which product do you have with us that was charged?
        And which account?
        What type of account are we talking about?
        May I ask which account this is about?
        I need to know the account you mean.
        Can you tell me what account it was?
        The fee was taken from which account?
    """,
    ("replace_card", "what_happened"): """
        What happened to the old card?
        Is it damaged, or lost or stolen?
        Why do you need a new one?
        What's wrong with the one you have?
        For what reason do you need a replacement?
        Could you tell me why you want a new card?
        How did it happen?
        Do you still have the card, or was it lost or stolen?
        Please describe what happened to the card.
        What is the reason for the replacement?
        May I ask what happened?
        What has happened to your card?
        Can you explain what went wrong with it?
        How come you need a new card?
        I need to know the reason.
    """,
    ("replace_card", "delivery"): """
        Standard or express?
        Which delivery would you like?
        How fast do you need it?
        How should we send it?
        Would you prefer standard or express delivery?
        Do you want express delivery or is standard enough?
        How quickly do you need the new card?
        What kind of delivery do you want?
        Please tell me which delivery option you prefer.
        Shall it go by express or by standard mail?
        Is standard delivery fine, or do you need it by express?
        How soon do you need it?
        Which shipping method should I choose?
        How would you like it delivered?
        Are you in a hurry for it?
        May I ask which delivery you would like, standard (free) or express?
    """,
    ("replace_card", "moved"): """
        Is your address still correct?
        Do you still live at the same address?
        Have you moved?
        Has your address changed?
        Is the address we have up to date?
        Did you move lately?
        Are you still living at the address on record?
        Could you confirm whether your address on file is current?
        Is the address on record right?
        Have you moved house since you gave us your address?
        Do you still live where you used to, or have you moved?
        Is your mailing address the same as before, or has your address changed?
        May I ask if your address is still the right address?
        Please tell me if you moved recently.
        Before I send it: is the address still right?
    """,
    ("raise_limit", "wished_limit"): """
        What limit would you like?
        How much do you need?
        How high should the new limit be?
        To what amount should I raise it?
        Which amount are you thinking of?
        Please tell me the limit you have in mind.
        What should the new limit be?
        What figure do you need per day?
        Could you tell me how high you want it?
        And how much would that be?
        How far should I raise it?
        I need to know the exact amount.
        What's the sum you want to spend?
        How large should it be?
        Kindly name the amount.
    """,
    ("raise_limit", "which_limit"): """
        Which limit is it?
        Is it for purchases or cash?
        Do you mean the purchase limit or the cash limit?
        Which of the two limits do you mean?
        Cash or purchases?
        What kind of limit should I raise?
        Is it the limit for cash or for shopping?
        Which limit are we talking about?
        Please tell me which limit it is about.
        Should it be the limit for purchases or withdrawals?
        What type of limit is it?
        May I ask whether it is the purchase or cash limit?
        Which limit do you mean?
        And which limit is this about?
        I need to know which of the limits you mean.
    """,
    ("dispute_charge", "shop"): """
        Which shop was it?
        What's the name of the merchant?
        Who charged you?
        At which store did you buy it?
        What company is it?
        Where did you order it from?
        What name appears on the statement?
        Could you tell me the merchant?
        Where was the purchase made?
        Please give me the name of the shop.
        And the seller?
        Who took the money?
        Which business is it about?
        What's the retailer called?
        May I have the merchant name as you see it?
    """,
    ("dispute_charge", "amount"): """
        How much was it?
        What was the amount?
        What amount were you charged?
        Could you tell me the price?
        How much did they take?
        What sum is it?
        Please tell me the exact amount.
        What did it cost?
        How large is the charge?
        And for how much?
        Which amount do you see there?
        What was the price you paid?
        May I ask how much it was?
        I need the amount of the charge.
        What's the dollar amount?
    """,
    ("dispute_charge", "card_used"): """
        How did you pay?
        Which card did you use?
        Did you use a debit or credit card?
        What card was charged?
        Which account was charged?
        What did you pay with?
        Please tell me which card you used.
        Could you say which card was used?
        And which card is it on?
        Was it paid by debit or credit?
        What payment method was it?
        Which of your cards did you pay with?
        On which account do you see it?
        May I ask how you paid?
        I need to know the card you used.
    """,
    ("dispute_charge", "what_happened"): """
        What happened?
        Can you tell me what happened?
        What is wrong with the charge?
        What went wrong?
        Why do you want to dispute it?
        Could you describe what happened?
        Please explain what happened.
        What's the reason for the dispute?
        How did it come about?
        What exactly is the matter with it?
        Would you tell me more about it?
        What are the circumstances?
        For what reason do you want it back?
        Did you make this purchase yourself?
        May I ask what has happened?
    """,
    ("dispute_charge", "which_charge"): """
        Which charge do you mean?
        When was it?
        What day was it charged?
        Which one of them is it?
        Which of the charges do you mean?
        On what date was the purchase?
        Which transaction is it?
        Which of the two do you want back?
        Could you tell me the date?
        Which purchase is it about?
        How long ago was that?
        Which payment do you mean?
        Please tell me when it was.
        And when was that?
        May I ask which of them you mean?
    """,
    ("empty_and_close", "wish"): """
        What would you like me to do with it?
        Should the account be closed or only emptied?
        What do you want to happen to it?
        What exactly do you want?
        Do you want me to close the account or just move the money?
        Would you like the account closed, or should it stay open?
        What should I do with the account?
        Is it to be closed for good, or do you only want to move the money?
        Shall I close the account, or do you want to keep it open?
        Could you tell me what should happen with the account?
        What is it you want to do with it?
        Please tell me what you have in mind.
        Do you want it closed or not?
        May I ask what you would like to do?
        What should happen to it: emptied only, or closed?
    """,
    ("empty_and_close", "target_account"): """
        Where should the money go?
        To which account should I move it?
        Which account shall receive the money?
        Where do you want the money?
        Into which account should it be paid?
        What is the target account?
        Which of your accounts should get the balance?
        Please tell me the receiving account.
        Where would you like me to send it?
        And where to?
        What account is to receive it?
        Could you tell me where to put the money?
        To which of your accounts?
        Which account do you want it paid into?
        I need to know where the money should go.
    """,
    ("give_notice", "wished_amount"): """
        How much do you need?
        What amount should be paid out?
        How much would you like to take out?
        Which amount do you want?
        What sum do you have in mind?
        Please tell me the exact amount.
        How much money is it about?
        Could you tell me how much you want?
        And how much?
        What's the amount?
        How large should the payout be?
        I need to know the sum.
        What figure shall I enter?
        How much do you want to withdraw?
        May I ask how much it should be?
    """,
    ("redeem_points", "which_points"): """
        How many points?
        How many of them would you like to redeem?
        All of them or some of them?
        Do you mean all your points?
        Which points do you want to turn into money?
        What number of points should I redeem?
        Should it be all of your points?
        How many points shall I take?
        Please tell me how many you mean.
        Could you say how many points it should be?
        And how many?
        How many points do you want paid out?
        Would you like every point redeemed or only a part of them?
        What amount of points do you have in mind?
        I need to know how many points you want to use.
    """,
    ("redeem_points", "which_card"): """
        Which card is it?
        What card are the points on?
        Which account is it about?
        Which of your cards do you mean?
        Points of which card?
        Could you tell me which card you mean?
        What card do you mean?
        And which card?
        Which card are we talking about?
        Please tell me the card in question.
        What kind of card is it?
        On what account are the points?
        May I ask which card this is about?
        Which product did you collect them with?
        I need to know the card it concerns.
    """,
    ("travel_notice", "country"): """
        Where are you going?
        Which country are you travelling to?
        What's your destination?
        Where to?
        What country will you visit?
        Where will you be?
        Could you tell me where you are going?
        Where are you heading?
        Please tell me your destination.
        To which country?
        Where does your journey take you?
        And where is the trip to?
        What country is it?
        May I ask where you are off to, that is, which country?
        I need to know the country.
    """,
    ("travel_notice", "travel_days"): """
        From when to when?
        When do you leave and when are you back?
        What are your travel dates?
        How long will you be away?
        When is your trip?
        On which days will you be abroad?
        When do you come back?
        What is the first day and the last day?
        Please tell me the dates of your journey.
        When are you leaving?
        Until when will you stay?
        Could you give me the start and end date?
        And when will you return?
        For what period should I note it?
        May I have your travel dates?
        I need the exact days: when do you depart?
    """,
    ("travel_notice", "travelling_cards"): """
        Which cards will you take with you?
        What cards are you taking?
        Which of your cards are coming along?
        Which cards do you want to use abroad?
        Which card are you bringing?
        Could you tell me which cards you will carry?
        What cards would you like to use there?
        And which cards?
        Please tell me the cards that you take with you.
        Which cards should work there?
        Which ones will you take?
        What cards do you plan to bring with you?
        May I ask which of your cards travel with you?
        I need to know which cards you are taking.
        Will you take all of them, or which cards?
    """,
    ("travel_notice", "state_of_cards"): """
        Do all of them work?
        Is any of them frozen?
        Are the cards working at the moment?
        Did you find the card again?
        Is one of them blocked?
        What is the state of your cards?
        Are all of the cards in order?
        Is the card still frozen?
        Do you have all of them with you, and do they work?
        Are they all active?
        Is there a problem with any of the cards?
        Could you tell me whether the cards are working?
        Have you found the card that was misplaced?
        Is anything wrong with any of them?
        Please tell me if any of them is blocked, I mean, do they work?
    """,
    ("cancel_card", "other_card"): """
        Do you have another card?
        What other card do you use?
        Is there another card that you keep?
        Which other card will you pay with?
        Do you have a second card for this account?
        What will you pay with instead?
        Will you still have a card?
        Could you tell me about your other card?
        Is there a remaining card?
        And your other card?
        How will you pay without it?
        Do you have any other cards?
        Please tell me which other card you have.
        Are there more cards on the account?
        May I ask what card is left?
    """,
    ("due_day", "wished_day"): """
        Which day would you like?
        What day of the month should it be?
        On what day do you want it due?
        Which day suits you?
        What should the new due date be?
        To which day should I move it?
        What date would you prefer?
        Please tell me the day you want.
        When should it be due?
        Could you give me the new day?
        And which day?
        What's your preferred day?
        What due day would you like?
        May I ask which day works for you?
        I need to know the day of the month.
    """,
    ("due_day", "which_account"): """
        Which card is it?
        What card is it about?
        Which account do you mean?
        Which of your cards do you mean?
        Could you tell me which card?
        The due day of which card?
        And which account is it?
        What card do you mean?
        Please tell me the card in question.
        Which account should I change?
        Which credit card is it?
        May I ask which card this concerns?
        What kind of card is it?
        Which product is it about?
        I need to know which card you mean.
    """,
    ("hand_over", "account_holder"): """
        Whose account is it?
        What is the account holder's name?
        In whose name is the account?
        Who is the account holder?
        What's the full name of the customer?
        Could you tell me the name of the account holder?
        For whom are you calling?
        What is their full name?
        Who is the customer?
        On whose behalf are you calling?
        Please give me the name on the account.
        Who owns the account?
        And the name of the person?
        May I have the full name of the account holder?
        I need to know whose account it is.
    """,
    ("hand_over", "what_happened"): """
        What happened?
        What is the matter?
        Why are you calling for them?
        Are you the account holder?
        Could you tell me what happened?
        Do you have papers?
        For what reason are you calling?
        What has happened?
        What are the circumstances?
        Please explain what happened.
        Can you tell me more about it?
        What's the reason?
        May I ask what is going on, what happened?
        Would you describe the situation?
        How come you act for the account holder?
    """,
    ("unverified_caller", "town"): """
        Which town do you live in?
        What city are you in?
        Where do you live?
        In which city do you live?
        What town is it?
        Could you tell me your town?
        What's your city?
        Please tell me where you live.
        There are two of that name: which town is yours?
        And the city?
        Where are you based?
        What is your place of residence?
        May I ask which town you live in?
        Which city is your address in?
        I need to know the town.
    """,
}

PHRASINGS: dict[tuple[str, str], tuple[str, ...]] = {
    place: tuple(line.strip() for line in text.strip().splitlines()) for place, text in _TABLE.items()
}
"""At least fifteen questions for each fact; `{name}` stands for the thing that is changed."""
