"""Deterministic ids: functions of their subject, never of a clock.

The fast lane computes the same identities in Spark SQL (``jobs.queries.fast_lane``); a test holds both equal over
hostile strings. Every part is written as a netstring (``<bytes>:<text>,``), so no two lists of parts collide.
"""

import hashlib
from typing import NamedTuple

ID_LENGTH = 32


class Origin(NamedTuple):
    """The Kafka record that opened an alert."""

    topic: str
    partition: int
    offset: int
    kafka_timestamp_ms: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}/{self.kafka_timestamp_ms}"


def identity(*parts: str) -> str:
    """Return the 32 hex digits of the hash of ``parts``."""
    text = "".join(f"{len(part.encode())}:{part}," for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def alert_id(cluster: str, broker: int | None, log_dir: str | None, rule: str, origin: str) -> str:
    """Return an alert's identity; a missing broker or directory is written as ``*``."""
    return identity(cluster, "*" if broker is None else str(broker), log_dir or "*", rule, origin)
