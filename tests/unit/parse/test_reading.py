"""What a process keeps of the records that it cannot read: how many, where, why; and when it says so."""

import msgspec
import pytest
from structlog.testing import capture_logs

from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import AlertRecord, ExecutionRecord
from logdirwatch.observe.series import UnreadableRecords
from logdirwatch.parse.reading import KEPT, LastByKey, RecordReader, Unreadable, logged
from logdirwatch.parse.records import Deleted
from tests.support.kafka_records import kafka_record
from tests.unit.report.builders import alert, execution

LATIN = '{"version":1,"cluster":"prod","by":"Müller"}'.encode("latin-1")


def at(offset, topic=topics.DECISIONS, partition=0):
    return Origin(topic, partition, offset, 5)


def counter(reader):
    (metric,) = UnreadableRecords(reader).collect()
    return {sample.labels["topic"]: sample.value for sample in metric.samples if sample.name.endswith("_total")}


def test_it_is_skipped_with_its_position_and_the_reason():
    reader = RecordReader()
    assert counter(reader) == {}
    found = reader.read(at(17), b"k", LATIN)
    assert found == Unreadable(at(17), "not UTF-8: invalid start byte at byte 37", "prod", None)
    assert (found.where, found.is_of_other_release) == ("partition 0, offset 17", False)
    assert reader.summary(topics.DECISIONS) == (
        "1 record of logdir.decisions cannot be read (partition 0, offset 17: not UTF-8: invalid start byte at byte 37)"
    )
    assert reader.summary(topics.ALERTS) is None
    assert counter(reader) == {topics.DECISIONS: 1}


def test_many_are_one_summary_with_the_first_reason():
    reader = RecordReader()
    for offset, value in enumerate((b"", LATIN, b"7")):
        reader.read(at(offset), None, value)
    reader.read(at(0, topics.ALERTS), None, b"[]")
    many = "3 records of logdir.decisions cannot be read (partition 0, offset 0: empty value: expected a JSON object)"
    assert reader.summaries() == [reader.summary(topics.ALERTS), many]


def test_a_record_that_is_read_again_counts_once():
    reader = RecordReader()
    for _ in range(2):
        reader.read(at(3), None, LATIN)
        reader.read(at(0), None, LATIN)
        reader.read(at(3, partition=1), None, LATIN)
    assert reader.unreadable == {topics.DECISIONS: 3}


def test_the_positions_kept_have_a_bound():
    reader = RecordReader()
    for offset in range(KEPT + 1):
        reader.read(at(offset), None, b"")
    reader.read(at(1), None, b"")
    assert reader.unreadable[topics.DECISIONS] == KEPT + 1
    reader.read(at(0), None, b"")
    assert reader.unreadable[topics.DECISIONS] == KEPT + 2


def test_it_is_told_once_and_again_when_there_are_ten_times_as_many():
    reader = RecordReader(logged)
    with capture_logs() as logs:
        for offset in range(120):
            reader.read(at(offset), None, LATIN)
        reader.read(at(0, topics.ALERTS), None, b"\x1b[2J")
    told = [(entry["topic"], entry["where"], entry["unreadable"]) for entry in logs]
    assert told == [
        (topics.DECISIONS, "partition 0, offset 0", 1),
        (topics.DECISIONS, "partition 0, offset 9", 10),
        (topics.DECISIONS, "partition 0, offset 99", 100),
        (topics.ALERTS, "partition 0, offset 0", 1),
    ]
    assert {(entry["event"], entry["log_level"]) for entry in logs} == {("record.unreadable", "warning")}
    assert all(entry["reason"].isprintable() for entry in logs)


def test_a_tombstone_and_a_record_are_what_they_are():
    reader = RecordReader()
    assert reader.read(at(0, topics.ALERTS), b"a", None) == Deleted("a")
    assert reader.take(kafka_record(topics.ALERTS, b"a", msgspec.json.encode(alert("a")))) == alert("a")
    assert reader.unreadable == {}


def test_stored_records_are_read_like_those_of_topics():
    reader = RecordReader()
    texts = [None, msgspec.json.encode(alert("a")).decode(), "{", '{"version":1,"\ud800":1}', "{"]
    assert reader.stored(AlertRecord, texts) == [alert("a")]
    assert reader.unreadable == {topics.ALERTS: 2}
    assert reader.summary(topics.ALERTS).startswith("2 records of logdir.alerts cannot be read (table: ")


class TestLastByKey:
    def last(self, *values):
        last = LastByKey(ExecutionRecord, RecordReader())
        for offset, (key, value) in enumerate(values):
            last.take(kafka_record(topics.EXECUTIONS, key, value, offset))
        return last

    def test_what_cannot_be_read_hides_no_earlier_record(self):
        good = msgspec.json.encode(execution("a"))
        last = self.last((b"a", good), (b"a", LATIN), (b"a", b"{}"), (None, b"7"))
        assert last.records == {b"a": execution("a")}
        assert last.other_releases == {}

    def test_a_tombstone_takes_a_record_away(self):
        good = msgspec.json.encode(execution("a"))
        assert self.last((b"a", good), (b"a", None)).records == {}
        assert self.last((b"b", None)).records == {}

    @pytest.mark.parametrize("changed", [{"version": 2}, {"state": "of the future"}, {"kind": "of the future"}])
    def test_a_record_of_another_release_is_remembered_until_its_key_says_something_else(self, changed):
        good = msgspec.json.encode(execution("a"))
        other = msgspec.json.encode({**msgspec.json.decode(good), **changed})
        last = self.last((b"a", good), (b"a", other))
        assert last.records == {b"a": execution("a")}
        assert [(one.cluster, one.origin.offset) for one in last.other_releases.values()] == [("prod", 1)]
        for later in (good, None):
            assert self.last((b"a", other), (b"a", later)).other_releases == {}

    @pytest.mark.parametrize("changed", [{"version": "2"}, {"version": None}, {"cluster": ""}, {"cluster": 7}])
    def test_what_names_no_version_or_no_cluster_is_no_record_of_another_release(self, changed):
        other = {**msgspec.json.decode(msgspec.json.encode(execution("a"))), **changed}
        assert self.last((b"a", msgspec.json.encode(other))).other_releases == {}
