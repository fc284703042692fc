"""``logdirwatch notify``: sends notifications about alerts, until SIGTERM."""

from typing import TYPE_CHECKING, Annotated

import structlog
import typer

from logdirwatch.cli import stopping
from logdirwatch.cli.commands.collect import DRAIN_S, publisher_of
from logdirwatch.cli.context import Context, say_next
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.clock import steady_ms
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.observe.endpoint import serving
from logdirwatch.observe.series import UnreadableRecords
from logdirwatch.observe.watchdog import watching
from logdirwatch.settings import Settings

if TYPE_CHECKING:
    from logdirwatch.notify.senders import Sender

log = structlog.get_logger(__name__)


def notify(
    ctx: typer.Context,
    test: Annotated[
        bool, typer.Option("--test", help="Send every receiver a test message, print the results, and exit.")
    ] = False,
) -> None:
    """Notify the receivers of the section notify when alerts fire, become more severe or end, and when heartbeats stop.

    Alerts are grouped and repeated as configured; silenced and acknowledged ones are not sent. Sent notifications are
    recorded on logdir.notifications, so that a restart neither repeats nor forgets any. Runs until SIGTERM or Ctrl-C,
    even while a receiver or the telemetry cluster is down. With --test it exits with 1 if a receiver fails.
    """
    # apprise takes a moment to import, which no other command should pay for.
    from logdirwatch.notify import trial  # noqa: PLC0415
    from logdirwatch.notify.senders import senders  # noqa: PLC0415

    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    settings = context.settings
    if not settings.notify.receivers:
        raise UserError("notify: no receiver: add one under notify.receivers", exit_code=2)
    ways = senders(settings.notify)
    if test:
        failed = [name for of_receiver in ways.values() for name in trial.run(of_receiver, now_ms(), typer.echo)]
        if failed:
            raise UserError(f"notify: failed: {', '.join(failed)}")
        say_next(context, "notify", where=", in a terminal of its own")
        return
    _run(settings, ways)


def _run(settings: Settings, ways: dict[str, dict[str, "Sender"]]) -> None:
    from logdirwatch.notify.heartbeats import Switch  # noqa: PLC0415
    from logdirwatch.notify.reader import Reader  # noqa: PLC0415
    from logdirwatch.notify.service import Notifier  # noqa: PLC0415

    stop = stopping.on_signals()
    publisher = publisher_of(settings, f"topic {topics.NOTIFICATIONS}")
    publisher.start()
    log.info("notify.started", receivers=sorted(name for of_receiver in ways.values() for name in of_receiver))
    switch = Switch(settings.notify.heartbeat, settings.clusters, settings.collect.canary_interval_ms, steady_ms())
    reader = Reader(switch, settings.decisions.longest_ms, settings.detect.clock_skew_ms)
    notifier = Notifier(settings.notify, settings.telemetry, switch, reader, ways, publisher, now_ms)
    health, beats = notifier.health, (notifier.health.beat, publisher.beat)
    unreadable = UnreadableRecords(reader.records)
    with serving(settings.notify.listen, [unreadable], health.is_ill, health.is_unready), watching(lambda: beats):
        notifier.run(stop)
    left = publisher.stop(DRAIN_S)
    log.info("notify.stopped", not_kept=left)
