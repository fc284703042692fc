"""The Spark adapter of the state machine: rows in, records out, state kept over restarts."""

import datetime as dt
import json
import os
import shutil
import subprocess
import sys

import msgspec
import pytest

from logdirwatch.config.stream import CheckpointSettings
from logdirwatch.detect import machine, state_view
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.errors import UserError
from logdirwatch.jobs import memory
from logdirwatch.jobs.queries import detect
from logdirwatch.jobs.queries.start_state import lowest_positions, memories_of, parsed_states, starting_offsets
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, MetricsRecord, StateRecord
from logdirwatch.settings import Settings
from tests.support.waiting import DEADLINE_S, wait_until

SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
T0 = 1_700_000_000_000
MIB = 1 << 20


def metrics(at_ms, *, broker=7, used=0.5, error_code=0, cluster="prod", **fields):
    sizes = {} if error_code else {"total_bytes": 1000 * MIB, "usable_bytes": round(1000 * MIB * (1 - used))}
    log_dir = {"path": "/d1", "error_code": error_code} | sizes
    record = {"version": 1, "cluster": cluster, "broker": broker, "timestamp_ms": at_ms, "status": "ok"}
    return record | {"collector": "c1", "interval_ms": 5_000, "log_dirs": [log_dir]} | fields


class Feed:
    """A file-fed stream of Kafka rows through ``detect``, and everything it wrote, by batch."""

    def __init__(self, spark, folder, settings):
        self.spark, self.folder, self.settings = spark, folder, settings
        self.offsets = {}
        self.written = []
        self.query = None
        (folder / "in").mkdir()

    def start(self, memories=None):
        records = self.spark.readStream.schema(SCHEMA).parquet(str(self.folder / "in"))
        self.query = (
            detect.judged(records, self.settings, memories)
            .writeStream.foreachBatch(lambda frame, _: self.written.extend(frame.collect()))
            .outputMode("update")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(processingTime="100 milliseconds")
            .start()
        )
        return self

    def stop(self):
        self.query.stop()

    def send(self, *records, topic="logdir.metrics"):
        rows = []
        for record in records:
            value = record if isinstance(record, bytes) else json.dumps(record).encode()
            offset = self.offsets[topic] = self.offsets.get(topic, -1) + 1
            at_ms = record.get("timestamp_ms", T0) if isinstance(record, dict) else T0
            time = dt.datetime.fromtimestamp(at_ms / 1000, dt.timezone.utc)
            rows.append((None, bytearray(value), topic, 0, offset, time))
        self.spark.createDataFrame(rows, SCHEMA).coalesce(1).write.mode("append").parquet(str(self.folder / "in"))

    def records(self, topic):
        kind = StateRecord if topic == "logdir.state" else AlertRecord
        values = [row.value for row in self.written if row.topic == topic and row.value is not None]
        return [msgspec.json.decode(value, type=kind) for value in values]

    def wait_for(self, topic, condition, message):
        def seen():
            assert self.query.exception() is None, str(self.query.exception())[:500]
            return [record for record in self.records(topic) if condition(record)]

        return wait_until(seen, DEADLINE_S, message)[-1]


@pytest.fixture
def feed(spark, tmp_path):
    settings = Settings(detect=DetectSettings(silence_min_ms=3_600_000), default_cluster="fallback")
    stream = Feed(spark, tmp_path, settings).start()
    yield stream
    stream.stop()


def test_a_failing_directory_becomes_an_alert_and_state_with_its_transitions(feed):
    feed.send(metrics(T0))
    first = feed.wait_for("logdir.state", lambda r: r.status == "online", "the first state of the broker")
    assert (first.sequence, [t.to_status for t in first.transitions]) == (1, ["online", "online"])
    feed.send(metrics(T0 + 5_000, error_code=56))
    alert = feed.wait_for("logdir.alerts", lambda r: r.rule == "log_dir_offline", "the alert of the directory")
    assert (alert.revision, alert.cause, alert.log_dir) == (1, "unknown", "/d1")
    state = feed.wait_for("logdir.state", lambda r: r.status == "degraded", "the degraded broker")
    assert state.sequence == 2
    assert state.positions == {"logdir.metrics/0": 1}
    assert {row.key for row in feed.written} == {alert.alert_id, "prod/7"}


