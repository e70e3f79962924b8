"""`gym-enterprise view`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path

import typer


def view(
    run: Path = typer.Argument(help="Folder of the run."),
    out: Path = typer.Option(None, help="The file to write; by default report.html in the run's folder."),
    domain: str = typer.Option(None, help="The domain; by default the one that the run names."),
    open_: bool = typer.Option(False, "--open/--no-open", help="Show the file in the browser."),
) -> None:
    """Write a run as one HTML file to read in a browser, offline: numbers, tasks, and every episode."""
    from gym_enterprise.harness.report import write_report

    report = write_report(run, out or run / "report.html", domain)
    for note in report.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{report.path} ({_size(report.size)})")
    if open_:
        import webbrowser

        webbrowser.open(report.path.resolve().as_uri())


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} KB"
