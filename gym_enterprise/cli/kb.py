"""`gym-enterprise kb`: search and read a domain's policy documents."""

from __future__ import annotations

import json
from typing import Any

import typer

app = typer.Typer(no_args_is_help=True, help="Search and read a domain's policy documents.")

DOMAIN = typer.Argument(help='A domain\'s name, or an entry point "module:function".')


@app.command()
def search(
    domain: str = DOMAIN,
    query: str = typer.Argument(help="Words to look for."),
    k: int = typer.Option(5, "-k", min=0, max=50, help="How many documents to show at most."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, as the agent's tool returns it."),
) -> None:
    """Rank the documents for a query, as the agent's tool kb_search does."""
    found = _call(domain, "kb_search", {"query": query, "k": k})
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


def _call(domain: str, name: str, arguments: dict[str, object]) -> Any:
    """Call a knowledge tool as the agent would, without an episode."""
    from gym_enterprise.errors import UsageError
    from gym_enterprise.lossless import ArgumentError
    from gym_enterprise.registry import load_domain
    from gym_enterprise.tools import ToolError

    tool = load_domain(domain).toolset("agent").get(name)
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
