"""The id and brokers of a cluster, requested in the form that its release supports.

``KafkaAdminClient.describe_cluster`` cannot be used: for DescribeCluster v0 (Kafka 2.8 to 3.6) it reads the field
``endpoint_type``, which came with v1, and raises KeyError (kafka-python 3.0.12).
"""

from dataclasses import dataclass
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ACLOperation
from kafka.errors import IncompatibleBrokerVersion, for_code
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest


@dataclass(frozen=True)
class ClusterDescription:
    """A cluster's id, None if it has none, and the registered brokers."""

    cluster_id: str | None
    brokers: frozenset[int]
    unfenced: frozenset[int]


def describe_cluster(client: KafkaAdminClient) -> ClusterDescription:
    """Return a cluster's id and brokers; raises KafkaError."""
    manager = client._manager  # noqa: SLF001

    async def ask() -> Any:
        try:
            return await manager.send(describe_cluster_request())
        except IncompatibleBrokerVersion:
            return await manager.send(metadata_request([]))

    return described(manager.run(ask))


def allowed_operations(client: KafkaAdminClient) -> frozenset[str] | None:
    """Return what this user may do on the cluster itself, such as ALTER; None if its release does not report it.

    Raises KafkaError.
    """
    manager = client._manager  # noqa: SLF001

    async def ask() -> Any:
        return await manager.send(DescribeClusterRequest(include_cluster_authorized_operations=True))

    try:
        response = manager.run(ask)
    except IncompatibleBrokerVersion:
        return None
    if response.error_code:
        raise for_code(response.error_code)(response.error_message or "")
    numbers: set[int] | None = response.authorized_operations
    return None if numbers is None else frozenset(one.name for one in ACLOperation if one in numbers)


def describe_cluster_request() -> DescribeClusterRequest:
    """Return the request for a cluster's brokers, including fenced ones if the release lists them (KIP-1073)."""
    return DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)


def metadata_request(topics: list[str] | None) -> MetadataRequest:
    """Return the request that every release supports: for some topics by name, without creating them, or for all.

    From v5 on the response has the offline replicas of a partition (KIP-112).
    """
    topic = MetadataRequest.MetadataRequestTopic
    wanted = None if topics is None else [topic(name=name) for name in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False, min_version=5)


def described(response: Any) -> ClusterDescription:
    """Decode DescribeCluster or Metadata; raises the response's own error."""
    if response.error_code:
        raise for_code(response.error_code)(getattr(response, "error_message", None) or "")
    is_fenced = {broker_id(node): getattr(node, "is_fenced", False) for node in response.brokers}
    unfenced = frozenset(broker for broker, fenced in is_fenced.items() if not fenced)
    return ClusterDescription(response.cluster_id, frozenset(is_fenced), unfenced)


def broker_id(node: Any) -> int:
    """Return the id of a broker in DescribeCluster or Metadata, which spell it differently."""
    return int(node.broker_id if hasattr(node, "broker_id") else node.node_id)
