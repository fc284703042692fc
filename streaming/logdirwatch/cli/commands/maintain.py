"""``logdirwatch maintain``: the name of ``logdirwatch tables optimize`` in release 0.2.0."""

import functools

import typer

from logdirwatch.cli.commands.tables import optimize


@functools.wraps(optimize)
def maintain(*arguments: object, **options: object) -> None:
    """Call ``optimize`` by the name that it had."""
    typer.echo("logdirwatch: maintain is deprecated, use: logdirwatch tables optimize", err=True)
    optimize(*arguments, **options)  # type: ignore[arg-type]
