"""The fast lane may abstain, but never speaks where the parser rejects, and its identities are the parser's."""

import datetime as dt
import json

import msgspec
import pytest

from logdirwatch.jobs.queries import fast_lane
from logdirwatch.model.identity import Origin, alert_id
from logdirwatch.model.records import AlertRecord, EventRecord
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.settings import Settings
from logdirwatch.spark_version import REAL_TIME_SINCE, NoRealTimeModeError, in_real_time, release
from tests.support import hostile

KAFKA_MS = 1_700_000_000_123
SCHEMA = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"
HOSTILE = (*hostile.NAMES, " ", "3:abc,", "\u2028\u2029", "[{]}", "e\u0301")


def event(**fields):
    return {"version": 1, "broker": 2, "event": "LogDirFailure"} | fields


SURE = [
    json.dumps(event()).encode(),
    json.dumps(event(event=1)).encode(),
    json.dumps(event(event="1")).encode(),
    b' {"event" : 1 , "broker":2,"version":1}\n',
    json.dumps(event(cluster="prod", log_dir="/d1", timestamp_ms=KAFKA_MS - 5, detail="x", collector="c")).encode(),
    json.dumps(event(timestamp_ms=KAFKA_MS + 60_001)).encode(),
    json.dumps(event(timestamp_ms=KAFKA_MS + 60_000)).encode(),
    json.dumps(event(cluster=None, log_dir=None, timestamp_ms=None)).encode(),
    json.dumps(event(unknown={"nested": [1, {"deep": None}]})).encode(),
    json.dumps(event(broker=2**31 - 1)).encode(),
    json.dumps(event(topic="t", partition=2**31 - 1)).encode(),
    json.dumps(event(topic=None, partition=None)).encode(),
    *(json.dumps(event(cluster=text, log_dir=text)).encode() for text in HOSTILE),
    *(json.dumps(event(cluster=text, log_dir=text), ensure_ascii=False).encode() for text in HOSTILE),
]

UNSURE = [
    *(json.dumps(event(**{name: {}})).encode() for name in EventRecord.__struct_fields__),
    b"",
    b"garbage",
    b"null",
    b"[]",
    b'"LogDirFailure"',
    b'{"version":1,"broker":2,"event":1} trailing',
    b'{"version":1,"broker":2,"event":1}{"version":1}',
    b'{"version":1,"broker":2,"event":1},{"version":1}',
    b'{"version":1,"broker":2,"event":1}]',
    b'{"version":1,"broker":2,"event":1}]}',
    b'{"version":1,"broker":2,"event":1}}',
    b"{'version':1,'broker':2,'event':1}",
    b'{"version":1.0,"broker":2,"event":1}',
    b'{"version":"1","broker":2,"event":1}',
    b'{"version":true,"broker":2,"event":1}',
    b'{"version":1,"broker":2.0,"event":1}',
    b'{"version":1,"broker":2e0,"event":1}',
    b'{"version":1,"broker":"2","event":1}',
    b'{"version":1,"broker":-1,"event":1}',
    b'{"version":1,"broker":2147483648,"event":1}',
    b'{"version":1,"broker":99999999999999999999999,"event":1}',
    b'{"version":1,"broker":2,"event":1.0}',
    b'{"version":1,"broker":2,"event":[1]}',
    b'{"version":1,"broker":2,"event":null}',
    b'{"version":1,"broker":2,"event":true}',
    b'{"version":1,"broker":NaN,"event":1}',
    b'{"version":1,"broker":2,"event":1,"x":NaN}',
    b'{"version":1,"broker":2,"event":1,"cluster":5}',
    b'{"version":1,"broker":2,"event":1,"cluster":""}',
    b'{"version":1,"broker":2,"event":1,"log_dir":""}',
    b'{"version":1,"broker":2,"event":1,"log_dir":["/d"]}',
    b'{"version":1,"broker":2,"event":1,"topic":7}',
    b'{"version":1,"broker":2,"event":1,"topic":""}',
    b'{"version":1,"broker":2,"event":1,"partition":"x"}',
    b'{"version":1,"broker":2,"event":1,"partition":-1}',
    b'{"version":1,"broker":2,"event":1,"partition":2147483648}',
    b'{"version":1,"broker":2,"event":1,"timestamp_ms":"5"}',
    b'{"version":1,"broker":2,"event":1,"timestamp_ms":-5}',
    b'{"version":1,"broker":2,"event":1,"timestamp_ms":1e300}',
    b'{"version":1,"broker":2,"event":1,"cluster":"\\ud800"}',
    b'{"version":1,"broker":2,"event":1,"cluster":"\xff"}',
    b'{"version":1,"broker":2,"event":1,"cluster":"a\x00b"}',
    b'\xef\xbb\xbf{"version":1,"broker":2,"event":1}',
    b'{"version":2,"broker":2,"event":1}',
    b'{"broker":2,"event":1}',
    b'{"version":1,"event":1}',
    b'{"version":1,"broker":2}',
    b'{"version":1,"broker":2,"event":2}',
    b'{"version":1,"broker":2,"event":"LogDirFailed"}',
    b'{"version":1,"broker":2,"event":"LogDirReset"}',
    b'{"version":1,"broker":2,"event":"LogDirRecovered","log_dir":"/d"}',
    b'{"version":1,"broker":2,"event":"LogDirSaturated","log_dir":"/d"}',
    b'{"version":1,"broker":2,"event":1,"x":' + b"[" * 950 + b"]" * 950 + b"}",
    b'{"version":1,"broker":2,"event":1,"x":"' + b"x" * 70_000 + b'"}',
    b'{"version":1,"broker":3,"broker":2,"event":"LogDirReset","event":1}',
]


