"""The collector against real brokers: what it writes of healthy, broken, frozen, dead and forgotten ones."""

import subprocess
from contextlib import contextmanager

import pytest
from kafka import OffsetAndMetadata, TopicPartition, TopicPartitionReplica

from logdirwatch import settings as configuration
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import HeartbeatRecord, MetricsRecord, ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, PollStatus
from logdirwatch_lab import probes
from logdirwatch_lab.fill import FillWith
from tests.kafka.collecting import collector_of, run, write_config
from tests.support.waiting import DEADLINE_S

BROKERS = (0, 1, 2, 3)
TOPIC = "observed"
MOVED = "moved"


@pytest.fixture(scope="module")
def observed(collected_cluster):
    """The cluster with a topic of three replicas a partition on every broker, and data in it."""
    settings = KafkaSettings(bootstrap_servers=collected_cluster.bootstrap_servers)
    with clients.admin(settings) as admin:
        configs = {"min.insync.replicas": "2", "retention.ms": "86400000"}
        admin.create_topics({TOPIC: {"num_partitions": 8, "replication_factor": 3, "configs": configs}})
        admin.wait_for_topics([TOPIC], DEADLINE_S * 1_000)
    write(settings, TOPIC, 100)
    yield collected_cluster
    with clients.admin(settings) as admin:
        admin.delete_topics([topic for topic in (TOPIC, MOVED) if topic in admin.list_topics()])


@pytest.fixture
def collector(observed, tmp_path):
    with collector_of(observed, tmp_path) as running:
        yield running


def is_complete(record):
    return (
        record.status is PollStatus.OK
        and record.partitions
        and all(d.replica_count is not None for d in record.log_dirs)
    )


def test_a_healthy_broker_is_told_completely(observed, collector):
    for broker in BROKERS:
        record = collector.metrics_where(broker, is_complete, "complete")
        assert (record.is_fenced, record.is_registered, record.error) == (False, True, None)
        assert (record.kafka_version, record.metadata_version) == ("4.3", "4.3-IV0")
        assert record.rack in ("r0", "r1")
        assert (record.host, record.interval_ms) == ("127.0.0.1", 500)
        assert record.timestamp_ms - record.controller_at_ms >= 0
        assert {log_dir.path for log_dir in record.log_dirs} == set(observed.state().broker(broker).log_dirs)
        for log_dir in record.log_dirs:
            space = observed.space(broker, log_dir.path)
            assert (log_dir.error_code, log_dir.total_bytes) == (0, space.total_bytes)
            assert 0 < log_dir.usable_bytes <= log_dir.total_bytes
            assert (log_dir.is_cordoned, log_dir.is_metadata_dir) == (False, False)
            assert (log_dir.future_bytes, log_dir.incoming_bytes, log_dir.outgoing_bytes) == (0, 0, 0)
        assert sum(log_dir.replica_bytes for log_dir in record.log_dirs) > 0
        assert record.partitions.examples == []
    with_controller = collector.metrics_where(0, lambda record: record.controller_id is not None, "with a controller")
    assert with_controller.controller_id in (0, 1, 2)
    with_configs = collector.metrics_where(0, lambda record: record.configs is not None, "with configs")
    assert with_configs.configs["log.dirs"] == ",".join(observed.state().broker(0).log_dirs)
    assert with_configs.configs["log.segment.delete.delay.ms"] == "1000"


def test_the_inventory_tells_every_replica_and_every_topic(observed, collector):
    (scan, *_) = collector.waits_for(lambda: collector.inventory(ScanRecord), "the end of a scan")
    assert scan.is_complete
    of_scan = [record for record in collector.inventory(ReplicasRecord) if record.timestamp_ms == scan.timestamp_ms]
    placed = {
        (replica.topic, replica.partition, record.broker)
        for record in of_scan
        for replica in record.replicas
        if replica.topic == TOPIC
    }
    (topic,) = (
        record
        for record in collector.inventory(TopicRecord)
        if (record.topic, record.timestamp_ms) == (TOPIC, scan.timestamp_ms)
    )
    assert placed == {(TOPIC, part.partition, broker) for part in topic.partitions for broker in part.replicas}
    assert len(placed) == 24
    assert (topic.configs["min.insync.replicas"], topic.configs["cleanup.policy"]) == ("2", "delete")
    assert sorted(topic.overridden) == ["min.insync.replicas", "retention.ms"]
    assert all(part.leader in part.isr for part in topic.partitions)


