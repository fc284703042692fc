"""The answers of live brokers as facts: what cannot be asked is unknown, never well."""

from types import SimpleNamespace
from typing import ClassVar

from kafka.protocol.admin import DescribeLogDirsRequest, DescribeQuorumRequest
from kafka.protocol.api_key import ApiKey

from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer, Node, Reassignment, Topic
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import PartitionInfo, Placement
from logdirwatch.model.vocabulary import BrokerStatus, Cause, LogDirStatus, PollStatus
from logdirwatch.plan.cluster.from_brokers import live_facts

GIB = 1 << 30
AT_MS = 1_700_000_000_000


def disk(path, *, code=0, usable=5 * GIB, replicas=()):
    return LogDirAnswer(path, code, 10 * GIB if usable is not None else None, usable, False, tuple(replicas))


def placed(name="t", number=0, size=GIB, **fields):
    return Placement(topic=name, partition=number, size_bytes=size, **fields)


def info(**fields):
    values = {"partition": 0, "leader": 1, "replicas": [1, 2], "isr": [1, 2], "adding": [], "removing": []}
    return PartitionInfo(**(values | fields))


def cluster(**fields):
    values = {
        "at_ms": AT_MS,
        "nodes": {1: Node(1, "a", 9, "r1", False), 2: Node(2, "b", 9, "r2", False)},
        "lists_fenced": True,
        "log_dirs": {
            1: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", replicas=[placed()]), disk("/d2"))),
            2: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", replicas=[placed()]),)),
        },
        "broker_configs": {1: {"log.dirs": "/d1,/d2"}, 2: {}},
        "topics": (Topic("t", False, (info(),)),),
        "topic_configs": Configs({"t": {"cleanup.policy": "delete"}}, {"t": ("retention.ms",)}),
        "reassignments": {},
        "quorum": None,
    }
    return LiveCluster(**(values | fields))


def seen(causes=None, **fields):
    settings = DetectSettings()
    return live_facts("c", cluster(**fields), lambda path: settings.thresholds_for("c", path), causes or {})


def test_a_topic_has_its_own_configuration():
    facts = seen(topics=(Topic("t", False, (info(),)), Topic("u", False, (info(),))))
    assert facts.topics["t"].configs == {"cleanup.policy": "delete"}
    assert facts.topics["u"].configs == {}, "nobody told it"


def test_a_zookeeper_broker_has_no_metadata_directory():
    facts = seen(broker_configs={1: {"log.dirs": "/d1,/d2", "process.roles": ""}, 2: {}})
    assert facts.directories[1, "/d1"].is_metadata_dir is False
    assert (facts.is_zookeeper(1), facts.is_zookeeper(2)) == (True, False)


def test_the_oldest_releases_have_no_roles_and_tell_by_the_requests_that_they_list():
    facts = seen(api_versions={1: {ApiKey.LeaderAndIsr: 4}, 2: {DescribeQuorumRequest.API_KEY: 0}})
    assert (facts.is_zookeeper(1), facts.is_zookeeper(2), facts.has_zookeeper) == (True, False, False)
    assert facts.directories[1, "/d1"].is_metadata_dir is False


class TestSizeNotReported:
    LISTED: ClassVar = {1: {DescribeLogDirsRequest.API_KEY: 2}}

    def facts(self, capacity_of):
        unmeasured = LogDirAnswer("/d1", 0, replicas=(placed(size=4 * GIB),))
        answers = {number: LogDirsAnswer(PollStatus.OK, None, (unmeasured,)) for number in (1, 2)}
        live = cluster(log_dirs=answers, api_versions=self.LISTED)
        return live_facts("c", live, lambda path: DetectSettings().thresholds, {}, capacity_of)

    def test_kafka_serves_a_directory_whose_size_its_release_does_not_report(self):
        directory = self.facts(lambda *_: None).directories[1, "/d1"]
        assert (directory.status, directory.total_bytes) == (LogDirStatus.ONLINE, None)

    def test_a_configured_size_less_the_replicas_is_planned_with(self):
        directory = self.facts(lambda *place: {(1, "/d1"): 5 * GIB}.get(place)).directories[1, "/d1"]
        assert (directory.status, directory.usable_bytes) == (LogDirStatus.FILLING, GIB)


