"""The assignment of replicas to brokers and directories, in the format of KIP-113's reassignment JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from logdirwatch.plan.cluster.layout import TopicPartition

ANY = "any"
"""KIP-113: the broker chooses. A replica that exists stays where it is: ``ReassignPartitionsCommand`` skips it."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The brokers of one partition in order of preference, and for each a directory's path or ``any``."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    log_dirs: tuple[str, ...]

    @classmethod
    def naming(cls, key: TopicPartition, replicas: tuple[int, ...], broker: int, path: str | None) -> "Assignment":
        """Return an assignment that names the directory of one broker's replica, if it is known."""
        return cls(*key, replicas, tuple(path or ANY if other == broker else ANY for other in replicas))

    @property
    def key(self) -> TopicPartition:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def label(self) -> str:
        """The partition as Kafka's tools print it."""
        return f"{self.topic}-{self.partition}"

    @property
    def chosen(self) -> tuple[tuple[int, str], ...]:
        """The brokers with a named directory, and that directory."""
        return tuple(pair for pair in zip(self.replicas, self.log_dirs, strict=True) if pair[1] != ANY)

    def directory_of(self, broker: int) -> str:
        """Return the path named for a broker's replica, or ``any``."""
        return self.log_dirs[self.replicas.index(broker)]


def to_json(assignments: Iterable[Assignment]) -> dict[str, Any]:
    """Return the content of ``kafka-reassign-partitions.sh --reassignment-json-file`` (KIP-113, version 1)."""
    return {
        "version": 1,
        "partitions": [
            {"topic": a.topic, "partition": a.partition, "replicas": list(a.replicas), "log_dirs": list(a.log_dirs)}
            for a in assignments
        ],
    }


def keys_in(plan: Mapping[str, Any] | None) -> list[TopicPartition]:
    """Return the partitions that a plan or an election in Kafka's format names; empty for None."""
    return [(entry["topic"], entry["partition"]) for entry in (plan or {}).get("partitions", ())]


def from_json(plan: Mapping[str, Any] | None) -> tuple[Assignment, ...]:
    """Read what :func:`to_json` wrote; empty for None."""
    return tuple(
        Assignment(entry["topic"], entry["partition"], tuple(entry["replicas"]), tuple(entry["log_dirs"]))
        for entry in (plan or {}).get("partitions", ())
    )
