"""What each log directory holds and what moves in and out of it, from the answers of one scan. Pure."""

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from logdirwatch.collect.kafka.answers import LogDirAnswer, Reassignment, Topic
from logdirwatch.collect.kafka.partition_health import out_of_sync
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.records import PartitionInfo, Placement

Partition = tuple[str, int]
Place = tuple[int, str]

STRAYS = 20
"""How many strays of a directory are named."""


@dataclass(frozen=True)
class DirUsage:
    """The replicas of one directory at the last scan that saw it.

    ``replica_bytes`` counts current and future replicas, ``future_bytes`` the future ones alone. ``incoming_bytes`` is
    what running moves still have to copy here, ``outgoing_bytes`` the size of what they will remove, both None if the
    reassignments could not be listed. ``out_of_sync_count`` are current replicas that lag behind their leaders, None if
    the topics could not be listed. ``strays`` are replicas here that the metadata does not assign to this broker, the
    largest ones by name with their bytes. Everything is None before the first scan.
    """

    replica_count: int | None = None
    replica_bytes: int | None = None
    future_bytes: int | None = None
    incoming_bytes: int | None = None
    outgoing_bytes: int | None = None
    out_of_sync_count: int | None = None
    strays: Mapping[str, int] | None = None


CapacityOf = Callable[[int, str], int | None]
"""Returns the configured size of a broker's directory; None where there is none."""


def no_capacity(broker: int, path: str) -> int | None:  # noqa: ARG001 - one signature
    """Return None: no capacity is configured."""
    return None


def with_configured_capacity(
    broker: int, log_dir: LogDirAnswer, usage: DirUsage, capacity_of: CapacityOf
) -> LogDirAnswer:
    """Return a directory with its configured size if Kafka reports none; usable is what its replicas leave."""
    if log_dir.error_code or log_dir.total_bytes is not None or usage.replica_bytes is None:
        return log_dir
    total_bytes = capacity_of(broker, log_dir.path)
    if total_bytes is None:
        return log_dir
    usable_bytes = max(0, total_bytes - usage.replica_bytes)
    source = CapacitySource.CONFIGURATION
    return replace(log_dir, total_bytes=total_bytes, usable_bytes=usable_bytes, capacity_source=source)


def usages(
    log_dirs: Mapping[int, Iterable[LogDirAnswer]],
    reassignments: Mapping[Partition, Reassignment] | None,
    topics: Iterable[Topic] | None = None,
) -> dict[Place, DirUsage]:
    """Return the usage of every directory that answered without an error, by (broker, path).

    ``log_dirs`` are the directories of each broker that answered the scan, ``topics`` those that it listed.
    """
    replicas = {
        (broker, log_dir.path): log_dir.replicas
        for broker, answers in log_dirs.items()
        for log_dir in answers
        if log_dir.error_code == 0
    }
    incoming, outgoing = _moves(replicas, reassignments or {})
    is_known = reassignments is not None
    topics = None if topics is None else tuple(topics)
    behind = None if topics is None else _behind(topics, reassignments or {})
    assigned = None if topics is None else _assigned(topics, reassignments or {})
    return {
        place: _usage(
            placements,
            incoming[place] if is_known else None,
            outgoing[place] if is_known else None,
            None if behind is None else _lagging(place[0], placements, behind),
            None if assigned is None else _strays(place[0], placements, assigned),
        )
        for place, placements in replicas.items()
    }


def _with_adding(
    topics: Iterable[Topic], reassignments: Mapping[Partition, Reassignment]
) -> Iterator[tuple[Partition, PartitionInfo, Iterable[int]]]:
    """Yield every partition with the brokers that a reassignment adds to it."""
    for topic in topics:
        for one in topic.partitions:
            key = topic.name, one.partition
            yield key, one, reassignments[key].adding if key in reassignments else ()


def _behind(
    topics: Iterable[Topic], reassignments: Mapping[Partition, Reassignment]
) -> dict[Partition, frozenset[int]]:
    """Return the brokers with an out-of-sync replica, for partitions with a leader that have any."""
    return {
        key: frozenset(behind).difference(adding)
        for key, partition, adding in _with_adding(topics, reassignments)
        if (behind := out_of_sync(partition)) and partition.leader is not None
    }


