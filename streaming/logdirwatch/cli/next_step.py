"""What a person does after a command: said at a terminal alone, since programs and services have no next."""

import shlex
import sys

import typer

from logdirwatch.cli.context import Context


def say_next(context: Context, *commands: str, where: str = "") -> None:
    """Name the commands that come next, on stderr, with the configuration that this one was given."""
    if not sys.stderr.isatty():
        return
    given = f" --config {shlex.quote(str(context.config_path))}" if context.config_path else ""
    typer.echo(f"next{where}: " + ", ".join(f"logdirwatch{given} {command}" for command in commands), err=True)
