"""Answers with defaults, Kafka's responses as a broker would encode them, and brokers that answer as told."""

import asyncio
from dataclasses import dataclass, field

import msgspec
from kafka.protocol.admin import (
    DescribeClusterResponse,
    DescribeConfigsResponse,
    DescribeLogDirsResponse,
    DescribeQuorumResponse,
    DescribeTopicPartitionsResponse,
    ListPartitionReassignmentsResponse,
)

from logdirwatch.collect.kafka.answers import (
    Configs,
    Groups,
    LogDirAnswer,
    LogDirsAnswer,
    Node,
    Reassignment,
    Topic,
    Topology,
)
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.facts import BrokerFacts
from logdirwatch.collect.rounds.poll import ClusterPoller
from logdirwatch.model import topics
from logdirwatch.model.records import (
    EventRecord,
    HeartbeatRecord,
    InventoryRecord,
    MetricsRecord,
    PartitionInfo,
    Placement,
)
from logdirwatch.model.vocabulary import PollStatus

T0 = 1_700_000_000_000
GIB = 1 << 30
ORIGIN = records.Origin("prod", "c1", 5_000)
RESERVE = 40 << 20


def reserve_of(_log_dir, _total_bytes):
    """Return the free bytes below which any directory counts as full."""
    return RESERVE


def reencoded(response, version):
    """Return a response as it is after a trip over the wire in ``version``."""
    return type(response).decode(bytes(response.encode(version=version)), version=version)


def log_dirs_response(*results, error_code=0, version=5):
    return reencoded(DescribeLogDirsResponse(version=version, error_code=error_code, results=list(results)), version)


def log_dir_result(path="/d1", error_code=0, total=100 * GIB, usable=50 * GIB, replicas=(), cordoned=False, version=5):
    result = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic
    return result(
        version=version,
        error_code=error_code,
        log_dir=path,
        total_bytes=total,
        usable_bytes=usable,
        is_cordoned=cordoned,
        topics=[
            topic(
                version=version,
                name=name,
                partitions=[
                    topic.DescribeLogDirsPartition(
                        version=version,
                        partition_index=partition,
                        partition_size=size,
                        offset_lag=lag,
                        is_future_key=future,
                    )
                ],
            )
            for name, partition, size, lag, future in replicas
        ],
    )


def cluster_response(*brokers, version=2, error_code=0):
    broker = DescribeClusterResponse.DescribeClusterBroker
    response = DescribeClusterResponse(
        version=version,
        error_code=error_code,
        cluster_id="x",
        controller_id=1,
        brokers=[
            broker(version=version, broker_id=number, host=f"host{number}", port=9092, rack="r", is_fenced=fenced)
            for number, fenced in brokers
        ],
    )
    return reencoded(response, version)


def topics_response(*topics, cursor=None, topic_id=None):
    response = DescribeTopicPartitionsResponse
    topic = response.DescribeTopicPartitionsResponseTopic
    return reencoded(
        response(
            version=0,
            topics=[
                topic(
                    version=0,
                    error_code=error_code,
                    name=name,
                    topic_id=topic_id,
                    is_internal=name.startswith("__"),
                    partitions=[
                        topic.DescribeTopicPartitionsResponsePartition(version=0, **fields) for fields in partitions
                    ],
                )
                for name, error_code, partitions in topics
            ],
            next_cursor=cursor and response.Cursor(version=0, topic_name=cursor[0], partition_index=cursor[1]),
        ),
        0,
    )


def partition_fields(number=0, leader=1, replicas=(1, 2, 3), isr=(1, 2, 3), offline=(), elr=None):
    return {
        "error_code": 0,
        "partition_index": number,
        "leader_id": leader,
        "leader_epoch": 1,
        "replica_nodes": list(replicas),
        "isr_nodes": list(isr),
        "eligible_leader_replicas": elr,
        "last_known_elr": None,
        "offline_replicas": list(offline),
    }


def configs_response(*resources, resource_type=2):
    result = DescribeConfigsResponse.DescribeConfigsResult
    entry = result.DescribeConfigsResourceResult
    return reencoded(
        DescribeConfigsResponse(
            version=4,
            results=[
                result(
                    version=4,
                    error_code=error_code,
                    error_message="no" if error_code else None,
                    resource_type=resource_type,
                    resource_name=name,
                    configs=[
                        entry(
                            version=4,
                            name=key,
                            value=value,
                            read_only=False,
                            config_source=source,
                            is_sensitive=value is None,
                            synonyms=[],
                            config_type=0,
                            documentation=None,
                        )
                        for key, (value, source) in configs.items()
                    ],
                )
                for name, error_code, configs in resources
            ],
        ),
        4,
    )


def quorum_response(*, leader=1, error_code=0, top_level_error=0):
    topic = DescribeQuorumResponse.TopicData
    partition = topic.PartitionData(
        version=2,
        partition_index=0,
        error_code=error_code,
        error_message=None,
        leader_id=leader,
        leader_epoch=1,
        high_watermark=-1,
        current_voters=[],
        observers=[],
    )
    response = DescribeQuorumResponse(
        version=2,
        error_code=top_level_error,
        error_message=None,
        topics=[topic(version=2, topic_name="__cluster_metadata", partitions=[partition])],
        nodes=[],
    )
    return reencoded(response, 2)


def reassignments_response(*partitions):
    response = ListPartitionReassignmentsResponse
    topic = response.OngoingTopicReassignment
    return reencoded(
        response(
            version=0,
            error_code=0,
            error_message=None,
            topics=[
                topic(
                    version=0,
                    name=name,
                    partitions=[
                        topic.OngoingPartitionReassignment(
                            version=0,
                            partition_index=number,
                            replicas=[1, 2],
                            adding_replicas=adding,
                            removing_replicas=removing,
                        )
                    ],
                )
                for name, number, adding, removing in partitions
            ],
        ),
        0,
    )


