"""What the collector knows about a cluster between two polls. Immutable values that the poller replaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from logdirwatch.collect.kafka.answers import Node
from logdirwatch.collect.kafka.capabilities import ApiVersions, metadata_mode
from logdirwatch.collect.kafka.log_dir_usage import DirUsage, Place
from logdirwatch.model.records import PartitionHealth, ReplicaMoves
from logdirwatch.model.vocabulary import MetadataMode


@dataclass(frozen=True)
class BrokerFacts:
    """One broker as the controller sees it, at ``controller_at_ms``; None: unknown.

    ``api_versions`` are the requests that it supported when it answered last. ``throttles`` are the rates of moves set
    on the broker itself, as of its last inventory scan.
    """

    node: Node
    is_fenced: bool | None
    is_registered: bool | None
    controller_at_ms: int
    kafka_version: str | None = None
    api_versions: ApiVersions | None = None
    configs: Mapping[str, str | None] | None = None
    throttles: Mapping[str, int] | None = None

    @property
    def metadata_mode(self) -> MetadataMode | None:
        """The metadata mode of the broker."""
        return metadata_mode(self.api_versions, self.configs)


@dataclass(frozen=True)
class ClusterFacts:
    """Facts about the whole cluster, from the last inventory scan and the last check of the partitions.

    ``usages`` keeps a directory's last known usage when a later scan found it broken, ``moves`` the last known moves of
    a broker; ``partitions`` is None if the last check failed.
    """

    controller_id: int | None = None
    metadata_version: str | None = None
    usages: Mapping[Place, DirUsage] = field(default_factory=dict)
    partitions: Mapping[int, PartitionHealth] | None = None
    moves: Mapping[int, ReplicaMoves] = field(default_factory=dict)


def brokers_after(
    known: Mapping[int, BrokerFacts], nodes: Mapping[int, Node], *, lists_fenced: bool, at_ms: int
) -> dict[int, BrokerFacts]:
    """Return the brokers known after one DescribeCluster answer.

    A known broker missing from the answer is no longer registered; where fenced brokers are not listed (before
    KIP-1073) it may be fenced instead, which counts the same.
    """
    after = {}
    for broker in sorted(known.keys() | nodes.keys()):
        earlier, node = known.get(broker), nodes.get(broker)
        after[broker] = BrokerFacts(
            node=node or known[broker].node,
            is_fenced=node.is_fenced if node is not None else (None if lists_fenced else True),
            is_registered=True if node is not None else (False if lists_fenced else None),
            controller_at_ms=at_ms,
            kafka_version=earlier.kafka_version if earlier else None,
            api_versions=earlier.api_versions if earlier else None,
            configs=earlier.configs if earlier else None,
            throttles=earlier.throttles if earlier else None,
        )
    return after
