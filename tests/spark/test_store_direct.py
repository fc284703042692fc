"""Small batches of ``store`` that the driver writes: as Spark would, with one job, and beside other writers."""

import json

import pytest
from deltalake import DeltaTable

from logdirwatch.model import topics
from logdirwatch.store import tables as store_tables
from logdirwatch.store.direct.table import ConflictError, DirectTable
from logdirwatch.store.schema.definitions import ALERTS, BROKER_STATE, LOG_DIR_SAMPLES
from logdirwatch.store.writing import engine, small_batch, store
from tests.spark.lake import BELIEVED, T0, Lake, action, alert, decision, event, execution, metrics, state, transition


def jobs(lake, write):
    """Return how many Spark jobs ran meanwhile."""
    scheduler = lake.spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.nextJobId()
    write()
    return scheduler.nextJobId() - before


def writers(lake, table):
    """Return who wrote each version of a table after its first, the oldest first."""
    log = lake.folder / table.name / "_delta_log"
    infos = [json.loads(path.read_text().splitlines()[0])["commitInfo"] for path in sorted(log.glob("*.json"))[1:]]
    return ["driver" if info["engineInfo"].startswith("logdirwatch/") else "spark" for info in infos]


def everything(number=1):
    return (
        metrics(timestamp_ms=T0 + number, configs={"n": str(number)}),
        event(timestamp_ms=T0 + number),
        state(sequence=number, transitions=[transition(number)], log_dirs={"/d1": "online", f"/d{number}": "offline"}),
        alert(f"a{number}"),
        action(f"x{number}"),
        execution(f"e{number}"),
        (topics.METRICS, "k", b"no record"),
    )


def test_a_small_batch_is_one_spark_job(lake):
    lake.store(*everything(1))  # Delta looks at a table once before its first entry
    for number in range(2, 5):
        batch = lake.frame(lake.kafka(*everything(number)))
        assert jobs(lake, lambda batch=batch: store.write_records(batch, BELIEVED, lake.tables)) == 1
    assert writers(lake, LOG_DIR_SAMPLES) == writers(lake, BROKER_STATE) == ["driver"] * 4


@pytest.mark.parametrize("kind", ["decision", "tombstone", "large record", "many records", "much"])
def test_what_is_not_small_is_written_in_parts(lake, kind, monkeypatch):
    monkeypatch.setattr(small_batch, "MOST_TASK_ROWS", 7)
    if kind == "much":
        monkeypatch.setattr(small_batch, "MOST_BYTES", 2_000)
    more = {
        "decision": (decision("a1"),),
        "tombstone": ((topics.STATE, "prod/8", None),),
        "large record": ((topics.METRICS, "k", b" " * (small_batch.MOST_RECORD_BYTES + 1)),),
        "many records": tuple((topics.METRICS, "k", b"no record") for _ in range(20)),
        "much": (metrics(timestamp_ms=T0 + 9), decision("a1"), alert("a9"), decision("a9")),
    }
    lake.store(*more[kind], *everything())
    assert set(writers(lake, LOG_DIR_SAMPLES)) == {"driver"}
    assert len(lake.rows("broker_state")) == 1
    assert {row[0] for row in lake.rows("decisions", "cluster")} <= {"prod"}
    assert (len(writers(lake, LOG_DIR_SAMPLES)) > 1) == (kind == "much")


@pytest.mark.parametrize("key", ["delta.enableChangeDataFeed", "delta.enableDeletionVectors", "delta.appendOnly"])
def test_a_table_that_asks_more_of_its_writers_is_written_by_spark(lake, key):
    lake.spark.sql(f"ALTER TABLE {lake.tables.name(ALERTS)} SET TBLPROPERTIES ('{key}' = 'true')")
    lake.store(*everything())
    assert writers(lake, ALERTS) == ["spark", "spark"]
    # delta-rs itself does not read a table with deletion vectors.
    assert lake.spark.table(lake.tables.name(ALERTS)).count() == len(lake.rows("transitions")) == 1
    assert len(lake.rows("log_dir_samples")) == 4


def test_what_the_driver_cannot_write_spark_does(lake, monkeypatch):
    """Half of the batch is written when it fails; nothing is lost, and nothing there twice."""
    monkeypatch.setattr(engine, "rewrite", lambda *_: 1 / 0)
    rows = lake.store(*everything())
    assert writers(lake, LOG_DIR_SAMPLES)[0] == "driver"
    assert writers(lake, BROKER_STATE) == ["spark"]
    before = lake.content()
    assert {name: len(found) for name, found in before.items() if found} == {
        "broker_state": 1,
        "log_dir_state": 1,
        "log_dir_samples": 4,
        "transitions": 1,
        "alerts": 1,
        "actions": 1,
        "executions": 1,
        "rejected_records": 1,
    }
    lake.store_rows(rows)
    assert lake.content() == before


def test_another_writer_in_between_means_to_decide_again(lake, monkeypatch):
    """The other one stores the same batch after this one has read the tables; every key stays one row."""
    rows = lake.kafka(*everything())
    monkeypatch.setattr(store_tables.time, "sleep", lambda _: None)
    commit, conflicts = DirectTable.commit, []

    def disturbed(self, *args):
        if not conflicts:
            conflicts.append(self.table.name)
            lake.store_rows(rows)
            with pytest.raises(ConflictError):
                commit(self, *args)
            raise ConflictError("as it was")
        commit(self, *args)

    monkeypatch.setattr(DirectTable, "commit", disturbed)
    lake.store_rows(rows)
    assert len(lake.rows("log_dir_samples")) == 4
    assert len(lake.rows("rejected_records")) == len(lake.rows("broker_state")) == 1
    for table in lake.content():
        folder = lake.folder / table
        assert len(list(folder.glob("*.parquet"))) == len(DeltaTable(folder).file_uris()), "no file is left over"


@pytest.mark.long
def test_spark_reads_optimizes_and_cleans_what_the_driver_wrote(lake, monkeypatch):
    monkeypatch.setattr(store_tables.time, "sleep", lambda _: None)
    batches = 12
    for number in range(1, batches):
        lake.store(*everything(number))
    name = lake.tables.name(LOG_DIR_SAMPLES)
    log = lake.folder / LOG_DIR_SAMPLES.name / "_delta_log"
    assert (log / f"{10:020}.checkpoint.parquet").exists()
    for version in range(10):
        (log / f"{version:020}.json").unlink()
    fresh = Lake(lake.spark.newSession(), lake.folder)
    lake.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    samples = fresh.tables.read(LOG_DIR_SAMPLES)
    assert samples.count() == 4 * (batches - 1)
    assert samples.where(f"timestamp_ms > {T0 + 5} AND kind = 'poll'").count() == batches - 6
    detail = fresh.tables.delta(LOG_DIR_SAMPLES).detail().head()
    assert detail["clusteringColumns"] == list(LOG_DIR_SAMPLES.clustered_by)
    fresh.spark.sql(f"OPTIMIZE {name}")
    fresh.spark.sql(f"VACUUM {name}")
    lake.store(*everything(batches), *everything(batches - 1))
    assert writers(lake, LOG_DIR_SAMPLES)[-2:] == ["spark", "driver"]
    assert fresh.tables.read(LOG_DIR_SAMPLES).count() == 4 * batches
    assert fresh.tables.read(BROKER_STATE).count() == 1
