"""``logdirwatch-lab``: a local Kafka cluster with disks that can be filled and broken, and the demonstration on it."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table

from logdirwatch import settings
from logdirwatch.cli import stopping
from logdirwatch.cli.context import Context, say_next
from logdirwatch.cli.main import empty, run
from logdirwatch.cli.reading.records import console
from logdirwatch.jars import KAFKA_VERSION
from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch.text.units import human_bytes
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec
from logdirwatch_lab.demo.command import demo
from logdirwatch_lab.fill import FillWith
from logdirwatch_lab.report import ClusterStatus
from logdirwatch_lab.sizes import parse_bytes


class Metadata(str, Enum):
    """Where a local cluster keeps its metadata."""

    KRAFT = "kraft"
    ZOOKEEPER = "zookeeper"


Broker = Annotated[int, typer.Argument(metavar="BROKER", help="Id of the broker, from 0.", show_default=False)]
LogDir = Annotated[
    str, typer.Argument(metavar="DIR", help="Index of the log directory, from 0, or its path.", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


commands = empty("logdirwatch-lab", "A local Kafka cluster whose log directories can be filled, broken and repaired.")
commands.command()(demo)


@commands.command()
def up(
    ctx: typer.Context,
    brokers: Annotated[int, typer.Option(help="Number of monitored brokers; up to three are controllers too.")] = 4,
    log_dirs: Annotated[int, typer.Option(help="Log directories of each broker.")] = 3,
    log_dir_size: Annotated[
        str | None,
        typer.Option(
            help="Give every log directory a file system of this size, such as 64MB; it uses memory as it fills. "
            "By default the directories are on this machine's disk and cannot be filled.",
            show_default=False,
        ),
    ] = None,
    metadata_in_first_dir: Annotated[
        bool,
        typer.Option(
            "--metadata-in-first-dir",
            help="Keep the metadata log in the first log directory, as Kafka does by default: "
            "a broker halts when it fails.",
        ),
    ] = False,
    kafka_version: Annotated[
        str, typer.Option(help="Release of the monitored brokers, from 2.8.0 on.")
    ] = KAFKA_VERSION,
    metadata: Annotated[
        Metadata, typer.Option(help="Where they keep their metadata; zookeeper up to 3.9.")
    ] = Metadata.KRAFT,
    tiered: Annotated[
        bool, typer.Option("--tiered", help="Give them tiered storage, in a folder of this cluster; from 3.6 on.")
    ] = False,
) -> None:
    """Start monitored brokers and a telemetry broker, real Kafka on free local ports, and wait for them to be ready.

    Kafka's jars are downloaded the first time. Afterwards the other commands find the cluster without --config.
    """
    size_bytes = parse_bytes(log_dir_size) if log_dir_size is not None else None
    spec = ClusterSpec(
        brokers,
        log_dirs,
        size_bytes,
        metadata_in_first_dir,
        kafka_version=kafka_version,
        metadata=MetadataMode(metadata.value),
        is_tiered=tiered,
    )
    cluster = _cluster(ctx, spec)
    cluster.up()
    typer.echo(f"brokers        {cluster.bootstrap_servers}")
    typer.echo(f"telemetry      {cluster.telemetry}")
    typer.echo(f"configuration  {cluster.config_path}")
    typer.echo(f"Kafka's tools  {cluster.folder / 'bin'}")
    say_next(ctx.obj, "topics create")


@commands.command()
def status(ctx: typer.Context, json: JsonOption = False) -> None:
    """Show the brokers and log directories as they are on this machine, whatever Kafka reports."""
    found = _cluster(ctx).status()
    if json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    typer.echo(f"brokers    {found.bootstrap_servers}\ntelemetry  {found.telemetry}")
    console().print(_table(found))


@commands.command("break")
def break_(ctx: typer.Context, broker: Broker, log_dir: LogDir) -> None:
    """Break a log directory: replace it with a file, so that every operation in it fails."""
    _cluster(ctx).break_log_dir(broker, log_dir)
    repair = f"logdirwatch-lab restore {broker} {log_dir}"
    typer.echo(f"broker {broker}: log directory {log_dir} is broken; repair it with: {repair}")


@commands.command()
def fill(
    ctx: typer.Context,
    broker: Broker,
    log_dir: LogDir,
    with_: Annotated[
        FillWith,
        typer.Option("--with", help="data: records of a topic in it; file: a file that belongs to no replica."),
    ] = FillWith.DATA,
    rate: Annotated[
        str | None,
        typer.Option(help="Bytes per second, such as 1MB; default: as fast as possible.", show_default=False),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Stop at this used ratio; default: when the disk is full.", show_default=False
        ),
    ] = None,
) -> None:
    """Fill a log directory's file system until it is full, Kafka takes the directory offline, or Ctrl-C."""
    stop = stopping.on_signals()
    rate_bytes_per_s = parse_bytes(rate) if rate is not None else None
    cluster = _cluster(ctx)
    done = cluster.fill(broker, log_dir, with_, rate_bytes_per_s=rate_bytes_per_s, until_ratio=until, stop=stop)
    space = cluster.space(broker, log_dir)
    into = f" to topic {done.topic}" if done.topic else ""
    free = f"; {human_bytes(space.free_bytes)} of {human_bytes(space.total_bytes)} are free" if space else ""
    typer.echo(f"wrote {human_bytes(done.written_bytes)}{into}, ended: {done.ended.value}{free}")


