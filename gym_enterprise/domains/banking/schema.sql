-- The records of Fernwick Bank. Money is integer cents (money out is negative); dates are ISO text.

CREATE TABLE customers (
    customer_id TEXT NOT NULL PRIMARY KEY,
    full_name TEXT NOT NULL,
    search_name TEXT NOT NULL,               -- the name in lower case, for lookups
    date_of_birth TEXT NOT NULL CHECK (length(date_of_birth) = 10),
    phone TEXT NOT NULL,
    phone_digits TEXT NOT NULL,              -- the digits of the phone number, for lookups
    email TEXT NOT NULL,
    street TEXT NOT NULL,
    city TEXT NOT NULL,
    postal_code TEXT NOT NULL CHECK (length(postal_code) = 5),
    membership TEXT NOT NULL CHECK (membership IN ('member', 'steady', 'keystone')),
    joined_on TEXT NOT NULL CHECK (length(joined_on) = 10),
    contact_changed_on TEXT CHECK (length(contact_changed_on) = 10)
) STRICT;
CREATE INDEX customers_by_name ON customers (search_name, customer_id);
CREATE INDEX customers_by_phone ON customers (phone_digits, customer_id);

CREATE TABLE accounts (
    account_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    product TEXT NOT NULL
        CHECK (product IN ('everyday', 'plus', 'premier', 'campus', 'anchor', 'workbench', 'voyager',
                           'reserve', 'goal', 'notice', 'term', 'bonus', 'rainy',
                           'harbor', 'summit', 'beacon', 'quay', 'meridian', 'workcard', 'pebble')),
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    balance_cents INTEGER NOT NULL,          -- negative on a credit card: what the customer owes
    credit_limit_cents INTEGER CHECK (credit_limit_cents > 0),
    opened_on TEXT NOT NULL CHECK (length(opened_on) = 10),
    closed_on TEXT CHECK (length(closed_on) = 10),
    CHECK ((credit_limit_cents IS NULL)
           = (product NOT IN ('harbor', 'summit', 'beacon', 'quay', 'meridian', 'workcard'))),
    CHECK ((closed_on IS NULL) = (status = 'open'))
) STRICT;
CREATE INDEX accounts_by_customer ON accounts (customer_id, account_id);

-- Points that a card account has collected; accounts that collect none have no row.
CREATE TABLE points (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
    points INTEGER NOT NULL CHECK (points >= 0)
) STRICT;

-- Day of the month on which a card's bill is due; without a row it is the first, and never changed.
CREATE TABLE due_days (
    account_id TEXT NOT NULL PRIMARY KEY REFERENCES accounts (account_id),
    day INTEGER NOT NULL CHECK (day BETWEEN 1 AND 28),
    changed_on TEXT CHECK (length(changed_on) = 10)
) STRICT;

CREATE TABLE cards (
    card_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    last_four TEXT NOT NULL CHECK (length(last_four) = 4),
    status TEXT NOT NULL CHECK (status IN ('active', 'frozen', 'cancelled', 'pending_activation')),
    frozen_for TEXT CHECK (frozen_for IN ('misplaced', 'lost', 'stolen', 'suspicious')),
    purchase_limit_cents INTEGER NOT NULL CHECK (purchase_limit_cents >= 0),
    cash_limit_cents INTEGER NOT NULL CHECK (cash_limit_cents >= 0),
    issued_on TEXT NOT NULL CHECK (length(issued_on) = 10),
    expires_on TEXT NOT NULL CHECK (length(expires_on) = 10),
    CHECK ((frozen_for IS NOT NULL) = (status = 'frozen'))
) STRICT;
CREATE INDEX cards_by_account ON cards (account_id, card_id);

