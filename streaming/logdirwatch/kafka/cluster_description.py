"""Which cluster it is and which brokers it has, asked with what its release answers.

``KafkaAdminClient.describe_cluster`` is of no use for that: of an answer of DescribeCluster v0 (Kafka 2.8 to 3.6) it
takes the field ``endpoint_type``, which came with v1, and raises KeyError (kafka-python 3.0.12).
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
    """A cluster's id, None where it has none to tell, and the brokers that are registered."""

    cluster_id: str | None
    brokers: frozenset[int]
    unfenced: frozenset[int]


def describe_cluster(client: KafkaAdminClient) -> ClusterDescription:
    """Ask for a cluster's id and brokers; raises KafkaError."""
    manager = client._manager  # noqa: SLF001

    async def ask() -> Any:
        try:
            return await manager.send(describe_cluster_request())
        except IncompatibleBrokerVersion:
            return await manager.send(metadata_request([]))

    return described(manager.run(ask))


def allowed_operations(client: KafkaAdminClient) -> frozenset[str] | None:
    """Ask what this user may do on the cluster itself, such as ALTER; None where a release does not tell.

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
    """Return the request for a cluster's brokers, fenced ones included where the release lists them (KIP-1073)."""
    return DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)


def metadata_request(topics: list[str] | None) -> MetadataRequest:
    """Return the request that every release answers: for some topics by name, none of them created, or all of them.

    From v5 on the answer tells the offline replicas of a partition (KIP-112).
    """
    topic = MetadataRequest.MetadataRequestTopic
    wanted = None if topics is None else [topic(name=name) for name in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=False, min_version=5)


def described(response: Any) -> ClusterDescription:
    """Decode DescribeCluster or Metadata; raises the error that the response holds."""
    if response.error_code:
        raise for_code(response.error_code)(getattr(response, "error_message", None) or "")
    is_fenced = {broker_id(node): getattr(node, "is_fenced", False) for node in response.brokers}
    unfenced = frozenset(broker for broker, fenced in is_fenced.items() if not fenced)
    return ClusterDescription(response.cluster_id, frozenset(is_fenced), unfenced)


def broker_id(node: Any) -> int:
    """Return the id of a broker in an answer of DescribeCluster or of Metadata, which spells it otherwise."""
    return int(node.broker_id if hasattr(node, "broker_id") else node.node_id)
