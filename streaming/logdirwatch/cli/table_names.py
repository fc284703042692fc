"""The option ``--table`` of the jobs over tables."""

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from logdirwatch.errors import UserError

Names = Annotated[list[str] | None, typer.Option("--table", help="Only this table; may be repeated.")]


def chosen(command: str, names: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """Return the named tables, by default all; raises UserError for an unknown one."""
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise UserError(
            f"{command}: no table is named {', '.join(unknown)}; the tables: {', '.join(known)}", exit_code=2
        )
    return list(names or known)
