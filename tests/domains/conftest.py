"""Fixtures of the bank's tests."""

from __future__ import annotations

import pytest

from tests.domains.bank_desk import WORLD, Desk


@pytest.fixture
def desk() -> Desk:
    """A desk for a customer with Plus Checking, a Harbor Card, Reserve Savings and an unrefunded fee."""
    WORLD.begin(now="2026-03-02T09:30:00", seed=1)
    customer = WORLD.one(
        "SELECT * FROM customers AS c "
        "WHERE 3 = (SELECT count(DISTINCT product) FROM accounts AS a WHERE a.customer_id = c.customer_id "
        "           AND product IN ('plus', 'harbor', 'reserve')) "
        "AND EXISTS (SELECT 1 FROM accounts JOIN transactions AS t USING (account_id) "
        "            WHERE accounts.customer_id = c.customer_id AND product = 'plus' AND fee = 'overdraft' "
        "            AND t.transaction_id NOT IN (SELECT transaction_id FROM fee_refunds)) "
        "ORDER BY customer_id LIMIT 1"
    )
    assert customer is not None
    return Desk(customer)