def _assigned(
    topics: Iterable[Topic], reassignments: Mapping[Partition, Reassignment]
) -> dict[Partition, frozenset[int]]:
    """Return the brokers assigned to each partition, including those that a reassignment adds."""
    return {
        key: frozenset((*partition.replicas, *(partition.adding or ()), *adding))
        for key, partition, adding in _with_adding(topics, reassignments)
    }


def _strays(
    broker: int, placements: Iterable[Placement], assigned: Mapping[Partition, frozenset[int]]
) -> dict[str, int]:
    """Return the replicas on a broker that the metadata does not assign to it: of a cancelled move, or a deleted topic.

    Empty if no topic could be listed, because then nothing is known about any.
    """
    if not assigned:
        return {}
    found = [
        (placement.size_bytes or 0, f"{placement.topic}-{placement.partition}")
        for placement in placements
        if broker not in assigned.get((placement.topic, placement.partition), ())
    ]
    return {label: size for size, label in sorted(found, key=lambda one: (-one[0], one[1]))[:STRAYS]}


def _lagging(broker: int, placements: Iterable[Placement], behind: Mapping[Partition, frozenset[int]]) -> int:
    if not behind:
        return 0
    return sum(
        not placement.is_future and broker in behind.get((placement.topic, placement.partition), ())
        for placement in placements
    )


def _usage(
    placements: Iterable[Placement],
    incoming: int | None,
    outgoing: int | None,
    out_of_sync_count: int | None,
    strays: Mapping[str, int] | None,
) -> DirUsage:
    placements = tuple(placements)
    return DirUsage(
        replica_count=sum(not placement.is_future for placement in placements),
        replica_bytes=sum(placement.size_bytes or 0 for placement in placements),
        future_bytes=sum(placement.size_bytes or 0 for placement in placements if placement.is_future),
        incoming_bytes=incoming,
        outgoing_bytes=outgoing,
        out_of_sync_count=out_of_sync_count,
        strays=strays,
    )


def _moves(
    replicas: Mapping[Place, Iterable[Placement]], reassignments: Mapping[Partition, Reassignment]
) -> tuple[dict[Place, int], dict[Place, int]]:
    """Return the bytes still to arrive in and to leave each directory.

    Within a broker a move is a future replica beside the current one (KIP-113); between brokers it is a reassignment,
    whose new replica copies from a leader that is as large as the largest replica seen.
    """
    incoming: dict[Place, int] = defaultdict(int)
    outgoing: dict[Place, int] = defaultdict(int)
    current = _current(replicas)
    for place, placements in replicas.items():
        for placement in placements:
            partition = (placement.topic, placement.partition)
            size = placement.size_bytes or 0
            homes = current.get(partition, {})
            home = homes.get(place[0])
            if placement.is_future and home is not None:
                incoming[place] += max(0, home[1] - size)
                outgoing[place[0], home[0]] += home[1]
            move = reassignments.get(partition)
            if move is None or placement.is_future:
                continue
            if place[0] in move.adding:
                incoming[place] += max(other for _, other in homes.values()) - size
            if place[0] in move.removing:
                outgoing[place] += size
    return incoming, outgoing


def _current(replicas: Mapping[Place, Iterable[Placement]]) -> dict[Partition, dict[int, tuple[str, int]]]:
    """Return the place of each partition's current replicas: ``{partition: {broker: (path, size_bytes)}}``."""
    current: dict[Partition, dict[int, tuple[str, int]]] = defaultdict(dict)
    for (broker, path), placements in replicas.items():
        for placement in placements:
            if not placement.is_future:
                current[placement.topic, placement.partition][broker] = (path, placement.size_bytes or 0)
    return current


def metadata_dir(configs: Mapping[str, str | None]) -> str | None:
    """Return the configured folder of the metadata log: ``metadata.log.dir``, else the first of ``log.dirs``.

    Kafka documents this default for ``metadata.log.dir``; ``log.dirs`` falls back to ``log.dir``. None if nothing is
    set.
    """
    explicit = configs.get("metadata.log.dir")
    folders = configs.get("log.dirs") or configs.get("log.dir") or ""
    return explicit or folders.split(",")[0].strip() or None


def is_same_dir(configured: str, reported: str) -> bool:
    """Tell whether a configured folder is the one that a broker reports as an absolute path.

    A relative one depends on the broker's working directory, which is unknown here.
    """
    configured, reported = posixpath.normpath(configured), posixpath.normpath(reported)
    return reported == configured or (not configured.startswith("/") and reported.endswith(f"/{configured}"))
