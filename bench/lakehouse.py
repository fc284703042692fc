"""Delta tables for the benchmarks: a session as the product builds it, a fleet, what a table's log says, markdown."""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil
from pyspark.sql import DataFrame, SparkSession

from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.maintain import java_speaks_to_stderr
from logdirwatch.jobs.session import build_session
from logdirwatch.settings import Settings
from logdirwatch.store.schema.columns import Table
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables

LOG_DIRS = 12
DAY_MS = 86_400_000
NOW_MS = 1_700_000_000_000 // DAY_MS * DAY_MS
TOTAL_BYTES = 4 << 40
HOME = Path(os.environ.get("LOGDIRWATCH_HOME", ".logdirwatch")).absolute()
MIB, GIB = 1 << 20, 1 << 30


def settings_below(
    folder: Path, driver_memory: str, conf: Sequence[str] = (), java: str = "", tables: str | None = None
) -> Settings:
    """Return the defaults of the configuration on two cores, with everything below ``folder``, or tables elsewhere."""
    stream = StreamSettings(
        master="local[2]",
        driver_memory=driver_memory,
        driver_java_options=java,
        extra={"spark.sql.warehouse.dir": f"{folder}/warehouse", **parted(conf)},
    )
    return Settings(home=str(HOME), stream=stream, tables=TableSettings(path=tables or f"{folder}/tables"))


@contextmanager
def session(
    folder: Path, driver_memory: str = "3g", conf: Sequence[str] = (), java: str = "", path: str | None = None
) -> Iterator[tuple[SparkSession, Tables]]:
    settings = settings_below(folder, driver_memory, conf, java, path)
    with java_speaks_to_stderr():
        spark = build_session(settings, "bench")
    try:
        yield spark, Tables(spark, settings)
    finally:
        spark.stop()


def configure(spark: SparkSession, conf: Sequence[str]) -> None:
    """Set KEY=VALUE over what the product set; a merge or a night that begins later holds to it."""
    for key, value in parted(conf).items():
        if spark.conf.isModifiable(key):
            spark.conf.set(key, value)


def parted(conf: Sequence[str]) -> dict[str, str]:
    return dict(each.split("=", 1) for each in conf)


def fleet(spark: SparkSession, clusters: int, brokers_each: int) -> None:
    """Make the views ``brokers`` and ``log_dirs``; h is a number of each directory's own, from 0 to 1023."""
    spark.range(clusters * brokers_each).selectExpr(
        f"CONCAT('cluster-', id DIV {brokers_each}) AS cluster", f"CAST(id % {brokers_each} AS INT) AS broker"
    ).createOrReplaceTempView("brokers")
    spark.sql(
        f"SELECT *, CAST({TOTAL_BYTES} * (0.3 + h / 2048) AS BIGINT) AS used_bytes FROM (SELECT cluster, broker, d, "
        f"CONCAT('/data/d', d) AS log_dir, HASH(cluster, broker, d) & 1023 AS h FROM brokers CROSS JOIN "
        f"(SELECT CAST(id AS INT) AS d FROM RANGE({LOG_DIRS})))"
    ).createOrReplaceTempView("log_dirs")


def append(tables: Tables, table: Table, rows: DataFrame) -> None:
    """Append rows that name some of a table's columns, as they lie."""
    kinds = {column.name: column.kind for column in table.columns}
    typed = rows.selectExpr(*(f"CAST({name} AS {kinds[name]}) AS {name}" for name in rows.columns))
    typed.write.format("delta").mode("append").saveAsTable(tables.name(table))


class Spent(NamedTuple):
    """Seconds on the clock, and of processors; where others use the machine too, only the second can be compared."""

    seconds: float
    processor_s: float


def spent(action: Callable[[], object]) -> Spent:
    """Run and return what it cost this process, its JVM and their Python workers."""
    before_s, begin_s = _processor_s(), time.monotonic()
    action()
    return Spent(time.monotonic() - begin_s, _processor_s() - before_s)


def _processor_s() -> float:
    this = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in [this, *this.children(recursive=True)])


def jobs(spark: SparkSession) -> int:
    """Return the number of Spark jobs since the start."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())  # noqa: SLF001 - PySpark has no counter


def seconds_of(action: Callable[[], object]) -> float:
    begin_s = time.monotonic()
    action()
    return time.monotonic() - begin_s


@dataclass
class Written:
    """What commits did to a table."""

    commits: int = 0
    added: int = 0
    added_bytes: int = 0
    added_rows: int = 0
    removed: int = 0
    removed_bytes: int = 0


def written(table: Path, after_version: int) -> Written:
    """Return what the log of a table says of the commits after a version."""
    total = Written()
    for path in sorted((table / "_delta_log").glob("*.json")):
        if re.fullmatch(r"\d{20}", path.stem) and int(path.stem) > after_version:
            total.commits += 1
            for entry in map(json.loads, path.read_text().splitlines()):
                _count(total, entry)
    return total


def _count(total: Written, entry: dict) -> None:  # type: ignore[type-arg]
    if added := entry.get("add"):
        total.added += 1
        total.added_bytes += added["size"]
        total.added_rows += json.loads(added.get("stats") or "{}").get("numRecords", 0)
    if removed := entry.get("remove"):
        total.removed += 1
        total.removed_bytes += removed.get("size") or 0


def version(table: Path) -> int:
    """Return the newest version in a table's log, -1 without one."""
    return max((int(path.stem) for path in (table / "_delta_log").glob("[0-9]*[0-9].json")), default=-1)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; each row when it comes."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header), flush=True)
    for row in rows:
        print("| " + " | ".join(map(_cell, row)) + " |", flush=True)
    print(flush=True)


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def machine() -> str:
    """Say on what it was measured; a load beside the own two cores means that the times are too long."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {time.strftime('%Y-%m-%d %H:%M')}"
