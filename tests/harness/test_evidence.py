"""Look before act, on transcripts written by hand for the shop."""

from __future__ import annotations

from typing import Any

import pytest

from gym_enterprise.harness.evidence import look, look_before_act, quiet_tools
from tests.harness.records import did, record, said
from tests.shop import TOOLS, make_domain, task

DOMAIN = make_domain()
TOOLSET = DOMAIN.toolset("agent")
QUIET = {"get_order"}
TASK = task("t", documents=["refunds", "ratings"])


def seen(*steps: Any, quiet: Any = QUIET) -> Any:
    return look(tuple(entry for step in steps for entry in step), TASK, TOOLSET, quiet=quiet)


def test_reads_and_documents_before_the_first_change_are_told_from_later_ones() -> None:
    found = seen(
        said("user", "Cancel O1."),
        did("kb_search", query="refund"),
        did("kb_read", document_id="refunds"),
        did("list_orders", account_id="A1"),
        did("cancel_order", order_id="O1"),
        did("kb_read", document_id="ratings"),
        did("issue_credit", account_id="A1", amount=1),
    )
    assert (found.acted, found.reads_before) == (True, 2)
    assert found.opened_before == ("refunds",)
    assert found.opened == ("refunds", "ratings")
    assert found.never_opened == ()


def test_failed_calls_repeated_reads_searches_and_builtins_are_no_reads() -> None:
    found = seen(
        did("kb_read", document_id="nothing", error="unknown_document"),
        did("list_orders", account_id="A1"),
        did("list_orders", account_id="A1"),
        did("kb_search", query="refund"),
        did("unlock_tool", name="expedite_order_77"),
        did("give_tool", name="rate_order_5"),
        did("no_such_tool", error="unknown_tool"),
    )
    assert (found.acted, found.reads_before, found.opened) == (False, 1, ())
    assert found.never_opened == ("refunds", "ratings")


def test_a_failed_write_is_no_change_and_a_users_call_is_not_the_agents() -> None:
    found = seen(
        did("cancel_order", order_id="O9", error="unknown_order"),
        did("cancel_order", seat="user", order_id="O1"),
        did("kb_read", document_id="refunds"),
        did("cancel_order", order_id="O1"),
    )
    assert (found.acted, found.opened_before) == (True, ("refunds",))


def test_a_document_outside_of_the_reference_is_evidence_but_not_one_of_its_sources() -> None:
    found = seen(did("kb_read", document_id="expediting"), did("cancel_order", order_id="O1"))
    assert (found.reads_before, found.opened, found.never_opened) == (1, (), ("refunds", "ratings"))


@pytest.mark.parametrize("arguments", [{"order_id": "O1"}, '{"order_id": "O1"}'])
def test_a_call_through_use_tool_is_the_call_inside(arguments: Any) -> None:
    found = seen(did("use_tool", name="expedite_order_77", arguments=arguments))
    assert (found.acted, found.reads_before) == (True, 0)


def test_a_quiet_tool_reads_and_a_tool_that_is_not_changes() -> None:
    steps = (did("get_order", order_id="O1"), did("cancel_order", order_id="O1"))
    assert seen(*steps).reads_before == 1
    assert seen(*steps, quiet=()).reads_before == 0


def test_quiet_tools_are_those_whose_calls_in_references_change_nothing_graded() -> None:
    # The shop's references use get_order, which writes an ungraded log only, cancel_order and
    # expedite_order_77, which change orders; no reference uses issue_credit.
    assert quiet_tools(DOMAIN, DOMAIN.tasks["train"].values()) == {"get_order"}
    assert quiet_tools(DOMAIN, []) == frozenset()


def test_episodes_are_averaged_and_sources_never_opened_are_counted() -> None:
    act = did("cancel_order", order_id="O1")
    opened = did("kb_read", document_id="refunds")
    records = [
        record("t", 0, transcript=(*opened, *act)),
        record("t", 1, transcript=tuple(act)),
        record("t", 2, transcript=tuple(opened)),
        record("u", 0, transcript=tuple(act)),
    ]
    found = look_before_act(records, {"t": TASK, "u": task("u", documents=[])}, TOOLSET)
    assert (found.episodes, found.acted, found.blind) == (4, 3, 2)
    assert found.reads_before == pytest.approx(1 / 3)
    assert found.documents_before == pytest.approx((1 / 2 + 0) / 2)
    assert found.documents_opened == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    assert list(found.never_opened.items()) == [("ratings", 3), ("refunds", 1)]


def test_without_kb_read_nothing_is_said_of_documents() -> None:
    toolset = make_domain(documents=[], tasks={"train": []}, tools=TOOLS).toolset("agent")
    acts = record("t", transcript=tuple(did("cancel_order", order_id="O1")))
    found = look_before_act([acts], {"t": TASK}, toolset)
    assert (found.acted, found.never_opened) == (1, {})
    assert (found.documents_before, found.documents_opened) == (None, None)
