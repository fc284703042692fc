"""``store``: every topic into its table, once, in whatever order and however often it comes."""

import json

import msgspec
import pytest

from logdirwatch.model import topics
from logdirwatch.model.records import PartitionHealth
from logdirwatch.report.stored import observations
from tests.spark.lake import (
    GIB,
    KAFKA_MS,
    T0,
    action,
    alert,
    decision,
    event,
    execution,
    metrics,
    replicas,
    sample,
    scan_end,
    state,
    topic,
    transition,
)
from tests.support.hostile import NAMES

pytestmark = pytest.mark.usefixtures("written_by")


def everything():
    return (
        metrics(configs={"log.dirs": "/d1,/d2"}),
        event(),
        state(transitions=[transition(1), transition(2)]),
        alert(),
        alert(revision=2, status="resolved"),
        action(),
        execution(),
        execution(number=1, state="done"),
        decision(),
        (topics.METRICS, "prod/7", b"\x00garbage\xff"),
    )


def counts(lake):
    return {name: len(rows) for name, rows in lake.content().items() if rows}


@pytest.mark.parametrize("written_by", ["driver", "spark"], indirect=True)
def test_every_topic_finds_its_tables_and_the_same_batch_again_changes_nothing(lake):
    rows = lake.store(*everything())
    before = lake.content()
    assert counts(lake) == {
        "broker_state": 1,
        "log_dir_state": 2,
        "log_dir_samples": 4,
        "transitions": 2,
        "alerts": 2,
        "actions": 1,
        "executions": 2,
        "decisions": 1,
        "rejected_records": 1,
    }
    lake.store_rows(rows)
    assert lake.content() == before


def test_a_batch_that_says_everything_twice_is_stored_once(lake):
    lake.store(*everything(), *everything())
    twice = counts(lake)
    assert twice.pop("rejected_records") == 2
    assert (twice["log_dir_samples"], twice["transitions"], twice["alerts"], twice["broker_state"]) == (4, 2, 2, 1)
    assert lake.rows("log_dir_samples", "source_offset", kind="poll") == [(0,)]


