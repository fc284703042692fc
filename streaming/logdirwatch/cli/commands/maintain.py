"""``logdirwatch maintain``: keeps the tables small and quick; a job for the night, beside the running stream."""

from collections.abc import Iterator
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import logs
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.cli.table_names import Names, chosen
from logdirwatch.errors import UserError
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.upkeep.results import Upkept, line
from logdirwatch.text.printable import printable


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("maintain")(maintain)


def maintain(
    ctx: typer.Context,
    table: Names = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; tell what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One table per line, for programs.")] = False,
) -> None:
    """Delete rows past their retention, make few files of many small ones, and remove files that hold no row any more.

    Settings: maintain. The stream may run meanwhile. Exit code 0: done; 1: a table could not be kept up, and why.
    """
    names = chosen("maintain", table, TABLES)
    context: Context = ctx.obj
    logs.to_stderr()
    failed = []
    for found in _kept_up(context.settings, names, is_dry_run=dry_run):
        typer.echo(msgspec.json.encode(found) if as_json else printable(line(found)))
        failed += [found.table] if found.error is not None else []
    if failed:
        raise UserError(f"maintain: not kept up: {', '.join(failed)}")


def _kept_up(settings: Settings, names: list[str], *, is_dry_run: bool) -> Iterator[Upkept]:
    # Spark takes a second to import, which no other command should pay for.
    from logdirwatch.jobs.maintain import run  # noqa: PLC0415

    return run(settings, names, now_ms(), is_dry_run=is_dry_run)
