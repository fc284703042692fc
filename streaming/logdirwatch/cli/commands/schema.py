"""``logdirwatch schema``: the JSON Schema of a record."""

import json
from typing import Annotated

import typer

from logdirwatch.errors import UserError
from logdirwatch.reference.schemas import RECORDS, json_schema

_NAMES = ", ".join(RECORDS)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {_NAMES}.")]) -> None:
    """Print the JSON Schema of the record NAME, as it stands on its topic.

    Fields that a schema does not name are ignored by readers; a missing required one rejects the record.
    """
    if name not in RECORDS:
        raise UserError(f"no record is called {name}; there are {_NAMES}", exit_code=2)
    typer.echo(json.dumps(json_schema(name), indent=2))
