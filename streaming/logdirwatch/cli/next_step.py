"""The suggested next commands, printed only at a terminal."""

import shlex
import sys

import typer

from logdirwatch.cli.context import Context


def say_next(context: Context, *commands: str, where: str = "") -> None:
    """Print the commands that come next to stderr, with the --config that this one got."""
    if not sys.stderr.isatty():
        return
    given = f" --config {shlex.quote(str(context.config_path))}" if context.config_path else ""
    typer.echo(f"next{where}: " + ", ".join(f"logdirwatch{given} {command}" for command in commands), err=True)
