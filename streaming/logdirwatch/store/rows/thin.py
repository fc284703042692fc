"""The first form of a Kafka record in the table queries: see ``store.writing.intake``."""

from typing import NamedTuple

import msgspec
from msgspec import Struct


class Position(NamedTuple):
    """A Kafka record."""

    topic: str
    partition: int
    offset: int
    kafka_timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Thin(NamedTuple):
    """The content of a thin row besides its position; ``record`` is kept if a table has the record itself.

    ``content`` is what was parsed, as JSON (see ``flattened``) or, of the records that there are many of, itself.
    """

    kind: str
    cluster: str | None
    identity: str
    rank: int
    at_ms: int
    broker: int | None = None
    log_dir: str | None = None
    content: Struct | str | None = None
    record: str | None = None
    reason: str | None = None

    @property
    def body(self) -> str | None:
        """The content as JSON."""
        content = self.content
        return msgspec.json.encode(content).decode() if isinstance(content, Struct) else content


class Placed(NamedTuple):
    """A thin row with the position of its record."""

    thin: Thin
    position: Position
