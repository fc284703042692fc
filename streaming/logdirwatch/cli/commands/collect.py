"""``logdirwatch collect``: asks brokers and writes records, until SIGTERM."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Annotated

import structlog
import typer

from logdirwatch.cli.commands.config import remarks
from logdirwatch.cli.context import Context, say_next
from logdirwatch.clock import wall_ms
from logdirwatch.collect import loop
from logdirwatch.collect.metrics import CollectorMetrics
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.publish.channel import Channel
from logdirwatch.collect.publish.publisher import Arrivals, Publisher
from logdirwatch.collect.rounds.poll import Publish
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.observe.endpoint import serving
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch.observe.signals import asking_to_end
from logdirwatch.observe.watchdog import watching
from logdirwatch.settings import ClusterSettings, Settings

log = structlog.get_logger(__name__)

DRAIN_S = 3.0
ONCE_DRAIN_S = 30.0


def collect(
    ctx: typer.Context,
    cluster: Annotated[
        list[str] | None, typer.Option("--cluster", help="Watch only this cluster; may be repeated. Default: all.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Ask everything once, print how many records were sent, and exit.")
    ] = False,
) -> None:
    """Ask the brokers for their log directories, and write the answers to the telemetry topics.

    Metrics are written every few seconds, replicas and topics every minute, an event as soon as a directory fails,
    comes back or falls below the reserve. Runs until SIGTERM or Ctrl-C, even while a cluster is down: records that
    cannot be sent are kept, and one log line says so. Several collectors may watch one cluster. With --once it exits
    with 1 if a cluster did not answer completely or the telemetry cluster did not accept everything.
    """
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    settings = context.settings
    clusters = chosen(settings.clusters, cluster)
    if once:
        _collect_once(settings, clusters)
    else:
        say_next(context, "stream", where=", in another terminal")
        asyncio.run(_collect(settings, clusters))


def chosen(clusters: dict[str, ClusterSettings], names: list[str] | None) -> dict[str, ClusterSettings]:
    """Return the clusters to watch; raises UserError when there is none or one is not configured."""
    if not clusters:
        raise UserError(
            "collect: no cluster to watch: add one under clusters in the configuration, or start the local one with "
            "logdirwatch-lab up",
            exit_code=2,
        )
    unknown = [name for name in names or [] if name not in clusters]
    if unknown:
        raise UserError(
            f"collect: no cluster named {', '.join(unknown)}; configured: {', '.join(clusters)}", exit_code=2
        )
    return {name: clusters[name] for name in names or clusters}


def publisher_of(settings: Settings, target: str = "telemetry cluster") -> Publisher:
    """Return a publisher to the telemetry cluster, not started; raises UserError for a wrong client property.

    ``target`` names what it writes to in its log lines.
    """
    clients.python_arguments(settings.telemetry)  # a wrong property is an error now, not at the first record
    return Publisher(
        lambda: Channel(settings.telemetry), settings.collect.buffer_records, settings.collect.backoff_max_ms, target
    )


def _watches(
    settings: Settings, clusters: dict[str, ClusterSettings], publish: Publish, arrivals: Arrivals
) -> list[loop.ClusterWatch]:
    return [
        loop.ClusterWatch(
            name,
            cluster,
            cluster.jmx_exporter,
            settings.collect,
            partial(settings.detect.reserve_of, name),
            publish,
            wall_ms,
            cluster.capacity_of,
            partial(arrivals.overdue_ms, name),
        )
        for name, cluster in clusters.items()
    ]


async def _collect(settings: Settings, clusters: dict[str, ClusterSettings]) -> None:
    publisher = publisher_of(settings)
    arrivals = Arrivals(clusters, settings.collect.metrics_interval_ms)
    publisher.arrived = arrivals.note
    log_dirs = LogDirMetrics()

    def put(sent: list[Outgoing]) -> None:
        for one in sent:
            log_dirs.note(one.topic, one.key, one.value)
        publisher.put(sent)

    watched = _watches(settings, clusters, put, arrivals)
    stop = asyncio.Event()
    on_signal(stop.set)
    for remark in remarks(settings):
        log.warning("collect.remark", meaning=remark)
    metrics = CollectorMetrics(watched, publisher, arrivals.overdue_ms)
    with (
        serving(settings.collect.listen, [metrics, log_dirs], metrics.is_ill, metrics.is_unready),
        watching(metrics.beats),
    ):
        publisher.start()
        log.info("collect.started", clusters=list(clusters), collector=settings.collect.collector)
        await loop.run(watched, stop)
    left = publisher.stop(DRAIN_S)
    log.info("collect.stopped", sent=sum(publisher.sent.values()), not_sent=left)


def on_signal(stop: Callable[[], None]) -> None:
    """Call ``stop`` when a signal asks this process to end."""
    running = asyncio.get_running_loop()
    for number in asking_to_end():
        running.add_signal_handler(number, stop)


def _collect_once(settings: Settings, clusters: dict[str, ClusterSettings]) -> None:
    publisher = publisher_of(settings)
    watched = _watches(settings, clusters, publisher.put, Arrivals(clusters, settings.collect.metrics_interval_ms))
    publisher.start()
    incomplete = asyncio.run(loop.run_once(watched))
    left = publisher.stop(ONCE_DRAIN_S) + publisher.dropped + publisher.refused
    for topic, count in sorted(publisher.sent.items()):
        typer.echo(f"{topic}: {count} records")
    if left:
        raise UserError(f"collect: {left} records could not be sent to {settings.telemetry.bootstrap_servers}")
    if incomplete:
        raise UserError(f"collect: {', '.join(incomplete)} did not answer completely; see the lines above")
