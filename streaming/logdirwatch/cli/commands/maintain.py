"""``logdirwatch maintain``: the name of ``logdirwatch tables optimize`` in release 0.2.0."""

import functools

import typer

from logdirwatch.cli.commands.tables import optimize


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("maintain", hidden=True)(_maintain)


@functools.wraps(optimize)
def _maintain(*arguments: object, **options: object) -> None:
    typer.echo("logdirwatch: maintain is deprecated, use: logdirwatch tables optimize", err=True)
    optimize(*arguments, **options)  # type: ignore[arg-type]
