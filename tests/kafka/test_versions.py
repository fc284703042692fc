"""Releases of Kafka, with ZooKeeper and in KRaft mode: what a release can tell is told, and what not by name."""

import json
import re
import subprocess

import pytest
from kafka import OffsetAndMetadata, TopicPartition

from logdirwatch import jars
from logdirwatch import settings as configuration
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.calls import ChangeConfig, ElectLeaders, PlaceReplicas, Reassign
from logdirwatch.execute.steps import Elect
from logdirwatch.execute.surroundings import Around
from logdirwatch.jobs.checks import cluster_id
from logdirwatch.jobs.policy import policy_for
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.capabilities import CAPABILITIES, is_reported, release_key
from logdirwatch.model.records import TopicRecord
from logdirwatch.model.vocabulary import (
    KAFKA_STORAGE_ERROR,
    LOG_DIR_THROTTLE,
    ActionKind,
    EventName,
    MetadataMode,
    NotReported,
    Rule,
)
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch.plan.recommend import recommend
from logdirwatch.reference.support import TESTED_KAFKA
from logdirwatch_lab.config import CLUSTER, ClusterSpec
from logdirwatch_lab.demo.services import Service
from tests.kafka.collecting import Looks, look_at_host, run
from tests.kafka.conftest import cluster_in
from tests.kafka.observing import facts_of
from tests.kafka.telemetry import fresh_topics
from tests.kafka.test_doctor_kafka import examined
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.detect.builders import BrokerMemory, Driver

pytestmark = pytest.mark.long

TOPIC, PARTITIONS, BROKEN = "orders", 6, 1


def name(release):
    return f"{release[0]}-{release[1].value}"


# The oldest, the last with ZooKeeper and the newest; the promises between them change at these.
ALWAYS = {TESTED_KAFKA[0], max(one for one in TESTED_KAFKA if one[1] is MetadataMode.ZOOKEEPER), TESTED_KAFKA[-1]}


@pytest.fixture(
    params=[pytest.param(one, id=name(one), marks=() if one in ALWAYS else pytest.mark.release) for one in TESTED_KAFKA]
)
def release(request):
    return request.param


@pytest.fixture
def cluster(release, tmp_path):
    version, metadata = release
    spec = ClusterSpec(brokers=1, log_dirs=3, kafka_version=version, metadata=metadata)
    with cluster_in(tmp_path, spec) as running:
        yield running


def minor(version):
    return version.rpartition(".")[0]


def not_reported_by(version, metadata):
    """What the table of capabilities says that a release does not report, or has not."""
    return [str(what) for what in CAPABILITIES if not is_reported(what, minor(version), metadata)]


def make_topic(cluster):
    """Make a topic in all three directories, of which a group committed offsets."""
    settings = KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)
    with clients.admin(settings) as admin:
        admin.create_topics({TOPIC: {"num_partitions": PARTITIONS, "replication_factor": 1}})
        admin.wait_for_topics([TOPIC])
    parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with clients.consumer(settings, group_id="readers") as reader:
        reader.assign(parts)
        reader.commit({part: OffsetAndMetadata(0, "", -1) for part in parts})


def seen_topic(looks):
    return next(record for record in reversed(looks.inventory(TopicRecord)) if record.topic == TOPIC)


def check_what_is_told(looks, version, metadata):
    topic, record = seen_topic(looks), looks.metrics()[-1]
    missing = not_reported_by(version, metadata)
    assert [part.leader for part in topic.partitions] == [0] * PARTITIONS
    assert [part.groups for part in topic.partitions] == [1] * PARTITIONS
    assert all(part.adding == [] for part in topic.partitions), "reassignments are known, and none runs"
    assert {part.elr is None for part in topic.partitions} == {NotReported.ELR in missing}
    assert topic.configs["cleanup.policy"] == "delete"
    assert record.kafka_version == minor(version)
    assert (record.metadata_mode, record.not_reported) == (metadata, missing)
    assert record.controller_id == 0
    assert record.configs["log.segment.bytes"] is not None
    assert [log_dir.is_metadata_dir for log_dir in record.log_dirs] == [False] * 3
    assert {log_dir.total_bytes is None for log_dir in record.log_dirs} == {NotReported.CAPACITY in missing}
    assert {log_dir.is_cordoned is None for log_dir in record.log_dirs} == {NotReported.CORDONS in missing}
    assert (record.is_fenced is None) == (NotReported.FENCED_BROKERS in missing)
    assert sum(log_dir.replica_count for log_dir in record.log_dirs) >= PARTITIONS
    assert (record.partitions.leaderless, record.moves.reassignments) == (0, 0)


def judged(looks, host, events):
    """Show the machine what the collector and the host source said, as the stream does; return its driver."""
    driver = Driver(memory=BrokerMemory(cluster="test", broker=0))
    for record in [*looks.metrics(), *events, host]:
        driver.at_ms = max(driver.at_ms, record.timestamp_ms)
        driver.show(record)
    return driver


def leaderless(looks):
    """Look, and return the record if partitions have no leader; one of the offsets topic makes a scan incomplete."""
    looks.look()
    record = looks.metrics()[-1]
    return record if record.partitions.leaderless else None


