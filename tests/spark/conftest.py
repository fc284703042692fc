"""One Spark session for the whole tier: two cores, Delta, UTC, built as the product builds its own.

With TEST_GIVEN_SESSION=1 it is built beside one with a foreign session catalog, as on Databricks.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs.session import build_session
from logdirwatch.settings import Settings
from logdirwatch.store.direct.newest import NotDirectError
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.writing import engine
from logdirwatch_lab.config import INTERPRETED
from tests.spark.given import foreign_session
from tests.spark.lake import Lake

# PySpark takes a main module without a file, as the processes of pytest-xdist have, for a doctest, and without Spark
# Connect, which Great Expectations looks for, it then ends the process.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = __file__


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    # The jars stay between runs: downloading them is no part of what is tested.
    home = os.environ.get("LOGDIRWATCH_HOME", str(Path(__file__).parents[2] / ".logdirwatch"))
    stream = StreamSettings(
        master="local[2]",
        driver_memory="2g",
        # The tier ends before what Java's second compiler makes would pay: it took a third of the processor's time.
        driver_java_options="-Xms1g -XX:TieredStopAtLevel=1",
        shuffle_partitions=2,
        extra={**INTERPRETED, "spark.sql.warehouse.dir": str(folder / "warehouse")},
    )
    if os.environ.get("TEST_GIVEN_SESSION"):
        theirs = foreign_session(home, folder)
        yield build_session(Settings(home=home, stream=stream.model_copy(update={"master": None, "extra": {}})))
        theirs.stop()
        return
    session = build_session(Settings(home=home, stream=stream), "logdirwatch-tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def empty_tables(spark, tmp_path_factory):
    """Every table, made once."""
    folder = tmp_path_factory.mktemp("empty") / "tables"
    Lake(spark, folder).tables.create_missing(TABLES.values())
    return folder


@pytest.fixture
def lake(spark, empty_tables, tmp_path):
    """Every table, empty: copied, for making them takes seconds."""
    return Lake(spark, shutil.copytree(empty_tables, tmp_path / "tables"))


@pytest.fixture
def by_spark(monkeypatch):
    """Call it to have tables written by Spark, as if the driver could not commit to them, or again by the driver."""
    by_driver = engine.ByDriver

    def refuse(*_):
        raise NotDirectError("a test")

    def switch(is_on=True):
        monkeypatch.setattr(engine, "ByDriver", refuse if is_on else by_driver)

    return switch


@pytest.fixture(params=["driver", pytest.param("spark", marks=pytest.mark.long)])
def written_by(request, by_spark):
    """Run a test twice: tables are written by the driver, and by Spark, which only merges what the driver decided."""
    by_spark(request.param == "spark")
    return request.param
