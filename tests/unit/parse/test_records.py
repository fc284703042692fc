"""Every topic's parser: what it accepts, what it refuses, and that no bytes make it raise."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model import topics
from logdirwatch.model.records import (
    EventRecord,
    HeartbeatRecord,
    HostRecord,
    MetricsRecord,
    PipelineRecord,
    ReplicasRecord,
    TopicRecord,
)
from logdirwatch.parse.records import LONGEST_REASON, Accepted, Deleted, Rejected, parse
from tests.support import bad

KAFKA_MS = 1_700_000_000_123
TOPIC_NAMES = topics.STREAMED


def metrics(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "cluster": "prod", "broker": 2, "timestamp_ms": 5, "status": "ok", **fields}


def log_dir(**fields: Any) -> dict[str, Any]:
    return {"path": "/data/d1", "error_code": 0, **fields}


def event(**fields: Any) -> dict[str, Any]:
    return {"version": 1, "broker": 2, "event": "LogDirFailure", **fields}


def state(**fields: Any) -> dict[str, Any]:
    required = {"sequence": 1, "at_ms": 5, "status": "online", "since_ms": 5, "log_dirs": [], "machine": ""}
    return {"version": 1, "cluster": "prod", "broker": 2, **required, **fields}


def read(topic: str, record: object, key: bytes | None = None) -> Accepted | Rejected | Deleted:
    value = record if isinstance(record, bytes) else json.dumps(record).encode()
    return parse(topic, key, value, KAFKA_MS, "home")


def accepted(topic: str, record: object, key: bytes | None = None) -> Any:
    result = read(topic, record, key)
    assert isinstance(result, Accepted), result
    return result.record


def reason(topic: str, record: object) -> str:
    result = read(topic, record)
    assert isinstance(result, Rejected), result
    return result.reason


def test_metrics_without_a_type_are_metrics() -> None:
    assert isinstance(accepted(topics.METRICS, metrics()), MetricsRecord)
    assert isinstance(accepted(topics.METRICS, metrics(type="metrics")), MetricsRecord)


def test_a_heartbeat_is_told_by_its_type() -> None:
    record = {"version": 1, "type": "heartbeat", "cluster": "prod", "timestamp_ms": 5}
    assert isinstance(accepted(topics.METRICS, record), HeartbeatRecord)


def test_what_the_stream_tells_of_itself_is_told_by_its_type() -> None:
    record = {"version": 1, "type": "pipeline", "query": "store", "timestamp_ms": 5, "behind": {"logdir.metrics": 7}}
    told = accepted(topics.METRICS, record)
    assert isinstance(told, PipelineRecord)
    assert (told.query, told.behind, told.lag_ms) == ("store", {"logdir.metrics": 7}, None)
    assert "lag_ms" in reason(topics.METRICS, {**record, "lag_ms": -1})
    assert "query" in reason(topics.METRICS, {**record, "query": ""})


def test_running_moves_may_be_unknown_and_are_never_negative() -> None:
    told = accepted(topics.METRICS, metrics(moves={"at_ms": 5, "copies": 2, "throttles": {"k": 9}}))
    assert (told.moves.copies, told.moves.reassignments, told.moves.throttles) == (2, None, {"k": 9})
    assert "$.moves.copies" in reason(topics.METRICS, metrics(moves={"at_ms": 5, "copies": -1}))


def test_unknown_fields_are_ignored() -> None:
    assert accepted(topics.METRICS, metrics(colour="red", log_dirs=[log_dir(shape=[1])])).broker == 2


@pytest.mark.parametrize("missing", ["version", "cluster", "broker", "timestamp_ms", "status"])
def test_a_missing_required_field_is_named(missing: str) -> None:
    record = metrics()
    del record[missing]
    assert reason(topics.METRICS, record) == f"Object missing required field `{missing}`"


def test_the_place_of_a_wrong_value_is_named() -> None:
    assert reason(topics.METRICS, metrics(log_dirs=[log_dir(usable_bytes=-1)])).endswith(
        "at `$.log_dirs[0].usable_bytes`"
    )
    assert reason(topics.METRICS, metrics(type="other")).endswith("at `$.type`")


@pytest.mark.parametrize("topic", TOPIC_NAMES)
@pytest.mark.parametrize(("version", "shown"), [(2, "2"), ("1", '"1"'), (1.0, "1.0"), (True, "true"), (None, "null")])
def test_another_version_is_refused_before_anything_else(topic: str, version: object, shown: str) -> None:
    record = {"version": version, "cluster": "prod", "type": "of the future"}
    result = read(topic, record)
    assert result == Rejected(f"version {shown} is unknown, expected 1", "prod", version if version == 2 else None)


@pytest.mark.parametrize("topic", [topics.METRICS, topics.STATE])
def test_a_directory_listed_twice_is_refused(topic: str) -> None:
    view = {"path": "/data/d1", "status": "online", "since_ms": 5, "error_code": 0}
    record = {**metrics(), **state()} | {"status": "ok" if topic == topics.METRICS else "online"}
    assert reason(topic, {**record, "log_dirs": [view, view]}) == (
        "log directory '/data/d1' is listed twice - at `$.log_dirs`"
    )


@pytest.mark.parametrize("name", ["LogDirFailure", 1, "1"])
def test_the_kips_event_is_accepted_as_it_is(name: object) -> None:
    record = accepted(topics.EVENTS, event(event=name))
    assert record == EventRecord(version=1, broker=2, event="LogDirFailure", cluster="home", timestamp_ms=KAFKA_MS)


@pytest.mark.parametrize("name", ["LogDirReset", "LogDirSaturated", "LogDirRecovered", "Canary"])
def test_our_events_keep_their_fields(name: str) -> None:
    record = accepted(topics.EVENTS, event(event=name, cluster="prod", timestamp_ms=0, log_dir="/d", collector="c1"))
    assert (record.event, record.cluster, record.timestamp_ms, record.log_dir) == (name, "prod", 0, "/d")


@pytest.mark.parametrize("name", [0, 2, -1, "2", "logdirfailure", "", "01"])
def test_any_other_event_is_refused_by_name(name: object) -> None:
    assert reason(topics.EVENTS, event(event=name)).startswith(f"event {name!r} is unknown, expected 1 or ")


def test_inventory_is_told_by_its_type() -> None:
    replicas = {"version": 1, "type": "replicas", "cluster": "c", "broker": 1, "log_dir": "/d", "timestamp_ms": 1}
    assert isinstance(accepted(topics.INVENTORY, {**replicas, "replicas": []}), ReplicasRecord)
    topic = {"version": 1, "type": "topic", "cluster": "c", "topic": "t", "partitions": []}
    assert isinstance(accepted(topics.INVENTORY, topic), TopicRecord)
    assert reason(topics.INVENTORY, {"version": 1, "cluster": "c"}) == "Object missing required field `type`"


@pytest.mark.parametrize("topic", [topics.STATE, topics.ALERTS, topics.ACTIONS])
def test_a_tombstone_of_a_compacted_topic_is_a_deletion(topic: str) -> None:
    assert parse(topic, b"prod/2", None, KAFKA_MS, "home") == Deleted("prod/2")
    assert isinstance(parse(topic, b"\xff", None, KAFKA_MS, "home"), Rejected)


@pytest.mark.parametrize("topic", [topics.METRICS, topics.EVENTS, topics.INVENTORY, topics.DECISIONS])
def test_no_value_on_another_topic_is_refused(topic: str) -> None:
    assert parse(topic, b"prod/2", None, KAFKA_MS, "home") == Rejected("no value: expected a JSON object")


HOSTILE = [
    (b"", "empty value: expected a JSON object"),
    (b" \n", "empty value: expected a JSON object"),
    (b"garbage", "JSON is malformed"),
    (b"null", "Expected `object`, got `null`"),
    (b"[]", "Expected `object`, got `array`"),
    (b'{"version":1', "truncated"),
    (b'{"version":1,"x":"\xff"}', "not UTF-8: invalid start byte at byte 18"),
    (b'{"version":1,"cluster":"\\ud800"}', "half of a surrogate pair at byte 24"),
    (b'{"version":1,"x":NaN}', "malformed"),
    (b'{"version":1,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    (b'{"version":1,"cluster":' + b"9" * 5_000 + b"}", ""),
]


@pytest.mark.parametrize("topic", TOPIC_NAMES)
@pytest.mark.parametrize(("value", "expected"), HOSTILE)
def test_hostile_bytes_are_refused_with_a_reason(topic: str, value: bytes, expected: str) -> None:
    result = parse(topic, b"\xff\x00", value, KAFKA_MS, "home")
    assert isinstance(result, Rejected)
    assert expected in result.reason
    assert "\n" not in result.reason
    assert 0 < len(result.reason) <= LONGEST_REASON


@pytest.mark.parametrize(
    "fields", [{"controller_id": 10**30}, {"timestamp_ms": 2**60}, {"broker": 2**31}, {"metrics": {"a": 10**400}}]
)
def test_numbers_that_no_column_holds_are_refused(fields: dict[str, Any]) -> None:
    assert isinstance(read(topics.METRICS, metrics(**fields)), Rejected)


@pytest.mark.parametrize("field", ["sequence", "at_ms", "since_ms", "last_seen_ms", "controller_id"])
def test_a_state_record_of_numbers_that_no_column_holds_is_refused(field: str) -> None:
    assert accepted(topics.STATE, state())
    assert isinstance(read(topics.STATE, state(**{field: 2**63})), Rejected)


def test_a_refused_record_tells_the_cluster_it_names() -> None:
    assert read(topics.METRICS, metrics(broker="two")) == Rejected(
        "Expected `int`, got `str` - at `$.broker`", "prod", 1
    )
    assert read(topics.METRICS, b"garbage").cluster is None  # type: ignore[union-attr]
    assert read(topics.METRICS, metrics(cluster=5)).cluster is None  # type: ignore[union-attr]


@pytest.mark.parametrize("missing", ["cluster", "broker"])
@pytest.mark.parametrize(
    ("decision", "what"), [("maintenance", "a maintenance"), ("healthy", "the decision that a disk is healthy")]
)
def test_what_is_said_of_a_broker_names_it(decision: str, what: str, missing: str) -> None:
    record = {"version": 1, "id": "prod/7", "decision": decision, "by": "ada", "reason": "r", "at_ms": 5}
    whole = record | {"cluster": "prod", "broker": 7}
    assert accepted(topics.DECISIONS, json.dumps(whole).encode()).broker == 7
    del whole[missing]
    refused = read(topics.DECISIONS, json.dumps(whole).encode())
    assert isinstance(refused, Rejected)
    assert refused.reason == f"{what} must name its {missing} - at `$.{missing}`"


def test_what_is_said_of_an_alert_needs_no_broker() -> None:
    record = {"version": 1, "id": "x", "decision": "acknowledge", "by": "ada", "reason": "r", "at_ms": 5}
    assert accepted(topics.DECISIONS, record).broker is None


def host(**fields: Any) -> dict[str, Any]:
    record = {"version": 1, "type": "host", "cluster": "prod", "broker": 2, "timestamp_ms": 5, "collector": "h"}
    return {**record, **fields}


def test_a_look_of_the_host_is_accepted_and_one_that_names_a_directory_twice_is_not() -> None:
    news = {"trouble": "path_lost", "text": "Failing path 8:16.", "device": "8:16"}
    record = accepted(topics.METRICS, host(log_dirs=[{"path": "/d1", "kernel": [news]}, {"path": "/d2"}]))
    assert isinstance(record, HostRecord)
    assert [log_dir.path for log_dir in record.log_dirs] == ["/d1", "/d2"]
    assert (record.log_dirs[0].kernel[0].device, record.log_dirs[0].kernel[0].is_over) == ("8:16", False)
    twice = host(log_dirs=[{"path": "/d1"}, {"path": "/d2"}, {"path": "/d2"}])
    assert reason(topics.METRICS, twice) == "log directory '/d2' is listed twice - at `$.log_dirs`"


LISTED = {"version": 1, "brokers": [{"broker": 1, "logDirs": [{"logDir": "/d", "error": None, "partitions": []}]}]}


@pytest.mark.parametrize(("topic", "record"), [(topics.EVENTS, event()), (topics.INVENTORY, LISTED)])
@pytest.mark.parametrize(
    ("kafka_ms", "is_taken"), [(0, True), (1, True), (2**53, True), (-1, False), (2**53 + 1, False)]
)
def test_a_record_that_relies_on_kafkas_time_needs_one(
    topic: str, record: dict[str, Any], kafka_ms: int, is_taken: bool
) -> None:
    result = parse(topic, None, json.dumps(record).encode(), kafka_ms, "home")
    assert isinstance(result, Accepted) is is_taken
    if isinstance(result, Rejected):
        assert result.reason == f"neither the record nor Kafka ({kafka_ms}) has a timestamp"


def test_a_record_with_a_time_of_its_own_needs_none_of_kafka() -> None:
    result = parse(topics.EVENTS, None, json.dumps(event(timestamp_ms=7)).encode(), -1, "home")
    assert isinstance(result, Accepted)
    assert result.record.timestamp_ms == 7  # type: ignore[union-attr]


@pytest.mark.parametrize(("length", "cut"), [(5, False), (400, True)])
def test_a_long_reason_is_cut_to_its_length_and_says_so(length: int, cut: bool) -> None:
    told = reason(topics.EVENTS, event(event="e" * length))
    assert (len(told) == 300) is cut
    assert told.endswith("...") is cut
    assert told.startswith("event 'eeeee")


def test_a_reason_that_just_fits_is_whole() -> None:
    base = len(reason(topics.EVENTS, event(event="")))
    assert LONGEST_REASON == 300
    assert base < LONGEST_REASON
    whole = reason(topics.EVENTS, event(event="e" * (LONGEST_REASON - base)))
    assert (len(whole), whole.endswith("...")) == (LONGEST_REASON, False)
    assert reason(topics.EVENTS, event(event="e" * (LONGEST_REASON - base + 1))).endswith("...")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
field_names = sorted(
    {f for t in (MetricsRecord, EventRecord, TopicRecord) for f in t.__struct_encode_fields__} | {"type"}
)


@given(topic=st.sampled_from(TOPIC_NAMES), key=st.none() | st.binary(), value=st.none() | st.binary())
def test_no_bytes_make_the_parser_raise(topic: str, key: bytes | None, value: bytes | None) -> None:
    assert isinstance(parse(topic, key, value, KAFKA_MS, "home"), (Rejected, Deleted))


@given(
    topic=st.sampled_from(TOPIC_NAMES),
    record=st.dictionaries(st.sampled_from(field_names), json_values, max_size=4),
    version=st.sampled_from([1, 1, 2, None]),
    cut=st.integers(0, 400),
)
def test_no_json_makes_the_parser_raise(topic: str, record: dict[str, Any], version: object, cut: int) -> None:
    text = json.dumps({"version": version, **record}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for value in (text, text[:cut]):
        result = parse(topic, None, value, KAFKA_MS, "home")
        if isinstance(result, Rejected):
            assert len(result.reason.encode()) > 0


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_survives(cluster: str, path: str) -> None:
    value = msgspec.json.encode(metrics(cluster=cluster, log_dirs=[log_dir(path=path)]))
    record = accepted(topics.METRICS, value)
    assert (record.cluster, record.log_dirs[0].path) == (cluster, path)


@pytest.mark.parametrize(("topic", "value", "says"), bad.RECORDS + bad.PARTS)
def test_a_record_that_nobody_can_read_is_refused_with_its_reason(topic: str, value: bytes | None, says: str) -> None:
    """The tests with Spark and Kafka expect the same of these records; here it takes a moment to see."""
    refused = parse(topic, None, value, 5, "prod")
    assert isinstance(refused, Rejected)
    assert says in refused.reason


@pytest.mark.parametrize("pattern", [{}, {"clusters": "prod"}, {"cluster": "prod", "topic": "t"}])
def test_a_silence_that_is_not_understood_silences_nothing(pattern: dict[str, str]) -> None:
    silence = {"version": 1, "id": "p", "decision": "silence", "by": "ada", "reason": "x", "at_ms": 5}
    assert accepted(topics.DECISIONS, {**silence, "matching": {"cluster": "prod"}})
    assert "matching" in reason(topics.DECISIONS, {**silence, "matching": pattern})
