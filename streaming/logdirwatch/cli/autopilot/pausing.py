"""``logdirwatch autopilot pause`` and ``resume``: decisions that stop the service on a cluster."""

from typing import Annotated

import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.deciding import By, Reason
from logdirwatch.cli.reading.records import telemetry
from logdirwatch.model.vocabulary import Decision
from logdirwatch.settings import Settings
from logdirwatch.text.printable import printable
from logdirwatch.text.words import utc

SETTING = "decisions.longest_ms"

commands = typer.Typer(invoke_without_command=True)

ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER", help="The cluster's name in the configuration.")]


@commands.command()
def pause(
    ctx: typer.Context,
    cluster: ClusterName,
    by: By,
    reason: Reason,
    lasting: Annotated[str, typer.Option("--for", help="Duration, such as 2h, 90m or 1d.")] = "1d",
) -> None:
    """Pause the autopilot on a cluster: nothing starts, and a running execution stops before its next call."""
    settings: Settings = ctx.obj.settings
    signed = deciding.signed(by, reason)
    _decide(ctx, cluster, signed, deciding.lasting_ms(lasting, settings.decisions.longest_ms, SETTING))


@commands.command()
def resume(ctx: typer.Context, cluster: ClusterName, by: By, reason: Reason = "done") -> None:
    """End the pause of the autopilot on a cluster.

    Stopped executions do not start again by themselves.
    """
    _decide(ctx, cluster, deciding.signed(by, reason), 0)


def _decide(ctx: typer.Context, cluster: str, signed: deciding.Signed, lasting_ms: int) -> None:
    settings: Settings = ctx.obj.settings
    deciding.check_cluster(settings, cluster)
    known = deciding.read_decisions(ctx.obj)
    record = deciding.new_decision(known, Decision.PAUSE, cluster, signed, lasting_ms, cluster=cluster)
    deciding.send(telemetry(ctx.obj), [record])
    what = f"paused until {utc(record.until_ms or record.at_ms)}" if lasting_ms else "no longer paused"
    typer.echo(printable(f"autopilot on {cluster}: {what}, by {record.by}: {record.reason}"))
