"""The ``logdirwatch`` command: collects the commands and turns errors into one line."""

import difflib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from logdirwatch import __version__
from logdirwatch.cli import standard_streams
from logdirwatch.cli.context import Context
from logdirwatch.config.environment import is_text
from logdirwatch.errors import UserError
from logdirwatch.text.printable import printable_lines

_typed = TyperOption.display_type_rich


def _without_flags(option: TyperOption, ctx: Any) -> str | None:
    """Return the type of an option's value; typer's own help shows ``<bool>`` for flags, which take no value."""
    return None if option.is_flag else _typed(option, ctx)


TyperOption.display_type_rich = _without_flags  # type: ignore[method-assign, assignment]


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"logdirwatch {__version__}")
        raise typer.Exit


def _options(
    ctx: typer.Context,
    config: Annotated[
        Path | None, typer.Option("--config", help="Configuration file (YAML); environment variables override it.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log lines of level DEBUG.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if config == Path():  # of an empty variable in a shell
        raise UserError("--config names no file", exit_code=2)
    ctx.obj = Context(config_path=config, debug=debug)


class _Commands(TyperGroup):
    """A group whose error for an unknown command names those that there are."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first argument; of similar names typer itself says which one is meant."""
        word = args[0]
        if not (word.startswith("-") or difflib.get_close_matches(word, self.commands)):
            below = [f"{name} {word}" for name, one in self.commands.items() if word in _names(one)]
            ctx.fail(f"No such command {word!r}. There are: {', '.join(below or _names(self))}")
        return super().resolve_command(ctx, args)


def _names(command: Any) -> list[str]:
    """Return the commands of a group; none of a command."""
    return [name for name, one in getattr(command, "commands", {}).items() if not one.hidden]


# One file holds one command: a function of its name, or ``commands``, a group of them. It is imported by name, and only
# when it is asked for: all of them take two to three times as long to import as one.
COMMANDS = (
    "look",
    "watch",
    "init",
    "collect",
    "watch-host",
    "stream",
    "status",
    "alerts",
    "actions",
    "apply",
    "autopilot",
    "maintenance",
    "tables",
    "maintain",
    "validate",
    "checkpoint",
    "notify",
    "doctor",
    "console",
    "backtest",
    "plan",
    "report",
    "topics",
    "config",
    "schema",
)
_DEPRECATED = frozenset({"maintain"})
_WITH_FOLDER = frozenset({"alerts", "actions", "autopilot", "console", "report"})


def empty(name: str, about: str) -> typer.Typer:
    """Return a command line with the options of every command, and without commands."""
    made = typer.Typer(
        name=name,
        cls=_Commands,
        help=about,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_options)
    return made


def application(*commands: str) -> typer.Typer:
    """Return the command line with these commands, by default all."""
    made = empty("logdirwatch", "Watch the log directories of Apache Kafka brokers.")
    for command in commands or COMMANDS:
        module = importlib.import_module(f"logdirwatch.cli.{_module(command)}")
        if hasattr(module, "commands"):
            made.add_typer(module.commands, name=command, cls=_Commands)
        else:
            made.command(command, hidden=command in _DEPRECATED)(getattr(module, command.replace("-", "_")))
    return made


def _module(command: str) -> str:
    """Return the module of a command: a file of its own, or a folder with its subcommands."""
    return f"{command}.command" if command in _WITH_FOLDER else f"commands.{command.replace('-', '_')}"


def ordered(arguments: Iterable[str]) -> list[str]:
    """Return the arguments with the options of every command first: people also write them after a command."""
    first, rest = [], []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == "--config":
            path = next(words, None)
            if path is None:
                return [word]  # which says that it needs one
            first += [word, path]
        elif word == "--debug" or word.startswith("--config="):
            first.append(word)
        else:
            rest.append(word)
    return [*first, *rest]


def asked(arguments: Sequence[str]) -> list[str]:
    """Return the command that :func:`ordered` arguments name; none for help, or for an unknown command."""
    words = iter(arguments)
    for word in words:
        if word == "--config":
            next(words, None)
        elif word != "--debug" and not word.startswith("--config="):
            return [word] if word in COMMANDS else []
    return []


def __getattr__(name: str) -> typer.Typer:
    """Return ``app``, the command line with all commands, for tools that describe it."""
    if name != "app":
        raise AttributeError(name)
    return application()


_NEARLY_AN_OPTION = re.compile(r"(?:-|[\u2010-\u2015\u2212]{1,2})([a-z][a-z-]+)(=.*)?", re.IGNORECASE)
"""With one hyphen, or with a dash that a web page or a word processor made of two."""


def _refuse_misspelt(arguments: Iterable[str]) -> None:
    """Raise UserError for an argument that no record or request can hold, and for an option without its two hyphens."""
    for position, argument in enumerate(arguments):
        if not is_text(argument):
            raise UserError(f"argument {position} is not text in UTF-8", exit_code=2)
        if (option := _NEARLY_AN_OPTION.fullmatch(argument)) is not None:
            raise UserError(f"{argument.partition('=')[0]}: two hyphens begin an option: --{option[1]}", exit_code=2)


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 wrong usage."""
    run(lambda arguments: application(*asked(arguments)))


def run(made: Callable[[list[str]], typer.Typer]) -> None:
    """Run the command line for the process's arguments; an error of the user is one line, and Ctrl-C none."""
    try:
        with standard_streams.prepared():
            standard_streams.to_stderr(debug="--debug" in sys.argv)
            _refuse_misspelt(sys.argv)
            arguments = ordered(sys.argv[1:])
            made(arguments)(arguments)
    except KeyboardInterrupt:  # while modules are imported; typer handles a later one
        sys.exit(130)
    except UserError as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"logdirwatch: {printable_lines(str(error))}", err=True)
        sys.exit(error.exit_code)
