"""NumericView in the bank: what customers say is heard, and tasks are solved by entries of the menu alone."""

from __future__ import annotations

import numpy as np
import pytest

from gym_enterprise.domains.banking import procedures
from gym_enterprise.envs import NumericView, SingleAgentEnv
from gym_enterprise.envs.numeric.observed import values_in
from tests.envs.players import call


def test_values_are_read_from_sentences():
    text = "My date of birth is 1984-03-02. Mail me at ada@elm.example! Set it to $1,500.50; id: ord_12ab"
    assert values_in(text) == (
        ("date_of_birth", "1984-03-02"),
        ("(date)", "1984-03-02"),
        ("(email)", "ada@elm.example"),
        ("(dollars)", 1500.5),
        ("id", "ord_12ab"),
        ("(id)", "ord_12ab"),
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "My postal code is 30417.",
        "Sure, my postal code is 30417.",
        "My postal code: 30417.",
        "30417 is my postal code.",
        "That would be 30417, my postal code.",
        "My postal code? It is 30417.",
    ],
)
def test_a_customer_may_name_a_value_in_many_ways(sentence):
    assert values_in(f"{sentence} My card is gone.") == (("postal_code", "30417"), ("card", "gone"))


def test_numbers_that_are_no_values_are_known_as_such():
    assert values_in("I want day 17 for my card ending in 3183.") == (("(whole)", 17),)
    assert values_in("I wonder: is that my fault, the fee?") == (("i_wonder", "is that my fault, the fee"),)


def bank(path, *tasks, **arguments):
    path.write_text("".join(f"{made.model_dump_json()}\n" for made in tasks))
    return NumericView(SingleAgentEnv("banking", tasks=path), **arguments)


IDENTIFIED = (
    *("ask phone", "ask date_of_birth", "ask postal_code", "ask card_last_four"),
    *("call find_customer_by_phone values 0", "call verify_identity values 0"),
)


def take(view, *wanted):
    """Take open entries by their labels."""
    for label in wanted:
        numbers = [item.index for item in view.menu() if item.label == label]
        assert numbers, f"{label} is closed"
        view.step(numbers[0])


def do(view, name, /, **arguments):
    """Take the entry that calls a tool with these arguments now."""
    found = [item for item in view.menu() if item.action == call(name, **arguments)]
    assert len(found) == 1, f"{name} {arguments}"
    view.step(found[0].index)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("family", ["freeze_card", "change_contact", "lower_limit", "unfreeze_card"])
def test_a_bank_task_is_solved_by_entries_of_the_menu_alone_however_the_customer_talks(
    family, seed, tmp_path
):
    (made,) = procedures.tasks(7, 1, [family], split="test", research=False)
    view = bank(tmp_path / "tasks.jsonl", made, asks=["new phone", "new email"])
    view.reset(seed=seed)
    take(view, *IDENTIFIED, "call list_cards values 0", "ask new_phone", "ask new_email")
    last = made.reference[-1]
    do(view, last.name, **last.arguments)
    assert view.unwrapped.grade().reward == 1.0


def test_a_tool_that_only_documents_name_is_found_unlocked_and_used_for_a_bank_task(tmp_path):
    made = next(
        made
        for made in procedures.tasks(5, 20, ["due_day"], research=False)
        if made.reference[-1].name == "set_due_day_3316" and not made.user.script.later
    )
    view = bank(tmp_path / "tasks.jsonl", made, asks=["wished day"], topics=["change the day of payment"])
    view.reset(seed=0)
    take(view, "call kb_search values 1")
    do(view, "kb_read", document_id="changing-the-due-day")
    do(view, "unlock_tool", name="set_due_day_3316")
    take(view, *IDENTIFIED, "call list_accounts values 0", "ask wished_day")
    do(view, "use_tool", name="set_due_day_3316", arguments=dict(made.reference[-1].arguments))
    assert view.unwrapped.grade().reward == 1.0


def test_all_families_of_the_bank_play_at_random_to_an_end(tmp_path):
    tasks = procedures.tasks(3, len(procedures.FAMILIES))
    view = bank(tmp_path / "tasks.jsonl", *tasks, illegal="raise")
    rng = np.random.default_rng(0)
    assert {made.family for made in tasks} == set(procedures.FAMILIES)
    for made in tasks:
        observation, info = view.reset(seed=1, options={"task_id": made.id})
        over = False
        while not over:
            assert observation in view.observation_space
            number = int(rng.choice(np.flatnonzero(info["action_mask"])))
            observation, _, terminated, truncated, info = view.step(number)
            over = terminated or truncated
