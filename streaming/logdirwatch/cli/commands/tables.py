"""``logdirwatch tables optimize``: keeps the tables small and fast; a nightly job next to the running stream."""

from collections.abc import Collection, Iterator, Sequence
from typing import Annotated

import msgspec
import typer

from logdirwatch import spark_version
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.upkeep.results import Upkept, line
from logdirwatch.text.printable import printable

Names = Annotated[list[str] | None, typer.Option("--table", help="Only this table; may be repeated.")]


def chosen(command: str, names: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """Return the named tables, by default all; raises UserError for an unknown one."""
    unknown = sorted(set(names or ()) - set(known))
    if unknown:
        raise UserError(
            f"{command}: no table is named {', '.join(unknown)}; the tables: {', '.join(known)}", exit_code=2
        )
    return list(names or known)


commands = typer.Typer(help="Maintain the Delta tables.", no_args_is_help=True)


@commands.command()
def optimize(
    ctx: typer.Context,
    table: Names = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; print what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON table per line.")] = False,
) -> None:
    """Delete rows past their retention, compact small files, and remove files that are no longer used.

    The stream may run meanwhile. Settings: maintain. Exit code 0: done; 1: the maintenance of a table failed.
    """
    names = chosen("tables optimize", table, TABLES)
    context: Context = ctx.obj
    failed = []
    for found in _optimized(context.settings, names, is_dry_run=dry_run):
        typer.echo(msgspec.json.encode(found) if as_json else printable(line(found)))
        failed += [found.table] if found.error is not None else []
    if failed:
        raise UserError(f"tables optimize: failed: {', '.join(failed)}")


def _optimized(settings: Settings, names: list[str], *, is_dry_run: bool) -> Iterator[Upkept]:
    spark_version.require()
    # Spark takes a second to import, which no other command should pay for.
    from logdirwatch.jobs.maintain import run  # noqa: PLC0415

    return run(settings, names, now_ms(), is_dry_run=is_dry_run)
