"""The suggested next commands, printed only at a terminal."""

import shlex
import shutil
import sys

import typer

from logdirwatch.cli.context import Context


def say_next(context: Context, *commands: str, where: str = "") -> None:
    """Print the commands that come next to stderr, with the --config that this one got."""
    if not sys.stderr.isatty():
        return
    given = f" --config {shlex.quote(str(context.config_path))}" if context.config_path else ""
    typer.echo(f"next{where}: " + ", ".join(f"{program()}{given} {command}" for command in commands), err=True)


def program() -> str:
    """Return how the command is called: by its name if the shell finds it, else as it was called now."""
    return "logdirwatch" if shutil.which("logdirwatch") else shlex.quote(sys.argv[0])
