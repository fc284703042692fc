"""``logdirwatch watch-host``: the host source, on a broker's own host, until SIGTERM."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import structlog
import typer

from logdirwatch.cli.commands.collect import DRAIN_S, on_signal, publisher_of
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import console, now_ms
from logdirwatch.collect import loop
from logdirwatch.collect.host.sources import HostEyes, log_dirs_of
from logdirwatch.collect.host.tail import StateFile, TailState
from logdirwatch.collect.host.watch import BACK_BYTES, ONCE_PROBE_FILE, HostWatch, look_once
from logdirwatch.collect.settings import HostSettings
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.observe.watchdog import watching
from logdirwatch.report.host import view
from logdirwatch.settings import Settings

log = structlog.get_logger(__name__)


def watch_host(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Check once, print the result, send nothing, and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: print one JSON object.")] = False,
) -> None:
    """Watch the log directories and the logs of the broker on this host.

    Follows the broker's server.log for the cause of failures, checks the space and the mount of every log directory,
    probes it by writing, syncing and reading 4 KiB, and publishes both to the telemetry topics. Needs the section host
    of the configuration. Runs until SIGTERM or Ctrl-C, even while the telemetry cluster is down.
    """
    context: Context = ctx.obj
    host = _host(context.settings)
    if as_json and not once:
        raise UserError("watch-host: --json needs --once", exit_code=2)
    log_dirs = log_dirs_of(host)
    if once:
        _print_once(context.settings, host, log_dirs, as_json=as_json)
        return
    if not context.debug:
        clients.quiet_client_logs()
    asyncio.run(_watch(context.settings, host, log_dirs))


def _host(settings: Settings) -> HostSettings:
    if settings.host is None:
        raise UserError(
            "watch-host: the configuration has no section host; it needs at least cluster, broker and properties_file",
            exit_code=2,
        )
    return settings.host


def _eyes(
    settings: Settings, host: HostSettings, log_dirs: Sequence[str], state: TailState, **options: Any
) -> HostEyes:
    limits = settings.plan.for_cluster(host.cluster)
    return HostEyes(
        host,
        log_dirs,
        partial(settings.detect.reserve_of, host.cluster),
        state,
        reserve_file_of=lambda path: limits.log_dir_rule(host.broker, path).reserve,
        **options,
    )


def _print_once(settings: Settings, host: HostSettings, log_dirs: Sequence[str], *, as_json: bool) -> None:
    eyes = _eyes(settings, host, log_dirs, TailState(), back_bytes=BACK_BYTES, probe_file=ONCE_PROBE_FILE)
    record, events = asyncio.run(look_once(host, eyes, now_ms()))
    eyes.close()
    if as_json:
        typer.echo(msgspec.json.encode({"record": record, "events": events}))
        return
    terminal = console()
    terminal.print(view(record, events, terminal.width))


async def _watch(settings: Settings, host: HostSettings, log_dirs: Sequence[str]) -> None:
    folder = Path(host.state_dir).expanduser() if host.state_dir else settings.home_path / "host"
    state_file = StateFile(folder, host.cluster, host.broker)
    state = state_file.load()
    publisher = publisher_of(settings)
    eyes = _eyes(settings, host, log_dirs, state)
    watch = HostWatch(host, eyes, state_file, state, publisher.put, lambda: publisher.pending == 0, now_ms)
    stop = asyncio.Event()
    on_signal(stop.set)
    publisher.start()
    log.info("host.started", cluster=host.cluster, broker=host.broker, log_dirs=list(log_dirs), collector=host.name)
    with watching(lambda: (publisher.beat, *watch.beats)):
        await loop.run([watch], stop)
    left = publisher.stop(DRAIN_S)
    watch.end()
    log.info("host.stopped", sent=sum(publisher.sent.values()), not_sent=left)
