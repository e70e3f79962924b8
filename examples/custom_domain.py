"""A domain of your own: a schema, two tools, one task.

Run: python examples/custom_domain.py

A lending library. The customer wants a loan extended; the policy allows it once.
"""

from typing import Annotated, Any

from gym_enterprise import (
    Document,
    Domain,
    Episode,
    Key,
    Task,
    ToolError,
    World,
    WorldImage,
    register_domain,
    run_episode,
    tool,
)
from gym_enterprise.admission import check_task

SCHEMA = """
CREATE TABLE loans (
    loan_id TEXT PRIMARY KEY, member TEXT NOT NULL, title TEXT NOT NULL,
    due TEXT NOT NULL, extended INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX loans_by_member ON loans (member, loan_id);
"""
LOANS = [
    {"loan_id": "L1", "member": "M7", "title": "Middlemarch", "due": "2026-03-05"},
    {"loan_id": "L2", "member": "M7", "title": "Emma", "due": "2026-03-09"},
]
LoanId = Annotated[str, Key("loans.loan_id")]


@tool()
def list_loans(world: World, member: str) -> Any:
    """List a member's loans, ordered by loan id.

    Args:
        member: The member's number.
    """
    return world.query(
        "SELECT loan_id, title, due, extended FROM loans WHERE member = ? ORDER BY loan_id", member
    )


@tool(writes=True)
def extend_loan(world: World, loan_id: LoanId, weeks: int) -> Any:
    """Extend a loan that was not extended before.

    Args:
        loan_id: The loan.
        weeks: By how many weeks.
    """
    loan = world.one("SELECT due, extended FROM loans WHERE loan_id = ?", loan_id)
    if loan is None:
        raise ToolError("unknown_loan", f"there is no loan {loan_id!r}; see list_loans")
    if loan["extended"]:
        raise ToolError("already_extended", "a loan is extended once")
    world.execute(
        "UPDATE loans SET due = date(due, ? || ' days'), extended = 1 WHERE loan_id = ?", 7 * weeks, loan_id
    )
    return world.one("SELECT loan_id, due FROM loans WHERE loan_id = ?", loan_id)


def make_domain() -> Domain:
    """Build the library."""
    task = Task.model_validate(
        {
            "id": "extend-1",
            "domain": "library",
            "split": "train",
            "family": "extend",
            "now": "2026-03-02T09:30:00",
            "user": {
                "script": {
                    "opening": "I need more time for Middlemarch.",
                    "facts": {"member": {"value": "M7", "asked": ["member number"]}},
                    "wants": [{"about": ["extend", "Middlemarch"]}],
                }
            },
            "reference": [
                {"name": "kb_search", "arguments": {"query": "extend a loan"}},
                {"name": "list_loans", "arguments": {"member": "M7"}},
                {"name": "extend_loan", "arguments": {"loan_id": "L1", "weeks": 2}},
            ],
            "documents": ["extending"],
            "meta": {"knobs": {"writes": 1, "siblings": 1}},
        }
    )
    policy = "You work at the desk of a lending library. Look things up before you act."
    documents = [Document("extending", "Extending a loan", "A loan may be extended once, by two weeks.")]
    image = WorldImage.build(SCHEMA, {"loans": LOANS})
    return Domain("library", image, [list_loans, extend_loan], policy, {"train": [task]}, documents=documents)


register_domain("library", f"{__name__}:make_domain")


def main() -> float | None:
    domain = make_domain()
    task = domain.tasks["train"]["extend-1"]
    for check in check_task(domain, task):
        print(f"{check.kind:9} {check.name:12} {'passed' if check.ok else check.detail}")
    record = run_episode(Episode(domain, task), agent="oracle", user="scripted")
    print(f"reward {record.reward}: {record.grade.reason}")
    return record.reward


if __name__ == "__main__":
    main()
