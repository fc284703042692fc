"""Rows of the tables as facts; what is null there is None here."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus
from logdirwatch.plan.cluster.from_tables import facts_from
from logdirwatch.plan.cluster.growth import Growth
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    LOG_DIR_STATE,
    REPLICA_STATE,
    TOPIC_STATE,
)
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, replica, topic


def reader(**rows):
    """Read rows of the named tables; a column that a row leaves out is null."""

    def read(table, columns):
        assert set(columns) <= set(table.names)
        for row in rows.get(table.name, []):
            yield {column: row.get(column) for column in columns}

    return read


ROWS = {
    BROKER_STATE.name: [
        {
            "broker": 1,
            "status": "degraded",
            "rack": "a",
            "is_fenced": False,
            "at_ms": 5,
            "configs": {"log.dirs": "/d1"},
            "metadata_version": "4.2-IV1",
        },
        {"broker": 2, "status": "online", "at_ms": 7, "metadata_version": "4.3-IV0"},
    ],
    LOG_DIR_STATE.name: [
        {"broker": 1, "log_dir": "/d1", "status": "offline", "cause": "full", "total_bytes": 100, "usable_bytes": 0},
        {"broker": 2, "log_dir": "/d1", "status": "online", "at_ms": 7, "sample_at_ms": 6, "is_cordoned": True},
    ],
    REPLICA_STATE.name: [
        {
            "broker": 1,
            "log_dir": "/d1",
            "topic": "t",
            "partition": 0,
            "size_bytes": 9,
            "is_future": False,
            "inventory_at_ms": 3,
        },
        {"broker": 2, "log_dir": None, "topic": "t", "partition": 0, "is_future": False},
    ],
    TOPIC_STATE.name: [
        {
            "topic": "t",
            "partition": 1,
            "replicas": [2, 1],
            "isr": [2],
            "configs": {"cleanup.policy": "delete"},
            "overridden": ["retention.ms"],
            "is_internal": False,
        },
        {"topic": "t", "partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1], "offline_replicas": [2]},
    ],
    LOG_DIR_INVENTORY.name: [
        {"broker": 1, "inventory_at_ms": 99},
        {"broker": None, "inventory_at_ms": 42},
    ],
}


def test_rows_become_facts():
    facts = facts_from(reader(**ROWS), "c")
    assert (facts.cluster, facts.state_at_ms, facts.inventory_at_ms) == ("c", 7, 42)
    assert facts.brokers[1].status is BrokerStatus.DEGRADED
    assert facts.brokers[1].configs == {"log.dirs": "/d1"}
    assert facts.brokers[2].rack is None
    lost = facts.directories[1, "/d1"]
    assert (lost.status, lost.cause, lost.used_bytes) == (LogDirStatus.OFFLINE, Cause.FULL, 100)
    assert facts.directories[2, "/d1"].is_cordoned
    assert facts.directories[2, "/d1"].state_at_ms == 7
    assert facts.directories[2, "/d1"].used_bytes is None
    assert [p.label for p in facts.topics["t"].partitions] == ["t-0", "t-1"]
    assert facts.partitions["t", 0].offline_replicas == (2,)
    assert facts.topics["t"].configs == {"cleanup.policy": "delete"}
    assert facts.topics["t"].overridden == {"retention.ms"}


def test_a_replica_that_no_directory_ever_listed_has_no_place():
    assert [r.place for r in facts_from(reader(**ROWS), "c").layout.replicas] == [(1, "/d1")]


def test_what_the_newest_state_says_of_the_metadata_version_holds():
    assert facts_from(reader(**ROWS), "c").metadata_version == "4.3-IV0"
    unknown = ROWS | {BROKER_STATE.name: [{"broker": 1, "status": "online", "at_ms": 5}]}
    assert facts_from(reader(**unknown), "c").metadata_version is None


def test_a_cluster_that_no_table_knows_has_no_facts():
    assert facts_from(reader(), "c") is None


def test_before_the_first_complete_scan_the_inventory_has_no_age():
    rows = ROWS | {LOG_DIR_INVENTORY.name: [{"broker": 1, "inventory_at_ms": 99}]}
    assert facts_from(reader(**rows), "c").inventory_at_ms is None


def test_a_status_of_a_later_release_is_unknown():
    rows = ROWS | {LOG_DIR_STATE.name: [{"broker": 1, "log_dir": "/d1", "status": "shiny", "cause": "rust"}]}
    directory = facts_from(reader(**rows), "c").directories[1, "/d1"]
    assert (directory.status, directory.cause) == (LogDirStatus.UNKNOWN, Cause.UNKNOWN)


def tiered(lags, **configs):
    """Facts of a tiered topic that brokers 1 and 2 lead, which tell these lags."""
    configs = {"remote.storage.enable": "true"} | configs
    brokers = [{"broker": number, "status": "online", "remote_copy_lag_bytes": lag} for number, lag in lags.items()]
    topics = [{"topic": "t", "partition": n, "leader": leader, "configs": configs} for n, leader in enumerate((1, 2))]
    return facts_from(reader(**{BROKER_STATE.name: brokers, TOPIC_STATE.name: topics}), "c").topics["t"]


def test_at_worst_a_topic_has_the_whole_copy_lag_of_the_brokers_that_lead_it():
    assert tiered({1: 5, 2: 7, 3: 100}).remote_copy_lag_bytes == 12
    assert tiered({1: 0, 2: 0}).remote_copy_lag_bytes == 0


def test_a_lag_that_any_leader_does_not_tell_is_not_known():
    assert tiered({1: 5, 2: None}).remote_copy_lag_bytes is None
    assert tiered({1: 5}).remote_copy_lag_bytes is None


def test_without_a_leader_nobody_tells():
    topics = [{"topic": "t", "partition": 0, "leader": None, "configs": {"remote.storage.enable": "true"}}]
    found = facts_from(reader(broker_state=[{"broker": 1, "remote_copy_lag_bytes": 5}], topic_state=topics), "c")
    assert found.topics["t"].remote_copy_lag_bytes is None


def test_a_topic_that_is_not_tiered_has_none():
    assert tiered({1: 5, 2: 7}, **{"remote.storage.enable": "false"}).remote_copy_lag_bytes is None


@pytest.mark.parametrize("value", ["abc", "", "²", "9" * 5000, "1e3", " 7"])
def test_what_is_to_be_a_number_and_is_none_is_not_known(value):
    of_broker = {**ROWS[BROKER_STATE.name][0], "configs": {"log.dirs": value, "log.segment.delete.delay.ms": value}}
    of_topic = {**ROWS[TOPIC_STATE.name][0], "configs": {"segment.bytes": value, "retention.ms": "-1"}}
    rows = ROWS | {BROKER_STATE.name: [of_broker], TOPIC_STATE.name: [of_topic]}
    found = facts_from(reader(**rows), "c")
    assert found.brokers[1].configs == {"log.dirs": value}
    assert found.topics["t"].configs == {"retention.ms": "-1"}


MINUTE = 60_000


def seen(size, *, minute, path="/d1", **fields):
    kind = topic("t", (1, 2), isr={0: fields.pop("isr", (1, 2))})
    parts = [directory(1, "/d1"), directory(1, "/d2"), directory(2), kind]
    return facts(*parts, replica(1, path, "t", size=size, **fields), inventory_at_ms=NOW_MS + minute * MINUTE)


def rate(found, path="/d1"):
    return found.growth.get(((1, path), ("t", 0)))


def test_one_inventory_tells_no_rate():
    assert rate(Growth().taught(seen(100, minute=0))) is None


def test_two_tell_the_bytes_per_second_between_them():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    assert rate(growth.taught(seen(60 * MIB, minute=1))) == MIB


def test_the_same_inventory_again_tells_nothing_new():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    growth.taught(seen(60 * MIB, minute=1))
    assert rate(growth.taught(seen(60 * MIB, minute=1))) == MIB


def test_the_newest_pair_counts_for_half():
    growth = Growth()
    for minute, size in enumerate((0, 60 * MIB, 180 * MIB)):
        found = growth.taught(seen(size, minute=minute))
    assert rate(found) == 1.5 * MIB


def test_a_replica_that_shrank_keeps_the_rate_that_it_had():
    growth = Growth()
    for minute, size in enumerate((0, 60 * MIB, 5 * MIB)):
        found = growth.taught(seen(size, minute=minute))
    assert rate(found) == MIB


@pytest.mark.parametrize("fields", [{"is_future": True}, {"isr": (2,)}, {"path": "/d2"}, {"size": None}])
def test_what_is_copied_or_moved_or_not_measured_tells_no_rate(fields):
    growth = Growth()
    growth.taught(seen(0, minute=0))
    found = growth.taught(seen(**({"size": 60 * MIB, "minute": 1} | fields)))
    assert rate(found, fields.get("path", "/d1")) is None


def test_clusters_are_kept_apart_and_what_was_never_scanned_stays_so():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    other = facts(
        directory(1), topic("t", (1,)), replica(1, "/d1", "t", size=9), cluster="d", inventory_at_ms=NOW_MS + MINUTE
    )
    assert rate(growth.taught(other)) is None
    assert growth.taught(facts(directory(1), inventory_at_ms=None)).growth == {}