def test_a_scan_tells_what_a_group_has_still_to_read(observed, collector):
    settings = KafkaSettings(bootstrap_servers=observed.bootstrap_servers)
    part = TopicPartition(TOPIC, 0)
    with clients.consumer(settings, group_id="readers") as reader:
        reader.assign([part])
        end = reader.end_offsets([part])[part]
        reader.commit({part: OffsetAndMetadata(end // 2, "", -1)})

    def told():
        records = collector.inventory(TopicRecord)
        parts = [p for record in records if record.topic == TOPIC for p in record.partitions if p.groups]
        return parts and parts[-1]

    found = collector.waits_for(told, "what the group left unread")
    assert (found.partition, found.groups, found.slowest_group) == (0, 1, "readers")
    assert 0.5 <= found.unread_ratio <= 0.6
    (other, *_) = (p for p in collector.inventory(TopicRecord)[-1].partitions if p.partition == 1)
    assert (other.groups, other.unread_ratio) == (0, None)


def test_a_scan_tells_what_a_share_group_has_still_to_read(observed, collector):
    """The tool reads from the beginning, acknowledges what it prints, and leaves the group behind."""
    group, servers = "sharers", ["--bootstrap-server", observed.bootstrap_servers]
    alter = ["--alter", "--entity-type", "groups", "--entity-name", group]
    begin = [*alter, "--add-config", "share.auto.offset.reset=earliest"]
    read = ["--topic", TOPIC, "--group", group, "--max-messages", "5", "--timeout-ms", "60000"]
    for tool, options in (("kafka-configs", begin), ("kafka-console-share-consumer", read)):
        command = [observed.tool(tool), *servers, *options]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    def told():
        records = [record for record in collector.inventory(TopicRecord) if record.topic == TOPIC]
        return [part for part in records[-1].partitions if part.slowest_group == group] if records else None

    found = collector.waits_for(told, "what the share group left unread")
    assert max(part.unread_ratio for part in found) > 0.5
    assert all(part.groups >= 1 for part in found)


def test_a_directory_that_fails_is_an_event_and_then_a_sample_and_its_return_is_one_too(observed, collector):
    broken = observed.state().broker(1).log_dirs[0]
    collector.metrics_where(1, is_complete, "healthy")
    observed.break_log_dir(1, 0)
    failed = collector.metrics_where(
        1, lambda r: any(d.error_code == KAFKA_STORAGE_ERROR for d in r.log_dirs), "broken"
    )
    (event,) = collector.events("LogDirFailure")
    assert (event.cluster, event.broker, event.log_dir, event.cause) == ("test", 1, broken, "unknown")
    assert event.timestamp_ms <= failed.timestamp_ms
    (sample,) = (log_dir for log_dir in failed.log_dirs if log_dir.path == broken)
    assert (sample.total_bytes, sample.usable_bytes) == (None, None)
    assert sample.replica_count > 0
    arrival = {record.timestamp_ms: message.timestamp for message, record in collector.written(topics.METRICS)}
    (event_arrival,) = (message.timestamp for message, record in collector.written(topics.EVENTS) if record == event)
    assert event_arrival <= arrival[failed.timestamp_ms]
    collector.metrics_where(1, lambda r: r.partitions is not None and r.partitions.at_min_isr > 0, "at the minimum")

    with collector_of(observed, collector.folder) as restarted:
        restarted.metrics_where(1, lambda r: any(d.error_code == KAFKA_STORAGE_ERROR for d in r.log_dirs), "broken")
        assert restarted.events("LogDirFailure") == []
        assert restarted.stop() == 0

    observed.restore(1, 0)
    (recovered,) = collector.waits_for(lambda: collector.events("LogDirRecovered"), "the event of the return")
    assert (recovered.broker, recovered.log_dir, recovered.cause) == (1, broken, None)
    assert collector.stop() == 0


def test_a_frozen_broker_times_out_and_delays_no_other(observed, collector):
    for broker in BROKERS:
        collector.metrics_where(broker, is_complete, "healthy")
    observed.pause(2)
    try:
        frozen = collector.metrics_where(2, lambda record: record.status is PollStatus.TIMEOUT, "timed out")
        assert "no answer" in frozen.error
        assert frozen.log_dirs == []
        last_answer = max(r.timestamp_ms for r in collector.metrics(2) if r.status is PollStatus.OK)
        for broker in (0, 1, 3):
            meanwhile = [r for r in collector.metrics(broker) if last_answer < r.timestamp_ms < frozen.timestamp_ms]
            assert len(meanwhile) >= 2
            assert {record.status for record in meanwhile} == {PollStatus.OK}
        collector.metrics_where(2, lambda record: record.is_fenced is True, "given up by the controller")
    finally:
        observed.resume(2)
    back = frozen.timestamp_ms
    collector.metrics_where(2, lambda r: r.timestamp_ms > back and is_complete(r) and r.is_fenced is False, "back")


def test_a_dead_broker_has_records_fenced_first_and_then_no_longer_registered(observed, collector):
    collector.metrics_where(3, is_complete, "healthy")
    observed.kill(3)
    try:
        dead = collector.metrics_where(3, lambda r: r.status is PollStatus.ERROR and r.is_fenced is True, "fenced")
        assert dead.is_registered is True
        assert dead.timestamp_ms - dead.controller_at_ms >= 0
        unregister = [observed.tool("kafka-cluster"), "unregister", "--id", "3"]
        subprocess.run([*unregister, "--bootstrap-server", observed.bootstrap_servers], check=True, capture_output=True)
        gone = collector.metrics_where(3, lambda record: record.is_registered is False, "no longer registered")
        assert (gone.status, gone.is_fenced) == (PollStatus.ERROR, None)
    finally:
        observed.start(3)
    collector.metrics_where(3, lambda r: r.timestamp_ms > gone.timestamp_ms and is_complete(r), "registered again")


def test_a_running_move_comes_to_one_directory_and_goes_from_another(observed, collector):
    settings = KafkaSettings(bootstrap_servers=observed.bootstrap_servers)
    dirs = observed.state().broker(0).log_dirs
    with clients.admin(settings) as admin:
        admin.create_topics({MOVED: {"assignments": {0: [0]}}})
        admin.wait_for_topics([MOVED], DEADLINE_S * 1_000)
        write(settings, MOVED, 600)
        source = probes.replica_dirs(admin, 0, MOVED)[0]
        target = next(path for path in dirs if path != source)
        with slow_moves(observed):
            admin.alter_replica_log_dirs({TopicPartitionReplica(MOVED, 0, 0): target})
            record = collector.metrics_where(0, lambda r: any(d.incoming_bytes for d in r.log_dirs), "with a move")
    found = {log_dir.path: log_dir for log_dir in record.log_dirs}
    assert 0 < found[target].incoming_bytes <= found[source].outgoing_bytes
    assert found[target].future_bytes == found[source].outgoing_bytes - found[target].incoming_bytes
    assert (found[source].incoming_bytes, found[target].outgoing_bytes) == (0, 0)
    collector.metrics_where(
        0, lambda r: r.timestamp_ms > record.timestamp_ms and not any(d.incoming_bytes for d in r.log_dirs), "moved"
    )


def write(settings, topic, records):
    """Write records of 10 kB."""
    producer = clients.producer(settings)
    for number in range(records):
        producer.send(topic, key=str(number).encode(), value=b"x" * 10_000)
    producer.flush(DEADLINE_S)
    clients.discard(producer, 1)


@contextmanager
def slow_moves(cluster):
    """Limit the moves between the directories of broker 0 to a byte a second."""
    key = "replica.alter.log.dirs.io.max.bytes.per.second"
    command = [cluster.tool("kafka-configs"), "--bootstrap-server", cluster.bootstrap_servers, "--alter"]
    command += ["--entity-type", "brokers", "--entity-name", "0"]
    subprocess.run([*command, "--add-config", f"{key}=1"], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run([*command, "--delete-config", key], check=True, capture_output=True)


def test_a_collector_gives_signs_of_life(observed, tmp_path):
    with collector_of(observed, tmp_path, heartbeat_interval_ms=500) as collector:
        heartbeats = collector.waits_for(
            lambda: [pair for pair in collector.written(topics.METRICS) if isinstance(pair[1], HeartbeatRecord)][2:],
            "three heartbeats",
        )
        message, heartbeat = heartbeats[0]
        assert (message.key, heartbeat.cluster, heartbeat.interval_ms) == (b"test/heartbeat", "test", 500)
        (canary,) = collector.waits_for(lambda: collector.events("Canary"), "the canary")
        assert (canary.broker, canary.cluster, canary.log_dir) == (0, "test", None)


def test_a_directory_with_less_than_the_reserve_is_an_event(make_cluster, tmp_path):
    own = make_cluster(brokers=1, log_dirs=2, log_dir_size_bytes=32 << 20)
    telemetry_topics.create_missing(configuration.load(own.config_path))
    with collector_of(own, tmp_path) as collector:
        collector.metrics_where(0, is_complete, "healthy")
        own.fill(0, 1, FillWith.FILE, until_ratio=0.97)
        (event,) = collector.waits_for(lambda: collector.events("LogDirSaturated"), "the event")
        assert (event.broker, event.log_dir, event.cause) == (0, own.state().broker(0).log_dirs[1], None)
        record = collector.metrics_where(0, lambda r: r.timestamp_ms >= event.timestamp_ms, "after the event")
        full = next(log_dir for log_dir in record.log_dirs if log_dir.path == event.log_dir)
        assert full.error_code == 0
        assert full.usable_bytes < full.total_bytes * 0.05
        assert collector.events("LogDirFailure") == []


def test_records_of_a_broker_rise_in_time_and_leave_no_gap(observed, collector):
    collector.waits_for(lambda: len(collector.metrics(0)) >= 8, "eight records")
    assert collector.stop() == 0
    records = [record for _, record in collector.written(topics.METRICS) if isinstance(record, MetricsRecord)]
    for broker in BROKERS:
        times = [record.timestamp_ms for record in records if record.broker == broker]
        assert times == sorted(set(times))
        assert len(times) >= 8


def test_once_asks_everything_and_tells_what_it_sent(observed, tmp_path):
    config = write_config(tmp_path / "once.yaml", observed.telemetry, observed.bootstrap_servers, collector="once")
    done = run(config, "collect", "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert "logdir.metrics: 4 records" in done.stdout
    assert "logdir.inventory: " in done.stdout


def test_once_fails_when_a_cluster_cannot_be_asked(observed, tmp_path):
    config = write_config(tmp_path / "nobody.yaml", observed.telemetry, "127.0.0.1:1")
    done = run(config, "collect", "--once")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("logdirwatch: collect: test did not answer completely")


def test_a_topic_is_read_from_beginning_to_end_and_its_latest_records_by_key(observed):
    settings = KafkaSettings(bootstrap_servers=observed.bootstrap_servers)
    records = list(clients.read_all(settings, TOPIC))
    assert len(records) == 100
    assert {record.key for record in records} == {str(number).encode() for number in range(100)}
    following = clients.follow(settings, TOPIC)
    assert {next(following).key for _ in range(100)} == {record.key for record in records}
    partition = TopicPartition(TOPIC, records[0].partition)
    assert next(record.offset for record in records if record.partition == partition.partition) == 0
