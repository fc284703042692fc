"""``logdirwatch autopilot``: carry out actions unattended, within what the section ``autopilot`` allows."""

import socket
import uuid
from typing import Annotated

import structlog
import typer

from logdirwatch.autopilot import candidates as dry
from logdirwatch.autopilot.board import Board, Limits
from logdirwatch.autopilot.facts import MARK
from logdirwatch.autopilot.feed import Feed
from logdirwatch.autopilot.metrics import AutopilotMetrics
from logdirwatch.autopilot.service import Autopilot, Surroundings, reading_of
from logdirwatch.cli import deciding, stopping
from logdirwatch.cli.actions.check import still_against
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import By, Reason
from logdirwatch.cli.reading.records import now_ms, telemetry
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.turn import Turn
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import Decision
from logdirwatch.observe.endpoint import serving
from logdirwatch.observe.series import UnreadableRecords
from logdirwatch.observe.watchdog import watching
from logdirwatch.settings import Settings
from logdirwatch.text.printable import printable
from logdirwatch.text.words import utc

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
    _decide(ctx, cluster, signed, deciding.decision_ms(settings, lasting))


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


log = structlog.get_logger(__name__)


@commands.callback()
def autopilot(
    ctx: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done with each open action, and exit.")
    ] = False,
) -> None:
    """Carry out accepted actions, and those that may start unattended, until SIGTERM.

    It does only what the section autopilot allows: by default nothing. It resumes an execution that an earlier
    autopilot process left. A second autopilot for a cluster takes over from the first. Exit code 2 if nothing is
    allowed.
    """
    if ctx.invoked_subcommand is not None:
        return
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    around = _surroundings(context.settings)
    if dry_run:
        _dry_run(around)
    else:
        _run(context.settings, around)


def _surroundings(settings: Settings) -> Surroundings:
    """Return the service's dependencies; raises UserError when nothing is allowed."""
    allowed = settings.autopilot.clusters
    if not any(cluster.kinds for cluster in allowed.values()):
        raise UserError(
            "autopilot: nothing is allowed: name kinds of actions under autopilot.clusters.NAME.kinds", exit_code=2
        )
    unknown = sorted(set(allowed) - set(settings.clusters))
    if unknown:
        raise UserError(f"autopilot: no cluster named {', '.join(unknown)} in the configuration", exit_code=2)
    return Surroundings(
        name=f"{MARK} {socket.gethostname()}/{uuid.uuid4().hex[:8]}",
        telemetry=settings.telemetry,
        clusters={name: settings.clusters[name] for name in allowed},
        limits=Limits(settings.autopilot, settings.plan.for_cluster, settings.decisions.longest_ms),
        check=lambda action: still_against(settings, action),
        turn_of=lambda name: Turn(settings.telemetry, f"logdirwatch-autopilot-{name}", topics.EXECUTIONS),
        now_ms=now_ms,
        skew_ms=settings.detect.clock_skew_ms,
    )


def _dry_run(around: Surroundings) -> None:
    board = Board(around.limits, around.now_ms, around.monotonic_ms)
    with clients.consumer(around.telemetry, auto_offset_reset="earliest", isolation_level="read_committed") as client:
        feed, began_ms, at_ms = Feed(client, around.skew_ms), around.monotonic_ms(), now_ms()
        feed.catch_up()
        board.post(reading_of(feed, around.limits.longest_ms, at_ms, began_ms))
    for line in dry.lines(board, around.clusters, around.check, at_ms):
        typer.echo(printable(line))
    typer.echo("dry run: nothing was changed")


def _run(settings: Settings, around: Surroundings) -> None:
    stop = stopping.on_signals()
    service = Autopilot(around)
    metrics = AutopilotMetrics(service, settings.autopilot.telemetry_max_age_ms)
    unreadable = UnreadableRecords(service.records)
    with (
        serving(settings.autopilot.listen, [metrics, unreadable], metrics.is_ill, metrics.is_unready),
        watching(lambda: [service.beat]),
    ):
        allowed = {name: [str(kind) for kind in found.kinds] for name, found in settings.autopilot.clusters.items()}
        log.info("autopilot.started", name=around.name, allowed=allowed)
        service.run(stop)
    log.info("autopilot.stopped")
