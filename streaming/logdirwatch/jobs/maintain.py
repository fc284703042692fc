"""The job ``maintain``: the maintenance of every table, in its own Spark session."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.tables import Tables
from logdirwatch.store.upkeep.maintain import Upkeep, upkeep
from logdirwatch.store.upkeep.results import Upkept


def run(settings: Settings, names: Iterable[str], now_ms: int, *, is_dry_run: bool) -> Iterator[Upkept]:
    """Yield the result for each named table; a dry run changes nothing."""
    with java_speaks_to_stderr():
        spark = build_session(settings, "logdirwatch-maintain")
    try:
        tables = Tables(spark, settings)
        of_tables = Upkeep(spark, tables, settings.maintain, now_ms)
        yield from upkeep(of_tables, tables, [TABLES[name] for name in names], is_dry_run=is_dry_run)
    finally:
        end_session(spark)


@contextmanager
def java_speaks_to_stderr() -> Iterator[None]:
    """Let a JVM started in the block use stderr as its stdout, since VACUUM prints the deleted files there."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
