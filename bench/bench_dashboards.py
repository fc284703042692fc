"""How long the queries of the dashboards take, in Trino and in Spark, over a week of a fleet.

    python bench/bench_dashboards.py [--clusters 10] [--brokers 200] [--interval-s 300] [--rounds 3] [--engine trino]

Makes the tables (``dashboard_tables.sql``): twelve log directories a broker, a hundred replicas in each, a week of
samples; ``maintain`` puts them into its order. Then asks every query of the dashboards,
those of a directory for one directory, and prints the median and the longest of some rounds after one that is not
counted. An answer should come within two seconds.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

from pyspark.sql import SparkSession

from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.settings import MaintainSettings
from logdirwatch.store.tables import Tables
from logdirwatch.store.upkeep.maintain import Upkeep

sys.path.insert(0, str(Path(__file__).parents[1]))  # the tests' Trino, and the dashboards

import panels
from lakehouse import HOME, LOG_DIRS, NOW_MS, TOTAL_BYTES, append, fleet, machine, markdown, seconds_of, session
from tests.support import trino

PARTITIONS = 100
DATABASE = "bench"
SELECTS = Path(__file__).with_name("dashboard_tables.sql")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clusters", type=int, default=10)
    arguments.add_argument("--brokers", type=int, default=200, help="of each cluster")
    arguments.add_argument("--interval-s", type=int, default=300)
    arguments.add_argument("--folder", help="where the tables are made, in a folder that is removed at the end")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--engine", choices=("trino", "databricks"), action="append")
    chosen = arguments.parse_args()
    print(f"{machine()}\n")
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder, session(Path(folder)) as (spark, tables):
        made_s = seconds_of(lambda: fill(spark, tables, chosen))
        samples = tables.read(TABLES["log_dir_samples"]).count()
        print(
            f"{chosen.clusters * chosen.brokers * LOG_DIRS:,} directories in {chosen.clusters} clusters, a sample each "
            f"{chosen.interval_s} s for a week: {samples:,} rows, made in {made_s:.0f} s\n",
            flush=True,
        )
        for engine in chosen.engine or ("trino", "databricks"):
            with asking(engine, spark, Path(folder)) as ask:
                print(f"{engine}:\n")
                markdown(panels.HEADER, panels.timed(panels.distinct(engine), ask, chosen.rounds))


@contextmanager
def asking(engine: str, spark: SparkSession, folder: Path) -> Iterator[panels.Ask]:
    """Yield a function that asks an engine and takes all rows."""
    if engine == "trino":
        with trino.serving(HOME, folder / "trino", folder / "tables", heap_mib=2048) as server:
            server.register(list(TABLES))
            yield lambda text: server.rows(text.replace("TABLES", server.tables))
    else:
        spark.sql(f"CREATE DATABASE {DATABASE}")
        for name in TABLES:
            spark.sql(f"CREATE TABLE {DATABASE}.{name} USING delta LOCATION '{folder}/tables/{name}'")
        yield lambda text: spark.sql(text.replace("TABLES", DATABASE)).collect()


def fill(spark: SparkSession, tables: Tables, chosen: argparse.Namespace) -> None:
    """Write every table by its SELECT, and let the upkeep put it in order."""
    tables.create_missing(TABLES.values())
    fleet(spark, chosen.clusters, chosen.brokers)
    numbers = {
        "at_ms": NOW_MS - 20_000,
        "now_ms": NOW_MS,
        "from_ms": panels.FROM_MS,
        "interval_ms": chosen.interval_s * 1000,
        "log_dirs": LOG_DIRS,
        "partitions": PARTITIONS,
        "total_bytes": TOTAL_BYTES,
    }
    for name, select in re.findall(r"^-- table (\w+)\n(.*?);$", SELECTS.read_text(), re.DOTALL | re.MULTILINE):
        append(tables, TABLES[name], spark.sql(Template(select).substitute(numbers)))
    upkeep = Upkeep(spark, tables, MaintainSettings(), NOW_MS)
    for name in TABLES:
        upkeep.keep_up(TABLES[name])


if __name__ == "__main__":
    main()
