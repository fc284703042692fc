"""Batches of ``store_inventory`` with whatever records there are, for tests that compare its ways of writing."""

import random

from msgspec.structs import replace

from logdirwatch.model import topics
from logdirwatch.model.records import ReplicasRecord, ScanRecord, TopicRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from tests.spark.lake import addressed, replicas, scan_end, scan_ms, state, topic

PATHS, NAMES, COPIES = ("/d1", "/d2", "/d3"), ("t", "u"), ("t-0", "t-1", "u-0")
OF_BROKERS = (1, 2, 3)
CLUSTERS = 12


def listing(drawn):
    parts = drawn.choice((1, 1, 2))
    return replicas(
        *drawn.sample(COPIES, drawn.randint(0, len(COPIES))),
        broker=drawn.choice(OF_BROKERS),
        log_dir=drawn.choice(PATHS),
        scan=drawn.randint(0, 5),
        size=drawn.choice((None, 1, 2)),
        future=drawn.random() < 0.2,
        part=drawn.randrange(parts),
        parts=parts,
    )


def metadata(drawn):
    parts = drawn.choice((1, 1, 2))
    said = topic(
        drawn.choice(NAMES),
        *(some(drawn, least=1) for _ in range(drawn.choice((1, 2)))),
        scan=drawn.randint(0, 5),
        configs=drawn.choice(({}, {"min.insync.replicas": " 2"}, {"min.insync.replicas": "x", "a": None})),
        overridden=drawn.choice((None, [], ["a"])),
        part=drawn.randrange(parts),
        parts=parts,
    )
    return replace(said, partitions=[described(drawn, partition) for partition in said.partitions])


def described(drawn, partition):
    said = {"leader": drawn.choice((None, -1, partition.leader)), "unread_ratio": drawn.choice((None, 0.05))}
    return replace(partition, **said, isr=some(drawn), offline_replicas=some(drawn))


def some(drawn, least=0):
    return drawn.sample(OF_BROKERS, drawn.randint(least, len(OF_BROKERS)))


def judgement(drawn):
    """A broker's state; what it says follows from its sequence, as it does in Kafka."""
    sequence = drawn.randint(1, 40)
    statuses, paths = [*LogDirStatus], PATHS[: sequence % 4]
    views = {path: statuses[(sequence + number) % len(statuses)].value for number, path in enumerate(paths)}
    known = [status for status in BrokerStatus if status != "removed"]
    return state(drawn.choice(OF_BROKERS), sequence, status=known[sequence % len(known)].value, log_dirs=views)


def end(drawn):
    return scan_end(drawn.randint(0, 2), drawn.randint(0, 5), is_complete=drawn.random() < 0.8)


def tombstone(drawn):
    return topics.STATE, f"prod/{drawn.choice(OF_BROKERS)}", None


KINDS = (listing, listing, metadata, metadata, end, judgement, judgement, tombstone)


def in_cluster(record, name):
    """Return the record of a cluster: each has a history of its own, all in the same batches."""
    if isinstance(record, tuple):
        return (record[0], record[1].replace("prod", name), record[2])
    return addressed(replace(record, cluster=name))


class Fleet:
    """What was said last of each subject; most of it is said again by the next scan, and some subjects change."""

    def __init__(self, seed):
        self.drawn = random.Random(seed)
        self.latest = {}

    def batch(self, number):
        for cluster in range(CLUSTERS):
            for _ in range(self.drawn.randint(0, 3 if number else 14)):
                record = self.drawn.choice(KINDS)(self.drawn)
                if isinstance(record, tuple):
                    self.latest[cluster, "tombstone"] = in_cluster(record, f"c{cluster}")
                else:
                    self.latest[(cluster, *subject(record))] = replace(record, cluster=f"c{cluster}")
        said = [record for record in self.latest.values() if self.drawn.random() < 0.8]
        ends = [scan_end(self.topics(said, number), number) for number in range(CLUSTERS)]
        said += [replace(end, cluster=f"c{number}") for number, end in enumerate(ends) if self.drawn.random() < 0.5]
        self.drawn.shuffle(said)
        catching_up = self.drawn.sample(said, 2) if self.drawn.random() < 0.3 else []
        records = [*(at(record, 6 + number) for record in said), *(at(record, 7 + number) for record in catching_up)]
        return [*records, (topics.INVENTORY, "k", b"no record"), (topics.STATE, "k", b"no record")]

    def topics(self, said, number):
        return sum(isinstance(record, TopicRecord) and record.cluster == f"c{number}" for record in said)


def subject(record):
    if isinstance(record, ReplicasRecord):
        return record.broker, record.log_dir
    return (record.topic,) if isinstance(record, TopicRecord) else (getattr(record, "broker", None), type(record))


def at(record, scan):
    """Return a record of a scan at its time; what else there is comes as it was."""
    is_of_scan = isinstance(record, ReplicasRecord | TopicRecord | ScanRecord)
    return replace(record, timestamp_ms=scan_ms(scan)) if is_of_scan else record