CREATE TABLE transactions (
    transaction_id TEXT NOT NULL PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (account_id),
    card_id TEXT REFERENCES cards (card_id),
    posted_on TEXT NOT NULL CHECK (length(posted_on) = 10),
    kind TEXT NOT NULL
        CHECK (kind IN ('purchase', 'cash', 'fee', 'deposit', 'payment', 'transfer', 'interest', 'credit')),
    fee TEXT CHECK (fee IN ('overdraft', 'late_payment', 'foreign_purchase', 'monthly', 'card_replacement')),
    description TEXT NOT NULL,
    amount_cents INTEGER NOT NULL CHECK (amount_cents <> 0),
    CHECK ((fee IS NOT NULL) = (kind = 'fee'))
) STRICT;
CREATE INDEX transactions_by_account ON transactions (account_id, posted_on, transaction_id);
CREATE INDEX transactions_by_card ON transactions (card_id);

CREATE TABLE fee_refunds (
    refund_id TEXT NOT NULL PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES transactions (transaction_id),
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    basis TEXT NOT NULL CHECK (basis IN ('courtesy', 'bank_error')),
    refunded_on TEXT NOT NULL CHECK (length(refunded_on) = 10)
) STRICT;
CREATE INDEX fee_refunds_by_customer ON fee_refunds (customer_id, refunded_on, refund_id);