@commands.command()
def restore(ctx: typer.Context, broker: Broker, log_dir: LogDir) -> None:
    """Repair a log directory and wait until it is online: replaced if it was broken, enlarged if it is full of data.

    If Kafka took the directory offline, the broker is restarted, since nothing else brings it back.
    """
    _cluster(ctx).restore(broker, log_dir)
    typer.echo(f"broker {broker}: log directory {log_dir} is online")


@commands.command()
def kill(ctx: typer.Context, broker: Broker) -> None:
    """Kill a broker (SIGKILL)."""
    _cluster(ctx).kill(broker)
    typer.echo(f"broker {broker} is killed")


@commands.command()
def pause(ctx: typer.Context, broker: Broker) -> None:
    """Pause a broker (SIGSTOP): its connections stay open, but it does not answer."""
    _cluster(ctx).pause(broker)
    typer.echo(f"broker {broker} is paused")


@commands.command()
def resume(ctx: typer.Context, broker: Broker) -> None:
    """Resume a paused broker (SIGCONT)."""
    _cluster(ctx).resume(broker)
    typer.echo(f"broker {broker} is resumed")


@commands.command()
def stop(ctx: typer.Context, broker: Broker) -> None:
    """Shut a broker down cleanly (SIGTERM)."""
    _cluster(ctx).stop(broker)
    typer.echo(f"broker {broker} is stopped")


@commands.command()
def start(ctx: typer.Context, broker: Broker) -> None:
    """Start a killed or stopped broker and wait until it is ready."""
    _cluster(ctx).start(broker)
    typer.echo(f"broker {broker} is ready")


@commands.command()
def down(ctx: typer.Context) -> None:
    """Stop and remove everything: processes, file systems and files. Only the downloaded jars stay."""
    existed = _cluster(ctx).down()
    typer.echo("the local cluster is removed" if existed else "there was no local cluster")


def main() -> None:
    """Run the command line."""
    run(lambda _: commands)


def _cluster(ctx: typer.Context, spec: ClusterSpec | None = None) -> LocalCluster:
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    return LocalCluster(_home(context), spec, say=lambda line: typer.echo(line, err=True))


def _home(context: Context) -> Path:
    """Return the home folder without reading the cluster's configuration: a broken one must not prevent ``down``."""
    path = settings.find_config(context.config_path)
    if path is not None and path == settings.local_cluster_config(path.parent.parent):
        return path.parent.parent
    return context.settings.home_path


def _table(found: ClusterStatus) -> Table:
    table = Table("broker", "pid", "status", "dir", "path", "state", "free", "size")
    table.columns[4].overflow = "fold"
    for broker in found.brokers:
        for index, log_dir in enumerate(broker.log_dirs):
            first = (str(broker.id), str(broker.pid or ""), broker.status) if index == 0 else ("", "", "")
            sizes = (human_bytes(log_dir.usable_bytes), human_bytes(log_dir.total_bytes))
            table.add_row(*first, str(index), log_dir.path, log_dir.status, *sizes)
    return table
