"""Records as every process reads them from the topics and the tables: what cannot be read is counted and skipped.

The bytes of a record that is skipped stay on its topic, and in the table ``rejected_records`` if ``stream`` reads the
topic.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

import structlog
from msgspec import Struct

from logdirwatch.model.identity import Origin
from logdirwatch.parse.records import RECORDS, Accepted, Deleted, Record, parse
from logdirwatch.text.words import counted

log = structlog.get_logger(__name__)

KEPT = 1_000
"""The number of unreadable records whose positions are kept, so that reading a topic again counts none twice."""

R = TypeVar("R", bound=Struct)


class KafkaRecord(Protocol):
    """A record as kafka-python returns it."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Unreadable(NamedTuple):
    """A record that was skipped: where it is, and why in one line.

    ``cluster`` and ``version`` are those that it names if it is a JSON object; the offset is -1 in a table.
    """

    origin: Origin
    reason: str
    cluster: str | None = None
    version: int | None = None

    @property
    def is_of_other_release(self) -> bool:
        """Whether it may be a record of another release: well-formed, about a cluster, with a version."""
        return self.cluster is not None and self.version is not None

    @property
    def where(self) -> str:
        """Its position as text."""
        return f"partition {self.origin.partition}, offset {self.origin.offset}" if self.origin.offset >= 0 else "table"


Tell = Callable[[Unreadable, int], None]
"""Gets an unreadable record, and how many there are on its topic by now: at the 1st, 10th, 100th and so on."""


def silent(_: Unreadable, __: int) -> None:
    """Tell nobody, because the caller prints the number at the end."""


def logged(found: Unreadable, count: int) -> None:
    """Log that records of a topic are skipped."""
    log.warning(
        "record.unreadable",
        topic=found.origin.topic,
        where=found.where,
        reason=found.reason,
        unreadable=count,
        meaning="it is skipped",
    )


class RecordReader:
    """Reads the records of topics for one process; ``tell`` is called once for each topic, and again as they multiply.

    Never raises, whatever the bytes are. Not thread-safe.
    """

    def __init__(self, tell: Tell = silent) -> None:
        self.tell = tell
        self._positions: dict[tuple[str, int, int], None] = {}
        self._first: dict[str, Unreadable] = {}
        self.unreadable: Counter[str] = Counter()
        """How many records of each topic could not be read."""

    def read(self, origin: Origin, key: bytes | None, value: bytes | None) -> Record | Deleted | Unreadable:
        """Return what one Kafka record says: a record, that its key was deleted, or that it cannot be read."""
        found = parse(origin.topic, key, value, origin.kafka_timestamp_ms, "")
        if isinstance(found, Accepted):
            return found.record
        return found if isinstance(found, Deleted) else self._noted(Unreadable(origin, *found), value)

    def take(self, record: KafkaRecord) -> Record | Deleted | Unreadable:
        """Return what a record of kafka-python says, as :meth:`read` does."""
        origin = Origin(record.topic, record.partition, record.offset, record.timestamp)
        return self.read(origin, record.key, record.value)

    def stored(self, kind: type[R], texts: Iterable[str | None]) -> list[R]:
        """Return the records in a table's rows, which have them as JSON; null is skipped without being counted."""
        origin = Origin(_TOPICS[kind], -1, -1, -1)
        read = (self.read(origin, None, text.encode(errors="replace")) for text in texts if text is not None)
        return [record for record in read if isinstance(record, kind)]

    def summary(self, topic: str) -> str | None:
        """Return how many records of a topic could not be read and why the first one, None if there are none."""
        if not (count := self.unreadable[topic]):
            return None
        first = self._first[topic]
        return f"{counted(count, 'record')} of {topic} cannot be read ({first.where}: {first.reason})"

    def summaries(self) -> list[str]:
        """Return the summaries of all topics."""
        return [text for topic in sorted(self.unreadable) if (text := self.summary(topic)) is not None]

    def _noted(self, found: Unreadable, value: bytes | None) -> Unreadable:
        topic, partition, offset, _ = found.origin
        # A table's rows have no position, and are read again and again.
        position = topic, partition, offset if offset >= 0 else hash(value)
        if position in self._positions:
            return found
        self._positions[position] = None
        if len(self._positions) > KEPT:
            del self._positions[next(iter(self._positions))]
        self.unreadable[topic] += 1
        self._first.setdefault(topic, found)
        if str(self.unreadable[topic]).strip("0") == "1":
            self.tell(found, self.unreadable[topic])
        return found


class LastByKey(Generic[R]):
    """The last readable record of every key of a compacted topic: what cannot be read hides no earlier record.

    They are in the order in which they were written.

    ``other_releases`` are the keys whose last record may be one of another release, with that record.
    """

    def __init__(self, kind: type[R], reader: RecordReader) -> None:
        self._kind, self._reader = kind, reader
        self.records: dict[bytes | None, R] = {}
        self.other_releases: dict[bytes | None, Unreadable] = {}

    def take(self, record: KafkaRecord) -> None:
        """Add one record."""
        found = self._reader.take(record)
        if isinstance(found, Unreadable):
            if found.is_of_other_release:
                self.other_releases[record.key] = found
            return
        self.other_releases.pop(record.key, None)
        if isinstance(found, (self._kind, Deleted)):
            self.records.pop(record.key, None)
        if isinstance(found, self._kind):
            self.records[record.key] = found


_TOPICS = {kind: topic for topic, kinds in RECORDS.items() for kind in kinds}
