"""Scans of ``store_inventory``: every replica of a fleet listed whole, most of them as they were."""

import random
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace
from pyspark.sql import SparkSession

from lakehouse import LOG_DIRS, MIB, NOW_MS, configure, jobs, markdown, session, spent, version, written
from logdirwatch.model import topics
from logdirwatch.model.records import PartitionInfo, Placement, ReplicasRecord, ScanRecord, StateRecord, TopicRecord
from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.store.schema.definitions import REPLICA_STATE, TABLES, TOPIC_STATE
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.inventory import InventoryWriter
from tables_batch import CLUSTERS, OF_KAFKA, records, store, write_kafka

LIMIT_S = 10.0
COPIES = 3
TOPIC_PARTITIONS = 100
SCAN_MS = 60_000
# Kafka has every record after the last scan.
KAFKA_MS = NOW_MS + 3_600_000
SHARE = 0.01
SIZE = 1 << 33
ONE_OFFLINE = "no scan, one broker went offline"


@dataclass
class Fleet:
    """Where every replica of a cluster lies: partition ``g`` of all has copies on three brokers, in directory ``d``."""

    brokers: int
    partitions: int
    grown: dict[int, int] = field(default_factory=dict)

    def records(self, cluster: str, at_ms: int) -> Iterator[tuple[str, str, bytes]]:
        """One whole scan of a cluster."""
        for broker, log_dirs in enumerate(self._listed()):
            for number, placements in enumerate(log_dirs):
                log_dir = f"/data/d{number}"
                listing = ReplicasRecord(
                    version=1,
                    cluster=cluster,
                    broker=broker,
                    log_dir=log_dir,
                    timestamp_ms=at_ms,
                    replicas=placements,
                    collector="bench",
                )
                yield topics.INVENTORY, f"{cluster}/{broker}/{log_dir}", msgspec.json.encode(listing)
        names = range(0, self.partitions, TOPIC_PARTITIONS)
        for first in names:
            yield topics.INVENTORY, f"{cluster}/topic-{first}", msgspec.json.encode(self._topic(cluster, first, at_ms))
        end = ScanRecord(
            version=1, cluster=cluster, timestamp_ms=at_ms, topics=len(names), is_complete=True, collector="bench"
        )
        yield topics.INVENTORY, cluster, msgspec.json.encode(end)

    def on(self, partition: int) -> list[int]:
        """Return the brokers of a partition."""
        return [(partition + copy * (self.brokers // COPIES)) % self.brokers for copy in range(COPIES)]

    def _listed(self) -> list[list[list[Placement]]]:
        found: list[list[list[Placement]]] = [[[] for _ in range(LOG_DIRS)] for _ in range(self.brokers)]
        for partition in range(self.partitions):
            first, number = divmod(partition, TOPIC_PARTITIONS)
            size = SIZE + partition * 4096 + self.grown.get(partition, 0)
            placed = Placement(
                topic=f"topic-{first * TOPIC_PARTITIONS}", partition=number, size_bytes=size, offset_lag=0
            )
            for broker in self.on(partition):
                found[broker][partition // self.brokers % LOG_DIRS].append(placed)
        return found

    def _topic(self, cluster: str, first: int, at_ms: int) -> TopicRecord:
        numbers = range(first, min(first + TOPIC_PARTITIONS, self.partitions))
        infos = [
            PartitionInfo(partition=each - first, leader=brokers[0], replicas=brokers, isr=brokers, groups=1)
            for each in numbers
            for brokers in [self.on(each)]
        ]
        return TopicRecord(
            version=1,
            cluster=cluster,
            topic=f"topic-{first}",
            partitions=infos,
            timestamp_ms=at_ms,
            configs={"min.insync.replicas": "2", "retention.ms": "604800000", "cleanup.policy": "delete"},
            overridden=[],
            collector="bench",
        )


def measure(folder: Path, chosen: Namespace) -> None:
    """Print how long scans took, and what they wrote."""
    fleet = Fleet(chosen.brokers // CLUSTERS, chosen.replicas // COPIES // CLUSTERS)
    total = fleet.partitions * COPIES * CLUSTERS
    print(f"## A scan: {total:,} replicas of {chosen.brokers} brokers in {CLUSTERS} clusters, heap {chosen.heap}\n")
    with session(folder, chosen.heap, chosen.conf, chosen.java_options) as (spark, tables):
        tables.create_missing(TABLES.values())
        configure(spark, chosen.conf)
        header = ("scan", "Kafka MiB", "jobs", "s", "cpu s", "limit s", *(f"{t.name}: {w}" for t in OF for w in WHAT))
        markdown(header, scans(folder, spark, tables, fleet, chosen))


OF = (REPLICA_STATE, TOPIC_STATE)
WHAT = ("files written", "MiB written", "MiB before")


def scans(
    folder: Path, spark: SparkSession, tables: Tables, fleet: Fleet, chosen: Namespace
) -> Iterator[tuple[object, ...]]:
    """Run scan after scan; brokers are judged before the first, as ``store`` would have it."""
    source = folder / "states"
    write_kafka(source, [*records(chosen.brokers, NOW_MS, 1, 0)], NOW_MS)
    store(spark, tables, source)
    writer = InventoryWriter(Belief("bench", 60_000))
    few = range(0, fleet.partitions, fleet.brokers)[: max(1, int(fleet.partitions * SHARE))]
    rng = random.Random(7)
    anywhere = rng.sample(range(fleet.partitions), int(fleet.partitions * SHARE))
    steps = {
        "all new": (),
        "unchanged": (),
        "unchanged again": (),
        f"{SHARE:.0%} grew, anywhere": anywhere,
        "a few partitions of three brokers a cluster grew": few,
        "no scan, states alone": None,
        ONE_OFFLINE: None,
    }
    for number, (name, grown) in enumerate(steps.items()):
        at_ms = NOW_MS + number * SCAN_MS
        fleet.grown |= {partition: fleet.grown.get(partition, 0) + 4096 for partition in grown or ()}
        values = whole(fleet, chosen, at_ms, number, grown)
        if name == ONE_OFFLINE:
            values[0] = offline(values[0])
        yield scan(folder / str(number), name, spark, tables, writer, values)


def whole(fleet: Fleet, chosen: Namespace, at_ms: int, number: int, grown: object) -> list[tuple[str, str, bytes]]:
    """Return the rows of a batch: all brokers' states, and the scan of every cluster."""
    states = [row for row in records(chosen.brokers, at_ms, 1, number + 1) if row[0] == topics.STATE]
    if grown is None:
        return states
    return states + [row for each in range(CLUSTERS) for row in fleet.records(f"cluster-{each}", at_ms)]


def offline(row: tuple[str, str, bytes]) -> tuple[str, str, bytes]:
    state = msgspec.json.decode(row[2], type=StateRecord)
    return *row[:2], msgspec.json.encode(replace(state, status=BrokerStatus.OFFLINE, since_ms=state.at_ms))


def scan(
    source: Path,
    name: str,
    spark: SparkSession,
    tables: Tables,
    writer: InventoryWriter,
    values: list,  # type: ignore[type-arg]
) -> tuple[object, ...]:
    write_kafka(source, values, KAFKA_MS)
    values.clear()
    size = sum(path.stat().st_size for path in source.iterdir())
    folders = [source.parent / "tables" / table.name for table in OF]
    before = [version(folder) for folder in folders]
    held = [tables.delta(table).detail().head()["sizeInBytes"] for table in OF]
    ran = jobs(spark)
    took = spent(lambda: writer.write(spark.read.schema(OF_KAFKA).parquet(str(source)).coalesce(2), tables))
    ran = jobs(spark) - ran
    cells: list[object] = []
    for folder, after, size_bytes in zip(folders, before, held, strict=True):
        total = written(folder, after)
        cells += [total.added, total.added_bytes / MIB, size_bytes / MIB]
    return name, size / MIB, ran, *took, LIMIT_S, *cells
