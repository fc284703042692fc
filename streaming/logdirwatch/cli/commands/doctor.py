"""``logdirwatch doctor``: check everything that logdirwatch needs, and name the remedy of each problem."""

from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.commands.config import remarks
from logdirwatch.cli.context import Context, say_next
from logdirwatch.cli.reading.records import now_ms, waiting_for_kafka
from logdirwatch.doctor.examine import Examination, misconfigured
from logdirwatch.doctor.findings import CHECKS, Report, document, lines
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.text.printable import printable

NAMES = ", ".join(CHECKS)


def doctor(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", help=f"Ignore the findings of a check; may be repeated. One of: {NAMES}."),
    ] = None,
) -> None:
    """Check everything that logdirwatch needs, and report each problem with its place and remedy.

    Checks the configuration, Java, Spark's slots, folders, both clusters and every broker, permissions (naming the
    missing ACL), the telemetry topics, versions with known bugs, and clocks. Changes nothing. Exit code 0: no problem
    found; 1: some.
    """
    context: Context = ctx.obj
    unknown = [name for name in ignore or () if name not in CHECKS]
    if unknown:
        raise UserError(f"doctor: no check is named {', '.join(unknown)}; the checks: {NAMES}", exit_code=2)
    if not context.debug:
        clients.quiet_client_logs()
    report = _examined(context).without(ignore or ())
    if as_json:
        typer.echo(msgspec.json.encode(document(report)))
    else:
        for line in lines(report):
            typer.echo(printable(line))
    if report.findings:
        raise typer.Exit(1)
    say_next(context, "collect", "stream", where=", each in a terminal of its own")


def _examined(context: Context) -> Report:
    where = "configuration"
    try:
        settings = context.settings
        clusters = {f"clusters.{name}": cluster for name, cluster in settings.clusters.items()}
        for where, cluster in {"telemetry": settings.telemetry, **clusters}.items():  # noqa: B007
            clients.python_arguments(cluster)
    except UserError as error:
        return misconfigured(error, where)
    # The other remark, one Kafka for both, is a check of its own.
    examination = Examination(settings, [] if settings.clusters else remarks(settings), now_ms)
    with waiting_for_kafka():
        examination.ask()
    return examination.run()
