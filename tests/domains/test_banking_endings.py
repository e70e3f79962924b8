"""What the bank's documents allow scores, whichever way an agent takes; what they forbid does not."""

from __future__ import annotations

from itertools import combinations

import pytest

from gym_enterprise import Episode, load_domain
from gym_enterprise.domains.banking.procedures import tasks

BANK = load_domain("banking")
FACTS = ("date_of_birth", "phone", "email", "postal_code", "card_last_four")


def variants(family, variant, customers="newcomers"):
    made = tasks(9, 6, [family], customers=customers, research=False)
    return [task for task in made if task.id.endswith(variant)]


@pytest.mark.parametrize("customers", ["newcomers", "residents"])
def test_no_two_facts_of_an_unverified_caller_fit_a_record_of_that_name(customers):
    """An agent may ask for any facts; that each of them leads to a refusal is what the task says."""
    for task in variants("unverified_caller", "-unverified", customers):
        told = {name: task.user.script.facts[name].value for name in FACTS}
        named = {"full_name": task.user.script.facts["full_name"].value}
        calls = Episode(BANK, task).dispatcher
        records = [
            row["customer_id"] for row in calls.call("agent", "find_customer", named).to_dict()["result"]
        ]
        assert len(records) == 2
        for record in records:
            for pair in combinations(FACTS, 2):
                facts = {name: told[name] for name in pair}
                verified = calls.call("agent", "verify_identity", {"customer_id": record, **facts})
                assert not verified.ok, (task.id, pair)


def test_a_limit_is_not_raised_after_contact_data_were_changed_in_the_same_conversation():
    """Document order-of-requests: once the data are changed "the raise has to be refused"."""
    for task in variants("contact_and_limit", "-allowed"):
        episode = Episode(BANK, task)
        for action in sorted(task.reference, key=lambda one: one.name == "open_limit_request_3168"):
            outcome = episode.dispatcher.call(action.seat, action.name, action.arguments)
            if action.name == "open_limit_request_3168":
                assert outcome.to_dict()["error"]["code"] == "contact_changed"
        assert episode.grade().reward == 0.0
