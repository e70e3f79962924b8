"""`gym-enterprise kb`: search, read, check and measure a domain's policy documents, and list their facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from gym_enterprise.cli import kb_eval

if TYPE_CHECKING:
    from kb import Fact, KnowledgeBase

app = typer.Typer(no_args_is_help=True, help="Search, read, check and measure a domain's policy documents.")

app.command(name="eval")(kb_eval.evaluate)

DOMAIN = typer.Argument(help='A domain\'s name, or an entry point "module:function".')


@app.command()
def search(
    domain: str = DOMAIN,
    query: str = typer.Argument(help="Words to look for."),
    k: int = typer.Option(5, "-k", min=0, max=50, help="How many documents to show at most."),
    retrieval: str = typer.Option(
        None, help="How documents are ranked, such as bm25, dense or hybrid; default: the domain's."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, as the agent's tool returns it."),
) -> None:
    """Rank the documents for a query, as the agent's tool kb_search does."""
    found = _call(domain, "kb_search", {"query": query, "k": k}, retrieval)
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    elif not found:
        typer.echo("No document matches.")
    else:
        for hit in found:
            typer.echo(f"{hit['score']:8.3f}  {hit['document_id']}:{hit['line']}  {hit['title']}")
            for line in hit["snippet"].split("\n"):
                typer.echo(f"          {line}")


@app.command()
def read(domain: str = DOMAIN, document_id: str = typer.Argument(help="The document's id.")) -> None:
    """Print one document."""
    document = _call(domain, "kb_read", {"document_id": document_id})
    typer.echo(f"{document['title']}\n\n{document['content']}")


@app.command()
def check(
    domain: str = DOMAIN, as_json: bool = typer.Option(False, "--json", help="Print the findings as JSON.")
) -> None:
    """Check that documents and facts agree; exit 1 when something was found, 2 when they do not compile."""
    from dataclasses import asdict

    from kb import check_knowledge_base

    knowledge = _knowledge_base(domain)
    findings = check_knowledge_base(knowledge)
    sizes = {
        "documents": len(knowledge.documents),
        "facts": len(knowledge.facts),
        "citations": len(knowledge.citations),
    }
    if as_json:
        typer.echo(json.dumps({**sizes, "findings": [asdict(one) for one in findings]}, indent=2))
    else:
        for one in findings:
            typer.echo(f"{one.place}: {one.rule}: {one.detail}")
        counted = ", ".join(f"{count} {name}" for name, count in sizes.items())
        typer.echo(f"{counted}: {f'{len(findings)} findings' if findings else 'all checks passed'}")
    raise typer.Exit(1 if findings else 0)


@app.command()
def facts(
    domain: str = DOMAIN,
    prefix: str = typer.Argument("", help="Only facts whose keys begin so, such as fees.delivery."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List facts: what holds, since when, and the documents and lines that state it."""
    knowledge = _knowledge_base(domain)
    rows = [
        {
            "key": fact.key,
            "kind": fact.kind,
            "values": [_dated(fact, place) for place in range(len(fact.revisions))],
            "stated": list(
                dict.fromkeys(f"{one.document}:{one.line}" for one in knowledge.stated_in(fact.key))
            ),
        }
        for fact in knowledge.facts.values()
        if fact.key.startswith(prefix)
    ]
    if as_json:
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for row in rows:
        typer.echo(f"{row['key']} ({row['kind']}): {'; '.join(row['values'])}")
        typer.echo(f"    {', '.join(row['stated']) or 'stated nowhere'}")
    if not rows:
        typer.echo(f"No fact begins with {prefix!r}.")


def _dated(fact: Fact, place: int) -> str:
    """Return one of a fact's values with the days on which it holds."""
    from kb import FactError
    from kb.formats import rendered

    revision = fact.revisions[place]
    try:
        text = rendered(fact, revision)
    except FactError:  # a flag or a rule
        text = str(revision.value)
    days = [f"since {revision.since}"] if revision.since else []
    days += [f"until {revision.until}"] if revision.until else []
    return f"{text} ({' '.join(days)})" if days else text


def _knowledge_base(domain: str) -> KnowledgeBase:
    from gym_enterprise.errors import UsageError
    from gym_enterprise.registry import load_domain

    knowledge = load_domain(domain).knowledge_base
    if knowledge is None:
        raise UsageError(
            f"domain {domain!r} has no knowledge base: its documents are not compiled from facts; make it "
            "with documents=load_knowledge_base(folder)"
        )
    return knowledge


def _call(domain: str, name: str, arguments: dict[str, object], retrieval: str | None = None) -> Any:
    """Call a knowledge tool as the agent would, without an episode."""
    from gym_enterprise.errors import UsageError
    from gym_enterprise.lossless import ArgumentError
    from gym_enterprise.registry import load_domain
    from gym_enterprise.tools import ToolError

    chosen = {"retrieval": retrieval} if retrieval else {}
    tool = load_domain(domain, **chosen).toolset("agent").get(name)
    if tool is None:
        raise UsageError(
            f"domain {domain!r} has no tool {name}: it has no documents, or other ways to read them"
        )
    try:
        return tool.function(None, **tool.validate(arguments))
    except ToolError as error:
        raise UsageError(error.message) from None
    except ArgumentError as error:
        raise UsageError(str(error)) from None
