"""Decodes kafka-python's response objects to answers. Pure: no network, no clock."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kafka import errors
from kafka.protocol.metadata import MetadataResponse

from logdirwatch.collect.kafka.answers import (
    Configs,
    Groups,
    LogDirAnswer,
    LogDirsAnswer,
    Node,
    Quorum,
    Reassignment,
    Topic,
    TopicPage,
    Topology,
)
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.cluster_description import broker_id
from logdirwatch.model.capabilities import HIDES_LOG_DIRS
from logdirwatch.model.records import PartitionInfo, Placement
from logdirwatch.model.vocabulary import PollStatus

# DescribeClusterResponse v2 names fenced brokers (KIP-1073); older brokers list only those that are alive.
LISTS_FENCED_SINCE = 2
CAUGHT_UP_WITHIN_MS = 10_000
# DescribeConfigs' resource types, and the ConfigSource that says: set on this very topic, on this very broker.
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET_ON_ITSELF = {TOPIC_RESOURCE: 1, BROKER_RESOURCE: 2}


def failure(error: BaseException) -> LogDirsAnswer:
    """Return the answer for a failed request: timeout, unauthorized or error, with the error's text."""
    if isinstance(error, errors.IncompatibleBrokerVersion):
        return LogDirsAnswer(PollStatus.ERROR, HIDES_LOG_DIRS)
    return LogDirsAnswer(status_of(error), one_line(error))


def status_of(error: BaseException) -> PollStatus:
    """Return the status for an error; refused credentials count as unauthorized too."""
    if isinstance(error, (TimeoutError, errors.KafkaTimeoutError, errors.RequestTimedOutError)):
        return PollStatus.TIMEOUT
    if isinstance(error, (errors.AuthorizationError, errors.SaslAuthenticationFailedError)):
        return PollStatus.UNAUTHORIZED
    return PollStatus.ERROR


def log_dirs(response: Any) -> LogDirsAnswer:
    """Decode DescribeLogDirs v1 to v5.

    The top-level error (v3, KIP-784) is kept: without DESCRIBE on the cluster a broker answers
    CLUSTER_AUTHORIZATION_FAILED and an empty list, which must not look like a broker without disks (Kafka
    ``KafkaApis.handleDescribeLogDirsRequest``). Brokers before v3 answer the empty list alone.
    """
    code = response.error_code or 0
    if code:
        return failure(errors.for_code(code)("DescribeLogDirs"))
    if not response.results:
        return LogDirsAnswer(
            PollStatus.ERROR, "DescribeLogDirs listed no directory; is DESCRIBE on the cluster granted?"
        )
    return LogDirsAnswer(
        PollStatus.OK, None, tuple(_log_dir(result, response.API_VERSION) for result in response.results)
    )


def _log_dir(result: Any, version: int) -> LogDirAnswer:
    return LogDirAnswer(
        path=result.log_dir,
        error_code=result.error_code,
        total_bytes=_known(result.total_bytes),
        usable_bytes=_known(result.usable_bytes),
        is_cordoned=result.is_cordoned if version >= 5 else None,
        replicas=tuple(
            Placement(
                topic=topic.name,
                partition=partition.partition_index,
                size_bytes=_known(partition.partition_size),
                offset_lag=_known(partition.offset_lag),
                is_future=partition.is_future_key,
            )
            for topic in result.topics
            for partition in topic.partitions
        ),
    )


def _known(value: int | None) -> int | None:
    return None if value is None or value < 0 else value


def topology(response: Any, at_ms: int) -> Topology:
    """Decode DescribeCluster or Metadata; raises the response's own error."""
    _raise_for(response)
    is_metadata = response.API_KEY == MetadataResponse.API_KEY
    lists_fenced = not is_metadata and response.API_VERSION >= LISTS_FENCED_SINCE
    nodes = (
        Node(broker_id(node), node.host, node.port, node.rack, bool(node.is_fenced) if lists_fenced else None)
        for node in response.brokers
    )
    return Topology(nodes={node.broker: node for node in nodes}, lists_fenced=lists_fenced, at_ms=at_ms)


def controller(response: Any) -> Node | None:
    """Decode the controller in Metadata, None if there is none; raises the response's own error.

    Only used in ZooKeeper mode: in KRaft mode a broker names any live one (Kafka ``KRaftMetadataCache``).
    """
    return topology(response, 0).nodes.get(response.controller_id)


