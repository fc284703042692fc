"""A question that a release does not know is asked in the way that it does."""

import asyncio

import pytest
from kafka import errors
from kafka.protocol.admin import DescribeQuorumRequest, DescribeTopicPartitionsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest

from logdirwatch.collect.kafka import requests
from logdirwatch.collect.kafka.answers import Reassignment
from logdirwatch.collect.kafka.connections import Address, Wire
from logdirwatch.collect.kafka.requests import Admin
from tests.support import fake_broker
from tests.support.fake_broker import FakeBroker
from tests.unit.collect.builders import T0, partition_fields, quorum_response, topics_response

OLD = ["ZOOKEEPER_2_7", "ZOOKEEPER_2_8", "ZOOKEEPER_3_9"]
TIMEOUT_MS = 30_000


def partition(number=0, leader=1, isr=(1, 2), offline=()):
    return {
        "error_code": 5 if leader < 0 else 0,
        "partition_index": number,
        "leader_id": leader,
        "leader_epoch": 7,
        "replica_nodes": [1, 2, 3],
        "isr_nodes": list(isr),
        "offline_replicas": list(offline),
    }


@pytest.fixture
def start():
    """Return a function that starts a broker of a release."""
    running = []

    def start(release, broker=1):
        running.append(FakeBroker(getattr(fake_broker, release), broker))
        return running[-1]

    yield start
    for broker in running:
        broker.close()


def asked(broker, *questions):
    """Return what the broker answers to one question, or to several one after another."""

    async def run():
        wire = Wire({})
        try:
            admin = Admin(wire, TIMEOUT_MS, TIMEOUT_MS)
            return [await question(admin, Address("127.0.0.1", broker.port)) for question in questions]
        finally:
            wire.close()

    answers = asyncio.run(run())
    return answers[0] if len(questions) == 1 else answers


@pytest.mark.parametrize("release", [*OLD, "KRAFT_3_7"])
def test_a_release_that_does_not_list_fenced_brokers_says_nothing_of_them(start, release):
    topology = asked(start(release), lambda admin, at: admin.topology([at], lambda: T0))
    assert (topology.nodes[1].is_fenced, topology.lists_fenced) == (None, False)


@pytest.mark.parametrize("release", OLD)
def test_a_zookeeper_broker_names_the_controller_itself_and_has_no_quorum(start, release):
    broker = start(release)
    broker.others = [start(release, 2)]
    broker.controller = 2
    controller, quorum = asked(broker, lambda admin, at: admin.controller_id(at), lambda admin, at: admin.quorum(at))
    assert (controller, quorum) == (2, None)
    broker.controller = -1
    assert asked(broker, lambda admin, at: admin.controller_id(at)) is None


@pytest.mark.parametrize("release", [*OLD, "KRAFT_3_7"])
@pytest.mark.parametrize("ask", ["all_topics", "live_topics"])
def test_topics_come_from_metadata_with_offline_replicas_and_without_an_elr(start, release, ask):
    broker = start(release)
    broker.topics = [
        (0, "t", [partition(0, leader=-1, isr=(2,), offline=(1, 2)), partition(1)]),
        (3, "deleted meanwhile", []),
        (0, "__consumer_offsets", [partition()]),
    ]
    t, offsets = asked(broker, lambda admin, at: getattr(admin, ask)(at))
    assert (t.name, t.is_internal, offsets.is_internal) == ("t", False, True)
    lost, good = t.partitions
    assert (lost.leader, lost.isr, lost.offline_replicas, lost.replicas) == (None, [2], [1, 2], [1, 2, 3])
    assert (good.leader, good.elr, good.last_known_elr) == (1, None, None)
    assert broker.times(DescribeTopicPartitionsRequest) == 0


