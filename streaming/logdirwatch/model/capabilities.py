"""The Kafka release from which brokers report each capability: one table for the notices and the docs."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

from logdirwatch.model.vocabulary import MetadataMode, NotReported, StrEnum

Mode = TypeVar("Mode", bound=str)

OLDEST_KAFKA = "2.8"
"""The oldest supported release: older ones do not report brokers and their roles."""


class Capability(NamedTuple):
    """Something that brokers report from a release on; ``needs_kraft``: a cluster with ZooKeeper does not have it."""

    what: str
    since: str
    needs_kraft: bool = False


CAPABILITIES: Mapping[NotReported, Capability] = {
    NotReported.CAPACITY: Capability("the size of log directories", "3.3"),
    NotReported.CORDONS: Capability("cordons of log directories", "4.3"),
    NotReported.FENCED_BROKERS: Capability("fenced brokers", "4.0", needs_kraft=True),
    NotReported.ELR: Capability("eligible leader replicas", "3.8", needs_kraft=True),
    NotReported.METADATA_QUORUM: Capability("the metadata quorum", OLDEST_KAFKA, needs_kraft=True),
}

HIDES_LOG_DIRS = "this service does not report log directories: its brokers do not support DescribeLogDirs"
"""The error of a broker that answers and hides its disks, as those of MSK Serverless do."""

LAST_WITH_ZOOKEEPER = "3.9"
"""From 4.0 on there is only KRaft."""


def release_key(release: str) -> tuple[int, ...]:
    """Return the numbers of a release for comparison."""
    return tuple(int(number) for number in release.split(".") if number.isdecimal())


def is_too_old(release: str | None) -> bool:
    """Tell whether a release is known to be older than the oldest supported one."""
    return release is not None and release_key(release) < release_key(OLDEST_KAFKA)


class CapacitySource(StrEnum):
    """The source of a log directory's size if Kafka does not report it."""

    HOST = "host"
    CONFIGURATION = "configuration"


KAFKA_RELEASES = (OLDEST_KAFKA, *(f"3.{minor}" for minor in range(10)), *(f"4.{minor}" for minor in range(5)))
"""The releases of Kafka that are known here, the oldest first."""

SEVERAL_DIRECTORIES_SINCE = "3.7-IV2"
"""KAFKA-16606: below it, several log directories can lead to indefinite unavailability (Kafka's docs/upgrade.html)."""


def is_reported(what: NotReported, release: str, mode: MetadataMode) -> bool | None:
    """Tell whether a release reports something in a mode; None if a cluster of that mode does not have it."""
    capability = CAPABILITIES[what]
    if capability.needs_kraft and mode is MetadataMode.ZOOKEEPER:
        return None
    return release_key(release) >= release_key(capability.since)


def is_possible(release: str, mode: MetadataMode) -> bool:
    """Tell whether a release runs with ZooKeeper, or in KRaft mode with several log directories on a broker."""
    if mode is MetadataMode.ZOOKEEPER:
        return release_key(release) <= release_key(LAST_WITH_ZOOKEEPER)
    return release_key(release) >= release_key(SEVERAL_DIRECTORIES_SINCE.partition("-")[0])


def mode_of_cluster(modes: Iterable[Mode | None]) -> Mode | MetadataMode | None:
    """Return the mode of a cluster: brokers of two modes mean a migration; None if none is known."""
    known = {mode for mode in modes if mode is not None}
    return MetadataMode.MIGRATING if len(known) > 1 else next(iter(known), None)


def leaves_zookeeper(mode: MetadataMode | None, are_metadata_dirs: Iterable[bool | None]) -> bool:
    """Tell whether a broker still keeps its metadata in ZooKeeper while its cluster migrates: it has no metadata log.

    Such a broker halts with any log directory that fails (``ReplicaManager`` of Kafka 3.7.2 and 3.9.1).
    """
    return mode is MetadataMode.MIGRATING and not any(are_metadata_dirs)
