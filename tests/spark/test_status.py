"""``logdirwatch status`` reads what Spark wrote, without Spark."""

from delta.tables import DeltaTable

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.cli.reading.tables.reader import COLUMNS, QUERIES
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_INVENTORY, REPLICA_STATE, TABLES, TOPIC_STATE
from logdirwatch.store.settings import TableSettings
from logdirwatch.store.tables import Tables


def test_every_table_of_the_status_is_read_as_spark_made_merged_and_deleted_in_it(spark, tmp_path):
    settings = Settings(tables=TableSettings(path=str(tmp_path)))
    root = settings.tables_path
    rows = DeltaFiles(root).rows
    shown = (*COLUMNS, *QUERIES)
    Tables(spark, settings).create_missing(TABLES[name] for name in shown)
    assert [rows(table) for table in shown] == [[]] * len(shown)

    def insert(table, columns, *values):
        spark.sql(f"INSERT INTO delta.`{root}/{table.name}` ({columns}) VALUES {', '.join(values)}")

    insert(
        BROKER_STATE, "cluster, broker, status", "('prod', 1, 'online')", "('prod', 2, 'online')", "('prod', 3, 'x')"
    )
    table = DeltaTable.forPath(spark, f"{root}/{BROKER_STATE.name}")
    newer = spark.sql("SELECT 'prod' AS cluster, 2 AS broker, 'degraded' AS status")
    matched = table.alias("t").merge(newer.alias("s"), "t.cluster = s.cluster AND t.broker = s.broker")
    matched.whenMatchedUpdate(set={"status": "s.status"}).execute()
    table.delete("broker = 3")
    found = rows(BROKER_STATE.name)
    assert sorted((row["broker"], row["status"]) for row in found) == [(1, "online"), (2, "degraded")]

    replica = "cluster, broker, topic, partition, is_future, status, cause"
    insert(
        REPLICA_STATE,
        replica,
        "('prod', 1, 'a', 0, false, 'offline', 'directory')",
        "('prod', 1, 'a', 1, false, 'offline', 'directory')",
        "('prod', 2, 'a', 0, false, 'online', null)",
    )
    assert rows(REPLICA_STATE.name) == [{"cluster": "prod", "topic": "a", "cause": "directory", "replicas": 2}]

    danger = "cluster, topic, partition, is_internal, is_leaderless, is_under_min_isr, is_at_min_isr, is_sole_replica"
    safe, lost = (
        "('prod', 'a', 0, false, false, false, false, false)",
        "('prod', 'a', 1, false, true, true, false, null)",
    )
    insert(TOPIC_STATE, danger, safe, lost)
    assert [row["partition"] for row in rows(TOPIC_STATE.name)] == [1]

    scan = "cluster, broker, log_dir, inventory_at_ms"
    insert(LOG_DIR_INVENTORY, scan, "('prod', 1, '/d1', 5)", "('prod', 2, '/d1', 7)", "('prod', null, null, 6)")
    found = sorted(rows(LOG_DIR_INVENTORY.name), key=lambda row: row["is_of_topics"])
    assert [(row["is_of_topics"], row["at_ms"]) for row in found] == [(False, 7), (True, 6)]