def test_a_large_cluster_is_looked_at_in_parts_of_the_topics_that_the_scan_saw(start, monkeypatch):
    monkeypatch.setattr(requests, "PAGE_PARTITIONS", 3)
    broker = start("ZOOKEEPER_2_8")
    broker.topics = [(0, name, [partition(0), partition(1)]) for name in "abc"]

    async def then_look(admin, at):
        await admin.all_topics(at)
        broker.topics[1] = (0, "b", [partition(0, isr=(1,)), partition(1)])
        broker.asked.clear()
        return await admin.live_topics(at)

    found = asked(broker, then_look)
    assert [topic.name for topic in found] == ["a", "b", "c"]
    assert found[1].partitions[0].isr == [1]
    wanted = [[topic.name for topic in request.topics] for kind, request in broker.asked if kind is MetadataRequest]
    assert wanted == [["a"], ["b"], ["c"]]


def test_a_small_cluster_is_looked_at_whole_so_a_new_topic_is_seen_at_once(start):
    broker = start("ZOOKEEPER_2_8")
    broker.topics = [(0, "a", [partition()])]

    async def then_look(admin, at):
        await admin.all_topics(at)
        broker.topics.append((0, "new", [partition()]))
        return await admin.live_topics(at)

    assert [topic.name for topic in asked(broker, then_look)] == ["a", "new"]


def test_no_question_creates_a_topic(start):
    broker = start("ZOOKEEPER_2_8")
    broker.topics = [(29, "secret", [])]
    assert asked(broker, lambda admin, at: admin.hidden_topics(at, ["secret", "gone"])) == ("secret",)
    created = [request.allow_auto_topic_creation for kind, request in broker.asked if kind is MetadataRequest]
    assert created == [False]


@pytest.mark.parametrize(
    ("release", "requests_sent"), [("ZOOKEEPER_2_7", 2), ("ZOOKEEPER_2_8", 2), ("ZOOKEEPER_3_9", 1)]
)
def test_offsets_of_several_groups_are_asked_at_once_or_group_by_group(start, release, requests_sent):
    broker = start(release)
    broker.committed = {"g": {("t", 0): 5}, "h": {("t", 1): 6, ("u", 0): -1}}
    found = asked(broker, lambda admin, at: admin.committed(at, ["g", "h"]))
    assert found == {"g": {("t", 0): 5}, "h": {("t", 1): 6}}
    assert broker.times(OffsetFetchRequest) == requests_sent


@pytest.mark.parametrize("release", OLD)
def test_a_group_that_may_not_be_described_is_named_whatever_the_release(start, release):
    broker = start(release)
    broker.committed, broker.refused_groups = {"g": {}}, {"secret"}
    with pytest.raises(errors.GroupAuthorizationFailedError, match="offsets of group secret"):
        asked(broker, lambda admin, at: admin.committed(at, ["g", "secret"]))


def test_reassignments_are_asked_of_the_controller_where_only_it_answers(start):
    broker, controller = start("ZOOKEEPER_2_8"), start("ZOOKEEPER_2_8", 2)
    broker.others, broker.controller = [controller], 2
    controller.reassigning = [("t", 0, [3], [1])]
    found = asked(broker, lambda admin, at: admin.reassignments(at))
    assert found == {("t", 0): Reassignment((3,), (1,))}


def test_reassignments_are_not_known_while_there_is_no_controller(start):
    broker = start("ZOOKEEPER_2_8")
    broker.controller = -1
    with pytest.raises(errors.NotControllerError):
        asked(broker, lambda admin, at: admin.reassignments(at))


def test_a_release_that_knows_the_newer_questions_is_asked_them(start):
    """What an older one is asked instead would tell less."""
    broker = start("KRAFT_3_9")
    broker.answers[DescribeTopicPartitionsRequest] = topics_response(("t", 0, [partition_fields(elr=[3])]))
    broker.answers[DescribeQuorumRequest] = quorum_response(leader=3)
    topics, controller, quorum = asked(
        broker,
        lambda admin, at: admin.live_topics(at),
        lambda admin, at: admin.controller_id(at),
        lambda admin, at: admin.quorum(at),
    )
    assert (topics[0].partitions[0].elr, controller, quorum.leader) == ([3], 3, 3)
    assert broker.times(MetadataRequest) == 0