def log_dir(path="/d1", error_code=0, total=100 * GIB, usable=50 * GIB, replicas=()):
    if error_code:
        return LogDirAnswer(path, error_code)
    return LogDirAnswer(path, 0, total, usable, False, tuple(replicas))


def placement(topic="t", partition=0, size=100, is_future=False):
    return Placement(topic=topic, partition=partition, size_bytes=size, offset_lag=0, is_future=is_future)


def ok(*log_dirs):
    return LogDirsAnswer(PollStatus.OK, None, tuple(log_dirs))


def timed_out():
    return LogDirsAnswer(PollStatus.TIMEOUT, "TimeoutError: no answer")


def node(broker=1, is_fenced=False):
    return Node(broker, f"host{broker}", 9092, f"r{broker}", is_fenced)


def broker_facts(broker=1, **fields):
    known = {"is_fenced": False, "is_registered": True, "controller_at_ms": T0, **fields}
    return BrokerFacts(node(broker), **known)


def topic(name="t", *partitions, is_internal=False):
    return Topic(name, is_internal, tuple(partitions))


def partition(number=0, leader=1, replicas=(1, 2, 3), isr=(1, 2, 3), offline=()):
    return PartitionInfo(
        partition=number, leader=leader, replicas=list(replicas), isr=list(isr), offline_replicas=list(offline)
    )


TYPES = {
    topics.METRICS: MetricsRecord | HeartbeatRecord,
    topics.EVENTS: EventRecord,
    topics.INVENTORY: InventoryRecord,
}


def decoded(outgoing: Outgoing):
    """Return the record that a consumer would read; a record that does not fit its type fails here."""
    return msgspec.json.decode(outgoing.value, type=TYPES[outgoing.topic])


@dataclass
class Brokers:
    """Stands where the brokers are: answers what ``says`` holds, by broker, and notes what was asked.

    An exception is raised instead of answered; a broker in ``hanging`` answers when its event is set.
    """

    says: dict[int, LogDirsAnswer] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    away: BaseException | None = None
    topics: tuple[Topic, ...] = ()
    hanging: dict[int, asyncio.Event] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)
    topology_asked: int = 0
    release: str = "4.3"
    broken: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    moves: dict[tuple[str, int], Reassignment] = field(default_factory=dict)
    committing: dict[int, dict[str, dict[tuple[str, int], int]]] = field(default_factory=dict)
    sharing: dict[int, dict[str, dict[tuple[str, int], int]]] = field(default_factory=dict)
    ranges: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    configs: dict[str, str | None] = field(default_factory=lambda: {"log.dirs": "/d1,/d2"})
    versions: dict[int, int] | None = None

    async def capacity(self, address):
        broker = int(address.host.removeprefix("host"))
        self.asked.append(broker)
        if broker in self.hanging:
            await self.hanging[broker].wait()
        return self.says[broker]

    async def replicas(self, address):
        return self.says[int(address.host.removeprefix("host"))]

    async def topology(self, candidates, now_ms):
        self.topology_asked += 1
        if self.away is not None:
            raise self.away
        return Topology(self.nodes, True, now_ms())

    async def all_topics(self, address):
        self._fail("topics")
        return self.topics

    live_topics = all_topics

    async def hidden_topics(self, address, names):
        self._fail("hidden topics")
        return tuple(name for name in names if name in self.hidden)

    async def topic_configs(self, address, names, keys):
        self._fail("configs")
        return Configs(values={name: {"min.insync.replicas": "2"} for name in names})

    async def broker_configs(self, address, broker, keys):
        self._fail("configs")
        return Configs(values={str(broker): self.configs})

    async def reassignments(self, address):
        self._fail("reassignments")
        return self.moves

    async def groups(self, address):
        self._fail("groups")
        broker = int(address.host.removeprefix("host"))
        return Groups(tuple(self.committing.get(broker, ())), tuple(self.sharing.get(broker, ())))

    async def committed(self, address, groups):
        by_group = self.committing[int(address.host.removeprefix("host"))]
        return {group: by_group[group] for group in groups}

    async def shared(self, address, groups):
        by_group = self.sharing[int(address.host.removeprefix("host"))]
        return {group: by_group[group] for group in groups}

    async def offsets(self, address, partitions, at):
        return {key: self.ranges[key][0 if at == -2 else 1] for key in partitions if key in self.ranges}

    async def quorum(self, address):
        self._fail("quorum")

    async def controller_id(self, address):
        self._fail("controller")
        return 3

    async def metadata_level(self, address):
        self._fail("features")
        return 30

    def api_versions(self, address):
        return self.versions

    def kafka_version(self, address):
        return self.release

    def _fail(self, what):
        if what in self.broken:
            raise ConnectionError(what)


class Clock:
    """A wall clock that a test moves, and how long it has waited."""

    def __init__(self, at_ms=T0):
        self.at_ms, self.waited_ms = at_ms, 0

    def waited_s(self):
        return self.waited_ms / 1_000

    def __call__(self):
        return self.at_ms


def poller(brokers, sent, clock=None, backoff_max_ms=30_000):
    clock = clock or Clock()
    bootstrap = [Address("boot", 9092)]
    made = ClusterPoller(ORIGIN, bootstrap, brokers, sent.extend, clock, lambda path, total: RESERVE, backoff_max_ms)
    made.monotonic_s = clock.waited_s
    return made
