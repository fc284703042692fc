"""``logdirwatch watch``: one process that watches clusters, without Spark and without topics."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated

import structlog
import typer
from pydantic import SecretStr

from logdirwatch.alone.planning import polling
from logdirwatch.alone.watch import Watching
from logdirwatch.cli.commands.collect import on_signal
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.live_cluster import named, seen
from logdirwatch.cli.reading.records import console
from logdirwatch.collect import loop
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.notify.health import Health
from logdirwatch.notify.settings import NotifySettings, ReceiverSettings
from logdirwatch.observe.endpoint import serving
from logdirwatch.observe.progress import Beat, silence, stuck
from logdirwatch.observe.watchdog import watching
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.report.alerts import line
from logdirwatch.report.look import head, next_step
from logdirwatch.settings import ClusterSettings, Settings, replaced
from logdirwatch.text.words import short_id

if TYPE_CHECKING:
    from logdirwatch.notify.sending import Sending

log = structlog.get_logger(__name__)


def watch(
    ctx: typer.Context,
    brokers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BROKERS]...",
            help="Clusters of the configuration, or host:port of brokers. Default: all clusters of the configuration.",
            show_default=False,
        ),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(help="host:port of /metrics, /health and /ready; default: collect.listen.", show_default=False),
    ] = None,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Where messages go, an apprise URL such as slack://...; may be repeated. Default: notify.receivers.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Watch clusters in one process: print alerts with the first step, send messages, serve /metrics.

    It judges like collect, stream and notify, by what brokers answer: no telemetry topics, no Spark, no tables. It only
    reads. What it knows is in memory: after a restart alerts that still fire are sent again, and forecasts begin again.
    Decisions, history, the console and the autopilot need collect and stream. Runs until SIGTERM or Ctrl-C.
    """
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    settings = context.settings
    names = brokers or list(settings.clusters)
    if not names:
        raise UserError("watch: name brokers as host:port, or a configuration with clusters (--config)", exit_code=2)
    clusters = dict(named(name, settings, "watch") for name in names)
    if len(clusters) < len(set(names)):
        raise UserError("watch: one address without a name at a time; name several in the configuration", exit_code=2)
    listen = replaced(settings.collect, "watch: --listen", listen=listen).listen if listen else settings.collect.listen
    asyncio.run(_watch(settings, clusters, listen, _receivers(settings.notify, notify)))


class _Printer:
    """Prints what changes for people, a line each, the first step below."""

    def seen(self, snapshot: ClusterSnapshot) -> None:
        console().print(head(snapshot), soft_wrap=True)

    def changed(self, alert: AlertRecord) -> None:
        console().print(line(alert), soft_wrap=True)

    def planned(self, alert: AlertRecord, step: ActionRecord) -> None:
        console().print(f"about {alert.rule} {short_id(alert.alert_id)}:", *next_step(step), sep="\n", soft_wrap=True)


def _receivers(configured: NotifySettings, urls: list[str] | None) -> NotifySettings:
    """Return the settings of messages, with the receivers of the command line instead of the configured ones."""
    if not urls:
        return configured
    receiver = ReceiverSettings(urls=tuple(map(SecretStr, urls)))
    return replaced(configured, "watch: --notify", receivers={"watch": receiver}, routes=())


async def _watch(
    settings: Settings, clusters: dict[str, ClusterSettings], listen: str | None, notify: NotifySettings
) -> None:
    health = Health()
    ask = partial(seen, settings=settings)
    service = Watching(clusters, settings, ask, _Printer(), _sending(notify, health))
    polled = [polling(name, cluster, settings, service.put) for name, cluster in clusters.items()]

    def beats() -> list[Beat]:
        return [service.beat, *(beat for one in polled for beat in one.beats)]

    def is_unready() -> str | None:
        missing = [one.name for one in polled if not one.poller.discovered.is_set()]
        away = f"no broker answered yet: {', '.join(missing)}" if missing else None
        return silence(beats()) or away or health.unheard_text()

    stop = asyncio.Event()
    on_signal(stop.set)
    with serving(listen, [service, service.log_dirs], lambda: stuck(beats()), is_unready), watching(beats):
        log.info("watch.started", clusters=list(clusters))
        await loop.run([*polled, service], stop)
    log.info("watch.stopped")


def _sending(notify: NotifySettings, health: Health) -> "Sending | None":
    """Return the sending of messages, None without a receiver."""
    if not notify.receivers:
        return None
    # apprise takes a moment to import.
    from logdirwatch.notify.senders import senders  # noqa: PLC0415
    from logdirwatch.notify.sending import Sending  # noqa: PLC0415

    return Sending(notify, senders(notify), lambda *_: None, health)
