"""``logdirwatch validate``: checks the quality of the tables; a job to run hourly or nightly."""

from types import ModuleType
from typing import Annotated

import msgspec
import typer

from logdirwatch import spark_version
from logdirwatch.cli.commands.tables import Names, chosen
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.quality.results import Checked, failed, lines
from logdirwatch.store.schema.definitions import QUALITY_RESULTS, TABLES
from logdirwatch.text.printable import printable

CHECKED = [name for name in TABLES if name != QUALITY_RESULTS.name]


def validate(
    ctx: typer.Context,
    table: Names = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON expectation per line.")] = False,
) -> None:
    """Check the tables with suites of Great Expectations: keys, values, numbers, and relations between tables.

    The results are stored in the table quality_results. A check of all tables is reported to the stream, which raises
    or ends data_quality. Settings: quality. Exit code 0: all expectations are met; 1: some are not.
    """
    names = chosen("validate", table, CHECKED)
    context: Context = ctx.obj
    at_ms, job = now_ms(), _job()
    found = job.run(context.settings, names, at_ms)
    for line in map(_encoded, found) if as_json else map(printable, lines(found)):
        typer.echo(line)
    if not found:
        raise UserError("validate: there is no table yet: run logdirwatch stream, or set the right tables.path")
    if not table:
        job.tell(context.settings, found, at_ms)
    wrong = failed(found)
    if wrong:
        count = sum(map(len, wrong.values()))
        raise UserError(f"validate: {count} of {len(found)} expectations are not met, in {', '.join(sorted(wrong))}")


def _encoded(one: Checked) -> str:
    return msgspec.json.encode(one).decode()


def _job() -> ModuleType:
    spark_version.require()
    # Spark and Great Expectations take seconds to import, which no other command should pay for.
    try:
        from logdirwatch.jobs import validate as job  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "great_expectations":
            raise
        raise UserError("validate: Great Expectations is missing; install logdirwatch[quality]") from None
    return job
