"""The use of space, read from the tables: for ``report`` and the console."""

from logdirwatch.cli.reading.tables.reader import Row, TableReader
from logdirwatch.config.section import HOUR_MS
from logdirwatch.errors import UserError
from logdirwatch.report.capacity.usage import Usage, cluster_uses
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES, REPLICA_STATE

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
