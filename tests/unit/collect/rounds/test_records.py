"""Records say what was answered, and nothing that nobody knows."""

from functools import partial

import msgspec
import pytest
from pydantic import ValidationError

from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer
from logdirwatch.collect.kafka.log_dir_usage import DirUsage
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.facts import ClusterFacts, brokers_after
from logdirwatch.collect.settings import configured_capacity
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import EventName, PollStatus
from logdirwatch.settings import ClusterSettings
from tests.unit.collect.builders import (
    GIB,
    ORIGIN,
    T0,
    broker_facts,
    log_dir,
    node,
    ok,
    partition,
    placement,
    timed_out,
    topic,
)


def metrics(answer, broker=None, cluster=None, with_configs=False):
    return records.metrics_record(
        ORIGIN, broker or broker_facts(), cluster or ClusterFacts(), answer, T0, with_configs=with_configs
    )


def test_before_the_first_scan_nobody_knows_what_lies_in_a_directory():
    (sample,) = metrics(ok(log_dir(usable=20 * GIB))).log_dirs
    assert (sample.total_bytes, sample.usable_bytes, sample.is_cordoned) == (100 * GIB, 20 * GIB, False)
    unknown = (sample.replica_count, sample.replica_bytes, sample.future_bytes, sample.is_metadata_dir)
    assert unknown == (None, None, None, None)


def test_after_a_scan_the_record_is_complete():
    broker = broker_facts(configs={"log.dirs": "/d1,/d2"}, kafka_version="4.3")
    health = PartitionHealth(leaderless=1)
    cluster = ClusterFacts(3, "4.3-IV0", {(1, "/d1"): DirUsage(5, 100, 20, 30, 40)}, {1: health})
    record = metrics(ok(log_dir("/d1"), log_dir("/d2")), broker, cluster, with_configs=True)
    first, second = record.log_dirs
    assert (first.replica_count, first.replica_bytes, first.future_bytes) == (5, 100, 20)
    assert (first.incoming_bytes, first.outgoing_bytes) == (30, 40)
    assert (first.is_metadata_dir, second.is_metadata_dir) == (True, False)
    assert (record.controller_id, record.metadata_version, record.kafka_version) == (3, "4.3-IV0", "4.3")
    assert (record.partitions, record.configs) == (health, {"log.dirs": "/d1,/d2"})
    assert (record.collector, record.interval_ms, record.host, record.rack) == ("c1", 5_000, "host1", "r1")


def test_configs_ride_only_in_the_record_after_a_scan():
    assert metrics(ok(log_dir()), broker_facts(configs={"log.dirs": "/d1"})).configs is None


def test_a_broken_directory_keeps_what_was_known_to_lie_in_it():
    cluster = ClusterFacts(usages={(1, "/d1"): DirUsage(5, 100, 0, 0, 0)})
    (sample,) = metrics(ok(log_dir(error_code=56)), cluster=cluster).log_dirs
    assert (sample.error_code, sample.total_bytes, sample.replica_count) == (56, None, 5)


@pytest.mark.parametrize("status", [PollStatus.TIMEOUT, PollStatus.UNAUTHORIZED, PollStatus.ERROR])
def test_a_broker_that_does_not_answer_has_a_record_with_status_and_error(status):
    record = metrics(LogDirsAnswer(status, "why"), broker_facts(is_fenced=True))
    assert (record.status, record.error, record.log_dirs, record.is_fenced) == (status, "why", [], True)


def test_a_broker_the_controller_no_longer_lists_is_not_registered():
    known = brokers_after({}, {1: node(1), 2: node(2)}, lists_fenced=True, at_ms=T0)
    after = brokers_after(known, {1: node(1)}, lists_fenced=True, at_ms=T0 + 5)
    assert (after[2].is_registered, after[2].is_fenced, after[2].controller_at_ms) == (False, None, T0 + 5)
    assert (after[2].node.host, after[1].is_registered, after[1].is_fenced) == ("host2", True, False)
    record = metrics(timed_out(), after[2])
    assert (record.is_registered, record.controller_at_ms) == (False, T0 + 5)


def test_where_fenced_brokers_are_not_listed_a_missing_one_counts_as_fenced():
    known = brokers_after({}, {1: node(1, None), 2: node(2, None)}, lists_fenced=False, at_ms=T0)
    after = brokers_after(known, {1: node(1, None)}, lists_fenced=False, at_ms=T0 + 5)
    assert (after[2].is_registered, after[2].is_fenced) == (None, True)
    assert (after[1].is_registered, after[1].is_fenced) == (True, None)


def test_a_broker_that_comes_back_keeps_what_was_known_of_it():
    known = {1: broker_facts(configs={"log.dirs": "/d1"}, kafka_version="4.3")}
    gone = brokers_after(known, {}, lists_fenced=True, at_ms=T0)
    back = brokers_after(gone, {1: node(1)}, lists_fenced=True, at_ms=T0)[1]
    assert (back.configs, back.kafka_version, back.is_registered) == ({"log.dirs": "/d1"}, "4.3", True)