def test_a_poll_is_kept_with_its_answer_and_each_directory_with_its_own(lake):
    health = PartitionHealth(leaderless=1, examples=["t-0"])
    log_dirs = (sample("/d1", error_code=56, total_bytes=None, usable_bytes=None), sample("/d2", is_cordoned=True))
    lake.store(metrics(rack="r1", metrics={"a": 0.5, "b": None}, partitions=health, log_dirs=log_dirs))
    columns = ("kind", "log_dir", "status", "rack", "error_code", "usable_bytes", "is_cordoned")
    assert lake.rows("log_dir_samples", *columns) == [
        ("log_dir", "/d1", "ok", None, 56, None, None),
        ("log_dir", "/d2", "ok", None, 0, GIB // 2, True),
        ("poll", None, "ok", "r1", None, None, None),
    ]
    (poll,) = lake.rows("log_dir_samples", "metrics", "partitions", "kafka_timestamp_ms", kind="poll")
    assert (poll[0], msgspec.json.decode(poll[1], type=PartitionHealth), poll[2]) == (
        {"a": 0.5, "b": None},
        health,
        KAFKA_MS,
    )


def test_a_broker_that_does_not_answer_leaves_a_row_that_says_so(lake):
    lake.store(metrics(status="timeout", error="no answer", log_dirs=()))
    assert lake.rows("log_dir_samples", "kind", "log_dir", "status", "error") == [
        ("poll", None, "timeout", "no answer")
    ]


def test_an_event_never_meets_the_sample_of_the_same_moment(lake):
    lake.store(metrics(log_dirs=("/d1",)), event(), event(event="LogDirSaturated"), event(log_dir=None, event=1))
    key = ("cluster", "broker", "log_dir", "collector", "timestamp_ms")
    rows = lake.rows("log_dir_samples", *key)
    assert len(rows) == len(set(rows)) == 5
    assert ("prod", 7, "/d1", "c1/LogDirFailure", T0) in rows


def test_every_partition_that_failed_in_one_millisecond_is_kept(lake):
    failed = [event(event="PartitionFailed", topic=name, partition=number) for name in "tu" for number in range(2)]
    lake.store(*failed)
    columns = ("collector", "topic", "partition")
    assert lake.rows("log_dir_samples", *columns) == [
        (f"c1/PartitionFailed/{name}-{number}", name, number) for name in "tu" for number in range(2)
    ]
    stored = sorted(lake.rows("log_dir_samples"), key=lambda row: row["source_offset"])
    assert [observed.record for observed in observations(stored)] == failed


def test_a_bare_event_is_kept_with_cluster_and_time_filled_in(lake):
    lake.store((topics.EVENTS, None, b'{"version":1,"broker":2,"event":1}'))
    columns = ("kind", "cluster", "broker", "log_dir", "collector", "event", "timestamp_ms")
    assert lake.rows("log_dir_samples", *columns) == [
        ("event", "home", 2, None, "/LogDirFailure", "LogDirFailure", KAFKA_MS)
    ]


def test_signs_of_life_are_kept_in_no_table(lake):
    heartbeat = b'{"version":1,"type":"heartbeat","cluster":"prod","timestamp_ms":5}'
    lake.store((topics.METRICS, "prod/heartbeat", heartbeat), event(event="Canary"), alert(rule="heartbeat"))
    assert counts(lake) == {}


def test_what_is_refused_is_kept_byte_for_byte(lake):
    garbage, future = bytes(range(256)), b'{"version":2,"cluster":"prod","broker":7}'
    lake.store((topics.METRICS, b"\xff\x00", garbage), (topics.STATE, "prod/7", future), (topics.EVENTS, None, None))
    columns = ("topic", "partition", "offset", "cluster", "reason", "key", "value")
    assert lake.rows("rejected_records", *columns) == [
        (topics.EVENTS, 0, 0, "unknown", "no value: expected a JSON object", None, None),
        (topics.METRICS, 0, 0, "unknown", "not UTF-8: invalid start byte at byte 128", b"\xff\x00", garbage),
        (topics.STATE, 0, 0, "prod", "version 2 is unknown, expected 1", b"prod/7", future),
    ]


def test_a_large_record_is_stored_beside_garbage(lake):
    log_dirs = [sample(f"/data/{'d' * 200}/{number}") for number in range(2_500)]
    large = metrics(log_dirs=log_dirs)
    assert len(msgspec.json.encode(large)) > 900_000
    lake.store((topics.METRICS, None, b"garbage"), large)
    assert counts(lake) == {"log_dir_samples": 2_501, "rejected_records": 1}


@pytest.mark.parametrize("written_by", ["driver", "spark"], indirect=True)
def test_text_of_any_kind_arrives_as_it_was_sent(lake):
    hostile = "".join(NAMES)
    later_evidence = {"evidence": {hostile: [hostile, 2**63, 1e300, {"a": None}]}}
    lake.store(
        metrics(cluster=hostile, error=hostile, log_dirs=[sample(hostile)]),
        state(log_dirs={hostile: "online"}, reason=hostile),
        (topics.ALERTS, "a1", json.dumps(msgspec.to_builtins(alert(summary=hostile)) | later_evidence)),
    )
    assert lake.rows("log_dir_samples", "cluster", "error", "log_dir", kind="log_dir") == [(hostile,) * 3]
    assert lake.rows("log_dir_state", "log_dir") == [(hostile,)]
    ((summary, evidence, record),) = lake.rows("alerts", "summary", "evidence", "record")
    assert summary == hostile
    assert json.loads(evidence) == {hostile: [hostile, 2**63, 1e300, {"a": None}]} == json.loads(record)["evidence"]


def test_an_action_is_kept_in_columns_and_whole(lake):
    topic, key, value = action(configs={"t": {"retention.ms": {"from": "2", "to": "1"}}}, decision={"by": "anna"})
    lake.store((topic, key, value))
    ((target, commands, configs, reassignment, decided, record),) = lake.rows(
        "actions", "target", "commands", "configs", "reassignment", "decision", "record"
    )
    assert (json.loads(target), commands, reassignment) == ({"broker": 7}, ["echo 'a b'"], None)
    assert json.loads(configs) == {"t": {"retention.ms": {"from": "2", "to": "1"}}}
    assert json.loads(decided) == {"by": "anna"}
    assert record == value


def test_an_alert_keeps_both_statuses_of_its_transition(lake):
    lake.store(alert())
    columns = ("rule", "severity", "broker", "log_dir", "from_status", "to_status", "cause", "lane")
    assert lake.rows("alerts", *columns) == [
        ("log_dir_offline", "critical", 7, "/d1", "online", "offline", "failed", "stateful")
    ]


def test_an_execution_is_kept_state_by_state(lake):
    reason = "somebody else changed t-0"
    records = [execution(), execution(number=1, bytes=None), execution(number=1, state="stuck", reason=reason)]
    lake.store(*records[:2])
    lake.store(*records)
    columns = ("state", "step", "planned_bytes", "reason", "at_ms", "started_at_ms", "by", "source_offset")
    assert lake.rows("executions", *columns) == [
        ("copying", 0, GIB, None, T0, T0, "anna", 0),
        ("copying", 1, None, None, T0 + 1, T0, "anna", 1),
        ("stuck", 1, GIB, reason, T0 + 1, T0, "anna", 4),
    ]
    assert [row[0] for row in lake.rows("executions", "record")] == sorted(record[2] for record in records)


def test_a_decision_takes_the_cluster_of_what_it_speaks_of(lake):
    lake.store(alert("a1"), action("x1"), decision("a1"))
    lake.store(decision("x1"), decision("nobody"), decision("a1", at_ms=T0 + 1, cluster="said"))
    assert lake.rows("decisions", "id", "at_ms", "cluster") == [
        ("a1", T0, "prod"),
        ("a1", T0 + 1, "said"),
        ("nobody", T0, "unknown"),
        ("x1", T0, "prod"),
    ]


def test_everything_that_people_say_of_alerts_and_brokers_is_kept(lake):
    pattern = {"cluster": "prod", "rule": "log_dir_space", "log_dir": "/d*"}
    lake.store(
        decision("a1", cluster="prod", owner="storage", severity="critical", revision=3, until_ms=T0 + 5),
        decision("p1", decision="silence", cluster="prod", matching=pattern),
        decision("prod/7", decision="maintenance", cluster="prod", broker=7, until_ms=T0 + 9),
    )
    columns = ("id", "decision", "until_ms", "broker", "owner", "severity", "revision", "matching")
    assert lake.rows("decisions", *columns) == [
        ("a1", "acknowledge", T0 + 5, None, "storage", "critical", 3, None),
        ("p1", "silence", None, None, None, None, None, json.dumps(pattern, separators=(",", ":"))),
        ("prod/7", "maintenance", T0 + 9, 7, None, None, None, None),
    ]


def test_a_maintenance_that_names_no_broker_is_rejected(lake):
    lake.store(decision("prod/7", decision="maintenance", cluster="prod"))
    assert lake.rows("decisions", "id") == []
    assert lake.rows("rejected_records", "topic", "cluster") == [("logdir.decisions", "prod")]


def test_a_late_sample_of_long_ago_is_stored_once(lake):
    rows = lake.store(metrics(at_ms=T0), metrics(at_ms=5), metrics(at_ms=T0 - 86_400_000))
    lake.store_rows(rows)
    assert lake.rows("log_dir_samples", "timestamp_ms", kind="poll") == [(5,), (T0 - 86_400_000,), (T0,)]


@pytest.mark.parametrize("written_by", ["spark"], indirect=True)
def test_a_batch_leaves_no_rows_behind_in_spark(lake):
    def left():
        persisted = lake.spark.sparkContext._jsc.getPersistentRDDs().values()
        return [rdd.toString() for rdd in persisted if "Delta Table State" not in str(rdd.name())]

    def batch(number):
        lake.store(metrics(), state(sequence=number, transitions=[transition(number)]))
        listed = replicas("a-0", scan=number, size=10 * number)
        lake.scan(listed, topic("a", [7], scan=number), scan_end(1, scan=number), state(sequence=number))

    batch(1)
    before = left()
    batch(2)
    batch(3)
    assert len(left()) <= len(before), left()
