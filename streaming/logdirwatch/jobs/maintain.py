"""The job ``maintain``: the upkeep of every table, in a Spark session of its own."""

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
    """Yield what became of each named table; nothing is changed in a dry run."""
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
    """Let a JVM that is started meanwhile inherit stderr as its stdout: VACUUM prints what it deleted there."""
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
