"""What a broker's release can report, by the requests that it supports, and its metadata mode. Pure."""

from collections.abc import Mapping

from kafka.protocol.admin import (
    DeleteGroupsRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
)
from kafka.protocol.api_key import ApiKey

from logdirwatch.model.vocabulary import MetadataMode, NotReported

ApiVersions = Mapping[int, int]
"""The highest version of each request that a broker supports, by API key."""

PROCESS_ROLES = "process.roles"
MIGRATION = "zookeeper.metadata.migration.enable"

# What is reported by a request, and from which version of it on: DescribeLogDirs v4 is Kafka 3.3 (KIP-827), v5 is 4.3
# (KIP-1066), DescribeCluster v2 is 4.0 (KIP-1073), DescribeTopicPartitions is 3.8 in KRaft mode (KIP-966).
REPORTED_SINCE = {
    NotReported.LOG_DIRS: (DescribeLogDirsRequest.API_KEY, 0),
    NotReported.CAPACITY: (DescribeLogDirsRequest.API_KEY, 4),
    NotReported.CORDONS: (DescribeLogDirsRequest.API_KEY, 5),
    NotReported.FENCED_BROKERS: (DescribeClusterRequest.API_KEY, 2),
    NotReported.ELR: (DescribeTopicPartitionsRequest.API_KEY, 0),
    NotReported.METADATA_QUORUM: (DescribeQuorumRequest.API_KEY, 0),
}

RELEASE_UNKNOWN_TO_CLIENT = ("4.4", DeleteGroupsRequest.API_KEY, 3)
"""kafka-python 3.0.12 takes a 4.4 for a 4.3; a request, and the version of it that only 4.4 lists (seen on 4.4.0)."""


def release_of(known: str | None, versions: ApiVersions | None) -> str | None:
    """Return a broker's release as ``major.minor``: the client library's answer, or a newer one that it does not know.

    >>> release_of("4.3", {42: 3})
    '4.4'
    """
    release, key, since = RELEASE_UNKNOWN_TO_CLIENT
    return release if known is not None and (versions or {}).get(key, -1) >= since else known


def not_reported(versions: ApiVersions | None) -> list[str] | None:
    """Return what a broker's release cannot report; None while its supported requests are unknown."""
    if versions is None:
        return None
    return [str(what) for what, (key, since) in REPORTED_SINCE.items() if versions.get(key, -1) < since]


def metadata_mode(versions: ApiVersions | None, configs: Mapping[str, str | None] | None) -> MetadataMode | None:
    """Return the metadata mode of a broker; None while its configuration and its requests are unknown.

    A broker that takes part in a migration (KIP-866) says so in its configuration.
    """
    if ((configs or {}).get(MIGRATION) or "").lower() == "true":
        return MetadataMode.MIGRATING
    runs_kraft = is_kraft_broker(versions, configs)
    if runs_kraft is None:
        return None
    return MetadataMode.KRAFT if runs_kraft else MetadataMode.ZOOKEEPER


def is_kraft_broker(versions: ApiVersions | None, configs: Mapping[str, str | None] | None) -> bool | None:
    """Tell whether a broker runs in KRaft mode and so has a metadata log; None if unknown.

    A release without KRaft has no ``process.roles``. Then, and if the configuration may not be read, the supported
    requests decide: only a broker in KRaft mode forwards DescribeQuorum, and only one with ZooKeeper lists LeaderAndIsr
    (Kafka's listeners ``broker`` and ``zkBroker`` of the two). A service may list neither.
    """
    if configs is not None and PROCESS_ROLES in configs:
        return bool(configs[PROCESS_ROLES])
    if versions is not None and DescribeQuorumRequest.API_KEY in versions:
        return True
    return False if versions is not None and ApiKey.LeaderAndIsr in versions else None
