"""When a state record is written, and what it has of the machine's memory."""

import pytest

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, Maintenance, decode
from logdirwatch.detect.state.turns import seed_of
from logdirwatch.detect.state_view import has_news, state_record
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus
from tests.unit.detect.builders import T0

REFRESH_MS = 30_000
PLANNED = Maintenance(at_ms=T0, until_ms=T0 + 9, by="ada", reason="new disk")


def broker(**fields):
    given = {"newest_ms": T0, "emitted_ms": T0, "is_judged": True, "status": BrokerStatus.ONLINE}
    return BrokerMemory(cluster="prod", broker=7, **(given | fields))


def health(**fields):
    return PartitionHealth(**fields)


@pytest.mark.parametrize(
    ("fields", "is_news"),
    [
        ({}, False),
        ({"is_silent": True}, True),
        ({"is_silent": True, "emitted_silent": True}, False),
        ({"emitted_silent": True}, True),
        ({"partitions": health()}, True),
        ({"emitted_partitions": health()}, True),
        ({"partitions": health(), "emitted_partitions": health()}, False),
        ({"partitions": health(leaderless=1), "emitted_partitions": health()}, True),
        ({"partitions": health(out_of_sync=3), "emitted_partitions": health(out_of_sync=9)}, False),
        ({"partitions": health(out_of_sync=3, at_min_isr=1), "emitted_partitions": health(out_of_sync=9)}, True),
        ({"maintenance": PLANNED}, True),
        ({"maintenance": PLANNED, "is_judged": False}, False),
        ({"maintenance": PLANNED, "emitted_maintenance_ms": T0 + 9}, False),
        ({"maintenance": PLANNED, "emitted_maintenance_ms": T0 + 8}, True),
        ({"emitted_maintenance_ms": T0 + 9}, True),
    ],
)
def test_what_fleet_judges_is_news_when_it_changed(fields, is_news):
    assert has_news(broker(**fields), REFRESH_MS) is is_news


def turn_ms(after_ms):
    """The next time at which it is the broker's turn."""
    seed = seed_of("prod", 7)
    return next(ms for ms in range(after_ms, after_ms + REFRESH_MS) if (ms + seed % REFRESH_MS) % REFRESH_MS == 0)


def test_a_broker_is_written_once_each_refresh_at_its_own_turn():
    due_ms = turn_ms(T0 + 1)
    assert not has_news(broker(newest_ms=due_ms - 1), REFRESH_MS)
    assert has_news(broker(newest_ms=due_ms), REFRESH_MS)
    assert not has_news(broker(newest_ms=due_ms + REFRESH_MS - 1, emitted_ms=due_ms), REFRESH_MS)
    assert has_news(broker(newest_ms=due_ms + REFRESH_MS, emitted_ms=due_ms), REFRESH_MS)


def test_a_record_counts_on_and_what_it_told_is_no_news_any_more():
    memory = broker(sequence=4, newest_ms=T0 + 5, is_silent=True, partitions=health(leaderless=1), maintenance=PLANNED)
    record = state_record(memory, [])
    assert (record.version, record.sequence, memory.sequence) == (1, 5, 5)
    assert (memory.emitted_ms, memory.emitted_silent) == (T0 + 5, True)
    assert (memory.emitted_partitions, memory.emitted_maintenance_ms) == (health(leaderless=1), T0 + 9)
    assert not has_news(memory, REFRESH_MS)
    assert state_record(memory, []).sequence == 6


def test_what_the_record_says_of_the_broker():
    fields = {
        "status": BrokerStatus.DEGRADED,
        "since_ms": T0 - 7,
        "collector": "c1",
        "host": "h1",
        "rack": "r1",
        "is_fenced": False,
        "kafka_version": "4.3.1",
        "metadata_version": "4.3-IV0",
        "controller_id": 3,
        "partitions": health(sole_replica=2),
        "positions": {"logdir.metrics/0": 9},
        "flush_ms": 12.5,
        "remote_copy_lag_bytes": 77,
    }
    record = state_record(broker(seen_ms=T0 - 1, reason="answers", **fields), [])
    found = {name: getattr(record, name) for name in fields}
    assert found == fields
    assert (record.cluster, record.broker, record.at_ms, record.last_seen_ms) == ("prod", 7, T0, T0 - 1)
    assert (record.reason, record.is_silent, record.transitions) == ("answers", False, [])
    assert (record.maintenance_until_ms, record.maintenance_by, record.maintenance_reason) == (None, None, None)
    assert record.absence_alerts == {}


NUMBERS = {
    "since_ms": 1,
    "sample_at_ms": 2,
    "error_code": 3,
    "total_bytes": 1_000,
    "usable_bytes": 250,
    "replica_count": 4,
    "replica_bytes": 500,
    "future_bytes": 5,
    "incoming_bytes": 6,
    "outgoing_bytes": 7,
    "growth_bytes_per_s": 8.0,
    "full_at_ms": 9,
    "forecast_confidence": 0.5,
    "volume": "v",
    "is_cordoned": True,
    "is_metadata_dir": False,
    "strays": {"a-0": 1},
    "capacity_source": "broker",
    "last_status": LogDirStatus.ONLINE,
    "reason": "answers",
}


def test_what_the_record_says_of_a_directory():
    log_dir = LogDirMemory(status=LogDirStatus.FILLING, seen_ms=10, proof_ms=11, cause=Cause.FULL, **NUMBERS)
    (view,) = state_record(broker(log_dirs={"/d1": log_dir}), []).log_dirs
    assert {name: getattr(view, name) for name in NUMBERS} == NUMBERS
    assert (view.path, view.status, view.last_seen_ms, view.last_proof_ms) == ("/d1", "filling", 10, 11)
    assert (view.used_ratio, view.unaccounted_bytes, view.cause) == (0.75, 250, None)


def test_only_an_offline_directory_has_a_cause_and_directories_are_in_order():
    dirs = {
        "/b": LogDirMemory(status=LogDirStatus.OFFLINE, cause=Cause.FULL),
        "/a": LogDirMemory(status=LogDirStatus.UNKNOWN, cause=Cause.FULL),
    }
    views = state_record(broker(log_dirs=dirs), []).log_dirs
    assert [(view.path, view.cause, view.used_ratio) for view in views] == [("/a", None, None), ("/b", "full", None)]


def test_the_memory_can_be_restored_from_the_record():
    memory = broker(log_dirs={"/d1": LogDirMemory(**NUMBERS)}, sequence=3)
    restored = decode(1, state_record(memory, []).machine)
    assert restored == memory
    assert restored.sequence == 4, "the sequence goes on where the record ended"
