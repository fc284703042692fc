"""One of the writers: inserts numbered rows, by the driver and by Spark in turns, and notes each that it was told of.

Every tenth row is inserted by Spark, every fiftieth is followed by OPTIMIZE, as ``tables optimize`` runs beside the
stream. A writer that was killed goes on with the row after the last that it noted; that one may be there already.
"""

import json
import os
import sys
from pathlib import Path

from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.settings import Settings
from logdirwatch.store.direct.arrow import arrow_rows
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import CONFLICTS, Tables
from logdirwatch.store.writing.direct import insert_new

BY_SPARK, OPTIMIZED = 10, 50
AT_MS = 1_700_000_000_000


def main(task):
    """Insert the rows of a task: ``path`` of the tables, ``writer``, ``commits``, file of ``notes``, ``home``, conf."""
    stream = StreamSettings(
        master="local[1]", driver_memory="700m", driver_java_options="-XX:TieredStopAtLevel=1", extra=task["conf"]
    )
    settings = Settings(home=task["home"], stream=stream, tables=TableSettings(path=task["path"]))
    spark = build_session(settings, f"writer-{task['writer']}")
    tables = Tables(spark, settings)
    tables.create_missing([LOG_DIR_SAMPLES])
    with Path(task["notes"]).open("a+") as notes:
        notes.seek(0)
        first = len(notes.readlines())
        for number in range(first, task["commits"]):
            is_first = number == first
            until_no_conflict(lambda n=number, f=is_first: insert(tables, spark, task["writer"], n, may_be_there=f))
            if number % OPTIMIZED == 0:
                until_no_conflict(lambda: spark.sql(f"OPTIMIZE {tables.name(LOG_DIR_SAMPLES)}").collect())
            notes.write(f"{number}\n")
            notes.flush()
            os.fsync(notes.fileno())
    end_session(spark)


def insert(tables, spark, writer, number, *, may_be_there):
    row = {"cluster": "c", "broker": writer, "timestamp_ms": AT_MS + number}
    if number % BY_SPARK:
        insert_new(LOG_DIR_SAMPLES, arrow_rows(LOG_DIR_SAMPLES, [row]), tables.direct)
        return
    # A merge of Spark takes so long that the driver of the other process is always quicker; an append needs none.
    mine = f"broker = {writer} AND timestamp_ms = {AT_MS + number}"
    if not may_be_there or tables.read(LOG_DIR_SAMPLES).where(mine).isEmpty():
        columns, values = ", ".join(row), ", ".join(map(repr, row.values()))
        spark.sql(f"INSERT INTO {tables.name(LOG_DIR_SAMPLES)} ({columns}) VALUES ({values})")


def until_no_conflict(write):
    """Repeat what another writer was quicker with, however often."""
    while not is_written(write):
        pass


def is_written(write):
    try:
        write()
    except CONFLICTS:
        return False
    return True


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
