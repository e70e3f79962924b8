"""The command tree."""

from __future__ import annotations

import typer

from gym_enterprise.cli import demo, doctor, evaluate, kb, play, runs, show, tasks, view


def make_app() -> typer.Typer:
    """Return the whole command line as a Typer application."""
    app = typer.Typer(
        name="gym-enterprise",
        help="A gym for enterprise conversational agents: two players, one database, an exact reward.",
        no_args_is_help=True,
        rich_markup_mode="markdown",  # paragraphs of docstrings are filled anew
        pretty_exceptions_enable=False,
        add_completion=False,
    )
    app.callback()(version)
    app.command(name="demo")(demo.demo)
    app.command(name="play")(play.play)
    app.command(name="doctor")(doctor.doctor)
    app.command(name="show")(show.show)
    app.command(name="eval")(evaluate.evaluate)
    app.command(name="compare")(runs.compare)
    app.command(name="regrade")(runs.regrade)
    app.command(name="view")(view.view)
    app.add_typer(tasks.app, name="tasks")
    app.add_typer(kb.app, name="kb")
    return app


def version(
    wanted: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True),
) -> None:
    """A gym for enterprise conversational agents: two players, one database, an exact reward."""
    if wanted:
        from gym_enterprise import __version__

        typer.echo(__version__)
        raise typer.Exit
