"""``logdirwatch notify``: tells people of alerts, until SIGTERM."""

from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from logdirwatch.cli import logs, stopping
from logdirwatch.cli.commands.collect import DRAIN_S, publisher_of
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.settings import Settings

if TYPE_CHECKING:
    from logdirwatch.notify.senders import Sender

log = structlog.get_logger(__name__)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("notify")(notify)


def notify(
    ctx: typer.Context,
    test: Annotated[
        bool, typer.Option("--test", help="Send every receiver a test message, say which took it, and end.")
    ] = False,
) -> None:
    """Tell the receivers of the section notify what fires, what got louder and what ended, and when a heartbeat stops.

    Alerts are grouped and repeated as configured; what somebody silenced or acknowledged is not told. What was told is
    kept on logdir.notifications, so a restart tells nothing twice and forgets nothing. Runs until SIGTERM or Ctrl-C,
    also while a receiver or the telemetry cluster is away. With --test it exits 1 when a receiver took nothing.
    """
    # apprise takes a moment to import, which no other command should pay for.
    from logdirwatch.notify import trial  # noqa: PLC0415
    from logdirwatch.notify.senders import senders  # noqa: PLC0415

    context: Context = ctx.obj
    logs.to_stderr()
    if not context.debug:
        clients.quiet_client_logs()
    settings = context.settings
    if not settings.notify.receivers:
        raise UserError("notify: nobody to tell: name a receiver under notify.receivers", exit_code=2)
    ways = senders(settings.notify)
    if test:
        failed = [name for of_receiver in ways.values() for name in trial.run(of_receiver, now_ms(), typer.echo)]
        if failed:
            raise UserError(f"notify: not reached: {', '.join(failed)}")
        return
    _run(settings, ways)


def _run(settings: Settings, ways: dict[str, dict[str, "Sender"]]) -> None:
    from logdirwatch.notify.heartbeats import Switch  # noqa: PLC0415
    from logdirwatch.notify.reader import Reader  # noqa: PLC0415
    from logdirwatch.notify.service import Notifier  # noqa: PLC0415

    stop = stopping.on_signals()
    publisher = publisher_of(settings, f"topic {topics.NOTIFICATIONS}")
    publisher.start()
    log.info("notifying", receivers=sorted(name for of_receiver in ways.values() for name in of_receiver))
    switch = Switch(settings.notify.heartbeat, settings.clusters, settings.collect.canary_interval_ms, now_ms())
    reader = Reader(switch, settings.decisions.longest_ms, settings.detect.clock_skew_ms)
    Notifier(settings.notify, settings.telemetry, switch, reader, ways, publisher, now_ms).run(stop)
    left = publisher.stop(DRAIN_S)
    log.info("stopped", not_kept=left)
