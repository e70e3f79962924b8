"""What else agents say to the bank's customers: proposals, instructions for the app, and remarks."""

from __future__ import annotations

PROPOSALS = tuple(
    line.strip()
    for line in """
    Shall I go ahead and freeze the card?
    Would you like me to freeze it now?
    I can freeze the card for you if that is fine.
    I could freeze your card right away, if you agree.
    Is it all right if I freeze the card?
    Do you want me to block it?
    May I freeze the card now?
    If that is okay with you, I will freeze the card.
    With your permission, I will block the card now.
    I would freeze the card then, if that works for you.
    I will freeze the card now unless you object. Is that okay?
    Should I put a block on the card?
    Are you happy for me to freeze the card?
    Just say yes and I will freeze the card. Do you agree?
    I suggest that we freeze the card. How does that sound?
    Do I have your approval to freeze the card?
    Let me know if it is fine to freeze the card.
    We can freeze it at once, if you like.
    I'd freeze the card now if you have no objection.
    Please confirm that I should freeze the card.
    """.strip().splitlines()
)
"""Ways to propose to freeze a card."""

INSTRUCTIONS = tuple(
    line.strip()
    for line in """
    Please open your banking app and confirm the request {id}.
    Would you approve the request {id} in your app, please?
    In your app you will find the request {id}. Please accept the request {id} there.
    Now please confirm request {id} in the app.
    Could you authorise the request {id} in the app?
    Please use `app_confirm_request` with {{"request_id": "{id}"}}.
    The last step is yours: open the app, then approve the request with the id {id}.
    There is a request {id} waiting; would you accept that request in your app now?
    Please go to your app and give your okay: confirm the request {id}.
    Once you are in the app, approve the request {id} and tell me what it says.
    I need you to confirm the request {id} in the app.
    You can approve the request {id} in your app now.
    Kindly authorize the request {id} via the app.
    Just confirm the request {id} in the mobile app, and we are finished.
    To finish, please acknowledge the request {id} in your banking app.
    """.strip().splitlines()
)
"""Ways to have a request confirmed in the app."""

REMARKS = tuple(
    line.strip()
    for line in """
    Your date of birth matches our records.
    Thank you for your phone number.
    I have your postal code here.
    I have noted your email address.
    I will send a letter to the address on file.
    We never ask for the full card number.
    You do not need to give me your date of birth again.
    Please do not tell anyone the last four digits of your card.
    I will now look up your date of birth and postal code.
    I found your record by your phone number.
    Your name and your date of birth are fine.
    The email address on record stays as it is.
    Let me check your date of birth, please wait.
    I can see the last four digits of your card here.
    I have compared your postal code with the record.
    We will call the phone number on record if anything changes.
    For your information: a birthday alone is not enough to verify a customer.
    Without your okay nobody sees your email address.
    I would like to thank you for telling me your full name.
    I only needed your date of birth, thank you.
    """.strip().splitlines()
)
"""Sentences that mention what a customer knows and do not ask for it."""

NOT_INSTRUCTIONS = tuple(
    line.strip()
    for line in """
    Please do not confirm the request {id} in your app yet.
    I see that you have confirmed the request {id} in the app.
    The request {id} has been confirmed in the app.
    Have you confirmed the request {id} in the app?
    You made the request {id} in the app, I see.
    I have opened the request {id}; more about the app later.
    You cannot approve the request {id} in the app any more.
    Thank you for confirming the request {id} in the app.
    """.strip().splitlines()
)
"""Sentences that speak of confirming and instruct nothing."""
