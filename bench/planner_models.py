"""Clusters for the planner's benchmark: racks, uneven brokers and topics, logs placed as Kafka places them.

A partition's replicas lie in different racks, on brokers that some attract more than others; a broker puts each on the
directory with the fewest logs, whatever their size. A tenth of the brokers has a directory that is new. All of it
depends on the seed alone.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator

HEADER = ("broker", "rack", "disk", "capacity_bytes", "topic", "partition", "size_bytes", "is_leader")
RACKS = 3
CAPACITY_BYTES = 4 * 10**12
MEAN_FILL = 0.55
FULLEST_DIRECTORY, FULLEST_BROKER = 0.97, 0.78
NEW_DIRECTORY_SHARE, NEW_DIRECTORY_USE = 0.10, 0.03
PARTITIONS_PER_TOPIC = 20
TOPIC_SIGMA, PARTITION_SIGMA, BROKER_SKEW = 1.3, 0.5, 0.25


@dataclass(frozen=True)
class Shape:
    """How large a cluster is; ``hetero`` is the share of brokers with directories of twice the size."""

    name: str
    brokers: int
    directories: int
    replicas: int
    seed: int = 1
    hetero: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.name} {self.seed}" + (f" hetero {self.hetero}" if self.hetero else "")


def write(shape: Shape, path: Path) -> None:
    rng = np.random.default_rng([shape.seed, shape.brokers, round(100 * shape.hetero)])
    factor = np.ones(shape.brokers)
    factor[rng.permutation(shape.brokers)[: int(shape.brokers * shape.hetero)]] = 2
    partitions = shape.replicas // RACKS
    topic, number, size = _partitions(rng, partitions)
    broker = _brokers(rng, shape.brokers, partitions, factor)
    directory = _directories(rng, shape, broker)
    size = size * _scale(shape, broker, directory, size, factor)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for p in range(partitions):
            for place in range(RACKS):
                where = _place(broker[p, place], directory[p, place], factor)
                writer.writerow((*where, f"topic-{topic[p]}", number[p], max(1, int(size[p])), int(place == 0)))
        full = set(zip(broker.ravel().tolist(), directory.ravel().tolist(), strict=True))
        for b in range(shape.brokers):
            for d in range(shape.directories):
                if (b, d) not in full:
                    writer.writerow((*_place(b, d, factor), "", "", "", ""))


def _place(broker: int, directory: int, factor: np.ndarray) -> tuple[object, ...]:
    return broker, f"r{broker % RACKS}", f"/data/d{directory:02d}", int(CAPACITY_BYTES * factor[broker])


def _partitions(rng: Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the topic, the number and the relative size of each partition."""
    lengths = rng.geometric(1 / PARTITIONS_PER_TOPIC, size=count)
    topic = np.repeat(np.arange(count), lengths)[:count]
    first = np.searchsorted(topic, topic)
    size = rng.lognormal(0, TOPIC_SIGMA, size=count)[topic] * rng.lognormal(0, PARTITION_SIGMA, size=count)
    return topic, np.arange(count) - first, size


def _brokers(rng: Generator, brokers: int, partitions: int, factor: np.ndarray) -> np.ndarray:
    """Return for each partition a broker of every rack, the racks in an order of their own."""
    weight = rng.uniform(1 - BROKER_SKEW, 1 + BROKER_SKEW, size=brokers) * factor
    columns = []
    for rack in range(RACKS):
        members = np.arange(rack, brokers, RACKS)
        columns.append(rng.choice(members, size=partitions, p=weight[members] / weight[members].sum()))
    return rng.permuted(np.stack(columns, axis=1), axis=1)


def _directories(rng: Generator, shape: Shape, broker: np.ndarray) -> np.ndarray:
    """Return for each replica its directory: in turns, each turn in an order of its own; a new one gets few."""
    is_new = np.zeros(shape.brokers, dtype=bool)
    if shape.directories > 1:
        is_new[rng.permutation(shape.brokers)[: round(shape.brokers * NEW_DIRECTORY_SHARE)]] = True
    found = np.empty(broker.size, dtype=np.int64)
    flat = broker.ravel()
    for b in range(shape.brokers):
        own = np.flatnonzero(flat == b)
        old = shape.directories - int(is_new[b])
        turns = rng.permuted(np.tile(np.arange(old), (len(own) // old + 1, 1)), axis=1).ravel()[: len(own)]
        late = is_new[b] & (rng.random(len(own)) < NEW_DIRECTORY_USE)
        found[own] = np.where(late, old, turns)
    return found.reshape(broker.shape)


def _scale(shape: Shape, broker: np.ndarray, directory: np.ndarray, size: np.ndarray, factor: np.ndarray) -> float:
    """Return the bytes of one unit of size, so that the cluster is half full and nothing too full."""
    weights = np.repeat(size, RACKS)
    by_broker = np.bincount(broker.ravel(), weights, shape.brokers)
    places = broker.ravel() * shape.directories + directory.ravel()
    by_directory = np.bincount(places, weights, shape.brokers * shape.directories)
    capacity = CAPACITY_BYTES * factor
    return float(
        min(
            MEAN_FILL * capacity.sum() * shape.directories / weights.sum(),
            FULLEST_DIRECTORY / (by_directory / np.repeat(capacity, shape.directories)).max(),
            FULLEST_BROKER / (by_broker / (capacity * shape.directories)).max(),
        )
    )
