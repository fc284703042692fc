"""Names, keys and times of the tables are a contract: releases read each other's tables, and people query them."""

from logdirwatch.store.schema.definitions import TABLES

# By each table's name: its key, then the time of a history.
CONTRACT = {
    "broker_state": "cluster broker -",
    "log_dir_state": "cluster broker log_dir -",
    "replica_state": "cluster broker topic partition is_future -",
    "topic_state": "cluster topic partition -",
    "log_dir_inventory": "cluster broker log_dir -",
    "log_dir_samples": "cluster broker log_dir collector timestamp_ms timestamp_ms",
    "transitions": "transition_id at_ms",
    "alerts": "alert_id revision opened_at_ms",
    "actions": "action_id revision at_ms",
    "executions": "execution_id at_ms state step at_ms",
    "decisions": "id at_ms at_ms",
    "rejected_records": "topic partition offset kafka_timestamp_ms",
    "quality_results": "run_id suite expectation at_ms",
}


def test_tables_keep_their_names_keys_and_times():
    assert {name: " ".join((*table.key, table.time or "-")) for name, table in TABLES.items()} == CONTRACT


def test_every_table_has_the_columns_of_its_key_its_time_and_its_clustering():
    for table in TABLES.values():
        names = {column.name for column in table.columns}
        assert {*table.key, *table.clustered_by, table.time or table.key[0]} <= names
