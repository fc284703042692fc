"""The global options of every command, and the commands that are suggested next at a terminal."""

import shlex
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import typer

from logdirwatch import settings as configuration
from logdirwatch.settings import Settings


@dataclass
class Context:
    """The global options."""

    config_path: Path | None = None
    debug: bool = False

    @cached_property
    def settings(self) -> Settings:
        """The configuration, read at first use."""
        return configuration.load(configuration.find_config(self.config_path))


def say_next(context: Context, *commands: str, where: str = "") -> None:
    """Print the commands that come next to stderr, with the --config that this one got."""
    if not sys.stderr.isatty():
        return
    given = f" --config {shlex.quote(str(context.config_path))}" if context.config_path else ""
    typer.echo(f"next{where}: " + ", ".join(f"{program()}{given} {command}" for command in commands), err=True)


def program() -> str:
    """Return how the command is called: by its name if the shell finds it, else as it was called now."""
    return "logdirwatch" if shutil.which("logdirwatch") else shlex.quote(sys.argv[0])