def check_alert_and_action(looks, cluster, metadata, folder):
    """The failed directory is told of with its partitions, and what is done about it exists in this release."""
    lost = cluster.state().brokers[0].log_dirs[BROKEN]
    host, events = look_at_host(cluster, cluster.state().brokers[0], folder)
    assert lost in {event.log_dir for event in events if event.event == EventName.LOG_DIR_FAILURE}, "the log is read"
    driver = judged(looks, host, events)
    assert driver.status(lost) == "offline"
    (alert,) = [one for one in driver.open_alerts() if one.rule is Rule.LOG_DIR_OFFLINE]
    assert (alert.log_dir, str(alert.severity)) == (lost, "page")
    assert alert.affected["leaderless"] > 0
    policy = policy_for(configuration.load(cluster.config_path), CLUSTER)
    actions = recommend(alert, facts_of(looks), policy, alert.at_ms)
    assert {action.kind for action in actions} >= {ActionKind.INVESTIGATE, ActionKind.RESTART_BROKER}
    commands = [command for action in actions for command in action.commands]
    tools = {name for command in commands for name in re.findall(r"(kafka-[a-z-]+)\.sh", command)}
    assert [name for name in tools if not cluster.tool(name).exists()] == []
    if metadata is MetadataMode.ZOOKEEPER:
        assert not tools & {"kafka-metadata-quorum", "kafka-storage"}


def check_doctor(cluster, version, metadata):
    found = examined(cluster.config_path)
    assert {finding["check"] for finding in found["findings"]} <= {"offline_replica_count"}
    told = " ".join(notice["what"] for notice in found.get("notices", ()))
    for what, capability in CAPABILITIES.items():
        assert (capability.what in told) == (is_reported(what, minor(version), metadata) is False), told


def check_calls(cluster, version):
    """Everything that apply asks and calls is understood by this release; nothing is changed for good."""
    (broker,) = cluster.state().brokers
    key, here = (TOPIC, 0), Around(frozenset({(TOPIC, 0)}), frozenset(), frozenset({(0, broker.log_dirs[0])}))
    with clients.admin(KafkaSettings(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        hand = AdminCluster(admin)

        def values():
            held = hand.look(None, [Limit(*one, "86400000") for one in own]).configs
            return [held[one[:2]].get(one[2]) for one in own]

        own = ("topics", TOPIC, "retention.ms"), ("brokers", "0", LOG_DIR_THROTTLE)
        for value in ("86400000", None):
            for entity, name, config in own:
                hand.call(ChangeConfig(entity, name, config, value))
            wait_until(lambda value=value: values() == [value, value], DEADLINE_S, f"both to be {value} on the broker")
        hand.call(Reassign({key: (0,)}))
        hand.call(Reassign({key: None}))
        hand.call(ElectLeaders((key,)))
        hand.call(PlaceReplicas({(*key, 0): broker.log_dirs[0]}))
        seen = hand.look(Elect({key: None}), ())
        assert seen.partitions[key].leader == 0
        assert seen.stops_cleaning == (release_key(version) < (4, 2))
        assert hand.look_around(here).brokers == {0}
        assert hand.hosts(frozenset({TOPIC})) == {0}


def test_a_release_tells_what_it_can_and_a_failed_directory_leads_to_alert_and_action(release, cluster, tmp_path):
    version, metadata = release
    fresh_topics(configuration.load(cluster.config_path))
    make_topic(cluster)
    assert cluster_id(configuration.load(cluster.config_path).clusters[CLUSTER]) is not None
    with Looks(cluster.bootstrap_servers) as looks:
        assert looks.look()
        check_what_is_told(looks, version, metadata)
        check_calls(cluster, version)
        cluster.break_log_dir(0, BROKEN)
        wait_until(
            lambda: KAFKA_STORAGE_ERROR in [log_dir.error_code for log_dir in looks.poll().log_dirs],
            DEADLINE_S,
            "the directory to fail",
            pause_s=0.3,
        )
        broken = wait_until(lambda: leaderless(looks), DEADLINE_S, "its partitions to be without a leader")
        assert broken.partitions.under_min_isr >= broken.partitions.leaderless
        check_alert_and_action(looks, cluster, metadata, tmp_path)
    check_doctor(cluster, version, metadata)
    listed = subprocess.run(
        [cluster.tool("kafka-topics"), "--bootstrap-server", cluster.bootstrap_servers, "--list"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert TOPIC in listed.stdout.splitlines()


@pytest.fixture
def too_old(tmp_path, monkeypatch):
    """One broker of a release that is too old to be watched: only this test makes a local cluster of it."""
    monkeypatch.setattr(jars, "OLDEST_KAFKA", (2, 7))
    spec = ClusterSpec(brokers=1, log_dirs=2, kafka_version="2.7.2", metadata=MetadataMode.ZOOKEEPER)
    with cluster_in(tmp_path, spec) as running:
        yield running


def lines_about_age(collector):
    return [line for line in collector.log_file.read_text().splitlines() if "too_old" in line]


def test_a_release_that_is_too_old_is_named_in_one_line(too_old, tmp_path):
    fresh_topics(configuration.load(too_old.config_path))
    done = run(too_old.config_path, "doctor", "--json")
    told = [finding for finding in json.loads(done.stdout)["findings"] if "too old" in finding["what"]]
    assert len(told) == 1, done.stdout
    assert "2.8" in told[0]["remedy"], told
    collector = Service("collect", ["--config", str(too_old.config_path), "collect"], tmp_path / "collect.log")
    collector.start()
    try:
        wait_until(lambda: lines_about_age(collector), DEADLINE_S, collector.tail)
    finally:
        assert collector.stop() == 0
    (line,) = lines_about_age(collector)
    assert "2.8" in line
