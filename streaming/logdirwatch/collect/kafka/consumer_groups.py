"""What consumer groups have not read: for every partition the share that the slowest group still has to read.

The coordinator of a group, the leader of its partition of ``__consumer_offsets``, has its committed offsets (Kafka's
``GroupCoordinator``) or the start offsets of a share group, so each of these brokers is queried. If one fails, the
unread share of every topic is unknown, because any of its groups may read any topic.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from logdirwatch.collect.kafka.answers import Bounds, Committed, Topic
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.log_dir_usage import Partition
from logdirwatch.collect.kafka.requests import EARLIEST, LATEST, Admin
from logdirwatch.collect.kafka.split import in_parts
from logdirwatch.model.records import PartitionInfo

OFFSETS_TOPIC = "__consumer_offsets"
GROUPS_AT_ONCE = 50
PARTITIONS_AT_ONCE = 1_000
BROKERS_AT_ONCE = 8
# A share that moved with every record would be a new row in the tables with every scan; so would one between none and
# little of a group that keeps up, which is called little.
STEPS = 20
# The names of a topic's groups that are kept; they only serve to say who is hurt.
MAX_READERS = 20


async def with_unread(admin: Admin, topics: Sequence[Topic], addresses: Mapping[int, Address]) -> tuple[Topic, ...]:
    """Return the topics with the unread share of each partition; ``addresses`` are the brokers that answer.

    Raises ValueError if a coordinator is missing, and any error of a broker's answer.
    """
    at_once = asyncio.Semaphore(BROKERS_AT_ONCE)

    async def committed_at(address: Address) -> list[Committed]:
        async with at_once:
            groups = await admin.groups(address)
            committed = [await admin.committed(address, part) for part in in_parts(groups.committing, GROUPS_AT_ONCE)]
            return committed + [await admin.shared(address, part) for part in in_parts(groups.sharing, GROUPS_AT_ONCE)]

    async def bounds_at(address: Address, partitions: Sequence[Partition]) -> list[Bounds]:
        async with at_once:
            return [await _bounds(admin, address, part) for part in in_parts(partitions, PARTITIONS_AT_ONCE)]

    asked = await asyncio.gather(*(committed_at(addresses[broker]) for broker in coordinators(topics, addresses)))
    committed = [one for parts in asked for one in parts]
    led = _by_leader(topics, {partition for one in committed for offsets in one.values() for partition in offsets})
    known = [bounds_at(addresses[leader], partitions) for leader, partitions in led.items() if leader in addresses]
    bounds = {key: found for parts in await asyncio.gather(*known) for part in parts for key, found in part.items()}
    return told(topics, committed, bounds)


def coordinators(topics: Iterable[Topic], addresses: Mapping[int, Address]) -> list[int]:
    """Return the brokers that coordinate groups; raises ValueError naming one that does not answer."""
    offsets = [partition for topic in topics if topic.name == OFFSETS_TOPIC for partition in topic.partitions]
    for partition in offsets:
        if partition.leader not in addresses:
            who = "has no leader" if partition.leader is None else f"is led by broker {partition.leader}, which is away"
            raise ValueError(f"{OFFSETS_TOPIC}-{partition.partition} {who}: the groups in it cannot be asked")
    return sorted({partition.leader for partition in offsets if partition.leader is not None})


def told(topics: Iterable[Topic], committed: Iterable[Committed], bounds: Bounds) -> tuple[Topic, ...]:
    """Return the topics with the groups that read each partition, and the slowest one's unread share."""
    by_partition: defaultdict[Partition, dict[str, int]] = defaultdict(dict)
    by_topic: defaultdict[str, set[str]] = defaultdict(set)
    for groups in committed:
        for group, offsets in groups.items():
            for partition, offset in offsets.items():
                by_partition[partition][group] = offset
                by_topic[partition[0]].add(group)
    return tuple(
        replace(
            topic,
            partitions=tuple(
                _told(partition, by_partition.get(key, {}), bounds.get(key))
                for partition in topic.partitions
                for key in [(topic.name, partition.partition)]
            ),
            readers=tuple(sorted(by_topic.get(topic.name, ()))[:MAX_READERS]),
        )
        for topic in topics
    )


def _told(partition: PartitionInfo, offsets: Mapping[str, int], bound: tuple[int, int] | None) -> PartitionInfo:
    known = [] if bound is None else [(unread_ratio(o, *bound), group) for group, o in offsets.items() if o >= 0]
    ratio, group = max(known, default=(0.0, None))
    if group is None or (len(known) < len(offsets) and ratio <= 1 / STEPS):
        return structs.replace(partition, groups=len(offsets))  # somebody reads it, and may have read nothing
    return structs.replace(partition, groups=len(offsets), slowest_group=group, unread_ratio=ratio)


def unread_ratio(committed: int, start: int, end: int) -> float:
    """Return the share of the offsets from ``start`` to ``end`` that is not read, rounded up to steps of 0.05."""
    if end <= start:
        return 0.0
    unread = end - min(max(committed, start), end)
    return max(1, math.ceil(unread * STEPS / (end - start))) / STEPS


async def _bounds(admin: Admin, address: Address, partitions: Sequence[Partition]) -> Bounds:
    starts = await admin.offsets(address, partitions, EARLIEST)
    ends = await admin.offsets(address, partitions, LATEST)
    return {key: (start, ends[key]) for key, start in starts.items() if key in ends}


def _by_leader(topics: Iterable[Topic], wanted: set[Partition]) -> dict[int, list[Partition]]:
    led: defaultdict[int, list[Partition]] = defaultdict(list)
    for topic in topics:
        for partition in topic.partitions:
            key = (topic.name, partition.partition)
            if key in wanted and partition.leader is not None:
                led[partition.leader].append(key)
    return led
