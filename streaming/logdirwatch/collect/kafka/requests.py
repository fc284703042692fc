"""The requests of the collector: each to one broker, each with its own time limit.

DescribeShareGroupOffsets (KIP-932, Kafka 4.1) is missing in kafka-python 3.0.12; its schemas are Kafka's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from kafka.errors import IncompatibleBrokerVersion, KafkaError, NotControllerError
from kafka.protocol.admin import (
    DescribeConfigsRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    ListGroupsRequest,
    ListPartitionReassignmentsRequest,
)
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest
from kafka.protocol.metadata import ApiVersionsRequest

from logdirwatch.collect.kafka import answers, responses
from logdirwatch.collect.kafka.capabilities import release_of
from logdirwatch.collect.kafka.connections import Address, Lane, Wire
from logdirwatch.collect.kafka.responses import BROKER_RESOURCE, TOPIC_RESOURCE
from logdirwatch.collect.kafka.split import by_weight, in_parts
from logdirwatch.errors import UserError
from logdirwatch.kafka import deadline
from logdirwatch.kafka.cluster_description import describe_cluster_request, metadata_request


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg]
    """Asks a coordinator where share groups stand; without topics, for all of each."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg]
    """For each partition of a group its start offset: what lies before it is done."""


METADATA_TOPIC = "__cluster_metadata"
# Kafka's own upper bound of a page (max.request.partition.size.limit).
PAGE_PARTITIONS = 2_000
# Several are queried at once, so that one that hangs costs no time; more than a few would be waste.
CANDIDATES = 3
CONFIGS_TOPICS = 100
# ListOffsets' names for the start and the end of a log, and OffsetFetch's versions that take several groups by name and
# those, up to Kafka 2.8, that take one group with all of its topics.
EARLIEST, LATEST = -2, -1
OFFSET_FETCH_VERSIONS = {"min_version": 8, "max_version": 9}
OFFSET_FETCH_VERSIONS_OF_ONE = {"min_version": 2, "max_version": 7}
ASK_ERRORS = (KafkaError, OSError, asyncio.TimeoutError, ValueError)

Answer = TypeVar("Answer")


