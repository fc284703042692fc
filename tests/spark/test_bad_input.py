"""Batches that mix good records with every kind of bad ones, and records at the limits of what is accepted."""

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as drawing
from hypothesis import strategies as st

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model import topics
from logdirwatch.parse.records import RECORDS
from logdirwatch.settings import Settings
from logdirwatch.store.writing.intake import Position, thin_rows
from tests.spark.lake import (
    BELIEVED,
    KAFKA_MS,
    T0,
    action,
    alert,
    decision,
    event,
    metrics,
    replicas,
    scan_end,
    state,
    topic,
)
from tests.spark.test_detect import Feed
from tests.spark.test_detect import metrics as polled
from tests.support import bad
from tests.support.generated import documents

POSITION = ("topic", "partition", "offset")


def mixed(good, spoilt):
    """Put bad records before, between and behind the good ones."""
    records = [(name, None, value) for name, value, _ in spoilt]
    step = max(1, len(records) // (len(good) + 1))
    for number, record in enumerate(good, 1):
        records.insert(number * (step + 1) - 1, record)
    return records


def assert_rejected(lake, rows, spoilt):
    """Every bad record is there once, where it was in Kafka, as it came and with its own reason."""
    reasons = {(name, value): reason for name, value, reason in spoilt}
    expected = {row[2:5]: row[1] for row in rows if (row[2], row[1]) in reasons}
    found = lake.rows("rejected_records", *POSITION, "value", "reason")
    assert len(found) == len(spoilt)
    assert {row[:3]: row[3] for row in found} == expected
    for name, _, _, value, reason in found:
        assert reasons[name, value] in reason
        assert reason.isprintable()


def test_store_counts_every_good_record_and_every_bad_one_once(lake):
    good = [
        *(metrics(broker) for broker in range(10)),
        *(event(broker) for broker in range(10)),
        *(state(broker) for broker in range(10)),
        *(alert(f"a{number}") for number in range(10)),
        *(action(f"x{number}") for number in range(10)),
        *(decision(f"a{number}") for number in range(10)),
    ]
    rows = lake.store(*mixed(good, bad.RECORDS))
    before = lake.content()
    assert_rejected(lake, rows, bad.RECORDS)
    counts = {name: len(found) for name, found in before.items()}
    assert (counts["alerts"], counts["actions"], counts["decisions"]) == (10, 10, 10)
    assert (counts["broker_state"], counts["log_dir_state"]) == (10, 20)
    assert [len(lake.rows("log_dir_samples", kind=kind)) for kind in ("poll", "log_dir", "event")] == [10, 20, 10]
    lake.store_rows(rows)
    assert lake.content() == before, "the same batch again changes nothing"


def test_store_inventory_counts_every_good_record_and_every_bad_one_once(lake):
    good = [replicas("t-0", broker=1), replicas("t-0", broker=2), topic("t", (1, 2)), scan_end(1)]
    rows = lake.scan(*mixed(good, bad.INVENTORY))
    assert_rejected(lake, rows, bad.INVENTORY)
    assert lake.rows("replica_state", "broker", "topic", "partition") == [(1, "t", 0), (2, "t", 0)]
    assert len(lake.rows("topic_state")) == 1


def test_detect_judges_every_good_record_between_bad_ones(spark, tmp_path):
    settings = Settings(detect=DetectSettings(silence_min_ms=3_600_000, state_refresh_ms=0))
    stream = Feed(spark, tmp_path, settings).start()
    try:
        spoilt = {name: [value for on, value, _ in bad.RECORDS if on == name and value] for name in TOPICS}
        for poll in range(3):
            good = [polled(T0 + poll * 5_000, broker=broker) for broker in range(5)]
            stream.send(*spoilt[topics.METRICS], *good, *spoilt[topics.METRICS])
            for name in (topics.EVENTS, topics.DECISIONS):
                stream.send(*spoilt[name], topic=name)
        for broker in range(5):
            last = stream.wait_for(
                topics.STATE, lambda r, b=broker: (r.broker, r.at_ms) == (b, T0 + 10_000), f"broker {broker} judged"
            )
            assert last.status == "online"
        assert {record.broker for record in stream.records(topics.STATE)} == set(range(5))
        assert stream.records(topics.ALERTS) == []
    finally:
        stream.stop()


TOPICS = (topics.METRICS, topics.EVENTS, topics.DECISIONS)
STORED = tuple(name for name in topics.STREAMED if name != topics.INVENTORY)


def of_topics(*names):
    """Draw many records of these topics, at the limits of their fields."""
    kinds = [(name, kind) for name in names for kind in RECORDS[name]]
    one = st.sampled_from(kinds).flatmap(
        lambda found: documents(found[1]).map(lambda record: (found[0], None, msgspec.json.encode(record)))
    )
    return st.lists(one, min_size=40, max_size=60)


def refused(records):
    positions = (Position(name, 0, 0, KAFKA_MS, None, value) for name, _, value in records)
    return sum(thin.kind == "rejected" for position in positions for thin in thin_rows(position, BELIEVED))


@pytest.mark.long
@pytest.mark.parametrize("run", ["store", "scan"])
def test_no_accepted_record_stops_the_tables(lake, run):
    total = 0

    @given(of_topics(*(STORED if run == "store" else (topics.INVENTORY, topics.STATE))))
    @drawing(max_examples=2, suppress_health_check=list(HealthCheck))
    def write(records):
        nonlocal total
        getattr(lake, run)(*records)
        told = [record for record in records if run == "store" or record[0] == topics.INVENTORY]
        total += refused(told)
        assert len(lake.rows("rejected_records")) == total

    write()


def test_no_accepted_record_stops_detect(spark, tmp_path):
    stream = Feed(spark, tmp_path, Settings(detect=DetectSettings(silence_min_ms=3_600_000))).start()
    try:

        @given(of_topics(*TOPICS))
        @drawing(max_examples=4, suppress_health_check=list(HealthCheck))
        def judge(records):
            for name in TOPICS:
                values = [value for on, _, value in records if on == name]
                if values:
                    stream.send(*values, topic=name)

        judge()
        stream.send(polled(T0, cluster="the last", used=0.96))
        stream.wait_for(topics.ALERTS, lambda r: r.cluster == "the last", "the alert behind all of them")
    finally:
        stream.stop()


def test_values_that_grew_from_a_small_batch_of_kafka_are_taken_in_piece_by_piece(lake):
    blanks = [(topics.METRICS, None, b" " * (8 << 20)) for _ in range(24)]
    lake.store(*blanks, metrics())
    assert [len(value) for (value,) in lake.rows("rejected_records", "value")] == [8 << 20] * 24
    assert len(lake.rows("log_dir_samples", kind="poll")) == 1
