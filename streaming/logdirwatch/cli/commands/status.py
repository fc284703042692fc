"""``logdirwatch status``: every broker, directory and lost replica, and the age of that data."""

import contextlib
import time
from functools import partial
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import STARTED_S
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import handling
from logdirwatch.cli.reading.records import console, now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.cli.reading.tables.reader import TableReader
from logdirwatch.errors import UserError
from logdirwatch.kafka.deadline import begun
from logdirwatch.model.records import AlertRecord
from logdirwatch.report.folding import latest_alerts
from logdirwatch.report.handling import Handling
from logdirwatch.report.status.absent_tables import why_absent
from logdirwatch.report.status.cluster import ClusterStatus, heartbeats
from logdirwatch.report.status.lines import view
from logdirwatch.report.status.snapshot import (
    Patience,
    Snapshot,
    TableRows,
    is_heard,
    read_tables,
    snapshot_of,
    statuses,
)
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE
from logdirwatch.text.printable import printable_lines

WATCH_S = 5


def status(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Show only this cluster.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every broker, directory, alert and topic, not only the worst.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help=f"Refresh it every {WATCH_S} s until Ctrl-C.")] = False,
) -> None:
    """Show what is wrong with brokers, log directories, replicas and partitions, the worst first.

    It starts with what cannot be relied on, such as old data, and with the open alerts. Healthy brokers are one line
    per rack. What is not monitored now is unknown, shown with its last known status. Exit code 1 if a table cannot be
    read or the telemetry cluster does not answer; what is known is still shown.
    """
    if watch and as_json:
        raise UserError("--watch is for people: run status --json again instead", exit_code=2)
    shows = partial(_show, ctx.obj, cluster, as_json=as_json, everything=everything)
    if watch:
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                _say(shows(clears=True))
                time.sleep(WATCH_S)
        return
    failures = shows(clears=False)
    if failures:
        _say(failures[:-1])
        raise UserError(failures[-1])


def _show(context: Context, only: str | None, *, as_json: bool, everything: bool, clears: bool) -> list[str]:
    """Print the status once, on an empty screen with ``clears``; return what could not be read, one line each."""
    reader, tables, snapshot, problem = _read(context, time.monotonic() if clears else STARTED_S)
    now, patience = now_ms(), Patience.of(context.settings.detect, context.settings.collect, context.settings.stream)
    troubles = _troubles(context.settings, reader, tables, snapshot, now, patience)
    found = _found(snapshot, now, patience, only)
    if as_json:
        errors = {"telemetry_error": problem and str(problem), "table_errors": troubles}
        typer.echo(msgspec.json.encode({"at_ms": now, **errors, "clusters": found}))
    else:
        if clears:
            console().clear()
        _print(found, now, reader, is_told=bool(troubles), everything=everything)
    return [*troubles.values(), *([str(problem)] if problem else [])]


def _say(failures: list[str]) -> None:
    for failure in failures:
        typer.echo(f"logdirwatch: {printable_lines(failure)}", err=True)


def _found(snapshot: Snapshot, now: int, patience: Patience, only: str | None) -> list[ClusterStatus]:
    """Return what to show; an unknown name is refused only if the tables could be read."""
    if snapshot.brokers is not None:
        return statuses(snapshot, now, patience, only)
    return [one for one in statuses(snapshot, now, patience) if only in {None, one.cluster}]


def _print(found: list[ClusterStatus], now: int, reader: TableReader, *, is_told: bool, everything: bool) -> None:
    if not found and not is_told:
        typer.echo(f"No broker in the tables {reader.place.at} yet. Is logdirwatch collect running?")
    terminal = console()
    for number, one in enumerate(found):
        if number:
            terminal.print()
        terminal.print(view(one, now, terminal.width, everything=everything))


def _read(context: Context, since_s: float) -> tuple[TableReader, TableRows, Snapshot, UserError | None]:
    """Read alerts and tables at the same time, so that neither waits for the other."""
    with waiting_for_kafka(since_s):
        asked = begun(lambda: _alerts(context))
    reader = table_reader(context.settings)
    tables = read_tables(reader.rows)
    alerts, said, problem = asked.result()
    return reader, tables, snapshot_of(tables, alerts, said), problem


def _alerts(context: Context) -> tuple[list[AlertRecord] | None, Handling | None, UserError | None]:
    """Return the alerts and the decisions about them; None, and why, if they cannot be read."""
    try:
        fold = read_into(latest_alerts(), telemetry(context))
        return fold.records, handling(context, fold), None
    except UserError as error:
        return None, None, error


def _troubles(
    settings: Settings, reader: TableReader, tables: TableRows, snapshot: Snapshot, now: int, patience: Patience
) -> dict[str, str]:
    """Return for each required table why it is unavailable."""
    missing = [table for table in (BROKER_STATE.name, LOG_DIR_STATE.name) if table in tables.absent]
    if not missing:
        return tables.unreadable
    alerts = snapshot.alerts
    is_alive = None if alerts is None else is_heard(heartbeats(alerts, now, patience.skew_ms))
    trigger = settings.stream.store_trigger
    why = why_absent(missing, reader.place, reader.names(), is_alive=is_alive, trigger=trigger)
    return {**tables.unreadable, ", ".join(missing): why}