def test_brokers_directories_replicas_and_topics_are_there():
    facts = seen()
    assert facts.inventory_at_ms == facts.state_at_ms == AT_MS
    assert facts.brokers[1].status is BrokerStatus.ONLINE
    assert facts.brokers[1].rack == "r1"
    assert facts.directories[1, "/d1"].status is LogDirStatus.ONLINE
    assert facts.directories[1, "/d1"].is_metadata_dir is True
    assert facts.directories[1, "/d2"].is_metadata_dir is False
    assert facts.directories[2, "/d1"].is_metadata_dir is None, "its configuration is not known"
    assert facts.layout.size_of(("t", 0)) == GIB
    assert facts.topics["t"].overridden == {"retention.ms"}
    assert facts.partitions["t", 0].adding == ()


def test_a_dead_directory_makes_its_broker_degraded_and_its_cause_is_what_the_action_knew():
    answers = {
        1: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", code=56, usable=None), disk("/d2"))),
        2: cluster().log_dirs[2],
    }
    facts = seen({(1, "/d1"): Cause.FAILED}, log_dirs=answers)
    assert facts.brokers[1].status is BrokerStatus.DEGRADED
    assert (facts.directories[1, "/d1"].status, facts.directories[1, "/d1"].cause) == (
        LogDirStatus.OFFLINE,
        Cause.FAILED,
    )
    assert seen({(1, "/d1"): Cause.FAILED}).directories[1, "/d1"].cause is None, "it serves"


def test_levels_are_those_of_the_thresholds():
    answers = {**cluster().log_dirs, 2: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", usable=GIB // 4),))}
    assert seen(log_dirs=answers).directories[2, "/d1"].status is LogDirStatus.SATURATED


def test_a_directory_that_cannot_be_asked_is_unknown():
    answers = {**cluster().log_dirs, 2: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", code=-1, usable=None),))}
    assert seen(log_dirs=answers).directories[2, "/d1"].status is LogDirStatus.UNKNOWN


def test_a_broker_that_does_not_answer_is_unknown_and_a_fenced_one_offline():
    silent = {**cluster().log_dirs, 2: LogDirsAnswer(PollStatus.TIMEOUT, "no answer")}
    facts = seen(log_dirs=silent)
    assert facts.brokers[2].status is BrokerStatus.UNKNOWN
    assert not facts.is_alive(2)
    fenced = {1: Node(1, "a", 9, None, False), 2: Node(2, "b", 9, None, True)}
    assert seen(nodes=fenced).brokers[2].status is BrokerStatus.OFFLINE


def test_without_the_topics_there_is_no_inventory():
    facts = seen(topics=None)
    assert facts.inventory_at_ms is None
    assert facts.topics == {}


def test_a_running_move_counts_what_it_still_brings():
    moving = Topic("t", False, (info(replicas=[2, 1], isr=[1], adding=[2]),))
    answers = {
        1: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", replicas=[placed(size=4 * GIB)]),)),
        2: LogDirsAnswer(PollStatus.OK, None, (disk("/d1", replicas=[placed(size=GIB)]),)),
    }
    facts = seen(topics=(moving,), log_dirs=answers, reassignments={("t", 0): Reassignment((2,), ())})
    assert facts.partitions["t", 0].is_reassigned
    assert facts.directories[2, "/d1"].incoming_bytes == 3 * GIB


def test_eligible_replicas_are_kept():
    told = Topic("t", False, (info(isr=[], elr=[2], last_known_elr=[1]),))
    partition = seen(topics=(told,)).partitions["t", 0]
    assert (partition.elr, partition.last_known_elr) == ((2,), (1,))


def test_the_quorum_is_decoded_with_who_is_caught_up():
    from logdirwatch.collect.kafka import responses

    def voter(number, end, stamp):
        return SimpleNamespace(replica_id=number, log_end_offset=end, last_caught_up_timestamp=stamp)

    voters = [voter(1, 100, 50_000), voter(2, 99, 49_500), voter(3, 10, 1_000), voter(4, -1, -1)]
    partition = SimpleNamespace(error_code=0, leader_id=1, high_watermark=100, current_voters=voters)
    response = SimpleNamespace(error_code=0, topics=[SimpleNamespace(partitions=[partition])])
    quorum = responses.quorum(response)
    assert (quorum.leader, quorum.caught_up) == (1, {1: True, 2: True, 3: False, 4: None})
    assert responses.quorum(SimpleNamespace(error_code=0, topics=[])).caught_up == {}
