"""Queries and jobs in an application that was there before, as on Databricks: nothing changes it, nothing ends it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kafka.conftest import JARS_HOME
from tests.support.waiting import DEADLINE_S

ROOT = Path(__file__).parents[2]


def run(tmp_path, code):
    """Run code in a process of its own, for an application's configuration is fixed at its start."""
    script = tmp_path / "job.py"
    script.write_text(
        f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n"
        f"from pathlib import Path; home, folder = Path({str(JARS_HOME)!r}), Path({str(tmp_path)!r})\n{code}"
    )
    return subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


EVERYTHING = """
from logdirwatch.config.stream import StreamSettings
from logdirwatch.jobs import maintain, validate
from logdirwatch.jobs.session import build_session, end_session, without_empty_batches
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables
from pyspark.sql import SparkSession
from tests.spark.given import CATALOG, catalog_class, foreign_session, snapshot
from tests.spark.test_detect import T0, Feed, metrics

theirs = foreign_session(home, folder)
before = snapshot(theirs)
settings = Settings(
    stream=StreamSettings(master=None, extra={"spark.sql.codegen.cache.maxEntries": "9"}),
    tables=TableSettings(path=str(folder / "tables")),
)

ours = build_session(settings)
assert ours is not theirs
assert ours.conf.get("spark.sql.session.timeZone") == "UTC"
assert ours.conf.get("spark.sql.shuffle.partitions") == "2"
assert catalog_class(ours) == CATALOG
without_batches = without_empty_batches(ours, settings)
assert without_batches.conf.get("spark.sql.streaming.noDataMicroBatches.enabled") == "false"

tables = Tables(ours, settings)
tables.create_missing([LOG_DIR_SAMPLES])
row = {"cluster": "prod", "broker": 7, "timestamp_ms": T0, "sample_id": "s1"}
rows = tables.read(LOG_DIR_SAMPLES)
rows = ours.createDataFrame([tuple(row.get(name) for name in rows.columns)], rows.schema)
tables.insert_new(LOG_DIR_SAMPLES, rows, [(T0, T0)])
assert tables.read(LOG_DIR_SAMPLES).count() == 1

(folder / "detect").mkdir()
feed = Feed(without_batches, folder / "detect", settings).start()
feed.send(metrics(T0, error_code=56))
feed.wait_for("logdir.alerts", lambda alert: alert.rule == "log_dir_offline", "the alert of the directory")
feed.stop()

assert [row.error for row in maintain.run(settings, ["log_dir_samples"], T0, is_dry_run=False)] == [None]
found = validate.run(settings, ["log_dir_samples"], T0 + 1)
assert found
assert [row for row in found if not row.success] == []

ours.createDataFrame([(1,)], "a int").count()
end_session(ours)
assert SparkSession.getActiveSession() is theirs
assert theirs.range(3).count() == 3
assert catalog_class(theirs) == CATALOG
assert snapshot(theirs) == before
print("still there")
theirs.stop()
"""


def test_everything_runs_beside_a_session_with_a_foreign_catalog_and_leaves_it_as_it_is(tmp_path):
    done = run(tmp_path, EVERYTHING)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "still there"
    (ignored,) = [line for line in done.stderr.splitlines() if "session.extra_ignored" in line]
    assert "spark.sql.codegen.cache.maxEntries" in ignored


WITHOUT_DELTA = """
from logdirwatch.errors import UserError
from logdirwatch.jobs.session import build_session
from logdirwatch.settings import Settings
from pyspark.sql import SparkSession
from tests.spark.given import OPTIONS, foreign_session

theirs = {started}
try:
    build_session(Settings(stream={{"master": None}}))
except UserError as error:
    print(error)
print(theirs.range(3).count())
"""
BARE = "SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()"
NO_CATALOG = "foreign_session(home, folder, **{'spark.sql.catalog.spark_catalog': 'builtin'})"


@pytest.mark.parametrize(
    ("started", "lacking"),
    [
        pytest.param(BARE, "its jars", id="jars"),
        pytest.param(NO_CATALOG, "spark.sql.catalog.spark_catalog", id="catalog", marks=pytest.mark.long),
    ],
)
def test_a_given_session_without_delta_lake_is_one_line_with_the_remedy(tmp_path, started, lacking):
    done = run(tmp_path, WITHOUT_DELTA.format(started=started))
    assert done.returncode == 0, done.stderr
    line, still_there = done.stdout.splitlines()
    assert f"the Spark session that was given lacks Delta Lake ({lacking}); start its application with: " in line
    assert "--packages org.apache.spark:spark-sql-kafka" in line
    assert "--conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in line
    assert still_there == "3"
