"""Spark and a Trino server over the same tables."""

import os
import sys
from pathlib import Path

import pytest

from logdirwatch.store.schema.definitions import TABLES
from tests.spark.conftest import empty_tables, spark  # noqa: F401 - fixtures
from tests.spark.lake import Lake
from tests.support import trino

HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch")).absolute()
DATABASE = "panels"
# The library that writes dashboards needs Python 3.11.
collect_ignore_glob = ["test_*.py"] if sys.version_info < (3, 11) else []


class Engines:
    """The two engines under the names of the folders of their dashboards."""

    def __init__(self, lake, server):
        self.lake = lake
        self._spark, self._server = lake.spark, server
        self.tables = {"databricks": DATABASE, "trino": server.tables}

    def answer(self, engine, text):
        """Return names and rows as both engines would say them."""
        names, rows = self._server.answer(text) if engine == "trino" else self._by_spark(text)
        return names, [tuple(map(plain, row)) for row in rows]

    def _by_spark(self, text):
        frame = self._spark.sql(text)
        return frame.columns, [tuple(row) for row in frame.collect()]


def plain(value):
    """Return a moment as epoch milliseconds and a double without the last digits, which follow the order of sums."""
    if hasattr(value, "timestamp"):
        return round(value.timestamp() * 1000)
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.fixture(scope="session")
def engines(spark, empty_tables, tmp_path_factory):  # noqa: F811 - the fixtures above
    """Both engines over tables that ``store`` filled."""
    lake = Lake(spark, empty_tables)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    for name in TABLES:
        spark.sql(f"CREATE TABLE {DATABASE}.{name} USING delta LOCATION '{empty_tables}/{name}'")
    with trino.serving(HOME, tmp_path_factory.mktemp("trino"), empty_tables) as server:
        server.register(list(TABLES))
        yield Engines(lake, server)
    spark.sql(f"DROP DATABASE {DATABASE} CASCADE")
