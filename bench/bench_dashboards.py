"""How long the queries of the dashboards take, in Trino and in Spark, over a week of a fleet.

    python bench/bench_dashboards.py [--clusters 10] [--brokers 200] [--interval-s 300] [--rounds 3] [--engine trino]

Makes the tables (``dashboard_tables.sql``): twelve log directories a broker, a hundred replicas in each, a week of
samples that lie as ``store`` clusters them, by cluster and time. Then asks every query of the committed dashboards,
those of a directory for one directory, and prints the median and the longest of some rounds after one that is not
counted. An answer should come within two seconds.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import environ
from pathlib import Path
from string import Template

from pyspark.sql import DataFrame, SparkSession

from logdirwatch.jobs.session import build_session
from logdirwatch.settings import Settings, StreamSettings, TableSettings
from logdirwatch.store.columns import Table
from logdirwatch.store.schemas import TABLES
from logdirwatch.store.tables import Tables

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' Trino, and the dashboards

from tests.sql.grafana import Asked, asked, filled
from tests.support import trino

LOG_DIRS, PARTITIONS = 12, 100
DAY_MS = 86_400_000
NOW_MS = 1_700_000_000_000 // DAY_MS * DAY_MS
FROM_MS = NOW_MS - 7 * DAY_MS
TOTAL_BYTES = 4 << 40
LIMIT_S = 2.0
DATABASE = "bench"
SELECTS = Path(__file__).with_name("dashboard_tables.sql")
CHOSEN = {"cluster": "cluster-3", "broker": "7", "log_dir": "/data/d4"}
Ask = Callable[[str], object]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clusters", type=int, default=10)
    arguments.add_argument("--brokers", type=int, default=200, help="of each cluster")
    arguments.add_argument("--interval-s", type=int, default=300)
    arguments.add_argument(
        "--sorted-by", default="timestamp_ms", help="columns, by which rows lie in a file of samples"
    )
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--engine", choices=("trino", "databricks"), action="append")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, session(Path(folder)) as (spark, tables):
        begin_s = time.monotonic()
        fill(spark, tables, chosen)
        samples = tables.read(TABLES["log_dir_samples"]).count()
        print(
            f"{chosen.clusters * chosen.brokers * LOG_DIRS} directories in {chosen.clusters} clusters, a sample each "
            f"{chosen.interval_s} s for a week: {samples} rows, made in {time.monotonic() - begin_s:.0f} s\n"
        )
        for engine in chosen.engine or ("trino", "databricks"):
            with asking(engine, spark, Path(folder)) as ask:
                report(engine, ask, chosen.rounds)


@contextmanager
def session(folder: Path) -> Iterator[tuple[SparkSession, Tables]]:
    stream = StreamSettings(
        master="local[2]",
        driver_memory="3g",
        shuffle_partitions=2,
        extra={"spark.sql.warehouse.dir": f"{folder}/warehouse"},
    )
    home = environ.get("LOGDIRWATCH_HOME", ".logdirwatch")
    settings = Settings(home=home, stream=stream, tables=TableSettings(path=f"{folder}/tables"))
    spark = build_session(settings, "bench")
    yield spark, Tables(spark, settings)
    spark.stop()


@contextmanager
def asking(engine: str, spark: SparkSession, folder: Path) -> Iterator[Ask]:
    """Yield a function that asks an engine and takes all rows."""
    if engine == "trino":
        home = Path(environ.get("LOGDIRWATCH_HOME", ".logdirwatch")).absolute()
        with trino.serving(home, folder / "trino", folder / "tables", heap_mib=2048) as server:
            server.register(list(TABLES))
            yield lambda text: server.rows(text.replace("TABLES", server.tables))
    else:
        spark.sql(f"CREATE DATABASE {DATABASE}")
        for name in TABLES:
            spark.sql(f"CREATE TABLE {DATABASE}.{name} USING delta LOCATION '{folder}/tables/{name}'")
        yield lambda text: spark.sql(text.replace("TABLES", DATABASE)).collect()


def report(engine: str, ask: Ask, rounds: int) -> None:
    print(f"{engine:<58}{'median s':>10}{'longest s':>11}", flush=True)
    late = 0
    for query, text in distinct(engine).items():
        ask(text)
        seconds = [timed(ask, text) for _ in range(rounds)]
        late += max(seconds) > LIMIT_S
        print(f"{query!s:<58}{statistics.median(seconds):>10.2f}{max(seconds):>11.2f}", flush=True)
    print(f"{late} of {len(distinct(engine))} took longer than {LIMIT_S:g} s\n", flush=True)


def distinct(engine: str) -> dict[Asked, str]:
    """Return the queries that differ once they are filled in."""
    texts: dict[str, Asked] = {}
    for query in asked(engine):
        chosen = CHOSEN if query.board in ("directory", "cluster", "room") else dict.fromkeys(CHOSEN, "*")
        text = filled(query.text, "TABLES", NOW_MS, FROM_MS, NOW_MS, interval_ms=1_200_000, **chosen)
        texts.setdefault(text, query)
    return {query: text for text, query in texts.items()}


def timed(ask: Ask, text: str) -> float:
    begin_s = time.monotonic()
    ask(text)
    return time.monotonic() - begin_s


def fill(spark: SparkSession, tables: Tables, chosen: argparse.Namespace) -> None:
    """Write every table by its SELECT."""
    tables.create_missing(TABLES.values())
    spark.range(chosen.clusters * chosen.brokers).selectExpr(
        f"CONCAT('cluster-', id DIV {chosen.brokers}) AS cluster", f"CAST(id % {chosen.brokers} AS INT) AS broker"
    ).createOrReplaceTempView("brokers")
    spark.sql(
        f"SELECT *, CAST({TOTAL_BYTES} * (0.3 + h / 2048) AS BIGINT) AS used_bytes FROM (SELECT cluster, broker, d, "
        f"CONCAT('/data/d', d) AS log_dir, HASH(cluster, broker, d) & 1023 AS h FROM brokers CROSS JOIN "
        f"(SELECT CAST(id AS INT) AS d FROM RANGE({LOG_DIRS})))"
    ).createOrReplaceTempView("log_dirs")
    numbers = {
        "at_ms": NOW_MS - 20_000,
        "now_ms": NOW_MS,
        "from_ms": FROM_MS,
        "interval_ms": chosen.interval_s * 1000,
        "log_dirs": LOG_DIRS,
        "partitions": PARTITIONS,
        "total_bytes": TOTAL_BYTES,
        "sorted_by": chosen.sorted_by,
    }
    for name, select in re.findall(r"^-- table (\w+)\n(.*?);$", SELECTS.read_text(), re.DOTALL | re.MULTILINE):
        append(tables, TABLES[name], spark.sql(Template(select).substitute(numbers)))


def append(tables: Tables, table: Table, rows: DataFrame) -> None:
    kinds = {column.name: column.kind for column in table.columns}
    typed = rows.selectExpr(*(f"CAST({name} AS {kinds[name]}) AS {name}" for name in rows.columns))
    typed.write.format("delta").mode("append").saveAsTable(tables.name(table))


if __name__ == "__main__":
    main()