def test_state_survives_a_restart_and_the_alert_goes_on_under_its_identity(feed):
    feed.send(metrics(T0), metrics(T0 + 5_000, error_code=56))
    opened = feed.wait_for("logdir.alerts", lambda r: r.status == "firing", "the alert before the restart")
    feed.stop()
    feed.send(metrics(T0 + 10_000))
    feed.start()
    closed = feed.wait_for("logdir.alerts", lambda r: r.status == "resolved", "the resolve after the restart")
    assert (closed.alert_id, closed.revision, closed.reason) == (opened.alert_id, 2, "recovered")


def test_a_lost_checkpoint_is_made_good_from_the_states_and_nothing_fires_twice(spark, feed):
    feed.send(metrics(T0), metrics(T0 + 5_000, error_code=56))
    opened = feed.wait_for("logdir.alerts", lambda r: r.status == "firing", "the alert before the loss")
    written = [row.value for row in feed.written if row.topic == "logdir.state"][-1:]
    feed.stop()
    shutil.rmtree(feed.folder / "checkpoint")
    feed.written.clear()
    states = parsed_states(spark.createDataFrame([(written[0],), (None,)], "record string"))
    assert starting_offsets(lowest_positions(states), {"logdir.metrics": 2}) == {"logdir.metrics": {"0": 2, "1": -2}}
    # Its input begins before the state: what is older changes nothing.
    feed.start(memories_of(states))
    feed.send(metrics(T0 + 10_000))
    closed = feed.wait_for("logdir.alerts", lambda r: r.status == "resolved", "the resolve after the loss")
    assert (closed.alert_id, closed.revision) == (opened.alert_id, opened.revision + 1)
    assert [record.status for record in feed.records("logdir.alerts")] == ["resolved"]
    # The checkpoint that it made is one like any other.
    feed.stop()
    feed.send(metrics(T0 + 15_000, error_code=56))
    feed.start()
    feed.wait_for("logdir.alerts", lambda r: r.opened_at_ms == T0 + 15_000, "the next alert")


def test_a_broker_at_rest_goes_on_after_restarts(spark, tmp_path):
    """Its numbers are stored beside its memory; what it writes is what the state machine alone would write."""
    judged_by = DetectSettings(silence_min_ms=3_600_000, state_refresh_ms=0)
    feed, known = Feed(spark, tmp_path, Settings(detect=judged_by)).start(), BrokerMemory(cluster="prod", broker=7)
    for number in range(9):
        record = at_rest(number)
        sample = msgspec.json.decode(json.dumps(record), type=MetricsRecord)
        origin = Origin("logdir.metrics", 0, number, record["timestamp_ms"])
        transitions, _ = machine.advance(known, Sample(sample, origin), record["timestamp_ms"], judged_by)
        expected = state_view.state_record(known, transitions)
        feed.send(record)
        written = feed.wait_for("logdir.state", lambda r, at=number: r.sequence == at + 1, f"state {number}")
        assert _without_times(written) == _without_times(expected)
        if number in {4, 7}:
            feed.stop()
            feed.start()
    # The checkpoint is readable while its query runs, and it remembers what was written.
    (tmp_path / "detect").symlink_to(tmp_path / "checkpoint")
    settings = Settings(detect=judged_by, checkpoints=CheckpointSettings(path=str(tmp_path)))
    (line,) = memory.lines(spark, settings, "detect", "prod", 7)
    assert _without_times(msgspec.json.decode(line, type=StateRecord)) == _without_times(written)
    assert not list(memory.lines(spark, settings, "detect", "prod", 8))
    assert not list(memory.lines(spark, settings, "detect", "other", None))
    feed.stop()
    with pytest.raises(UserError, match="fleet holds no checkpoint"):
        list(memory.lines(spark, settings, "fleet", None, None))


