"""``logdirwatch report``: bytes by topic and owner, their growth and their cost."""

import csv
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import console, now_ms
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.cli.reading.tables.reader import Row, TableReader
from logdirwatch.config.section import HOUR_MS
from logdirwatch.errors import UserError
from logdirwatch.parse.decoding import Decoder, NotReadableError
from logdirwatch.report.capacity.usage import Usage, cluster_uses, table, view
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES, REPLICA_STATE
from logdirwatch.text.words import did_you_mean


def report(
    ctx: typer.Context,
    month: Annotated[
        str | None, typer.Option(metavar="YYYY-MM", help="The month (UTC); default: this one.", show_default=False)
    ] = None,
    since: Annotated[
        Path | None, typer.Option(help="An earlier report, written with --json: shows the growth of topics and owners.")
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Show only this cluster.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print one line per topic.")] = False,
) -> None:
    """Show who uses how much space: bytes by topic and owner, the growth of the month, and the cost.

    Owners are those of plan.topics, costs come from report.cost_per_tb_month. Sizes are current and include all
    replicas: the tables keep no older sizes of topics, so keep the report of each month and pass it with --since in the
    next.
    """
    if as_json and as_csv:
        raise UserError("report: --json and --csv cannot be combined", exit_code=2)
    at_ms = now_ms()
    wanted = month_of(month, at_ms)
    earlier = None if since is None else _earlier(since)
    context: Context = ctx.obj
    tables = table_reader(context.settings)
    found = _only(usage(context.settings, tables, wanted.from_ms, wanted.to_ms, at_ms, earlier), cluster)
    if as_json:
        typer.echo(msgspec.json.encode(found))
    elif as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows(table(found))
    elif found.clusters:
        terminal = console()
        terminal.print(view(found, terminal.width))
    else:
        typer.echo(f"No replica in the tables {tables.place.at} yet. Has logdirwatch collect scanned the inventory?")


class Month(NamedTuple):
    """A month, up to now if it is the present one."""

    from_ms: int
    to_ms: int


def month_of(text: str | None, at_ms: int) -> Month:
    """Read ``YYYY-MM``, None for the present month; raises UserError for an invalid or future month."""
    now = datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc)
    try:
        begin = datetime.strptime(text or now.strftime("%Y-%m"), "%Y-%m").replace(tzinfo=timezone.utc)
    except ValueError:
        raise UserError(f"report: --month {text!r} is not a month; write 2026-11", exit_code=2) from None
    if begin > now:
        raise UserError(f"report: --month {text} is still to come", exit_code=2)
    end = begin.replace(year=begin.year + begin.month // 12, month=begin.month % 12 + 1)
    return Month(round(begin.timestamp() * 1000), min(at_ms, round(end.timestamp() * 1000)))


def _earlier(path: Path) -> Usage:
    try:
        return Decoder(Usage).decode(path.read_bytes())
    except OSError as error:
        raise UserError(f"report: --since {path} cannot be read: {error.strerror}", exit_code=2) from None
    except NotReadableError:
        raise UserError(
            f"report: --since {path} is no report; write one with: logdirwatch report --json > FILE", exit_code=2
        ) from None


def _only(found: Usage, cluster: str | None) -> Usage:
    if cluster is None:
        return found
    names = [one.cluster for one in found.clusters]
    if cluster not in names:
        near = did_you_mean(cluster, names) or f"; the clusters: {', '.join(names) or 'none yet'}"
        raise UserError(f"report: no cluster {cluster} in the tables{near}", exit_code=2)
    return msgspec.structs.replace(found, clusters=[one for one in found.clusters if one.cluster == cluster])


_SIZES = (
    "SELECT cluster, topic, sum(size_bytes) AS bytes, count(*) AS replicas FROM t WHERE NOT is_future "
    "GROUP BY cluster, topic"
)
END_MS = HOUR_MS
"""How much of a month stands for each of its ends: their mean evens out what is deleted a segment at a time."""


def usage(
    settings: Settings, tables: TableReader, from_ms: int, to_ms: int, at_ms: int, earlier: Usage | None = None
) -> Usage:
    """Return the report of ``[from_ms, to_ms)``; raises UserError when a table cannot be read or was never written."""
    sizes = tables.select(REPLICA_STATE.name, _SIZES)
    if sizes is None:
        raise UserError(
            f"report: no table {REPLICA_STATE.name} {tables.place.at} yet: run logdirwatch collect and logdirwatch "
            "stream"
        )
    clusters = cluster_uses(
        sizes,
        _used(tables, from_ms, from_ms + END_MS),
        _used(tables, to_ms - END_MS, to_ms),
        lambda cluster, topic: settings.plan.for_cluster(cluster).topic_rule(topic).owner,
        settings.report.cost_per_tb_month,
        earlier,
    )
    return Usage(at_ms=at_ms, from_ms=from_ms, to_ms=to_ms, clusters=clusters)


def _used(tables: TableReader, from_ms: int, to_ms: int) -> list[Row]:
    """Return the mean used bytes of every directory over a period."""
    query = (
        "SELECT cluster, broker, log_dir, avg(CAST(total_bytes - usable_bytes AS DOUBLE)) AS used FROM t "  # noqa: S608
        "WHERE kind = 'log_dir' AND error_code = 0 AND total_bytes > 0 "
        f"AND timestamp_ms >= {int(from_ms)} AND timestamp_ms < {int(to_ms)} GROUP BY cluster, broker, log_dir"
    )
    return list(tables.select(LOG_DIR_SAMPLES.name, query) or ())