class Admin:
    """Queries the brokers of one cluster.

    If a broker does not support a request, an older one is sent: kafka-python knows what the broker listed when it
    connected, so no request is sent in vain.
    """

    def __init__(self, wire: Wire, timeout_ms: int, scan_timeout_ms: int) -> None:
        self._wire = wire
        self._timeout_ms = timeout_ms
        self._scan_timeout_ms = scan_timeout_ms
        self._partition_counts: dict[str, int] = {}

    async def capacity(self, address: Address) -> answers.LogDirsAnswer:
        """Request one broker's directories without their replicas. Never raises.

        An empty topic list requests no partition, null all of them (Kafka 4.3.1
        ``DescribeLogDirsRequest.isAllTopicPartitions``); total, usable and the error of every directory are returned
        either way.
        """
        return await self._log_dirs(address, DescribeLogDirsRequest(topics=[]), self._timeout_ms, Lane.POLL)

    async def replicas(self, address: Address) -> answers.LogDirsAnswer:
        """Request one broker's directories with every replica in them. Never raises."""
        return await self._log_dirs(address, DescribeLogDirsRequest(topics=None), self._scan_timeout_ms, Lane.SCAN)

    async def _log_dirs(self, address: Address, request: Any, timeout_ms: int, lane: Lane) -> answers.LogDirsAnswer:
        try:
            return responses.log_dirs(await self._wire.ask(address, request, timeout_ms, lane))
        except ASK_ERRORS as error:
            return responses.failure(error)

    async def topology(self, candidates: Sequence[Address], now_ms: Callable[[], int]) -> answers.Topology:
        """Request the registered brokers, with fenced ones (KIP-1073), from the first of ``candidates`` that answers.

        Raises the last error when none answers. The deadline of a command applies as well.
        """

        async def ask(address: Address) -> answers.Topology:
            limit_ms = deadline.at_most_ms(self._timeout_ms)
            try:
                response = await self._wire.ask(address, describe_cluster_request(), limit_ms)
            except IncompatibleBrokerVersion:
                response = await self._wire.ask(address, metadata_request([]), limit_ms)
            return responses.topology(response, now_ms())

        return await first_answer([ask(address) for address in candidates[:CANDIDATES]])

    async def all_topics(self, address: Address) -> tuple[answers.Topic, ...]:
        """Return every topic with leader, ISR, ELR and offline replicas, page by page (KIP-966).

        Below 3.8 and in ZooKeeper mode they come from Metadata, in one response and without the ELR.
        """
        try:
            return await self._topics(address, self._scan_timeout_ms, Lane.SCAN)
        except IncompatibleBrokerVersion:
            topics = await self._topics_by_name(address, None, self._scan_timeout_ms, Lane.SCAN)
        self._partition_counts = {topic.name: len(topic.partitions) for topic in topics}
        return topics

    async def live_topics(self, address: Address) -> tuple[answers.Topic, ...]:
        """Return the same as :meth:`all_topics`, or give up as early as a poll does: an old answer is of no use.

        A large cluster's Metadata is requested in parts, for the topics of the last scan: decoding all at once, every
        few seconds, would block the I/O thread and with it the polls.
        """
        try:
            return await self._topics(address, self._timeout_ms, Lane.LOOK)
        except IncompatibleBrokerVersion:
            counts = self._partition_counts
        is_large = sum(counts.values()) > PAGE_PARTITIONS
        parts = by_weight(counts, PAGE_PARTITIONS) if is_large else [None]
        found = [await self._topics_by_name(address, names, self._timeout_ms, Lane.LOOK) for names in parts]
        return tuple(topic for topics in found for topic in topics)

    async def hidden_topics(self, address: Address, names: Sequence[str]) -> tuple[str, ...]:
        """Return those topics that the user may not see: lists omit them, a request by name reveals them."""
        wanted = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
        request = DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=PAGE_PARTITIONS, cursor=None)
        try:
            response = await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN)
        except IncompatibleBrokerVersion:
            response = await self._wire.ask(address, metadata_request(list(names)), self._scan_timeout_ms, Lane.SCAN)
        return responses.hidden_topics(response)

    async def _topics_by_name(
        self, address: Address, names: list[str] | None, timeout_ms: int, lane: Lane
    ) -> tuple[answers.Topic, ...]:
        return responses.topics(await self._wire.ask(address, metadata_request(names), timeout_ms, lane))

    async def _topics(self, address: Address, timeout_ms: int, lane: Lane) -> tuple[answers.Topic, ...]:
        pages = [await self._topic_page(address, None, timeout_ms, lane)]
        while pages[-1].cursor is not None:
            pages.append(await self._topic_page(address, pages[-1].cursor, timeout_ms, lane))
        return responses.merged(pages)

    async def _topic_page(
        self, address: Address, cursor: tuple[str, int] | None, timeout_ms: int, lane: Lane
    ) -> answers.TopicPage:
        request = DescribeTopicPartitionsRequest(
            topics=[],
            response_partition_limit=PAGE_PARTITIONS,
            cursor=cursor and DescribeTopicPartitionsRequest.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        )
        return responses.topic_page(await self._wire.ask(address, request, timeout_ms, lane))

    async def topic_configs(self, address: Address, topics: Sequence[str], keys: Sequence[str]) -> answers.Configs:
        """Return some of the effective configuration of topics, requested a hundred at a time.

        Decoding a large answer would block the I/O thread and with it the answers of every other broker.
        """
        resources = [(TOPIC_RESOURCE, topic, keys) for topic in topics]
        return responses.joined([await self._configs(address, part) for part in in_parts(resources, CONFIGS_TOPICS)])

    async def broker_configs(self, address: Address, broker: int, keys: Sequence[str]) -> answers.Configs:
        """Return some of a broker's configuration; only the broker itself has its static part."""
        return await self._configs(address, [(BROKER_RESOURCE, str(broker), keys)])

    async def _configs(self, address: Address, resources: list[tuple[int, str, Any]]) -> answers.Configs:
        request = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
        return responses.configs(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))

    async def reassignments(self, address: Address) -> dict[tuple[str, int], answers.Reassignment]:
        """Return the partitions being reassigned.

        In KRaft mode the broker forwards the request to the controller; in ZooKeeper mode only the controller answers
        it, and the broker says which one that is.
        """
        try:
            return await self._reassignments(address)
        except NotControllerError:
            response = await self._wire.ask(address, metadata_request([]), self._scan_timeout_ms, Lane.SCAN)
            controller = responses.controller(response)
            if controller is None:
                raise
        return await self._reassignments(Address(controller.host, controller.port))

    async def _reassignments(self, address: Address) -> dict[tuple[str, int], answers.Reassignment]:
        request = ListPartitionReassignmentsRequest(timeout_ms=self._timeout_ms, topics=None)
        return responses.reassignments(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))

    async def groups(self, address: Address) -> answers.Groups:
        """Return the consumer groups and share groups that a broker coordinates."""
        request = ListGroupsRequest(states_filter=[], types_filter=[])
        return responses.groups(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))

    async def committed(self, address: Address, groups: Sequence[str]) -> answers.Committed:
        """Return the offsets that groups committed; ``address`` is their coordinator's."""
        asked = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups]
        request = OffsetFetchRequest(groups=asked, require_stable=False, **OFFSET_FETCH_VERSIONS)
        try:
            return responses.committed(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))
        except IncompatibleBrokerVersion:
            found = await asyncio.gather(*(self._committed_by(address, group) for group in groups))
        return dict(zip(groups, found, strict=True))

    async def shared(self, address: Address, groups: Sequence[str]) -> answers.Committed:
        """Return the start offsets of share groups; ``address`` is their coordinator's."""
        of_group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
        request = DescribeShareGroupOffsetsRequest(groups=[of_group(group_id=group, topics=None) for group in groups])
        return responses.shared(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))

    async def _committed_by(self, address: Address, group: str) -> dict[tuple[str, int], int]:
        request = OffsetFetchRequest(group_id=group, topics=None, require_stable=False, **OFFSET_FETCH_VERSIONS_OF_ONE)
        response = await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN)
        return responses.committed_by(group, response)

    async def offsets(
        self, address: Address, partitions: Sequence[tuple[str, int]], at: int
    ) -> dict[tuple[str, int], int]:
        """Return the first or last offset (``at``) of partitions that a broker leads, without those that it refuses."""
        topic_of = ListOffsetsRequest.ListOffsetsTopic
        by_topic: dict[str, list[Any]] = {}
        for topic, number in partitions:
            part = topic_of.ListOffsetsPartition(partition_index=number, current_leader_epoch=-1, timestamp=at)
            by_topic.setdefault(topic, []).append(part)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=[topic_of(name=topic, partitions=parts) for topic, parts in by_topic.items()],
            timeout_ms=self._scan_timeout_ms,
        )
        return responses.offsets(await self._wire.ask(address, request, self._scan_timeout_ms, Lane.SCAN))

    async def controller_id(self, address: Address) -> int | None:
        """Return the active controller, from DescribeQuorum: a broker's DescribeCluster names any live broker.

        In ZooKeeper mode there is no quorum, and Metadata names the controller.
        """
        try:
            return responses.quorum_leader(await self._quorum(address))
        except IncompatibleBrokerVersion:
            response = await self._wire.ask(address, metadata_request([]), self._timeout_ms, Lane.QUORUM)
        controller = responses.controller(response)
        return None if controller is None else controller.broker

    async def quorum(self, address: Address) -> answers.Quorum | None:
        """Return the controllers' quorum: its leader, and which voters have what is committed.

        None in ZooKeeper mode, which has none.
        """
        try:
            return responses.quorum(await self._quorum(address))
        except IncompatibleBrokerVersion:
            return None

    async def _quorum(self, address: Address) -> Any:
        partition = DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)
        topic = DescribeQuorumRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        return await self._wire.ask(address, DescribeQuorumRequest(topics=[topic]), self._timeout_ms, Lane.QUORUM)

    async def metadata_level(self, address: Address) -> int | None:
        """Return the finalized feature level of ``metadata.version`` (KIP-778), None when none is finalized."""
        request = ApiVersionsRequest(client_software_name="logdirwatch", client_software_version="1", min_version=3)
        return responses.metadata_level(await self._wire.ask(address, request, self._timeout_ms, Lane.LOOK))

    def api_versions(self, address: Address) -> dict[int, int] | None:
        """Return the highest supported version of each request, by API key; None before the broker answered."""
        return self._wire.api_versions(address)

    def kafka_version(self, address: Address) -> str | None:
        """Return the release that a broker's API versions indicate, None before it answered."""
        return release_of(self._wire.kafka_version(address), self._wire.api_versions(address))


async def first_answer(attempts: Iterable[Awaitable[Answer]]) -> Answer:
    """Return the first result, without waiting for the rest; raise one of the errors if there is none."""
    pending: set[asyncio.Future[Answer]] = {asyncio.ensure_future(attempt) for attempt in attempts}
    for attempt in pending:
        attempt.add_done_callback(_retrieve_error)
    error: BaseException = UserError("no broker is known to ask")
    try:
        while pending:
            finished, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for attempt in finished:
                if (failed := attempt.exception()) is None:
                    return attempt.result()
                error = failed
        raise error
    finally:
        for attempt in pending:
            attempt.cancel()


def _retrieve_error(attempt: "asyncio.Future[Answer]") -> None:
    """Retrieve an error that no one waits for any more, so that asyncio does not log it."""
    if not attempt.cancelled():
        attempt.exception()