@pytest.fixture(scope="module")
def spoken(spark):
    """What the lane said, by offset; the offset is the place in SURE + UNSURE."""
    rows = [
        (
            None,
            bytearray(value),
            "logdir.events",
            1,
            offset,
            dt.datetime.fromtimestamp(KAFKA_MS / 1000, dt.timezone.utc),
        )
        for offset, value in enumerate(SURE + UNSURE)
    ]
    said = fast_lane.alerts(spark.createDataFrame(rows, SCHEMA), Settings()).collect()
    records = [(row.key, msgspec.json.decode(row.value, type=AlertRecord)) for row in said]
    return {int(record.evidence["origin"].split("/")[2]): (key, record) for key, record in records}


def parsed(offset):
    result = parse("logdir.events", None, (SURE + UNSURE)[offset], KAFKA_MS, "default")
    return result.record if isinstance(result, Accepted) else None


def test_every_plain_failure_becomes_an_alert(spoken):
    missing = [SURE[offset] for offset in range(len(SURE)) if offset not in spoken]
    assert missing == []


def test_the_lane_never_speaks_where_the_parser_rejects(spoken):
    wrong = [
        (SURE + UNSURE)[offset]
        for offset in spoken
        if parsed(offset) is None or parsed(offset).event != "LogDirFailure"
    ]
    assert wrong == []


def test_what_is_no_plain_failure_is_left_to_the_state_machine(spoken):
    assert [UNSURE[offset - len(SURE)] for offset in spoken if offset >= len(SURE)] == []


def test_identity_place_and_time_are_those_of_the_state_machine(spoken):
    for offset, (key, record) in spoken.items():
        truth = parsed(offset)
        origin = str(Origin("logdir.events", 1, offset, KAFKA_MS))
        expected = alert_id(truth.cluster, truth.broker, truth.log_dir, "log_dir_offline", origin)
        assert (record.alert_id, key) == (expected, f"{expected}/fast")
        assert (record.cluster, record.broker, record.log_dir) == (truth.cluster, truth.broker, truth.log_dir)
        believed = truth.timestamp_ms <= KAFKA_MS + 60_000
        assert record.at_ms == record.opened_at_ms == (truth.timestamp_ms if believed else KAFKA_MS)
        assert (record.revision, record.lane, record.to_status, record.cause) == (0, "fast", "offline", "unknown")


def test_a_canary_is_answered_as_a_heartbeat(spark):
    value = json.dumps({"version": 1, "broker": 0, "event": "Canary", "cluster": "prod", "collector": "c1"}).encode()
    time = dt.datetime.fromtimestamp(KAFKA_MS / 1000, dt.timezone.utc)
    frame = spark.createDataFrame([(None, bytearray(value), "logdir.events", 0, 7, time)], SCHEMA)
    (row,) = fast_lane.alerts(frame, Settings()).collect()
    record = msgspec.json.decode(row.value, type=AlertRecord)
    assert (record.rule, record.status, record.lane, record.cluster) == ("heartbeat", "resolved", "fast", "prod")
    assert row.key == f"{record.alert_id}/fast"


def test_spark_has_real_time_mode_from_the_release_on_that_is_named(spark):
    stream = spark.readStream.format("rate").load().writeStream
    if release(spark.version).minor >= REAL_TIME_SINCE:
        assert in_real_time(stream, "1 minute") is stream
    else:
        with pytest.raises(NoRealTimeModeError):
            in_real_time(stream, "1 minute")