def topic_page(response: Any) -> TopicPage:
    """Decode one page of DescribeTopicPartitions; topics deleted meanwhile are left out."""
    topics = tuple(
        Topic(topic.name, bool(topic.is_internal), tuple(map(_partition, topic.partitions)), id=_topic_id(topic))
        for topic in response.topics
        if topic.error_code == 0
    )
    cursor = getattr(response, "next_cursor", None)
    return TopicPage(topics, None if cursor is None else (cursor.topic_name, cursor.partition_index))


def topics(response: Any) -> tuple[Topic, ...]:
    """Decode the topics of Metadata v5 and later, which has no ELR; raises the response's own error.

    Topics deleted meanwhile are left out.
    """
    _raise_for(response)
    return topic_page(response).topics


def hidden_topics(response: Any) -> tuple[str, ...]:
    """Decode which topics of DescribeTopicPartitions or Metadata the user may not see; deleted ones do not count."""
    hidden = errors.TopicAuthorizationFailedError.errno
    return tuple(topic.name for topic in response.topics if topic.error_code == hidden)


def _topic_id(topic: Any) -> str | None:
    found = getattr(topic, "topic_id", None)
    return str(found) if found and found.int else None


def _partition(partition: Any) -> PartitionInfo:
    return PartitionInfo(
        partition=partition.partition_index,
        leader=None if partition.leader_id < 0 else partition.leader_id,
        replicas=list(partition.replica_nodes),
        isr=list(partition.isr_nodes),
        offline_replicas=list(partition.offline_replicas),
        elr=_list(getattr(partition, "eligible_leader_replicas", None)),
        last_known_elr=_list(getattr(partition, "last_known_elr", None)),
    )


def _list(brokers: Sequence[int] | None) -> list[int] | None:
    return None if brokers is None else list(brokers)


def merged(pages: Sequence[TopicPage]) -> tuple[Topic, ...]:
    """Return the topics of all pages; a page may end inside a topic."""
    topics: dict[str, Topic] = {}
    for topic in (topic for page in pages for topic in page.topics):
        earlier = topics.get(topic.name)
        partitions = (*earlier.partitions, *topic.partitions) if earlier else topic.partitions
        topics[topic.name] = replace(topic, partitions=partitions)
    return tuple(topics.values())


def configs(response: Any) -> Configs:
    """Decode DescribeConfigs; Kafka returns None for the value of a secret."""
    good = [result for result in response.results if result.error_code == 0]
    return Configs(
        values={result.resource_name: {entry.name: entry.value for entry in result.configs} for result in good},
        overridden={
            result.resource_name: tuple(
                entry.name for entry in result.configs if entry.config_source == SET_ON_ITSELF.get(result.resource_type)
            )
            for result in good
        },
        failed={
            result.resource_name: one_line(errors.for_code(result.error_code)(result.error_message or ""))
            for result in response.results
            if result.error_code != 0
        },
    )


def joined(parts: Sequence[Configs]) -> Configs:
    """Return several answers of DescribeConfigs as one."""
    return Configs(
        values={name: values for part in parts for name, values in part.values.items()},
        overridden={name: keys for part in parts for name, keys in part.overridden.items()},
        failed={name: error for part in parts for name, error in part.failed.items()},
    )


def reassignments(response: Any) -> dict[tuple[str, int], Reassignment]:
    """Decode ListPartitionReassignments; raises the response's own error."""
    _raise_for(response)
    return {
        (topic.name, partition.partition_index): Reassignment(
            tuple(partition.adding_replicas), tuple(partition.removing_replicas)
        )
        for topic in response.topics
        for partition in topic.partitions
    }


def groups(response: Any) -> Groups:
    """Decode ListGroups; raises the response's own error.

    Kafka Connect's own groups (protocol ``connect``) read nothing.
    """
    _raise_for(response)
    found = [group for group in response.groups if group.protocol_type != "connect"]
    sharing = tuple(group.group_id for group in found if _is_share_group(group))
    return Groups(tuple(group.group_id for group in found if not _is_share_group(group)), sharing)


def _is_share_group(group: Any) -> bool:
    """Tell a share group (KIP-932) by its type, which releases before 3.8 do not list, or its protocol."""
    return "share" in ((getattr(group, "group_type", None) or "").lower(), group.protocol_type)


