"""The numbers and names that records are made of, and the fields that several of them share with one meaning."""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta

from logdirwatch.model.vocabulary import MetadataMode

BrokerId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
EpochMs = Annotated[int, Meta(ge=0, le=2**53)]
LARGEST = 2**63 - 1
"""The largest number of a record, as of Spark's ``bigint``."""

Bytes = Annotated[int, Meta(ge=0, le=LARGEST)]
Long = Annotated[int, Meta(ge=-(2**63), le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=0, le=LARGEST)]
Revision = Annotated[int, Meta(ge=0, le=LARGEST)]
Name = Annotated[str, Meta(min_length=1)]


def total(numbers: Iterable[int]) -> int:
    """Return a sum, or the number of a record that is nearest to it."""
    return max(-LARGEST, min(sum(numbers), LARGEST))


Version = Annotated[Literal[1], "Version of the record's form: 1."]


IsCordoned = Annotated[bool | None, "Whether Kafka places no new replicas in it (KIP-1066); null: unknown."]
IsMetadataDir = Annotated[bool | None, "Whether the metadata log is in it: its loss halts the broker; null: unknown."]
ClusterName = Annotated[Name, "Kafka cluster, by its name in the configuration."]
NodeId = Annotated[BrokerId, "Node id of the broker."]
CollectorName = Annotated[str, "Name of the collector that wrote the record; empty: not given."]
BrokerHost = Annotated[str | None, "Host name of the broker; null: unknown."]
BrokerRack = Annotated[str | None, "Rack of the broker; null: it has none, or it is unknown."]
IsFenced = Annotated[bool | None, "Whether the controller has fenced the broker; null: unknown."]
ControllerId = Annotated[Long | None, "Node id of the controller; null: unknown."]
KafkaVersion = Annotated[str | None, "Kafka release of the broker; null: unknown."]
MetadataVersion = Annotated[str | None, "Finalized metadata version of the cluster; null: unknown."]
ClusterMetadataMode = Annotated[
    MetadataMode | None, "Where the cluster keeps its metadata; null: unknown, or a record of an older release."
]
NotReportedByRelease = Annotated[
    list[str] | None,
    "What the broker's release cannot report (vocabulary.NotReported); null: unknown, or a record of an older release.",
]
LogDirPath = Annotated[Name, "Path of the log directory."]
TopicName = Annotated[Name, "The topic."]
PartitionNumber = Annotated[Count, "Number of the partition."]
ScanTime = Annotated[EpochMs, "Time of the scan, in milliseconds since the epoch."]
PartNumber = Annotated[Count, "Number of this part, from 0."]
StatusReason = Annotated[str | None, "Reason of the status, for people; null: none."]
StatusSince = Annotated[Long, "When the status began, in milliseconds since the epoch."]
