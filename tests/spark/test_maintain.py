"""``maintain``: old rows go and what is open stays, small files become few, dead files go; beside a writing stream."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from deltalake import DeltaTable

from logdirwatch.config.section import DAY_MS
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    EXECUTIONS,
    LOG_DIR_SAMPLES,
    QUALITY_RESULTS,
    TABLES,
    TRANSITIONS,
)
from logdirwatch.store.settings import MaintainSettings, RetentionSettings
from logdirwatch.store.tables import Tables
from logdirwatch.store.upkeep.maintain import DELTA_CONF, Upkeep, upkeep
from tests.spark.lake import T0, Lake, action, alert, execution, metrics, state, transition

ROUNDS = 2
CUBE = "spark.databricks.delta.optimize.clustering.mergeStrategy.minCubeSize.threshold"
KEPT = RetentionSettings(log_dir_samples_ms=30 * DAY_MS, transitions_ms=0)


def kept_up(lake, *tables, at_ms=T0, is_dry_run=False, **changes):
    settings = MaintainSettings(retention=KEPT, **changes)
    of_tables = Upkeep(lake.spark, lake.tables, settings, at_ms)
    chosen = tables or tuple(TABLES.values())
    found = {row.table: row for row in upkeep(of_tables, lake.tables, chosen, is_dry_run=is_dry_run)}
    assert [row.error for row in found.values() if row.error] == []
    return found if len(chosen) > 1 else found[chosen[0].name]


def data_files(lake, table):
    return {path.name for path in (Path(lake.settings.tables_path) / table.name).glob("*.parquet")}


@pytest.mark.long
def test_rows_past_their_retention_go_and_the_others_stay(lake):
    for day in (0, 1, 31):
        lake.store(metrics(timestamp_ms=T0 + day * DAY_MS))
    before = lake.rows("log_dir_samples", "timestamp_ms", kind="poll")
    at_ms = T0 + 31 * DAY_MS
    assert kept_up(lake, LOG_DIR_SAMPLES, at_ms=at_ms, is_dry_run=True).expired_rows == 3
    assert lake.rows("log_dir_samples", "timestamp_ms", kind="poll") == before
    assert kept_up(lake, LOG_DIR_SAMPLES, at_ms=at_ms).expired_rows == 3
    assert lake.rows("log_dir_samples", "timestamp_ms", kind="poll") == [(T0 + DAY_MS,), (T0 + 31 * DAY_MS,)]


@pytest.mark.long
def test_nothing_is_kept_for_good_but_what_is_said_to_be(lake):
    lake.store(state(transitions=[transition(1)]), metrics())
    found = kept_up(lake, TRANSITIONS, LOG_DIR_SAMPLES, at_ms=T0 + 9_000 * DAY_MS)
    assert {name: row.expired_rows for name, row in found.items()} == {"transitions": 0, "log_dir_samples": 3}


@pytest.mark.long
def test_an_alert_goes_as_a_whole_and_only_when_it_is_over(lake):
    old, late = T0, T0 + 800 * DAY_MS
    lake.store(
        alert("over", at_ms=old),
        alert("over", revision=2, status="resolved", at_ms=old + 1),
        alert("open", at_ms=old),
        alert("ended late", at_ms=old),
        alert("ended late", revision=2, status="resolved", at_ms=late),
    )
    lake.store(action("open"), action("over", status="done"))
    assert kept_up(lake, ALERTS, at_ms=late, is_dry_run=True).expired_rows == 2
    stuck, over = execution("stuck", at_ms=old), execution("over", at_ms=old)
    lake.store(
        stuck, over, execution("stuck", 1, at_ms=old, state="stuck"), execution("over", 1, at_ms=old, state="done")
    )
    found = kept_up(lake, ALERTS, ACTIONS, EXECUTIONS, at_ms=late)
    assert (found["alerts"].expired_rows, found["actions"].expired_rows) == (2, 1)
    assert (found["executions"].expired_rows, {row["execution_id"] for row in lake.rows("executions")}) == (
        2,
        {"stuck"},
    )
    assert lake.rows("alerts", "alert_id", "revision") == [("ended late", 1), ("ended late", 2), ("open", 1)]
    assert lake.rows("actions", "action_id") == [("open",)]


@pytest.mark.long
def test_small_files_become_one_and_dead_ones_go_in_time(lake):
    for second in range(6):
        lake.store(metrics(timestamp_ms=T0 + second))
    small = data_files(lake, LOG_DIR_SAMPLES)
    rows = lake.content()
    found = kept_up(lake, LOG_DIR_SAMPLES)
    assert (found.files_before, found.files_after, found.expired_rows) == (6, 1, 0)
    assert data_files(lake, LOG_DIR_SAMPLES) > small, "files that a reader may still read went at once"
    lake.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        lake.spark.sql(f"VACUUM {lake.tables.name(LOG_DIR_SAMPLES)} RETAIN 0 HOURS")
    finally:
        lake.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert len(data_files(lake, LOG_DIR_SAMPLES)) == 1
    assert lake.content() == rows


def test_what_earlier_nights_sorted_is_left_alone_once_it_is_large(lake, monkeypatch):
    monkeypatch.setitem(DELTA_CONF, CUBE, "1")
    kept = set()
    for day in range(3):
        for batch in range(2):
            lake.store(metrics(timestamp_ms=T0 + day * DAY_MS + batch))
        kept_up(lake, LOG_DIR_SAMPLES)
        files = set(DeltaTable(f"{lake.settings.tables_path}/{LOG_DIR_SAMPLES.name}").file_uris())
        assert len(files) == day + 1
        assert files > kept
        kept = files


def test_a_table_learns_how_long_files_are_kept(lake):
    kept_up(lake, ALERTS, deleted_files_ms=3_600_000, table_log_ms=7_200_000)
    detail = lake.spark.sql(f"DESCRIBE DETAIL {lake.tables.name(ALERTS)}").first()
    assert detail["properties"]["delta.deletedFileRetentionDuration"] == "interval 3600 seconds"
    assert detail["properties"]["delta.logRetentionDuration"] == "interval 7200 seconds"


def test_a_table_of_an_earlier_release_is_sorted_by_the_columns_of_this_one(lake):
    name = lake.tables.name(LOG_DIR_SAMPLES)
    lake.spark.sql(f"ALTER TABLE {name} CLUSTER BY (cluster, timestamp_ms)")
    lake.store(metrics())
    rows = lake.content()
    kept_up(lake, LOG_DIR_SAMPLES)
    detail = lake.spark.sql(f"DESCRIBE DETAIL {name}").first()
    assert (detail["clusteringColumns"], detail["numFiles"]) == (["cluster", "broker", "timestamp_ms"], 1)
    lake.store(metrics(timestamp_ms=T0 + 1))
    assert len(lake.content()["log_dir_samples"]) == 2 * len(rows["log_dir_samples"])


def test_a_table_that_is_not_there_or_broken_keeps_no_other_from_its_upkeep(spark, tmp_path):
    lake = Lake(spark, tmp_path / "tables")
    lake.tables.create_missing([ALERTS, TRANSITIONS])
    log = tmp_path / "tables" / ALERTS.name / "_delta_log" / f"{0:020}.json"
    log.write_text("no JSON\n")
    of_tables = Upkeep(spark, Tables(spark, lake.settings), MaintainSettings(), T0)
    broken, missing, good = upkeep(of_tables, lake.tables, (ALERTS, QUALITY_RESULTS, TRANSITIONS), is_dry_run=False)
    assert broken.error is not None
    assert "\n" not in broken.error
    assert (missing.is_there, missing.error) == (False, None)
    assert (good.error, good.expired_rows) == (None, 0)


@pytest.mark.long
def test_rows_that_are_written_meanwhile_are_all_there(lake):
    """A store that goes on writing beside it loses nothing and stores nothing twice."""
    is_enough, written = Event(), []

    def write():
        while not is_enough.is_set():
            number = len(written)
            lake.store(metrics(timestamp_ms=T0 + number), alert(f"a{number}"), state(sequence=number + 1))
            written.append(number)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(ROUNDS):
                kept_up(lake, LOG_DIR_SAMPLES, ALERTS, TABLES["log_dir_state"], TABLES["broker_state"])
        finally:
            is_enough.set()
        writing.result()
    assert len(lake.rows("log_dir_samples", "timestamp_ms", kind="poll")) == len(written)
    assert len(lake.rows("alerts", "alert_id")) == len(written)
    assert lake.rows("broker_state", "broker", "sequence") == [(7, len(written))]
