"""`gym-enterprise show`: everything about a task, for its author."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import typer


def show(
    task_id: str = typer.Argument(help="The task's id."),
    domain: str = typer.Option("banking", help='A domain\'s name, or an entry point "module:function".'),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Print everything about a task, for its author: it holds the reference; exit 1 when a check fails.

    The story, the reference with what each call changes, the documents with the lines that state facts, the
    knobs, and each attack with its outcome.
    """
    from gym_enterprise.cli.dossier import dossier
    from gym_enterprise.registry import load_domain

    loaded = load_domain(domain)
    found = dossier(loaded, loaded.task(task_id))
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        for title, lines in _sections(found):
            typer.secho(title, bold=True)
            for line in lines:
                typer.echo(f"  {line}")
            typer.echo()
        typer.echo(_verdict(found["checks"]))
    raise typer.Exit(0 if all(check["ok"] for check in found["checks"]) else 1)


def _sections(found: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    task = found["task"]
    user = task.get("user", {})
    yield (
        f"{task['id']}: {task['domain']}, {task['split']}, {task['family']}",
        list(_head(task, found["hash"])),
    )
    yield "Story", [text for name in ("persona", "instructions") if (text := user.get(name))]
    if script := user.get("script"):
        yield "Script", list(_script(script))
    yield "State before", list(_state(task.get("state", {}))) or ["as in the domain's database"]
    yield "Reference", [line for step in found["reference"] for line in _step(step)]
    for number, actions in enumerate(task.get("alternatives", ()), start=1):
        yield f"Alternative {number}", [_call(action) for action in actions]
    yield "Documents", [line for one in found["documents"] for line in _document(one)]
    knobs = task.get("meta", {}).get("knobs", {})
    yield "Knobs", [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in knobs.items()]
    yield "Checks", [_check(check) for check in found["checks"]]


def _head(task: dict[str, Any], digest: str) -> Iterator[str]:
    yield f"now {task['now']}, seed {task.get('seed', 0)}, hash {digest}"
    if task.get("capabilities"):
        yield f"capabilities: {', '.join(task['capabilities'])}"
    if twin := task.get("meta", {}).get("twin_of"):
        yield f"twin of {twin}"
    if task.get("notes"):
        yield f"notes: {task['notes']}"


def _script(script: dict[str, Any]) -> Iterator[str]:
    yield f"opens: {script['opening']}"
    for name, fact in script.get("facts", {}).items():
        asked = ", ".join(fact.get("asked", ()))
        also = f" (also asked as: {asked})" if asked else ""
        yield f"knows {name.replace('_', ' ')}: {fact['value']}{also}"
    kinds = {"wants": "wants", "later": "later wants", "pushback": "insists", "declines": "declines"}
    for key, told in kinds.items():
        for item in script.get(key, ()):
            words = ", ".join(item.get("about", item.get("when", ())))
            yield f"{told}: {item.get('say', '') or '-'}{f' (about: {words})' if words else ''}"


def _state(state: dict[str, Any]) -> Iterator[str]:
    for kind, tables in state.items():
        for table, rows in tables.items():
            for row in rows:
                yield f"{kind} {table}: {json.dumps(row, ensure_ascii=False)}"


def _step(step: dict[str, Any]) -> Iterator[str]:
    from gym_enterprise.cli.demo import describe_row

    after = ", ".join(map(str, step["after"])) or "the start"
    yield f"{step['index']}. {_call(step)}  (after {after}){'' if step['ok'] else '  FAILS'}"
    for row in step["changes"]:
        yield f"     changes: {describe_row(row)}"
    for row in step["undone"]:
        yield f"     undoes: {describe_row(row)}"


def _call(action: dict[str, Any]) -> str:
    given = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in action.get("arguments", {}).items()
    )
    return f"{action['seat']} {action['name']}({given})"


def _document(document: dict[str, Any]) -> Iterator[str]:
    yield f"{document['id']}: {document['title']}"
    for line in document["cited"]:
        yield f"    {line['line']:>3} | {line['text'].strip()}  [{', '.join(line['facts'])}]"


def _check(check: dict[str, Any]) -> str:
    if not check["applicable"]:
        told = "does not apply"
    elif check["reward"] is None:
        told = "passed" if check["ok"] else "failed"
    else:
        told = f"reward {check['reward']}"
    fault = "" if check["ok"] else f"  FAILS: {check['detail']}"
    return f"{check['kind']:<9} {check['name']:<20} {told}{fault}"


def _verdict(checks: list[dict[str, Any]]) -> str:
    failed = sum(not check["ok"] for check in checks)
    return (
        f"not admitted: {failed} of {len(checks)} checks failed" if failed else "admitted: all checks passed"
    )