def shared(response: Any) -> dict[str, dict[tuple[str, int], int]]:
    """Decode DescribeShareGroupOffsets; raises a group's error, except that it is gone meanwhile.

    A partition that the group has not begun (start offset -1) or that has an error is read from an unknown offset.
    """
    found = {}
    for group in response.groups:
        if group.error_code == errors.GroupIdNotFoundError.errno:
            continue
        _raise_for_group(group.group_id, group)
        found[group.group_id] = {
            (topic.topic_name, partition.partition_index): -1 if partition.error_code else partition.start_offset
            for topic in group.topics
            for partition in topic.partitions
        }
    return found


def committed(response: Any) -> dict[str, dict[tuple[str, int], int]]:
    """Decode OffsetFetch v8 and v9; raises a group's error, because what that group reads is then unknown."""
    found = {}
    for group in response.groups:
        found[group.group_id] = committed_by(group.group_id, group)
    return found


def committed_by(group: str, response: Any) -> dict[tuple[str, int], int]:
    """Decode OffsetFetch v2 to v7, for one group, or that group's part of a later version.

    A partition with an error is read from an unknown offset (-1).
    """
    _raise_for_group(group, response)
    return {
        (topic.name, partition.partition_index): -1 if partition.error_code else partition.committed_offset
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code or partition.committed_offset >= 0
    }


def _raise_for_group(group: str, response: Any) -> None:
    if response.error_code:
        raise errors.for_code(response.error_code)(f"offsets of group {group}")


def offsets(response: Any) -> dict[tuple[str, int], int]:
    """Decode ListOffsets; a partition with an error is left out."""
    return {
        (topic.name, partition.partition_index): partition.offset
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code == 0 and partition.offset >= 0
    }


def quorum_leader(response: Any) -> int | None:
    """Decode DescribeQuorum to the node id of the active controller; raises the error in it."""
    partition = _metadata_partition(response)
    return partition.leader_id if partition is not None and partition.leader_id >= 0 else None


def _metadata_partition(response: Any) -> Any | None:
    """Return the metadata log's part of DescribeQuorum; raises the response's or the partition's error.

    A controller that does not lead returns its error with the partition, and 0 as the leader (Kafka 4.3.1
    ``KafkaRaftClient.handleDescribeQuorumRequest``).
    """
    _raise_for(response)
    partition = next((partition for topic in response.topics for partition in topic.partitions), None)
    if partition is not None:
        _raise_for(partition)
    return partition


def quorum(response: Any) -> Quorum:
    """Decode DescribeQuorum v0 to v2; raises the error in it.

    A voter is caught up if it has the high watermark, or had shortly before the latest one (KIP-836): the metadata log
    gets a record every 500 ms, which no voter has at once. The leader itself is caught up as of its answer (Kafka 4.3.1
    ``LeaderState.describeReplicaState``).
    """
    partition = _metadata_partition(response)
    if partition is None:
        return Quorum(None, {})
    stamps = {voter.replica_id: voter.last_caught_up_timestamp for voter in partition.current_voters}
    newest = max((stamp for stamp in stamps.values() if stamp is not None), default=-1)
    return Quorum(
        leader=partition.leader_id if partition.leader_id >= 0 else None,
        caught_up={
            voter.replica_id: _is_caught_up(voter, partition.high_watermark, newest)
            for voter in partition.current_voters
        },
        leader_at_ms=_known(stamps.get(partition.leader_id)),
    )


def _is_caught_up(voter: Any, high_watermark: int, newest: int) -> bool | None:
    if high_watermark < 0 or voter.log_end_offset < 0:
        return None
    stamp = -1 if voter.last_caught_up_timestamp is None else voter.last_caught_up_timestamp
    return bool(voter.log_end_offset >= high_watermark or 0 <= newest - CAUGHT_UP_WITHIN_MS <= stamp)


def _raise_for(response: Any) -> None:
    if response.error_code:
        raise errors.for_code(response.error_code)(getattr(response, "error_message", None) or "")


def metadata_level(response: Any) -> int | None:
    """Decode ApiVersions v3 to the finalized level of ``metadata.version``; raises the response's own error."""
    _raise_for(response)
    levels = [
        feature.max_version_level for feature in response.finalized_features or [] if feature.name == "metadata.version"
    ]
    return levels[0] if levels else None
