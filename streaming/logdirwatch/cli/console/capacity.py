"""Where the console's page of capacity reads: the same as ``report`` and ``plan --what-if``."""

from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.plan_source import Source
from logdirwatch.cli.reading.records import now_ms
from logdirwatch.cli.reading.tables.reader import TableReader
from logdirwatch.cli.report.command import month_of, usage
from logdirwatch.cli.what_if import tried_changes
from logdirwatch.console.capacity import Capacity
from logdirwatch.report.capacity.usage import Usage


def capacity_of(context: Context, tables: TableReader) -> Capacity:
    """Return the capacity of the configured tables."""

    def of_this_month() -> Usage:
        at_ms = now_ms()
        return usage(context.settings, tables, *month_of(None, at_ms), at_ms)

    return Capacity(
        of_this_month,
        lambda cluster, changes: tried_changes(context, Source(cluster, False, None, None), changes, None),
    )
