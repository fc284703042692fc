"""``logdirwatch status``: every broker, directory and lost replica, and how old all that is."""

from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import handling
from logdirwatch.cli.reading import console, now_ms, read_into, telemetry
from logdirwatch.cli.table_reading import optional, required, tables_root
from logdirwatch.errors import UserError
from logdirwatch.model import topics
from logdirwatch.report.cluster import ClusterStatus
from logdirwatch.report.folding import latest_alerts
from logdirwatch.report.snapshot import Patience, Snapshot, statuses
from logdirwatch.report.status import view
from logdirwatch.settings import Settings
from logdirwatch.store.schemas import BROKER_STATE, LOG_DIR_INVENTORY, LOG_DIR_STATE, REPLICA_STATE, TOPIC_STATE


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for programs.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every broker, directory and topic, not only the worst of many.")
    ] = False,
) -> None:
    """Show brokers, log directories, offline replicas and partitions at risk, from the tables.

    First comes how old the data and the last heartbeat are, then the open alerts, who took them up or silenced them,
    and which brokers may be away as planned. Exit code 1 when the tables cannot be read, or when the telemetry cluster
    does not answer: then alerts and heartbeats are not known, and the tables are shown all the same.
    """
    context: Context = ctx.obj
    settings = context.settings
    snapshot, problem = _read(context)
    now = now_ms()
    found = statuses(snapshot, now, Patience.of(settings), only=cluster)
    if as_json:
        document = {"at_ms": now, "telemetry_error": problem and str(problem), "clusters": found}
        typer.echo(msgspec.json.encode(document))
    else:
        _print(found, now, settings, everything=everything)
    if problem is not None:
        raise problem


def _print(found: list[ClusterStatus], now: int, settings: Settings, *, everything: bool) -> None:
    if not found:
        typer.echo(f"No broker in the tables at {settings.tables_path} yet. Does logdirwatch collect run?")
    terminal = console()
    for number, one in enumerate(found):
        if number:
            terminal.print()
        terminal.print(view(one, now, terminal.width, everything=everything))


def _read(context: Context) -> tuple[Snapshot, UserError | None]:
    root = tables_root(context.settings)
    brokers = required(root, BROKER_STATE.name)
    log_dirs = required(root, LOG_DIR_STATE.name)
    scans, replicas, partitions = (
        optional(root, table.name) for table in (LOG_DIR_INVENTORY, REPLICA_STATE, TOPIC_STATE)
    )
    fold, said, problem = latest_alerts(), None, None
    try:
        read_into(fold, telemetry(context), topics.ALERTS)
        said = handling(context, fold)
    except UserError as error:
        problem = error
    alerts = None if problem else fold.records
    return Snapshot(brokers, log_dirs, scans, replicas, partitions, alerts, said), problem