def test_an_event_names_cluster_directory_time_and_why_is_unknown():
    event = records.event_record(ORIGIN, 7, EventName.LOG_DIR_FAILURE, log_dir("/d1", 56), T0, "said so")
    assert (event.cluster, event.broker, event.event, event.log_dir) == ("prod", 7, "LogDirFailure", "/d1")
    assert (event.cause, event.timestamp_ms, event.detail, event.collector) == ("unknown", T0, "said so", "c1")


def test_a_recovery_has_no_cause():
    assert records.event_record(ORIGIN, 7, EventName.LOG_DIR_RECOVERED, log_dir(), T0, "x").cause is None


def test_signs_of_life_name_the_collector():
    heartbeat = records.heartbeat_record(ORIGIN, T0, 10_000)
    assert (heartbeat.cluster, heartbeat.collector, heartbeat.interval_ms) == ("prod", "c1", 10_000)
    canary = records.canary_record(ORIGIN, T0)
    assert (canary.event, canary.broker, canary.log_dir) == ("Canary", 0, None)


def test_a_directory_with_an_error_has_no_inventory_so_that_its_last_placement_stays():
    dirs = [log_dir("/d1", error_code=56), log_dir("/d2", replicas=[placement()]), log_dir("/d3")]
    found = records.replicas_records(ORIGIN, 1, dirs, T0, 900_000)
    assert [(record.log_dir, len(record.replicas), record.parts) for record in found] == [("/d2", 1, 1), ("/d3", 0, 1)]


def test_a_large_directory_is_told_in_parts_of_one_scan():
    dirs = [log_dir(replicas=[placement(f"topic-{number}") for number in range(2_000)])]
    found = records.replicas_records(ORIGIN, 1, dirs, T0, 20_000)
    assert [record.part for record in found] == list(range(len(found)))
    assert {record.parts for record in found} == {len(found)}
    assert {record.timestamp_ms for record in found} == {T0}
    assert max(len(msgspec.json.encode(record)) for record in found) <= 20_000
    assert [item.topic for record in found for item in record.replicas] == [
        f"topic-{number}" for number in range(2_000)
    ]


def test_a_large_topic_is_told_in_parts_with_its_configuration_in_each():
    configs = Configs({"t": {"retention.ms": "9"}}, {"t": ("retention.ms",)})
    large = topic("t", *(partition(number) for number in range(500)))
    found = records.topic_records(ORIGIN, [large, topic("u", partition())], configs, T0, 20_000)
    assert len(found) > 2
    assert all(record.configs == {"retention.ms": "9"} for record in found if record.topic == "t")
    assert (found[-1].topic, found[-1].configs, found[-1].overridden) == ("u", {}, None)
    assert max(len(msgspec.json.encode(record)) for record in found) <= 20_000


def test_levels_are_named_as_kafka_names_them():
    assert [records.metadata_version(level) for level in (17, 30, 99)] == ["3.7-IV2", "4.3-IV0", "level 99"]


def test_the_minimum_of_in_sync_replicas_is_taken_where_it_is_known():
    configs = {"t": {"min.insync.replicas": "2"}, "u": {"min.insync.replicas": None}, "v": {}}
    assert records.min_isr_by_topic(configs) == {"t": 2}


class TestConfiguredCapacity:
    """Below Kafka 3.3 the size may be configured; what the replicas leave of it counts as usable."""

    LOG_DIRS = ClusterSettings(log_dirs=({"broker": 7, "log_dir": "/d*", "capacity": "1KiB"},)).log_dirs

    def sample(self, *, error_code=0, total_bytes=None, replica_bytes=1_000, broker=7):
        usages = {(broker, "/d1"): DirUsage(replica_count=1, replica_bytes=replica_bytes)}
        asked = LogDirAnswer("/d1", error_code, total_bytes, total_bytes)
        record = records.metrics_record(
            ORIGIN,
            broker_facts(broker),
            ClusterFacts(usages=usages),
            LogDirsAnswer(PollStatus.OK, None, (asked,)),
            T0,
            with_configs=False,
            capacity_of=partial(configured_capacity, self.LOG_DIRS),
        )
        (found,) = record.log_dirs
        return found.total_bytes, found.usable_bytes, found.capacity_source

    def test_it_is_marked_as_configured(self):
        assert self.sample() == (1_024, 24, "configuration")

    def test_replicas_beyond_it_leave_nothing(self):
        assert self.sample(replica_bytes=2_000) == (1_024, 0, "configuration")

    def test_kafkas_own_size_comes_first(self):
        assert self.sample(total_bytes=5) == (5, 5, None)

    @pytest.mark.parametrize("lacking", [{"error_code": 56}, {"replica_bytes": None}, {"broker": 8}])
    def test_without_an_answer_the_replicas_or_an_entry_there_is_no_size(self, lacking):
        assert self.sample(**lacking) == (None, None, None)

    @pytest.mark.parametrize("capacity", [0, -1, "many"])
    def test_a_size_that_is_none_is_refused(self, capacity):
        with pytest.raises(ValidationError):
            ClusterSettings(log_dirs=({"capacity": capacity},))
