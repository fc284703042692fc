"""``logdirwatch schema``: the JSON Schema of a record."""

import json
from typing import Annotated

import typer

from logdirwatch.errors import UserError
from logdirwatch.reference.schemas import RECORDS, json_schema

_NAMES = ", ".join(RECORDS)


def schema(name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {_NAMES}.")]) -> None:
    """Print the JSON Schema of the record NAME, as it is on its topic.

    Readers ignore fields that the schema does not have and reject a record that lacks a required field.
    """
    if name not in RECORDS:
        raise UserError(f"no record is named {name}; the records: {_NAMES}", exit_code=2)
    typer.echo(json.dumps(json_schema(name), indent=2))
