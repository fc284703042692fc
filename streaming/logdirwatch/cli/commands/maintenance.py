"""``logdirwatch maintenance``: planned absence of brokers, during which no page is sent for it."""

from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.deciding import By, Reason, Signed
from logdirwatch.cli.reading.records import console, now_ms, telemetry
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import Decision
from logdirwatch.report.handling import Planned, planned_view
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import BROKER_STATE
from logdirwatch.text.printable import printable
from logdirwatch.text.words import utc

SETTING = "detect.maintenance_max_ms"

ClusterName = Annotated[str, typer.Option("--cluster", help="The cluster's name in the configuration.")]
Brokers = Annotated[list[int], typer.Option("--broker", min=0, help="A broker's id; may be repeated.")]


commands = typer.Typer(
    help="Plan the absence of brokers: during maintenance their absence is only an info alert.", no_args_is_help=True
)


@commands.command()
def start(
    ctx: typer.Context,
    cluster: ClusterName,
    broker: Brokers,
    lasting: Annotated[str, typer.Option("--for", help="Duration, such as 2h, 90m or 1d.")],
    by: By,
    reason: Reason,
) -> None:
    """Start maintenance of brokers: until its end broker_offline and broker_unknown have severity info.

    The tables and `status` still show the real state. Failing disks and partitions without a leader alert as usual.
    A broker that is still away at the end alerts then. A new maintenance of a broker replaces its earlier one.
    """
    settings: Settings = ctx.obj.settings
    deciding.check_cluster(settings, cluster)
    signed = deciding.signed(by, reason)
    lasting_ms = deciding.lasting_ms(lasting, settings.detect.maintenance_max_ms, SETTING)
    _decide(ctx, cluster, broker, signed, lasting_ms)
    if unknown := _unknown(settings, cluster, broker):
        which = f"broker {', '.join(map(str, unknown))} of {cluster}"
        typer.echo(f"logdirwatch: the tables do not know {which}: check the id", err=True)


def _unknown(settings: Settings, cluster: str, brokers: list[int]) -> list[int]:
    """Return the brokers that the tables do not know; none where they know no broker of the cluster, or are away."""
    try:
        rows = table_reader(settings).select_columns(BROKER_STATE.name, ("cluster", "broker"), "TRUE")
        known = {row["broker"] for row in rows if row["cluster"] == cluster}
    except UserError:
        return []
    return sorted(set(brokers) - known) if known else []


@commands.command()
def end(
    ctx: typer.Context,
    cluster: ClusterName,
    broker: Brokers,
    by: By,
    reason: Annotated[str, typer.Option("--reason", help="The reason, recorded with the decision.")] = "done",
) -> None:
    """End the maintenance of brokers early; one that is away for longer than the grace period alerts then."""
    signed = deciding.signed(by, reason)
    running = {planned.broker for planned in _planned(ctx, cluster)}
    if missing := sorted(set(broker) - running):
        names = ", ".join(map(str, missing))
        raise UserError(f"no maintenance of broker {names} of {cluster} is active; see: logdirwatch maintenance list")
    _decide(ctx, cluster, broker, signed, 0)


@commands.command("list")
def list_planned(
    ctx: typer.Context,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Show only this cluster.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Include ended maintenance: the last of each broker.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON maintenance per line.")] = False,
) -> None:
    """Show which brokers are in maintenance, until when, and who started it."""
    found = _planned(ctx, cluster, everything=everything)
    if as_json:
        for planned in found:
            typer.echo(msgspec.json.encode(planned))
    elif found:
        terminal = console()
        terminal.print(planned_view(found, now_ms(), terminal.width))
    else:
        typer.echo("No maintenance is active.")


def _planned(ctx: typer.Context, cluster: str | None, *, everything: bool = False) -> list[Planned]:
    known = deciding.read_decisions(ctx.obj)
    handling = deciding.handling_of(ctx.obj, known, lambda _: ())
    return handling.planned(now_ms(), cluster, everything=everything)


def _decide(ctx: typer.Context, cluster: str, brokers: list[int], signed: Signed, lasting_ms: int) -> None:
    known = deciding.read_decisions(ctx.obj)
    records = [
        deciding.new_decision(
            known, Decision.MAINTENANCE, f"{cluster}/{broker}", signed, lasting_ms, cluster=cluster, broker=broker
        )
        for broker in sorted(set(brokers))
    ]
    deciding.send(telemetry(ctx.obj), records)
    for record in records:
        what = f"until {utc(record.until_ms or record.at_ms)}" if lasting_ms else "ended"
        told = f"maintenance of broker {record.broker} of {cluster}: {what}, by {record.by}: {record.reason}"
        typer.echo(printable(told))
