"""``logdirwatch console add-user``: users of the console's login."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from logdirwatch.cli.context import Context
from logdirwatch.errors import UserError


def add_user(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user's name, recorded with each decision.")],
) -> None:
    """Add a user to console.login.users_file, or change the password of one, which ends the user's sessions.

    Asks for the password twice; without a terminal it is the first line of standard input. Remove a user by deleting
    the line of the file.
    """
    from logdirwatch.console.login.users import add  # noqa: PLC0415 - hashing takes a moment to import

    context: Context = ctx.obj
    login = context.settings.console.login
    if login is None:
        raise UserError("console add-user: console.login.users_file is not configured", exit_code=2)
    was_known = add(Path(login.users_file), name, _password())
    typer.echo(f"{name}: {'has another password' if was_known else 'added'} in {login.users_file}")


def _password() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\r\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password