@pytest.mark.long  # an application of its own
def test_the_command_prints_what_the_checkpoint_of_another_application_remembers(feed):
    feed.send(metrics(T0, broker=7), metrics(T0, broker=8))
    feed.wait_for("logdir.state", lambda r: r.broker == 8, "both brokers")
    feed.stop()
    (feed.folder / "detect").symlink_to(feed.folder / "checkpoint")
    given = os.environ | {"LOGDIRWATCH_CHECKPOINTS__PATH": str(feed.folder)}
    command = [sys.executable, "-m", "logdirwatch", "checkpoint"]
    done = subprocess.run(command, env=given, cwd=feed.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [msgspec.json.decode(line, type=StateRecord) for line in done.stdout.splitlines()]
    assert sorted((one.cluster, one.broker, one.sequence) for one in found) == [("prod", 7, 1), ("prod", 8, 1)]


def at_rest(number):
    """An answer of a broker whose use hardly changes, with all that Kafka reports."""
    record = metrics(T0 + number * 5_000, used=0.5 + number / 1000)
    record["log_dirs"][0] |= {"replica_bytes": 500 * MIB, "replica_count": 9, "incoming_bytes": 0}
    return record


def _without_times(state):
    """A state as it is but for the times of the machine's clock."""
    memory = json.loads(state.machine)
    return msgspec.structs.replace(state, machine=""), {
        name: value for name, value in memory.items() if name not in {"heard_ms", "timer_ms"}
    }


def test_an_unregistered_broker_leaves_a_tombstone_and_no_state_behind(feed):
    def unregistered(at_ms):
        told = {"status": "timeout", "is_registered": False, "controller_at_ms": at_ms, "log_dirs": []}
        return metrics(at_ms) | told

    feed.send(metrics(T0, error_code=56), metrics(T0, broker=39))
    feed.wait_for("logdir.state", lambda r: r.broker == 39, "the states")
    feed.send(*(unregistered(T0 + number * 5_000) for number in range(1, 4)))
    ended = feed.wait_for("logdir.alerts", lambda r: r.status == "resolved", "the end of its alert")
    assert (ended.rule, ended.reason) == ("log_dir_offline", "not registered with the controller")
    told = [row.value for row in feed.written if row.key == "prod/7"]
    assert told[-1] is None, "a tombstone comes last"
    last = msgspec.json.decode(told[-2], type=StateRecord)
    assert {(step.log_dir, step.to_status) for step in last.transitions} >= {("/d1", "removed"), (None, "removed")}
    # What still comes of it is nothing new; registered again it begins again, also after a restart.
    feed.send(unregistered(T0 + 20_000))
    feed.stop()
    feed.send(metrics(T0 + 25_000), metrics(T0 + 25_000, broker=39, error_code=56))
    feed.start()
    again = feed.wait_for(
        "logdir.state", lambda r: r.broker == 7 and r.sequence == 1 and r.status == "online", "it back"
    )
    assert again.at_ms == T0 + 25_000
    feed.wait_for("logdir.alerts", lambda r: r.broker == 39, "its neighbour's alert")
    assert len([row for row in feed.written if row.value is None]) == 1


def test_garbage_stops_nothing_and_speaks_for_nobody(feed):
    feed.send(b"garbage", b"\xff\xfe", b"{}", b'{"version":2,"cluster":"prod","broker":7}', metrics(T0, used=0.96))
    alert = feed.wait_for("logdir.alerts", lambda r: r.rule == "log_dir_space", "the alert behind the garbage")
    assert alert.severity == "page"
    assert {record.broker for record in feed.records("logdir.state")} == {7}


def test_a_heartbeat_is_handed_on_to_the_alert_topic(feed):
    beat = {"version": 1, "type": "heartbeat", "cluster": "prod", "collector": "c1", "timestamp_ms": T0}
    feed.send(beat, beat | {"timestamp_ms": T0 + 10_000})
    alert = feed.wait_for("logdir.alerts", lambda r: r.rule == "heartbeat", "the heartbeat")
    assert (alert.revision, alert.status, alert.at_ms) == ((T0 + 10_000) // 1000, "resolved", T0 + 10_000)
    assert feed.records("logdir.state") == []


def test_a_bare_event_counts_for_the_default_cluster(feed):
    feed.send(metrics(T0, cluster="fallback"))
    feed.send({"version": 1, "broker": 7, "event": 1}, topic="logdir.events")
    feed.send(metrics(T0 + 5_000, cluster="fallback", error_code=56))
    alert = feed.wait_for("logdir.alerts", lambda r: r.status == "firing", "the alert of the bare event")
    assert (alert.cluster, alert.log_dir) == ("fallback", "/d1")


def test_a_maintenance_reaches_its_broker_and_what_is_said_of_alerts_nobody(feed):
    said = {"version": 1, "by": "ada", "reason": "new disk", "at_ms": T0 + 1, "until_ms": T0 + 3_600_000}
    planned = {"id": "prod/7", "decision": "maintenance", "cluster": "prod", "broker": 7}
    feed.send(metrics(T0), metrics(T0, broker=8))
    feed.send(said | planned, said | {"id": "a1", "decision": "acknowledge"}, topic="logdir.decisions")
    state = feed.wait_for("logdir.state", lambda r: r.maintenance_until_ms is not None, "the planned broker")
    assert (state.broker, state.status, state.maintenance_by) == (7, "online", "ada")
    assert state.reason.startswith("answers; maintenance until ")
    assert {record.broker for record in feed.records("logdir.state")} == {7, 8}


def own(record):
    """The bytes of a record as a collector of this project writes it."""
    return msgspec.json.encode(msgspec.convert(record, type=MetricsRecord))


BEGINNINGS = {
    "own": own(metrics(T0)),
    "own, host": b'{"type":"host","version":1,"cluster":"prod","broker":7,"timestamp_ms":1}',
    "own, cluster with a quote": own(metrics(T0, cluster='a"b')),
    "own, cluster not in ASCII": own(metrics(T0, cluster="größe")),
    "own, long cluster": own(metrics(T0, cluster="x" * 900)),
    "own, cut within a character": own(metrics(T0, cluster="x" * 367 + "ß" * 9)),
    "other order": b'{"broker":7,"cluster":"prod","type":"metrics","version":1}',
    "spaces": b'{ "type": "metrics", "version": 1, "cluster": "prod", "broker": 7 }',
    "no cluster": b'{"type":"metrics","version":1,"broker":7}',
    "broker too large": b'{"type":"metrics","version":1,"cluster":"prod","broker":12345678901,"a":1}',
    "broker far too large": b'{"type":"metrics","version":1,"cluster":"prod","broker":%s,"a":1}' % (b"9" * 40),
    "negative broker": b'{"type":"metrics","version":1,"cluster":"prod","broker":-7,"a":1}',
    "broken broker": b'{"type":"metrics","version":1,"cluster":"prod","broker":7.5,"a":1}',
    "heartbeat": b'{"type":"heartbeat","version":1,"cluster":"prod","collector":"c","timestamp_ms":1}',
    "pipeline": b'{"type":"pipeline","version":1,"cluster":"prod","broker":7,"timestamp_ms":1}',
    "not at the beginning": b'{"a":{"type":"metrics","version":1,"cluster":"prod","broker":7,"b":1}}',
    "not JSON": b"\xff\xfe",
    "empty": b"",
    "null": None,
}


def test_the_beginning_of_a_record_tells_its_broker_as_the_parser_does(spark, monkeypatch):
    time = dt.datetime.fromtimestamp(T0 / 1000, dt.timezone.utc)
    rows = [(None, value, "logdir.metrics", 0, at, time) for at, value in enumerate(BEGINNINGS.values())]
    records = spark.createDataFrame(rows, SCHEMA)
    recognized = detect.keyed(records, "home")
    monkeypatch.setattr(detect, "_BEGINNING", "(never)(matches) this")
    parsed = detect.keyed(records, "home")
    found = {row.offset: (row.cluster, row.broker) for row in recognized.collect()}
    assert found == {row.offset: (row.cluster, row.broker) for row in parsed.collect()}
    assert len(found) == 13
    assert recognized.schema == parsed.schema
    assert not recognized.schema["cluster"].nullable


def test_a_record_that_names_two_brokers_speaks_for_neither(feed):
    record = own(metrics(T0, error_code=56))
    feed.start().send(record.replace(b'"broker":7,', b'"broker":7,"broker":8,'))
    feed.send(metrics(T0, broker=9, error_code=56))
    feed.wait_for("logdir.alerts", lambda alerts: alerts, "the alert of broker 9")
    assert {alert.broker for alert in feed.records("logdir.alerts")} == {9}
    assert {state.broker for state in feed.records("logdir.state")} == {9}


def test_silence_is_noticed_without_any_input(spark, tmp_path):
    settings = Settings(detect=DetectSettings(silence_min_ms=1_000))
    feed = Feed(spark, tmp_path, settings).start()
    try:
        feed.send(metrics(T0, interval_ms=100))
        state = feed.wait_for("logdir.state", lambda r: r.status == "unknown", "the unknown broker")
        assert state.reason.startswith("silent: ")
        assert [log_dir.status for log_dir in state.log_dirs] == ["unknown"]
        assert feed.records("logdir.alerts") == [], "fleet tells silence: of a whole cluster it is one alert"
    finally:
        feed.stop()
