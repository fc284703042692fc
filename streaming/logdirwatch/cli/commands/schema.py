"""``logdirwatch schema``: the JSON Schema of a record, and all of them with their topics as AsyncAPI."""

import json
from typing import Annotated

import typer

from logdirwatch.errors import UserError
from logdirwatch.reference import asyncapi
from logdirwatch.reference.schemas import RECORDS, json_schema

_ALL = "asyncapi"
_NAMES = ", ".join((*RECORDS, _ALL))


def schema(name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of: {_NAMES}.")]) -> None:
    """Print the JSON Schema of the record NAME, as it is on its topic; asyncapi: all topics and records, as AsyncAPI.

    Readers ignore fields that the schema does not have and reject a record that lacks a required field.
    """
    if name != _ALL and name not in RECORDS:
        raise UserError(f"no record is named {name}; the records: {_NAMES}", exit_code=2)
    typer.echo(json.dumps(asyncapi.document() if name == _ALL else json_schema(name), indent=2))
