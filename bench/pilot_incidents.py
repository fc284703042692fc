"""Seeded incidents for bench_autopilot.py: a directory that fills, what lies in it, who could help, who interferes."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from logdirwatch.config.section import DAY_MS
from tests.kafka.applying import MIB

BROKERS, LOG_DIRS = 3, 2
SIZES = tuple(size * MIB for size in (64, 80, 96))
"""The first is what the cluster is made with."""

RETENTION_MS = 7 * DAY_MS
FLOOR_MS = 2 * DAY_MS
FLOOR_BYTES = 5 * MIB
POLICIES: Mapping[str, dict[str, Any]] = {
    "kept": {"never_touch": True},
    "aged": {"min_retention_ms": FLOOR_MS},
    "sized": {"min_retention_ms": FLOOR_MS, "min_retention_bytes": FLOOR_BYTES},
    "plain": {},
    "theirs": {"never_touch": True},
}
"""What owners say of topics, by the first part of a topic's name; of plain ones they say nothing, and what somebody
else is moving must not be touched.
"""

HISTORY_RATIO = 0.13
"""How much of the directory each topic takes that is there at the beginning."""
CROWDED_RATIO = 0.74
"""How full a directory is that has no room: not filling yet, and one of these topics would overfill it."""


class Relief(str, Enum):
    """What can help."""

    LOG_DIR = "another directory"
    BROKER = "another broker"
    RETENTION = "retention alone"
    NOTHING = "nothing"


class Foreign(str, Enum):
    """What somebody else has under way."""

    NOTHING = "-"
    THROTTLES = "throttles"
    REASSIGNMENT = "reassignment"


@dataclass(frozen=True)
class Incident:
    """One directory, (broker, index), in which one topic grows by ``burst_bytes`` until it would be more than full.

    ``replicas`` is how many brokers hold each of the other topics.
    """

    seed: int
    size_bytes: int
    place: tuple[int, int]
    relief: Relief
    foreign: Foreign
    policies: tuple[str, ...]
    replicas: int
    partitions: int
    burst_bytes: int
    bytes_per_s: float

    @property
    def history(self) -> dict[str, int]:
        """The bytes of each topic that is there at the beginning."""
        size = int(HISTORY_RATIO * self.size_bytes)
        return {f"{policy}-{self.seed}-{number}": size for number, policy in enumerate(self.policies)}

    @property
    def burst(self) -> str:
        """The topic that grows; nobody declared a floor for it."""
        return f"plain-{self.seed}-burst"

    @property
    def full_in_s(self) -> float:
        """How long the directory lasts when nobody acts."""
        return (self.size_bytes - sum(self.history.values())) / self.bytes_per_s

    def has_room(self, broker: int, index: int) -> bool:
        """Whether another directory can take replicas."""
        is_same_broker = broker == self.place[0]
        return self.relief is (Relief.LOG_DIR if is_same_broker else Relief.BROKER) and (broker, index) != self.place


def incident(seed: int) -> Incident:
    """Return the incident of a seed."""
    rng = random.Random(seed)
    relief = rng.choices(list(Relief), (6, 5, 6, 3))[0]
    policies = {
        Relief.LOG_DIR: ("plain", "plain", "aged", "kept"),
        Relief.BROKER: ("plain", "plain", "sized", "kept"),
        Relief.RETENTION: ("aged", "aged", "sized", rng.choice(("kept", "plain"))),
        Relief.NOTHING: ("kept", "kept", "plain", "plain"),
    }[relief]
    size_bytes = rng.choice(SIZES)
    free_bytes = size_bytes * (1 - HISTORY_RATIO * len(policies))
    return Incident(
        seed=seed,
        size_bytes=size_bytes,
        place=(rng.randrange(BROKERS), rng.randrange(LOG_DIRS)),
        relief=relief,
        foreign=rng.choice(list(Foreign)),
        policies=policies,
        replicas=rng.choice((1, 2)),
        partitions=rng.randint(1, 3),
        burst_bytes=int(size_bytes * rng.uniform(0.54, 0.58)),
        bytes_per_s=free_bytes / rng.uniform(35, 45),
    )