CREATE TABLE transfers (
    transfer_id TEXT NOT NULL PRIMARY KEY,
    from_account_id TEXT NOT NULL REFERENCES accounts (account_id),
    to_account_id TEXT NOT NULL REFERENCES accounts (account_id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    made_on TEXT NOT NULL CHECK (length(made_on) = 10),
    CHECK (from_account_id <> to_account_id)
) STRICT;
CREATE INDEX transfers_by_source ON transfers (from_account_id, made_on, transfer_id);
CREATE INDEX transfers_by_target ON transfers (to_account_id, made_on, transfer_id);

-- Money that leaves a Notice Saver when its notice ends.
CREATE TABLE withdrawal_notices (
    notice_id TEXT NOT NULL PRIMARY KEY,
    from_account_id TEXT NOT NULL REFERENCES accounts (account_id),
    to_account_id TEXT NOT NULL REFERENCES accounts (account_id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    given_on TEXT NOT NULL CHECK (length(given_on) = 10),
    pays_on TEXT NOT NULL CHECK (length(pays_on) = 10),
    CHECK (given_on < pays_on)
) STRICT;
CREATE INDEX withdrawal_notices_by_source ON withdrawal_notices (from_account_id, pays_on, notice_id);
CREATE INDEX withdrawal_notices_by_target ON withdrawal_notices (to_account_id);

CREATE TABLE disputes (
    dispute_id TEXT NOT NULL PRIMARY KEY,
    transaction_id TEXT NOT NULL UNIQUE REFERENCES transactions (transaction_id),
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    reason TEXT NOT NULL CHECK (reason IN ('unauthorised', 'duplicate', 'not_received', 'wrong_amount')),
    provisional_credit INTEGER NOT NULL CHECK (provisional_credit IN (0, 1)),
    status TEXT NOT NULL CHECK (status IN ('open', 'upheld', 'rejected')),
    opened_on TEXT NOT NULL CHECK (length(opened_on) = 10)
) STRICT;
CREATE INDEX disputes_by_customer ON disputes (customer_id, opened_on, dispute_id);

CREATE TABLE card_orders (
    order_id TEXT NOT NULL PRIMARY KEY,
    card_id TEXT NOT NULL UNIQUE REFERENCES cards (card_id),
    new_card_id TEXT NOT NULL UNIQUE REFERENCES cards (card_id),
    reason TEXT NOT NULL CHECK (reason IN ('lost', 'stolen', 'damaged', 'expiring')),
    delivery TEXT NOT NULL CHECK (delivery IN ('standard', 'express')),
    fee_cents INTEGER NOT NULL CHECK (fee_cents >= 0),
    frozen_for TEXT CHECK (frozen_for IN ('misplaced', 'lost', 'stolen', 'suspicious')),
    sent_to TEXT NOT NULL,
    ordered_on TEXT NOT NULL CHECK (length(ordered_on) = 10)
) STRICT;

CREATE TABLE app_requests (
    request_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    kind TEXT NOT NULL CHECK (kind IN ('purchase_limit', 'cash_limit', 'transfer')),
    card_id TEXT REFERENCES cards (card_id),
    from_account_id TEXT REFERENCES accounts (account_id),
    to_account_id TEXT REFERENCES accounts (account_id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    status TEXT NOT NULL CHECK (status IN ('waiting', 'confirmed')),
    opened_on TEXT NOT NULL CHECK (length(opened_on) = 10),
    CHECK ((kind = 'transfer') = (card_id IS NULL)),
    CHECK ((kind = 'transfer') = (from_account_id IS NOT NULL)),
    CHECK ((kind = 'transfer') = (to_account_id IS NOT NULL))
) STRICT;
CREATE INDEX app_requests_by_customer ON app_requests (customer_id, opened_on, request_id);
CREATE INDEX app_requests_by_card ON app_requests (card_id);
CREATE INDEX app_requests_by_source ON app_requests (from_account_id);
CREATE INDEX app_requests_by_target ON app_requests (to_account_id);

CREATE TABLE travel_notices (
    notice_id TEXT NOT NULL PRIMARY KEY,
    card_id TEXT NOT NULL REFERENCES cards (card_id),
    country TEXT NOT NULL CHECK (length(country) = 2),
    starts_on TEXT NOT NULL CHECK (length(starts_on) = 10),
    ends_on TEXT NOT NULL CHECK (length(ends_on) = 10),
    CHECK (starts_on <= ends_on)
) STRICT;
CREATE INDEX travel_notices_by_card ON travel_notices (card_id, starts_on, notice_id);

CREATE TABLE refusals (
    refusal_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    request TEXT NOT NULL
        CHECK (request IN ('fee_refund', 'dispute', 'limit_increase', 'card_replacement', 'contact_change',
                           'transfer', 'account_closure', 'card_unfreeze', 'points_redemption',
                           'card_cancellation', 'due_date_change')),
    reason TEXT NOT NULL
        CHECK (reason IN ('courtesy_used_up', 'outside_time_limit', 'records_show_otherwise',
                          'not_part_of_product', 'waiting_period', 'above_ceiling', 'identity_not_verified')),
    recorded_on TEXT NOT NULL CHECK (length(recorded_on) = 10)
) STRICT;
CREATE INDEX refusals_by_customer ON refusals (customer_id, recorded_on, refusal_id);

CREATE TABLE handoffs (
    handoff_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT REFERENCES customers (customer_id),
    reason TEXT NOT NULL
        CHECK (reason IN ('bereavement', 'third_party', 'legal', 'complaint', 'threat_of_harm', 'out_of_scope')),
    verified INTEGER NOT NULL CHECK (verified IN (0, 1)),  -- whether anybody was, in the conversation
    created_on TEXT NOT NULL CHECK (length(created_on) = 10),
    summary TEXT NOT NULL                    -- ungraded: the agent's own words
) STRICT;
CREATE INDEX handoffs_by_customer ON handoffs (customer_id);

-- Ungraded from here on: how the agent got there, not what it did.

CREATE TABLE verifications (
    verification_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    level TEXT NOT NULL CHECK (level IN ('standard', 'enhanced')),
    facts TEXT NOT NULL,
    verified_at TEXT NOT NULL
) STRICT;
CREATE INDEX verifications_by_customer ON verifications (customer_id, verified_at, level);
CREATE INDEX verifications_by_time ON verifications (verified_at);

CREATE TABLE contact_log (
    entry_id TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id),
    note TEXT NOT NULL,
    logged_at TEXT NOT NULL
) STRICT;
CREATE INDEX contact_log_by_customer ON contact_log (customer_id, logged_at, entry_id);

-- Who is signed in to the app on the phone that the user holds; a task's state fills it in.
CREATE TABLE app_sessions (
    device TEXT NOT NULL PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (customer_id)
) STRICT;
CREATE INDEX app_sessions_by_customer ON app_sessions (customer_id);
