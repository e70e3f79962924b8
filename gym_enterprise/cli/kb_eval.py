"""`gym-enterprise kb eval`: how well searches find the documents that tasks rely on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from gym_enterprise.tasks import Task
    from kb.evaluation import Case, RetrievalScores

KINDS = {
    "opening": "the customer's opening message",
    "oracle": "the searches of the reference",
}
"""What is searched for."""


def evaluate(
    domain: str = typer.Argument(help='A domain\'s name, or an entry point "module:function".'),
    retrieval: str = typer.Option(
        None, help="How documents are ranked, such as bm25, dense or hybrid; default: the domain's."
    ),
    split: str = typer.Option(None, "--split", help="Only this split."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Print recall@k and MRR of the documents that tasks rely on, for openings and for the oracle's queries.

    A task's documents are those that its reference relies on. Of several searches of one reference, the one
    that ranks a document highest counts.
    """
    from gym_enterprise.registry import load_domain
    from kb.evaluation import evaluate_retrieval

    loaded = load_domain(domain, **({"retrieval": retrieval} if retrieval else {}))
    splits = [split] if split else list(loaded.tasks)
    tasks = [task for name in splits for task in loaded.tasks[name].values()]
    depth = len(loaded.documents)
    scores = {kind: evaluate_retrieval(loaded.retriever, _cases(kind, tasks), depth=depth) for kind in KINDS}
    if as_json:
        rows = {kind: _row(one) for kind, one in scores.items()}
        typer.echo(json.dumps({"domain": domain, "retrieval": loaded.retrieval, **rows}, indent=2))
    else:
        _print(f"{len(tasks)} task{'s' * (len(tasks) != 1)} of {domain}, {loaded.retrieval}", scores)


def _cases(kind: str, tasks: Iterable[Task]) -> list[Case]:
    """Return a case for each task that relies on documents and has such searches."""
    from kb.evaluation import Case

    found = [(task, _opening(task) if kind == "opening" else _searches(task)) for task in tasks]
    return [Case(queries, frozenset(task.documents)) for task, queries in found if queries and task.documents]


def _opening(task: Task) -> tuple[str, ...]:
    return (task.user.script.opening,) if task.user.script else ()


def _searches(task: Task) -> tuple[str, ...]:
    calls = [action for action in task.reference if action.name == "kb_search"]
    return tuple(dict.fromkeys(str(call.arguments["query"]) for call in calls))


def _row(scores: RetrievalScores) -> dict[str, Any]:
    recall = {f"recall@{k}": value for k, value in scores.recall.items()}
    return {"tasks": scores.cases, **recall, "mrr": scores.mrr}


def _print(title: str, scores: dict[str, RetrievalScores]) -> None:
    typer.echo(title)
    for kind, one in scores.items():
        cells = [f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in _row(one).items()][
            1:
        ]
        typer.echo(f"{KINDS[kind]:<32}{one.cases:>5} tasks   {'   '.join(cells)}")
