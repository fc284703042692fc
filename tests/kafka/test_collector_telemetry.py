"""The collector while the telemetry cluster is away: it keeps what it can and says what it could not."""

import re
import signal
from contextlib import contextmanager

import pytest

from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch_lab import processes
from tests.kafka.collecting import Collector, collector_of, run, write_config

NOBODY = "127.0.0.1:1"


@contextmanager
def telemetry_frozen(cluster):
    """Stop the telemetry broker's process, and let it go on."""
    process = cluster.state().telemetry.process
    processes.send(process, signal.SIGSTOP)
    try:
        yield
    finally:
        processes.send(process, signal.SIGCONT)


@pytest.fixture
def collecting(collected_cluster, tmp_path):
    """Return a function that starts a collector whose broker 0 has answered."""
    started = []

    def start(**settings):
        collector = collector_of(collected_cluster, tmp_path, **settings).__enter__()
        started.append(collector)
        collector.metrics_where(0, lambda record: True, "any")
        return collector

    yield start
    for collector in started:
        collector.__exit__(None, None, None)


def counted(collector):
    """Return how many records it says it sent, and how many different ones of it the topics hold."""
    (line,) = (line for line in collector.log.splitlines() if "not_sent=" in line)
    different = {
        (topic, message.key, record.timestamp_ms, getattr(record, "part", 0))
        for topic in (topics.METRICS, topics.EVENTS, topics.INVENTORY)
        for message, record in collector.written(topic)
    }
    return int(re.search(r"\bsent=(\d+)", line)[1]), len(different)


def test_nothing_is_lost_while_the_telemetry_cluster_is_away_and_two_lines_say_so(collected_cluster, collecting):
    collector = collecting()
    before = collector.metrics(0)[-1].timestamp_ms
    with telemetry_frozen(collected_cluster):
        collector.says("publish.target.failed")
    assert "dropped=0" in collector.says("publish.target.recovered")
    after = collector.metrics(0)[-1].timestamp_ms
    collector.metrics_where(0, lambda record: record.timestamp_ms > after, "new")
    assert collector.stop() == 0
    sent, different = counted(collector)
    assert different == sent
    meanwhile = [r.timestamp_ms for r in collector.metrics(0) if before < r.timestamp_ms <= after]
    assert len(meanwhile) >= 8
    assert collector.log.count("publish.target.") == 2


def test_a_buffer_that_is_too_small_drops_the_oldest_and_says_how_many(collected_cluster, collecting):
    collector = collecting(buffer_records=10)
    with telemetry_frozen(collected_cluster):
        collector.says("publish.target.failed")
    line = collector.says("publish.target.recovered")
    assert re.search(r"\bdropped=[1-9]\d* kept=10\b|\bkept=10 .*\bdropped=[1-9]", line)
    assert collector.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_also_while_both_clusters_are_away(tmp_path, number):
    with Collector(NOBODY, NOBODY, tmp_path) as collector:
        collector.says("publish.target.failed")
        collector.says("collect.cluster.failed")
        assert collector.stop(number) == 0
        assert "Traceback" not in collector.log
        assert "Warning" not in collector.log
        assert re.search(r"not_sent=[1-9]", collector.log)


def test_a_signal_ends_it_with_0_also_while_it_waits_for_an_acknowledgement(collected_cluster, collecting):
    collector = collecting()
    with telemetry_frozen(collected_cluster):
        seen = collector.log.count("\n")
        assert collector.stop() == 0
    assert "Traceback" not in collector.log
    assert "Exception ignored" not in collector.log
    assert collector.log.count("\n") == seen + 1


def test_a_collector_that_finds_no_telemetry_cluster_waits_for_it(collected_cluster, tmp_path):
    with telemetry_frozen(collected_cluster), collector_of(collected_cluster, tmp_path) as collector:
        collector.says("publish.target.failed")
        processes.send(collected_cluster.state().telemetry.process, signal.SIGCONT)
        collector.says("dropped=0")
        collector.metrics_where(0, lambda record: True, "any")
        assert collector.stop() == 0


def test_a_missing_topic_is_named_with_the_way_to_make_it(collected_cluster, tmp_path):
    """The monitored cluster has no telemetry topics: pointing telemetry at it is what a newcomer may do."""
    servers = collected_cluster.bootstrap_servers
    with Collector(servers, servers, tmp_path) as collector:
        line = collector.says("no partitions to write to")
        assert "logdirwatch topics create" in line
        assert re.search(r"logdir\.(metrics|events|inventory)", line)
        assert collector.stop() == 0


@pytest.fixture
def no_topics_left(collected_cluster):
    """Remove the telemetry topics that a test makes on the monitored cluster, which has none of its own."""
    yield
    with clients.admin(KafkaSettings(bootstrap_servers=collected_cluster.bootstrap_servers)) as admin:
        admin.delete_topics([topic.name for topic in topics.TOPICS])


def test_topics_are_made_once_shown_and_compared(collected_cluster, tmp_path, no_topics_left):
    servers = collected_cluster.bootstrap_servers
    config = write_config(tmp_path / "topics.yaml", servers, servers)
    made, again = run(config, "topics", "create"), run(config, "topics", "create")
    assert (made.returncode, again.returncode) == (0, 0)
    assert made.stdout.count(": created, ") == len(topics.TOPICS)
    assert again.stdout.count(": exists\n") == len(topics.TOPICS)
    config.write_text(config.read_text() + "topics: {events_partitions: 4}\n")
    compared = run(config, "topics", "create")
    assert compared.returncode == 0
    assert "3 partitions, wanted 4" in compared.stdout
    assert "--alter --topic logdir.events --partitions 4" in compared.stdout
    listed = run(config, "topics", "list")
    assert (listed.returncode, "wanted 4" in listed.stdout) == (0, True)


def test_more_replicas_than_brokers_is_refused_with_the_remedy(collected_cluster, tmp_path):
    servers = collected_cluster.bootstrap_servers
    config = write_config(tmp_path / "topics.yaml", servers, servers)
    config.write_text(config.read_text() + "topics: {replication_factor: 9}\n")
    done = run(config, "topics", "create")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.endswith("Set topics.replication_factor to at most the number of brokers of the telemetry cluster")


def test_topics_cannot_be_made_where_nobody_answers(tmp_path):
    config = write_config(tmp_path / "nobody.yaml", NOBODY, NOBODY)
    done = run(config, "topics", "create")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"logdirwatch: Kafka at 127\.0\.0\.1:1 cannot be reached: .*\n", done.stderr)
